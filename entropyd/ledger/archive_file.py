"""An archive: hands of closed months in one file that is never written again.

A SQLite file with one table of blocks. A block holds rows with consecutive ids: what is public of
them, compressed, and their secrets, still encrypted each under its own key, apart from that. So
secrets can be left out later, and the rest remains. A row is found by its id in one block.

Public part of a row: tenant, table, hand, rules, sequence, claim digest, size, C, D, A, O,
provenance, time and link (empty for a row of schema version 1), each as LP; numbers as decimal
digits. Secret part: LP(items) || LP(opening), both sealed, both empty once they were destroyed.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from hashlib import file_digest
from itertools import islice
from pathlib import Path

from entropyd.encoding import lp
from entropyd.errors import LedgerDamagedError, LedgerUnavailableError
from entropyd.ledger.sqlite_file import translate
from entropyd.ledger.state_dir import sync_directory
from entropyd.ledger.stored_row import StoredRow

# "enta"
APPLICATION_ID = 0x656E7461
# 64 rows are some 50 KB: found in a millisecond, and enough for the compressor to see that rules
# and provenance repeat.
BLOCK_ROWS = 64
# One hand of the largest shoe has 10,000 items: 40 KB of ciphertext, and nothing public as large.
# A block that claims more is not one of ours.
MAX_PUBLIC_BYTES = 2**26

_SCHEMA = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    "PRAGMA user_version = 1",
    """CREATE TABLE blocks (
        first_id INTEGER PRIMARY KEY,
        public BLOB NOT NULL,
        secret BLOB NOT NULL
    ) STRICT""",
)
_INSERT = "INSERT INTO blocks VALUES (?, ?, ?)"
_BLOCK_OF = "SELECT * FROM blocks WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1"
_BLOCKS = "SELECT * FROM blocks ORDER BY first_id"
# Columns of a row in either part. The public ones are those of `StoredRow` from tenant to time, and
# the link.
_PUBLIC, _SECRET = 14, 2


def write_archive(directory: Path, rows: Iterable[StoredRow]) -> tuple[str, bytes]:
    """Write rows into a new archive; return its name and its SHA-256.

    The name holds range and digest: what is in a file of this name never changes. The file is
    there, synchronised, when this returns; if we die before, there is none of that name.

    Args:
        directory: where archives lie; it is created.
        rows: with consecutive ids, at least one.

    Raises:
        sqlite3.Error, OSError: it could not be written.
    """
    _create(directory)
    unfinished = directory / "unfinished"
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    first, last = _fill(unfinished, rows)
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
        digest = file_digest(file, "sha256")
    unfinished.chmod(0o400)
    name = f"hands-{first:012d}-{last:012d}-{digest.hexdigest()[:16]}.sqlite3"
    unfinished.rename(directory / name)
    sync_directory(directory)
    return name, digest.digest()


def read_row(path: Path, row_id: int) -> StoredRow | None:
    """Return one row of an archive, None if it is not there.

    Raises:
        LedgerUnavailableError: the file is missing or cannot be read now.
        LedgerDamagedError: it is damaged.
    """
    for block in _blocks(path, _BLOCK_OF, row_id):
        rows = decode_block(path, *block)
        return next((row for row in rows if row.id == row_id), None)
    return None


def read_rows(path: Path) -> Iterator[StoredRow]:
    """Return all rows of an archive in the order of their ids. Raises as `read_row`."""
    for block in _blocks(path, _BLOCKS):
        yield from decode_block(path, *block)


def digest_of(path: Path) -> bytes:
    """Return the SHA-256 of a file.

    Raises:
        LedgerUnavailableError: it is missing or cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").digest()
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error


def encode_block(rows: Sequence[StoredRow]) -> tuple[int, bytes, bytes]:
    """Return first id, public and secret part of rows with consecutive ids."""
    public, secret = bytearray(), bytearray()
    for row in rows:
        for column in (*row[1:_PUBLIC], row.link):
            public += lp(_encode(column))
        secret += lp(row.items) + lp(row.opening)
    return rows[0].id, zlib.compress(bytes(public)), bytes(secret)


