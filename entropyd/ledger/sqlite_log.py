"""The log in the SQLite ledger: entries and the tree over them.

Appended in the transaction of the records that the entries are about. Of the
tree every node is kept that is complete, in the order in which leaves complete
them, so that each commit writes at one place; that order is also each node's
number, so a proof reads its nodes by number and the tree is never built again.

An entry is kept compressed. Its leaf hash lies beside it as the node that it
completed first: an entry that was edited is damage.

Spec: RFC 6962, section 2.1; docs/protocol.md, "The log".
"""

import sqlite3
import zlib
from collections.abc import Sequence

from entropyd.errors import InternalError, LedgerDamagedError
from entropyd.ledger.entries import LogEntry, TableEntry
from entropyd.ledger.sqlite_statements import insert_rows
from entropyd.ledger.stored_row import row_damaged
from entropyd.log.frontier import Frontier, Node, subtrees
from entropyd.log.merkle import leaf_hash

_SIZE = "SELECT coalesce(max(idx) + 1, 0) FROM log_entries"
_INSERT_ENTRIES = "INSERT INTO log_entries (idx, tenant, text) VALUES"
_INSERT_NODES = "INSERT INTO log_nodes (id, hash) VALUES"
_ENTRIES = "SELECT idx, tenant, text FROM log_entries WHERE idx >= ? ORDER BY idx LIMIT ?"
_NODE = "SELECT hash FROM log_nodes WHERE id = ?"

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
_WINDOW_BITS = -15
# No receipt is longer: the limit of tlog-tiles.
MAX_TEXT_BYTES = 65_535


class LogAppender:
    """Appends entries within one transaction. Made anew for each."""

    def __init__(self, writer: sqlite3.Connection, table_entry: TableEntry | None = None) -> None:
        """Prepare; nothing is read before something is appended.

        Args:
            writer: the writing connection, in a transaction.
            table_entry: makes the receipt of a table; None: it has none.
        """
        self._writer = writer
        self._table_entry = table_entry
        self._frontier: Frontier | None = None
        self._entries: list[tuple[int, str, bytes]] = []
        self._nodes: list[tuple[int, bytes]] = []

    @property
    def next_index(self) -> int:
        """Index of the entry that is appended next."""
        return self._tree().size

    def append(self, tenant: str, text: bytes) -> None:
        """Append an entry; `flush` writes it.

        Raises:
            InternalError: the text is no receipt's. Nothing of the transaction may stay.
        """
        if not text.endswith(b"\n") or len(text) > MAX_TEXT_BYTES:
            raise InternalError("a receipt without its last newline, or longer than 65535 bytes")
        tree = self._tree()
        leaf = leaf_hash(text[:-1])
        self._entries.append((tree.size, tenant, _pack(text)))
        self._nodes += [(node_id(node), each) for node, each in tree.completed(leaf)]
        self._frontier = tree.append(leaf)

    def append_table(self, tenant: str, table: str) -> None:
        """Append the receipt of a table that has its first hand. Raises as `append`."""
        if self._table_entry is not None:
            self.append(tenant, self._table_entry(tenant, table, self.next_index))

    def flush(self) -> None:
        """Write what was appended; nothing is appended after it."""
        insert_rows(self._writer, _INSERT_ENTRIES, self._entries)
        insert_rows(self._writer, _INSERT_NODES, self._nodes)

    def _tree(self) -> Frontier:
        if self._frontier is None:
            self._frontier = frontier_at(self._writer, log_size(self._writer))
        return self._frontier


def node_id(node: Node) -> int:
    """Return the number of a node in the order in which leaves complete nodes, from 0.

    Leaf e completes the node, after the 2e - popcount(e) nodes that the e leaves before it
    completed, and after those of its own below this one.
    """
    last = ((node.place + 1) << node.level) - 1
    return 2 * last - last.bit_count() + node.level


def log_size(connection: sqlite3.Connection) -> int:
    """Return how many entries the log has."""
    ((size,),) = connection.execute(_SIZE).fetchall()
    return int(size)


def read_node(connection: sqlite3.Connection, node: Node) -> bytes:
    """Return the hash of a complete node.

    Raises:
        LedgerDamagedError: it is not there.
    """
    found = connection.execute(_NODE, (node_id(node),)).fetchone()
    if found is None or len(found[0]) != 32:
        raise LedgerDamagedError(
            f"ledger row log_nodes/{node_id(node)}: is missing or has another length; the log is"
            " not what was signed, restore the ledger from a backup"
        )
    return bytes(found[0])


def frontier_at(connection: sqlite3.Connection, size: int) -> Frontier:
    """Return the tree of the first `size` entries, of its largest complete nodes."""
    nodes = subtrees(0, size) if size else []
    return Frontier(size, tuple(read_node(connection, node) for node in nodes))


def root_at(connection: sqlite3.Connection, size: int) -> bytes | None:
    """Return the root of the first `size` entries, None if there are fewer.

    Raises:
        LedgerDamagedError: as `read_node`.
    """
    return frontier_at(connection, size).root() if size <= log_size(connection) else None


def read_entries(connection: sqlite3.Connection, first: int, limit: int) -> list[LogEntry]:
    """Return entries in order of the log.

    Raises:
        LedgerDamagedError: one is missing, or is not the one that was appended.
    """
    rows = connection.execute(_ENTRIES, (first, limit)).fetchall()
    return [_read(connection, row, index) for index, row in enumerate(rows, first)]


def check_log(connection: sqlite3.Connection) -> Frontier:
    """Return the tree over all entries, computed from the entries alone.

    Raises:
        LedgerDamagedError: an entry or a node is not what was appended.
    """
    tree = Frontier()
    nodes = 0
    for row in connection.execute(_ENTRIES, (0, -1)):
        entry = _read(connection, row, tree.size)
        leaf = leaf_hash(entry.text[:-1])
        for node, computed in tree.completed(leaf):
            nodes += 1
            if read_node(connection, node) != computed:
                raise row_damaged(f"log_nodes/{node_id(node)}", "hash", "does not follow")
        tree = tree.append(leaf)
    ((stored,),) = connection.execute("SELECT count(*) FROM log_nodes").fetchall()
    if stored != nodes:
        raise LedgerDamagedError(
            f"ledger: log_nodes has {stored} rows where {tree.size} entries complete {nodes};"
            " restore it from a backup"
        )
    return tree


def _read(connection: sqlite3.Connection, row: Sequence[object], index: int) -> LogEntry:
    stored, tenant, packed = row
    where = f"log_entries/{index}"
    if stored != index or not isinstance(tenant, str) or not isinstance(packed, bytes):
        raise row_damaged(where, "idx", "is missing")
    text = _unpack(packed, where)
    if read_node(connection, Node(0, index)) != leaf_hash(text[:-1]):
        raise row_damaged(where, "text", "is not what was appended")
    return LogEntry(index, tenant, text)


def _pack(text: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=_WINDOW_BITS, zdict=_DICTIONARY)
    return compressor.compress(text) + compressor.flush()


def _unpack(packed: bytes, where: str) -> bytes:
    decompressor = zlib.decompressobj(wbits=_WINDOW_BITS, zdict=_DICTIONARY)
    try:
        text = decompressor.decompress(packed, MAX_TEXT_BYTES + 1)
    except zlib.error as error:
        raise row_damaged(where, "text", "cannot be read") from error
    if not decompressor.eof or not text.endswith(b"\n"):
        raise row_damaged(where, "text", "cannot be read")
    return text
