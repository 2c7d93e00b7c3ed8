"""Deals: finds a spent hand, or waits for the gate, draws, records, and only then answers.

Owned by the event loop's thread. The order of effects is the whole point:

    find      a hand that was drawn is answered from the ledger, without the gate
    wait      in a bounded fair queue, until the gate releases all seeds of the draw
    draw      the seeds are spent now; nobody has seen the deck
    record    one synced transaction; dying before its end loses an unseen deck,
              dying after it changes nothing: the hand is found again
    answer    from the record, never from the draw

A caller that gives up while waiting leaves nothing behind. One that gives up
after the draw, or whose time is over then, does not stop the record: the retry
finds it.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from entropyd.entropy.gate import Gate, GatedSeed, Hold, HoldReason
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HandNotFoundError,
    InternalError,
    LedgerUnavailableError,
    OverloadError,
    ShuttingDownError,
)
from entropyd.ledger.contract import AlreadySpent, HandDraft, HandRecord, Outcome
from entropyd.rbg.construction import SeedConstruction
from entropyd.runtime.drawer import Describe, Drawer
from entropyd.runtime.fill_rate import FillRate
from entropyd.runtime.orders import Dealt, DrawOrder, judge
from entropyd.runtime.served_tables import ServedTables
from entropyd.runtime.waiters import WaiterQueue

# A turn of the loop draws this many hands before it lets readers, commits and callers run: about
# 5 ms of work, far below the 50 ms that separate our answer from a caller's deadline.
DRAWS_A_TURN = 32

# A ledger that could record is asked again after this time, or at once if a commit fails: a store
# that breaks in between costs the seeds of 10 ms of draws, and whoever asked is told to come back.
# Asking takes three system calls, as long as to find a hand.
PROBE_NS = 10_000_000

# A synced commit takes milliseconds, and hundreds of them while a disk is busy with a backup. One
# that runs for longer than a stock client's patience is a disk that hangs: nobody is answered.
STALLED_S = 2.0


class HandFinder(Protocol):
    """What the dealer needs of the ledger."""

    def find(self, tenant: str, hand: str) -> HandRecord | None:
        """See `Ledger.find`."""
        ...

    def probe(self) -> None:
        """See `Ledger.probe`."""
        ...


class HandWriter(Protocol):
    """What the dealer needs of the ledger's writer."""

    @property
    def stalled_s(self) -> float:
        """See `GroupCommitWriter.stalled_s`."""
        ...

    def submit(self, draft: HandDraft) -> "asyncio.Future[Outcome]":
        """See `GroupCommitWriter.submit`."""
        ...


class DealerObserver(Protocol):
    """Who counts. Called on the loop's thread; must not block."""

    def drawn(self, waited_s: float, outcome: str, *, seeds: int) -> None:
        """Note the end of a draw: `recorded`, or `spent` if its id was taken meanwhile."""
        ...

    def undrawn(self, outcome: str, *, lasted_s: float) -> None:
        """Note a call that got no deck of its own, by its outcome in `metrics.DRAW_OUTCOMES`."""
        ...


class _Waiter:
    """One caller of one undrawn hand, and whoever else asks for the same hand meanwhile."""

    __slots__ = ("arrived_ns", "drawn", "future", "order")

    def __init__(
        self, order: DrawOrder, arrived_ns: int, future: "asyncio.Future[Outcome]"
    ) -> None:
        self.order = order
        self.arrived_ns = arrived_ns
        self.future = future
        # From the draw on nothing but the ledger ends it: the hand is on its way to being spent.
        self.drawn = False


