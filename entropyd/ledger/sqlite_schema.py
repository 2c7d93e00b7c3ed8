"""The tables of the ledger, and how a file gets from one version of them to the next."""

import sqlite3
from pathlib import Path

from entropyd.errors import ConfigError, LedgerDamagedError

# "entd", so that file(1) and people can tell whose database it is.
APPLICATION_ID = 0x656E7464

# Statements that bring a file from version i to i + 1, i = 0, 1, ... Never
# change one that was released: add another.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
        """CREATE TABLE tables (
            id INTEGER PRIMARY KEY,
            tenant TEXT NOT NULL,
            name TEXT NOT NULL,
            next_sequence INTEGER NOT NULL CHECK (next_sequence >= 1),
            UNIQUE (tenant, name)
        ) STRICT""",
        # id counts the hands of this ledger from 1, so rows are appended and
        # their pages written once. X is not stored: it follows from ids and rules.
        # No index over (table_id, sequence): nothing looks for a number yet, and
        # each hand would synchronise one page more. `tables` gives every number once.
        """CREATE TABLE hands (
            id INTEGER PRIMARY KEY,
            table_id INTEGER NOT NULL REFERENCES tables (id),
            sequence INTEGER NOT NULL CHECK (sequence >= 1),
            hand TEXT NOT NULL,
            rules BLOB NOT NULL,
            claim_digest BLOB NOT NULL CHECK (length(claim_digest) = 32),
            size INTEGER NOT NULL CHECK (size >= 1),
            commitment BLOB NOT NULL CHECK (length(commitment) = 32),
            deck_root BLOB NOT NULL CHECK (length(deck_root) = 32),
            seats_root BLOB NOT NULL CHECK (length(seats_root) = 32),
            open_hash BLOB NOT NULL CHECK (length(open_hash) = 32),
            provenance BLOB NOT NULL,
            drawn_at_ns INTEGER NOT NULL,
            items BLOB NOT NULL,
            opening BLOB NOT NULL
        ) STRICT""",
        # A table of its own and not a column of hands, and no reference to them:
        # spent ids outlive the rows of their hands.
        """CREATE TABLE spent (
            hand_key BLOB PRIMARY KEY CHECK (length(hand_key) = 16),
            hand_id INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            detail TEXT NOT NULL,
            at_ns INTEGER NOT NULL
        ) STRICT""",
        """CREATE TABLE health_states (
            source_id TEXT PRIMARY KEY,
            state TEXT NOT NULL
        ) STRICT, WITHOUT ROWID""",
    ),
)
SCHEMA_VERSION = len(MIGRATIONS)


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Bring the schema to SCHEMA_VERSION, one transaction a version.

    Raises:
        ConfigError: the file was written by a newer entropyd. Nothing was changed.
        LedgerDamagedError: it is another program's. Nothing was changed.
        sqlite3.Error: as any statement.
    """
    version = _version(path, connection)
    for statements in MIGRATIONS[version:]:
        version += 1
        # Schema and version number change together: whenever we die, the next
        # start finds a whole version and goes on from it.
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")


def _version(path: Path, connection: sqlite3.Connection) -> int:
    """Return the schema version of a ledger, 0 for an empty file."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if objects == 0 and version == 0:
        return 0
    if application_id != APPLICATION_ID:
        raise LedgerDamagedError(
            f"ledger {path}: is a database of another program (application_id {application_id});"
            " move it away or name another state directory"
        )
    if version > SCHEMA_VERSION:
        raise ConfigError(
            f"ledger {path}: has schema version {version}, this entropyd knows up to"
            f" {SCHEMA_VERSION}; install the entropyd that wrote it, or restore the backup made"
            " before the upgrade"
        )
    return int(version)
