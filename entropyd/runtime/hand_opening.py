"""Opening hands that are dealt card by card: found, or drawn, committed, logged and recorded.

An opening waits at the gate like any draw. It takes room at its table before it
waits, so that calls at the same time cannot pass a limit together. One from the
discards of another hand has that hand's turn too until it is decided: the parent
cannot end, or have the same discards dealt to others, meanwhile.

Owned by the event loop's thread.

Spec: docs/protocol.md, "Opening".
"""

from collections.abc import Awaitable, Callable, Sequence

from entropyd.errors import (
    EntropydError,
    HandSpentError,
    InternalError,
    RequestError,
    WrongStateError,
)
from entropyd.hands.family import require_child_rules
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.receipts import NS_A_MS, Sources
from entropyd.hands.rules import Contributions
from entropyd.ledger.subjects import StepDraft, StepOutcome, StepRecorded, StepSpent
from entropyd.rbg.construction import DrawSeeds
from entropyd.runtime.hand_steps import OpenAsk, open_steps
from entropyd.runtime.hand_store import HandStore
from entropyd.runtime.hand_tables import HandLimits, HandTables
from entropyd.runtime.hand_turns import HandName, HandTurns, Turn
from entropyd.runtime.hand_watch import HandWatch
from entropyd.runtime.kept_hands import KeptHand
from entropyd.runtime.orders import StepOrder
from entropyd.runtime.step_calls import StepCalls
from entropyd.runtime.waiter import AnyWaiter


