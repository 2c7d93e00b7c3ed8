"""The steps of a call for hands, whatever it asks for: one hand, a batch, or one after the other.

    follow    another call has the hand drawn: what becomes of it decides
    find      a hand that was drawn is answered from the ledger
    enqueue   one that was not waits for the gate, if the ledger could record it
    outcome   recorded, or the time is over, or the caller hung up

A caller that gives up while waiting leaves nothing behind. One that gives up
after the draw, or whose time is over then, does not stop the record: the retry
finds it. Owned by the event loop's thread.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from entropyd.entropy.gate import Gate, Hold
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HandSpentError,
    LedgerUnavailableError,
    OverloadError,
    ShuttingDownError,
)
from entropyd.ledger.contract import AlreadySpent, HandRecord, Outcome
from entropyd.runtime.draws import DrawObserver, Draws
from entropyd.runtime.fill_rate import FillRate
from entropyd.runtime.orders import Dealt, DrawOrder, judge
from entropyd.runtime.served_tables import ServedTables
from entropyd.runtime.waiter import AnyWaiter, Waiter, Waiting

# A ledger that could record is asked again after this time, or at once if a commit fails: a store
# that breaks in between costs the seeds of 10 ms of draws, and whoever asked is told to come back.
# Asking takes three system calls, as long as to find a hand.
PROBE_NS = 10_000_000

R = TypeVar("R")


class HandFinder(Protocol):
    """What calls need of the ledger."""

    def find(self, tenant: str, hand: str, *, with_secrets: bool = False) -> HandRecord | None:
        """See `Ledger.find`."""
        ...

    def spent_among(self, tenant: str, hands: Sequence[str]) -> set[str]:
        """See `Ledger.spent_among`."""
        ...

    def probe(self) -> None:
        """See `Ledger.probe`."""
        ...


class CallObserver(DrawObserver, Protocol):
    """Who counts. Called on the loop's thread; must not block."""

    def undrawn(self, outcome: str, *, lasted_s: float) -> None:
        """Note a call that got no deck of its own, by its outcome in `metrics.DRAW_OUTCOMES`."""
        ...


