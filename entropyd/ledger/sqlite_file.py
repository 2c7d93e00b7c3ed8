"""The SQLite file of the ledger: how it is created, opened, checked and recovered.

Knows pragmas and error codes; knows nothing of hands.

GAP: the file must lie on a local disk (write-ahead logs need shared memory),
and a log that somebody deletes while no daemon runs takes its hands unnoticed.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from entropyd.errors import (
    InternalError,
    LedgerDamagedError,
    LedgerError,
    LedgerUnavailableError,
)
from entropyd.ledger.sqlite_schema import SCHEMA_VERSION, migrate, take_back
from entropyd.ledger.state_dir import sync_directory

# How long a commit waits for a stranger who holds the database (a backup, an
# operator's shell). Ours never wait for each other: there is one writer, and in
# WAL mode readers do not block. Long enough for a backup's short locks, and an
# eighth of the 2 s after which callers give up waiting.
BUSY_TIMEOUT_S = 0.25

# `PRAGMA quick_check` reads the whole file: 512 MiB take about 0.3 s from memory
# and 3 s from a slow disk. A larger ledger starts without it, and each record
# is still checked when it is read.
QUICK_CHECK_MAX_BYTES = 512 * 2**20

# Statements differ by how many rows they insert or ask for (sqlite_statements.py): all of these are
# compiled once, at a kilobyte or two each.
CACHED_STATEMENTS = 512

PRAGMAS = (
    # Wait for strangers, see above.
    f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}",
    # Write-ahead log: one fsync a commit, and readers see the last commit while
    # the next one is written. Stays set in the file.
    "PRAGMA journal_mode = WAL",
    # Synchronise the log at every commit. NORMAL would do so at checkpoints
    # only, and a power loss would take answered hands.
    "PRAGMA synchronous = FULL",
    # Off by default in SQLite: the schema's references would be comments.
    "PRAGMA foreign_keys = ON",
    # A schema that somebody edited must not run functions of its own.
    "PRAGMA trusted_schema = OFF",
    # Notice a damaged page when it is read, not when it is rebalanced.
    "PRAGMA cell_size_check = ON",
    # Never by memory map: a disk error would arrive as SIGBUS and not as a code.
    "PRAGMA mmap_size = 0",
    # Sorts and temporary indexes must not write records to /tmp.
    "PRAGMA temp_store = MEMORY",
    # 16 MiB of pages: the keys of some 500,000 spent hands, which are looked up
    # at random, do not have to come from the file system each time.
    "PRAGMA cache_size = -16384",
    # A log that grew under a long reader is cut back at the next checkpoint to
    # 16 MiB, four times the size at which a checkpoint starts (1,000 pages, the
    # default, which keeps a checkpoint at some milliseconds).
    "PRAGMA journal_size_limit = 16777216",
)

_REMEDIES = {
    sqlite3.SQLITE_FULL: "the disk is full: free space, dealing then goes on by itself",
    sqlite3.SQLITE_READONLY: "it cannot be written: remount its file system read-write",
    sqlite3.SQLITE_IOERR: "the disk failed or is full: free space and see the kernel log; dealing"
    " goes on when it works",
    sqlite3.SQLITE_BUSY: "another program holds it: close that program",
    sqlite3.SQLITE_LOCKED: "another program holds it: close that program",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that directory and file belong to the"
    " daemon's user and that the file system is mounted and writable",
    sqlite3.SQLITE_PERM: "access was refused: check the owner of the file",
    sqlite3.SQLITE_PROTOCOL: "another program holds it: close that program",
}
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT}


def translate(path: Path, error: sqlite3.Error) -> LedgerError | InternalError:
    """Return what an error of SQLite means to a caller of the ledger.

    The text never repeats SQLite's own, which may quote values.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        # Raised by Python's module and not by SQLite: a text that is not UTF-8
        # is an OperationalError, misuse of the module is anything else.
        if isinstance(error, sqlite3.OperationalError):
            return _damaged(path, "a text is not UTF-8")
        return InternalError(f"ledger {path}: the sqlite3 module refused: {type(error).__name__}")
    # The low byte is the kind, the rest says where it happened.
    name, kind = error.sqlite_errorname, code & 0xFF
    if kind in _DAMAGE or code == sqlite3.SQLITE_IOERR_CORRUPTFS:
        return _damaged(path, name)
    if kind in _REMEDIES:
        return LedgerUnavailableError(f"ledger {path}: {_REMEDIES[kind]} ({name})")
    return InternalError(f"ledger {path}: unexpected {name}")


