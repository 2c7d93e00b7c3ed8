"""Waits for the gate, draws, and has what was drawn recorded.

Whoever asks for what was never drawn becomes a waiter here: for one hand, for
a batch that is drawn and recorded as one, or for a draw that is recorded as
steps of a subject. What a waiter asks for is being drawn until it is decided,
and nobody else may draw it meanwhile.

Hands that are released in one turn of the loop are drawn together and handed
to the writer together. A batch is released at once and drawn in parts, so that
readers, commits and callers run in between. A draw that gathers is released in
parts: each of its turns gives it some seeds, and everybody else who waits has
a turn before its next one.

Owned by the event loop's thread.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Sequence
from itertools import compress, takewhile
from typing import Any, Protocol, overload

from entropyd.entropy.gate import Gate, GatedBatch, GatedSeed, Hold, HoldReason
from entropyd.errors import EntropydError, InternalError, ShuttingDownError
from entropyd.ledger.contract import AlreadySpent, HandDraft, Outcome
from entropyd.ledger.subjects import StepDraft, StepOutcome, StepRecorded
from entropyd.runtime.apart import apart
from entropyd.runtime.drawer import Drawer
from entropyd.runtime.orders import DrawOrder, StepOrder
from entropyd.runtime.waiter import Queued, StepRecording, StepWaiter, Waiter, Waiting
from entropyd.runtime.waiters import WaiterQueue

# A turn of the loop draws this many hands before it lets readers, commits and callers run: about
# 6 ms of work, far below the 50 ms that separate our answer from a caller's deadline.
DRAWS_A_TURN = 128
# A draw that gathers gets so many seeds in its turn. It delays everybody else by that much of what
# the source gives, 3 ms of a Quantis, and in a full line of 64 callers has a fifth of it.
SEEDS_A_PART = 16


class HandWriter(Protocol):
    """What draws need of the ledger's writer."""

    @property
    def stalled_s(self) -> float:
        """See `GroupCommitWriter.stalled_s`."""
        ...

    @overload
    def submit(self, drafts: Sequence[HandDraft]) -> "asyncio.Future[list[Outcome]]": ...

    @overload
    def submit(self, drafts: Sequence[StepDraft]) -> "asyncio.Future[list[StepOutcome]]": ...

    def submit(self, drafts: Sequence[Any]) -> "asyncio.Future[Any]":
        """See `GroupCommitWriter.submit`."""
        ...


