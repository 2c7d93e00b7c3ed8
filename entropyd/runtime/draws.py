"""Waits for the gate, draws, and has what was drawn recorded.

Whoever asks for hands that were never drawn becomes a waiter here: one hand,
or a batch that is drawn and recorded as one. The hands of a waiter are being
drawn until its future is done, and nobody else may draw them meanwhile.

Hands that are released in one turn of the loop are drawn together and handed
to the writer together. A batch is released at once and drawn in parts, so that
readers, commits and callers run in between.

Owned by the event loop's thread.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from entropyd.entropy.gate import Gate, GatedBatch, GatedSeed, Hold, HoldReason
from entropyd.errors import EntropydError, InternalError
from entropyd.ledger.contract import AlreadySpent, HandDraft, Outcome
from entropyd.runtime.drawer import Drawer
from entropyd.runtime.orders import DrawOrder
from entropyd.runtime.waiters import WaiterQueue

# A turn of the loop draws this many hands before it lets readers, commits and callers run: about
# 5 ms of work, far below the 50 ms that separate our answer from a caller's deadline.
DRAWS_A_TURN = 64


class HandWriter(Protocol):
    """What draws need of the ledger's writer."""

    @property
    def stalled_s(self) -> float:
        """See `GroupCommitWriter.stalled_s`."""
        ...

    def submit(self, drafts: Sequence[HandDraft]) -> "list[asyncio.Future[Outcome]]":
        """See `GroupCommitWriter.submit`."""
        ...


class DrawObserver(Protocol):
    """Who counts. Called on the loop's thread; must not block."""

    def drawn(self, waited_s: float, outcome: str, *, seeds: int) -> None:
        """Note the end of a hand's draw: `recorded`, or `spent` if its id was taken meanwhile."""
        ...


class Waiter:
    """Whoever asked first for undrawn hands, and whoever else asks for them meanwhile.

    Attributes:
        tenant: whose hands.
        orders: the hands, at least one.
        batch: whether they share a reseed, and are one record.
        arrived_ns: since when it waits.
        future: resolves to an outcome for each order, in order.
        drawn: the samples are spent. From here on nothing but the ledger ends
            it: the hands are on their way to being spent.
    """

    __slots__ = ("arrived_ns", "batch", "drawn", "future", "orders", "tenant")

    def __init__(
        self,
        orders: Sequence[DrawOrder],
        *,
        batch: bool,
        arrived_ns: int,
        future: "asyncio.Future[list[Outcome]]",
    ) -> None:
        self.tenant = orders[0].tenant
        self.orders = orders
        self.batch = batch
        self.arrived_ns = arrived_ns
        self.future = future
        self.drawn = False

    @property
    def seeds(self) -> int:
        """How many seeds it takes; the reseed of a batch costs one."""
        return sum(order.seeds for order in self.orders) + self.batch


