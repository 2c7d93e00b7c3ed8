"""The log's rows: where nodes lie, what may never change, and rows that somebody else wrote."""

import sqlite3
import zlib
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropyd.encoding import lp
from entropyd.errors import InternalError, LedgerDamagedError
from entropyd.ledger import sqlite_log, sqlite_schema
from entropyd.ledger.entries import LogEntry
from entropyd.ledger.sqlite_log import (
    LogAppender,
    check_log,
    frontier_at,
    log_size,
    node_id,
    read_entries,
    read_nodes,
    root_at,
)
from entropyd.log.frontier import Frontier, Node
from entropyd.log.merkle import EMPTY_ROOT, leaf_hash, root

# What was written with another dictionary cannot be read: if this fails, put the old one back.
DICTIONARY_SHA256 = "722459be8155cd34e07a7ac3792bcd071295ead9ef524163b35f619ef121d29c"
# An entry as the first release wrote it: compressed, in hex.
WRITTEN = "6360606029cacfcf05d2da58933b34a11bc0533448351700"


def text(index: int) -> bytes:
    return b"entropyd-receipt: v1\nindex: %d\ntenant: room\n" % index


@pytest.fixture
def connection() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for migrate in sqlite_schema.MIGRATIONS:
        migrate(connection)
    return connection


def append(connection: sqlite3.Connection, entries: int, *, commits: int = 1) -> list[bytes]:
    """Append entries in so many commits; return the texts of the whole log."""
    for _ in range(commits):
        log = LogAppender(connection)
        for _ in range(entries):
            log.append("room", text(log.next_index))
        log.flush()
    return [text(index) for index in range(log_size(connection))]


# --- nodes -------------------------------------------------------------------


def test_nodes_are_numbered_in_the_order_in_which_leaves_complete_them():
    """Against the tree itself: each leaf's nodes follow those of the leaf before it."""
    tree, number = Frontier(), 0
    for leaf in range(300):
        for node, _ in tree.completed(leaf_hash(b"%d" % leaf)):
            assert number == node_id(node)
            number += 1
        tree = tree.append(leaf_hash(b"%d" % leaf))


@pytest.mark.parametrize(
    ("node", "number"),
    [
        (Node(0, 0), 0),
        (Node(0, 1), 1),
        (Node(1, 0), 2),
        (Node(0, 2), 3),
        (Node(0, 3), 4),
        (Node(1, 1), 5),
        (Node(2, 0), 6),
        (Node(62, 0), 2**63 - 2),
        (Node(0, 2**62 - 1), 2**63 - 2 - 62),
    ],
)
def test_the_numbers_of_some_nodes(node, number):
    """Two nodes a leaf but for its ones: the whole tree of 2^62 leaves has 2^63 - 1."""
    assert number == node_id(node)


@given(st.integers(0, 40), st.integers(0, 2**20), st.integers(0, 40), st.integers(0, 2**20))
def test_no_two_nodes_share_a_number(level, place, other_level, other_place):
    one, other = Node(level, place), Node(other_level, other_place)
    assert (one == other) == (node_id(one) == node_id(other))


@pytest.mark.parametrize("commits", [[1] * 40, [40], [0, 3, 0, 37], [33, 7]], ids=str)
def test_the_tree_is_that_of_the_leaves_however_they_were_committed(connection, commits):
    for entries in commits:
        append(connection, entries)
    leaves = [one[:-1] for one in append(connection, 0)]
    tree = Frontier()
    for leaf in leaves:
        tree = tree.append(leaf_hash(leaf))
    assert tree == frontier_at(connection, 40)
    assert [root(leaves[:size]) for size in range(41)] == [
        root_at(connection, size) for size in range(41)
    ]
    assert root_at(connection, 41) is None
    assert EMPTY_ROOT == root_at(connection, 0)
    ((nodes,),) = connection.execute("SELECT count(*) FROM log_nodes")
    assert 2 * 40 - (40).bit_count() == nodes


# --- what may never change -----------------------------------------------------


def test_the_dictionary_is_the_one_that_logs_were_written_with():
    assert DICTIONARY_SHA256 == sha256(sqlite_log._DICTIONARY).hexdigest()


def test_a_row_that_was_written_before_is_read(connection):
    append(connection, 1)
    row = bytes.fromhex(WRITTEN)
    connection.execute("UPDATE log_entries SET texts = ?", (row,))
    assert [LogEntry(0, "room", text(0))] == read_entries(connection, 0, 9)


def test_a_row_looks_no_further_back_than_rows_are_long(connection):
    """So a row may have no more entries than it could have when it was written."""
    append(connection, 200)
    rows = connection.execute("SELECT idx, entries FROM log_entries").fetchall()
    assert [(32 * n, min(32, 200 - 32 * n)) for n in range(7)] == rows
    assert 32 == sqlite_log.ENTRIES_A_ROW


# --- appending -----------------------------------------------------------------


def test_nothing_is_read_or_written_without_an_entry(connection):
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    LogAppender(connection).flush()
    assert [] == statements


