"""A process with a SQLite ledger, for tests that kill it or take its disk away.

    python -m tests.contract.ledger_child NAME DIRECTORY

Each function below is such a program. Its output is one line a step.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from entropyd.errors import EntropydError, LedgerUnavailableError
from entropyd.ledger.contract import Draft, Recorded
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.ledger.state_dir import StateDirectory
from entropyd.ledger.subjects import StepRecorded, SubjectKind
from tests.fakes.drafts import make_draft
from tests.fakes.entries import going_on, logged_draft, noted, opening, table_text
from tests.fakes.step_drafts import make_step

MASTER_KEY = bytes(range(32))
BATCH = 3


def open_ledger(directory: Path) -> SqliteLedger:
    return SqliteLedger.open(StateDirectory.hold(directory), SecretBox(MASTER_KEY))


def commit_for_ever(directory: Path) -> None:
    """Commit three hands at a time and name them as soon as the ledger confirmed them."""
    ledger = open_ledger(directory)
    start = ledger.count()
    for batch in range(100_000):
        hands = [f"h{start}-{batch}-{number}" for number in range(BATCH)]
        ledger.commit([make_draft(hand, table=f"t{number}") for number, hand in enumerate(hands)])
        os.write(1, f"{' '.join(hands)}\n".encode())


def step_for_ever(directory: Path) -> None:
    """Commit a step of each of three matches, and a hand, and name them as soon as confirmed."""
    ledger = open_ledger(directory)
    start = ledger.count()
    for number in range(start, 100_000):
        steps = [make_step(f"m{match}", expected=number, key=f"k{number}") for match in range(3)]
        ledger.commit([*steps, make_draft(f"h{number}")])
        os.write(1, f"{number}\n".encode())


def log_for_ever(directory: Path) -> None:
    """Commit hands of both kinds at one table, a step, an event; name them when confirmed."""
    ledger = open_ledger(directory)
    ledger.set_table_entry(table_text)
    start = ledger.count()
    for number in range(start, 100_000):
        dealt, whole = f"c{number}", f"w{number}"
        drafts: list[Draft] = [opening(dealt), logged_draft(whole), going_on(dealt)]
        ledger.commit(drafts, [noted(number)])
        os.write(1, f"{number}\n".encode())


def fill_a_real_disk_with_steps(directory: Path) -> None:
    """Commit steps on a file system of 1 MiB until it is full, then make room and go on."""
    _mount_tmpfs(directory, "size=1m")
    ledger = open_ledger(directory / "state")
    confirmed = 0
    while confirmed < 4000:
        try:
            ledger.commit([make_step(expected=confirmed, key=f"k{confirmed}")])
        except LedgerUnavailableError as error:
            print("refused", error, flush=True)
            break
        confirmed += 1
    subject = ledger.subject(SubjectKind.MATCH, "room", "match-1")
    assert subject is not None, "a stored subject, on a full disk"
    # The refused step was written or not; a look-up says which.
    assert subject.steps - confirmed in {0, 1}
    _run("mount", "-o", "remount,size=16m", str(directory))
    ledger.commit([])
    subject = ledger.subject(SubjectKind.MATCH, "room", "match-1")
    assert subject is not None
    (outcome,) = ledger.commit([make_step(expected=subject.steps, key="afterwards")])
    assert isinstance(outcome, StepRecorded)
    steps = ledger.steps(SubjectKind.MATCH, "room", "match-1", 0, 5000)
    assert [one.number for one in steps] == list(range(1, subject.steps + 2))
    assert [one.key for one in steps[:confirmed]] == [f"k{n}" for n in range(confirmed)]
    ledger.close()
    print("whole", confirmed)


def hold(directory: Path) -> None:
    """Hold the state directory until killed."""
    StateDirectory.hold(directory)
    print("held", flush=True)
    time.sleep(60)


def try_to_open(directory: Path) -> None:
    """Open the ledger and say what came of it."""
    try:
        ledger = open_ledger(directory)
    except EntropydError as error:
        print(type(error).__name__, error)
    else:
        print("opened", ledger.count())
        ledger.close()


def fill_a_real_disk(directory: Path) -> None:
    """Commit on a file system of 1 MiB until it is full, then make room."""
    _mount_tmpfs(directory, "size=1m")
    ledger = open_ledger(directory / "state")
    confirmed = _commit_until_refused(ledger, 4000)
    assert ledger.find("room", confirmed[0]) is not None, "a stored hand, on a full disk"
    _expect_refusal(ledger, "again")
    _run("mount", "-o", "remount,size=16m", str(directory))
    _expect_whole(ledger, confirmed)


def fill_up_to_a_file_size_limit(directory: Path) -> None:
    """Commit until the kernel refuses to write, as on a failing disk; then lift the limit."""
    ledger = open_ledger(directory / "state")
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    confirmed = _commit_until_refused(ledger, 4000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    _expect_whole(ledger, confirmed)


def meet_a_read_only_disk(directory: Path) -> None:
    """Open on a read-only file system, and lose the right to write between two commits."""
    _mount_tmpfs(directory, "size=16m")
    state = directory / "state"
    ledger = open_ledger(state)
    ledger.commit([make_draft("h1")])
    ledger.close()
    # The lock file stays open for writing, so it lies elsewhere: a file system
    # on which something is open for writing cannot be made read-only.
    held = StateDirectory.hold(state)
    elsewhere = os.open("/dev/null", os.O_RDWR)
    os.dup2(elsewhere, held._descriptor)
    _run("mount", "-o", "remount,ro", str(directory))
    for _ in range(2):
        try:
            SqliteLedger.open(StateDirectory(state, os.dup(elsewhere)), SecretBox(MASTER_KEY))
        except LedgerUnavailableError as error:
            print("refused", error)
    _run("mount", "-o", "remount,rw", str(directory))
    held.release()
    _expect_whole(open_ledger(state), ["h1"])


def survive_failing_syncs(directory: Path) -> None:
    """Commit until a sync fails (strace makes it fail), look up, go on."""
    ledger = open_ledger(directory)
    print("opened", flush=True)
    confirmed = _commit_until_refused(ledger, 100)
    for _ in range(10):
        try:
            ledger.commit([])
        except LedgerUnavailableError as error:
            print("refused", error, flush=True)
    _expect_whole(ledger, confirmed)


def _commit_until_refused(ledger: SqliteLedger, most: int) -> list[str]:
    confirmed: list[str] = []
    for number in range(most):
        try:
            ledger.commit([make_draft(f"h{number}")])
        except LedgerUnavailableError as error:
            print("refused", error, flush=True)
            return confirmed
        confirmed.append(f"h{number}")
    raise AssertionError(f"{most} commits and no refusal")


def _expect_refusal(ledger: SqliteLedger, hand: str) -> None:
    try:
        ledger.commit([make_draft(hand)])
    except LedgerUnavailableError:
        return
    raise AssertionError("committed on a full disk")


def _expect_whole(ledger: SqliteLedger, confirmed: list[str]) -> None:
    """The ledger goes on by itself; nothing confirmed is lost and no number is missing."""
    ledger.commit([])
    ledger.probe()
    (outcome,) = ledger.commit([make_draft("afterwards")])
    assert isinstance(outcome, Recorded)
    # The refused hand may have been written: then it has its number, and no other.
    assert outcome.record.sequence == ledger.count()
    assert ledger.count() - len(confirmed) in {1, 2}
    for number, hand in enumerate(confirmed, start=1):
        record = ledger.find("room", hand)
        assert record is not None, hand
        assert record.sequence == number
    ledger.close()
    print("whole", len(confirmed))


def _mount_tmpfs(directory: Path, options: str) -> None:
    directory.mkdir(exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", f"{options},mode=0700", "tmpfs", str(directory))


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


PROGRAMS: dict[str, Callable[[Path], None]] = {
    program.__name__: program
    for program in (
        commit_for_ever,
        step_for_ever,
        log_for_ever,
        fill_a_real_disk_with_steps,
        hold,
        try_to_open,
        fill_a_real_disk,
        fill_up_to_a_file_size_limit,
        meet_a_read_only_disk,
        survive_failing_syncs,
    )
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