class Draws:
    """Everybody who waits for a draw, and every draw that is not recorded yet.

    Attributes:
        undrawn_seeds: how many seeds those take that wait.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        drawer: Drawer,
        writer: HandWriter,
        observer: DrawObserver,
        on_unrecorded: Callable[[], None],
        on_broken: Callable[[EntropydError], None],
        clock_ns: Callable[[], int],
        max_waiters: int,
        tenants: int,
    ) -> None:
        """Make one without waiters.

        Args:
            gate: releases seeds.
            drawer: draws.
            writer: records what was drawn.
            observer: counts.
            on_unrecorded: told when a commit was not confirmed.
            on_broken: told of an error after which nothing may be drawn any more; must dismiss
                everybody.
            clock_ns: monotonic clock.
            max_waiters: most hands that wait in all.
            tenants: how many tenants share the queue, at least 1.
        """
        self._gate = gate
        self._drawer = drawer
        self._writer = writer
        self._observer = observer
        self._on_unrecorded = on_unrecorded
        self._on_broken = on_broken
        self._clock_ns = clock_ns
        self._queue: WaiterQueue[Waiter] = WaiterQueue(
            capacity=max_waiters, share=max(1, max_waiters // tenants)
        )
        self._drawing: dict[tuple[str, str], Waiter] = {}
        self._pump_scheduled = False
        self._batches: set[asyncio.Task[None]] = set()
        self.undrawn_seeds = 0

    def __len__(self) -> int:
        """Return how many hands wait for the gate."""
        return len(self._queue)

    @property
    def share(self) -> int:
        """Most hands of one tenant that wait."""
        return self._queue.share

    def has_room(self, tenant: str, hands: int) -> bool:
        """Return whether so many hands of a tenant may wait."""
        return self._queue.has_room(tenant, hands)

    def of_hand(self, tenant: str, hand: str) -> Waiter | None:
        """Return who has a hand drawn now, or waits for it."""
        return self._drawing.get((tenant, hand))

    def add(self, orders: Sequence[DrawOrder], *, batch: bool) -> Waiter:
        """Let a new waiter wait; `pump` draws for it.

        None of its hands is being drawn by another waiter: who asks here has looked.
        """
        loop = asyncio.get_running_loop()
        waiter = Waiter(
            orders, batch=batch, arrived_ns=self._clock_ns(), future=loop.create_future()
        )
        for order in orders:
            self._drawing[order.tenant, order.hand] = waiter
        self._queue.add(waiter.tenant, waiter, len(orders))
        self.undrawn_seeds += waiter.seeds
        return waiter

    def give_up(self, waiter: Waiter, error: EntropydError) -> None:
        """End a waiter that was not drawn for. One that was goes on to the ledger."""
        if not self._queue.discard(waiter.tenant, waiter):
            return
        self.undrawn_seeds -= waiter.seeds
        self._fail(waiter, error)

    def dismiss(self, error: Callable[[], EntropydError]) -> None:
        """Send away everybody who still waits for the gate. Nothing of theirs was spent."""
        while (waiter := self._queue.first()) is not None:
            self.give_up(waiter, error())

    # --- releasing -----------------------------------------------------------

    def pump(self) -> None:
        """Draw for as many waiters as the gate releases seeds for. Safe to call at any time."""
        released: list[tuple[Waiter, Sequence[GatedSeed]]] = []
        hands = 0
        while hands < DRAWS_A_TURN and (one := self._release_next()) is not None:
            waiter, samples = one
            hands += len(waiter.orders)
            if isinstance(samples, GatedBatch):
                self._begin_batch(waiter, samples)
            else:
                released.append((waiter, samples))
        if released:
            self._draw(released)
        if hands >= DRAWS_A_TURN and not self._pump_scheduled:
            self._pump_scheduled = True
            asyncio.get_running_loop().call_soon(self._pump_again)

    def _pump_again(self) -> None:
        self._pump_scheduled = False
        self.pump()

    def _release_next(self) -> tuple[Waiter, Sequence[GatedSeed] | GatedBatch] | None:
        """Return the first waiter that the gate has samples for; they are spent now."""
        for waiter in self._queue.firsts():
            released = self._release(waiter)
            if not isinstance(released, Hold):
                self._queue.serve(waiter.tenant, waiter)
                self.undrawn_seeds -= waiter.seeds
                waiter.drawn = True
                return waiter, released
            # What a tenant's users owe is its own affair. All else that can be short is common to
            # all: whoever came after must not take it from a draw of many seeds that gathers it.
            if released.why is not HoldReason.USER_SHORT:
                return None
        return None

    def _release(self, waiter: Waiter) -> Sequence[GatedSeed] | GatedBatch | Hold:
        now_ns = self._clock_ns()
        if waiter.batch:
            return self._gate.try_release_batch(waiter.tenant, len(waiter.orders), now_ns)
        return self._gate.try_release(waiter.tenant, waiter.seeds, now_ns)

    # --- drawing and recording -------------------------------------------------

    def _draw(self, released: Sequence[tuple[Waiter, Sequence[GatedSeed]]]) -> None:
        """Draw and hand over to the ledger. The samples are spent, come what may.

        If it fails, nothing was recorded and nothing was shown: the hand ids
        are as unspent as before. Nothing may be drawn any more.
        """
        waiters = [waiter for waiter, _ in released]
        try:
            drafts = self._drawer.drafts(
                [(waiter.orders[0], samples) for waiter, samples in released]
            )
            recordings = self._writer.submit(drafts)
        except Exception as error:  # noqa: BLE001  no draw of ours can fail, so the daemon ends
            self._break(waiters, error)
            return
        for waiter, recording in zip(waiters, recordings, strict=True):
            self._await(waiter, [recording])

    def _begin_batch(self, waiter: Waiter, released: GatedBatch) -> None:
        """Make the seeds of a batch now, in its turn, and draw it in the turns that follow."""
        try:
            parts = self._drawer.batch_drafts(waiter.orders, released)
        except Exception as error:  # noqa: BLE001  as in `_draw`
            self._break([waiter], error)
            return
        task = asyncio.get_running_loop().create_task(self._draw_batch(waiter, parts))
        self._batches.add(task)
        task.add_done_callback(self._batches.discard)

    async def _draw_batch(
        self, waiter: Waiter, parts: Sequence[Callable[[], list[HandDraft]]]
    ) -> None:
        drafts: list[HandDraft] = []
        try:
            for draw in parts:
                drafts += draw()
                await asyncio.sleep(0)
            # One call, one commit: all hands of the batch are recorded, or none is.
            recordings = self._writer.submit(drafts)
        except Exception as error:  # noqa: BLE001  as in `_draw`
            self._break([waiter], error)
            return
        self._await(waiter, recordings)

    def _await(self, waiter: Waiter, recordings: "Sequence[asyncio.Future[Outcome]]") -> None:
        # One commit resolves all of them before it calls anybody back.
        recordings[-1].add_done_callback(lambda _: self._recorded(waiter, recordings))

    def _recorded(self, waiter: Waiter, done: "Sequence[asyncio.Future[Outcome]]") -> None:
        """The commit ended: answer from the records, or say that there may be none."""
        errors = [recording.exception() for recording in done]
        if errors[0] is not None:
            self._on_unrecorded()
            self._fail(waiter, errors[0])
            return
        self._settle(waiter)
        outcomes = [recording.result() for recording in done]
        waited_s = (self._clock_ns() - waiter.arrived_ns) / 1e9
        for order, outcome in zip(waiter.orders, outcomes, strict=True):
            kind = "spent" if isinstance(outcome, AlreadySpent) else "recorded"
            self._observer.drawn(waited_s, kind, seeds=order.seeds)
        waiter.future.set_result(outcomes)

    def _break(self, waiters: Sequence[Waiter], error: Exception) -> None:
        """Nothing is drawn any more, for nobody: what failed is not tried again."""
        fatal = _fatal(error)
        for waiter in waiters:
            self._fail(waiter, fatal)
        self._on_broken(fatal)

    def _fail(self, waiter: Waiter, error: BaseException) -> None:
        self._settle(waiter)
        waiter.future.set_exception(error)
        waiter.future.exception()  # looked at: nobody may be left to await it

    def _settle(self, waiter: Waiter) -> None:
        for order in waiter.orders:
            self._drawing.pop((order.tenant, order.hand), None)


def _fatal(error: Exception) -> EntropydError:
    """Return what the daemon ends with, and the caller of the failed draw is told."""
    if isinstance(error, EntropydError):
        return error
    defect = InternalError(f"a draw ended with {type(error).__name__}; nothing was recorded")
    defect.__cause__ = error
    return defect