@pytest.mark.parametrize("wrong", [b"", b"x", b"x" * 65_535 + b"\n"], ids=len)
def test_what_is_no_receipt_is_not_appended(connection, wrong):
    log = LogAppender(connection)
    with pytest.raises(InternalError, match="newline"):
        log.append("room", wrong)


def test_a_table_has_no_receipt_unless_somebody_makes_it(connection):
    log = LogAppender(connection)
    log.append_table("room", "t", 7)
    assert 0 == log.next_index

    def told(tenant, table, index, before):
        return f"{tenant}/{table}/{index}/{before}\n".encode()

    made = LogAppender(connection, told)
    made.append("room", text(0))
    made.append_table("room", "t", 7)
    made.flush()
    assert b"room/t/1/7\n" == read_entries(connection, 1, 1)[0].text


# --- rows of others --------------------------------------------------------------


def packed(plain: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -13, 8, zdict=sqlite_log._DICTIONARY)
    return compressor.compress(plain) + compressor.flush()


HOSTILE = {
    "empty": b"",
    "no deflate": b"\xff" * 50,
    "cut": packed(lp(b"room") + lp(text(0)))[:-5],
    "another text": packed(lp(b"room") + lp(text(7))),
    "two entries": packed((lp(b"room") + lp(text(0))) * 2),
    "no entries": packed(b""),
    "half an entry": packed(lp(b"room")),
    "a length too long": packed(lp(b"room") + b"\xff\xff\xff\xff" + text(0)),
    "no newline": packed(lp(b"room") + lp(text(0)[:-1])),
    "no UTF-8": packed(lp(b"\xff") + lp(text(0))),
    "too much": packed(bytes(2**26)),
}


@pytest.mark.parametrize("row", HOSTILE.values(), ids=HOSTILE)
def test_a_row_of_somebody_else_is_damage_and_nothing_else(connection, row):
    """And named, and no more than a row can hold is unpacked for it."""
    append(connection, 1)
    connection.execute("UPDATE log_entries SET texts = ?", (row,))
    with pytest.raises(LedgerDamagedError, match=r"log_(entries|nodes)/0"):
        read_entries(connection, 0, 9)
    with pytest.raises(LedgerDamagedError, match=r"log_(entries|nodes)/0"):
        list(check_log(connection))


@given(st.binary(max_size=80), st.integers(0, 3))
def test_no_bytes_at_all_do_more_than_damage(row, entries):
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(sqlite_schema._VERSION_3[-2].replace("CHECK (entries >= 1)", ""))
    connection.execute(sqlite_schema._VERSION_3[-1])
    connection.execute("INSERT INTO log_entries VALUES (0, ?, ?)", (entries, row))
    try:
        read_entries(connection, 0, 9)
    except LedgerDamagedError:
        return
    assert entries == 0


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE log_nodes SET hash = zeroblob(32) WHERE id = 0", "log_nodes/0"),
        ("UPDATE log_nodes SET hash = zeroblob(32) WHERE id = 6", "log_nodes/6"),
        ("DELETE FROM log_nodes WHERE id = 5", "log_nodes/5"),
        ("DELETE FROM log_nodes WHERE id = (SELECT max(id) FROM log_nodes)", "log_nodes/136"),
        ("INSERT INTO log_nodes VALUES (137, zeroblob(32))", "log_nodes/137"),
        ("DELETE FROM log_entries WHERE idx = 32", "log_entries/32"),
        ("DELETE FROM log_entries WHERE idx = 64", r"log_nodes/\d+, field id: is more than 64"),
        ("DELETE FROM log_entries WHERE idx = 0", "log_entries/0"),
        ("UPDATE log_entries SET idx = 31 WHERE idx = 32", "log_entries/32"),
        ("UPDATE log_entries SET entries = 31 WHERE idx = 32", "log_entries/32"),
        ("UPDATE log_entries SET texts = (SELECT texts FROM log_entries)", "log_nodes/63"),
    ],
)
def test_a_check_names_the_row_that_was_changed(connection, statement, found):
    append(connection, 70)
    assert 70 == len(list(check_log(connection)))
    connection.execute(statement)
    with pytest.raises(LedgerDamagedError, match=found):
        list(check_log(connection))


def test_a_node_that_is_gone_is_never_made_up(connection):
    """Neither for a proof nor for the tree that goes on."""
    append(connection, 6)
    connection.execute("DELETE FROM log_nodes WHERE id = ?", (node_id(Node(2, 0)),))
    with pytest.raises(LedgerDamagedError, match="log_nodes/6: is missing"):
        read_nodes(connection, [Node(0, 0), Node(2, 0)])
    with pytest.raises(LedgerDamagedError, match="log_nodes/6"):
        append(connection, 1)


def test_a_log_that_was_cut_takes_no_second_entry_of_an_index(connection):
    """The database has the last word: its nodes are still there."""
    append(connection, 33)
    connection.execute("DELETE FROM log_entries WHERE idx = 32")
    with pytest.raises(sqlite3.IntegrityError):
        append(connection, 1)
