"""Bad days of the ledger: what cannot be recorded is not drawn, and what was is not lost."""

import contextlib
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, running, started, until
from tests.system.load import Load
from tests.system.small_disk import SmallDisk
from tests.system.wire import (
    Told,
    Wire,
    changes,
    log_lines,
    order,
    question,
    told,
)

Code = grpc.StatusCode
RESUMES_WITHIN_S = 10.0
MIN_FREE = 1 << 20  # the least that the configuration takes


def assert_unavailable(refusal: Told, *words: str) -> None:
    """The ledger cannot record: safe to ask again, with the remedy, and when."""
    assert (refusal.code, refusal.reason) == (Code.UNAVAILABLE, "LEDGER_UNAVAILABLE")
    assert refusal.domain == "entropyd"
    assert refusal.retry_s == 1.0
    assert refusal.pushback_ms == 1000
    for word in words:
        assert word in refusal.message


def assert_not_ready(daemon: Daemon, wire: Wire) -> None:
    """Readiness, status, metrics and health agree that nothing can be dealt."""
    until("it is not ready", lambda: daemon.http("/readyz")[0] == 503)
    assert daemon.http("/readyz")[1].startswith("LEDGER_UNAVAILABLE: ledger ")
    assert wire.status().hold_reason == "LEDGER_UNAVAILABLE"
    assert daemon.metric('entropyd_gate_held{why="LEDGER_UNAVAILABLE"}') == 1
    until("health says so", lambda: wire.check() == "NOT_SERVING")
    assert daemon.http("/healthz")[0] == 200, "a restart would not help"


def assert_bad_day(
    daemon: Daemon,
    wire: Wire,
    *,
    begin: Callable[[], object],
    end: Callable[[], object],
    words: tuple[str, ...],
) -> None:
    """Draws are refused while it lasts, replays are not; it ends without a restart."""
    drawn = wire.draw("t-ledger", "before")
    begin()
    refusal = until_refused(wire)
    assert_unavailable(refusal, *words)
    for _ in range(20):
        assert_unavailable(told(wire.shuffle, order("t-ledger", "during")))
    assert wire.replay("t-ledger", "before") == drawn
    assert wire.get(question("t-ledger", "before")) == drawn
    assert told(wire.get, question("t-ledger", "during")).code is Code.NOT_FOUND
    assert_not_ready(daemon, wire)
    reseeds = daemon.metric("entropyd_drbg_reseeds_total")
    time.sleep(1.2)
    assert daemon.metric("entropyd_drbg_reseeds_total") == reseeds, "drew what nobody can see"
    end()
    daemon.wait_until_dealing(patience_s=RESUMES_WITHIN_S)
    during = wire.shuffle(order("t-ledger", "during"))
    assert wire.replay("t-ledger", "before") == drawn
    assert wire.get(question("t-ledger", "during")) == during.shuffle
    lines = log_lines(daemon)
    assert changes(lines, "dealing").count("held: LEDGER_UNAVAILABLE") == 1
    assert changes(lines, "ledger").count("failing") <= 1


def until_refused(wire: Wire) -> Told:
    """Draw hands until one is refused: what was under way may still be recorded."""
    for number in range(10_000):
        try:
            wire.shuffle(order("t-until", f"until-{time.monotonic_ns()}-{number}"))
        except grpc.RpcError as error:
            return Told.by(error)
    raise AssertionError("the ledger goes on")


# --- the disk --------------------------------------------------------------


@pytest.fixture
def disk(home: Path) -> Iterator[SmallDisk]:
    """A disk of 24 MiB for the state directory."""
    with SmallDisk(home / "state", mebibytes=24) as disk:
        yield disk


@pytest.fixture
def on_disk(home: Path, disk: SmallDisk) -> Iterator[Daemon]:
    """A daemon on the small disk, that wants 1 MiB of it free."""
    room = {'min_free = "16MiB"': f'min_free = "{MIN_FREE}B"'}
    with started(custom_daemon(home, room, prefix=disk.prefix)) as daemon:
        yield daemon


