"""Years of a ledger: closed hands are answered from archives, expired ones are gone, ids never."""

import errno
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from entropyd import units
from entropyd.errors import (
    LedgerDamagedError,
    LedgerUnavailableError,
    SecretsDestroyedError,
)
from entropyd.ledger import archives
from entropyd.ledger.archive_file import read_rows
from entropyd.ledger.contract import AlreadySpent, Event, EventKind, HandDraft, Recorded
from entropyd.ledger.destruction import destroy_through, last_expired
from entropyd.ledger.inspection import Inspection, inspect
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.sqlite_file import take_back_file
from tests.contract.ledger_child import MASTER_KEY, open_ledger
from tests.fakes.drafts import make_draft
from tests.fakes.sqlite_faults import failing_writes

V1 = Path(__file__).parents[1] / "vectors" / "ledger" / "v1.sqlite3"
MONTH = 30 * units.DAY
NOW = 1000 * MONTH
AT = 7


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(autouse=True)
def small_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seventy hands a file: more than a block, and several files."""
    monkeypatch.setattr(archives, "ARCHIVE_HANDS", 70)


def draft(number: int, drawn_at_ns: int) -> HandDraft:
    made = make_draft(f"h{number}", table=f"t{number % 3}", seeds=1 + number % 2)
    return replace(made, drawn_at_ns=drawn_at_ns)


def dealt(state: Path, times: list[int]) -> SqliteLedger:
    """Return an open ledger with a hand for each time, in this order."""
    ledger = open_ledger(state)
    ledger.commit([draft(number, at) for number, at in enumerate(times, start=1)])
    return ledger


def closed(ledger: SqliteLedger, before: int, now: int = NOW) -> int:
    return ledger.maintain(lambda c, _: archives.last_closed(c, before, now))


def archive(ledger: SqliteLedger, last: int) -> list[archives.Archive]:
    return ledger.maintain(lambda c, d: list(archives.archive_through(c, d, last, at_ns=AT)))


def destroy(ledger: SqliteLedger, last: int) -> list[archives.Archive]:
    return ledger.maintain(lambda c, d: list(destroy_through(c, d, last, at_ns=AT)))


def checked(ledger: SqliteLedger, every: int = 1) -> Inspection:
    secrets, path = SecretBox(MASTER_KEY), ledger._path
    return ledger.maintain(lambda c, d: inspect(path, c, d, secrets, every=every))


def stored(ledger: SqliteLedger, number: int) -> HandDraft | None:
    record = ledger.find("room", f"h{number}", with_secrets=True)
    return None if record is None else record.draft


# --- what is closed ----------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "before", "last"),
    [
        ([], 10, 0),
        ([1], 10, 0),
        ([1, 2, 3], 10, 2),
        ([1, 2, 10, 11], 10, 2),
        ([1, 9, 10], 10, 2),
        ([10, 11], 10, 0),
        # A clock set back to the beginning of time: that hand is as young as its neighbours.
        ([1, 2, 10, 0, 11], 10, 2),
        ([10, 0, 0, 0], 10, 0),
        # A clock that was ahead of now: it says nothing, its neighbours do.
        ([1, 2 * NOW, 3, 10, 11], 10, 3),
        ([1, 2, 2 * NOW], 10, 2),
        # Ahead, but not of now: its elders wait for it, and nothing goes too early.
        ([1, 50, 3, 4, 11], 10, 1),
    ],
    ids=str,
)
def test_a_hand_is_closed_when_all_before_it_are(state, times, before, last):
    ledger = dealt(state, times)
    assert last == closed(ledger, before)
    ledger.close()


@pytest.mark.parametrize("jump", [-300 * MONTH, 300 * MONTH], ids=["back", "forward"])
def test_a_clock_that_jumps_while_hands_are_dealt_loses_none(state, jump):
    """Dealt, archived and destroyed across the jump and after the clock was set right."""
    times = [NOW - 500 * MONTH + number * MONTH for number in range(100)]
    times += [NOW - 400 * MONTH + jump + number for number in range(100)]
    times += [NOW - 400 * MONTH + number * MONTH for number in range(100)]
    ledger = dealt(state, times)
    for before in (NOW - 450 * MONTH, NOW - 350 * MONTH, NOW - 250 * MONTH):
        archive(ledger, closed(ledger, before))
        for number, at in enumerate(times, start=1):
            assert draft(number, at) == stored(ledger, number)
    expired = ledger.maintain(lambda c, d: last_expired(c, d, NOW - 450 * MONTH, NOW))
    assert 50 == expired
    destroy(ledger, expired)
    for number, at in enumerate(times[50:], start=51):
        assert draft(number, at) == stored(ledger, number)
    assert (300, 50) == (checked(ledger).hands, checked(ledger).destroyed)
    ledger.close()


# --- archives ----------------------------------------------------------------


def test_archived_hands_are_answered_as_before_and_their_ids_stay_spent(state):
    """Byte for byte, also after a restart; numbers and links go on."""
    ledger = dealt(state, list(range(1, 201)))
    before = {number: ledger.find("room", f"h{number}") for number in range(1, 201)}
    position = ledger.position()
    done = archive(ledger, 199)
    assert [(1, 70), (71, 140), (141, 199)] == [(one.first, one.last) for one in done]
    ledger.close()
    ledger = open_ledger(state)
    assert (replace(position, events=3), 200) == (ledger.position(), ledger.count())
    for number in range(1, 201):
        assert before[number] == ledger.find("room", f"h{number}")
        assert draft(number, number) == stored(ledger, number)
    assert ledger.find("room", "never") is None
    again = replace(draft(5, 5), claim_digest=bytes(32))
    spent, new = ledger.commit([again, draft(201, 201)])
    assert isinstance(spent, AlreadySpent)
    assert before[5] == spent.record
    assert isinstance(new, Recorded)
    assert 67 == new.record.sequence
    ledger.close()


def test_archiving_is_an_event_and_the_hot_ledger_is_rid_of_the_rows(state):
    """No ciphertext of an archived hand is left in it: it could not be destroyed there."""
    ledger = dealt(state, list(range(1, 101)))
    (first, _) = archive(ledger, 99)
    sealed = [row.items for row in read_rows(state / "archives" / first.name)]
    events = ledger.events(EventKind.HANDS_ARCHIVED)
    assert [(first.name, AT), AT] == [(events[0].subject, events[0].at_ns), events[1].at_ns]
    ledger.close()
    files = b"".join(path.read_bytes() for path in state.iterdir() if path.is_file())
    assert 70 == len(sealed)
    assert [] == [one for one in sealed if one in files or one[100:116] in files]


def test_a_second_month_follows_the_first(state):
    ledger = dealt(state, list(range(1, 31)))
    archive(ledger, 10)
    assert [] == archive(ledger, 10)
    assert [(11, 25)] == [(one.first, one.last) for one in archive(ledger, 25)]
    found = checked(ledger)
    assert (30, 25, 30) == (found.hands, found.archived, found.decrypted)
    ledger.close()


def test_the_link_of_an_archived_hand_is_still_known(state):
    """An anchor may be older than an archive."""
    ledger = dealt(state, list(range(1, 31)))
    links = [ledger.link_at(number) for number in range(31)]
    archive(ledger, 25)
    assert links == [ledger.link_at(number) for number in range(31)]
    assert ledger.link_at(31) is None
    ledger.close()


@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_an_archiving_that_dies_at_any_write_loses_nothing(state, tmp_path, written):
    """In the archive or in the ledger: each hand is answered, and a repeated run completes."""
    ledger = dealt(state, list(range(1, 101)))
    ledger.close()
    deaths = 0
    for number in range(0, 400, 7):
        twin = tmp_path / str(number)
        shutil.copytree(state, twin)
        ledger = open_ledger(twin)
        try:
            with failing_writes(errno.EIO, first=number, written=written):
                archive(ledger, 99)
        except LedgerUnavailableError:
            deaths += 1
        ledger.close()
        ledger = open_ledger(twin)
        archive(ledger, 99)
        assert (100, 99) == (checked(ledger).hands, checked(ledger).archived)
        ledger.close()
        shutil.rmtree(twin)
    assert deaths > 5


def test_a_missing_archive_is_told_with_its_remedy_and_returns(state):
    """Its hands are unavailable, not unknown: nobody draws them again."""
    ledger = dealt(state, list(range(1, 21)))
    (one,) = archive(ledger, 10)
    file = state / "archives" / one.name
    file.rename(state / "away")
    assert [one.name] == ledger.maintain(archives.missing_archives)
    for refused in (
        lambda: ledger.find("room", "h3"),
        lambda: ledger.commit([draft(3, 3)]),
        lambda: checked(ledger),
    ):
        with pytest.raises(
            LedgerUnavailableError, match="its hands can be answered again when it is"
        ):
            refused()
    assert draft(15, 15) == stored(ledger, 15)
    (state / "away").rename(file)
    assert draft(3, 3) == stored(ledger, 3)
    ledger.close()


def test_a_changed_archive_is_never_answered(state):
    """Flipped bytes: what is not authentic is damage, and the digest says so for all of it."""
    ledger = dealt(state, list(range(1, 101)))
    (one, _) = archive(ledger, 99)
    file = state / "archives" / one.name
    content = file.read_bytes()
    file.chmod(0o600)
    refused = 0
    for offset in range(4096, len(content) - 64, 4096):
        changed = bytearray(content)
        changed[offset : offset + 64] = bytes(byte ^ 0xFF for byte in changed[offset : offset + 64])
        file.write_bytes(changed)
        for number in range(1, 71):
            try:
                assert draft(number, number) == stored(ledger, number)
            except LedgerDamagedError:
                refused += 1
        with pytest.raises(LedgerDamagedError, match="is not the file that was made"):
            checked(ledger)
    assert refused > 70
    ledger.close()


def test_an_archive_that_its_hands_do_not_come_from_is_damage(state, tmp_path):
    """Another ledger's archive under the name of ours."""
    ledger, other = dealt(state, list(range(1, 21))), open_ledger(tmp_path / "x")
    other.commit([draft(number, number) for number in range(2, 22)])
    (ours,), (theirs,) = archive(ledger, 10), archive(other, 10)
    other.close()
    file = state / "archives" / ours.name
    file.chmod(0o600)
    shutil.copy(tmp_path / "x" / "archives" / theirs.name, file)
    with pytest.raises(LedgerDamagedError):
        ledger.find("room", "h3")
    ledger.close()