class Dealer:
    """Deals hands, one record each."""

    def __init__(
        self,
        *,
        gate: Gate,
        construction: SeedConstruction,
        hands: HandFinder,
        writer: HandWriter,
        observer: DealerObserver,
        describe: Describe,
        on_fatal: Callable[[EntropydError], None],
        os_random: Callable[[int], bytes],
        clock_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        max_waiters: int,
        tenants: int,
        tables: ServedTables | None = None,
    ) -> None:
        """Make a dealer.

        Args:
            gate: releases seeds.
            construction: makes them.
            hands: finds recorded hands.
            writer: records drawn ones.
            observer: counts.
            describe: makes the stored provenance of a draw from its gated seeds and the wall time.
            on_fatal: told of an error after which nothing may be drawn any more.
            os_random: the operating system's generator.
            clock_ns: monotonic clock.
            wall_ns: wall clock, for claims only.
            max_waiters: most callers waiting in all.
            tenants: how many tenants share the queue, at least 1.
            tables: whose hands are drawn here; by default all.
        """
        self._tables = tables or ServedTables()
        self._gate = gate
        self._drawer = Drawer(construction, describe=describe, os_random=os_random, wall_ns=wall_ns)
        self._hands = hands
        self._writer = writer
        self._observer = observer
        self._on_fatal = on_fatal
        self._clock_ns = clock_ns
        self._queue: WaiterQueue[_Waiter] = WaiterQueue(
            capacity=max_waiters, share=max(1, max_waiters // tenants)
        )
        self._undrawn_seeds = 0
        self._drawing: dict[tuple[str, str], _Waiter] = {}
        # Calls that wait for another call's draw, by tenant: bounded like those that wait for one.
        self._followers: Counter[str] = Counter()
        self._pump_scheduled = False
        self._draining = False
        # When the ledger last said that it could record; None since it said that it could not.
        self._probed_ns: int | None = None
        self.fill_rate = FillRate()
        self.in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiters(self) -> int:
        """How many callers wait for the gate."""
        return len(self._queue)

    def hold(self, tenant: str) -> Hold | None:
        """Return why a draw of one seed would be held now, or None.

        A reservoir that is emptied as fast as it fills is load and not a
        hold: whoever asks waits for nothing but a turn. A ledger that cannot
        record is one: what cannot be recorded is not drawn.

        Raises:
            LedgerDamagedError: the ledger is not what it was. Fatal.
        """
        try:
            self._hands.probe()
        except LedgerUnavailableError as error:
            return Hold(HoldReason.LEDGER_UNAVAILABLE, 0, 0, str(error))
        if self._writer.stalled_s >= STALLED_S:
            return _stalled_hold(self._writer.stalled_s)
        now_ns = self._clock_ns()
        hold = self._gate.check(tenant, 1, now_ns)
        if hold is None or hold.why is not HoldReason.HARDWARE_SHORT:
            return hold
        return None if self.fill_rate.millibits_per_second(now_ns) else hold

    def hold_for_any(self, tenants: Sequence[str]) -> Hold | None:
        """Return why no tenant could be dealt to now, or None if one could."""
        holds = [self.hold(tenant) for tenant in tenants]
        return holds[0] if all(hold is not None for hold in holds) else None

    # --- one call ----------------------------------------------------------

    async def deal(self, order: DrawOrder, *, answer_by_ns: int) -> Dealt:
        """Return the record of a hand, drawing it if it never was.

        Args:
            order: what to draw.
            answer_by_ns: monotonic time at which a caller that still waits is told to come back.

        Raises:
            HandSpentError: drawn with another claim or other parameters; nothing was drawn.
            WrongNodeError: never drawn here, and its table is another node's; nothing was drawn.
            EntropyHoldError: the gate did not open in time; nothing was spent.
            OverloadError: too many wait, in the queue or for this hand; nothing was spent.
            ShuttingDownError: the daemon drains, and the hand was never drawn; nothing was spent.
            LedgerUnavailableError: it cannot record now, or did not confirm in time; nothing was
                shown, asking again is safe.
            LedgerDamagedError: it contradicts itself, or its files are gone. Fatal.
            InternalError: the draw failed; nothing was spent. Fatal: nothing is drawn any more.
        """
        self.in_flight += 1
        self._idle.clear()
        arrived_ns = self._clock_ns()
        try:
            dealt = await self._deal(order, answer_by_ns)
        except (EntropydError, asyncio.CancelledError) as error:
            self._observer.undrawn(_outcome(error), lasted_s=self._seconds_since(arrived_ns))
            raise
        finally:
            self.in_flight -= 1
            if not self.in_flight:
                self._idle.set()
        if dealt.replayed:
            self._observer.undrawn("replayed", lasted_s=self._seconds_since(arrived_ns))
        return dealt

    async def _deal(self, order: DrawOrder, answer_by_ns: int) -> Dealt:
        key = (order.tenant, order.hand)
        # Another call for this hand is being drawn: whatever becomes of it decides about this one.
        while (other := self._drawing.get(key)) is not None:
            await self._follow(other, order, answer_by_ns)
        record = self._hands.find(order.tenant, order.hand)
        if record is not None:
            return Dealt(judge(record, order.binding, order.claim_digest), replayed=True)
        waiter = self._enqueue(order)
        try:
            await self._until_decided(waiter, answer_by_ns)
        except asyncio.CancelledError:
            self._give_up(waiter, ShuttingDownError("the caller hung up"))
            raise
        if not waiter.future.done():
            error = self._out_of_time(waiter)
            self._give_up(waiter, error)
            raise error
        outcome = waiter.future.result()
        if isinstance(outcome, AlreadySpent):
            judged = judge(outcome.record, order.binding, order.claim_digest)
            return Dealt(judged, replayed=True)
        return Dealt(outcome.record, replayed=False)

    def find(self, tenant: str, table: str, hand: str) -> HandRecord:
        """Return the record of a hand, never drawing. It may have been drawn at another table.

        Raises:
            WrongNodeError: never drawn here, and `table` is another node's.
            HandNotFoundError: never drawn here.
        """
        record = self._hands.find(tenant, hand)
        if record is None:
            self._tables.require(table)
            raise HandNotFoundError(f"hand {hand!r} was never drawn here; Shuffle draws it")
        return record

    def _enqueue(self, order: DrawOrder) -> _Waiter:
        if self._draining:
            raise ShuttingDownError("the daemon is stopping; ask again when it is back")
        # Here and not where a call comes in: a hand that was drawn when its table was still served
        # is answered for ever, for no other node can.
        self._tables.require(order.table)
        if not self._queue.has_room(order.tenant):
            raise self._overload_error(len(self._queue), order.tenant)
        self._require_ledger()
        loop = asyncio.get_running_loop()
        waiter = _Waiter(order, self._clock_ns(), loop.create_future())
        self._drawing[order.tenant, order.hand] = waiter
        self._queue.add(order.tenant, waiter)
        self._undrawn_seeds += order.seeds
        self.pump()
        return waiter

    def _require_ledger(self) -> None:
        """Refuse to draw what nobody could be shown: its samples wait for better days."""
        now_ns = self._clock_ns()
        if self._probed_ns is None or now_ns - self._probed_ns >= PROBE_NS:
            self._probed_ns = None
            self._hands.probe()
            self._probed_ns = now_ns

    async def _follow(self, other: _Waiter, order: DrawOrder, answer_by_ns: int) -> None:
        """Wait until another call's draw is decided, or this call's time is over."""
        tenant = order.tenant
        if self._followers[tenant] >= self._queue.share:
            raise self._overload_error(self._followers[tenant], tenant)
        self._followers[tenant] += 1
        try:
            await self._until_decided(other, answer_by_ns)
        finally:
            self._followers[tenant] -= 1
        if not other.future.done():
            raise self._out_of_time(other)

    async def _until_decided(self, waiter: _Waiter, answer_by_ns: int) -> None:
        """Wait until a draw is decided or the time is over. A caller that hangs up ends neither.

        As `asyncio.wait` with a timeout, in half of its time.
        """
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def wake(_decided: "asyncio.Future[Outcome] | None" = None) -> None:
            if not over.done():
                over.set_result(None)

        waiter.future.add_done_callback(wake)
        timer = loop.call_later(max(0, answer_by_ns - self._clock_ns()) / 1e9, wake)
        try:
            await over
        finally:
            timer.cancel()
            waiter.future.remove_done_callback(wake)

    # --- waiting -----------------------------------------------------------

    def pump(self) -> None:
        """Draw for as many waiters as the gate releases seeds for. Safe to call at any time."""
        for _ in range(DRAWS_A_TURN):
            try:
                if not self._draw_next():
                    return
            except Exception as error:  # noqa: BLE001  no draw of ours can fail, so the daemon ends
                self._end(_fatal(error))
                return
        if not self._pump_scheduled:
            self._pump_scheduled = True
            asyncio.get_running_loop().call_soon(self._pump_again)

    def _pump_again(self) -> None:
        self._pump_scheduled = False
        self.pump()

    def _draw_next(self) -> bool:
        """Draw for the first waiter that the gate has seeds for. Return whether there was one."""
        for waiter in self._queue.firsts():
            order = waiter.order
            released = self._gate.try_release(order.tenant, order.seeds, self._clock_ns())
            if not isinstance(released, Hold):
                self._queue.serve(order.tenant, waiter)
                self._undrawn_seeds -= order.seeds
                self._draw(waiter, released)
                return True
            # What a tenant's users owe is its own affair. All else that can be short is common to
            # all: whoever came after must not take it from a draw of many seeds that gathers it.
            if released.why is not HoldReason.USER_SHORT:
                return False
        return False

    def _end(self, error: EntropydError) -> None:
        """End the daemon. What failed is not tried again: nobody else is drawn for."""
        self.drain()
        self.dismiss_waiters()
        self._on_fatal(error)

    def _out_of_time(self, waiter: _Waiter) -> EntropydError:
        """Return what a caller is told whose time is over before the draw was decided."""
        if waiter.drawn:
            return LedgerUnavailableError(
                "the hand is drawn and the ledger has not confirmed it yet; nothing was shown,"
                " ask again with the same request"
            )
        hold = self._gate.check(waiter.order.tenant, waiter.order.seeds, self._clock_ns())
        text = hold.text if hold is not None else "others were served first"
        return self._hold_error(text, hold)

    def _give_up(self, waiter: _Waiter, error: EntropydError) -> None:
        """End a waiter that was not drawn for. One that was goes on to the ledger."""
        if not self._queue.discard(waiter.order.tenant, waiter):
            return
        self._undrawn_seeds -= waiter.order.seeds
        self._fail(waiter, error)

    def _fail(self, waiter: _Waiter, error: BaseException) -> None:
        self._settle(waiter)
        waiter.future.set_exception(error)
        waiter.future.exception()  # looked at: nobody may be left to await it

    def _settle(self, waiter: _Waiter) -> None:
        self._drawing.pop((waiter.order.tenant, waiter.order.hand), None)

    def _overload_error(self, waiting: int, tenant: str) -> OverloadError:
        return OverloadError(
            f"{waiting} callers wait and tenant {tenant!r} may have {self._queue.share} of them;"
            " nothing was spent, ask again later",
            retry_after_s=self._retry_after_s(None),
        )

    def _hold_error(self, text: str, hold: Hold | None) -> EntropyHoldError:
        return EntropyHoldError(
            f"dealing is held: {text}; nothing was spent, ask again with the same request",
            why="BUSY" if hold is None else hold.why,
            retry_after_s=self._retry_after_s(hold),
        )

    def _retry_after_s(self, hold: Hold | None) -> float:
        waiting = self._undrawn_seeds * self._gate.policy.seed_millibits
        return self.fill_rate.seconds_after(hold, waiting, self._clock_ns())

    # --- drawing and recording --------------------------------------------

    def _draw(self, waiter: _Waiter, released: Sequence[GatedSeed]) -> None:
        """Draw and hand over to the ledger. The samples are spent from here on, come what may.

        Raises:
            Exception: nothing was recorded and nothing was shown: the hand id is as unspent as
                before. Nothing may be drawn any more.
        """
        waiter.drawn = True
        try:
            draft = self._drawer.draft(waiter.order, released)
            recording = self._writer.submit(draft)
        except Exception as error:
            self._fail(waiter, _fatal(error))
            raise
        recording.add_done_callback(lambda done: self._recorded(waiter, done))

    def _recorded(self, waiter: _Waiter, done: "asyncio.Future[Outcome]") -> None:
        """The commit ended: answer from the record, or say that there may be none."""
        error = done.exception()
        if error is not None:
            self._probed_ns = None
            self._fail(waiter, error)
            return
        self._settle(waiter)
        outcome = done.result()
        kind = "spent" if isinstance(outcome, AlreadySpent) else "recorded"
        self._observer.drawn(self._seconds_since(waiter.arrived_ns), kind, seeds=waiter.order.seeds)
        waiter.future.set_result(outcome)

    def _seconds_since(self, began_ns: int) -> float:
        return (self._clock_ns() - began_ns) / 1e9

    # --- stopping ----------------------------------------------------------

    def drain(self) -> None:
        """Take no new draws from now on. Recorded hands are still answered."""
        self._draining = True

    async def wait_until_idle(self, limit_s: float) -> None:
        """Return when no call is in flight, or after `limit_s` seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), limit_s)

    def dismiss_waiters(self) -> None:
        """Send away everybody who still waits for the gate. Nothing of theirs was spent."""
        while (waiter := self._queue.first()) is not None:
            self._give_up(waiter, ShuttingDownError("the daemon is stopping; ask again"))


def _stalled_hold(stalled_s: float) -> Hold:
    return Hold(
        HoldReason.LEDGER_UNAVAILABLE,
        0,
        0,
        f"ledger: a commit has been running for {stalled_s:.1f} s; awaited: the disk, see the"
        " kernel's messages",
    )


def _fatal(error: Exception) -> EntropydError:
    """Return what the daemon ends with, and the caller of the failed draw is told."""
    if isinstance(error, EntropydError):
        return error
    defect = InternalError(f"a draw ended with {type(error).__name__}; nothing was recorded")
    defect.__cause__ = error
    return defect


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