def test_less_room_than_wanted(on_disk: Daemon, disk: SmallDisk):
    """Below `min_free` draws are refused with both numbers, and resume when there is room."""
    with Wire(on_disk) as wire:
        assert_bad_day(
            on_disk,
            wire,
            begin=lambda: disk.fill(leave_bytes=MIN_FREE // 2),
            end=disk.empty,
            words=("bytes free, draws need 1048576", "free space"),
        )
    assert on_disk.terminate() == 0


def test_full_disk_under_load(on_disk: Daemon, disk: SmallDisk):
    """A disk that fills up to the last byte under 16 callers: nothing answered is lost."""
    with Wire(on_disk) as wire:
        with Load(on_disk, callers=16, prefix="full") as load:
            until("the load runs", lambda: load.answered > 50)
            disk.fill()
            until("draws are refused", lambda: len(load.refused) > 50)
            answered = load.answered
            load.assert_all_replayed(wire)
            assert_not_ready(on_disk, wire)
            disk.empty()
            on_disk.wait_until_dealing(patience_s=RESUMES_WITHIN_S)
            until("the load goes on", lambda: load.answered > answered + 50)
        assert load.refused_otherwise == []
        assert {refusal.reason for refusal in load.refused} == {"LEDGER_UNAVAILABLE"}
        load.assert_all_replayed(wire)
        sequences = sorted(answer.sequence for answer in load.answers.values())
        assert sequences == list(range(1, len(sequences) + 1))
    assert on_disk.terminate() == 0


@contextlib.contextmanager
def failing_writes(daemon: Daemon, disk: SmallDisk, error: str) -> Iterator[None]:
    """Let the daemon's writes to its ledger fail, as on a disk that the kernel made read-only.

    A file system with files open for writing cannot be remounted by hand. The daemon keeps
    debuggers out; from its own name space root, or who made that, may still attach.
    """
    paths = [f"--trace-path={daemon.home}/state/ledger.sqlite3{suffix}" for suffix in ("", "-wal")]
    calls = "pwrite64,ftruncate,fdatasync,fsync"
    inject, attach = f"--inject={calls}:error={error}", f"--attach={daemon.pid}"
    strace = subprocess.Popen(
        [*disk.prefix, "strace", "-f", "-q", "-o", "/dev/null", *paths, inject, attach]
    )
    try:
        yield
    finally:
        strace.terminate()
        strace.wait()


@pytest.mark.parametrize("error", ["EROFS", "EIO", "ENOSPC"])
def test_writes_that_fail(on_disk: Daemon, disk: SmallDisk, error: str):
    """Read-only, broken or full according to the kernel: refused, and recorded once it works."""
    with Wire(on_disk) as wire:
        before = wire.draw("t-write", "before")
        with failing_writes(on_disk, disk, error):
            assert_unavailable(until_refused(wire), "ledger", ":")
            assert_not_ready(on_disk, wire)
            assert wire.replay("t-write", "before") == before
            assert_unavailable(told(wire.shuffle, order("t-write", "during")))
        on_disk.wait_until_dealing(patience_s=RESUMES_WITHIN_S)
        during = wire.shuffle(order("t-write", "during"))
        assert during.shuffle.sequence == 2
        assert wire.get(question("t-write", "before")) == before
        assert wire.get(question("t-write", "during")) == during.shuffle
    until("it is told", lambda: changes(log_lines(on_disk), "ledger")[-1:] == ["writing"])
    assert changes(log_lines(on_disk), "ledger").count("failing") == 1
    assert on_disk.terminate() == 0


def test_locked_by_another_program(daemon: Daemon):
    """Another program that writes to the ledger's file holds draws, until it lets go."""
    daemon.start()
    stranger = sqlite3.connect(daemon.home / "state" / "ledger.sqlite3", isolation_level=None)
    with Wire(daemon) as wire, contextlib.closing(stranger):
        assert_bad_day(
            daemon,
            wire,
            begin=lambda: stranger.execute("BEGIN IMMEDIATE"),
            end=lambda: stranger.execute("ROLLBACK"),
            words=("another program", "close that program"),
        )
    assert daemon.terminate() == 0


# --- damage ----------------------------------------------------------------


def flip(path: Path, offset: int) -> None:
    """Flip every bit of 64 bytes of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        old = file.read(64)
        file.seek(offset)
        file.write(bytes(byte ^ 0xFF for byte in old))


def truncate(path: Path) -> None:
    """Cut a file in half."""
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def flip_pages(path: Path) -> None:
    """Flip the beginning of every page but the first."""
    for offset in range(4096, path.stat().st_size, 4096):
        flip(path, offset)


def swap_key(path: Path) -> None:
    """Give the state directory another master key."""
    path.with_name("master.key").write_bytes(bytes(32))


DAMAGE: dict[str, tuple[Callable[[Path], object], int, str]] = {
    "header": (lambda path: flip(path, 0), 70, "restore the last backup"),
    "pages": (flip_pages, 70, "restore the last backup"),
    "cut short": (truncate, 70, "restore the last backup"),
    "another file": (lambda path: path.write_bytes(b"no database" * 1000), 70, "restore"),
    "deleted": (lambda path: path.unlink(), 70, "restore it from a backup"),
    "another key": (swap_key, 70, "master key"),
}


@pytest.fixture(scope="module")
def stopped_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory with 20 hands, as a daemon left it."""
    home = tmp_path_factory.mktemp("ledger")
    with running(home) as daemon:
        with Wire(daemon) as wire:
            for number in range(20):
                wire.draw("t-damage", f"hand-{number}")
        assert daemon.terminate() == 0
    return home / "state"


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_ledger_is_not_dealt_from(daemon: Daemon, stopped_state: Path, name: str):
    """The daemon refuses to start on a damaged ledger, says what to do, and leaves it as it is."""
    damage, code, words = DAMAGE[name]
    state = daemon.home / "state"
    shutil.copytree(stopped_state, state)
    damage(state / "ledger.sqlite3")
    daemon.start(wait=False)
    assert daemon.ended(patience_s=60) == code
    last = daemon.log.splitlines()[-1]
    assert last.startswith("entropyd: ")
    assert words in last
    assert not (daemon.home / "poker.sock").exists()


def test_a_record_that_was_changed(daemon: Daemon, stopped_state: Path):
    """A card changed in a stored deck is found when it is read: DATA_LOSS, and nothing is dealt."""
    shutil.copytree(stopped_state, daemon.home / "state")
    database = sqlite3.connect(daemon.home / "state" / "ledger.sqlite3")
    with contextlib.closing(database), database:
        swapped = "substr(items, 5, 4) || substr(items, 1, 4) || substr(items, 9)"
        database.execute(f"UPDATE hands SET items = CAST({swapped} AS BLOB) WHERE hand = 'hand-3'")
    daemon.start()
    with Wire(daemon) as wire:
        assert wire.get(question("t-damage", "hand-4")).sequence == 5
        refusal = told(wire.shuffle, order("t-damage", "hand-3"))
    assert (refusal.code, refusal.reason) == (Code.DATA_LOSS, "LEDGER_DAMAGED")
    assert "restore both from one backup" in refusal.message
    assert refusal.pushback_ms is None, "asking again does not help"
    assert daemon.ended(patience_s=60) == 70


def test_ledger_deleted_while_dealing(daemon: Daemon):
    """Without its file the daemon ends, and does not come back with an empty history."""
    daemon.start()
    with Wire(daemon) as wire:
        wire.draw("t-deleted", "before")
        (daemon.home / "state" / "ledger.sqlite3").unlink()
        refusal = until_refused(wire)
        assert refusal.code in {Code.DATA_LOSS, Code.UNAVAILABLE}
    assert daemon.ended(patience_s=60) == 70
    assert "restore both from the last backup" in daemon.log
    daemon.start(wait=False)
    assert daemon.ended(patience_s=60) == 70
    assert "a ledger was begun" in daemon.log or "one was begun here" in daemon.log
