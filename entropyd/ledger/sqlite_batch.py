"""What one transaction of the SQLite ledger does to its tables."""

import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path

from entropyd.errors import InternalError
from entropyd.ledger.archives import archived_row
from entropyd.ledger.contract import AlreadySpent, Event, HandDraft, HandRecord, Outcome, Recorded
from entropyd.ledger.hand_rows import HandRows, Row, hand_key
from entropyd.ledger.sqlite_facts import last_hand
from entropyd.ledger.stored_row import StoredRow

# The columns of `StoredRow`; nothing but the id of a hand that is not hot any more.
_FIND = """
    SELECT s.hand_id, t.tenant, t.name, h.hand, h.rules, h.sequence, h.claim_digest, h.size,
           h.commitment, h.deck_root, h.seats_root, h.open_hash, h.provenance, h.drawn_at_ns,
           h.items, h.opening, h.link
    FROM spent s LEFT JOIN hands h ON h.id = s.hand_id LEFT JOIN tables t ON t.id = h.table_id
    WHERE s.hand_key = ?
"""
# The PRIMARY KEY says if the id is new: the database, not this program, has the last word, and
# ends the transaction if it disagrees. The row that it names follows in the same transaction.
_SPEND = "INSERT INTO spent VALUES"
_FIND_TABLE = "SELECT id, next_sequence FROM tables WHERE tenant = ? AND name = ?"
_INSERT_TABLE = """
    INSERT INTO tables (tenant, name, next_sequence) VALUES (?, ?, 1) RETURNING id, next_sequence
"""
_SET_NEXT = "UPDATE tables SET next_sequence = ? WHERE id = ?"
# The columns in the order in which `HandRows.write` gives them.
_INSERT_HAND = """
    INSERT INTO hands (id, table_id, sequence, hand, rules, claim_digest, size, commitment,
                       deck_root, seats_root, open_hash, provenance, drawn_at_ns, items, opening,
                       link)
    VALUES
"""
# A statement lets other threads of the interpreter run, and then waits for its turn: with a row
# each, a commit beside a busy event loop waits as often as it has rows. 32 rows are 512 variables,
# of the 32,766 that SQLite has by default.
ROWS_A_STATEMENT = 32
# How many hand ids one SELECT asks for.
KEYS_A_QUESTION = 256


def record(
    writer: sqlite3.Connection, rows: HandRows, drafts: Sequence[HandDraft], archives: Path
) -> list[Outcome]:
    """Give each new hand its number and write it; find the record of each spent one.

    Call inside a transaction. Step by step for all drafts, and not draft by
    draft: so the processor stays in one library at a time, which saves a
    quarter of the time of 64 drafts.

    Raises:
        LedgerDamagedError: a spent id does not lead to its record.
        SecretsDestroyedError: of a spent id; whoever looked it up first was told.
        sqlite3.Error: as any statement.
    """
    keys = [hand_key(draft.tenant, draft.hand) for draft in drafts]
    # Numbers and links go on from the last hand, which no archive ever takes away.
    last_id, link = last_hand(writer)
    hand_ids = _spend(writer, keys, last_id)
    numbers = _number(writer, [d for d, hand_id in zip(drafts, hand_ids, strict=True) if hand_id])
    written: list[Row] = []
    records: list[HandRecord | None] = []
    salts = rows.salts(len(drafts))
    for draft, hand_id, own in zip(drafts, hand_ids, salts, strict=True):
        if hand_id is None:
            records.append(None)
            continue
        table_id, sequence = next(numbers)
        new, row = rows.write(draft, hand_id, table_id, sequence, link, salts=own)
        link = row[-1]
        written.append(row)
        records.append(new)
    insert_rows(writer, _INSERT_HAND, written)
    return [
        Recorded(new)
        if new is not None
        else AlreadySpent(_stored(writer, rows, key, draft, archives))
        for new, key, draft in zip(records, keys, drafts, strict=True)
    ]


