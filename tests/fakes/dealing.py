"""A dealer with a real gate that is fed by hand, and a ledger's writer that waits to be told.

They have opinions: a writer that is handed two drafts of one hand at once, or
an answer that no commit gave, fails the test.
"""

import asyncio
import contextlib
import dataclasses
import hashlib
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Any

from entropyd.draw.cards import Deck
from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.gate import Gate, GatedBatch, GatedSeed, Hold, SourceFacts
from entropyd.entropy.policy import GatePolicy
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.errors import EntropydError, LedgerUnavailableError
from entropyd.hands.binding import hand_binding
from entropyd.hands.claim import claim_digest
from entropyd.hands.receipts import Sources
from entropyd.hands.rules import Rules, rules_hash, segments_needed
from entropyd.ledger.contract import (
    AlreadySpent,
    Draft,
    DraftOutcome,
    Event,
    HandDraft,
    Ledger,
    Recorded,
)
from entropyd.ledger.subjects import StepDraft
from entropyd.rbg.construction import SeedConstruction
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.drawer import HandReceipts
from entropyd.runtime.orders import Dealt, DrawOrder
from entropyd.runtime.served_tables import ServedTables
from entropyd.service.provenance import encode_provenance, receipt_sources
from tests.fakes.ledger import MemoryLedger
from tests.fakes.manual_time import ManualClock
from tests.fakes.noise import noise

SECOND = 10**9
MINUTE = 60 * SECOND

QUANTIS = SourceFacts(
    NoiseSourceInfo("quantis", "quantis-usb", SourceKind.HARDWARE, 8, 6000, "by the operator"),
    serial="132244A410",
    state=SourceState.HEALTHY,
    current_millibits=6000,
    required=True,
)
# 54 samples of 6 bits are 320, 42 more cover 249 missing user bits.
SEED_SAMPLES = 96
# How soon the writer finds out whether a ledger that failed works again.
RETRY_S = 1.0
MINE, THEIRS = b"m" * 16, b"t" * 16


class DirectWriter:
    """Commits in the loop's own thread: at the next turn, or when told; each submission by itself.

    After a commit that failed it tries the ledger again, as the real one does.

    Attributes:
        held: True: commits wait for `commit_all`.
        stalled_s: how long one has been running.
        submitted: every hand that ever came.
        steps: every step that ever came.
        events, health: what was noted.
        refusal: raised by `submit`.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.held = False
        self.stalled_s = 0.0
        self.submitted: list[HandDraft] = []
        self.steps: list[StepDraft] = []
        self.events: list[Event] = []
        self.health: list[tuple[str, str]] = []
        self.refusal: Exception | None = None
        self._ledger = ledger
        self._drafts: set[tuple[str, ...]] = set()
        self._open: list[tuple[list[Draft], asyncio.Future[list[DraftOutcome]]]] = []

    def submit(self, drafts: Sequence[Any]) -> "asyncio.Future[Any]":
        if self.refusal is not None:
            raise self.refusal
        assert drafts, "no draft was handed over"
        loop = asyncio.get_running_loop()
        for draft in drafts:
            key = _key(draft)
            assert key not in self._drafts, f"two drafts of {key} are on their way at once"
            self._drafts.add(key)
        self.submitted += [draft for draft in drafts if isinstance(draft, HandDraft)]
        self.steps += [draft for draft in drafts if isinstance(draft, StepDraft)]
        answer: asyncio.Future[list[DraftOutcome]] = loop.create_future()
        group = list(drafts), answer
        self._open.append(group)
        if not self.held:
            loop.call_soon(self._commit, group)
        return answer

    def commit_all(self) -> None:
        for group in list(self._open):
            self._commit(group)

    def _commit(self, group: "tuple[list[Draft], asyncio.Future[list[DraftOutcome]]]") -> None:
        drafts, answer = group
        self._open.remove(group)
        self._drafts -= {_key(draft) for draft in drafts}
        assert not answer.done(), "an answer came before its commit"
        try:
            outcomes = self._ledger.commit(drafts)
        except EntropydError as error:
            answer.set_exception(error)
            asyncio.get_running_loop().call_later(RETRY_S, self._retry)
        else:
            for draft, outcome in zip(drafts, outcomes, strict=True):
                of_a_hand = isinstance(outcome, Recorded | AlreadySpent)
                assert of_a_hand == isinstance(draft, HandDraft), "an outcome of the other kind"
            answer.set_result(outcomes)

    def _retry(self) -> None:
        with contextlib.suppress(LedgerUnavailableError):
            self._ledger.commit([])

    def note(self, event: Event) -> None:
        self.events.append(event)

    def record(self, event: Event) -> "asyncio.Future[None]":
        """By itself, at the next turn: what is noted here reaches no ledger, and fails as one."""
        loop = asyncio.get_running_loop()
        recorded: asyncio.Future[None] = loop.create_future()
        loop.call_soon(self._record, event, recorded)
        return recorded

    def _record(self, event: Event, recorded: "asyncio.Future[None]") -> None:
        try:
            self._ledger.commit([])
        except EntropydError as error:
            recorded.set_exception(error)
        else:
            self.events.append(event)
            recorded.set_result(None)

    def store_health(self, source_id: str, state: str) -> None:
        self.health.append((source_id, state))


def _key(draft: Draft) -> tuple[str, ...]:
    if isinstance(draft, StepDraft):
        return draft.kind, draft.tenant, draft.name, draft.key
    return draft.tenant, draft.hand


class CountingObserver:
    """Counts how draws and calls end."""

    def __init__(self) -> None:
        self.draws: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.seeds = 0
        self.waits_s: list[float] = []
        self.lasted_s: dict[str, float] = {}

    def drawn(self, outcome: str, *, waits_s: Sequence[float], reseeds: int) -> None:
        if waits_s:
            self.draws[outcome] += len(waits_s)
        self.seeds += reseeds
        self.waits_s += waits_s

    def undrawn(self, outcome: str, *, lasted_s: float) -> None:
        self.calls[outcome] += 1
        self.lasted_s[outcome] = lasted_s


class RecordedSystem:
    """The operating system's generator as a recording that is never the same twice.

    Attributes:
        asked: how many bytes each call asked for.
        error: raised instead.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.error: Exception | None = None

    def __call__(self, length: int) -> bytes:
        if self.error is not None:
            raise self.error
        self.asked.append(length)
        return hashlib.shake_256(str(len(self.asked)).encode()).digest(length)


