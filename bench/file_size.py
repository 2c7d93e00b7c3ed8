"""How many bytes a ledger takes, after its write-ahead log was written back."""

import sqlite3
from contextlib import closing
from pathlib import Path

FILE = Path("state") / "ledger.sqlite3"
# Where receipts are, and the tree over them.
LOG_TABLES = ("log_entries", "log_nodes")


def file_bytes(home: Path) -> int:
    """Return the size of the file: rows, indexes, and what pages leave free."""
    path = home / FILE
    with closing(sqlite3.connect(path, timeout=30)) as stranger:
        busy, _, _ = stranger.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise RuntimeError("the write-ahead log was not written back: somebody reads the ledger")
    return path.stat().st_size


def log_bytes(home: Path) -> int:
    """Return how much of it the log has."""
    with closing(sqlite3.connect(home / FILE, timeout=30)) as stranger:
        query = "SELECT sum(pgsize) FROM dbstat WHERE name IN (?, ?)"
        (found,) = stranger.execute(query, LOG_TABLES).fetchone()
    return int(found or 0)
