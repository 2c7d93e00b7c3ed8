"""Secrets that were kept long enough are destroyed: cards, seeds and all that decides them.

Each secret lies encrypted under a key that its own 32 bytes of salt make of the master key. Without
salt and ciphertext nothing brings it back. Archives alone are treated: a hand is archived first,
and what left the hot ledger was overwritten there.

What remains of a hand is public, and says that it was dealt: ids, rules, number, C, D, A, O,
provenance. Its id stays spent.

GAP: backups made before still hold the secrets, and a file system that copies on write, or a flash
disk, keeps what was overwritten until it needs the room.
"""

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from entropyd.ledger.archive_file import read_rows, write_archive
from entropyd.ledger.archives import Archive, archives_of, note
from entropyd.ledger.contract import EventKind
from entropyd.ledger.state_dir import sync_directory
from entropyd.ledger.stored_row import StoredRow

_UPDATE = "UPDATE archives SET name = ?, sha256 = ?, destroyed_through = ? WHERE first_id = ?"
_ZEROS = bytes(2**20)


def last_expired(
    connection: sqlite3.Connection, directory: Path, before_ns: int, now_ns: int
) -> int:
    """Return the id up to which all archived hands were drawn before a time; 0 if none was.

    As `last_closed` for hot ones: ids are the true order, and the first hand that may be younger
    ends it.
    """
    last = 0
    for archive in archives_of(connection):
        for row in read_rows(directory / archive.name):
            if before_ns <= row.drawn_at_ns <= now_ns:
                return last
            last = row.id
    return last


def destroy_through(
    connection: sqlite3.Connection, directory: Path, last_id: int, *, at_ns: int
) -> Iterator[Archive]:
    """Destroy the secrets of the archived hands up to an id; return each archive when it is done.

    Args:
        connection: the writing one.
        directory: where archives lie.
        last_id: of the last hand; `last_expired` gives it.
        at_ns: wall clock, for the events.

    Raises:
        LedgerError, sqlite3.Error, OSError: the last archive was not treated; what was returned is.
    """
    for archive in archives_of(connection):
        through = min(archive.last, last_id)
        if through >= archive.first and through > archive.destroyed_through:
            yield _destroy(connection, directory, archive, through, at_ns)
        # Also what a run that died between commit and removal has left.
        _remove_others(directory, archive.first, archive.last, _name_of(connection, archive))


def _destroy(
    connection: sqlite3.Connection, directory: Path, archive: Archive, through: int, at_ns: int
) -> Archive:
    rows = read_rows(directory / archive.name)
    name, digest = write_archive(directory, (_public(row, through) for row in rows))
    done = replace(archive, name=name, sha256=digest, destroyed_through=through)
    # If we die before the commit, the old file counts and the new one is removed by the next run.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_UPDATE, (name, digest, through, archive.first))
    note(connection, EventKind.SECRETS_DESTROYED, done, at_ns=at_ns)
    connection.execute("COMMIT")
    return done


def _public(row: StoredRow, through: int) -> StoredRow:
    return row if row.id > through else row._replace(items=b"", opening=b"")


def _name_of(connection: sqlite3.Connection, archive: Archive) -> str:
    found = connection.execute("SELECT name FROM archives WHERE first_id = ?", (archive.first,))
    return str(found.fetchone()[0])


def _remove_others(directory: Path, first: int, last: int, name: str) -> None:
    """Overwrite and remove files of a range that are not the ledger's."""
    for file in sorted(directory.glob(f"hands-{first:012d}-{last:012d}-*.sqlite3")):
        if file.name != name:
            _overwrite(file)
            file.unlink()
            sync_directory(directory)


def _overwrite(file: Path) -> None:
    file.chmod(0o600)
    with file.open("r+b", buffering=0) as open_file:
        left = os.fstat(open_file.fileno()).st_size
        while left:
            left -= open_file.write(_ZEROS[:left])
        os.fsync(open_file.fileno())