def spent_keys(connection: sqlite3.Connection, keys: Sequence[bytes]) -> set[bytes]:
    """Return which of these hand keys are spent."""
    spent: set[bytes] = set()
    for first in range(0, len(keys), KEYS_A_QUESTION):
        some = keys[first : first + KEYS_A_QUESTION]
        spent |= {key for (key,) in connection.execute(_spent_question(len(some)), some)}
    return spent


def _spend(writer: sqlite3.Connection, keys: Sequence[bytes], last_id: int) -> list[int | None]:
    """Return the id of each new hand, in order; None where the key is spent, also by one before."""
    spent = spent_keys(writer, keys)
    hand_ids: list[int | None] = []
    new: list[Row] = []
    for key in keys:
        if key in spent:
            hand_ids.append(None)
            continue
        spent.add(key)
        last_id += 1
        hand_ids.append(last_id)
        new.append((key, last_id))
    insert_rows(writer, _SPEND, new)
    return hand_ids


def insert_rows(
    writer: sqlite3.Connection, statement: str, rows: Sequence[Row], *, then: str = ""
) -> None:
    """Insert rows of the same form, many a statement.

    Args:
        writer: the writing connection.
        statement: up to VALUES.
        rows: columns in the order of the statement.
        then: the statement after the values, such as ON CONFLICT.
    """
    for first in range(0, len(rows), ROWS_A_STATEMENT):
        some = rows[first : first + ROWS_A_STATEMENT]
        values = _values(len(some[0]), len(some))
        writer.execute(f"{statement} {values} {then}", tuple(chain.from_iterable(some)))


@lru_cache(maxsize=ROWS_A_STATEMENT * 2)
def _values(columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return ", ".join([row] * rows)


@lru_cache(maxsize=KEYS_A_QUESTION)
def _spent_question(keys: int) -> str:
    marks = ", ".join("?" * keys)
    return f"SELECT hand_key FROM spent WHERE hand_key IN ({marks})"  # noqa: S608  marks alone


def _number(writer: sqlite3.Connection, drafts: Sequence[HandDraft]) -> Iterator[tuple[int, int]]:
    """Return (table id, next number at this table) of each new hand, in order."""
    tables: dict[tuple[str, str], list[int]] = {}
    numbers: list[tuple[int, int]] = []
    for draft in drafts:
        ids = (draft.tenant, draft.table)
        table = tables.get(ids)
        if table is None:
            # A table exists from its first hand on.
            found = writer.execute(_FIND_TABLE, ids).fetchone()
            table = tables[ids] = list(found or writer.execute(_INSERT_TABLE, ids).fetchone())
        numbers.append((table[0], table[1]))
        table[1] += 1
    writer.executemany(_SET_NEXT, [(number, table_id) for table_id, number in tables.values()])
    return iter(numbers)


def find_row(connection: sqlite3.Connection, key: bytes, archives: Path) -> StoredRow | None:
    """Return the row of a spent hand, hot or archived; None if it is not spent.

    Raises:
        LedgerDamagedError: the spent id does not lead to a row.
        LedgerUnavailableError: its archive is missing.
        SecretsDestroyedError: its cards are gone.
    """
    row = connection.execute(_FIND, (key,)).fetchone()
    if row is None:
        return None
    if row[1] is None:
        return archived_row(connection, archives, row[0])
    return StoredRow(*row)


def _stored(
    writer: sqlite3.Connection, rows: HandRows, key: bytes, draft: HandDraft, archives: Path
) -> HandRecord:
    row = find_row(writer, key, archives)
    if row is None:
        raise InternalError(f"ledger row spent/{key.hex()}: was there and is not")
    return rows.read(row, draft.tenant, draft.hand, with_secrets=False)


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


def begin_history(writer: sqlite3.Connection, origin: bytes, first: Event) -> None:
    """Give the ledger another origin, and that history its first event."""
    writer.execute("UPDATE meta SET value = ? WHERE name = 'origin'", (origin,))
    write_notes(writer, [first], [])
