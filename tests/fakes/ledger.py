"""Ledgers for tests: one in memory, one that fails as told, one that waits to be let go.

They have opinions: a caller that breaks the contract fails its test here.
"""

import dataclasses
import threading
from collections import Counter
from collections.abc import Sequence
from copy import copy
from hashlib import sha256

from entropyd.encoding import lp, u32, u64
from entropyd.errors import (
    HandSpentError,
    InternalError,
    LedgerConflictError,
    LedgerUnavailableError,
)
from entropyd.ledger.alarm_windows import check_window
from entropyd.ledger.contract import (
    MAX_ALARM_WINDOWS,
    AlarmWindow,
    AlreadySpent,
    Draft,
    DraftOutcome,
    Event,
    EventKind,
    HandDraft,
    HandRecord,
    Ledger,
    Outcome,
    Recorded,
)
from entropyd.ledger.entries import Assigned, LogEntry, TableEntry
from entropyd.ledger.hand_rows import check_draft
from entropyd.ledger.step_rows import check_step
from entropyd.ledger.subjects import (
    StepConflict,
    StepDraft,
    StepOutcome,
    StepRecord,
    StepRecorded,
    StepSpent,
    StepTaken,
    Subject,
    SubjectKind,
)
from entropyd.log.frontier import Node
from entropyd.log.merkle import root

SubjectId = tuple[SubjectKind, str, str]


@dataclasses.dataclass
class MemoryDisk:
    """What survives the closing of a MemoryLedger."""

    records: dict[tuple[str, str], HandRecord] = dataclasses.field(default_factory=dict)
    numbers: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    steps: dict[SubjectId, list[StepRecord]] = dataclasses.field(default_factory=dict)
    subjects: dict[SubjectId, Subject] = dataclasses.field(default_factory=dict)
    events: list[Event] = dataclasses.field(default_factory=list)
    windows: list[AlarmWindow] = dataclasses.field(default_factory=list)
    health: dict[str, str] = dataclasses.field(default_factory=dict)
    # Hands that are dealt card by card: their tables and numbers.
    dealt: dict[tuple[str, str], tuple[str, int]] = dataclasses.field(default_factory=dict)
    log: list[LogEntry] = dataclasses.field(default_factory=list)
    # Tables that have their receipt.
    told: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    held: bool = False


def without_secrets(record: HandRecord) -> HandRecord:
    draft = dataclasses.replace(record.draft, seeds=b"", blinding=b"", salt_key=b"")
    return dataclasses.replace(record, draft=draft)


