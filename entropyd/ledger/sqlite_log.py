"""The log in the SQLite ledger: entries and the tree over them.

Appended in the transaction of the records that the entries are about. Of the
tree every node is kept that is complete, in the order in which leaves complete
them, so that each commit writes at one place; that order is also each node's
number, so a proof reads its nodes by number and the tree is never built again.

The entries of a commit are kept compressed together, some a row. Compressing lets other threads of
the interpreter run, and then waits for its turn: with a row each, a commit beside a busy event loop
would wait as often as it has entries. The leaf hash of each lies beside it as the node that it
completed first: an entry that was edited is damage.

Spec: RFC 6962, section 2.1; docs/protocol.md, "The log".
"""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence

from entropyd.encoding import lp
from entropyd.errors import InternalError, LedgerDamagedError
from entropyd.ledger.entries import LogEntry, TableEntry
from entropyd.ledger.packed import unpack
from entropyd.ledger.sqlite_statements import Row, ask_many, insert_rows
from entropyd.ledger.stored_row import row_damaged
from entropyd.log.frontier import Frontier, Node, subtrees
from entropyd.log.merkle import HASH_BYTES, MAX_SIZE, leaf_hash, node_hash

_SIZE = "SELECT idx + entries FROM log_entries ORDER BY idx DESC LIMIT 1"
_INSERT_ENTRIES = "INSERT INTO log_entries (idx, entries, texts) VALUES"
_INSERT_NODES = "INSERT INTO log_nodes (id, hash) VALUES"
_BLOCKS = """
    SELECT idx, entries, texts FROM log_entries WHERE idx > ? AND idx < ? ORDER BY idx
"""
_ALL_NODES = "SELECT id, hash FROM log_nodes ORDER BY id"
_NODES = "SELECT id, hash FROM log_nodes WHERE id IN (VALUES {values})"

# What entries have in common. Receipts of other forms compress too, less well. Never change it:
# what was written with it is read with it.
_DICTIONARY = (
    b"degraded: yes\nreason: unopened\nreason: expired\ndeadline: \nparent: \nreplaces: \nkey: \n"
    b"previous: \nversion: \ndigest: \nsetting: \nmatch: \ndraw: \nraffle: \nnumber: \nentries: \n"
    b"event: table\nevent: roll\nevent: draw\nevent: health\nevent: policy\nseeds: computational\n"
    b"entropyd-receipt: v1\nlog: \nindex: \nevent: void\nevent: seal\ntenant: \ntable: \nhand: \n"
    b"sequence: \nrules: \nn: 52\nC: \nD: \nA: \nO: \ncontributions: 0\nR: \nevent: open\n"
    b"event: close\nA: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
    b"delivery: whole-deck\ndealt: 52\ndeals: \n"
    b"policy: hardware=320%20user=249%20shortfall=cover\n"
    b"source: class=user kind=user driver= serial= samples=16 credited=0 age=0 health=none\n"
    b"source: class=hardware kind=hardware driver=quantis-usb serial= samples=54 credited=324 "
    b"age=1 health=healthy\n"
    b"source: class=cover kind=hardware driver=quantis-usb serial= samples=42 credited=252 "
    b"age=1 health=healthy\n"
    b"source: class=os kind=os driver= serial= samples=64 credited=0 age=0 health=none\n"
    b"time: 2026-01-01T00:00:00.000Z\n"
)
# No row has more, so that whoever looks for one entry knows where its row can begin. Never more.
ENTRIES_A_ROW = 32
# Without a header. A window of 8 KiB and small tables are ready in a third of the time of those for
# large files, which a commit of one entry would wait for; higher levels take longer and save two
# bytes an entry.
_LEVEL, _WINDOW_BITS, _TABLES = 3, -13, 7
# No receipt is longer: the limit of tlog-tiles.
MAX_TEXT_BYTES = 65_535
# Of a row, before it is compressed: texts and ids of tenants behind their lengths.
_MAX_ROW_BYTES = ENTRIES_A_ROW * (MAX_TEXT_BYTES + 128 + 8)


