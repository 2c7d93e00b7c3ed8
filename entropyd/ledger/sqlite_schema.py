"""The tables of the ledger, and how a file gets from one version of them to the next and back."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from entropyd.errors import ConfigError, LedgerDamagedError, LedgerRefusedError

# "entd", so that file(1) and people can tell whose database it is.
APPLICATION_ID = 0x656E7464

_VERSION_1 = (
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
)

# Each statement finds nothing to do in a file that went back to version 1 and comes again.
_VERSION_2 = (
    # Which history this is: another one after `ledger adopt`. A name, and no secret.
    "INSERT OR IGNORE INTO meta VALUES ('origin', randomblob(16))",
    # Which closed hands lie in which file. Ranges of ids, without gaps from 1 on; those up to
    # destroyed_through have no secrets any more (0: all have them).
    """CREATE TABLE IF NOT EXISTS archives (
        first_id INTEGER PRIMARY KEY,
        last_id INTEGER NOT NULL CHECK (last_id >= first_id),
        name TEXT NOT NULL UNIQUE,
        sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
        destroyed_through INTEGER NOT NULL
    ) STRICT""",
    # Raw samples of the newest alarms, each encrypted and bound to its event (alarm_windows.py).
    """CREATE TABLE IF NOT EXISTS alarm_windows (
        event_id INTEGER PRIMARY KEY,
        sealed BLOB NOT NULL
    ) STRICT""",
)


# Each statement finds nothing to do in a file that went back to version 2 and comes again.
_VERSION_3 = (
    # What has numbered steps: a match, a raffle, the seed pairs of a player (subjects.py). Their
    # uniqueness is also the order of a list: TEXT is compared byte by byte.
    """CREATE TABLE IF NOT EXISTS subjects (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        tenant TEXT NOT NULL,
        name TEXT NOT NULL,
        steps INTEGER NOT NULL CHECK (steps >= 1),
        label TEXT NOT NULL,
        state BLOB NOT NULL,
        secret BLOB,
        proof BLOB NOT NULL CHECK (length(proof) = 32),
        UNIQUE (kind, tenant, name)
    ) STRICT""",
    # Lists of what has one label. What has none costs no page here.
    """CREATE INDEX IF NOT EXISTS subjects_by_label ON subjects (kind, tenant, label, name)
        WHERE label != ''""",
    # id counts the steps of all subjects from 1, so rows are appended, and none is ever removed.
    """CREATE TABLE IF NOT EXISTS steps (
        id INTEGER PRIMARY KEY,
        subject_id INTEGER NOT NULL REFERENCES subjects (id),
        number INTEGER NOT NULL CHECK (number >= 1),
        step TEXT NOT NULL,
        key TEXT NOT NULL,
        at_ns INTEGER NOT NULL,
        public BLOB NOT NULL,
        secret BLOB,
        link BLOB NOT NULL CHECK (length(link) = 32),
        proof BLOB NOT NULL CHECK (length(proof) = 32),
        UNIQUE (subject_id, number)
    ) STRICT""",
    # An empty key is none, and costs no page here.
    """CREATE UNIQUE INDEX IF NOT EXISTS steps_by_key ON steps (subject_id, key)
        WHERE key != ''""",
    # Hands that are dealt card by card: their numbers at tables, which they share with `hands`, and
    # again the label of their subject, for lists in the order of tables and numbers.
    """CREATE TABLE IF NOT EXISTS dealt_hands (
        subject_id INTEGER PRIMARY KEY REFERENCES subjects (id),
        tenant TEXT NOT NULL,
        table_name TEXT NOT NULL,
        sequence INTEGER NOT NULL CHECK (sequence >= 1),
        label TEXT NOT NULL,
        UNIQUE (tenant, table_name, sequence)
    ) STRICT""",
    """CREATE INDEX IF NOT EXISTS dealt_hands_by_label
        ON dealt_hands (tenant, label, table_name, sequence)""",
    # Entries of the log, some a row that says the index of its first, and the complete nodes of its
    # tree, numbered in the order in which they are appended (sqlite_log.py).
    """CREATE TABLE IF NOT EXISTS log_entries (
        idx INTEGER PRIMARY KEY,
        entries INTEGER NOT NULL CHECK (entries >= 1),
        texts BLOB NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS log_nodes (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL CHECK (length(hash) = 32)
    ) STRICT""",
)


def _execute(statements: Sequence[str]) -> Callable[[sqlite3.Connection], None]:
    def execute(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return execute


def _to_version_2(connection: sqlite3.Connection) -> None:
    """Add the chain and the archives. Takes no longer for more hands.

    So the column has no CHECK and no default: either would read or write every row. A record of
    version 1 has no link, and the chain begins after it (chain.py).
    """
    columns = {row[1] for row in connection.execute("PRAGMA table_info(hands)")}
    if "link" not in columns:
        connection.execute("ALTER TABLE hands ADD COLUMN link BLOB")
    _execute(_VERSION_2)(connection)


def _to_version_3(connection: sqlite3.Connection) -> None:
    """Add subjects, the log, and where the receipts of spent hands and of tables are.

    As long for any number of hands. The column of `tables` has the newest receipt of a table; the
    version before names its columns there, so it may stay when that one comes back.
    """
    for table in ("spent", "tables"):
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if "log_index" not in columns:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN log_index INTEGER")
    _execute(_VERSION_3)(connection)


# What brings a file from version i to i + 1, i = 0, 1, ... Never change one that was released:
# add another.
MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _execute(_VERSION_1),
    _to_version_2,
    _to_version_3,
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
    for bring_up in MIGRATIONS[version:]:
        version += 1
        # Schema and version number change together: whenever we die, the next
        # start finds a whole version and goes on from it.
        connection.execute("BEGIN IMMEDIATE")
        bring_up(connection)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")


def take_back(path: Path, connection: sqlite3.Connection) -> int:
    """Bring the schema back by one version, for the entropyd before this one; return that version.

    Version 2 does not look at tables that it does not know, so those of version 3 stay where they
    are, empty, and are taken up again by the next upgrade. It writes into `spent` by the place of a
    column, so that table loses its third one, which takes longer for more hands.

    Raises:
        LedgerRefusedError: there is no version before, or it would not see every record. Nothing
            was changed.
    """
    version = _version(path, connection)
    if version != SCHEMA_VERSION:
        raise LedgerRefusedError(
            f"ledger {path}: has schema version {version} already; start the entropyd that"
            f" knows up to {version}"
        )
    (steps,) = connection.execute("SELECT coalesce(max(id), 0) FROM steps").fetchone()
    if steps:
        raise LedgerRefusedError(
            f"ledger {path}: holds {steps} step(s) of matches, raffles or seed pairs, and the"
            " entropyd before this one does not know them: what was drawn could be drawn again, and"
            " its anchor would end before them; stay with this one"
        )
    (entries,) = connection.execute(
        "SELECT coalesce(max(idx + entries), 0) FROM log_entries"
    ).fetchone()
    if entries:
        raise LedgerRefusedError(
            f"ledger {path}: holds {entries} receipt(s) of the log, and the entropyd before this"
            " one does not go on with it: hands would be missing there; stay with this one"
        )
    # Either version, whenever we die.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("ALTER TABLE spent DROP COLUMN log_index")
    connection.execute(f"PRAGMA user_version = {version - 1}")
    connection.execute("COMMIT")
    return version - 1


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
