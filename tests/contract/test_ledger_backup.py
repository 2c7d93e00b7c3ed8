"""A backup is whole or not there; a restore loses no history, or says which and does nothing."""

import errno
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from entropyd.errors import (
    ConfigError,
    LedgerDamagedError,
    LedgerRefusedError,
    LedgerUnavailableError,
)
from entropyd.ledger import backup
from entropyd.ledger.backup import back_up, restore
from entropyd.ledger.contract import AlreadySpent, Event, EventKind
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import FILE_NAME
from entropyd.ledger.state_dir import StateDirectory
from tests.contract.ledger_child import MASTER_KEY, open_ledger
from tests.fakes.drafts import make_draft
from tests.fakes.sqlite_faults import failing_writes

V1 = Path(__file__).parents[1] / "vectors" / "ledger" / "v1.sqlite3"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "saved.sqlite3"


def deal(state: Path, *hands: str) -> None:
    ledger = open_ledger(state)
    ledger.commit([make_draft(hand) for hand in hands])
    ledger.close()


def put_back(state: Path, source: Path, key: bytes = MASTER_KEY) -> backup.Restored:
    with StateDirectory.hold(state) as directory:
        return restore(state / FILE_NAME, source, SecretBox(key), directory=directory)


def names(state: Path) -> set[str]:
    return {entry.name for entry in state.iterdir()}


@contextmanager
def unchanged(state: Path) -> Iterator[None]:
    """Whatever the block refuses, the ledger holds what it held, and nothing lies beside it."""
    ledger = open_ledger(state)
    position = ledger.position()
    ledger.close()
    before = names(state)
    yield
    assert before == names(state)
    ledger = open_ledger(state)
    assert position == ledger.position()
    ledger.close()


# --- a backup ----------------------------------------------------------------


def test_a_backup_of_an_open_ledger_holds_what_was_committed(state, saved, tmp_path):
    """Also what still lies in the log; what comes later is not in it."""
    ledger = open_ledger(state)
    ledger.commit([make_draft("h1"), make_draft("h2")], [Event(EventKind.DAEMON_START, "n", "", 1)])
    assert ledger.position() == back_up(state / FILE_NAME, saved).position
    ledger.commit([make_draft("h3")])
    ledger.close()
    assert 0o600 == stat.S_IMODE(saved.stat().st_mode)
    assert {"state", saved.name} == {entry.name for entry in tmp_path.iterdir()}
    other = tmp_path / "other"
    assert 2 == put_back(other, saved).facts.position.hands
    copy = open_ledger(other)
    record = copy.find("room", "h2", with_secrets=True)
    assert record is not None
    assert make_draft("h2") == record.draft
    assert copy.find("room", "h3") is None
    (spent,) = copy.commit([make_draft("h1", attempt=2)])
    assert isinstance(spent, AlreadySpent)
    copy.close()


def test_commits_go_on_while_a_backup_is_made(state, saved):
    """Whatever moment it shows, it is a whole commit: two hands at a time."""
    ledger = open_ledger(state)
    ledger.commit([make_draft(f"h{number}") for number in range(2000)])
    done = threading.Event()
    seen: list[int] = []

    def make_backups() -> None:
        for number in range(5):
            path = saved.with_name(f"saved-{number}")
            seen.append(back_up(state / FILE_NAME, path).position.hands)
        done.set()

    thread = threading.Thread(target=make_backups)
    thread.start()
    commits = 0
    while not done.is_set():
        ledger.commit([make_draft(f"a{commits}"), make_draft(f"b{commits}")])
        commits += 1
    thread.join()
    assert 5 == len(seen)
    assert seen == sorted(seen)
    assert {0} == {hands % 2 for hands in seen}
    assert seen[-1] <= ledger.count() == 2000 + 2 * commits
    ledger.close()


def test_a_backup_replaces_nothing(state, saved):
    deal(state, "h1")
    saved.write_text("dear")
    with pytest.raises(LedgerRefusedError, match="exists; give each backup its own name"):
        back_up(state / FILE_NAME, saved)
    assert "dear" == saved.read_text()


@pytest.mark.parametrize("first", [0, 1, 5])
def test_a_backup_that_cannot_be_written_is_not_there(state, saved, first):
    deal(state, *(f"h{number}" for number in range(50)))
    with failing_writes(errno.ENOSPC, first=first), pytest.raises(LedgerUnavailableError):
        back_up(state / FILE_NAME, saved)
    assert ["state"] == [entry.name for entry in saved.parent.iterdir()]
    back_up(state / FILE_NAME, saved)


def test_a_damaged_ledger_makes_no_backup(state, saved):
    """A copy of damage would replace a sound one."""
    deal(state, *(f"h{number}" for number in range(50)))
    content = bytearray((state / FILE_NAME).read_bytes())
    content[8192 : 8192 + 64] = bytes(64)
    (state / FILE_NAME).write_bytes(content)
    with pytest.raises(LedgerDamagedError):
        back_up(state / FILE_NAME, saved)
    assert ["state"] == [entry.name for entry in saved.parent.iterdir()]


def test_no_ledger_makes_no_backup(state, saved):
    with pytest.raises(LedgerUnavailableError):
        back_up(state / FILE_NAME, saved)
    assert not saved.exists()