class LogAppender:
    """Appends entries within one transaction. Made anew for each."""

    def __init__(
        self,
        writer: sqlite3.Connection,
        table_entry: TableEntry | None = None,
        tree: Frontier | None = None,
    ) -> None:
        """Prepare; nothing is read before something is appended.

        Args:
            writer: the writing connection, in a transaction.
            table_entry: makes the receipt of a table; None: it has none.
            tree: of the log as it is; None: it is read.
        """
        self._writer = writer
        self._table_entry = table_entry
        self._before = tree
        self._begun = False
        # The tree as it will be: its size, its largest complete subtrees (frontier.py), and the
        # number of its next node.
        self._size = 0
        self._hashes: list[bytes] = []
        self._next_node = 0
        self._entries: list[tuple[int, bytes]] = []
        self._nodes: list[Row] = []

    @property
    def next_index(self) -> int:
        """Index of the entry that is appended next."""
        if not self._begun:
            tree = self._before or frontier_at(self._writer, log_size(self._writer))
            self._size, self._hashes = tree.size, list(tree.hashes)
            self._next_node = node_id(Node(0, tree.size))
            self._begun = True
        return self._size

    @property
    def tree(self) -> Frontier | None:
        """The tree after what was appended; None if nobody had to know."""
        return Frontier(self._size, tuple(self._hashes)) if self._begun else self._before

    def append(self, tenant: str, text: bytes) -> None:
        """Append an entry; `flush` writes it.

        As `Frontier.append`, whose values this would make anew for every hand that is dealt.

        Raises:
            InternalError: the text is no receipt's. Nothing of the transaction may stay.
        """
        if not text.endswith(b"\n") or len(text) > MAX_TEXT_BYTES:
            raise InternalError("a receipt without its last newline, or longer than 65535 bytes")
        index = self.next_index
        self._entries.append((index, lp(tenant.encode()) + lp(text)))
        present = leaf_hash(text[:-1])
        self._complete(present)
        # Each bit that carries joins two subtrees of one size.
        joined = index
        while joined & 1:
            present = node_hash(self._hashes.pop(), present)
            self._complete(present)
            joined >>= 1
        self._hashes.append(present)
        self._size += 1

    def _complete(self, node: bytes) -> None:
        """Keep a complete node: nodes are numbered in the order in which they become complete."""
        self._nodes.append((self._next_node, node))
        self._next_node += 1

    def append_table(self, tenant: str, table: str, hands_before: int) -> int | None:
        """Append the receipt of a table that has its first hand in this log.

        Args:
            tenant: whose it is.
            table: its id.
            hands_before: how many it had before, without a receipt in this log.

        Returns:
            Index of the entry; None: tables have none.

        Raises:
            InternalError: as `append`.
        """
        if self._table_entry is None:
            return None
        index = self.next_index
        self.append(tenant, self._table_entry(tenant, table, index, hands_before))
        return index

    def flush(self) -> None:
        """Write what was appended; nothing is appended after it."""
        insert_rows(self._writer, _INSERT_ENTRIES, list(_rows(self._entries)))
        insert_rows(self._writer, _INSERT_NODES, self._nodes)


def node_id(node: Node) -> int:
    """Return the number of a node in the order in which leaves complete nodes, from 0.

    Leaf e completes the node, after the 2e - popcount(e) nodes that the e leaves before it
    completed, and after those of its own below this one.
    """
    last = ((node.place + 1) << node.level) - 1
    return 2 * last - last.bit_count() + node.level


def log_size(connection: sqlite3.Connection) -> int:
    """Return how many entries the log has."""
    row = connection.execute(_SIZE).fetchone()
    return int(row[0]) if row else 0


def read_nodes(connection: sqlite3.Connection, nodes: Sequence[Node]) -> list[bytes]:
    """Return the hashes of complete nodes, in the order in which they are asked for.

    Raises:
        LedgerDamagedError: one is not there.
    """
    ids = [(node_id(node),) for node in nodes]
    found: dict[int, bytes] = dict(ask_many(connection, _NODES, ids))
    return [_checked(found.get(number), number) for (number,) in ids]


def _checked(found: bytes | None, number: int) -> bytes:
    if found is None or len(found) != HASH_BYTES:
        raise LedgerDamagedError(
            f"ledger row log_nodes/{number}: is missing or has another length; the log is not what"
            " was signed, restore the ledger from a backup"
        )
    return bytes(found)


