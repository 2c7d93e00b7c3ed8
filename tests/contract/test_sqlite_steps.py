"""Steps in the SQLite ledger: what is its own. Files, faults, damage, death, years."""

import errno
import shutil
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from entropyd.errors import (
    LedgerDamagedError,
    LedgerRefusedError,
    LedgerUnavailableError,
    SecretsDestroyedError,
)
from entropyd.ledger import step_destruction
from entropyd.ledger.backup import back_up, restore
from entropyd.ledger.chain import EMPTY
from entropyd.ledger.contract import Draft, EventKind
from entropyd.ledger.inspection import Inspection, inspect
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.state_dir import StateDirectory
from entropyd.ledger.step_destruction import destroy_steps_through, last_expired_step
from entropyd.ledger.subjects import (
    StepConflict,
    StepRecord,
    StepRecorded,
    StepTaken,
    Subject,
    SubjectKind,
)
from tests.contract.ledger_child import MASTER_KEY, open_ledger
from tests.contract.test_sqlite import ROOT, child, edit, in_mount_namespace
from tests.fakes.drafts import make_draft
from tests.fakes.sqlite_faults import failing_writes
from tests.fakes.step_drafts import make_step

MATCH = SubjectKind.MATCH
NOW = 10**18


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def subject(ledger: SqliteLedger, name: str = "match-1") -> Subject | None:
    return ledger.subject(MATCH, "room", name)


def steps(ledger: SqliteLedger, name: str = "match-1") -> list[StepRecord]:
    return ledger.steps(MATCH, "room", name, 0, 1000)


def checked(ledger: SqliteLedger, every: int = 1) -> Inspection:
    path, secrets = ledger._path, SecretBox(MASTER_KEY)
    return ledger.maintain(lambda c, d: inspect(path, c, d, secrets, every=every))


def recorded(state: Path, *, secret: bool = True) -> SqliteLedger:
    """Return an open ledger with a match of three steps, and another of one."""
    ledger = open_ledger(state)
    ledger.commit([make_step(key=f"k{n}", attempt=n, secret=secret) for n in (1, 2, 3)])
    ledger.commit([make_step("match-2", key="k1", label="open", secret=secret)])
    return ledger


# --- the file ----------------------------------------------------------------


def test_no_secret_of_a_step_lies_in_the_files_in_the_clear(state):
    draft = make_step()
    ledger = open_ledger(state)
    ledger.commit([draft])
    files = b"".join(path.read_bytes() for path in state.iterdir())
    assert draft.public in files
    assert draft.state in files
    for secret in (draft.secret, draft.state_secret):
        assert secret[:16] not in files
    ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO subjects SELECT 9, kind, tenant, name, 1, label, state, secret, proof FROM s",
        "INSERT INTO steps SELECT 9, id, number, step, 'k9', 0, public, secret, link, proof FROM t",
        "INSERT INTO steps SELECT 9, id, 9, step, key, 0, public, secret, link, proof FROM t",
        "UPDATE steps SET subject_id = 7",
        "UPDATE steps SET number = 0",
        "UPDATE subjects SET steps = 0",
        "UPDATE steps SET link = x'00'",
    ],
)
def test_the_database_itself_refuses_what_may_not_be(state, statement):
    """One name, one number, one key; no step without its subject."""
    ledger = open_ledger(state)
    ledger.commit([make_step(key="k1")])
    ledger.close()
    connection = sqlite3.connect(state / FILE_NAME)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TEMP TABLE s AS SELECT * FROM subjects")
    connection.execute("CREATE TEMP TABLE t AS SELECT * FROM steps")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("label", [None, "open"])
def test_a_page_is_found_by_an_index_and_not_by_reading_all(state, label):
    """Whatever its place in the list: nothing is scanned and nothing is sorted."""
    ledger = recorded(state)
    plans: list[str] = []
    assert ledger._reader is not None
    ledger._reader.set_trace_callback(plans.append)
    ledger.subjects(MATCH, "room", "m", label, "match-1", 10)
    ledger._reader.set_trace_callback(None)
    [query] = [plan for plan in plans if "FROM subjects" in plan]
    found = ledger._reader.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()
    assert [] == [row[3] for row in found if "SCAN" in row[3] or "TEMP B-TREE" in row[3]]
    ledger.close()


