"""The SQLite ledger keeps the contract, and what is its own: files, faults, damage, death."""

import errno
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from entropyd.errors import (
    ConfigError,
    LedgerConflictError,
    LedgerDamagedError,
    LedgerUnavailableError,
)
from entropyd.ledger import sqlite_file
from entropyd.ledger.contract import AlreadySpent, Event, EventKind, Recorded
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.sqlite_schema import APPLICATION_ID, SCHEMA_VERSION
from entropyd.ledger.state_dir import StateDirectory
from tests.contract.ledger import LedgerContract
from tests.contract.ledger_child import open_ledger
from tests.contract.log import LogContract
from tests.contract.steps import StepsContract
from tests.fakes.drafts import make_draft, record_of
from tests.fakes.sqlite_faults import failing_writes

ROOT = Path(__file__).parents[2]


class SqliteStore:
    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._made = 0

    def open(self) -> SqliteLedger:
        return open_ledger(self._parent / "state")

    def fresh(self) -> "SqliteStore":
        self._made += 1
        parent = self._parent / f"fresh-{self._made}"
        parent.mkdir()
        return SqliteStore(parent)


class TestSqliteLedger(LedgerContract, StepsContract, LogContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> SqliteStore:
        return SqliteStore(tmp_path)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def child(program: str, directory: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Run a program of ledger_child.py to its end."""
    return subprocess.run(
        [*before, sys.executable, "-m", "tests.contract.ledger_child", program, str(directory)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def edit(state: Path, statement: str, *values: object) -> None:
    """Change the file behind the ledger's back."""
    connection = sqlite3.connect(state / FILE_NAME)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    with connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


# --- the file -------------------------------------------------------------------


def test_the_connection_is_durable_and_the_file_is_ours(state):
    """Every pragma that durability rests on is in force, on both connections."""
    ledger = open_ledger(state)
    for connection in (ledger._writer, ledger._reader):

        def pragma(name: str, connection: sqlite3.Connection | None = connection) -> object:
            assert connection is not None
            return connection.execute(f"PRAGMA {name}").fetchone()[0]

        assert pragma("journal_mode") == "wal"
        assert pragma("synchronous") == 2
        assert pragma("foreign_keys") == 1
        assert pragma("trusted_schema") == 0
        assert pragma("mmap_size") == 0
        assert pragma("busy_timeout") == 250
        assert pragma("application_id") == APPLICATION_ID
        assert pragma("user_version") == SCHEMA_VERSION
    ledger.close()


def test_files_are_private_and_the_log_is_gone_after_a_clean_close(state):
    ledger = open_ledger(state)
    ledger.commit([make_draft()])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()}
    assert set(modes.values()) == {0o600}
    assert f"{FILE_NAME}-wal" in modes
    ledger.close()
    names = {path.name for path in state.iterdir()}
    assert names == {"lock", FILE_NAME, f"{FILE_NAME}.begun"}


def test_no_secret_lies_in_the_files_in_the_clear(state):
    """Neither cards nor what decides them can be read without the master key."""
    draft = make_draft()
    ledger = open_ledger(state)
    ledger.commit([draft])
    files = b"".join(path.read_bytes() for path in state.iterdir())
    assert draft.commitment in files
    for secret in (draft.items, draft.seeds, draft.blinding, draft.salt_key):
        assert secret not in files
        assert secret[:16] not in files
    ledger.close()


def test_a_committed_hand_is_visible_to_another_process_at_once(state):
    """`commit` has returned: the record is in the files, not in this process's memory."""
    ledger = open_ledger(state)
    ledger.commit([make_draft()])
    stranger = sqlite3.connect(f"file:{state / FILE_NAME}?mode=ro", uri=True)
    assert stranger.execute("SELECT hand FROM hands").fetchall() == [("hand-1",)]
    stranger.close()
    ledger.close()


def test_ids_and_rules_are_limited_by_the_database_too(state):
    """A second row for a spent key is refused by the file itself."""
    ledger = open_ledger(state)
    ledger.commit([make_draft()])
    ledger.close()
    connection = sqlite3.connect(state / FILE_NAME)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        connection.execute("INSERT INTO spent SELECT * FROM spent")
    connection.close()


# --- refusing to open ------------------------------------------------------------


def test_a_file_of_a_newer_schema_is_refused_with_the_remedy(state):
    open_ledger(state).close()
    connection = sqlite3.connect(state / FILE_NAME)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(ConfigError, match="install the entropyd that wrote it"):
        open_ledger(state)


def test_a_database_of_another_program_is_refused(state):
    state.mkdir(mode=0o700)
    connection = sqlite3.connect(state / FILE_NAME)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    with pytest.raises(LedgerDamagedError, match="another program"):
        open_ledger(state)


def test_another_master_key_is_refused_at_once(state):
    open_ledger(state).close()
    with pytest.raises(LedgerDamagedError, match=r"row meta, field key_check: .* master key"):
        SqliteLedger.open(StateDirectory.hold(state), SecretBox(bytes(32)))


def test_a_lost_file_is_not_replaced_by_an_empty_one(state):
    """A new ledger in place of a lost one would deal every spent hand again."""
    ledger = open_ledger(state)
    ledger.commit([make_draft()])
    ledger.close()
    (state / FILE_NAME).unlink()
    for _ in range(2):
        with pytest.raises(LedgerDamagedError, match="restore it from a backup"):
            open_ledger(state)
    assert not (state / FILE_NAME).exists()


def test_a_start_that_died_before_its_first_hand_is_begun_again(state):
    """Whatever was created so far: an empty file, or one without its mark."""
    state.mkdir(mode=0o700)
    (state / FILE_NAME).touch(mode=0o600)
    open_ledger(state).close()
    (state / f"{FILE_NAME}.begun").unlink()
    ledger = open_ledger(state)
    assert ledger.count() == 0
    ledger.close()
    assert (state / f"{FILE_NAME}.begun").exists()


def test_a_file_that_cannot_be_opened_is_unavailable_and_the_lock_is_let_go(state):
    state.mkdir(mode=0o700)
    (state / FILE_NAME).mkdir()
    with pytest.raises(LedgerUnavailableError, match="cannot be opened"):
        open_ledger(state)
    StateDirectory.hold(state).release()


def test_a_pragma_that_does_not_take_is_noticed(state, monkeypatch):
    """SQLite ignores what it cannot do; a ledger that does not synchronise must not open."""
    monkeypatch.setattr(
        sqlite_file, "PRAGMAS", (*sqlite_file.PRAGMAS, "PRAGMA synchronous = NORMAL")
    )
    with pytest.raises(Exception, match="synchronous 1; expected wal, 2"):
        open_ledger(state)


# --- one daemon ------------------------------------------------------------------


def test_a_second_process_is_refused_and_told_who_holds_the_directory(state):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.contract.ledger_child", "hold", str(state)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(LedgerConflictError, match=f"held by pid {process.pid}"):
        open_ledger(state)
    process.kill()
    process.wait()
    process.stdout.close()
    open_ledger(state).close()


def test_this_process_keeps_others_out(state):
    ledger = open_ledger(state)
    assert child("try_to_open", state).stdout.startswith("LedgerConflictError state directory")
    ledger.commit([make_draft()])
    ledger.close()
    assert child("try_to_open", state).stdout == "opened 1\n"


def test_a_directory_that_others_may_enter_is_refused(state):
    state.mkdir(mode=0o700)
    state.chmod(0o750)
    with pytest.raises(ConfigError, match="chmod 700"):
        StateDirectory.hold(state)


def test_a_state_directory_in_no_directory_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="expected a directory on a local"):
        StateDirectory.hold(tmp_path / "missing" / "state")


