"""A ledger read from its first hand to its last, hot and archived: is all of it what was recorded?

Checked of every hand: its number in the ledger, its link, its number at its table, its open hash,
and that its spent id leads to it. Of all, or of every n-th: that its secrets decrypt and are
authentic. Of the file: SQLite's own check; of archives: their digest; of steps: step_inspection.py;
of the log: log_inspection.py.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from entropyd.errors import LedgerDamagedError
from entropyd.ledger.archive_file import digest_of, read_rows
from entropyd.ledger.archives import archives_of, hot_rows
from entropyd.ledger.chain import EMPTY, next_link
from entropyd.ledger.hand_rows import HandRows
from entropyd.ledger.log_inspection import LogInspection, dealt_numbers, spent_row
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite_file import quick_check
from entropyd.ledger.step_inspection import StepInspection, inspect_steps
from entropyd.ledger.step_rows import StepRows
from entropyd.ledger.stored_row import StoredRow, row_damaged

_COUNT_SPENT = "SELECT count(*) FROM spent"
_TABLES = "SELECT tenant, name, next_sequence FROM tables"
_EVENTS = "SELECT count(*), coalesce(max(id), 0) FROM events"
_LAST_ID = 2**63 - 1

# Of each table the numbers of hands that are dealt card by card, and their subjects.
DealtNumbers = dict[tuple[str, str], dict[int, int]]


@dataclass
class Inspection:
    """What was checked.

    Attributes:
        hands: all of them.
        archived: how many of them lie in archives.
        decrypted: whose secrets were decrypted.
        destroyed: whose secrets were destroyed.
        events: all of them.
        tables: the next number of each, by tenant and name.
        dealt: how many hands are dealt card by card, beside `hands`.
        entries: of the log.
        steps: what was checked of subjects and their steps.
    """

    hands: int = 0
    archived: int = 0
    decrypted: int = 0
    destroyed: int = 0
    events: int = 0
    tables: dict[tuple[str, str], int] = field(default_factory=dict)
    dealt: int = 0
    entries: int = 0
    steps: StepInspection = field(default_factory=StepInspection)


def inspect(
    path: Path, connection: sqlite3.Connection, directory: Path, secrets: SecretBox, *, every: int
) -> Inspection:
    """Read the whole ledger, and return what was found to be as it should.

    Args:
        path: the ledger's file.
        connection: to it; it is a ledger which nobody writes meanwhile.
        directory: where archives lie.
        secrets: decrypts.
        every: decrypt each n-th hand and step, 1 for all.

    Raises:
        LedgerDamagedError: the first contradiction.
        LedgerUnavailableError: an archive is missing.
    """
    quick_check(path, connection)
    rows, found, link = HandRows(secrets), Inspection(), EMPTY
    log = LogInspection(connection)
    found.entries = log.entries
    dealt: DealtNumbers = defaultdict(dict)
    for table, sequence, subject in dealt_numbers(connection, log):
        dealt[table][sequence] = subject
        found.dealt += 1
    for row, destroyed in _history(connection, directory, found):
        found.hands += 1
        link = _follow(row, found, link, dealt)
        row.check_open_hash(row.binding())
        hand_id, index = spent_row(connection, row.tenant, row.hand)
        if hand_id != row.id:
            raise _damaged(row.id, "is not where its spent id leads")
        log.check_hand(row.where, index, _names(row))
        if destroyed:
            found.destroyed += 1
        elif (row.id - 1) % every == 0:
            rows.read(row, row.tenant, row.hand, with_secrets=True)
            found.decrypted += 1
    _check_dealt(found, dealt)
    _check_counts(connection, found)
    log.check_counts()
    found.steps = inspect_steps(connection, StepRows(secrets), every=every)
    return found


def _history(
    connection: sqlite3.Connection, directory: Path, found: Inspection
) -> Iterator[tuple[StoredRow, bool]]:
    """Return every row in order of its id, and whether its secrets were destroyed."""
    for archive in archives_of(connection):
        path = directory / archive.name
        if digest_of(path) != archive.sha256:
            raise LedgerDamagedError(
                f"archive {path}: is not the file that was made; copy it there from its backup"
            )
        for row in read_rows(path):
            destroyed = row.id <= archive.destroyed_through
            if destroyed and (row.items or row.opening):
                raise _damaged(row.id, "still has secrets")
            yield row, destroyed
            found.archived += 1
    for row in hot_rows(connection, 1, _LAST_ID):
        yield row, False


def _names(row: StoredRow) -> dict[str, str]:
    """Return lines that the receipt of a hand has."""
    return {
        "tenant": row.tenant,
        "table": row.table,
        "hand": row.hand,
        "sequence": str(row.sequence),
        "O": row.open_hash.hex(),
    }


def _follow(row: StoredRow, found: Inspection, before: bytes, dealt: DealtNumbers) -> bytes:
    """Check that a row is the next one, everywhere; return its link."""
    if row.id != found.hands:
        raise _damaged(row.id, f"follows hand {found.hands - 1}: hands are missing")
    table = (row.tenant, row.table)
    expected = _next_number(table, found, dealt)
    if row.sequence != expected:
        raise _damaged(row.id, f"has number {row.sequence} at its table, expected {expected}")
    found.tables[table] = expected + 1
    # A row of schema version 1 has no link: the chain begins behind it.
    if row.link is not None and row.link != next_link(before, row.id, row.open_hash, row.told()):
        raise _damaged(row.id, "has a link that does not follow from the hands before it")
    return row.link_or_base()


def _next_number(table: tuple[str, str], found: Inspection, dealt: DealtNumbers) -> int:
    """Return the next number of a table that no hand dealt card by card has."""
    number, others = found.tables.get(table, 1), dealt.get(table, {})
    while others.pop(number, None) is not None:
        number += 1
    return number


def _check_dealt(found: Inspection, dealt: DealtNumbers) -> None:
    """Check that the numbers of hands dealt card by card are between or behind those of others."""
    for table, others in dealt.items():
        found.tables[table] = _next_number(table, found, dealt)
        for sequence, subject in others.items():
            raise row_damaged(
                f"dealt_hands/{subject}",
                "sequence",
                f"is {sequence}, expected {found.tables[table]}",
            )


def _check_counts(connection: sqlite3.Connection, found: Inspection) -> None:
    (spent,) = connection.execute(_COUNT_SPENT).fetchone()
    hands = found.hands + found.dealt
    if spent != hands:
        raise LedgerDamagedError(f"ledger: {spent} ids are spent, by {hands} hands")
    tables = {(tenant, name): number for tenant, name, number in connection.execute(_TABLES)}
    if tables != found.tables:
        raise LedgerDamagedError("ledger rows tables: the next numbers are not those of the hands")
    found.events, last = connection.execute(_EVENTS).fetchone()
    if found.events != last:
        raise LedgerDamagedError(
            f"ledger rows events: the last is {last}, there are {found.events}"
        )


def _damaged(row_id: int, what: str) -> LedgerDamagedError:
    return LedgerDamagedError(
        f"ledger row hands/{row_id}: {what}; stop, keep a copy of the directory, and restore the"
        " last backup"
    )
