"""Subjects and their steps in the SQLite ledger: what is read of them, by any thread."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from entropyd.ledger.sqlite_facts import steps_destroyed_through
from entropyd.ledger.sqlite_statements import Row
from entropyd.ledger.step_rows import StepRows, StoredStep, StoredSubject, SubjectId
from entropyd.ledger.stored_row import row_damaged
from entropyd.ledger.subjects import StepRecord, Subject, SubjectKind

T = TypeVar("T")

# The columns of `StoredStep`.
STEP_COLUMNS = "t.id, t.number, t.step, t.key, t.at_ns, t.public, t.secret, t.link, t.proof"
# The columns of `StoredSubject`.
SUBJECT_COLUMNS = """
    s.id, s.kind, s.tenant, s.name, s.steps, s.label, s.state, s.secret, s.proof,
    (SELECT max(number) FROM steps WHERE subject_id = s.id),
    (SELECT id FROM steps WHERE subject_id = s.id ORDER BY number DESC LIMIT 1)
"""
_FIND_SUBJECT = f"""
    SELECT {SUBJECT_COLUMNS} FROM subjects s WHERE kind = ? AND tenant = ? AND name = ?
"""  # noqa: S608  names of columns alone
_OF_SUBJECT = f"""
    SELECT {STEP_COLUMNS} FROM subjects s CROSS JOIN steps t ON t.subject_id = s.id
    WHERE s.kind = ? AND s.tenant = ? AND s.name = ?
"""  # noqa: S608  names of columns alone
_FIND_STEP = f"{_OF_SUBJECT} AND t.key = ? AND t.key != ''"
_FIND_STEPS = f"{_OF_SUBJECT} AND t.number > ? ORDER BY t.number LIMIT ?"
_PAGE = f"""
    SELECT {SUBJECT_COLUMNS} FROM subjects s
    WHERE s.kind = ? AND s.tenant = ? AND s.name {{after}} ? AND s.name < ? {{label}}
    ORDER BY s.name LIMIT ?
"""  # noqa: S608  names of columns alone
_HANDS_AT = f"""
    SELECT {SUBJECT_COLUMNS} FROM dealt_hands d CROSS JOIN subjects s ON s.id = d.subject_id
    WHERE d.tenant = ? AND (d.table_name, d.sequence) > (?, ?)
        AND d.table_name >= ? AND d.table_name < ? {{label}}
    ORDER BY d.table_name, d.sequence LIMIT ?
"""  # noqa: S608  names of columns alone
# Names are ids: no character of one is as large.
_LAST_CHARACTER = "\U0010ffff"


class SubjectReader(ABC):
    """The part of a SQLite ledger that reads subjects. Its rows are checked outside the lock."""

    def __init__(self, rows: StepRows) -> None:
        self._step_rows = rows

    @abstractmethod
    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a question to the reading connection finds, under its lock."""

    def subject(self, kind: SubjectKind, tenant: str, name: str) -> Subject | None:
        """Return a subject after its last step. See `Ledger.subject`."""
        row = self._ask(lambda reader: find_subject(reader, (kind, tenant, name)))
        return None if row is None else self._step_rows.read_subject(row, with_secret=True)

    def step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        """Return the step of a subject that has this key. See `Ledger.step`."""
        owner = (kind, tenant, name)
        row = self._ask(lambda reader: find_step(reader, owner, key))
        return None if row is None else self._step_rows.read(row, owner)

    def steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        """Return steps of a subject in order. See `Ledger.steps`."""
        owner = (kind, tenant, name)
        rows = self._ask(lambda reader: find_steps(reader, owner, after, limit))
        return [self._step_rows.read(row, owner) for row in rows]

    def told_step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        """Return a step without its secret. See `Ledger.told_step`."""
        owner = (kind, tenant, name)
        row = self._ask(lambda reader: find_step(reader, owner, key))
        return None if row is None else self._step_rows.read(row, owner, with_secret=False)

    def told_steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        """Return steps of a subject without their secrets. See `Ledger.told_steps`."""
        owner = (kind, tenant, name)
        rows = self._ask(lambda reader: find_steps(reader, owner, after, limit))
        return [self._step_rows.read(row, owner, with_secret=False) for row in rows]

    def subjects(  # noqa: PLR0917  as in the contract
        self,
        kind: SubjectKind,
        tenant: str,
        prefix: str,
        label: str | None,
        after: str,
        limit: int,
    ) -> list[Subject]:
        """Return subjects in byte order of their names. See `Ledger.subjects`."""
        rows = self._ask(
            lambda reader: find_subjects(reader, kind, tenant, prefix, label, after, limit)
        )
        return [self._step_rows.read_subject(row, with_secret=False) for row in rows]

    def hands_at(
        self,
        tenant: str,
        table_prefix: str,
        label: str | None,
        after: tuple[str, int],
        limit: int,
    ) -> list[Subject]:
        """Return hands that are dealt card by card, by table and number. See `Ledger.hands_at`."""
        rows = self._ask(
            lambda reader: find_hands(reader, tenant, table_prefix, label, after, limit)
        )
        return [self._step_rows.read_subject(row, with_secret=False) for row in rows]