# --- writes that fail --------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS], ids=errno.errorcode.get)
@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_a_commit_survives_the_failure_of_any_of_its_writes(state, code, written):
    """For each write of a commit: it fails there, with the data on disk or not.

    Nothing is confirmed, nothing confirmed is lost, no number is missing, the
    ledger goes on by itself, and a hand keeps the deck that was recorded first.
    """
    ledger = open_ledger(state)
    with failing_writes(code, first=None) as writes:
        ledger.commit([make_draft("h")])
    assert writes.count > 5
    for number in range(writes.count):
        hand = f"h{number}"
        batch = [make_draft(hand), make_draft(f"{hand}x")]
        with failing_writes(code, first=number, written=written):
            with pytest.raises(LedgerUnavailableError):
                ledger.commit(batch, [Event(EventKind.HAND_READ, hand, "{}", 0)])
            with pytest.raises(LedgerUnavailableError):
                ledger.probe()
            assert ledger.find("room", "h") is not None
        ledger.commit([])
        ledger.probe()
        one, two = ledger.commit([make_draft(hand, attempt=2), make_draft(f"{hand}x", attempt=2)])
        assert type(one) is type(two)
        assert isinstance(one, Recorded | AlreadySpent)
        assert isinstance(two, Recorded | AlreadySpent)
        assert [record_of(one).sequence, record_of(two).sequence] == [
            2 * number + 2,
            2 * number + 3,
        ]
        assert ledger.find("room", hand) == one.record
    assert ledger.count() == 1 + 2 * writes.count
    assert len(ledger.events()) in {0, writes.count}
    ledger.close()
    ledger = open_ledger(state)
    assert ledger.count() == 1 + 2 * writes.count
    ledger.close()


