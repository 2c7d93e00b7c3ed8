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
from collections.abc import Callable, Sequence

from entropyd.entropy.gate import Gate, Hold, HoldReason
from entropyd.errors import (
    EntropydError,
    HandNotFoundError,
    InternalError,
    LedgerUnavailableError,
    ShuttingDownError,
)
from entropyd.ledger.contract import HandRecord
from entropyd.rbg.construction import SeedConstruction
from entropyd.runtime.asked import Asked, Tell
from entropyd.runtime.batches import deal_batch
from entropyd.runtime.drawer import Describe, Drawer, HandReceipts
from entropyd.runtime.draws import Draws, HandWriter
from entropyd.runtime.fill_rate import FillRate
from entropyd.runtime.orders import Dealt, DrawOrder
from entropyd.runtime.served_tables import ServedTables
from entropyd.runtime.step_calls import StepCalls
from entropyd.runtime.steps import CallObserver, HandFinder, Steps

# A synced commit takes milliseconds, and hundreds of them while a disk is busy with a backup. One
# that runs for longer than a stock client's patience is a disk that hangs: nobody is answered.
STALLED_S = 2.0


class Dealer:
    """Deals hands, one record each.

    Attributes:
        fill_rate: how fast credit comes in.
        step_calls: where draws are asked for that are recorded as steps.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        construction: SeedConstruction,
        hands: HandFinder,
        writer: HandWriter,
        observer: CallObserver,
        describe: Describe,
        receipts: HandReceipts | None = None,
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
            receipts: what receipts of hands are made of; None: they have none.
            on_fatal: told of an error after which nothing may be drawn any more.
            os_random: the operating system's generator.
            clock_ns: monotonic clock.
            wall_ns: wall clock, for claims only.
            max_waiters: most hands waiting in all.
            tenants: how many tenants share the queue, at least 1.
            tables: whose hands are drawn here; by default all.
        """
        self._tables = tables or ServedTables()
        self._gate = gate
        self._hands = hands
        self._writer = writer
        self._on_fatal = on_fatal
        self._clock_ns = clock_ns
        self.fill_rate = FillRate()
        self._draws = Draws(
            gate=gate,
            drawer=Drawer(
                construction,
                describe=describe,
                receipts=receipts,
                os_random=os_random,
                wall_ns=wall_ns,
            ),
            writer=writer,
            observer=observer,
            on_unrecorded=self._doubt_ledger,
            on_broken=self._end,
            clock_ns=clock_ns,
            max_waiters=max_waiters,
            tenants=tenants,
        )
        self._steps = Steps(
            gate=gate,
            draws=self._draws,
            hands=hands,
            observer=observer,
            fill_rate=self.fill_rate,
            tables=self._tables,
            clock_ns=clock_ns,
        )
        self.step_calls = StepCalls(self._steps)

    @property
    def in_flight(self) -> int:
        """How many calls were accepted and not answered yet; each hand of a stream is one."""
        return self._steps.in_flight

    @property
    def draining(self) -> asyncio.Event:
        """Set when no new draws are taken any more."""
        return self._steps.draining

    @property
    def waiters(self) -> int:
        """How many hands wait for the gate."""
        return len(self._draws)

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
        arrived_ns = self._steps.enter()
        try:
            dealt = await self._steps.deal(order, answer_by_ns)
        except (EntropydError, asyncio.CancelledError) as error:
            self._steps.note_failure(error, arrived_ns)
            raise
        finally:
            self._steps.leave()
        self._steps.note([dealt], arrived_ns)
        return dealt

    async def deal_batch(self, orders: Sequence[DrawOrder], *, answer_by_ns: int) -> list[Dealt]:
        """Return the records of hands, all of them or none, drawing those that never were.

        Those that are drawn share a reseed and are recorded in one commit.

        Args:
            orders: of one tenant, each of one seed, each hand once; at least one.
            answer_by_ns: monotonic time at which a caller that still waits is told to come back.

        Raises:
            RequestError: more hands than the reservoir has room for; nothing was drawn.
            HandSpentError: one of them was drawn with another claim or other parameters; nothing
                was drawn.
            EntropydError: as `deal`.
        """
        return await deal_batch(self._steps, orders, answer_by_ns=answer_by_ns)

    def ask_each(self, tell: Tell) -> Asked:
        """Return where hands are asked for that are answered one by one, none waiting for another.

        Args:
            tell: called once for each hand, at once or later, on the loop's thread, with what
                `deal` would return or raise. Those of one commit are told in one turn of the loop.
        """
        return Asked(self._steps, tell)

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

    def with_secrets(self, record: HandRecord) -> HandRecord:
        """Return a recorded hand with its seeds, blinding and salt key, which prove its cards.

        Raises:
            LedgerError: it cannot be read, or its secrets were destroyed.
        """
        found = self._hands.find(record.draft.tenant, record.draft.hand, with_secrets=True)
        if found is None:
            raise InternalError(f"hand {record.draft.hand!r} was recorded and is not found")
        return found

    # --- waiting -----------------------------------------------------------

    def pump(self) -> None:
        """Draw for as many waiters as the gate releases seeds for. Safe to call at any time."""
        self._draws.pump()

    # --- stopping ----------------------------------------------------------

    def drain(self) -> None:
        """Take no new draws from now on. Recorded hands are still answered."""
        self._steps.draining.set()

    async def wait_until_idle(self, limit_s: float) -> None:
        """Return when no call is in flight, or after `limit_s` seconds."""
        await self._steps.wait_until_idle(limit_s)

    def dismiss_waiters(self) -> None:
        """Send away everybody who still waits for the gate. Nothing of theirs was spent."""
        self._draws.dismiss(lambda: ShuttingDownError("the daemon is stopping; ask again"))

    def _doubt_ledger(self) -> None:
        self._steps.doubt_ledger()

    def _end(self, error: EntropydError) -> None:
        """End the daemon. What failed is not tried again: nobody else is drawn for."""
        self.drain()
        self.dismiss_waiters()
        self._on_fatal(error)


def _stalled_hold(stalled_s: float) -> Hold:
    return Hold(
        HoldReason.LEDGER_UNAVAILABLE,
        0,
        0,
        f"ledger: a commit has been running for {stalled_s:.1f} s; awaited: the disk, see the"
        " kernel's messages",
    )