class Table:
    """Everything that a dealer needs, with doors for a test.

    Attributes:
        fatal: what the daemon would end with.
        described: the seeds and the wall time that provenance was made of.
    """

    def __init__(
        self,
        *,
        ledger: Ledger | None = None,
        max_waiters: int = 100,
        tenants: int = 1,
        source: SourceFacts = QUANTIS,
        instantiate: bool = True,
        tables: tuple[str, ...] = ("*",),
        log: str = "",
        **policy: Any,
    ) -> None:
        self.clock = ManualClock()
        self.ledger = ledger or MemoryLedger()
        self.writer = DirectWriter(self.ledger)
        self.observer = CountingObserver()
        self.os_random = RecordedSystem()
        self.fatal: list[EntropydError] = []
        self.described: list[tuple[Sequence[GatedSeed], int]] = []
        self.gate = Gate(GatePolicy(**policy))
        self.gate.set_source(source.info.source_id, source)
        self.construction = SeedConstruction("test", self_test=lambda: None)
        self._delivered = 0
        if instantiate:
            self.deliver(75)
            gated = self.gate.try_instantiate(self.clock())
            assert not isinstance(gated, Hold)
            self.construction.instantiate(gated, bytes(64), bytes(32))
        self.dealer = Dealer(
            gate=self.gate,
            construction=self.construction,
            hands=self.ledger,
            writer=self.writer,
            observer=self.observer,
            describe=self._describe,
            receipts=HandReceipts(log, self._tell_sources) if log else None,
            on_fatal=self.fatal.append,
            os_random=self.os_random,
            clock_ns=self.clock,
            wall_ns=self.clock.wall_ns,
            max_waiters=max_waiters,
            tenants=tenants,
            tables=ServedTables(tables),
        )

    def _describe(
        self,
        draws: Sequence[Sequence[GatedSeed]],
        drawn_at_ns: int,
        *,
        batch: GatedBatch | None = None,
    ) -> list[bytes]:
        self.described += [(seeds, drawn_at_ns) for seeds in draws]
        policy = self.gate.policy.describe()
        return encode_provenance(
            draws, drawn_at_ns, node="test", policy=policy, degraded=False, batch=batch
        )

    def _tell_sources(
        self, draws: Sequence[Sequence[GatedSeed]], *, batch: GatedBatch | None = None
    ) -> list[Sources]:
        return receipt_sources(
            draws, policy=self.gate.policy.describe(), degraded=False, batch=batch
        )

    def deliver(self, samples: int, *, source: str = "quantis") -> None:
        """Put fresh samples into the gate; nobody is woken."""
        stream = noise(self._delivered + samples)[self._delivered :]
        self._delivered += samples
        self.gate.deliver(CreditedBlock(source, stream, 6000, self.clock()))

    def feed(self, seeds: int = 1) -> None:
        """Deliver what so many seeds cost, and let the dealer know."""
        self.deliver(seeds * SEED_SAMPLES)
        self.dealer.pump()

    def stand(self, **changes: Any) -> None:
        """Change how the source stands."""
        self.gate.set_source("quantis", dataclasses.replace(QUANTIS, **changes))

    @property
    def level(self) -> int:
        """Credit that waits, in millibits."""
        return self.gate.level_millibits(self.clock())

    def call(
        self, hand: str = "hand-1", *, seconds: float = 60, **order: Any
    ) -> Coroutine[Any, Any, Dealt]:
        """Return a call for a hand, to be awaited or made a task."""
        answer_by_ns = self.clock() + round(seconds * SECOND)
        return self.dealer.deal(order_for(hand, **order), answer_by_ns=answer_by_ns)


def order_for(
    hand: str = "hand-1",
    *,
    tenant: str = "room",
    table: str = "table-1",
    claim: bytes = MINE,
    deck: Deck | None = None,
) -> DrawOrder:
    """Return what the servicer core would make of a request."""
    rules = Rules(deck=deck or Deck())
    encoded = rules.encode()
    binding = hand_binding(tenant, table, hand, rules_hash(encoded))
    return DrawOrder(
        tenant=tenant,
        table=table,
        hand=hand,
        rules=rules,
        encoded_rules=encoded,
        binding=binding,
        seeds=segments_needed(rules),
        claim_digest=claim_digest(binding, claim),
    )