def find_subject(reader: sqlite3.Connection, owner: SubjectId) -> StoredSubject | None:
    """Return the row of a subject, None if there is none.

    Raises:
        LedgerDamagedError: its secret is gone, and was not destroyed.
    """
    found = reader.execute(_FIND_SUBJECT, owner).fetchone()
    if found is None:
        return None
    row = StoredSubject(*found)
    check_destroyed(reader, row.where, row.secret, row.last_id or 0)
    return row


def find_step(reader: sqlite3.Connection, owner: SubjectId, key: str) -> StoredStep | None:
    """Return the row of a subject's step with a key. Raises as `find_subject`."""
    found = _steps(reader, _FIND_STEP, (*owner, key))
    return found[0] if found else None


def find_steps(
    reader: sqlite3.Connection, owner: SubjectId, after: int, limit: int
) -> list[StoredStep]:
    """Return rows of a subject's steps in the order of their numbers.

    Raises:
        LedgerDamagedError: as `find_subject`, or a number is missing.
    """
    rows = _steps(reader, _FIND_STEPS, (*owner, after, limit))
    for number, row in enumerate(rows, after + 1):
        if row.number != number:
            raise row_damaged(row.where, "number", f"is {row.number} and follows {number - 1}")
    return rows


def find_subjects(  # noqa: PLR0917  as in the contract
    reader: sqlite3.Connection,
    kind: SubjectKind,
    tenant: str,
    prefix: str,
    label: str | None,
    after: str,
    limit: int,
) -> list[StoredSubject]:
    """Return rows of subjects in the byte order of their names, which is that of their index."""
    begins, first = (">", after) if after >= prefix else (">=", prefix)
    values = [kind, tenant, first, prefix + _LAST_CHARACTER]
    labelled = ""
    if label is not None:
        # An empty label has no index: few ask for what was not labelled.
        labelled = "AND s.label = ? AND s.label != ''" if label else "AND s.label = ?"
        values.append(label)
    query = _PAGE.format(after=begins, label=labelled)
    return [StoredSubject(*row) for row in reader.execute(query, (*values, limit))]


def find_hands(  # noqa: PLR0917  as in the contract
    reader: sqlite3.Connection,
    tenant: str,
    table_prefix: str,
    label: str | None,
    after: tuple[str, int],
    limit: int,
) -> list[StoredSubject]:
    """Return rows of hands that are dealt card by card, in the order of an index.

    Raises:
        LedgerDamagedError: a row does not lead to a hand, or to one with another label.
    """
    # Where the prefix begins behind `after`, its first table does.
    begin = max(after, (table_prefix, 0))
    values: list[object] = [tenant, *begin, table_prefix, table_prefix + _LAST_CHARACTER]
    if label is not None:
        values.append(label)
    query = _HANDS_AT.format(label="" if label is None else "AND d.label = ?")
    rows = [StoredSubject(*row) for row in reader.execute(query, (*values, limit))]
    for row in rows:
        if row.kind != SubjectKind.HAND or row.tenant != tenant or label not in {None, row.label}:
            raise row_damaged(f"dealt_hands/{row.id}", "subject_id or label", "is another's")
    return rows


def _steps(reader: sqlite3.Connection, query: str, values: Row) -> list[StoredStep]:
    rows = [StoredStep(*row) for row in reader.execute(query, values)]
    for row in rows:
        check_destroyed(reader, row.where, row.secret, row.id)
    return rows


def check_destroyed(
    connection: sqlite3.Connection, where: str, secret: bytes | None, step: int
) -> None:
    """Tell a secret that was destroyed from one that somebody removed."""
    if secret is None and step > steps_destroyed_through(connection):
        raise row_damaged(where, "secret", "is missing and was not destroyed")
