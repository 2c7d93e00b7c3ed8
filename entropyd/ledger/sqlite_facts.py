"""What a ledger file says of itself: which history it is, and how far it goes.

Read by whoever has a connection: the open ledger, a backup, a restore, a check.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from entropyd.errors import LedgerDamagedError
from entropyd.ledger.chain import EMPTY, Position, base
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite_log import frontier_at, log_size
from entropyd.ledger.stored_row import told_digest
from entropyd.log.merkle import EMPTY_ROOT

_LINK_OF = """
    SELECT id, link, open_hash, claim_digest, provenance, drawn_at_ns FROM hands WHERE id = ?
"""
_LAST = """
    SELECT id, link, open_hash, claim_digest, provenance, drawn_at_ns
    FROM hands ORDER BY id DESC LIMIT 1
"""
_LAST_EVENT = "SELECT coalesce(max(id), 0) FROM events"
_COUNTS = """
    SELECT (SELECT coalesce(max(id), 0) FROM hands), (SELECT coalesce(max(id), 0) FROM events)
"""
_LAST_STEP = "SELECT id, link FROM steps ORDER BY id DESC LIMIT 1"
_STEP_LINK = "SELECT link FROM steps WHERE id = ?"
_DESTROYED = "SELECT value FROM meta WHERE name = 'step_secrets_destroyed'"
_LOG_BEGINS = "SELECT value FROM meta WHERE name = 'log_begins'"
_SET_LOG_BEGINS = "INSERT OR REPLACE INTO meta VALUES ('log_begins', ?)"
# The first schema version that knows subjects.
_WITH_STEPS = 3
_KEY_CHECK = {"binding": b"", "state": b"meta", "field": b"key_check"}


@dataclass(frozen=True)
class Facts:
    """What a file holds.

    Attributes:
        origin: which history; "" if it has no name yet.
        position: how far it goes.
        log_size, log_root: of its log.
    """

    origin: str
    position: Position
    log_size: int = 0
    log_root: bytes = EMPTY_ROOT


def facts_of(connection: sqlite3.Connection) -> Facts:
    """Return the facts of a file. One of version 1 has no origin yet, and no links.

    A backup may be older than the ledger's last upgrade.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 1:
        hands, events = connection.execute(_COUNTS).fetchone()
        return Facts("", Position(hands, EMPTY, events))
    origin = origin_of(connection)
    if version < _WITH_STEPS:
        return Facts(origin, _position(connection, 0, EMPTY))
    size = log_size(connection)
    return Facts(origin, position_of(connection), size, frontier_at(connection, size).root())


def position_of(connection: sqlite3.Connection) -> Position:
    """Return how far the ledger goes."""
    return _position(connection, *last_step(connection))


def _position(connection: sqlite3.Connection, steps: int, step_link: bytes) -> Position:
    hands, link = last_hand(connection)
    # What is committed between the questions is more than the position needs: an anchor that holds
    # it is still one that the ledger reaches.
    (events,) = connection.execute(_LAST_EVENT).fetchone()
    return Position(hands, link, events, steps, step_link)


def last_step(connection: sqlite3.Connection) -> tuple[int, bytes]:
    """Return number and link of the last step of any subject, 0 and `EMPTY` without one."""
    row = connection.execute(_LAST_STEP).fetchone()
    return (int(row[0]), bytes(row[1])) if row else (0, EMPTY)


def step_link_at(connection: sqlite3.Connection, number: int) -> bytes | None:
    """Return the link of the ledger's step `number`, `EMPTY` for 0, None if it is not there."""
    if number == 0:
        return EMPTY
    row = connection.execute(_STEP_LINK, (number,)).fetchone()
    return None if row is None else bytes(row[0])


def steps_destroyed_through(connection: sqlite3.Connection) -> int:
    """Return the number in the ledger of the last step whose secret was destroyed; 0: of none."""
    row = connection.execute(_DESTROYED).fetchone()
    return int.from_bytes(row[0], "big") if row else 0


def log_begins(connection: sqlite3.Connection) -> int:
    """Return the index of the first entry under the present name of the log.

    Entries before it are of a log that was given up with an adoption.
    """
    row = connection.execute(_LOG_BEGINS).fetchone()
    return int.from_bytes(row[0], "big") if row else 0


def set_log_begins(connection: sqlite3.Connection, index: int) -> None:
    """Have the log go on under another name from an index on."""
    connection.execute(_SET_LOG_BEGINS, (index.to_bytes(8, "big"),))


def last_hand(connection: sqlite3.Connection) -> tuple[int, bytes]:
    """Return number and link of the last hand, 0 and `EMPTY` where there is none."""
    row = connection.execute(_LAST).fetchone()
    return (row[0], _link(*row)) if row else (0, EMPTY)


def link_at(connection: sqlite3.Connection, number: int) -> bytes | None:
    """Return the link of the ledger's hand `number`, `EMPTY` for 0, None if it is not hot."""
    if number == 0:
        return EMPTY
    row = connection.execute(_LINK_OF, (number,)).fetchone()
    return None if row is None else _link(*row)


def _link(  # noqa: PLR0917  the columns of a query, in its order
    number: int, link: bytes | None, digest: bytes, claim: bytes, provenance: bytes, drawn_at: int
) -> bytes:
    return link or base(number, digest, told_digest(claim, provenance, drawn_at))


def origin_of(connection: sqlite3.Connection) -> str:
    """Return which history this is, in hex: another one after each adoption."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'origin'").fetchone()
    if row is None:
        raise LedgerDamagedError("ledger row meta, field origin: is missing; restore a backup")
    return bytes(row[0]).hex()


def check_master_key(connection: sqlite3.Connection, secrets: SecretBox) -> None:
    """Find out now, not at the first hand, that this is another ledger's master key.

    A ledger that has no such row yet gets one: its first master key is its own.

    Raises:
        LedgerDamagedError: it was written with another master key.
    """
    row = connection.execute("SELECT value FROM meta WHERE name = 'key_check'").fetchone()
    if row is None:
        # If we die before this is written, the next start comes here again.
        sealed = secrets.seal(b"", **_KEY_CHECK)
        connection.execute("INSERT INTO meta VALUES ('key_check', ?)", (sealed,))
    else:
        secrets.open(row[0], row="meta", **_KEY_CHECK)


def sidecars(path: Path) -> tuple[Path, Path]:
    """Return the names of a file's write-ahead log and of the log's index."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