def test_a_ledger_of_version_1_is_backed_up_before_its_upgrade(state, saved):
    """And the backup comes up like the ledger."""
    state.mkdir(mode=0o700)
    shutil.copy(V1, state / FILE_NAME)
    position = back_up(state / FILE_NAME, saved).position
    assert (4, 2) == (position.hands, position.events)
    (state / FILE_NAME).unlink()
    assert 4 == put_back(state, saved).facts.position.hands


# --- a restore ---------------------------------------------------------------


@pytest.mark.parametrize("lose", ["file", "half", "nothing", "log-left"])
def test_a_lost_or_damaged_ledger_is_replaced_and_kept(state, saved, lose):
    """What was there is renamed with its log, which must never meet another database."""
    deal(state, *(f"h{number}" for number in range(50)))
    back_up(state / FILE_NAME, saved)
    file = state / FILE_NAME
    if lose in {"file", "log-left"}:
        file.unlink()
    if lose == "log-left":
        Path(f"{file}-wal").write_bytes(b"a log of the lost file")
    if lose == "half":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    restored = put_back(state, saved)
    assert (lose in {"file", "log-left"}) == (restored.kept is None)
    assert restored.kept is None or restored.kept.exists()
    assert not Path(f"{file}-wal").exists()
    ledger = open_ledger(state)
    assert 50 == ledger.count()
    ledger.close()


def test_an_older_backup_over_a_newer_ledger_is_refused_with_both_numbers(state, saved):
    deal(state, "h1", "h2")
    back_up(state / FILE_NAME, saved)
    deal(state, "h3")
    message = r"ends with hand 3 and event 0, the backup with hand 2 and event 0; it is older"
    with unchanged(state), pytest.raises(LedgerRefusedError, match=message):
        put_back(state, saved)


def test_a_backup_that_lacks_only_an_event_is_older(state, saved):
    """The event may be a latch, which nothing may wash away."""
    deal(state, "h1")
    back_up(state / FILE_NAME, saved)
    ledger = open_ledger(state)
    ledger.commit([], [Event(EventKind.HEALTH_LATCH, "q1", "{}", 1)])
    ledger.close()
    with unchanged(state), pytest.raises(LedgerRefusedError, match=r"event 1, .* event 0"):
        put_back(state, saved)


def test_a_backup_of_another_ledger_is_refused(state, saved, tmp_path):
    deal(state, "h1")
    deal(tmp_path / "other", "h1", "h2")
    back_up(tmp_path / "other" / FILE_NAME, saved)
    with unchanged(state), pytest.raises(LedgerRefusedError, match="two histories"):
        put_back(state, saved)


def test_a_twin_that_went_on_by_itself_is_refused(state, saved, tmp_path):
    """It has more hands, but not those of the ledger that is there."""
    deal(state, "h1")
    twin = tmp_path / "twin"
    shutil.copytree(state, twin)
    deal(state, "h2")
    deal(twin, "x2", "x3")
    back_up(twin / FILE_NAME, saved)
    with unchanged(state), pytest.raises(LedgerRefusedError, match="has another hand 2"):
        put_back(state, saved)


def test_another_master_key_is_refused(state, saved):
    deal(state, "h1")
    back_up(state / FILE_NAME, saved)
    with unchanged(state), pytest.raises(LedgerDamagedError, match="master key"):
        put_back(state, saved, key=bytes(32))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4096])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[12288:12352] = bytes(64)
    path.write_bytes(content)


def from_the_future(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()


@pytest.mark.parametrize(
    ("harm", "error"),
    [
        (cut, LedgerDamagedError),
        (flip, LedgerDamagedError),
        (from_the_future, ConfigError),
        (foreign, LedgerDamagedError),
        (lambda path: path.write_text("no database at all"), LedgerDamagedError),
        (Path.unlink, LedgerUnavailableError),
    ],
    ids=["cut", "flipped", "newer", "foreign", "text", "missing"],
)
def test_a_backup_that_is_none_is_refused(state, saved, harm: Callable[[Path], object], error):
    deal(state, *(f"h{number}" for number in range(50)))
    back_up(state / FILE_NAME, saved)
    harm(saved)
    with unchanged(state), pytest.raises(error):
        put_back(state, saved)


def test_a_ledger_in_use_is_no_backup(state, tmp_path):
    """Its last records lie in its log: a copy of the file alone would lose them."""
    ledger = open_ledger(state)
    ledger.commit([make_draft("h1")])
    with pytest.raises(LedgerRefusedError, match="has a log beside it"):
        put_back(tmp_path / "other", state / FILE_NAME)
    ledger.close()


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_a_restore_that_dies_is_repeated(state, saved, monkeypatch, step):
    """At each rename: the ledger that was there, or none and a refusal to begin one; then whole."""
    deal(state, "h1", "h2")
    back_up(state / FILE_NAME, saved)
    for suffix in ("-wal", "-shm"):
        Path(f"{state / FILE_NAME}{suffix}").unlink(missing_ok=True)
    whole = (state / FILE_NAME).read_bytes()
    (state / FILE_NAME).write_bytes(whole[: len(whole) // 2])
    Path(f"{state / FILE_NAME}-wal").write_bytes(b"x")
    renames = iter(range(100))
    real = Path.rename

    def rename(path: Path, target: Path) -> Path:
        if next(renames) == step:
            raise KeyboardInterrupt
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename)
        try:
            put_back(state, saved)
        except KeyboardInterrupt:
            with pytest.raises(LedgerDamagedError):
                open_ledger(state)
    put_back(state, saved)
    ledger = open_ledger(state)
    assert 2 == ledger.count()
    ledger.close()