def test_failed_but_written_is_found_after_a_crash_and_durable_before_it_is_shown(state, tmp_path):
    """The log holds a commit that failed, the process dies: the next one makes it durable first.

    Durable means: in the database file itself, which the checkpoint synchronised.
    """
    ledger = open_ledger(state)
    crashed = tmp_path / "crashed"
    hand = fail_after_the_last_write(ledger, lambda: shutil.copytree(state, crashed))
    ledger.close()
    after = open_ledger(crashed)
    alone = tmp_path / "alone.sqlite3"
    shutil.copy(crashed / FILE_NAME, alone)
    connection = sqlite3.connect(alone)
    assert (hand,) in connection.execute("SELECT hand FROM hands").fetchall()
    connection.close()
    (outcome,) = after.commit([make_draft(hand, attempt=2)])
    assert isinstance(outcome, AlreadySpent)
    assert make_draft(hand, attempt=1).items == record_of(outcome).draft.items
    after.close()


def test_nobody_reads_a_log_that_is_not_recovered(state):
    """Both connections lost to a failing disk: a look-up waits until a commit has recovered."""
    ledger = open_ledger(state)

    def lose_the_reader() -> None:
        assert ledger._reader is not None
        ledger._reader.close()
        ledger._reader = None

    hand = fail_after_the_last_write(ledger, lose_the_reader)
    with pytest.raises(LedgerUnavailableError, match="SQLITE_IOERR"):
        ledger.find("room", hand)
    ledger.commit([])
    assert ledger.find("room", hand) is not None
    ledger.close()


def fail_after_the_last_write(ledger: SqliteLedger, then: Callable[[], object]) -> str:
    """Commit hands until one fails at the last of its writes, which was done; return that hand.

    How many writes a commit has depends on the pages it meets, so the fault
    comes nearer from behind.
    """
    for number in reversed(range(20)):
        with failing_writes(errno.EIO, first=number, written=True):
            try:
                ledger.commit([make_draft(f"h{number}")])
            except LedgerUnavailableError:
                then()
                return f"h{number}"
    raise AssertionError("no write failed")


def in_mount_namespace() -> list[str]:
    """A private mount namespace; as another user than root, one in which we are root."""
    able = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True)
    return ["unshare", "--mount"] + ([] if able.returncode == 0 else ["--user", "--map-root-user"])


