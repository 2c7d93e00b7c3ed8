"""The log in the SQLite ledger: what is its own. Faults, death, damage, years, versions."""

import errno
import shutil
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import LedgerDamagedError, LedgerRefusedError, LedgerUnavailableError
from entropyd.ledger.archives import archive_through, last_closed
from entropyd.ledger.backup import back_up, restore
from entropyd.ledger.contract import AlreadySpent, Draft, Event, EventKind
from entropyd.ledger.destruction import destroy_through
from entropyd.ledger.inspection import Inspection, inspect
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.sqlite_file import take_back_file
from entropyd.ledger.state_dir import StateDirectory
from entropyd.ledger.step_destruction import destroy_steps_through
from entropyd.ledger.subjects import StepTaken, SubjectKind
from entropyd.log.merkle import EMPTY_ROOT, root
from tests.contract.ledger_child import MASTER_KEY, open_ledger
from tests.contract.log import log_of
from tests.contract.test_ledger_versions import of_version, version
from tests.contract.test_sqlite import ROOT, edit
from tests.fakes.drafts import make_draft, record_of
from tests.fakes.entries import going_on, logged_draft, noted, opening, table_text, text
from tests.fakes.ledger import MemoryLedger
from tests.fakes.sqlite_faults import failing_writes

HAND = SubjectKind.HAND
NOW = 2**62


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def logged(directory: Path) -> SqliteLedger:
    ledger = open_ledger(directory)
    ledger.set_table_entry(table_text)
    return ledger


def recorded(state: Path) -> SqliteLedger:
    """Return an open ledger with hands of both kinds at two tables: ten entries."""
    ledger = logged(state)
    ledger.commit([logged_draft("w1"), opening("c1"), opening("c2", table="t2")])
    ledger.commit([logged_draft("w2"), going_on("c1"), logged_draft("w3", table="t2")], [noted()])
    ledger.commit([opening("c3")])
    return ledger


def checked(ledger: SqliteLedger, every: int = 1) -> Inspection:
    path, secrets = ledger._path, SecretBox(MASTER_KEY)
    return ledger.maintain(lambda c, d: inspect(path, c, d, secrets, every=every))


# --- faults and death ------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_a_commit_that_fails_at_any_write_is_whole_or_not_there(state, error, written):
    """Hands, steps, event and receipts together; the retry finds them or gets their numbers."""
    ledger = logged(state)
    failures = 0
    for number in range(100):
        drafts: list[Draft] = [opening(f"c{number}"), logged_draft(f"w{number}")]
        before = log_of(ledger)
        try:
            with failing_writes(error, first=number, written=written):
                ledger.commit(drafts, [noted(number)])
        except LedgerUnavailableError:
            failures += 1
        else:
            break
        ledger.commit([])
        there = ledger.step(HAND, "room", f"c{number}", "open") is not None
        assert there == (ledger.find("room", f"w{number}") is not None)
        after = log_of(ledger)
        assert before == after[: len(before)]
        assert there == (len(after) > len(before))
        one, two = ledger.commit(drafts)
        assert there == isinstance(one, StepTaken) == isinstance(two, AlreadySpent)
        assert 2 * number + 2 == record_of(two).sequence
    assert failures > 0
    ledger.close()
    ledger = logged(state)
    found = checked(ledger)
    assert (failures + 1, failures + 1) == (found.hands, found.dealt)
    assert found.entries == len(log_of(ledger))
    ledger.close()


def test_kill_9_loses_no_receipt_that_was_confirmed(state):
    """Six lives, each killed within a commit loop: numbers and indices have no gap."""
    confirmed = -1
    for life in range(6):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.contract.ledger_child", "log_for_ever", str(state)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(1 + 3 * life):
            confirmed = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        confirmed = int(rest[-1]) if rest else confirmed
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
    ledger = logged(state)
    hands = ledger.count()
    # A commit that nobody confirmed may be there in the last life.
    assert 0 <= hands - (confirmed + 1) <= 1
    found = checked(ledger)
    assert (hands, hands, 1 + 4 * hands) == (found.hands, found.dealt, found.entries)
    texts = log_of(ledger)
    for number in range(hands):
        record = ledger.find("room", f"w{number}")
        assert record is not None
        assert (2 * number + 2, 4 * number + 2) == (record.sequence, record.log_index)
        assert f"hand: c{number}\n".encode() in texts[4 * number + 1]
    ledger.close()


