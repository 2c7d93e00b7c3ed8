"""The log read from its first entry to its last, and whether hands and tables lead to receipts.

Checked of every entry: its place, its leaf and the nodes that it completes (sqlite_log.py), the
index that its text says, and whose it is. Of every hand, of either kind: that the index beside its
spent id is that of a receipt which names it, and that no receipt of a hand is without such an id.
Of every table: that the index beside it is that of its newest receipt, and that this one says how
many hands were before it.
Of a hand that is dealt card by card also: its number, its spent id, and its label.

What else a receipt says is for a verifier; here it is text.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from entropyd.errors import LedgerDamagedError
from entropyd.ledger.entries import LogEntry
from entropyd.ledger.hand_rows import hand_key
from entropyd.ledger.sqlite_log import check_log, read_entries
from entropyd.ledger.sqlite_numbers import DEALT_CARD_BY_CARD
from entropyd.ledger.stored_row import row_damaged
from entropyd.ledger.subjects import SubjectKind

_DEALT = """
    SELECT d.subject_id, d.tenant, d.table_name, d.sequence, d.label,
           s.kind, s.tenant, s.name, s.label
    FROM dealt_hands d LEFT JOIN subjects s ON s.id = d.subject_id ORDER BY d.subject_id
"""
_COUNT_SUBJECTS = "SELECT count(*) FROM subjects WHERE kind = ?"
_SPENT = "SELECT hand_id, log_index FROM spent WHERE hand_key = ?"
_TABLES = "SELECT id, tenant, name, log_index FROM tables ORDER BY id"
# The first receipt of a hand, of either kind.
_OPENS = (b"\nevent: open\n", b"\ndelivery: whole-deck\n")
_POLICY = b"\nevent: policy\n"
_TABLE = b"\nevent: table\n"
_HANDS_BEFORE = b"setting: hands_before "
# Hands follow each other as their receipts do, mostly: so many are read at once.
_ENTRIES_A_READ = 512


@dataclass(frozen=True, slots=True)
class _TableReceipt:
    """The newest receipt of a table: its index, and how many hands it says were before it."""

    index: int
    hands_before: int


class LogInspection:
    """What was found in a log, and receipts for whoever holds an index.

    Attributes:
        entries: how many there are.
        opened: how many are the first of a hand.
        led_to: to how many of these a hand led, of those that `check_hand` was asked.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read the whole log of a ledger that nobody writes meanwhile.

        Raises:
            LedgerDamagedError: the first contradiction.
        """
        self._connection = connection
        self._first = 0
        self._read: list[LogEntry] = []
        self._tables: dict[tuple[str, str], _TableReceipt] = {}
        self.entries = self.opened = self.led_to = 0
        for entry in check_log(connection):
            _check_text(entry)
            self.entries += 1
            self.opened += any(line in entry.text for line in _OPENS)
            if _TABLE in entry.text:
                self._note_table(entry)
        self._check_tables()

    def _note_table(self, entry: LogEntry) -> None:
        lines = entry.text.split(b"\n")
        (name,) = [line for line in lines if line.startswith(b"table: ")]
        told = [line for line in lines if line.startswith(_HANDS_BEFORE)]
        before = int(told[0].removeprefix(_HANDS_BEFORE)) if told else 0
        table = (entry.tenant, name.removeprefix(b"table: ").decode("ascii"))
        self._tables[table] = _TableReceipt(entry.index, before)

    def _check_tables(self) -> None:
        newest = {table: receipt.index for table, receipt in self._tables.items()}
        for row, tenant, name, index in self._connection.execute(_TABLES):
            found = newest.pop((tenant, name), None)
            if index != found:
                raise row_damaged(f"tables/{row}", "log_index", f"is {index}, expected {found}")
        for (tenant, name), index in newest.items():
            where = f"log_entries/{index}"
            raise row_damaged(where, "texts", f"is of {tenant}'s table {name}, which is not there")

    def check_hand(self, where: str, index: int | None, names: dict[str, str]) -> None:
        """Return if a hand has a receipt that names it, or none because it is older than the log.

        Args:
            where: the row of the hand, for error texts.
            index: beside its spent id.
            names: lines of the receipt.

        Raises:
            LedgerDamagedError: another receipt, or none, lies at the index.
        """
        self._check_number(where, index, names)
        if index is None:
            return
        entry = self._entry(index)
        expected = {f"{name}: {value}".encode() for name, value in names.items()}
        if entry is None or not expected <= set(entry.text.split(b"\n")):
            raise row_damaged(where, "log_index", f"is {index}, which is not its receipt")
        self.led_to += 1

    def _check_number(self, where: str, index: int | None, names: dict[str, str]) -> None:
        """Check that of a table's hands those beyond `hands_before` stand behind its receipt."""
        receipt = self._tables.get((names["tenant"], names["table"]))
        if receipt is None:
            return
        is_behind = index is not None and index > receipt.index
        if is_behind != (int(names["sequence"]) > receipt.hands_before):
            raise row_damaged(
                where,
                "log_index",
                f"is {index}, and receipt {receipt.index} of its table says that"
                f" {receipt.hands_before} hands were before it",
            )

    def check_counts(self) -> None:
        """Return if each first receipt of a hand was led to, after all hands were asked.

        Raises:
            LedgerDamagedError: one was not.
        """
        if self.led_to != self.opened:
            raise LedgerDamagedError(
                f"ledger rows spent, field log_index: {self.opened} hands have receipts, and"
                f" {self.led_to} ids lead to one; stop, and restore the last backup"
            )

    def _entry(self, index: int) -> LogEntry | None:
        if not self._first <= index < self._first + len(self._read):
            self._first = max(index, 0)
            self._read = read_entries(self._connection, self._first, _ENTRIES_A_READ)
        at = index - self._first
        return self._read[at] if 0 <= at < len(self._read) else None