class Steps:
    """What calls for hands do, and what they share.

    Attributes:
        in_flight: how many calls were accepted and not answered yet.
        draining: set when no new draws are taken any more.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        draws: Draws,
        hands: HandFinder,
        observer: CallObserver,
        fill_rate: FillRate,
        tables: ServedTables,
        clock_ns: Callable[[], int],
    ) -> None:
        """Make them.

        Args:
            gate: says what is awaited.
            draws: waits and draws.
            hands: finds recorded hands.
            observer: counts.
            fill_rate: says when to come back.
            tables: whose hands are drawn here.
            clock_ns: monotonic clock.
        """
        self.gate = gate
        self.draws = draws
        self.fill_rate = fill_rate
        self.clock_ns = clock_ns
        self._hands = hands
        self._observer = observer
        self._tables = tables
        # Calls that wait for another call's draw, by tenant: bounded like those that wait for one.
        self._followers: Counter[str] = Counter()
        # When the ledger last said that it could record; None since it said that it could not.
        self._probed_ns: int | None = None
        self.draining = asyncio.Event()
        self.in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    # --- a call begins and ends ------------------------------------------------

    def enter(self) -> int:
        """Count a call that begins, and return when that is."""
        self.in_flight += 1
        self._idle.clear()
        return self.clock_ns()

    def leave(self) -> None:
        """Count a call that ends."""
        self.in_flight -= 1
        if not self.in_flight:
            self._idle.set()

    def note(self, dealt: Iterable[Dealt], arrived_ns: int) -> None:
        """Tell the observer of hands that were answered from the ledger; draws count themselves."""
        for one in dealt:
            if one.replayed:
                self.note_replayed(arrived_ns)

    def note_replayed(self, arrived_ns: int) -> None:
        """Tell the observer of a call that was answered from the ledger."""
        self._observer.undrawn("replayed", lasted_s=self._seconds_since(arrived_ns))

    def note_failure(self, error: BaseException, arrived_ns: int) -> None:
        """Tell the observer of a call that got no deck."""
        self._observer.undrawn(_outcome(error), lasted_s=self._seconds_since(arrived_ns))

    async def wait_until_idle(self, limit_s: float) -> None:
        """Return when no call is in flight, or after `limit_s` seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), limit_s)

    # --- one hand ----------------------------------------------------------------

    async def deal(self, order: DrawOrder, answer_by_ns: int) -> Dealt:
        """Take all steps of one hand. Raises as `Dealer.deal`."""
        # Another call for this hand is being drawn: whatever becomes of it decides about this one.
        await self.follow_others([order], answer_by_ns)
        found = self.find(order)
        if found is not None:
            return found
        waiter = self.enqueue([order])
        self.draws.pump()
        [outcome] = await self.outcomes(waiter, answer_by_ns)
        return dealt_of(order, outcome)

    # --- follow and find -------------------------------------------------------

    async def follow_others(self, orders: Sequence[DrawOrder], answer_by_ns: int) -> None:
        """Wait until no other call has one of these hands drawn.

        Raises:
            EntropydError: this call's time is over, or too many wait for others' draws.
        """
        while (other := self.first_other(orders)) is not None:
            await self.follow(other, answer_by_ns)

    def first_other(self, orders: Iterable[DrawOrder]) -> Waiter | None:
        """Return a call that has one of these hands drawn now, if there is one."""
        others = (self.draws.of_hand(order.tenant, order.hand) for order in orders)
        return next((other for other in others if other is not None), None)

    def find(self, order: DrawOrder) -> Dealt | None:
        """Return the record of a hand that was drawn, to whoever may have it.

        Raises:
            HandSpentError: drawn with another claim or other parameters.
            LedgerError: it cannot be read.
        """
        record = self._hands.find(order.tenant, order.hand)
        if record is None:
            return None
        return Dealt(judge(record, order.binding, order.claim_digest), replayed=True)

    def spent_among(self, orders: Sequence[DrawOrder]) -> set[str]:
        """Return which of the hands were drawn, most often none, in one question."""
        return self._hands.spent_among(orders[0].tenant, [order.hand for order in orders])

    def require_served(self, place: str) -> None:
        """Refuse what another node draws.

        Args:
            place: the id of a table, match, raffle or player.

        Raises:
            WrongNodeError: it is not this node's.
        """
        self._tables.require(place)

    # --- enqueue and wait --------------------------------------------------------

    def enqueue(self, orders: Sequence[DrawOrder], *, batch: bool = False) -> Waiter:
        """Let hands wait that nobody has drawn. Whoever calls lets `draws` pump.

        Raises:
            ShuttingDownError: nothing new is drawn any more.
            WrongNodeError: another node deals for a table.
            OverloadError: too many wait.
            LedgerError: what would be drawn could not be recorded.
        """
        self.require_open()
        return self.enqueue_open(orders, batch=batch)

    def require_open(self) -> None:
        """Refuse to draw what nobody could be shown: its samples wait for better days.

        Raises:
            ShuttingDownError: nothing new is drawn any more.
            LedgerError: what would be drawn could not be recorded.
        """
        if self.draining.is_set():
            raise ShuttingDownError("the daemon is stopping; ask again when it is back")
        now_ns = self.clock_ns()
        if self._probed_ns is None or now_ns - self._probed_ns >= PROBE_NS:
            self._probed_ns = None
            self._hands.probe()
            self._probed_ns = now_ns

    def enqueue_open(self, orders: Sequence[DrawOrder], *, batch: bool = False) -> Waiter:
        """Let hands wait as `enqueue` does, just after `require_open`.

        Raises:
            WrongNodeError: another node deals for a table.
            OverloadError: too many wait.
        """
        # Here and not where a call comes in: a hand that was drawn when its table was still served
        # is answered for ever, for no other node can.
        for order in orders:
            self._tables.require(order.table)
        tenant = orders[0].tenant
        if not self.draws.has_room(tenant, len(orders)):
            raise self.overload_error(len(self.draws), tenant)
        return self.draws.add(orders, batch=batch)

    async def outcomes(self, waiter: AnyWaiter[R], answer_by_ns: int) -> Sequence[R]:
        """Wait for a draw of this call's own.

        Raises:
            EntropydError: it failed, or the time is over; then it was given up unless it was
                drawn, or gathers its seeds whether anybody waits or not.
        """
        try:
            await self._until_decided(waiter, answer_by_ns)
        except asyncio.CancelledError:
            self._let_go(waiter, ShuttingDownError("the caller hung up"))
            raise
        if not waiter.decided:
            error = self.out_of_time(waiter)
            self._let_go(waiter, error)
            raise error
        return waiter.outcomes()

    def _let_go(self, waiter: Waiting, error: EntropydError) -> None:
        if not waiter.gathers:
            self.draws.give_up(waiter, error)

    def doubt_ledger(self) -> None:
        """Ask the ledger before the next draw whether it can record."""
        self._probed_ns = None

    async def follow(self, other: Waiting, answer_by_ns: int) -> None:
        """Wait for a draw of another call's.

        Raises:
            EntropydError: this call's time is over, or too many wait for others' draws.
        """
        tenant = other.tenant
        if self._followers[tenant] >= self.draws.share:
            raise self.overload_error(self._followers[tenant], tenant)
        self._followers[tenant] += 1
        try:
            await self._until_decided(other, answer_by_ns)
        finally:
            self._followers[tenant] -= 1
        if not other.decided:
            raise self.out_of_time(other)

    async def _until_decided(self, waiter: Waiting, answer_by_ns: int) -> None:
        """Wait until a draw is decided or the time is over. A caller that hangs up ends neither.

        As `asyncio.wait` with a timeout, in half of its time.
        """
        if waiter.decided:
            return
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def wake(_decided: Waiting | None = None) -> None:
            if not over.done():
                over.set_result(None)

        waiter.listen(wake)
        timer = loop.call_later(max(0, answer_by_ns - self.clock_ns()) / 1e9, wake)
        try:
            await over
        finally:
            timer.cancel()
            waiter.ignore(wake)

    # --- what callers are told -----------------------------------------------------

    def out_of_time(self, waiter: Waiting) -> EntropydError:
        """Return what a caller is told whose time is over before the draw was decided."""
        if waiter.gathers:
            return self._goes_on(waiter)
        if waiter.drawn:
            return LedgerUnavailableError(
                "it is drawn and the ledger has not confirmed it yet; nothing was shown, ask again"
                " with the same request"
            )
        now_ns = self.clock_ns()
        if isinstance(waiter, Waiter) and waiter.batch:
            hold = self.gate.check_batch(waiter.tenant, len(waiter.orders), now_ns)
        else:
            hold = self.gate.check(waiter.tenant, waiter.seeds, now_ns)
        return self.hold_error(hold.text if hold is not None else "others were served first", hold)

    def _goes_on(self, waiter: Waiting) -> EntropyHoldError:
        have = waiter.seeds - waiter.lacking
        needed = waiter.lacking * self.gate.policy.seed_millibits
        return EntropyHoldError(
            f"a large draw goes on: {have} of {waiter.seeds} seeds have come in; ask again with the"
            " same request, which finds it",
            why="LARGE_DRAW",
            retry_after_s=self.fill_rate.seconds_for(needed, self.clock_ns()),
        )

    def hold_error(self, text: str, hold: Hold | None) -> EntropyHoldError:
        """Return a refusal that says what is awaited and when to come back."""
        return EntropyHoldError(
            f"dealing is held: {text}; nothing was spent, ask again with the same request",
            why="BUSY" if hold is None else hold.why,
            retry_after_s=self._retry_after_s(hold),
        )

    def overload_error(self, waiting: int, tenant: str) -> OverloadError:
        """Return a refusal at the door of a queue that so many wait in."""
        return OverloadError(
            f"{waiting} callers wait and tenant {tenant!r} may have {self.draws.share} of them;"
            " nothing was spent, ask again later",
            retry_after_s=self._retry_after_s(None),
        )

    def _retry_after_s(self, hold: Hold | None) -> float:
        waiting = self.draws.undrawn_seeds * self.gate.policy.seed_millibits
        return self.fill_rate.seconds_after(hold, waiting, self.clock_ns())

    def _seconds_since(self, began_ns: int) -> float:
        return (self.clock_ns() - began_ns) / 1e9


def dealt_of(order: DrawOrder, outcome: Outcome) -> Dealt:
    """Return what an order gets of the commit of its draw.

    Raises:
        HandSpentError: the hand was spent meanwhile, with another claim or other parameters.
    """
    if isinstance(outcome, AlreadySpent):
        if outcome.record is None:
            raise HandSpentError(
                "this id is one of a hand that is dealt card by card; ask HandService for it, or"
                " use a new hand id"
            )
        return Dealt(judge(outcome.record, order.binding, order.claim_digest), replayed=True)
    return Dealt(outcome.record, replayed=False)


def _outcome(error: BaseException) -> str:
    """Return what the metrics call a call that got no deck."""
    match error:
        case EntropyHoldError() | ShuttingDownError():
            return "held"
        case OverloadError():
            return "overloaded"
        case LedgerUnavailableError():
            return "unrecorded"
        case asyncio.CancelledError():
            return "cancelled"
        case _:
            return "refused"
