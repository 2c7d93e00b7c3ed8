"""What hands of both kinds share in the SQLite ledger: spent ids, and numbers at tables.

A hand that is dealt whole is a row of `hands`, one that is dealt card by card a subject with steps
(subjects.py). Its id is spent once among both, and a table counts both.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from entropyd.ledger.sqlite_facts import log_begins
from entropyd.ledger.sqlite_log import LogAppender
from entropyd.ledger.sqlite_statements import Row, ask_many, insert_rows

_SPENT = "SELECT hand_key, hand_id FROM spent WHERE hand_key IN (VALUES {values})"
# The PRIMARY KEY says if the id is new: the database, not this program, has the last word, and
# ends the transaction if it disagrees. The row that it names is written in the same transaction.
_SPEND = "INSERT INTO spent (hand_key, hand_id, log_index) VALUES"
_FIND_TABLE = "SELECT id, next_sequence, log_index FROM tables WHERE tenant = ? AND name = ?"
_INSERT_TABLE = """
    INSERT INTO tables (tenant, name, next_sequence) VALUES (?, ?, 1)
    RETURNING id, next_sequence, log_index
"""
# A receipt in a log that was given up stays the newest until there is one in the present log.
_SET_TABLE = "UPDATE tables SET next_sequence = ?, log_index = coalesce(?, log_index) WHERE id = ?"
# In `spent`, in place of the id of a row of `hands`, of a hand that is dealt card by card.
DEALT_CARD_BY_CARD = 0


@dataclass(slots=True)
class Table:
    """A table in a commit that is under way.

    Attributes:
        row_id: of its row.
        next_sequence: number of its next hand.
        log_index: of its receipt in the present log; None until it has one there.
    """

    row_id: int
    next_sequence: int
    log_index: int | None


@dataclass(slots=True)
class Numbered:
    """A hand id that a commit spends.

    Attributes:
        key: `hand_key` of the id.
        hand_id: of its row in `hands`, or `DEALT_CARD_BY_CARD`.
        table: where it is dealt.
        sequence: q, its number at the table.
        log_index: of its receipt, None until it has one.
    """

    key: bytes
    hand_id: int
    table: Table
    sequence: int
    log_index: int | None = None

    def append_table(self, log: LogAppender, tenant: str, table: str) -> None:
        """Append the table's receipt if it has none in this log. Call before the hand's own.

        So whoever reads the log knows with which number the table's hands begin there: hands from
        before it, in an older ledger or in a log that was given up, are no gap.
        """
        if self.table.log_index is None:
            self.table.log_index = log.append_table(tenant, table, self.sequence - 1)


class HandNumbers:
    """Spent ids and numbers of tables in one transaction. Made anew for each."""

    def __init__(self, writer: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        """Look up which of all the keys that the transaction would spend are spent."""
        self._writer = writer
        self._spent = spent_among(writer, keys)
        self._log_begins = log_begins(writer) if keys else 0
        self._tables: dict[tuple[str, str], Table] = {}
        self._numbered: list[Numbered] = []

    def spent_by(self, key: bytes) -> int | None:
        """Return the `hand_id` of a key that is spent, also by this transaction; None if not."""
        return self._spent.get(key)

    def spend(self, key: bytes, hand_id: int, tenant: str, table: str) -> Numbered:
        """Spend a key that is not spent, and take the table's next number."""
        self._spent[key] = hand_id
        row = self._tables.get((tenant, table))
        if row is None:
            row = self._tables[tenant, table] = self._table(tenant, table)
        numbered = Numbered(key, hand_id, row, row.next_sequence)
        row.next_sequence += 1
        self._numbered.append(numbered)
        return numbered

    def _table(self, tenant: str, table: str) -> Table:
        # A table exists from its first hand on.
        ids = (tenant, table)
        found = self._writer.execute(_FIND_TABLE, ids).fetchone()
        row = Table(*(found or self._writer.execute(_INSERT_TABLE, ids).fetchone()))
        if row.log_index is not None and row.log_index < self._log_begins:
            row.log_index = None
        return row

    def flush(self) -> None:
        """Write what was spent and taken."""
        rows: list[Row] = [(one.key, one.hand_id, one.log_index) for one in self._numbered]
        insert_rows(self._writer, _SPEND, rows)
        tables = [(one.next_sequence, one.log_index, one.row_id) for one in self._tables.values()]
        self._writer.executemany(_SET_TABLE, tables)


def spent_among(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, int]:
    """Return the `hand_id` of each of these hand keys that is spent."""
    return dict(ask_many(connection, _SPENT, [(key,) for key in keys]))