KINDS = st.tuples(st.sampled_from("wcg"), st.integers(0, 4), st.sampled_from(["t1", "t2"]))
HISTORIES = st.lists(
    st.tuples(st.lists(KINDS, max_size=8), st.booleans(), st.booleans()), max_size=8
)


def draft_of(kind: str, number: int, table: str, attempt: int) -> Draft:
    if kind == "w":
        return logged_draft(f"h{number}", table=table, attempt=attempt)
    if kind == "c":
        return opening(f"h{number}", table=table, attempt=attempt, entries=1 + attempt % 3)
    return going_on(f"h{number}", expected=1 + attempt % 2, attempt=attempt, entries=attempt % 3)


def test_any_history_is_what_the_plain_ledger_makes_of_it(tmp_path_factory):
    """Hands of both kinds under few ids, at two tables, in any commits, with reopening."""

    @settings(max_examples=40, deadline=None)
    @given(HISTORIES)
    def holds(history: list[tuple[list[tuple[str, int, str]], bool, bool]]) -> None:
        directory = tmp_path_factory.mktemp("history") / "state"
        ledger, plain = logged(directory), MemoryLedger()
        plain.set_table_entry(table_text)
        for attempt, (asked, event, reopen) in enumerate(history):
            drafts = [draft_of(*one, attempt) for one in asked]
            events = [noted(attempt)] if event else []
            assert plain.commit(drafts, events) == ledger.commit(drafts, events)
            if reopen:
                ledger.close()
                ledger = logged(directory)
        assert log_of(plain) == log_of(ledger)
        pages = [one.hands_at("room", "", None, ("", 0), 99) for one in (plain, ledger)]
        assert pages[0] == pages[1]
        found = checked(ledger)
        assert (plain.count(), len(pages[0])) == (found.hands, found.dealt)
        ledger.close()

    holds()


# --- damage --------------------------------------------------------------------------

EDITS = [
    ("UPDATE spent SET log_index = 7 WHERE log_index = 1", "hands/1, field log_index: is 7"),
    ("UPDATE spent SET log_index = 99 WHERE log_index = 1", "hands/1, field log_index: is 99"),
    ("UPDATE spent SET log_index = -1 WHERE log_index = 1", "hands/1, field log_index: is -1"),
    ("UPDATE spent SET log_index = 1 WHERE log_index = 2", "dealt_hands/1, field log_index: is 1"),
    ("UPDATE spent SET log_index = NULL WHERE log_index = 1", "hands/1, field log_index: is None"),
    ("UPDATE spent SET log_index = NULL WHERE log_index = 2", "dealt_hands/1, field log_index: is"),
    ("UPDATE spent SET hand_id = 1 WHERE log_index = 2", "dealt_hands/1, field subject_id"),
    ("UPDATE spent SET hand_id = 0 WHERE log_index = 1", "hands/1: is not where its spent id"),
    ("DELETE FROM spent WHERE log_index = 2", "dealt_hands/1, field subject_id"),
    ("DELETE FROM dealt_hands WHERE subject_id = 1", "dealt_hands: there are 2, and 3 hands"),
    ("UPDATE dealt_hands SET sequence = 9 WHERE subject_id = 1", "dealt_hands/1, field log_index"),
    ("UPDATE dealt_hands SET table_name = 't9' WHERE subject_id = 1", "dealt_hands/1"),
    ("UPDATE dealt_hands SET tenant = 'other' WHERE subject_id = 1", "dealt_hands/1, field subj"),
    ("UPDATE dealt_hands SET label = 'other' WHERE subject_id = 1", "dealt_hands/1, field subject"),
    ("UPDATE tables SET next_sequence = 9 WHERE name = 't2'", "the next numbers are not those"),
    ("UPDATE tables SET log_index = NULL WHERE name = 't2'", "tables/2, field log_index: is None"),
    ("UPDATE tables SET log_index = 1 WHERE name = 't2'", "tables/2, field log_index: is 1, exp"),
    ("UPDATE tables SET name = 't9' WHERE name = 't2'", "tables/2, field log_index: is 3, expe"),
    ("DELETE FROM tables WHERE name = 't2'", "log_entries/3, field texts: is of room's table t2"),
    ("UPDATE log_nodes SET hash = zeroblob(32) WHERE id = 2", "log_nodes/2, field hash"),
    ("DELETE FROM log_nodes WHERE id = 2", "log_nodes/2, field hash"),
    ("DELETE FROM log_entries WHERE idx = 0", "log_entries/0, field idx: is missing"),
    ("DELETE FROM log_entries WHERE idx > 4", r"log_nodes/\d+, field id"),
    ("UPDATE log_entries SET texts = x'00' WHERE idx = 0", "log_entries/0, field"),
    ("UPDATE log_entries SET entries = 1 WHERE idx = 0", "log_entries/0, field entries"),
]