# --- damage ------------------------------------------------------------------

STEP_EDITS = [
    ("number = 9", "steps/3, field number: is 3 and follows 1"),
    ("number = -2", "steps/3, field number: is 3 and follows 1"),
    ("step = 'other'", "steps/2"),
    ("key = ''", "steps/2"),
    ("at_ns = at_ns + 1", "steps/2"),
    ("public = x'00'", "steps/2"),
    ("link = zeroblob(32)", "steps/2"),
    ("proof = zeroblob(32)", "steps/2"),
    ("secret = NULL", "steps/2, field secret"),
    ("secret = x''", "steps/2"),
    ("secret = zeroblob(80)", "steps/2, field secret"),
    ("secret = (SELECT secret FROM steps WHERE id = 1)", "steps/2, field secret"),
    ("secret = (SELECT secret FROM subjects WHERE id = 1)", "steps/2, field secret"),
    ("subject_id = 2", "steps/2"),
    ("id = 20", "steps/20"),
]


@pytest.mark.parametrize("secret", [True, False], ids=["secret", "no-secret"])
@pytest.mark.parametrize(("change", "where"), STEP_EDITS)
def test_a_changed_step_is_never_answered(state, change, where, secret):
    """Whatever column was changed behind our back, with a secret beside it or without one."""
    ledger = recorded(state, secret=secret)
    if not secret and ("zeroblob(80)" in change or "SELECT" in change or change.endswith("x''")):
        # There is none to take from elsewhere: a secret that appears is one.
        change, where = "secret = x'00'", "steps/2"
    edit(state, f"UPDATE steps SET {change} WHERE id = 2")
    name = "match-2" if change == "subject_id = 2" else "match-1"
    with pytest.raises(LedgerDamagedError, match=f"ledger row {where}") as error:
        steps(ledger, name)
    assert make_step(key="k2", attempt=2).secret.hex() not in str(error.value)
    with pytest.raises(LedgerDamagedError):
        checked(ledger)
    ledger.close()


@pytest.mark.parametrize("secret", [True, False], ids=["secret", "no-secret"])
@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("steps = 2", "subjects/1, field steps"),
        ("steps = 4", "subjects/1, field steps"),
        ("label = 'x'", "subjects/1"),
        ("state = x'00'", "subjects/1"),
        ("proof = zeroblob(32)", "subjects/1"),
        ("secret = NULL", "subjects/1, field secret"),
        ("secret = zeroblob(80)", "subjects/1"),
        ("name = 'match-9'", "subjects/1"),
        ("tenant = 'room2'", "subjects/1"),
        ("kind = 'pairs'", "subjects/1"),
    ],
)
def test_a_changed_subject_is_never_answered(state, change, where, secret):
    ledger = recorded(state, secret=secret)
    edit(state, f"UPDATE subjects SET {change} WHERE id = 1")
    owner = {
        "name": (MATCH, "room", "match-9"),
        "tenant": (MATCH, "room2", "match-1"),
        "kind": (SubjectKind.PAIRS, "room", "match-1"),
    }.get(change.split()[0], (MATCH, "room", "match-1"))
    with pytest.raises(LedgerDamagedError, match=f"ledger row {where}"):
        ledger.subject(*owner)
    with pytest.raises(LedgerDamagedError):
        checked(ledger)
    if change != "secret = zeroblob(80)" and "NULL" not in change:
        with pytest.raises(LedgerDamagedError):
            ledger.subjects(owner[0], owner[1], "", None, "", 10)
    ledger.close()


def test_a_subject_that_does_not_count_its_steps_takes_no_more(state):
    """Set back by hand, it would give a number twice."""
    ledger = recorded(state)
    edit(state, "UPDATE subjects SET steps = 2 WHERE id = 1")
    drafts = [make_step(), make_step(expected=2), make_step(key="k1")]
    for draft in drafts:
        with pytest.raises(LedgerDamagedError, match="subjects/1, field steps"):
            ledger.commit([draft])
    ledger.close()


