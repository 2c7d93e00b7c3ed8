"""Hands that are dealt card by card: one step, one record, and only then an answer.

Of one hand, one call at a time makes a step, of the hand that the ledger has;
and the ledger takes it only if that is still the last one. So a crash at any
moment leaves a step that everybody finds, or none.

What time brings about (a window that ends, a hand that expires) is a step like
any other: the sweep makes it, and whoever asks for a step of that hand makes it
first.

Owned by the event loop's thread.

Spec: docs/protocol.md, "Hands dealt card by card".
"""

from collections.abc import Callable, Sequence

from entropyd.errors import EntropydError, InternalError, PlaceDealtError
from entropyd.hands.contributions import Contribution
from entropyd.hands.hand import ADOPTED, ENDED, Hand
from entropyd.hands.judgement import Judged, judge
from entropyd.hands.receipts import Sources
from entropyd.ledger.subjects import StepOutcome, StepRecorded
from entropyd.runtime.hand_clock import HandClock
from entropyd.runtime.hand_opening import HandOpening
from entropyd.runtime.hand_steps import OpenAsk, next_step
from entropyd.runtime.hand_store import HandStore
from entropyd.runtime.hand_tables import CHILDREN, HandLimits, HandTables
from entropyd.runtime.hand_turns import HandName, HandTurns, Turn
from entropyd.runtime.hand_watch import HandWatch
from entropyd.runtime.kept_hands import KeptHand
from entropyd.runtime.step_calls import StepCalls
from entropyd.runtime.waiter import AnyWaiter

CONTRIBUTE = "contribute"
DEAL = "deal"


