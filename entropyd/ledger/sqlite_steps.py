"""Subjects and their steps in the SQLite ledger: what one transaction writes."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from entropyd.ledger.sqlite_batch import insert_rows
from entropyd.ledger.sqlite_facts import last_step
from entropyd.ledger.sqlite_subjects import STEP_COLUMNS, check_destroyed
from entropyd.ledger.step_rows import (
    Row,
    StepRows,
    StoredStep,
    SubjectId,
    check_steps,
    subject_id,
)
from entropyd.ledger.subjects import (
    StepConflict,
    StepDraft,
    StepOutcome,
    StepRecord,
    StepRecorded,
    StepTaken,
    SubjectKind,
)

# CROSS JOIN: SQLite walks what was asked and finds each in an index, and never the other way round.
_GOING = """
    WITH asked (kind, tenant, name) AS (VALUES {values})
    SELECT a.kind, a.tenant, a.name, s.id, s.steps,
           (SELECT max(number) FROM steps WHERE subject_id = s.id)
    FROM asked a CROSS JOIN subjects s
        ON s.kind = a.kind AND s.tenant = a.tenant AND s.name = a.name
"""
# key != '' twice over: it is what lets the partial index be used.
_TAKEN = f"""
    WITH asked (subject_id, key) AS (VALUES {{values}})
    SELECT a.subject_id, {STEP_COLUMNS}
    FROM asked a CROSS JOIN steps t ON t.subject_id = a.subject_id AND t.key = a.key
    WHERE t.key != ''
"""  # noqa: S608  names of columns alone
_LAST_SUBJECT = "SELECT coalesce(max(id), 0) FROM subjects"
_SET_SUBJECTS = """
    INSERT INTO subjects (id, kind, tenant, name, steps, label, state, secret, proof) VALUES
"""
_OR_REPLACE = """
    ON CONFLICT (id) DO UPDATE SET steps = excluded.steps, label = excluded.label,
        state = excluded.state, secret = excluded.secret, proof = excluded.proof
"""
_INSERT_STEPS = """
    INSERT INTO steps (id, subject_id, number, step, key, at_ns, public, secret, link, proof) VALUES
"""
# As ROWS_A_STATEMENT: 3 variables each, far below SQLite's limit.
QUESTIONS_A_STATEMENT = 64


@dataclass(slots=True)
class _Going:
    """A subject in a commit that is under way.

    Attributes:
        row_id: of its row; 0 until it has a step.
        steps: how many it has, those of this commit included.
        taken: steps by their keys: those that the commit asks for, and its own.
        last: the draft of its last step, None until this commit writes one.
    """

    row_id: int = 0
    steps: int = 0
    taken: dict[str, StepRecord] = field(default_factory=dict)
    last: StepDraft | None = None


def record_steps(
    writer: sqlite3.Connection, rows: StepRows, drafts: Sequence[StepDraft]
) -> list[StepOutcome]:
    """Give each step its number and write it, or say why not. Call inside a transaction.

    All is looked up first, then decided, then written: a few statements for many drafts, as for
    hands (sqlite_batch.py). The database has the last word: a number or key that is there already
    ends the transaction.

    Raises:
        LedgerDamagedError: a subject does not count its steps, or a taken step was changed.
        SecretsDestroyedError: of a taken step; whoever looked it up first was told.
        sqlite3.Error: as any statement.
    """
    going = _going(writer, drafts)
    _find_taken(writer, rows, drafts, going)
    (subjects,) = writer.execute(_LAST_SUBJECT).fetchone()
    row_id, link = last_step(writer)
    outcomes: list[StepOutcome] = []
    written: list[Row] = []
    for draft, salt in zip(drafts, rows.salts(len(drafts)), strict=True):
        subject = going[subject_id(draft)]
        refusal = _refusal(draft, subject)
        if refusal is not None:
            outcomes.append(refusal)
            continue
        if not subject.row_id:
            subjects += 1
            subject.row_id = subjects
        row_id += 1
        number = subject.steps + 1
        record, row = rows.write(draft, row_id, subject.row_id, number, link, salt=salt)
        link = row[-2]
        written.append(row)
        _go_on(subject, draft, record)
        outcomes.append(StepRecorded(record))
    # The subjects first: their steps refer to them.
    insert_rows(writer, _SET_SUBJECTS, _snapshots(rows, going.values()), then=_OR_REPLACE)
    insert_rows(writer, _INSERT_STEPS, written)
    return outcomes


def _refusal(draft: StepDraft, subject: _Going) -> StepTaken | StepConflict | None:
    taken = subject.taken.get(draft.key)
    if taken is not None:
        return StepTaken(taken)
    if draft.expected not in {None, subject.steps}:
        return StepConflict(subject.steps)
    return None


def _go_on(subject: _Going, draft: StepDraft, record: StepRecord) -> None:
    subject.steps, subject.last = record.number, draft
    if record.key:
        subject.taken[record.key] = record


def _snapshots(rows: StepRows, going: Iterable[_Going]) -> list[Row]:
    """Return the rows of the subjects that go on: one each, however many steps they made."""
    changed = [(one, one.last) for one in going if one.last is not None]
    return [
        rows.write_subject(last, one.row_id, one.steps, salt)
        for (one, last), salt in zip(changed, rows.salts(len(changed)), strict=True)
    ]


def _going(writer: sqlite3.Connection, drafts: Sequence[StepDraft]) -> dict[SubjectId, _Going]:
    """Return the subjects of drafts as they are."""
    going = {subject_id(draft): _Going() for draft in drafts}
    for kind, tenant, name, row_id, steps, last in _ask(writer, _GOING, list(going)):
        check_steps(f"subjects/{row_id}", steps, last)
        going[SubjectKind(kind), tenant, name] = _Going(row_id, steps)
    return going


def _find_taken(
    writer: sqlite3.Connection,
    rows: StepRows,
    drafts: Sequence[StepDraft],
    going: dict[SubjectId, _Going],
) -> None:
    """Read the steps whose keys drafts would take."""
    owners = {going[owner].row_id: owner for owner in map(subject_id, drafts)}
    asked = {
        (going[subject_id(draft)].row_id, draft.key)
        for draft in drafts
        if draft.key and going[subject_id(draft)].row_id
    }
    for row_id, *columns in _ask(writer, _TAKEN, list(asked)):
        row = StoredStep(*columns)
        check_destroyed(writer, row.where, row.secret, row.id)
        record = rows.read(row, owners[row_id])
        going[owners[row_id]].taken[record.key] = record


def _ask(connection: sqlite3.Connection, query: str, asked: Sequence[Row]) -> list[Row]:
    """Return what a query finds for many tuples, some at a time."""
    found: list[Row] = []
    for first in range(0, len(asked), QUESTIONS_A_STATEMENT):
        some = asked[first : first + QUESTIONS_A_STATEMENT]
        question = _question(query, len(some[0]), len(some))
        found += connection.execute(question, tuple(chain.from_iterable(some))).fetchall()
    return found


@lru_cache(maxsize=QUESTIONS_A_STATEMENT * 2)
def _question(query: str, columns: int, tuples: int) -> str:
    one = f"({', '.join('?' * columns)})"
    return query.format(values=", ".join([one] * tuples))