def test_an_older_snapshot_put_back_is_found(state):
    """Whole and authentic, but not that of the last step."""
    ledger = open_ledger(state)
    ledger.commit([make_step(attempt=1)])
    connection = sqlite3.connect(state / FILE_NAME)
    (old,) = connection.execute(
        "SELECT steps, label, state, secret, proof FROM subjects"
    ).fetchall()
    connection.close()
    ledger.commit([make_step(attempt=2)])
    columns = "steps = ?, label = ?, state = ?, secret = ?, proof = ?"
    edit(state, f"UPDATE subjects SET {columns}", *old)
    with pytest.raises(LedgerDamagedError, match="subjects/1, field steps"):
        subject(ledger)
    ledger.close()


def test_a_taken_step_that_was_changed_is_not_answered_with(state):
    ledger = recorded(state)
    edit(state, "UPDATE steps SET public = x'00' WHERE id = 1")
    with pytest.raises(LedgerDamagedError, match="steps/1"):
        ledger.commit([make_step(key="k1")])
    ledger.close()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM steps WHERE id = 2", "steps/3, field id"),
        ("DELETE FROM steps WHERE id = 4", "subjects/2, field steps"),
        ("DELETE FROM subjects WHERE id = 2", "steps/4, field subject_id"),
    ],
)
def test_a_check_finds_rows_that_are_gone(state, statement, found):
    ledger = recorded(state)
    edit(state, statement)
    with pytest.raises(LedgerDamagedError, match=found):
        checked(ledger)
    ledger.close()


def test_a_check_tells_what_it_read_and_decrypts_a_sample(state):
    ledger = recorded(state)
    found = checked(ledger).steps
    assert (2, 4, 4, 0) == (found.subjects, found.steps, found.decrypted, found.destroyed)
    assert 2 == checked(ledger, every=2).steps.decrypted
    ledger.close()


# --- faults --------------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_a_commit_of_steps_that_fails_at_any_write_is_whole_or_not_there(state, error, written):
    """Step, key, state and hand together; the retry is the same step or the next number."""
    ledger = open_ledger(state)
    ledger.commit([make_step(expected=0)])
    number, failures = 1, 0
    for first in range(100):
        step = make_step(expected=number, key=f"k{number}")
        drafts: list[Draft] = [step, make_draft(f"h{number}")]
        try:
            with failing_writes(error, first=first, written=written):
                ledger.commit(drafts)
        except LedgerUnavailableError:
            failures += 1
        else:
            break
        ledger.commit([])
        there = ledger.step(MATCH, "room", "match-1", f"k{number}") is not None
        assert there == (ledger.find("room", f"h{number}") is not None)
        now = subject(ledger)
        assert now is not None
        assert number + there == now.steps == len(steps(ledger))
        (outcome,) = ledger.commit([replace(step, public=b"again")])
        assert isinstance(outcome, StepTaken if there else StepRecorded)
        number += 1
    assert failures > 0
    ledger.close()
    ledger = open_ledger(state)
    assert list(range(1, number + 2)) == [step.number for step in steps(ledger)]
    checked(ledger)
    ledger.close()


def test_kill_9_loses_no_step_that_was_confirmed(state):
    """Eight lives, each killed within a commit loop: three matches and a hand keep together."""
    confirmed = -1
    for life in range(8):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.contract.ledger_child", "step_for_ever", str(state)],
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
    ledger = open_ledger(state)
    hands = ledger.count()
    # A commit that nobody confirmed may be there in each life.
    assert 0 <= hands - (confirmed + 1) <= 1
    for name in ("m0", "m1", "m2"):
        assert [f"k{number}" for number in range(hands)] == [one.key for one in steps(ledger, name)]
        assert isinstance(
            ledger.commit([make_step(name, expected=hands - 1, key="late")])[0], StepConflict
        )
    assert (3 * hands, 3) == (checked(ledger).steps.steps, checked(ledger).steps.subjects)
    ledger.close()