@pytest.mark.parametrize(
    ("program", "refusal"),
    [("fill_a_real_disk", "SQLITE_FULL"), ("meet_a_read_only_disk", "mounted and writable")],
)
def test_a_real_disk_that_is_full_or_read_only_refuses_and_recovers(tmp_path, program, refusal):
    """On a small tmpfs: draws are refused, stored hands answered, then it goes on by itself."""
    done = child(program, tmp_path / "disk", *in_mount_namespace())
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("refused ")
    assert refusal in lines[0]
    assert lines[-1].startswith("whole ")


def test_a_real_write_error_refuses_and_recovers(tmp_path):
    done = child("fill_up_to_a_file_size_limit", tmp_path)
    assert done.stderr == ""
    assert "SQLITE_IOERR_WRITE" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("whole ")


def test_a_real_failing_sync_confirms_nothing(state):
    """Fdatasync returns EIO: the commit raises, and goes on raising until a sync succeeds."""
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync"]
    done = child(
        "survive_failing_syncs", state, *strace, "-e", "inject=fdatasync:error=EIO:when=20..24"
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "opened"
    assert [("SQLITE_IOERR_FSYNC" in line) for line in lines[1:3]] == [True, True]
    assert lines[-1].startswith("whole ")


def test_draws_are_refused_while_there_is_too_little_room(state, monkeypatch):
    """Notes are still taken, and stored hands answered."""
    ledger = open_ledger(state)
    ledger.commit([make_draft("h1")])
    ledger._min_free_bytes = 2**62
    for refused in (ledger.probe, lambda: ledger.commit([make_draft("h2")])):
        with pytest.raises(LedgerUnavailableError, match="free space, dealing then goes on"):
            refused()
    ledger.commit([], [Event(EventKind.DAEMON_STOP, "entropyd", "{}", 0)])
    assert ledger.find("room", "h1") is not None
    assert ledger.find("room", "h2") is None
    ledger._min_free_bytes = 1
    ledger.probe()
    (outcome,) = ledger.commit([make_draft("h2")])
    assert isinstance(outcome, Recorded)
    assert outcome.record.sequence == 2
    ledger.close()


def test_a_database_locked_by_a_stranger_refuses_and_recovers(state):
    ledger = open_ledger(state)
    stranger = sqlite3.connect(state / FILE_NAME, isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailableError, match="another program holds it"):
        ledger.commit([make_draft()])
    assert ledger.find("room", "hand-1") is None
    stranger.execute("ROLLBACK")
    stranger.close()
    (outcome,) = ledger.commit([make_draft(attempt=2)])
    assert isinstance(outcome, Recorded)
    ledger.close()


def test_a_disk_that_only_reads_does_not_pass_for_repaired(state):
    """After a failure an empty commit writes and synchronises a page before it says yes."""
    ledger = open_ledger(state)
    stranger = sqlite3.connect(state / FILE_NAME, isolation_level=None)
    # With its log in the database, recovering the ledger has nothing to write.
    stranger.execute("PRAGMA wal_checkpoint(PASSIVE)")
    stranger.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailableError):
        ledger.commit([make_draft()])
    stranger.close()
    with failing_writes(errno.ENOSPC, first=0), pytest.raises(LedgerUnavailableError):
        ledger.commit([])
    with pytest.raises(LedgerUnavailableError):
        ledger.probe()
    ledger.commit([])
    ledger.probe()
    ledger.close()