def test_hands_of_version_1_are_archived_too(state):
    """They have no link, and the chain begins behind them as before."""
    state.mkdir(mode=0o700)
    shutil.copy(V1, state / FILE_NAME)
    ledger = open_ledger(state)
    ledger.commit([make_draft("h5")])
    link = ledger.position().link
    archive(ledger, 3)
    assert make_draft("h3", table="a") == stored(ledger, 3)
    found = checked(ledger)
    assert (5, 3, link) == (found.hands, found.archived, ledger.position().link)
    ledger.close()


def test_archives_do_not_bar_the_way_back_to_a_program_that_knows_them(state):
    ledger = dealt(state, [1, 2, 3])
    archive(ledger, 2)
    ledger.close()
    assert 2 == take_back_file(state / FILE_NAME)
    again = open_ledger(state)
    assert draft(1, 1) == stored(again, 1)
    again.close()


# --- destruction ---------------------------------------------------------------


def test_destroyed_secrets_are_gone_and_the_rest_remains(state):
    """No ciphertext of what was expired is left in any file; the destruction is an event."""
    ledger = dealt(state, list(range(1, 151)))
    first, *_ = archive(ledger, 149)
    before = list(read_rows(state / "archives" / first.name))
    done = destroy(ledger, 100)
    assert [(1, 70, 70), (71, 140, 100)] == [
        (one.first, one.last, one.destroyed_through) for one in done
    ]
    after = list(read_rows(state / "archives" / done[0].name))
    assert [row._replace(items=b"", opening=b"") for row in before] == after
    events = ledger.events(EventKind.SECRETS_DESTROYED)
    assert [one.name for one in done] == [event.subject for event in events]
    found = checked(ledger)
    assert (150, 149, 50, 100) == (found.hands, found.archived, found.decrypted, found.destroyed)
    ledger.close()
    names = {path.name for path in (state / "archives").iterdir()}
    assert 3 == len(names)
    assert {one.name for one in done} < names
    files = b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert [] == [row.id for row in before if row.items in files or row.opening[60:90] in files]


