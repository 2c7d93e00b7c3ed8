"""The statements of the ledger of schema version 2, frozen as they were: the entropyd before ours.

They play the older program on a file that ours has written. Not one of them may be changed.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from entropyd.ledger.contract import HandDraft, HandRecord
from entropyd.ledger.hand_rows import HandRows, hand_key
from entropyd.ledger.stored_row import StoredRow

KNOWN_VERSION = 2

FIND = """
    SELECT s.hand_id, t.tenant, t.name, h.hand, h.rules, h.sequence, h.claim_digest, h.size,
           h.commitment, h.deck_root, h.seats_root, h.open_hash, h.provenance, h.drawn_at_ns,
           h.items, h.opening, h.link
    FROM spent s LEFT JOIN hands h ON h.id = s.hand_id LEFT JOIN tables t ON t.id = h.table_id
    WHERE s.hand_key = ?
"""
_SPEND = "INSERT INTO spent VALUES (?, ?)"
_SPENT = "SELECT 1 FROM spent WHERE hand_key = ?"
_LAST = "SELECT id, link FROM hands ORDER BY id DESC LIMIT 1"
_FIND_TABLE = "SELECT id, next_sequence FROM tables WHERE tenant = ? AND name = ?"
_INSERT_TABLE = """
    INSERT INTO tables (tenant, name, next_sequence) VALUES (?, ?, 1) RETURNING id, next_sequence
"""
_SET_NEXT = "UPDATE tables SET next_sequence = ? WHERE id = ?"
_INSERT_HAND = """
    INSERT INTO hands (id, table_id, sequence, hand, rules, claim_digest, size, commitment,
                       deck_root, seats_root, open_hash, provenance, drawn_at_ns, items, opening,
                       link)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class LedgerV2:
    """Opens a file if its version is known, finds hands and records them."""

    def __init__(self, path: Path, rows: HandRows) -> None:
        self._rows = rows
        self._connection = sqlite3.connect(path, isolation_level=None)
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > KNOWN_VERSION:
            self._connection.close()
            raise ValueError(f"schema version {version}, this entropyd knows up to 2")
        self._connection.execute("PRAGMA foreign_keys = ON")

    def find(self, tenant: str, hand: str, *, with_secrets: bool) -> HandRecord | None:
        row = self._connection.execute(FIND, (hand_key(tenant, hand),)).fetchone()
        if row is None:
            return None
        return self._rows.read(StoredRow(*row), tenant, hand, with_secrets=with_secrets)

    def record(self, drafts: Sequence[HandDraft]) -> list[int | None]:
        """Return the number of each hand at its table, None for a spent one."""
        self._connection.execute("BEGIN IMMEDIATE")
        numbers = [self._record(draft) for draft in drafts]
        self._connection.execute("COMMIT")
        return numbers

    def _record(self, draft: HandDraft) -> int | None:
        execute = self._connection.execute
        key = hand_key(draft.tenant, draft.hand)
        if execute(_SPENT, (key,)).fetchone():
            return None
        last_id, link = execute(_LAST).fetchone()
        execute(_SPEND, (key, last_id + 1))
        ids = (draft.tenant, draft.table)
        table_id, sequence = (
            execute(_FIND_TABLE, ids).fetchone() or execute(_INSERT_TABLE, ids).fetchone()
        )
        execute(_SET_NEXT, (sequence + 1, table_id))
        _, row = self._rows.write(draft, last_id + 1, table_id, sequence, link)
        execute(_INSERT_HAND, row)
        return int(sequence)

    def close(self) -> None:
        self._connection.close()