class DrawObserver(Protocol):
    """Who counts. Called on the loop's thread; must not block."""

    def drawn(self, outcome: str, *, waits_s: Sequence[float], reseeds: int) -> None:
        """Note the ends of draws: `recorded`, or `spent` if their ids were taken meanwhile.

        Args:
            outcome: of all of them.
            waits_s: how long each was waited for.
            reseeds: of the generator, for all of them.
        """
        ...


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
        self._queue: WaiterQueue[Queued] = WaiterQueue(
            capacity=max_waiters, share=max(1, max_waiters // tenants)
        )
        self._drawing: dict[tuple[str, str], Waiter] = {}
        self._drawing_steps: dict[Hashable, StepWaiter] = {}
        self._pump_scheduled = False
        self._tasks: set[asyncio.Task[None]] = set()
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

    def of_step(self, key: Hashable) -> StepWaiter | None:
        """Return who draws under a key of a step order now, or waits to."""
        return self._drawing_steps.get(key)

    def gathering(self, tenant: str) -> list[StepWaiter]:
        """Return the draws of a tenant that gather seeds, or are computed from them."""
        return [
            waiter
            for waiter in self._drawing_steps.values()
            if waiter.gathers and waiter.tenant == tenant
        ]

    def add(self, orders: Sequence[DrawOrder], *, batch: bool) -> Waiter:
        """Let a new waiter wait; `pump` draws for it.

        None of its hands is being drawn by another waiter: who asks here has looked.
        """
        waiter = Waiter(orders, batch=batch, arrived_ns=self._clock_ns())
        for order in orders:
            self._drawing[order.tenant, order.hand] = waiter
        self._queue.add(waiter.tenant, waiter, len(orders))
        self.undrawn_seeds += waiter.seeds
        return waiter

    def add_step(self, order: StepOrder) -> StepWaiter:
        """Let a draw that is recorded as steps wait; `pump` draws for it.

        Nobody draws under its key: who asks here has looked.
        """
        waiter = StepWaiter(order, arrived_ns=self._clock_ns())
        self._drawing_steps[order.key] = waiter
        self._queue.add(waiter.tenant, waiter)
        self.undrawn_seeds += waiter.seeds
        return waiter

    def record(self, tenant: str, drafts: Sequence[StepDraft]) -> StepRecording:
        """Have steps recorded that nothing is drawn for, in one commit.

        Raises:
            ShuttingDownError: the writer was stopped; nothing was recorded.
            LedgerError: it ended fatally; nothing was recorded.
        """
        recording = StepRecording(tenant, arrived_ns=self._clock_ns())
        done = self._writer.submit(drafts)
        done.add_done_callback(lambda ended: self._recorded_steps(recording, ended))
        return recording

    def give_up(self, waiter: Waiting, error: EntropydError) -> None:
        """End a waiter that was not drawn for. One that was goes on to the ledger."""
        if not isinstance(waiter, Queued) or not self._queue.discard(waiter.tenant, waiter):
            return
        self.undrawn_seeds -= waiter.lacking
        self._fail([waiter], error)

    def dismiss(self, error: Callable[[], EntropydError]) -> None:
        """Send away everybody who still waits for the gate. Nothing of theirs was spent."""
        while (waiter := self._queue.first()) is not None:
            self.give_up(waiter, error())

    # --- releasing -----------------------------------------------------------

    def pump(self) -> None:
        """Draw for as many waiters as the gate releases seeds for. Safe to call at any time."""
        released: list[tuple[Waiter, Sequence[GatedSeed]]] = []
        hands = 0
        while hands < DRAWS_A_TURN and (some := self._release_next(DRAWS_A_TURN - hands)):
            for waiter, samples in some:
                if isinstance(waiter, StepWaiter):
                    hands += self._draw_step(waiter, samples)
                    continue
                self._served(waiter)
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

    def _served(self, waiter: Queued) -> None:
        self._queue.serve(waiter.tenant, waiter)
        self.undrawn_seeds -= waiter.lacking
        waiter.lacking = 0
        waiter.drawn = True

    def _release_next(self, most: int) -> list[tuple[Queued, Sequence[GatedSeed] | GatedBatch]]:
        """Release for the first waiters that the gate has samples for: one, or a row of them."""
        firsts = self._queue.firsts()
        if len(firsts) == 1:
            row = self._queue.row(firsts[0].tenant, most)
            if len(row) > 1:
                return self._release_row(row)
        for waiter in firsts:
            released = self._release(waiter)
            if not isinstance(released, Hold):
                return [(waiter, released)]
            # What a tenant's users owe is its own affair. All else that can be short is common to
            # all: whoever came after must not take it from a draw of many seeds that gathers it.
            if released.why is not HoldReason.USER_SHORT:
                return []
        return []

    def _release_row(
        self, row: Sequence[Queued]
    ) -> list[tuple[Queued, Sequence[GatedSeed] | GatedBatch]]:
        """Release for the waiters of the only tenant: those at the front that take one seed."""
        singles = list(takewhile(lambda waiter: waiter.seeds == 1, row))
        if not singles:
            released = self._release(row[0])
            return [] if isinstance(released, Hold) else [(row[0], released)]
        seeds = self._gate.try_release_some(row[0].tenant, len(singles), self._clock_ns())
        if isinstance(seeds, Hold):
            return []
        return [(waiter, (seed,)) for waiter, seed in zip(singles, seeds, strict=False)]

    def _release(self, waiter: Queued) -> Sequence[GatedSeed] | GatedBatch | Hold:
        now_ns = self._clock_ns()
        if waiter.gathers:
            part = min(SEEDS_A_PART, waiter.lacking)
            return self._gate.try_release_some(waiter.tenant, part, now_ns)
        if isinstance(waiter, Waiter) and waiter.batch:
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
            recording = self._writer.submit(drafts)
        except Exception as error:  # noqa: BLE001  no draw of ours can fail, so the daemon ends
            self._break(waiters, error)
            return
        reseeds = sum([waiter.seeds for waiter in waiters])
        recording.add_done_callback(lambda done: self._recorded(waiters, done, reseeds))

    def _begin_batch(self, waiter: Waiter, released: GatedBatch) -> None:
        """Make the seeds of a batch now, in its turn, and draw it in the turns that follow."""
        try:
            parts = self._drawer.batch_drafts(waiter.orders, released)
        except Exception as error:  # noqa: BLE001  as in `_draw`
            self._break([waiter], error)
            return
        self._begin(self._draw_batch(waiter, parts))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _draw_batch(
        self, waiter: Waiter, parts: Sequence[Callable[[], list[HandDraft]]]
    ) -> None:
        drafts: list[HandDraft] = []
        try:
            for draw in parts:
                drafts += draw()
                await asyncio.sleep(0)
            # One call, one commit: all hands of the batch are recorded, or none is.
            recording = self._writer.submit(drafts)
        except Exception as error:  # noqa: BLE001  as in `_draw`
            self._break([waiter], error)
            return
        recording.add_done_callback(lambda done: self._recorded([waiter], done, 1))

    # --- draws that are recorded as steps ---------------------------------------

    def _draw_step(self, waiter: StepWaiter, samples: Sequence[GatedSeed] | GatedBatch) -> int:
        """Make the seeds that were released; draw if none lacks any more.

        Returns:
            How many draws of the turn it takes. A draw that gathers ends it: it is in no hurry,
            and goes on when everybody else had a turn of the loop.
        """
        if isinstance(samples, GatedBatch):
            raise InternalError("the gate released a batch for a draw that is none")
        if len(samples) == waiter.lacking:
            self._served(waiter)
        else:
            self._queue.postpone(waiter.tenant, waiter)
            self.undrawn_seeds -= len(samples)
            waiter.lacking -= len(samples)
        try:
            self._drawer.grow(waiter, samples)
            if waiter.drawn:
                self._make_steps(waiter)
        except Exception as error:  # noqa: BLE001  as in `_draw`
            if self._queue.discard(waiter.tenant, waiter):
                self.undrawn_seeds -= waiter.lacking
            self._break([waiter], error)
        return DRAWS_A_TURN if waiter.gathers else len(samples)

    def _make_steps(self, waiter: StepWaiter) -> None:
        make = self._drawer.steps_maker(waiter)
        if waiter.order.heavy:
            self._begin(self._make_apart(waiter, make))
        else:
            self._submit_steps(waiter, make())

    async def _make_apart(
        self, waiter: StepWaiter, make: Callable[[], Sequence[StepDraft]]
    ) -> None:
        """Compute on another thread: the loop goes on in between, as the interpreter lets it."""
        try:
            self._submit_steps(waiter, await apart(make))
        except ShuttingDownError as error:
            # The daemon stopped meanwhile: nothing is recorded, and nothing was shown.
            self._fail([waiter], error)
        except Exception as error:  # noqa: BLE001  as in `_draw`
            self._break([waiter], error)

    def _submit_steps(self, waiter: StepWaiter, drafts: Sequence[StepDraft]) -> None:
        recording = self._writer.submit(drafts)
        recording.add_done_callback(lambda done: self._recorded_steps(waiter, done))

    def _recorded_steps(
        self, waiter: StepWaiter | StepRecording, done: "asyncio.Future[list[StepOutcome]]"
    ) -> None:
        error = done.exception()
        if error is not None:
            self._on_unrecorded()
            self._fail([waiter], error)
            return
        outcomes = done.result()
        if isinstance(waiter, StepWaiter):
            whole = all(isinstance(outcome, StepRecorded) for outcome in outcomes)
            wait_s = (self._clock_ns() - waiter.arrived_ns) / 1e9
            self._observer.drawn(
                "recorded" if whole else "spent", waits_s=[wait_s], reseeds=waiter.seeds
            )
        self._settle(waiter)
        waiter.decide(outcomes)

    # --- what becomes of them ----------------------------------------------------

    def _recorded(
        self, waiters: Sequence[Waiter], done: "asyncio.Future[list[Outcome]]", reseeds: int
    ) -> None:
        """The commit ended: answer from the records, or say that there may be none."""
        error = done.exception()
        if error is not None:
            self._on_unrecorded()
            self._fail(waiters, error)
            return
        outcomes = done.result()
        self._note(waiters, outcomes, reseeds)
        first = 0
        for waiter in waiters:
            count = len(waiter.orders)
            self._settle(waiter)
            waiter.decide(outcomes[first : first + count])
            first += count

    def _note(self, waiters: Sequence[Waiter], outcomes: Sequence[Outcome], reseeds: int) -> None:
        now_ns = self._clock_ns()
        waits_s = [(now_ns - one.arrived_ns) / 1e9 for one in waiters for _ in one.orders]
        spent = [isinstance(outcome, AlreadySpent) for outcome in outcomes]
        if any(spent):
            self._observer.drawn("spent", waits_s=list(compress(waits_s, spent)), reseeds=0)
            waits_s = [wait for wait, gone in zip(waits_s, spent, strict=True) if not gone]
        self._observer.drawn("recorded", waits_s=waits_s, reseeds=reseeds)

    def _break(self, waiters: Sequence[Waiting], error: Exception) -> None:
        """Nothing is drawn any more, for nobody: what failed is not tried again."""
        fatal = _fatal(error)
        self._fail(waiters, fatal)
        self._on_broken(fatal)

    def _fail(self, waiters: Sequence[Waiting], error: BaseException) -> None:
        """Fail every waiter, each with an error of its own: a shared one collects tracebacks."""
        for number, waiter in enumerate(waiters):
            self._settle(waiter)
            waiter.decide((), error if number == 0 else _copy(error))

    def _settle(self, waiter: Waiting) -> None:
        if isinstance(waiter, StepWaiter):
            del self._drawing_steps[waiter.order.key]
        elif isinstance(waiter, Waiter):
            for order in waiter.orders:
                self._drawing.pop((order.tenant, order.hand), None)


def _copy(error: BaseException) -> BaseException:
    copy = type(error)(str(error))
    copy.__cause__ = error
    return copy


def _fatal(error: Exception) -> EntropydError:
    """Return what the daemon ends with, and the caller of the failed draw is told."""
    if isinstance(error, EntropydError):
        return error
    defect = InternalError(f"a draw ended with {type(error).__name__}; nothing was recorded")
    defect.__cause__ = error
    return defect
