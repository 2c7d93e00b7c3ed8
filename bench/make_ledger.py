"""`python -m bench.make_ledger --hands N DEST`: a ledger of N hands, quickly.

Rows have the columns, lengths and hashes of dealt hands: numbers, open hashes, links and spent ids
are right, and the indexes grow in the order in which hands are dealt. Encrypting takes longest, so
every K-th hand alone has secrets that decrypt (`--every`, by default so that there are 100,000);
the others have random bytes of the same length. `entropyd ledger check --sample` with the number
that is printed decrypts exactly those.

Nothing is synchronised before the end: a run that dies leaves a file to throw away. DEST gets a
configuration too, so that the commands can be tried: `entropyd ledger check -c DEST/entropyd.toml`.
"""

import argparse
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from itertools import islice
from pathlib import Path

from bench.kernels import ENCODED, provenance
from entropyd.hands.binding import hand_binding
from entropyd.hands.commitment import open_hash
from entropyd.hands.rules import rules_hash
from entropyd.ledger.chain import EMPTY, next_link
from entropyd.ledger.contract import HandDraft
from entropyd.ledger.hand_rows import HandRows, hand_key
from entropyd.ledger.secrets import MASTER_KEY_BYTES, SecretBox
from entropyd.ledger.sqlite import FILE_NAME, SqliteLedger
from entropyd.ledger.sqlite_statements import Row
from entropyd.ledger.state_dir import StateDirectory
from entropyd.ledger.stored_row import told_digest

TENANT = "bench"
TABLES = 1000
REAL_HANDS = 100_000
# As many as a transaction holds before its pages are given to the file.
CHUNK = 50_000
DAY_NS = 86_400 * 10**9
# The whole index of spent ids of ten million hands stays in memory while it grows at random.
CACHE_KIB = 2**20
DECK = b"".join(card.to_bytes(4, "big") for card in range(52))
SEATS_ROOT = sha256(b"").digest()

CONFIG = """\
[node]
name = "bench"
state_dir = "{state}"
[mode]
production = false
[[source]]
id = "m"
driver = "mock"
claim_bits_per_sample = 4.0
claim_note = "nothing is drawn from it"
[[listener]]
address = "unix:{state}/poker.sock"
tenant = "bench"
roles = ["deal_all"]
[ledger]
min_free = "16MiB"
[keys]
at_rest = ""
"""
_INSERT_HAND = f"INSERT INTO hands VALUES ({', '.join('?' * 16)})"
_INSERT_SPENT = "INSERT INTO spent (hand_key, hand_id) VALUES (?, ?)"
# Of a history from before the log, so without receipts.
_INSERT_TABLE = "INSERT INTO tables (id, tenant, name, next_sequence) VALUES (?, ?, ?, ?)"


def hand_name(number: int) -> str:
    """Return the id of the ledger's n-th hand."""
    return f"hand-{number:010d}"


def make_ledger(directory: Path, hands: int, *, every: int = 1, days: int = 90) -> Path:
    """Make a ledger of `hands` hands; return its state directory.

    Args:
        directory: gets state and configuration; created.
        hands: how many.
        every: each n-th has secrets that decrypt, beginning with the first.
        days: over how many days, the last of which is today.
    """
    directory.mkdir(parents=True)
    state = directory / "state"
    key = os.urandom(MASTER_KEY_BYTES)
    SqliteLedger.open(StateDirectory.hold(state), SecretBox(key)).close()
    (state / "master.key").write_bytes(key)
    (state / "master.key").chmod(0o600)
    (directory / "entropyd.toml").write_text(CONFIG.format(state=state))
    with closing(sqlite3.connect(state / FILE_NAME, isolation_level=None)) as ledger:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{CACHE_KIB}"):
            ledger.execute(f"PRAGMA {pragma}")
        _fill(ledger, HandRows(SecretBox(key)), hands, every=every, days=days)
        ledger.execute("PRAGMA journal_mode = WAL")
    with (state / FILE_NAME).open("rb") as file:
        os.fsync(file.fileno())
    return state