class Hands:
    """Makes the steps of all hands.

    Attributes:
        limits: as configured; may be replaced, for calls to come.
        store: finds hands and their decks.
    """

    def __init__(
        self,
        calls: StepCalls,
        store: HandStore,
        watch: HandWatch,
        *,
        log: str,
        limits: HandLimits,
        sources_of: Callable[[bytes], Sources],
        clock_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        log_begins: int = 0,
    ) -> None:
        """Make it.

        Args:
            calls: waits, draws and records.
            store: finds hands.
            watch: is told of every step.
            log: origin of the log.
            limits: as configured.
            sources_of: returns what a receipt says of a provenance.
            clock_ns: monotonic clock.
            wall_ns: wall clock, for deadlines; see `HandClock`.
            log_begins: index of the first entry of the log; those before it are of a log that an
                adoption gave up.
        """
        self.limits = limits
        self.store = store
        self._calls = calls
        self._watch = watch
        self._log = log
        self._log_begins = log_begins
        self._clock = HandClock(clock_ns=clock_ns, wall_ns=wall_ns)
        self._turns = HandTurns(calls, clock_ns)
        self._tables = HandTables(store.live_at)
        self._opening = HandOpening(
            calls,
            store,
            self._tables,
            self._turns,
            watch,
            log=log,
            sources_of=sources_of,
            due=self._due,
        )

    def require_served(self, table: str) -> None:
        """Refuse a table of another node; WrongNodeError."""
        self._calls.require_served(table)

    # --- steps of callers ---------------------------------------------------------

    async def open(self, ask: OpenAsk, answer_by_ns: int) -> tuple[KeptHand, bool]:
        """Return an opened hand, and whether an earlier call opened it.

        Raises as `HandOpening.open`.
        """
        return await self._opening.open(ask, self.limits, answer_by_ns)

    async def contribute(
        self,
        name: HandName,
        contributions: Sequence[Contribution],
        quoted: bytes,
        answer_by_ns: int,
    ) -> tuple[KeptHand, list[Judged]]:
        """Judge contributions, record what is accepted, and end the window if all have spoken.

        Raises:
            HandNotFoundError: there is no such hand.
            EntropydError: as `StepCalls.record` and `outcomes`; nothing was accepted, or asking
                again finds it accepted.
        """
        with self._calls.call():
            async with self._turns.at(name, answer_by_ns) as turn:
                kept = await self._due(name, turn)
                now_ns = self._clock.now_ns(kept.hand)
                hand, judged = kept.hand, []
                for one in contributions:
                    judged.append(judge(hand, one, quoted, now_ns))
                    hand = judged[-1].hand
                after = hand.after_window(now_ns)
                return await self._step(turn, kept, after, CONTRIBUTE), judged

    async def end_window(self, name: HandName, answer_by_ns: int) -> KeptHand:
        """End a window whose deadline has passed; return the hand after it, ROLLED or beyond.

        Raises:
            WindowOpenError: it has not, and not every seat has spoken.
            EntropydError: as `contribute`.
        """
        kept = await self.advance(name, answer_by_ns)
        kept.hand.require_window_over(self._clock.now_ns(kept.hand))
        return kept

    async def deal(
        self,
        name: HandName,
        first_place: int,
        recipients: Sequence[str],
        claim_digest: Callable[[Hand], bytes],
        answer_by_ns: int,
    ) -> tuple[KeptHand, bool]:
        """Deal the next places; return the hand, and whether an earlier call dealt them.

        Args:
            name: which hand.
            first_place: how many places were dealt before.
            recipients: whom each place goes to.
            claim_digest: of the hand, what the caller must show to get these cards again.
            answer_by_ns: monotonic time at which the caller is told to come back.

        Raises:
            EntropydError: as `Hand.deal`, `Hand.require_room` and `contribute`.
        """
        with self._calls.call() as arrived_ns:
            async with self._turns.at(name, answer_by_ns) as turn:
                kept = await self._due(name, turn)
                after = self._dealt(kept.hand, first_place, recipients, claim_digest(kept.hand))
                if after is kept.hand:
                    self._calls.note_replayed(arrived_ns)
                    return kept, True
                return await self._step(turn, kept, after, DEAL), False

    def _dealt(
        self, hand: Hand, first_place: int, recipients: Sequence[str], claim_digest: bytes
    ) -> Hand:
        try:
            return hand.deal(first_place, recipients, claim_digest)
        except PlaceDealtError:
            self._watch.dealt_again(hand, first_place)
            raise

    async def close(self, name: HandName, answer_by_ns: int) -> KeptHand:
        """End a hand. Raises as `Hand.close` and `contribute`."""
        return await self._end(name, Hand.close, answer_by_ns)

    async def void(self, name: HandName, reason: str, answer_by_ns: int) -> KeptHand:
        """End a hand in public. Raises as `Hand.void` and `contribute`."""
        return await self._end(name, lambda hand: hand.void(reason), answer_by_ns)

    async def _end(
        self, name: HandName, end: Callable[[Hand], Hand], answer_by_ns: int
    ) -> KeptHand:
        with self._calls.call():
            async with self._turns.at(name, answer_by_ns) as turn:
                kept = await self._due(name, turn)
                after = end(kept.hand)
                return await self._step(turn, kept, after, after.state)

    # --- time ---------------------------------------------------------------------

    async def advance(self, name: HandName, answer_by_ns: int) -> KeptHand:
        """Return a hand after what time has brought about, which is recorded first.

        Raises as `contribute`.
        """
        with self._calls.call():
            async with self._turns.at(name, answer_by_ns) as turn:
                return await self._due(name, turn)

    async def _due(self, name: HandName, turn: Turn) -> KeptHand:
        kept = self.store.get(name.tenant, name.table, name.hand)
        if self.is_given_up(kept):
            after = kept.hand.void(ADOPTED)
        else:
            now_ns = self._clock.now_ns(kept.hand)
            after = kept.hand.expire(now_ns, self.expires_ns(kept.hand))
        return await self._step(turn, kept, after, after.state)

    def is_given_up(self, kept: KeptHand) -> bool:
        """Tell whether a hand goes on from a history that an adoption of the ledger gave up.

        What is missing of that may have cut it otherwise, and dealt its cards to others: it is
        void at the next look at it.
        """
        return kept.hand.state not in ENDED and kept.begins_before(self._log_begins)

    def due_ns(self, hand: Hand) -> int | None:
        """Return when something happens to a hand by itself, monotonic clock; None for never."""
        due_ns = hand.due_ns(self.expires_ns(hand))
        return None if due_ns is None else self._clock.monotonic_ns(hand, due_ns)

    def expires_ns(self, hand: Hand) -> int:
        """Return when a hand expires unless it has ended, by its own time."""
        return hand.opened.opened_at_ns + self.limits.expire_after_ns

    # --- one step --------------------------------------------------------------------

    async def _step(self, turn: Turn, kept: KeptHand, after: Hand, step: str) -> KeptHand:
        """Record a hand in place of the one that is kept; nothing where it is the same."""
        before = kept.hand
        if after is before:
            return kept
        opened = before.opened
        children = CHILDREN if opened.rules.parent else 0
        draft = next_step(kept, after, step, self._log, self._clock.stamp_ns())
        self._tables.begin_step(before, after, self.limits.dealing + children)
        try:
            # Wherever its table is dealt now: what was opened here is recorded nowhere else.
            turn.waiter = self._calls.record(opened.tenant, None, [draft])
        except BaseException:
            self._tables.end_step(before, after, recorded=False)
            raise
        turn.waiter.listen(lambda waiter: self._note(before, after, step, waiter))
        [outcome] = await self._calls.outcomes(turn.waiter, turn.answer_by_ns)
        if not isinstance(outcome, StepRecorded):
            raise InternalError(f"hand {opened.hand!r} changed while nobody else had its turn")
        return self.store.recorded(opened.tenant, opened.hand, outcome)

    def _note(self, before: Hand, after: Hand, step: str, waiter: AnyWaiter[StepOutcome]) -> None:
        """Count what became of a step, whether its caller still waits or not."""
        try:
            recorded = isinstance(waiter.outcomes()[0], StepRecorded)
        except EntropydError:
            # Whether it was recorded is not known.
            recorded = False
            self._tables.doubt(before.opened.tenant, before.opened.table)
            self._watch.doubted(before)
        self._tables.end_step(before, after, recorded=recorded)
        if recorded:
            self._watch.went_on(after, step)
            if after.state in ENDED:
                self.store.forget(after)
                self._clock.forget(after)