def test_a_destroyed_hand_is_refused_as_such_and_never_dealt_again(state):
    ledger = dealt(state, list(range(1, 51)))
    archive(ledger, 40)
    destroy(ledger, 20)
    for refused in (
        lambda: ledger.find("room", "h20"),
        lambda: ledger.find("room", "h1", with_secrets=True),
        lambda: ledger.commit([replace(draft(20, 20), claim_digest=bytes(32))]),
    ):
        with pytest.raises(SecretsDestroyedError, match="destroyed after their retention"):
            refused()
    assert draft(21, 21) == stored(ledger, 21)
    assert ledger.link_at(20) is not None
    (new,) = ledger.commit([draft(51, 51)])
    assert isinstance(new, Recorded)
    assert 17 == new.record.sequence
    ledger.close()


def test_a_destruction_that_dies_at_any_write_is_repeated_and_leaves_no_old_file(state, tmp_path):
    ledger = dealt(state, list(range(1, 101)))
    archive(ledger, 99)
    ledger.close()
    deaths = 0
    for number in range(0, 200, 5):
        twin = tmp_path / str(number)
        shutil.copytree(state, twin)
        ledger = open_ledger(twin)
        try:
            with failing_writes(errno.EIO, first=number):
                destroy(ledger, 99)
        except LedgerUnavailableError:
            deaths += 1
        ledger.close()
        ledger = open_ledger(twin)
        destroy(ledger, 99)
        assert (100, 99) == (checked(ledger).hands, checked(ledger).destroyed)
        assert 2 == len(list((twin / "archives").glob("hands-*")))
        ledger.close()
        shutil.rmtree(twin)
    assert deaths > 3