def decode_block(path: Path, first_id: int, public: bytes, secret: bytes) -> Iterator[StoredRow]:
    """Return the rows of a block, as they were encoded.

    Raises:
        LedgerDamagedError: it is no block.
    """
    try:
        opener = zlib.decompressobj()
        texts = list(_split(opener.decompress(public, MAX_PUBLIC_BYTES)))
        sealed = list(_split(secret))
        count, rest = divmod(len(texts), _PUBLIC)
        if rest or not opener.eof or len(sealed) != _SECRET * count:
            raise ValueError("is cut")
        for index in range(count):
            columns = texts[_PUBLIC * index : _PUBLIC * (index + 1)]
            items, opening = sealed[_SECRET * index : _SECRET * (index + 1)]
            yield _decode(first_id + index, columns, items, opening)
    except (ValueError, zlib.error) as error:
        raise _damaged(path, f"block {first_id} is none") from error


def _encode(column: object) -> bytes:
    if column is None:
        return b""
    if isinstance(column, bytes):
        return column
    return str(column).encode("utf-8")


def _decode(row_id: int, columns: Sequence[bytes], items: bytes, opening: bytes) -> StoredRow:
    tenant, table, hand, rules, sequence, claim_digest, size = columns[:7]
    commitment, deck_root, seats_root, open_hash, provenance, drawn_at_ns, link = columns[7:]
    return StoredRow(
        id=row_id,
        tenant=tenant.decode("utf-8"),
        table=table.decode("utf-8"),
        hand=hand.decode("utf-8"),
        rules=rules,
        sequence=int(sequence),
        claim_digest=claim_digest,
        size=int(size),
        commitment=commitment,
        deck_root=deck_root,
        seats_root=seats_root,
        open_hash=open_hash,
        provenance=provenance,
        drawn_at_ns=int(drawn_at_ns),
        items=items,
        opening=opening,
        link=link or None,
    )


def _split(data: bytes) -> Iterator[bytes]:
    """Return what was put behind its length, one after the other."""
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            raise ValueError("is cut")
        yield data[at + 4 : end]
        at = end


def _create(directory: Path) -> None:
    if not directory.is_dir():
        directory.mkdir(mode=0o700)
        sync_directory(directory.parent)


def _fill(path: Path, rows: Iterable[StoredRow]) -> tuple[int, int]:
    """Write blocks into an empty file; return the first and the last id."""
    source = iter(rows)
    first = last = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as archive:
        # Nobody sees the file before it is whole and synchronised: it needs no journal.
        archive.execute("PRAGMA journal_mode = OFF")
        archive.execute("PRAGMA synchronous = OFF")
        for statement in _SCHEMA:
            archive.execute(statement)
        archive.execute("BEGIN")
        while block := list(islice(source, BLOCK_ROWS)):
            archive.execute(_INSERT, encode_block(block))
            first, last = first or block[0].id, block[-1].id
        archive.execute("COMMIT")
    return first, last


def _blocks(path: Path, query: str, *values: int) -> Iterator[tuple[int, bytes, bytes]]:
    if not path.exists():
        raise _unreadable(path, "is missing")
    try:
        # Immutable: no lock and no log, for nobody ever writes it.
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as archive:
            yield from archive.execute(query, values)
    except sqlite3.Error as error:
        raise translate(path, error) from error


def _unreadable(path: Path, what: str) -> LedgerUnavailableError:
    return LedgerUnavailableError(
        f"archive {path}: {what}; its hands can be answered again when it is copied there from its"
        " backup"
    )


def _damaged(path: Path, what: str) -> LedgerDamagedError:
    return LedgerDamagedError(
        f"archive {path}: is damaged ({what}); stop, and copy it there from its backup"
    )