# --- damage ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "field"),
    [
        ("UPDATE hands SET items = zeroblob(length(items))", "items"),
        ("UPDATE hands SET items = opening", "items"),
        ("UPDATE hands SET opening = items", "opening"),
        ("UPDATE hands SET opening = substr(opening, 1, 20)", "opening"),
        ("UPDATE hands SET claim_digest = zeroblob(32)", "claim_digest"),
        ("UPDATE hands SET provenance = x'00'", "provenance"),
        ("UPDATE hands SET drawn_at_ns = -1", "drawn_at_ns"),
        ("UPDATE hands SET sequence = 7", "open_hash"),
        ("UPDATE hands SET sequence = -7", "sequence or size"),
        ("UPDATE hands SET size = 51", "open_hash"),
        ("UPDATE hands SET deck_root = zeroblob(32)", "open_hash"),
        ("UPDATE hands SET commitment = zeroblob(32)", "open_hash"),
        ("UPDATE hands SET rules = x'00'", "items|opening"),
        ("UPDATE hands SET hand = 'other'", "hand"),
        ("UPDATE tables SET name = 'other'", "items|opening"),
        ("UPDATE tables SET name = ''", "key.table"),
        ("UPDATE tables SET tenant = 'other'", "hand"),
    ],
)
def test_a_changed_row_is_never_answered(state, statement, field):
    """Whatever was changed behind our back, the row is named and its content is not."""
    ledger = open_ledger(state)
    ledger.commit([make_draft()])
    edit(state, statement)
    with pytest.raises(
        LedgerDamagedError, match=rf"ledger row hands/1, field .*({field})"
    ) as error:
        ledger.find("room", "hand-1", with_secrets=True)
    for secret in (make_draft().items, make_draft().seeds, make_draft().blinding):
        assert secret.hex() not in str(error.value)
        assert repr(secret) not in str(error.value)
    if field != "opening":
        with pytest.raises(LedgerDamagedError):
            ledger.commit([make_draft(attempt=2)])
    ledger.close()


def test_a_spent_id_without_its_row_is_never_dealt_again(state):
    ledger = open_ledger(state)
    ledger.commit([make_draft("h1"), make_draft("h2")])
    edit(state, "DELETE FROM hands WHERE id = 1")
    with pytest.raises(LedgerDamagedError, match="names no hand"):
        ledger.commit([make_draft("h1", attempt=2)])
    ledger.close()


def test_a_text_that_is_none_is_damage(state):
    ledger = open_ledger(state)
    ledger.commit([], [], [("q1", "{}")])
    edit(state, "UPDATE health_states SET state = CAST(x'ff' AS TEXT)")
    with pytest.raises(LedgerDamagedError, match="not UTF-8"):
        ledger.health_states()
    ledger.close()


@pytest.mark.parametrize("offset", [0, 18, 100, 4096, 8192])
def test_flipped_bytes_in_the_file_are_found_at_the_next_start(state, offset):
    """Header, schema and the first pages: 64 bytes are inverted at `offset`."""
    ledger = open_ledger(state)
    ledger.commit([make_draft(f"h{number}") for number in range(50)])
    ledger.close()
    content = bytearray((state / FILE_NAME).read_bytes())
    content[offset : offset + 64] = bytes(byte ^ 0xFF for byte in content[offset : offset + 64])
    (state / FILE_NAME).write_bytes(content)
    with pytest.raises(LedgerDamagedError):
        open_ledger(state)