def frontier_at(connection: sqlite3.Connection, size: int) -> Frontier:
    """Return the tree of the first `size` entries, of its largest complete nodes."""
    nodes = subtrees(0, size) if size else []
    return Frontier(size, tuple(read_nodes(connection, nodes)))


def root_at(connection: sqlite3.Connection, size: int) -> bytes | None:
    """Return the root of the first `size` entries, None if there are fewer.

    Raises:
        LedgerDamagedError: as `read_nodes`.
    """
    return frontier_at(connection, size).root() if size <= log_size(connection) else None


def read_entries(connection: sqlite3.Connection, first: int, limit: int) -> list[LogEntry]:
    """Return entries in order of the log.

    Raises:
        LedgerDamagedError: one is missing, or is not the one that was appended.
    """
    entries = [
        entry
        for row in connection.execute(_BLOCKS, (first - ENTRIES_A_ROW, first + limit))
        for entry in _unpack(row)
        if first <= entry.index < first + limit
    ]
    leaves = read_nodes(connection, [Node(0, entry.index) for entry in entries])
    for index, (entry, leaf) in enumerate(zip(entries, leaves, strict=True), first):
        _check_index(entry, index)
        if leaf != leaf_hash(entry.text[:-1]):
            raise row_damaged(f"log_entries/{index}", "texts", "is not what was appended")
    return entries


def check_log(connection: sqlite3.Connection) -> Iterator[LogEntry]:
    """Return all entries in order, after every entry and node was computed from the entries alone.

    Raises:
        LedgerDamagedError: an entry or a node is not what was appended, or one is too many.
    """
    tree, ids = Frontier(), 0
    nodes = connection.execute(_ALL_NODES)
    for row in connection.execute(_BLOCKS, (-1, MAX_SIZE)):
        for entry in _unpack(row):
            _check_index(entry, tree.size)
            leaf = leaf_hash(entry.text[:-1])
            for _, computed in tree.completed(leaf):
                if nodes.fetchone() != (ids, computed):
                    raise row_damaged(f"log_nodes/{ids}", "hash", "does not follow from entries")
                ids += 1
            yield entry
            tree = tree.append(leaf)
    beyond = nodes.fetchone()
    if beyond is not None:
        raise row_damaged(f"log_nodes/{beyond[0]}", "id", f"is more than {tree.size} entries have")


def _check_index(entry: LogEntry, expected: int) -> None:
    if entry.index != expected:
        raise row_damaged(f"log_entries/{expected}", "idx", "is missing")


def _rows(entries: Sequence[tuple[int, bytes]]) -> Iterator[Row]:
    for first in range(0, len(entries), ENTRIES_A_ROW):
        some = entries[first : first + ENTRIES_A_ROW]
        compressor = zlib.compressobj(
            _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _TABLES, zdict=_DICTIONARY
        )
        texts = compressor.compress(b"".join(packed for _, packed in some)) + compressor.flush()
        yield some[0][0], len(some), texts


def _unpack(row: Row) -> Iterator[LogEntry]:
    """Return the entries of a row, without regard to the tree."""
    first, entries, packed = row
    where = f"log_entries/{first}"
    decompressor = zlib.decompressobj(wbits=_WINDOW_BITS, zdict=_DICTIONARY)
    try:
        plain = decompressor.decompress(packed, _MAX_ROW_BYTES)
        fields = unpack(plain, f"ledger row {where}, field texts")
        tenants = [tenant.decode() for tenant in fields[0::2]]
    except (zlib.error, ValueError) as error:
        raise row_damaged(where, "texts", "cannot be read") from error
    if not decompressor.eof or len(fields) != 2 * entries or entries > ENTRIES_A_ROW:
        raise row_damaged(where, "entries or texts", "is cut, or longer than it was")
    for index, (tenant, text) in enumerate(zip(tenants, fields[1::2], strict=True), first):
        if not text.endswith(b"\n"):
            raise row_damaged(where, "texts", "is no receipt's")
        yield LogEntry(index, tenant, text)