def _fill(ledger: sqlite3.Connection, rows: HandRows, hands: int, *, every: int, days: int) -> None:
    source = _rows(rows, hands, every=every, days=days)
    while chunk := list(islice(source, CHUNK)):
        ledger.execute("BEGIN")
        ledger.executemany(_INSERT_HAND, chunk)
        spent = [(hand_key(TENANT, row[3]), row[0]) for row in chunk]
        ledger.executemany(_INSERT_SPENT, spent)
        ledger.execute("COMMIT")
    tables = [
        (number + 1, TENANT, f"table-{number}", 1 + len(range(number, hands, TABLES)))
        for number in range(min(TABLES, hands))
    ]
    ledger.execute("BEGIN")
    ledger.executemany(_INSERT_TABLE, tables)
    ledger.execute("COMMIT")


def _rows(rows: HandRows, hands: int, *, every: int, days: int) -> Iterator[Row]:
    """Return the rows of `hands` hands at `TABLES` tables in turn."""
    told_of_sources, digest = provenance()(0), rules_hash(ENCODED)
    now_ns, link = time.time_ns(), EMPTY
    for index in range(hands):
        number, table = index + 1, f"table-{index % TABLES}"
        draft = HandDraft(
            tenant=TENANT,
            table=table,
            hand=hand_name(number),
            rules=ENCODED,
            binding=hand_binding(TENANT, table, hand_name(number), digest),
            claim_digest=os.urandom(32),
            size=52,
            commitment=os.urandom(32),
            deck_root=os.urandom(32),
            seats_root=SEATS_ROOT,
            provenance=told_of_sources,
            items=DECK,
            seeds=bytes(64),
            blinding=bytes(32),
            salt_key=bytes(32),
            drawn_at_ns=now_ns - (hands - number) * days * DAY_NS // hands,
        )
        sequence = index // TABLES + 1
        write = rows.write if index % every == 0 else _write_random
        _, row = write(draft, number, index % TABLES + 1, sequence, link)
        link = row[-1]
        yield row


def _write_random(
    draft: HandDraft, row_id: int, table_id: int, sequence: int, before: bytes
) -> tuple[None, Row]:
    """Return a row as `HandRows.write` does, with random bytes for ciphertexts."""
    digest = open_hash(
        draft.binding,
        sequence=sequence,
        size=draft.size,
        commitment=draft.commitment,
        deck_root=draft.deck_root,
        seats_root=draft.seats_root,
    )
    told = told_digest(draft.claim_digest, draft.provenance, draft.drawn_at_ns)
    # Salt and tag, and what they seal: digest and items, then blinding, salt key and seeds.
    items, opening = os.urandom(48 + 32 + len(draft.items)), os.urandom(48 + 64 + len(draft.seeds))
    head = (row_id, table_id, sequence, draft.hand, draft.rules, draft.claim_digest, draft.size)
    roots = (draft.commitment, draft.deck_root, draft.seats_root, digest)
    tail = (draft.provenance, draft.drawn_at_ns, items, opening)
    return None, (*head, *roots, *tail, next_link(before, row_id, digest, told))


def main() -> None:
    """Make the ledger that was asked for, and say what it is."""
    parser = argparse.ArgumentParser(prog="python -m bench.make_ledger", description=__doc__)
    parser.add_argument("--hands", type=int, required=True)
    parser.add_argument("--every", type=int, help="each n-th hand has secrets that decrypt")
    parser.add_argument("--days", type=int, default=90, help="over how many days, until today")
    parser.add_argument("destination", type=Path)
    arguments = parser.parse_args()
    every = arguments.every or max(1, arguments.hands // REAL_HANDS)
    began = time.monotonic()
    state = make_ledger(arguments.destination, arguments.hands, every=every, days=arguments.days)
    took_s = time.monotonic() - began
    size = (state / FILE_NAME).stat().st_size
    print(
        f"{state}: {arguments.hands:,} hands in {took_s:.0f} s, {size:,} bytes,"
        f" {size / max(1, arguments.hands):.0f} a hand; --sample {arguments.hands // every}"
    )


if __name__ == "__main__":
    main()