def test_a_file_cut_in_half_is_found_at_the_next_start(state):
    ledger = open_ledger(state)
    ledger.commit([make_draft(f"h{number}") for number in range(50)])
    ledger.close()
    content = (state / FILE_NAME).read_bytes()
    (state / FILE_NAME).write_bytes(content[: len(content) // 2])
    with pytest.raises(LedgerDamagedError, match="restore"):
        open_ledger(state)


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_a_file_taken_away_under_us_ends_dealing(state, suffix):
    """Records in a file without a name would be confirmed and lost."""
    ledger = open_ledger(state)
    ledger.commit([make_draft("h1")])
    (state / f"{FILE_NAME}{suffix}").rename(state / "elsewhere")
    with pytest.raises(LedgerDamagedError, match="deleted or replaced while in use"):
        ledger.probe()
    with pytest.raises(LedgerDamagedError, match="deleted or replaced while in use"):
        ledger.commit([make_draft("h2")])
    ledger.close()


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
def test_a_file_taken_away_after_a_failure_is_not_begun_anew(state, replaced):
    """A ledger that opens its file again takes no other one for it."""
    ledger = open_ledger(state)
    ledger.commit([make_draft("h1")])
    with failing_writes(errno.EIO, first=0), pytest.raises(LedgerUnavailableError):
        ledger.commit([make_draft("h2")])
    (state / FILE_NAME).rename(state / "elsewhere")
    if replaced:
        shutil.copy(state / "elsewhere", state / FILE_NAME)
    with pytest.raises(LedgerDamagedError, match="deleted or replaced while in use"):
        ledger.commit([])
    assert replaced == (state / FILE_NAME).exists()
    ledger.close()


# --- death -------------------------------------------------------------------------


def test_kill_9_loses_nothing_that_was_confirmed(state):
    """Ten lives on one ledger, each killed within a commit loop, after 1 to 19 confirmations."""
    confirmed: list[str] = []
    for life in range(10):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.contract.ledger_child", "commit_for_ever", str(state)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(1 + 2 * life):
            confirmed += process.stdout.readline().split()
        process.send_signal(signal.SIGKILL)
        confirmed += process.stdout.read().split()
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
    ledger = open_ledger(state)
    tables: dict[str, list[int]] = {}
    for hand in confirmed:
        record = ledger.find("room", hand)
        assert record is not None
        assert make_draft(hand, table=record.draft.table).items == record.draft.items
        tables.setdefault(record.draft.table, []).append(record.sequence)
    # Three tables, one hand of each in a commit: all or nothing leaves them level.
    assert ledger.count() % 3 == 0
    assert 0 <= ledger.count() - len(confirmed) <= 3 * 10
    for numbers in tables.values():
        assert len(set(numbers)) == len(numbers)
        assert max(numbers) <= ledger.count() // 3
    ledger.close()
    connection = sqlite3.connect(state / FILE_NAME)
    rows = connection.execute(
        "SELECT min(sequence), max(sequence), count(*) FROM hands GROUP BY table_id"
    ).fetchall()
    connection.close()
    assert {(first, last == count) for first, last, count in rows} == {(1, True)}


# --- windows of alarms ---------------------------------------------------------

SAMPLES = b"raw samples of an alarm" * 20


def alarm(number: int) -> Event:
    return Event(EventKind.HEALTH_ALARM, f"q{number}", "{}", number, window=SAMPLES)


def test_no_window_lies_in_the_clear(state):
    ledger = open_ledger(state)
    ledger.commit([], [alarm(1)])
    ledger.close()
    assert all(b"raw samples" not in path.read_bytes() for path in state.iterdir())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE alarm_windows SET event_id = 3 - event_id",
        "UPDATE events SET subject = 'q3' WHERE id = 1",
        "UPDATE events SET detail = '{ }' WHERE id = 1",
        "UPDATE events SET at_ns = 5 WHERE id = 1",
        "UPDATE events SET kind = 'health-latch' WHERE id = 1",
        "UPDATE alarm_windows SET sealed = zeroblob(500) WHERE event_id = 1",
    ],
)
def test_a_window_is_bound_to_its_event(state, change):
    """Moved, under a changed event, or changed itself: it is damage, and nothing is returned."""
    ledger = open_ledger(state)
    ledger.commit([], [alarm(1), alarm(2)])
    ledger.close()
    connection = sqlite3.connect(state / FILE_NAME, isolation_level=None)
    if "3 -" in change:
        connection.execute("UPDATE alarm_windows SET event_id = -event_id")
        change = "UPDATE alarm_windows SET event_id = 3 + event_id"
    connection.execute(change)
    connection.close()
    again = open_ledger(state)
    with pytest.raises(LedgerDamagedError, match=r"alarm_windows/\d, field window: does not decr"):
        again.alarm_windows()
    again.close()
