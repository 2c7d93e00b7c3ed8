"""Opening hands that are dealt card by card: found, or drawn, committed, logged and recorded.

An opening waits at the gate like any draw. It takes room at its table before it
waits, so that calls at the same time cannot pass a limit together.

Owned by the event loop's thread.

Spec: docs/protocol.md, "Opening".
"""

from collections.abc import Callable, Sequence

from entropyd.errors import (
    EntropydError,
    HandSpentError,
    InternalError,
    RequestError,
    WrongStateError,
)
from entropyd.hands.hand import HandState
from entropyd.hands.receipts import NS_A_MS, Sources
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

# What a hand opened from another's discards may go beyond the limits of its table: it goes on with
# that hand, which has not ended.
CHILDREN = 1


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
        """
        self._calls = calls
        self._store = store
        self._tables = tables
        self._turns = turns
        self._watch = watch
        self._log = log
        self._sources_of = sources_of

    async def open(
        self, ask: OpenAsk, limits: HandLimits, answer_by_ns: int
    ) -> tuple[KeptHand, bool]:
        """Return an opened hand, and whether an earlier call opened it.

        Raises:
            HandSpentError: the id was opened with other parameters, or dealt whole.
            RequestError: seats get longer than may be; names `contribute_for`.
            WrongStateError: the hand whose discards are dealt is not sealed.
            TableFullError: the table has as many open hands as it may.
            EntropydError: as `StepCalls.enqueue` and `outcomes`.
        """
        name = HandName(ask.tenant, ask.table, ask.hand)
        with self._calls.call() as arrived_ns:
            async with self._turns.at(name, answer_by_ns) as turn:
                found = self._found(ask)
                if found is not None:
                    self._calls.note_replayed(arrived_ns)
                    return found, True
                self._require_openable(ask, limits)
                return await self._draw(ask, limits, turn), False

    def _found(self, ask: OpenAsk) -> KeptHand | None:
        found = self._store.find(ask.tenant, ask.hand)
        if found is None or ask.is_of(found.hand.opened):
            return found
        raise HandSpentError(
            f"hand {ask.hand!r} was opened before with other parameters, or at another table; it"
            " stays spent: use a new hand id"
        )

    def _require_openable(self, ask: OpenAsk, limits: HandLimits) -> None:
        """Refuse what only matters to a hand that is not opened yet."""
        if ask.window_ns > limits.max_window_ns:
            raise RequestError(
                "contribute_for",
                f"is {ask.window_ns // NS_A_MS} ms; expected at most"
                f" {limits.max_window_ns // NS_A_MS}, `[hands] max_contribute_for`",
            )
        if ask.parent:
            parent = self._store.get(ask.tenant, ask.table, ask.parent).hand
            if parent.state is not HandState.SEALED:
                raise WrongStateError(
                    f"hand {ask.parent!r} is {parent.state.upper()}; expected SEALED when its"
                    " discards are dealt"
                )

    async def _draw(self, ask: OpenAsk, limits: HandLimits, turn: Turn) -> KeptHand:
        limit = limits.open + CHILDREN if ask.parent else limits.open
        self._tables.reserve(ask.tenant, ask.table, limit)
        try:
            turn.waiter = self._calls.enqueue(self._order(ask))
        except BaseException:
            self._tables.release(ask.tenant, ask.table, None)
            raise
        turn.waiter.listen(lambda waiter: self._note(ask, waiter))
        [outcome] = await self._calls.outcomes(turn.waiter, turn.answer_by_ns)
        if isinstance(outcome, StepSpent):
            raise HandSpentError(
                f"hand {ask.hand!r} was dealt whole before, by Shuffle; it stays spent: use a new"
                " hand id"
            )
        if not isinstance(outcome, StepRecorded):
            raise InternalError(f"hand {ask.hand!r} was opened while this call had its turn")
        return self._store.recorded(ask.tenant, ask.hand, outcome)

    def _order(self, ask: OpenAsk) -> StepOrder:
        def make(seeds: DrawSeeds, provenance: bytes, drawn_at_ns: int) -> Sequence[StepDraft]:
            return open_steps(
                ask,
                seeds,
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
            # Whether it was recorded is not known.
            self._tables.doubt(ask.tenant, ask.table)
        self._tables.release(ask.tenant, ask.table, opened)
        if opened is not None:
            self._watch.opened(opened)