@pytest.mark.parametrize(("statement", "found"), EDITS)
def test_a_check_names_what_was_changed(state, statement, found):
    ledger = recorded(state)
    checked(ledger)
    edit(state, statement)
    with pytest.raises(LedgerDamagedError, match=found):
        checked(ledger)
    ledger.close()


def test_a_check_tells_what_it_read(state):
    ledger = recorded(state)
    found = checked(ledger)
    assert (3, 3, 10) == (found.hands, found.dealt, found.entries)
    assert {("room", "table-1"): 5, ("room", "t2"): 3} == found.tables
    ledger.close()


def test_a_missing_hand_of_either_kind_is_a_gap_at_its_table(state):
    """Even if its receipt, its spent id and its subject went with it."""
    ledger = logged(state)
    ledger.commit([replace(opening(f"c{number}"), complete=None) for number in range(3)])
    edit(state, "DELETE FROM dealt_hands WHERE sequence = 2")
    edit(state, "DELETE FROM spent WHERE hand_key = (SELECT hand_key FROM spent LIMIT 1)")
    with pytest.raises(LedgerDamagedError):
        checked(ledger)
    ledger.close()


@pytest.mark.parametrize("told", [0, 2, 4])
def test_a_table_that_says_another_number_of_hands_before_the_log_is_found(tmp_path, told):
    """It had three: whoever reads the log would miss one that is there, or none that is not."""
    ledger = open_ledger(of_version(2, tmp_path))
    ledger.set_table_entry(lambda tenant, table, index, _: table_text(tenant, table, index, told))
    ledger.commit([opening("h6", table="a")])
    with pytest.raises(LedgerDamagedError, match=f"of its table says that {told} hands were"):
        checked(ledger)
    ledger.close()


@pytest.mark.parametrize(
    ("made", "tenant", "found"),
    [
        (text(5, "seal", tenant="room"), "room", "log_entries/0, field texts: is a receipt with"),
        (text(0, "seal", tenant="other"), "room", "log_entries/0, field texts: is another ten"),
        (text(0, "seal"), "room", "log_entries/0, field texts: is another tenant's"),
        (text(0, "seal", tenant="room"), "", "log_entries/0, field texts: is a tenant's"),
    ],
)
def test_a_receipt_that_stands_as_somebody_elses_is_found(state, made, tenant, found):
    """Whoever wrote it: the ledger itself takes texts as they come."""
    ledger = open_ledger(state)
    if tenant:
        ledger.commit([replace(make_draft(), entry=lambda *_: made)])
    else:
        ledger.commit([], [replace(noted(), entry=lambda _: made)])
    with pytest.raises(LedgerDamagedError, match=found):
        checked(ledger)
    ledger.close()


def test_a_dealt_hand_that_is_not_there_is_not_opened_again(state):
    """Its id leads nowhere: that is damage, and no second deck."""
    ledger = logged(state)
    ledger.commit([replace(opening(), complete=None)])
    edit(state, "DELETE FROM dealt_hands")
    edit(state, "DELETE FROM steps")
    edit(state, "DELETE FROM subjects")
    with pytest.raises(LedgerDamagedError, match="leads to a hand that is not there"):
        ledger.commit([opening(attempt=2)])
    ledger.close()


@pytest.mark.parametrize("change", ["label = 'x'", "subject_id = 9", "subject_id = 4"])
def test_a_list_refuses_a_row_that_is_not_its_hands(state, change):
    ledger = recorded(state)
    ledger.commit([going_on("m", kind=SubjectKind.MATCH, expected=0)])
    connection = sqlite3.connect(state / FILE_NAME)
    connection.execute(f"UPDATE dealt_hands SET {change} WHERE subject_id = 1")
    connection.commit()
    connection.close()
    label = "x" if change.startswith("label") else None
    if change.endswith("9"):
        assert "c1" not in [one.name for one in ledger.hands_at("room", "", None, ("", 0), 9)]
    else:
        with pytest.raises(LedgerDamagedError, match="dealt_hands/"):
            ledger.hands_at("room", "", label, ("", 0), 9)
    with pytest.raises(LedgerDamagedError):
        checked(ledger)
    ledger.close()


