"""The ledger in one SQLite file.

One transaction a commit, synchronised before it returns. The numbers of hands
at their tables are given in the same transaction as their records, so they
have no gaps whatever fails. Secrets go in encrypted (secrets.py), and every
record that comes out is checked against its own hash O, its binding X and the
authenticity of its ciphertext.

The writer's thread owns the writing connection. A second connection reads, for
any thread, under a lock of its own: it sees the last commit while the next one
is written.

Spec: DESIGN, section 10.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from entropyd.errors import LedgerDamagedError, LedgerError, LedgerUnavailableError
from entropyd.ledger.alarm_windows import check_window, read_windows, write_windows
from entropyd.ledger.archives import DIRECTORY_NAME, archived_link
from entropyd.ledger.chain import Position
from entropyd.ledger.contract import (
    AlarmWindow,
    Draft,
    DraftOutcome,
    Event,
    EventKind,
    HandRecord,
)
from entropyd.ledger.entries import TableEntry
from entropyd.ledger.hand_rows import HandRows, check_draft, hand_key, with_log_index
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite_batch import find_row
from entropyd.ledger.sqlite_commit import Means, begin_history, write_all
from entropyd.ledger.sqlite_facts import (
    check_master_key,
    link_at,
    log_begins,
    origin_of,
    position_of,
    step_link_at,
)
from entropyd.ledger.sqlite_file import (
    close_quietly,
    connect,
    create_file,
    mark_begun,
    open_writer,
    translated,
)
from entropyd.ledger.sqlite_log import LogAppender
from entropyd.ledger.sqlite_log_reader import LogReader
from entropyd.ledger.sqlite_numbers import spent_among
from entropyd.ledger.sqlite_statements import Row
from entropyd.ledger.sqlite_subjects import SubjectReader
from entropyd.ledger.state_dir import StateDirectory
from entropyd.ledger.step_rows import StepRows, check_step
from entropyd.ledger.subjects import StepDraft
from entropyd.log.frontier import Frontier

FILE_NAME = "ledger.sqlite3"

T = TypeVar("T")

# Database and write-ahead log.
_FILES = ("", "-wal")


class SqliteLedger(SubjectReader, LogReader):
    """A `Ledger` in the state directory. Make one with `open`."""

    def __init__(
        self, directory: StateDirectory, secrets: SecretBox, *, min_free_bytes: int
    ) -> None:
        super().__init__(StepRows(secrets))
        self._directory = directory
        self._path = directory.path / FILE_NAME
        self._archives = directory.path / DIRECTORY_NAME
        self._secrets = secrets
        self._rows = HandRows(secrets)
        self._table_entry: TableEntry | None = None
        # Of the log after the last commit; None: not known, it is read.
        self._tree: Frontier | None = None
        self._min_free_bytes = min_free_bytes
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._read_lock = Lock()
        self._inodes: tuple[int, ...] = ()
        self._trouble: str | None = None
        self._closed = False

    @classmethod
    def open(
        cls, directory: StateDirectory, secrets: SecretBox, *, min_free_bytes: int = 0
    ) -> Self:
        """Open the ledger of a state directory, or begin one.

        Args:
            directory: held by the caller; belongs to the ledger from now on.
            secrets: encrypts what must not be readable in the file.
            min_free_bytes: draws are refused while the file system has less
                room than this, so that it never fills up in the middle of one.

        Raises:
            LedgerDamagedError: the file is missing, damaged or another
                program's, or was written with another master key.
            LedgerUnavailableError: it cannot be opened or written now.
            ConfigError: it was written by a newer entropyd.
        """
        ledger = cls(directory, secrets, min_free_bytes=min_free_bytes)
        try:
            with translated(ledger._path):
                create_file(ledger._path)
                check_master_key(ledger._connect_writer(check=True), secrets)
                mark_begun(ledger._path)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def set_table_entry(self, table_entry: TableEntry | None) -> None:
        """Let the first receipt of a hand at each table follow one of it. The writer's thread.

        Args:
            table_entry: makes it; called inside the transaction. None: tables have no receipt.
        """
        self._table_entry = table_entry

    def commit(
        self,
        drafts: Sequence[Draft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[DraftOutcome]:
        """Record all of it, or nothing. See `Ledger.commit`."""
        for draft in drafts:
            if isinstance(draft, StepDraft):
                check_step(draft)
            else:
                check_draft(draft)
        for event in events:
            check_window(event)
        self._refuse_closed()
        if drafts:
            self._check_room()
        try:
            with translated(self._path):
                self._check_files()
                writer = self._connect_writer()
                if not (drafts or events or health_states):
                    return []
                log = LogAppender(writer, self._table_entry, self._tree)
                # Whatever fails: what was appended is in doubt, and the tree is read again.
                self._tree = None
                outcomes = self._transact(
                    writer, lambda: self._write(writer, log, drafts, events, health_states)
                )
                self._tree = log.tree
                return outcomes
        except LedgerError as error:
            self._drop_writer(str(error))
            raise

    def _write(
        self,
        writer: sqlite3.Connection,
        log: LogAppender,
        drafts: Sequence[Draft],
        events: Sequence[Event],
        health_states: Sequence[tuple[str, str]],
    ) -> list[DraftOutcome]:
        means = Means(self._rows, self._step_rows, self._archives)
        outcomes = write_all(writer, means, log, drafts, events, health_states)
        write_windows(writer, self._secrets, events)
        return outcomes

    def _transact(self, writer: sqlite3.Connection, work: Callable[[], T]) -> T:
        """Do all of `work` or nothing of it, and return what it returns."""
        # Taking the write lock first means that what `work` reads (spent ids,
        # next numbers) is still true when it writes.
        writer.execute("BEGIN IMMEDIATE")
        try:
            # If we die anywhere in this block, the log holds no commit mark:
            # the next start sees none of it, and no number is missing.
            done = work()
            # COMMIT appends what changed and its commit mark to the log, then
            # synchronises the log, then lets readers see it. If we die before
            # the log is synchronised, all of it may be there at the next start
            # or nothing: nobody has been answered, and a repeated request finds
            # what there is. `recover` makes it durable before it is shown.
            writer.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                writer.execute("ROLLBACK")
            raise
        # If we die here, the records are there for ever and nobody was answered.
        return done

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        """Return the record of a spent hand id. See `Ledger.find`."""
        key = hand_key(tenant, hand)
        found = self._ask(lambda reader: find_row(reader, key, self._archives))
        if found is None:
            return None
        row, index = found
        record = self._rows.read(row, tenant, hand, with_secrets=with_secrets)
        return with_log_index(record, index)

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        """Return which of these hand ids are spent. See `Ledger.spent_among`."""
        keys = {hand_key(tenant, hand): hand for hand in hands}
        spent = self._ask(lambda reader: spent_among(reader, list(keys)))
        return {keys[key] for key in spent}

    def probe(self) -> None:
        """Return if a commit can be expected to succeed. See `Ledger.probe`."""
        self._refuse_closed()
        trouble = self._trouble
        if trouble is not None:
            raise LedgerUnavailableError(trouble)
        with translated(self._path):
            self._check_files()
        self._check_room()

    def health_states(self) -> dict[str, str]:
        """Return the last stored health state of every source, as JSON text."""
        return dict(self._read("SELECT source_id, state FROM health_states", ()))

    def events(self, kind: EventKind | None = None) -> list[Event]:
        """Return the events of one kind, or all, oldest first."""
        rows = self._read(
            "SELECT kind, subject, detail, at_ns FROM events WHERE ? IS NULL OR kind = ?"
            " ORDER BY id",
            (kind, kind),
        )
        return [Event(EventKind(row[0]), *row[1:]) for row in rows]

    def alarm_windows(self) -> list[AlarmWindow]:
        """Return the windows of the newest alarms. See `Ledger.alarm_windows`."""
        return self._ask(lambda reader: read_windows(reader, self._secrets))

    def count(self) -> int:
        """Return how many hands are recorded: the last id, for ids have no gaps."""
        ((count,),) = self._read("SELECT coalesce(max(id), 0) FROM hands", ())
        return int(count)

    def position(self) -> Position:
        """Return how far the ledger goes. Any thread; what is told has been synchronised."""
        return self._ask(position_of)

    def link_at(self, number: int) -> bytes | None:
        """Return the link of the ledger's hand `number`, None if it is not there. Any thread."""
        return self._ask(
            lambda reader: link_at(reader, number) or archived_link(reader, self._archives, number)
        )

    def step_link_at(self, number: int) -> bytes | None:
        """Return the link of the ledger's step `number`, None if it is not there. Any thread."""
        return self._ask(lambda reader: step_link_at(reader, number))

    def origin(self) -> str:
        """Return which history this is, in hex. Any thread."""
        return self._ask(origin_of)

    def log_begins(self) -> int:
        """Return the index of the first entry under the present name of the log. Any thread."""
        return self._ask(log_begins)

    def is_anchored(self) -> bool:
        """Return whether an anchor of this ledger was ever written. Any thread."""
        return bool(self._read("SELECT 1 FROM meta WHERE name = 'anchored'", ()))

    def note_anchored(self) -> None:
        """Remember that there is an anchor, so that its loss shows. The writer's thread."""
        with translated(self._path):
            self._connect_writer().execute("INSERT OR IGNORE INTO meta VALUES ('anchored', x'01')")

    def maintain(self, work: Callable[[sqlite3.Connection, Path], T]) -> T:
        """Let a command of an operator work on the file. The writer's thread.

        Args:
            work: gets the writing connection and the directory of the archives.
        """
        self._tree = None
        with translated(self._path):
            return work(self._connect_writer(), self._archives)

    def adopt(self, origin: str, event: Event) -> None:
        """Go on as another history, whose first event is `event`. The writer's thread.

        Args:
            origin: of the new history, 32 hex digits that no ledger had before.
            event: names what is missing and why it is gone on without.
        """
        with translated(self._path):
            writer = self._connect_writer()
            self._tree = None
            # One transaction: no history begins without its event.
            self._transact(writer, lambda: begin_history(writer, bytes.fromhex(origin), event))

    def close(self) -> None:
        """Let go of the file and the state directory. May be called twice."""
        self._closed = True
        with self._read_lock:
            close_quietly(self._reader)
            self._reader = None
        # The last connection empties the log into the database when it closes.
        # If it cannot, or we die, the log stays and the next start does it.
        close_quietly(self._writer)
        self._writer = None
        self._directory.release()

    def _connect_writer(self, *, check: bool = False) -> sqlite3.Connection:
        """Return the writing connection; open it at the start and after every failed commit.

        Start and failure take the same way in, so it is walked every day.
        """
        if self._writer is None:
            writer = open_writer(self._path, check=check)
            try:
                self._connect_reader()
                self._inodes = self._read_inodes(_FILES)
            except BaseException:
                close_quietly(writer)
                raise
            self._writer = writer
            self._trouble = None
        return self._writer

    def _drop_writer(self, trouble: str) -> None:
        """Throw away a connection on which something failed.

        The reading one stays: stored hands are answered on a full disk too. It
        also keeps SQLite's index of the log, in which the failed commit is not.
        """
        with self._read_lock:
            self._trouble = trouble
        close_quietly(self._writer)
        self._writer = None

    def _connect_reader(self) -> None:
        """Open the reading connection beside the writer: on a full disk it is too late."""
        with self._read_lock:
            if self._reader is None:
                self._reader = connect(self._path)

    def _read(self, query: str, values: tuple[object, ...]) -> list[Row]:
        return self._ask(lambda reader: reader.execute(query, values).fetchall())

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        with self._read_lock, translated(self._path):
            self._refuse_closed()
            if self._reader is None:
                # Who opens the file first must first recover it, and only the
                # writer does. So no reader comes back before a writer has.
                if self._trouble is not None:
                    raise LedgerUnavailableError(self._trouble)
                self._reader = connect(self._path)
            try:
                return question(self._reader)
            except sqlite3.Error:
                close_quietly(self._reader)
                self._reader = None
                raise

    def _refuse_closed(self) -> None:
        if self._closed:
            raise LedgerUnavailableError(f"ledger {self._path}: is closed; ask the next daemon")

    def _read_inodes(self, suffixes: tuple[str, ...]) -> tuple[int, ...]:
        """Return which files bear these names now."""
        return tuple(os.stat(f"{self._path}{suffix}").st_ino for suffix in suffixes)

    def _check_files(self) -> None:
        """Refuse to write into files that lost their names: nobody would find them again."""
        # The log goes with the last connection, which two failures can close.
        suffixes = _FILES if self._reader or self._writer else _FILES[:1]
        try:
            same = self._inodes[: len(suffixes)] == self._read_inodes(suffixes)
        except FileNotFoundError:
            same = False
        if not same:
            raise LedgerDamagedError(
                f"ledger {self._path}: it or its -wal was deleted or replaced while in use; restore"
                " both from the last backup, and do not start without them"
            )

    def _check_room(self) -> None:
        with translated(self._path):
            status = os.statvfs(self._directory.path)
        free_bytes = status.f_bavail * status.f_frsize
        if free_bytes < self._min_free_bytes:
            raise LedgerUnavailableError(
                f"ledger {self._path}: its disk has {free_bytes} bytes free, draws need"
                f" {self._min_free_bytes}: free space, dealing then goes on by itself"
            )
