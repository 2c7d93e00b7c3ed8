"""Subjects and steps read from the first to the last: is all of it what was recorded?

Checked of every step: its number in the ledger, its link, its number among the steps of its
subject, and its proof. Of every subject: that it counts its steps, and the proof of its snapshot.
Of all, or of every n-th: that its secret decrypts.
"""

import sqlite3
from collections import Counter
from dataclasses import dataclass

from entropyd.ledger.chain import EMPTY, next_step_link
from entropyd.ledger.sqlite_facts import steps_destroyed_through
from entropyd.ledger.sqlite_subjects import STEP_COLUMNS, SUBJECT_COLUMNS
from entropyd.ledger.step_rows import StepRows, StoredStep, StoredSubject, subject_binding
from entropyd.ledger.stored_row import row_damaged
from entropyd.ledger.subjects import SubjectKind

_STEPS = f"""
    SELECT t.subject_id, s.kind, s.tenant, s.name, {STEP_COLUMNS}
    FROM steps t LEFT JOIN subjects s ON s.id = t.subject_id ORDER BY t.id
"""  # noqa: S608  names of columns alone
_SUBJECTS = f"SELECT {SUBJECT_COLUMNS} FROM subjects s ORDER BY s.id"  # noqa: S608  likewise


@dataclass
class StepInspection:
    """What was checked.

    Attributes:
        subjects, steps: all of them.
        decrypted: of how many steps the secret was decrypted, or there was none.
        destroyed: of how many steps the secret was destroyed.
    """

    subjects: int = 0
    steps: int = 0
    decrypted: int = 0
    destroyed: int = 0


def inspect_steps(connection: sqlite3.Connection, rows: StepRows, *, every: int) -> StepInspection:
    """Read all subjects and steps, and return what was found to be as it should.

    Args:
        connection: to a ledger which nobody writes meanwhile.
        rows: decrypts.
        every: decrypt each n-th, 1 for all.

    Raises:
        LedgerDamagedError: the first contradiction.
    """
    found, link = StepInspection(), EMPTY
    through = steps_destroyed_through(connection)
    numbers: Counter[int] = Counter()
    for subject, kind, tenant, name, *columns in connection.execute(_STEPS):
        row = StoredStep(*columns)
        found.steps += 1
        if kind is None:
            raise row_damaged(row.where, "subject_id", f"is {subject}, which is no subject")
        link = _follow(row, found.steps, link, subject_binding(kind, tenant, name))
        numbers[subject] += 1
        if row.number != numbers[subject]:
            raise row_damaged(row.where, "number", f"is {row.number}, not {numbers[subject]}")
        rows.check(row, subject_binding(kind, tenant, name))
        if row.secret is None:
            _check_destroyed(row.where, row.id, through)
            found.destroyed += 1
        elif (row.id - 1) % every == 0:
            rows.read(row, (SubjectKind(kind), tenant, name))
            found.decrypted += 1
    _inspect_subjects(connection, rows, every, found)
    return found


def _follow(row: StoredStep, number: int, before: bytes, binding: bytes) -> bytes:
    """Check that a row is the next one of the ledger; return its link."""
    if row.id != number:
        raise row_damaged(row.where, "id", f"follows step {number - 1}: steps are missing")
    if row.number < 1 or row.link != next_step_link(before, binding, row.told()):
        raise row_damaged(row.where, "link", "does not follow from the step and those before it")
    return row.link


def _inspect_subjects(
    connection: sqlite3.Connection,
    rows: StepRows,
    every: int,
    found: StepInspection,
) -> None:
    through = steps_destroyed_through(connection)
    for columns in connection.execute(_SUBJECTS):
        row = StoredSubject(*columns)
        found.subjects += 1
        if row.id != found.subjects:
            raise row_damaged(row.where, "id", f"follows subject {found.subjects - 1}")
        rows.check_subject(row)
        if row.secret is None:
            _check_destroyed(row.where, row.last_id or 0, through)
        elif (row.id - 1) % every == 0:
            rows.read_subject(row, with_secret=True)


def _check_destroyed(where: str, step: int, through: int) -> None:
    if step > through:
        raise row_damaged(where, "secret", "is missing and was not destroyed")