def test_a_real_full_disk_refuses_steps_and_recovers(tmp_path):
    done = child("fill_a_real_disk_with_steps", tmp_path / "disk", *in_mount_namespace())
    assert done.stderr == ""
    first, *_, last = done.stdout.splitlines()
    assert "SQLITE_FULL" in first
    assert last.startswith("whole ")


# --- positions, backups ----------------------------------------------------------


def test_a_position_tells_ledgers_apart_that_recorded_other_steps(tmp_path):
    """One column of one step is enough; hands alone leave the steps' link as it is."""
    links = set()
    base = make_step(key="k")
    drafts = [
        base,
        replace(base, name="other"),
        replace(base, kind=SubjectKind.RAFFLE),
        replace(base, tenant="other"),
        replace(base, step="other"),
        replace(base, key="other"),
        replace(base, public=b"other"),
        replace(base, at_ns=1),
        replace(base, secret=b""),
    ]
    for number, draft in enumerate(drafts):
        ledger = open_ledger(tmp_path / str(number))
        ledger.commit([make_draft()])
        assert (0, EMPTY) == (ledger.position().steps, ledger.position().step_link)
        ledger.commit([draft, make_step("m9")])
        position = ledger.position()
        assert 2 == position.steps
        assert position.step_link == ledger.step_link_at(2)
        assert EMPTY == ledger.step_link_at(0)
        assert ledger.step_link_at(3) is None
        links.add(position.step_link)
        ledger.close()
    assert len(drafts) == len(links)


def put_back(state: Path, source: Path) -> int:
    with StateDirectory.hold(state) as directory:
        done = restore(state / FILE_NAME, source, SecretBox(MASTER_KEY), directory=directory)
    return done.facts.position.steps


def test_a_backup_holds_steps_and_a_restore_loses_none(state, tmp_path):
    """An older backup over newer steps is refused with both numbers, whatever the hands say."""
    ledger = recorded(state)
    saved = tmp_path / "saved"
    assert 4 == back_up(state / FILE_NAME, saved).position.steps
    before = steps(ledger), subject(ledger)
    other = tmp_path / "other"
    assert 4 == put_back(other, saved)
    copy = open_ledger(other)
    assert before == (steps(copy), subject(copy))
    copy.close()
    ledger.commit([make_step()])
    ledger.close()
    ends = r"hand 0, step 5 and event 0, the backup with hand 0, step 4 and event 0; it is older"
    with pytest.raises(LedgerRefusedError, match=ends):
        put_back(state, saved)
    ledger = open_ledger(state)
    assert 4 == len(steps(ledger))
    ledger.close()


def test_a_twin_that_went_on_with_other_steps_is_refused(state, tmp_path):
    recorded(state).close()
    twin = tmp_path / "twin"
    shutil.copytree(state, twin)
    for directory, attempt in ((state, 5), (twin, 6)):
        ledger = open_ledger(directory)
        ledger.commit([make_step(attempt=attempt)])
        ledger.close()
    back_up(twin / FILE_NAME, tmp_path / "saved")
    with pytest.raises(LedgerRefusedError, match="has another step 5"):
        put_back(state, tmp_path / "saved")


# --- years -------------------------------------------------------------------------


def dated(state: Path, times: list[int]) -> SqliteLedger:
    """Return an open ledger with a step for each time, of three matches in turn."""
    ledger = open_ledger(state)
    ledger.commit(
        [
            make_step(f"m{number % 3}", key=f"k{number}", at_ns=at)
            for number, at in enumerate(times, 1)
        ]
    )
    return ledger


def destroy(ledger: SqliteLedger, last: int) -> list[int]:
    return ledger.maintain(lambda c, _: list(destroy_steps_through(c, last, at_ns=7)))