def _damaged(path: Path, what: str) -> LedgerDamagedError:
    return LedgerDamagedError(
        f"ledger {path}: is damaged ({what}); stop, keep a copy of the directory, and restore the"
        " last backup"
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Let only the ledger's own errors out of the block."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(path, error) from error
    except OSError as error:
        raise LedgerUnavailableError(
            f"ledger {path}: {error.strerror}; dealing goes on when its disk works again"
        ) from error


def connect(path: Path) -> sqlite3.Connection:
    """Open one connection, with every pragma set, outside any transaction.

    Transactions are written out (`BEGIN IMMEDIATE`), never begun by the module.
    SQLite is built to be used from several threads; who uses what is settled by
    the owner of the connection.
    """
    # mode=rw: a file that went away must not come back empty.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        for pragma in PRAGMAS:
            connection.execute(pragma)
        _check_synchronous(connection)
    except BaseException:
        close_quietly(connection)
        raise
    return connection


def _check_synchronous(connection: sqlite3.Connection) -> None:
    """Refuse a connection on which a pragma did not take: SQLite ignores those silently."""
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    if (mode, level) != ("wal", 2):
        raise InternalError(f"ledger: journal mode {mode}, synchronous {level}; expected wal, 2")


def close_quietly(connection: sqlite3.Connection | None) -> None:
    """Close a connection whose last error has been dealt with, or that owes nothing."""
    if connection is not None:
        with suppress(sqlite3.Error):
            connection.close()


def open_writer(path: Path, *, check: bool) -> sqlite3.Connection:
    """Open the writing connection: recover, check, bring up to date, and prove that it writes.

    Args:
        path: the file; it exists.
        check: read the whole file for damage, if it is not too large.

    Raises:
        LedgerDamagedError: the file is not a sound ledger.
        ConfigError: the file was written by a newer entropyd.
        LedgerUnavailableError: a stranger keeps the log in use.
        sqlite3.Error: as any statement.
    """
    connection = connect(path)
    try:
        _recover(path, connection)
        if check and path.stat().st_size <= QUICK_CHECK_MAX_BYTES:
            quick_check(path, connection)
        migrate(path, connection)
        # A page is written and synchronised, so that a repaired disk shows, and
        # one that only reads does not pass for repaired.
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        close_quietly(connection)
        raise
    return connection


def take_back_file(path: Path) -> int:
    """Bring a ledger that nobody has open back by one schema version; return that version.

    Raises:
        LedgerRefusedError: it cannot go back. Nothing was changed.
        LedgerError: as at any start.
    """
    with translated(path):
        connection = connect(path)
        try:
            _recover(path, connection)
            return take_back(path, connection)
        finally:
            close_quietly(connection)


def _recover(path: Path, connection: sqlite3.Connection) -> None:
    """Make everything durable that can be read: run before anybody reads or writes.

    After a kill, or a commit whose fsync failed, the log may hold records that
    were never synchronised, and SQLite shows them. Shown to a caller and then
    lost with the power, such a hand would be dealt again, differently. The
    checkpoint copies the log into the database and synchronises both.
    """
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise LedgerUnavailableError(
            f"ledger {path}: another program is reading it, its log cannot be emptied: close that"
            " program"
        )


def _begun(path: Path) -> Path:
    return path.with_name(path.name + ".begun")


def create_file(path: Path) -> None:
    """Create an empty file, private from the start, unless there is or was a ledger.

    Raises:
        LedgerDamagedError: a ledger was begun here and its file is gone. A new
            one in its place would deal every spent hand again.
        OSError: it cannot be created.
    """
    if path.exists():
        return
    if _begun(path).exists():
        raise LedgerDamagedError(
            f"ledger {path}: is missing, and {_begun(path).name} says that one was begun here;"
            f" restore it from a backup. Removing {_begun(path).name} begins another history, in"
            " which every spent hand can be dealt again"
        )
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def mark_begun(path: Path) -> None:
    """Remember beside the file that it exists.

    If we die before this, the file is there with its schema and no hand in it,
    and the next start comes here again.
    """
    if not _begun(path).exists():
        os.close(os.open(_begun(path), os.O_CREAT | os.O_WRONLY, 0o600))
        sync_directory(path.parent)


def quick_check(path: Path, connection: sqlite3.Connection) -> None:
    """Read the whole file for damage.

    Raises:
        LedgerDamagedError: there is some.
    """
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise _damaged(path, "quick_check fails")
