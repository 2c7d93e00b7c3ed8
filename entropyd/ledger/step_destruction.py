"""Secrets of steps that were kept long enough are destroyed, where they lie.

Steps have no archives: their secrets, and those of the states of subjects that made no step since,
become NULL, and what they were is overwritten with zeros (`secure_delete`) in the file and leaves
the log. What stands in the clear remains and stays proved; keys and numbers stay taken.

GAP: as of hands (destruction.py): backups, copy-on-write file systems and flash disks.
"""

import json
import sqlite3
from collections.abc import Iterator

from entropyd.ledger.contract import EventKind
from entropyd.ledger.sqlite_facts import steps_destroyed_through

# A transaction of so many is written in seconds, and no crash costs more than one of them.
STEPS_A_TRANSACTION = 100_000

_LAST = "SELECT at_ns FROM steps ORDER BY id DESC LIMIT 1"
_FIRST_SINCE = "SELECT id FROM steps WHERE at_ns BETWEEN ? AND ? ORDER BY id LIMIT 1"
_LAST_BEFORE = "SELECT coalesce(max(id), 0) FROM steps WHERE at_ns < ? AND id < ?"
_NO_STEP = 2**63 - 1
_DESTROY = """
    UPDATE steps SET secret = NULL
    WHERE id BETWEEN ? AND ? AND secret IS NOT NULL AND secret != x''
"""
# Within a subject the order of numbers is that of ids.
_DESTROY_STATES = """
    UPDATE subjects SET secret = NULL
    WHERE secret IS NOT NULL AND secret != x''
        AND (SELECT id FROM steps WHERE subject_id = subjects.id ORDER BY number DESC LIMIT 1) <= ?
"""
_SET_THROUGH = "INSERT OR REPLACE INTO meta VALUES ('step_secrets_destroyed', ?)"
_NOTE = "INSERT INTO events (kind, subject, detail, at_ns) VALUES (?, 'steps', ?, ?)"


def last_step_ns(connection: sqlite3.Connection) -> int | None:
    """Return when the last step says it was made, None without one."""
    row = connection.execute(_LAST).fetchone()
    return None if row is None else int(row[0])


def last_expired_step(connection: sqlite3.Connection, before_ns: int, now_ns: int) -> int:
    """Return the number in the ledger up to which all steps were made before a time; 0: none was.

    As `destruction.last_expired` for hands: ids are the true order, and the first step that may be
    younger ends it. One that says it is of the future says nothing, so it is as old as a later one
    that is old; without such a one it may have been made just now.
    """
    found = connection.execute(_FIRST_SINCE, (before_ns, now_ns)).fetchone()
    young = found[0] if found else _NO_STEP
    (last,) = connection.execute(_LAST_BEFORE, (before_ns, young)).fetchone()
    return int(last)


def destroy_steps_through(
    connection: sqlite3.Connection, last_id: int, *, at_ns: int
) -> Iterator[int]:
    """Destroy the secrets of the steps up to a number; return each number that was reached.

    Args:
        connection: the writing one.
        last_id: number in the ledger of the last step; `last_expired_step` gives it.
        at_ns: wall clock, for the events.

    Raises:
        sqlite3.Error: the last transaction was not written; what was returned is done.
    """
    connection.execute("PRAGMA secure_delete = ON")
    first = steps_destroyed_through(connection) + 1
    while first <= last_id:
        through = min(first + STEPS_A_TRANSACTION - 1, last_id)
        detail = json.dumps({"first": first, "last": through})
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_SET_THROUGH, (through.to_bytes(8, "big"),))
        connection.execute(_DESTROY, (first, through))
        connection.execute(_DESTROY_STATES, (through,))
        connection.execute(_NOTE, (EventKind.SECRETS_DESTROYED, detail, at_ns))
        connection.execute("COMMIT")
        # The log had the pages before and after: it goes, too.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield through
        first = through + 1
