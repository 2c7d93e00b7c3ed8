"""What one transaction of the SQLite ledger does to its tables."""

import sqlite3
from collections.abc import Sequence

from entropyd.errors import LedgerDamagedError
from entropyd.ledger.contract import AlreadySpent, Event, HandDraft, HandRecord, Outcome, Recorded
from entropyd.ledger.hand_rows import HandRows, Row, hand_key

# The columns in the order in which `HandRows.read` takes them.
FIND = """
    SELECT h.id, t.tenant, t.name, h.hand, h.rules, h.sequence, h.claim_digest, h.size,
           h.commitment, h.deck_root, h.seats_root, h.open_hash, h.provenance, h.drawn_at_ns,
           h.items, h.opening
    FROM spent s JOIN hands h ON h.id = s.hand_id JOIN tables t ON t.id = h.table_id
    WHERE s.hand_key = ?
"""
# Asks the small table alone: most drafts are new.
_IS_SPENT = "SELECT 1 FROM spent WHERE hand_key = ?"
_FIND_TABLE = "SELECT id, next_sequence FROM tables WHERE tenant = ? AND name = ?"
_INSERT_TABLE = """
    INSERT INTO tables (tenant, name, next_sequence) VALUES (?, ?, 1) RETURNING id, next_sequence
"""
# The columns in the order in which `HandRows.write` gives them.
_INSERT_HAND = """
    INSERT INTO hands (id, table_id, sequence, hand, rules, claim_digest, size, commitment,
                       deck_root, seats_root, open_hash, provenance, drawn_at_ns, items, opening)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class Batch:
    """The drafts of one transaction while they get their numbers. Lives inside it."""

    def __init__(self, writer: sqlite3.Connection, rows: HandRows) -> None:
        self._writer = writer
        self._rows = rows
        (last_id,) = writer.execute("SELECT coalesce(max(id), 0) FROM hands").fetchone()
        self._next_id: int = last_id + 1
        self._tables: dict[tuple[str, str], list[int]] = {}
        self._hands: list[Row] = []
        self._spent: dict[bytes, int] = {}
        self._records: dict[bytes, HandRecord] = {}

    def take(self, draft: HandDraft) -> Outcome:
        """Number a draft, or find that its id is spent."""
        key = hand_key(draft.tenant, draft.hand)
        if key in self._records:
            return AlreadySpent(self._records[key])
        if self._writer.execute(_IS_SPENT, (key,)).fetchone() is not None:
            return AlreadySpent(self._stored(key, draft))
        table = self._table(draft.tenant, draft.table)
        table_id, sequence = table
        table[1] += 1
        record, row = self._rows.write(draft, self._next_id, table_id, sequence)
        self._hands.append(row)
        self._spent[key] = self._next_id
        self._records[key] = record
        self._next_id += 1
        return Recorded(record)

    def write(self) -> None:
        """Write hands, their spent ids and the next numbers of their tables.

        A second row of one hand key would break its PRIMARY KEY: the database,
        not this class, has the last word.
        """
        self._writer.executemany(_INSERT_HAND, self._hands)
        self._writer.executemany("INSERT INTO spent VALUES (?, ?)", self._spent.items())
        self._writer.executemany(
            "UPDATE tables SET next_sequence = ? WHERE id = ?",
            [(next_sequence, table_id) for table_id, next_sequence in self._tables.values()],
        )

    def _stored(self, key: bytes, draft: HandDraft) -> HandRecord:
        row = self._writer.execute(FIND, (key,)).fetchone()
        if row is None:
            raise LedgerDamagedError(
                f"ledger row spent/{key.hex()}, field hand_id: names no hand; stop, keep a copy of"
                " the directory, and restore the last backup"
            )
        return self._rows.read(row, draft.tenant, draft.hand, with_secrets=False)

    def _table(self, tenant: str, name: str) -> list[int]:
        """Return [id, next number] of a table, which exists from its first hand on."""
        table = self._tables.get((tenant, name))
        if table is None:
            found = self._writer.execute(_FIND_TABLE, (tenant, name)).fetchone()
            if found is None:
                found = self._writer.execute(_INSERT_TABLE, (tenant, name)).fetchone()
            table = self._tables[tenant, name] = list(found)
        return table


def write_notes(
    writer: sqlite3.Connection,
    events: Sequence[Event],
    health_states: Sequence[tuple[str, str]],
) -> None:
    """Append events in order, and replace the health states of the sources named."""
    writer.executemany(
        "INSERT INTO events (kind, subject, detail, at_ns) VALUES (?, ?, ?, ?)",
        [(event.kind, event.subject, event.detail, event.at_ns) for event in events],
    )
    writer.executemany(
        "INSERT INTO health_states VALUES (?, ?)"
        " ON CONFLICT (source_id) DO UPDATE SET state = excluded.state",
        health_states,
    )