def test_an_old_file_that_a_crash_left_is_removed_by_the_next_run(state):
    """We died between the commit and the removal."""
    ledger = dealt(state, list(range(1, 51)))
    (old,) = archive(ledger, 40)
    kept = (state / "archives" / old.name).read_bytes()
    destroy(ledger, 40)
    (state / "archives" / old.name).write_bytes(kept)
    assert [] == destroy(ledger, 40)
    assert not (state / "archives" / old.name).exists()
    ledger.close()


# --- the check -----------------------------------------------------------------


def test_a_sound_ledger_passes_and_a_sample_decrypts_part_of_it(state):
    ledger = dealt(state, list(range(1, 101)))
    ledger.commit([], [Event(EventKind.DAEMON_STOP, "n", "{}", 1)])
    found = checked(ledger, every=10)
    assert (100, 10, 1) == (found.hands, found.decrypted, found.events)
    assert {("room", "t0"): 34, ("room", "t1"): 35, ("room", "t2"): 34} == found.tables
    ledger.close()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM hands WHERE id = 5", "hands/6: follows hand 4"),
        ("UPDATE hands SET open_hash = zeroblob(32) WHERE id = 5", "hands/5.*link"),
        ("UPDATE hands SET provenance = x'00' WHERE id = 5", "hands/5.*link"),
        ("UPDATE hands SET link = zeroblob(32) WHERE id = 5", "hands/5.*link"),
        ("UPDATE hands SET sequence = 9 WHERE id = 5", "hands/5: has number 9 at its table"),
        ("UPDATE hands SET deck_root = zeroblob(32) WHERE id = 5", "hands/5, field open_hash"),
        ("UPDATE hands SET items = opening WHERE id = 5", "hands/5, field items"),
        ("UPDATE hands SET opening = items WHERE id = 5", "hands/5, field opening"),
        ("UPDATE spent SET hand_id = 6 WHERE hand_id = 5", "hands/5: is not where its spent id"),
        ("DELETE FROM spent WHERE hand_id = 5", "hands/5: is not where its spent id"),
        ("INSERT INTO spent VALUES (zeroblob(16), 99, NULL)", "11 ids are spent, by 10 hands"),
        ("UPDATE tables SET next_sequence = 1 WHERE name = 't1'", "the next numbers"),
        ("DELETE FROM events WHERE id = 1", "the last is 2, there are 1"),
    ],
)
def test_a_check_finds_what_was_changed(state, statement, found):
    ledger = dealt(state, list(range(1, 11)))
    start = Event(EventKind.DAEMON_START, "n", "{}", 1)
    ledger.commit([], [start, start])
    connection = sqlite3.connect(state / FILE_NAME)
    with connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()
    with pytest.raises(LedgerDamagedError, match=found):
        checked(ledger)
    ledger.close()