# --- versions --------------------------------------------------------------------------


def test_the_log_of_an_older_ledger_begins_with_what_comes_next(tmp_path):
    """Its hands have no receipts; a table that had some says how many; spent ids stay so."""
    state = of_version(2, tmp_path)
    ledger = logged(state)
    assert 0 == ledger.log_size()
    old = ledger.find("room", "h1")
    assert old is not None
    assert old.log_index is None
    spent, new, dealt = ledger.commit(
        [logged_draft("h1", attempt=2), logged_draft("h5", table="a"), opening("h6", table="a")]
    )
    assert AlreadySpent(old) == spent
    assert (4, 1) == (record_of(new).sequence, record_of(new).log_index)
    assert not isinstance(dealt, AlreadySpent)
    assert b"5/2/" == ledger.steps(HAND, "room", "h6", 0, 1)[0].public[:4]
    ledger.commit([opening("h7", table="b"), opening("h8", table="new"), opening("h9", table="b")])
    tables = [(0, "a", 3), (3, "b", 1), (5, "new", 0)]
    assert [table_text("room", name, index, before) for index, name, before in tables] == [
        one for one in log_of(ledger) if b"event: table\n" in one
    ]
    found = checked(ledger)
    assert (5, 4, 8) == (found.hands, found.dealt, found.entries)
    ledger.close()


def test_a_table_of_an_older_ledger_has_its_receipt_once_whatever_fails(tmp_path):
    """A commit that fails takes the table's receipt with it, and the retry brings it again."""
    state = of_version(2, tmp_path)
    ledger = logged(state)
    for number in range(100):
        try:
            with failing_writes(errno.EIO, first=number):
                ledger.commit([opening(f"n{number}", table="a")])
        except LedgerUnavailableError:
            continue
        break
    assert number > 1
    ledger.close()
    ledger = logged(state)
    ledger.commit([logged_draft("h9", table="a")])
    first, *rest = log_of(ledger)
    assert table_text("room", "a", 0, 3) == first
    assert not [one for one in rest if b"event: table\n" in one]
    checked(ledger)
    ledger.close()


def test_a_ledger_with_receipts_does_not_go_back_and_one_without_goes_and_comes(state):
    """The older program would deal on beside a log that says otherwise."""
    ledger = logged(state)
    ledger.commit([logged_draft()])
    ledger.close()
    with pytest.raises(LedgerRefusedError, match=r"holds 2 receipt\(s\) .* stay with this one"):
        take_back_file(state / FILE_NAME)
    assert 3 == version(state)
    other = state.with_name("other")
    ledger = open_ledger(other)
    ledger.commit([make_draft()])
    ledger.close()
    for _ in range(2):
        assert 2 == take_back_file(other / FILE_NAME)
        connection = sqlite3.connect(other / FILE_NAME)
        assert [2] == [len(row) for row in connection.execute("SELECT * FROM spent")]
        connection.close()
        ledger = logged(other)
        assert isinstance(ledger.commit([make_draft(attempt=2)])[0], AlreadySpent)
        ledger.close()
    ledger = logged(other)
    (outcome,) = ledger.commit([logged_draft("h2")])
    assert 1 == record_of(outcome).log_index
    assert table_text("room", "table-1", 0, 1) == log_of(ledger)[0]
    checked(ledger)
    ledger.close()


@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_going_back_dies_at_any_write_with_a_whole_version(state, tmp_path, written):
    ledger = open_ledger(state)
    ledger.commit([make_draft(f"h{number}") for number in range(50)])
    ledger.close()
    seen = set()
    for number in range(100):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(state, copy)
        try:
            with failing_writes(errno.EIO, first=number, written=written):
                take_back_file(copy / FILE_NAME)
        except LedgerUnavailableError:
            ledger = open_ledger(copy)
            seen.add(len(ledger.spent_among("room", [f"h{n}" for n in range(50)])))
            checked(ledger)
            ledger.close()
        else:
            break
    assert number > 1
    assert {50} == seen


# --- years, backups, adoption -------------------------------------------------------------


