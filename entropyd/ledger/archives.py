"""Hands that left the hot ledger: which file holds them, and how they get there.

Archives hold consecutive ids from 1 on, without gaps; the hot ledger holds the rest, and always the
last hand, from which numbers and links go on. A spent id stays in the hot ledger for ever, and
leads to its archive.
"""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from entropyd.errors import LedgerDamagedError, SecretsDestroyedError
from entropyd.ledger.archive_file import read_row, write_archive
from entropyd.ledger.contract import EventKind
from entropyd.ledger.stored_row import StoredRow

DIRECTORY_NAME = "archives"
# A file of a hundred thousand hands has some 100 MB, is written in seconds, and no crash costs more
# than one of them.
ARCHIVE_HANDS = 100_000

_LIST = "SELECT first_id, last_id, name, sha256, destroyed_through FROM archives ORDER BY first_id"
_WITH = """
    SELECT first_id, last_id, name, sha256, destroyed_through FROM archives
    WHERE first_id <= ? AND last_id >= ?
"""
_INSERT = "INSERT INTO archives VALUES (?, ?, ?, ?, 0)"
# The columns of `StoredRow`.
_HOT_ROWS = """
    SELECT h.id, t.tenant, t.name, h.hand, h.rules, h.sequence, h.claim_digest, h.size,
           h.commitment, h.deck_root, h.seats_root, h.open_hash, h.provenance, h.drawn_at_ns,
           h.items, h.opening, h.link
    FROM hands h JOIN tables t ON t.id = h.table_id
    WHERE h.id BETWEEN ? AND ? ORDER BY h.id
"""
_FIRST_SINCE = """
    SELECT id FROM hands WHERE drawn_at_ns BETWEEN ? AND ? ORDER BY id LIMIT 1
"""
_LAST_DRAWN = "SELECT drawn_at_ns FROM hands ORDER BY id DESC LIMIT 1"
_NOTE = "INSERT INTO events (kind, subject, detail, at_ns) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True)
class Archive:
    """One archive, as the ledger knows it.

    Attributes:
        first, last: ids of its hands.
        name: of its file.
        sha256: of its file.
        destroyed_through: the last id without secrets; 0 if all have them.
    """

    first: int
    last: int
    name: str
    sha256: bytes
    destroyed_through: int


def archives_of(connection: sqlite3.Connection) -> list[Archive]:
    """Return all archives in the order of their hands."""
    return [Archive(*row) for row in connection.execute(_LIST)]


def missing_archives(connection: sqlite3.Connection, directory: Path) -> list[str]:
    """Return the names of archives whose files are not there."""
    names = [archive.name for archive in archives_of(connection)]
    return [name for name in names if not (directory / name).exists()]


def archived_row(connection: sqlite3.Connection, directory: Path, row_id: int) -> StoredRow:
    """Return the row of a hand that is not hot, secrets as they were sealed.

    Args:
        connection: to the ledger.
        directory: where archives lie.
        row_id: the hand's id in the ledger.

    Raises:
        SecretsDestroyedError: its cards are gone.
        LedgerUnavailableError: its archive is missing.
        LedgerDamagedError: no archive has it.
    """
    found = connection.execute(_WITH, (row_id, row_id)).fetchone()
    archive = Archive(*found) if found else None
    row = None if archive is None else read_row(directory / archive.name, row_id)
    if archive is None or row is None:
        raise LedgerDamagedError(
            f"ledger row spent, field hand_id: {row_id} names no hand; stop, keep a copy of the"
            " directory, and restore the last backup"
        )
    if row_id <= archive.destroyed_through:
        raise SecretsDestroyedError(
            f"hand {row.hand!r}: its cards and seeds were destroyed after their retention; its id"
            " stays spent"
        )
    return row


def archived_link(connection: sqlite3.Connection, directory: Path, row_id: int) -> bytes | None:
    """Return the link of a hand that is not hot, None if no archive has it."""
    found = connection.execute(_WITH, (row_id, row_id)).fetchone()
    row = read_row(directory / Archive(*found).name, row_id) if found else None
    return None if row is None else row.link_or_base()


def hot_rows(connection: sqlite3.Connection, first: int, last: int) -> Iterator[StoredRow]:
    """Return the hot hands from one id to another, in order."""
    for row in connection.execute(_HOT_ROWS, (first, last)):
        yield StoredRow(*row)


def last_drawn_ns(connection: sqlite3.Connection) -> int | None:
    """Return when the last hand says it was drawn, None without one."""
    row = connection.execute(_LAST_DRAWN).fetchone()
    return None if row is None else int(row[0])


def last_closed(connection: sqlite3.Connection, before_ns: int, now_ns: int) -> int:
    """Return the id up to which all hot hands were drawn before a time; 0 if none was.

    Ids are the true order, times are claims of a clock that may have jumped. So a hand counts as
    drawn no earlier than any before it: one that a clock set back has dated to 1970 is not closed
    while its elders are open. A time later than now is a clock's error and says nothing.

    Args:
        connection: to the ledger.
        before_ns: the boundary, wall clock.
        now_ns: wall clock.
    """
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM hands").fetchone()
    found = connection.execute(_FIRST_SINCE, (before_ns, now_ns)).fetchone()
    # The last hand stays: numbers go on from it.
    return int(min(found[0] if found else last, last)) - 1 if last else 0


def has_closed(connection: sqlite3.Connection, before_ns: int, now_ns: int) -> bool:
    """Return whether hot hands could be archived that were drawn before a time."""
    (first,) = connection.execute("SELECT coalesce(min(id), 0) FROM hands").fetchone()
    return 0 < int(first) <= last_closed(connection, before_ns, now_ns)


def archive_through(
    connection: sqlite3.Connection, directory: Path, last_id: int, *, at_ns: int
) -> Iterator[Archive]:
    """Move the hot hands up to an id into archives; return each when it is done.

    Args:
        connection: the writing one.
        directory: where archives lie.
        last_id: of the last hand to move; `last_closed` gives it.
        at_ns: wall clock, for the events.

    Raises:
        sqlite3.Error, OSError: the last archive was not made; what was returned is done.
    """
    # What leaves is overwritten, so that secrets which are destroyed later are not still here.
    connection.execute("PRAGMA secure_delete = ON")
    archives = archives_of(connection)
    first = archives[-1].last + 1 if archives else 1
    while first <= last_id:
        last = min(first + ARCHIVE_HANDS - 1, last_id)
        name, digest = write_archive(directory, hot_rows(connection, first, last))
        # If we die before the commit, the file is one that no ledger knows, and its hands are hot.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_INSERT, (first, last, name, digest))
        connection.execute("DELETE FROM hands WHERE id BETWEEN ? AND ?", (first, last))
        archive = Archive(first, last, name, digest, 0)
        note(connection, EventKind.HANDS_ARCHIVED, archive, at_ns=at_ns)
        connection.execute("COMMIT")
        # The log had the pages before and after: it goes, too.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield archive
        first = last + 1


def note(connection: sqlite3.Connection, kind: EventKind, archive: Archive, *, at_ns: int) -> None:
    """Append the event of what was done to the hands of an archive."""
    through = archive.destroyed_through or archive.last
    detail = json.dumps({"first": archive.first, "last": through, "sha256": archive.sha256.hex()})
    connection.execute(_NOTE, (kind, archive.name, detail, at_ns))