class HandOpening:
    """Opens hands."""

    def __init__(
        self,
        calls: StepCalls,
        store: HandStore,
        tables: HandTables,
        turns: HandTurns,
        watch: HandWatch,
        *,
        log: str,
        sources_of: Callable[[bytes], Sources],
        due: Callable[[HandName, Turn], Awaitable[KeptHand]],
    ) -> None:
        """Make it.

        Args:
            calls: waits, draws and records.
            store: finds hands.
            tables: counts them.
            turns: one at a time.
            watch: is told.
            log: origin of the log.
            sources_of: returns what a receipt says of a provenance.
            due: returns a hand, whose turn it is, after what time has brought about.
        """
        self._calls = calls
        self._store = store
        self._tables = tables
        self._turns = turns
        self._watch = watch
        self._log = log
        self._sources_of = sources_of
        self._due = due

    async def open(
        self, ask: OpenAsk, limits: HandLimits, answer_by_ns: int
    ) -> tuple[KeptHand, bool]:
        """Return an opened hand, and whether an earlier call opened it.

        Raises:
            HandSpentError: the id was opened with other parameters, or dealt whole.
            RequestError: seats get longer than may be; names `contribute_for`.
            WrongStateError: the hand whose discards are dealt is not sealed, or they are dealt in
                another hand already.
            RevealForbiddenError: its rules say reveal=never, and those of this one do not.
            TableFullError: the table has as many open hands as it may.
            EntropydError: as `StepCalls.enqueue` and `outcomes`.
        """
        with self._calls.call() as arrived_ns:
            async with self._turns.at(_name_of(ask), answer_by_ns) as turn:
                found = self._found(ask)
                if found is not None:
                    self._calls.note_replayed(arrived_ns)
                    return found, True
                _require_window(ask, limits)
                if not ask.parent:
                    return await self._draw(ask, limits, turn, None), False
                return await self._draw_child(ask, limits, turn), False

    def _found(self, ask: OpenAsk) -> KeptHand | None:
        found = self._store.find(ask.tenant, ask.hand)
        if found is None or ask.is_of(found.hand.opened):
            return found
        raise HandSpentError(
            f"hand {ask.hand!r} was opened before with other parameters, or at another table; it"
            " stays spent: use a new hand id"
        )

    async def _draw_child(self, ask: OpenAsk, limits: HandLimits, turn: Turn) -> KeptHand:
        # No two calls wait for each other: a hand is not opened yet, and its parent is.
        async with self._turns.at(ask.parent_name, turn.answer_by_ns) as held:
            parent = await self._due(ask.parent_name, held)
            require_child_rules(ask.hand, reveal=ask.rules.reveal, parent=parent.hand)
            parent.hand.with_child(ask.hand)
            self._require_undealt(ask, parent.hand)
            try:
                return await self._draw(ask, limits, turn, parent)
            finally:
                held.waiter = turn.waiter

    def _require_undealt(self, ask: OpenAsk, parent: Hand) -> None:
        """Refuse discards that another child has: no card is dealt in two hands."""
        for child in self._store.children(parent):
            if child.state is HandState.VOID:
                continue
            if not set(self._store.deck(child).secrets.items).isdisjoint(ask.discards or ()):
                raise WrongStateError(
                    f"hand {child.opened.hand!r} is {child.state.upper()} and has some of these"
                    f" discards of hand {ask.parent!r}; expected it VOID when they are dealt again"
                )

    async def _draw(
        self, ask: OpenAsk, limits: HandLimits, turn: Turn, parent: KeptHand | None
    ) -> KeptHand:
        self._tables.reserve(ask.tenant, ask.table, limits.open, child=bool(ask.parent))
        try:
            turn.waiter = self._calls.enqueue(self._order(ask, parent))
        except BaseException:
            self._tables.release(ask.tenant, ask.table, None, child=bool(ask.parent))
            raise
        turn.waiter.listen(lambda waiter: self._note(ask, waiter))
        outcome, *parents = await self._calls.outcomes(turn.waiter, turn.answer_by_ns)
        if isinstance(outcome, StepSpent):
            raise HandSpentError(
                f"hand {ask.hand!r} was dealt whole before, by Shuffle; it stays spent: use a new"
                " hand id"
            )
        if not all(isinstance(one, StepRecorded) for one in parents):
            raise InternalError(f"hand {ask.parent!r} changed while nobody else had its turn")
        if not isinstance(outcome, StepRecorded):
            raise InternalError(f"hand {ask.hand!r} was opened while this call had its turn")
        return self._store.recorded(ask.tenant, ask.hand, outcome)

    def _order(self, ask: OpenAsk, parent: KeptHand | None) -> StepOrder:
        def make(seeds: DrawSeeds, provenance: bytes, drawn_at_ns: int) -> Sequence[StepDraft]:
            return open_steps(
                ask,
                seeds,
                parent,
                log=self._log,
                sources=self._sources_of(provenance),
                provenance=provenance,
                # Receipts say no less than a millisecond, and a deadline counts from here.
                now_ns=drawn_at_ns - drawn_at_ns % NS_A_MS,
            )

        return StepOrder(
            tenant=ask.tenant,
            place=ask.table,
            key=("hand", ask.tenant, ask.hand),
            binding=ask.binding,
            seeds=ask.seeds,
            make=make,
        )

    def _note(self, ask: OpenAsk, waiter: AnyWaiter[StepOutcome]) -> None:
        """Count what became of an opening, whether its caller still waits or not."""
        opened = None
        try:
            outcome = waiter.outcomes()[0]
            if isinstance(outcome, StepRecorded):
                opened = self._store.recorded(ask.tenant, ask.hand, outcome).hand
        except EntropydError:
            # Whether it was recorded is not known; nothing was, if nothing was drawn.
            self._tables.doubt(ask.tenant, ask.table)
            if waiter.drawn:
                self._watch.opening_doubted(_name_of(ask))
        self._tables.release(ask.tenant, ask.table, opened, child=bool(ask.parent))
        if opened is not None:
            self._watch.opened(opened)


def _name_of(ask: OpenAsk) -> HandName:
    return HandName(ask.tenant, ask.table, ask.hand)


def _require_window(ask: OpenAsk, limits: HandLimits) -> None:
    """Refuse a window that is longer than may be; of no interest to a hand that is opened."""
    if ask.window_ns > limits.max_window_ns:
        raise RequestError(
            "contribute_for",
            f"is {ask.window_ns // NS_A_MS} ms; expected at most"
            f" {limits.max_window_ns // NS_A_MS}, `[hands] max_contribute_for`",
        )
    # Sealed ones have it twice. A hand that expires before would cut seats off that a receipt gives
    # time to.
    windows = 2 if ask.rules.contributions is Contributions.SEALED else 1
    if windows * ask.window_ns >= limits.expire_after_ns:
        raise RequestError(
            "contribute_for",
            f"is {ask.window_ns // NS_A_MS} ms, and so long {windows} times; expected less in all"
            f" than the {limits.expire_after_ns // NS_A_MS} ms after which the hand is void,"
            " `[hands] expire_after`",
        )