def test_an_archived_hand_still_leads_to_its_receipt(state):
    """Also when its cards were destroyed; the log and the hands dealt card by card stay."""
    ledger = recorded(state)
    texts, old = log_of(ledger), ledger.find("room", "w1")
    assert old is not None
    ledger.maintain(lambda c, d: list(archive_through(c, d, last_closed(c, NOW, NOW), at_ns=1)))
    assert old == ledger.find("room", "w1")
    assert 2 == checked(ledger).archived
    ledger.maintain(lambda c, d: list(destroy_through(c, d, 2, at_ns=1)))
    ledger.maintain(lambda c, _: list(destroy_steps_through(c, 2, at_ns=1)))
    found = checked(ledger)
    assert (2, 2, 10) == (found.destroyed, found.steps.destroyed, found.entries)
    assert texts == log_of(ledger)
    edit(state, "UPDATE spent SET log_index = 2 WHERE log_index = 1")
    with pytest.raises(LedgerDamagedError, match="hands/1, field log_index"):
        checked(ledger)
    ledger.close()


def put_back(state: Path, source: Path) -> tuple[int, bytes]:
    with StateDirectory.hold(state) as directory:
        done = restore(state / FILE_NAME, source, SecretBox(MASTER_KEY), directory=directory)
    return done.facts.log_size, done.facts.log_root


def test_a_backup_holds_the_log(state, tmp_path):
    ledger = recorded(state)
    facts = back_up(state / FILE_NAME, tmp_path / "saved")
    texts = log_of(ledger)
    assert (10, ledger.log_root(10)) == (facts.log_size, facts.log_root)
    ledger.commit([logged_draft("w9")])
    ledger.close()
    other = tmp_path / "other"
    assert (10, facts.log_root) == put_back(other, tmp_path / "saved")
    again = logged(other)
    assert texts == log_of(again)
    again.close()
    with pytest.raises(LedgerRefusedError, match="it is older"):
        put_back(state, tmp_path / "saved")


def test_a_backup_with_other_receipts_of_the_same_hands_is_refused(state, tmp_path):
    """The same event twice, told otherwise in the log: hands, steps and events do not show it."""
    logged(state).close()
    twin = tmp_path / "twin"
    shutil.copytree(state, twin)
    for directory, reason in ((state, 1), (twin, 2)):
        ledger = logged(directory)
        ledger.commit([], [noted(reason)])
        ledger.close()
    back_up(twin / FILE_NAME, tmp_path / "saved")
    with pytest.raises(LedgerRefusedError, match="other receipts among its first 1"):
        put_back(state, tmp_path / "saved")


def test_the_log_goes_on_after_an_adoption_with_an_entry_that_names_it(state):
    """The first event of the new history appends it, in the transaction of the new origin."""
    ledger = recorded(state)
    before, size = log_of(ledger), ledger.log_size()
    event = Event(
        EventKind.LEDGER_ADOPTED,
        "node",
        "{}",
        1,
        entry=lambda index: text(index, "build", reason="adopted"),
    )
    ledger.adopt("ab" * 16, event)
    assert ("ab" * 16, [*before, text(size, "build", reason="adopted")]) == (
        ledger.origin(),
        log_of(ledger),
    )
    checked(ledger)
    ledger.close()


def test_each_table_begins_anew_in_the_log_after_an_adoption(state):
    """The log has another name there: a table says how many hands it had before, once."""
    ledger = recorded(state)
    size = ledger.log_size()
    ledger.adopt("ab" * 16, Event(EventKind.LEDGER_ADOPTED, "node", "{}", 1))
    checked(ledger)
    ledger.commit([make_draft("w6"), opening("c7"), logged_draft("w8")])
    ledger.close()
    ledger = logged(state)
    ledger.commit([logged_draft("w9"), opening("c9", table="new")])
    assert [table_text("room", "table-1", size, 5), table_text("room", "new", size + 4)] == [
        one for one in log_of(ledger)[size:] if b"event: table\n" in one
    ]
    checked(ledger)
    ledger.adopt("cd" * 16, Event(EventKind.LEDGER_ADOPTED, "node", "{}", 1))
    ledger.commit([logged_draft("t2", table="t2")])
    assert table_text("room", "t2", size + 6, 2) == log_of(ledger)[size + 6]
    checked(ledger)
    ledger.close()


def test_the_root_of_any_size_is_told_and_of_none_beyond_the_end(state):
    ledger = recorded(state)
    leaves = [one[:-1] for one in log_of(ledger)]
    assert [root(leaves[:size]) for size in range(11)] == [ledger.log_root(n) for n in range(11)]
    assert EMPTY_ROOT == ledger.log_root(0)
    assert ledger.log_root(11) is None
    ledger.close()