def spent_row(connection: sqlite3.Connection, tenant: str, hand: str) -> tuple[int, int | None]:
    """Return hand id and index of the receipt of a spent id; -1 and None if it is not spent."""
    found = connection.execute(_SPENT, (hand_key(tenant, hand),)).fetchone()
    return (-1, None) if found is None else (found[0], found[1])


def dealt_numbers(
    connection: sqlite3.Connection, log: LogInspection
) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Return table, number and subject's id of each hand that is dealt card by card, checked.

    Raises:
        LedgerDamagedError: the first contradiction.
    """
    count = 0
    for row in connection.execute(_DEALT):
        subject, tenant, table, sequence, label, *of_subject = row
        where = f"dealt_hands/{subject}"
        kind, owner, hand, current = of_subject
        if (kind, owner, current) != (SubjectKind.HAND, tenant, label):
            raise row_damaged(where, "subject_id, tenant or label", "is not that of its hand")
        hand_id, index = spent_row(connection, tenant, hand)
        if hand_id != DEALT_CARD_BY_CARD:
            raise row_damaged(where, "subject_id", "is a hand whose id is not spent by it")
        names = {"tenant": tenant, "table": table, "hand": hand, "sequence": str(sequence)}
        log.check_hand(where, index, names)
        count += 1
        yield (tenant, table), sequence, subject
    (subjects,) = connection.execute(_COUNT_SUBJECTS, (SubjectKind.HAND,)).fetchone()
    if subjects != count:
        raise LedgerDamagedError(
            f"ledger rows dealt_hands: there are {count}, and {subjects} hands that are dealt card"
            " by card; stop, and restore the last backup"
        )


def _check_text(entry: LogEntry) -> None:
    """Check what a text says of its own row."""
    where = f"log_entries/{entry.index}"
    if b"\nindex: %d\n" % entry.index not in entry.text:
        raise row_damaged(where, "texts", "is a receipt with another index")
    if entry.tenant:
        if f"\ntenant: {entry.tenant}\n".encode() not in entry.text:
            raise row_damaged(where, "texts", "is another tenant's")
    elif b"\ntenant: " in entry.text and _POLICY not in entry.text:
        raise row_damaged(where, "texts", "is a tenant's, and stands as the daemon's own")