class MemoryLedger:
    """The contract, as plainly as it can be written."""

    def __init__(self, disk: MemoryDisk | None = None) -> None:
        self._disk = disk or MemoryDisk()
        if self._disk.held:
            raise LedgerConflictError("memory disk: is held by another ledger")
        self._disk.held = True
        self._table_entry: TableEntry | None = None
        self._closed = False
        self._one_at_a_time = threading.Lock()
        self._whole = threading.Lock()

    def set_table_entry(self, table_entry: TableEntry | None) -> None:
        self._table_entry = table_entry

    def commit(
        self,
        drafts: Sequence[Draft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[DraftOutcome]:
        if not self._one_at_a_time.acquire(blocking=False):
            raise AssertionError("two threads commit at once; the writer alone may")
        try:
            self._refuse_closed()
            for draft in drafts:
                if isinstance(draft, StepDraft):
                    check_step(draft)
                else:
                    check_draft(draft)
            for event in events:
                check_window(event)
            with self._whole:
                before = copied(self._disk)
                try:
                    return self._write(drafts, events, health_states)
                except BaseException:
                    vars(self._disk).update(vars(before))
                    raise
        finally:
            self._one_at_a_time.release()

    def _write(
        self,
        drafts: Sequence[Draft],
        events: Sequence[Event],
        health_states: Sequence[tuple[str, str]],
    ) -> list[DraftOutcome]:
        outcomes: list[DraftOutcome] = []
        for draft in drafts:
            if isinstance(draft, StepDraft):
                outcomes.append(self._append(draft))
            else:
                outcomes.append(self._record(draft))
        for event in events:
            self._note(event)
        self._disk.health.update(health_states)
        return outcomes

    def _number(self, tenant: str, table: str) -> int:
        self._disk.numbers[tenant, table] += 1
        return self._disk.numbers[tenant, table]

    def _begin_table(self, tenant: str, table: str, number: int) -> None:
        """Before the receipt of a table's hand, that of the table."""
        if self._table_entry is None or (tenant, table) in self._disk.told:
            return
        self._disk.told.add((tenant, table))
        size = len(self._disk.log)
        self._log(tenant, self._table_entry(tenant, table, size, number - 1))

    def _log(self, tenant: str, text: bytes) -> None:
        if not text.endswith(b"\n") or len(text) > 65535:
            raise InternalError("not the text of a receipt")
        self._disk.log.append(LogEntry(len(self._disk.log), tenant, text))

    def _note(self, event: Event) -> None:
        if event.entry is not None:
            self._log("", event.entry(len(self._disk.log)))
        plain = dataclasses.replace(event, window=b"", entry=None)
        self._disk.events.append(plain)
        if event.window:
            self._disk.windows.append(AlarmWindow(plain, event.window))
            del self._disk.windows[:-MAX_ALARM_WINDOWS]

    def alarm_windows(self) -> list[AlarmWindow]:
        self._refuse_closed()
        return list(self._disk.windows)

    def _record(self, draft: HandDraft) -> Outcome:
        spent = self._disk.records.get((draft.tenant, draft.hand))
        if spent is not None:
            return AlreadySpent(without_secrets(spent))
        if (draft.tenant, draft.hand) in self._disk.dealt:
            return AlreadySpent(None)
        number = self._number(draft.tenant, draft.table)
        open_hash, index = expected_open_hash(draft, number), None
        if draft.entry is not None:
            self._begin_table(draft.tenant, draft.table, number)
            index = len(self._disk.log)
            self._log(draft.tenant, draft.entry(index, number, open_hash))
        record = HandRecord(number, open_hash, dataclasses.replace(draft, entry=None), index)
        self._disk.records[draft.tenant, draft.hand] = record
        return Recorded(without_secrets(record))

    def _append(self, draft: StepDraft) -> StepOutcome:
        subject = subject_of(draft)
        steps = self._disk.steps.get(subject, [])
        for record in steps:
            if draft.key and record.key == draft.key:
                return StepTaken(record)
        if draft.expected not in {None, len(steps)}:
            return StepConflict(len(steps))
        sequence = 0
        if draft.table:
            if (draft.tenant, draft.name) in self._disk.records:
                return StepSpent()
            sequence = self._number(draft.tenant, draft.table)
            self._disk.dealt[draft.tenant, draft.name] = (draft.table, sequence)
        done, index = None, 0
        if draft.complete is not None:
            if draft.table:
                self._begin_table(draft.tenant, draft.table, sequence)
            index = len(self._disk.log)
            done = draft.complete(Assigned(sequence, index, len(steps) + 1))
            for text in done.entries:
                self._log(draft.tenant, text)
            draft = dataclasses.replace(draft, public=done.public, state=done.state)
        number = len(steps) + 1
        record = StepRecord(number, draft.step, draft.key, draft.public, draft.secret, draft.at_ns)
        self._disk.steps[subject] = [*steps, record]
        self._disk.subjects[subject] = Subject(
            *subject, number, draft.state, draft.state_secret, draft.label
        )
        return StepRecorded(record, done, index)

    def subject(self, kind: SubjectKind, tenant: str, name: str) -> Subject | None:
        self._refuse_closed()
        with self._whole:
            return self._disk.subjects.get((kind, tenant, name))

    def step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        if not key:
            raise AssertionError("a step without a key cannot be looked up by its key")
        found = self.steps(kind, tenant, name, 0, 2**63 - 1)
        return next((record for record in found if record.key == key), None)

    def steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        self._refuse_closed()
        if after < 0 or limit < 1:
            raise AssertionError(f"no page of steps begins after {after} and has {limit} at most")
        with self._whole:
            return self._disk.steps.get((kind, tenant, name), [])[after:][:limit]

    def told_step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        found = self.step(kind, tenant, name, key)
        return None if found is None else dataclasses.replace(found, secret=b"")

    def told_steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        found = self.steps(kind, tenant, name, after, limit)
        return [dataclasses.replace(step, secret=b"") for step in found]

    def subjects(
        self,
        kind: SubjectKind,
        tenant: str,
        prefix: str,
        label: str | None,
        after: str,
        limit: int,
    ) -> list[Subject]:
        self._refuse_closed()
        if limit < 1:
            raise AssertionError(f"no page of subjects has {limit} at most")
        with self._whole:
            every = sorted(self._disk.subjects.values(), key=lambda one: one.name.encode())
        found = [
            dataclasses.replace(one, state_secret=b"")
            for one in every
            if (one.kind, one.tenant) == (kind, tenant)
            and one.name.startswith(prefix)
            and one.name.encode() > after.encode()
            and label in {None, one.label}
        ]
        return found[:limit]

    def hands_at(
        self,
        tenant: str,
        table_prefix: str,
        label: str | None,
        after: tuple[str, int],
        limit: int,
    ) -> list[Subject]:
        self._refuse_closed()
        if limit < 1:
            raise AssertionError(f"no page of hands has {limit} at most")
        with self._whole:
            every = sorted((place, owner) for owner, place in self._disk.dealt.items())
            found = [
                dataclasses.replace(self._disk.subjects[SubjectKind.HAND, *owner], state_secret=b"")
                for place, owner in every
                if owner[0] == tenant and place[0].startswith(table_prefix) and place > after
            ]
        return [one for one in found if label in {None, one.label}][:limit]

    def log_size(self) -> int:
        self._refuse_closed()
        with self._whole:
            return len(self._disk.log)

    def log_entries(self, first: int, limit: int) -> list[LogEntry]:
        self._refuse_closed()
        if first < 0 or limit < 1:
            raise AssertionError(f"no entries begin with {first} and are {limit} at most")
        with self._whole:
            return self._disk.log[first:][:limit]

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        entries = self.log_entries(0, 2**63 - 1)
        if any((node.place + 1) << node.level > len(entries) for node in nodes):
            raise AssertionError("a node that is not complete has no hash")
        leaves = [entry.text[:-1] for entry in entries]
        return [
            root(leaves[node.place << node.level : (node.place + 1) << node.level])
            for node in nodes
        ]

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        self._refuse_closed()
        with self._whole:
            if (tenant, hand) in self._disk.dealt:
                raise HandSpentError("hand: is dealt card by card; ask HandService for it")
            record = self._disk.records.get((tenant, hand))
        if record is None or with_secrets:
            return record
        return without_secrets(record)

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        self._refuse_closed()
        with self._whole:
            spent = self._disk.records.keys() | self._disk.dealt.keys()
            return {hand for hand in hands if (tenant, hand) in spent}

    def probe(self) -> None:
        self._refuse_closed()

    def health_states(self) -> dict[str, str]:
        self._refuse_closed()
        return dict(self._disk.health)

    def events(self, kind: EventKind | None = None) -> list[Event]:
        self._refuse_closed()
        return [event for event in self._disk.events if kind in (None, event.kind)]

    def count(self) -> int:
        self._refuse_closed()
        with self._whole:
            return len(self._disk.records)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._disk.held = False

    def _refuse_closed(self) -> None:
        if self._closed:
            raise LedgerUnavailableError("memory ledger: is closed")


def copied(disk: MemoryDisk) -> MemoryDisk:
    """A copy that stays what it is. What is in it is replaced and never changed."""
    return MemoryDisk(**{name: copy(value) for name, value in vars(disk).items()})


def subject_of(draft: StepDraft) -> SubjectId:
    return draft.kind, draft.tenant, draft.name


def expected_open_hash(draft: HandDraft, number: int) -> bytes:
    """O, written from the specification and not from the code under test."""
    return sha256(
        lp(b"entropyd/open/v1")
        + lp(draft.binding)
        + u64(number)
        + u32(draft.size)
        + lp(draft.commitment)
        + lp(draft.deck_root)
        + lp(draft.seats_root)
    ).digest()


class WrappedLedger:
    """Passes everything on. The fakes below change `commit`."""

    def __init__(self, inner: Ledger) -> None:
        self.inner = inner

    def commit(
        self,
        drafts: Sequence[Draft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[DraftOutcome]:
        return self.inner.commit(drafts, events, health_states)

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        return self.inner.find(tenant, hand, with_secrets=with_secrets)

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        return self.inner.spent_among(tenant, hands)

    def subject(self, kind: SubjectKind, tenant: str, name: str) -> Subject | None:
        return self.inner.subject(kind, tenant, name)

    def step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        return self.inner.step(kind, tenant, name, key)

    def steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        return self.inner.steps(kind, tenant, name, after, limit)

    def told_step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        return self.inner.told_step(kind, tenant, name, key)

    def told_steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        return self.inner.told_steps(kind, tenant, name, after, limit)

    def subjects(
        self,
        kind: SubjectKind,
        tenant: str,
        prefix: str,
        label: str | None,
        after: str,
        limit: int,
    ) -> list[Subject]:
        return self.inner.subjects(kind, tenant, prefix, label, after, limit)

    def hands_at(
        self,
        tenant: str,
        table_prefix: str,
        label: str | None,
        after: tuple[str, int],
        limit: int,
    ) -> list[Subject]:
        return self.inner.hands_at(tenant, table_prefix, label, after, limit)

    def log_size(self) -> int:
        return self.inner.log_size()

    def log_entries(self, first: int, limit: int) -> list[LogEntry]:
        return self.inner.log_entries(first, limit)

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        return self.inner.log_nodes(nodes)

    def probe(self) -> None:
        self.inner.probe()

    def health_states(self) -> dict[str, str]:
        return self.inner.health_states()

    def events(self, kind: EventKind | None = None) -> list[Event]:
        return self.inner.events(kind)

    def alarm_windows(self) -> list[AlarmWindow]:
        return self.inner.alarm_windows()

    def count(self) -> int:
        return self.inner.count()

    def close(self) -> None:
        self.inner.close()


class FaultyLedger(WrappedLedger):
    """Fails commits in pairs: failed and not written, failed but written.

    Whoever retries a hand, or a step of a subject, of a failed commit without looking it up fails
    the test.
    """

    def __init__(self, inner: Ledger) -> None:
        super().__init__(inner)
        self.fail_not_written = 0
        self.fail_but_written = 0
        self._failing = False
        self._doubtful: set[tuple[str, ...]] = set()

    def commit(
        self,
        drafts: Sequence[Draft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[DraftOutcome]:
        for draft in drafts:
            if _id_of(draft) in self._doubtful:
                raise AssertionError(f"{'/'.join(_id_of(draft))} retried without a look-up")
        if self.fail_not_written:
            self.fail_not_written -= 1
            raise self._fault(drafts)
        outcomes = super().commit(drafts, events, health_states)
        if self.fail_but_written:
            self.fail_but_written -= 1
            raise self._fault(drafts)
        self._failing = False
        return outcomes

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        self._doubtful.discard((tenant, hand))
        return super().find(tenant, hand, with_secrets=with_secrets)

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        self._doubtful.difference_update((tenant, hand) for hand in hands)
        return super().spent_among(tenant, hands)

    def subject(self, kind: SubjectKind, tenant: str, name: str) -> Subject | None:
        self._doubtful.discard((kind, tenant, name))
        return super().subject(kind, tenant, name)

    def step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        self._doubtful.discard((kind, tenant, name))
        return super().step(kind, tenant, name, key)

    def steps(
        self, kind: SubjectKind, tenant: str, name: str, after: int, limit: int
    ) -> list[StepRecord]:
        self._doubtful.discard((kind, tenant, name))
        return super().steps(kind, tenant, name, after, limit)

    def probe(self) -> None:
        if self._failing:
            raise LedgerUnavailableError("faulty ledger: the last commit failed")
        super().probe()

    def _fault(self, drafts: Sequence[Draft]) -> LedgerUnavailableError:
        self._failing = True
        self._doubtful.update(_id_of(draft) for draft in drafts)
        return LedgerUnavailableError("faulty ledger: fails as told")


def _id_of(draft: Draft) -> tuple[str, ...]:
    return subject_of(draft) if isinstance(draft, StepDraft) else (draft.tenant, draft.hand)


class GatedLedger(WrappedLedger):
    """Holds every commit at its door until told to let it through.

    Attributes:
        batches: the drafts of each commit that came to the door.
        returned: how many commits returned.
        error: raised by the next commits in place of doing anything.
    """

    def __init__(self, inner: Ledger) -> None:
        super().__init__(inner)
        self.batches: list[list[Draft]] = []
        self.returned = 0
        self.error: BaseException | None = None
        self._permits = threading.Semaphore(0)
        self._open = False

    def let(self, commits: int = 1) -> None:
        """Let so many commits through."""
        self._permits.release(commits)

    def open_door(self) -> None:
        """Let all through from now on."""
        self._open = True
        self.let()

    def commit(
        self,
        drafts: Sequence[Draft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[DraftOutcome]:
        self.batches.append(list(drafts))
        if not self._open and not self._permits.acquire(timeout=30):
            raise AssertionError("nobody let this commit through for 30 s")
        if self.error is not None:
            raise self.error
        outcomes = super().commit(drafts, events, health_states)
        self.returned += 1
        return outcomes