@pytest.mark.parametrize(
    ("times", "last"),
    [
        ([], 0),
        ([1], 1),
        ([1, 2, 3], 3),
        ([1, 2, 10, 11], 2),
        ([10, 1, 1], 0),
        # A clock that was set back, then one that was ahead of now.
        ([1, 2, 10, 0, 11], 2),
        ([1, 2 * NOW, 3, 10], 3),
        # Ahead of now, and nothing old after it: it may have been made a moment ago.
        ([1, 2, 2 * NOW], 2),
        ([2 * NOW], 0),
    ],
    ids=str,
)
def test_a_step_has_expired_when_all_before_it_have(state, times, last):
    ledger = dated(state, times)
    assert last == ledger.maintain(lambda c, _: last_expired_step(c, 10, NOW))
    ledger.close()


def test_destroyed_secrets_of_steps_are_gone_and_the_rest_remains(state, monkeypatch):
    """No ciphertext is left in any file; keys and numbers stay taken, younger steps whole."""
    monkeypatch.setattr(step_destruction, "STEPS_A_TRANSACTION", 4)
    ledger = dated(state, list(range(1, 13)))
    ledger.commit([make_step("m0", key="k13", secret=False)])
    connection = sqlite3.connect(state / FILE_NAME)
    sealed = [row[0] for row in connection.execute("SELECT secret FROM steps WHERE id <= 11")]
    sealed += [
        row[0] for row in connection.execute("SELECT secret FROM subjects WHERE id IN (1,2)")
    ]
    connection.close()
    assert [4, 8, 11] == destroy(ledger, 11)
    ledger.close()
    content = (state / FILE_NAME).read_bytes()
    assert {32 + 32 + 16} == {len(secret) for secret in sealed}
    assert [] == [secret for secret in sealed if secret[:32] in content or secret[-32:] in content]

    ledger = open_ledger(state)
    for refused in (
        lambda: ledger.step(MATCH, "room", "m1", "k1"),
        lambda: ledger.steps(MATCH, "room", "m1", 0, 9),
        lambda: ledger.subject(MATCH, "room", "m1"),
        lambda: ledger.commit([make_step("m1", key="k1")]),
    ):
        with pytest.raises(SecretsDestroyedError, match="destroyed after its retention"):
            refused()
    told = ledger.told_step(MATCH, "room", "m1", "k1")
    assert told is not None
    assert (make_step("m1", key="k1").public, b"") == (told.public, told.secret)
    assert told == ledger.told_steps(MATCH, "room", "m1", 0, 9)[0]
    whole = ledger.step(MATCH, "room", "m0", "k12")
    assert whole is not None
    assert make_step("m0", key="k12").secret == whole.secret
    # The last step of m0 is younger, so its state is there; all three are listed.
    assert subject(ledger, "m0") is not None
    assert ["m0", "m1", "m2"] == [s.name for s in ledger.subjects(MATCH, "room", "", None, "", 9)]
    found = checked(ledger).steps
    assert (13, 11, 2) == (found.steps, found.destroyed, found.decrypted)
    events = ledger.events(EventKind.SECRETS_DESTROYED)
    assert ['{"first": 9, "last": 11}'] == [event.detail for event in events[2:]]
    assert [] == destroy(ledger, 11)
    (again,) = ledger.commit([make_step("m1", expected=4, key="k14")])
    assert isinstance(again, StepRecorded)
    assert subject(ledger, "m1") is not None
    ledger.close()


def test_a_destruction_of_steps_that_dies_at_any_write_is_repeated(state, tmp_path):
    """Destroyed or whole, never damaged; in the end no secret is left."""
    dated(state, list(range(1, 13))).close()
    for first in range(100):
        copy = tmp_path / f"copy-{first}"
        shutil.copytree(state, copy)
        ledger = open_ledger(copy)
        try:
            with failing_writes(errno.EIO, first=first):
                destroy(ledger, 12)
        except LedgerUnavailableError:
            ledger.close()
            ledger = open_ledger(copy)
            assert checked(ledger).steps.destroyed in {0, 12}
            destroy(ledger, 12)
        else:
            break
        finally:
            assert 12 == checked(ledger).steps.destroyed
            ledger.close()
    assert first > 2
