"""Ledgers for tests: one in memory, one that fails as told, one that waits to be let go.

They have opinions: a caller that breaks the contract fails its test here.
"""

import dataclasses
import threading
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from entropyd.encoding import lp, u32, u64
from entropyd.errors import LedgerConflictError, LedgerUnavailableError
from entropyd.ledger.alarm_windows import check_window
from entropyd.ledger.contract import (
    MAX_ALARM_WINDOWS,
    AlarmWindow,
    AlreadySpent,
    Event,
    EventKind,
    HandDraft,
    HandRecord,
    Ledger,
    Outcome,
    Recorded,
)
from entropyd.ledger.hand_rows import check_draft


@dataclasses.dataclass
class MemoryDisk:
    """What survives the closing of a MemoryLedger."""

    records: dict[tuple[str, str], HandRecord] = dataclasses.field(default_factory=dict)
    numbers: Counter[tuple[str, str]] = dataclasses.field(default_factory=Counter)
    events: list[Event] = dataclasses.field(default_factory=list)
    windows: list[AlarmWindow] = dataclasses.field(default_factory=list)
    health: dict[str, str] = dataclasses.field(default_factory=dict)
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
        self._closed = False
        self._one_at_a_time = threading.Lock()
        self._whole = threading.Lock()

    def commit(
        self,
        drafts: Sequence[HandDraft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[Outcome]:
        if not self._one_at_a_time.acquire(blocking=False):
            raise AssertionError("two threads commit at once; the writer alone may")
        try:
            self._refuse_closed()
            for draft in drafts:
                check_draft(draft)
            for event in events:
                check_window(event)
            with self._whole:
                outcomes = [self._record(draft) for draft in drafts]
                for event in events:
                    self._note(event)
                self._disk.health.update(health_states)
            return outcomes
        finally:
            self._one_at_a_time.release()

    def _note(self, event: Event) -> None:
        plain = dataclasses.replace(event, window=b"")
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
        self._disk.numbers[draft.tenant, draft.table] += 1
        number = self._disk.numbers[draft.tenant, draft.table]
        record = HandRecord(number, expected_open_hash(draft, number), draft)
        self._disk.records[draft.tenant, draft.hand] = record
        return Recorded(without_secrets(record))

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        self._refuse_closed()
        with self._whole:
            record = self._disk.records.get((tenant, hand))
        if record is None or with_secrets:
            return record
        return without_secrets(record)

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        self._refuse_closed()
        with self._whole:
            return {hand for hand in hands if (tenant, hand) in self._disk.records}

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
        drafts: Sequence[HandDraft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[Outcome]:
        return self.inner.commit(drafts, events, health_states)

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        return self.inner.find(tenant, hand, with_secrets=with_secrets)

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        return self.inner.spent_among(tenant, hands)

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

    Whoever retries a hand of a failed commit without looking it up fails the test.
    """

    def __init__(self, inner: Ledger) -> None:
        super().__init__(inner)
        self.fail_not_written = 0
        self.fail_but_written = 0
        self._failing = False
        self._doubtful: set[tuple[str, str]] = set()

    def commit(
        self,
        drafts: Sequence[HandDraft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[Outcome]:
        for draft in drafts:
            if (draft.tenant, draft.hand) in self._doubtful:
                raise AssertionError(f"{draft.tenant}/{draft.hand} retried without a look-up")
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

    def probe(self) -> None:
        if self._failing:
            raise LedgerUnavailableError("faulty ledger: the last commit failed")
        super().probe()

    def _fault(self, drafts: Sequence[HandDraft]) -> LedgerUnavailableError:
        self._failing = True
        self._doubtful.update((draft.tenant, draft.hand) for draft in drafts)
        return LedgerUnavailableError("faulty ledger: fails as told")


class GatedLedger(WrappedLedger):
    """Holds every commit at its door until told to let it through.

    Attributes:
        batches: the drafts of each commit that came to the door.
        returned: how many commits returned.
        error: raised by the next commits in place of doing anything.
    """

    def __init__(self, inner: Ledger) -> None:
        super().__init__(inner)
        self.batches: list[list[HandDraft]] = []
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
        drafts: Sequence[HandDraft],
        events: Sequence[Event] = (),
        health_states: Sequence[tuple[str, str]] = (),
    ) -> list[Outcome]:
        self.batches.append(list(drafts))
        if not self._open and not self._permits.acquire(timeout=30):
            raise AssertionError("nobody let this commit through for 30 s")
        if self.error is not None:
            raise self.error
        outcomes = super().commit(drafts, events, health_states)
        self.returned += 1
        return outcomes
