"""Hands that are asked for together and answered one by one: none waits for another.

What a stream of hands does with each of its messages. A task for every hand
would cost more than its draw; so the hands of a message share a timer, and
each is told by the callback of its own draw. Owned by the event loop's thread.
"""

import asyncio
from collections.abc import Callable, Sequence

from entropyd.errors import EntropydError, ShuttingDownError
from entropyd.ledger.contract import Outcome
from entropyd.runtime.draws import Waiter
from entropyd.runtime.orders import Dealt, DrawOrder
from entropyd.runtime.steps import Steps, dealt_of

# What becomes of a hand. Called once for each, on the loop's thread.
Tell = Callable[[DrawOrder, Dealt | EntropydError], None]


class Asked:
    """The hands of one message. Made, asked once, and done when all of them were told."""

    def __init__(self, steps: Steps, tell: Tell) -> None:
        """Make it; `ask` begins."""
        self._steps = steps
        self._tell = tell
        self._waiting: dict[Waiter, DrawOrder] = {}
        self._following: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._arrived_ns = 0

    def ask(self, orders: Sequence[DrawOrder], answer_by_ns: int) -> None:
        """Find, or let wait, every hand.

        Args:
            orders: of one tenant, at least one. A hand that stands there twice is drawn once.
            answer_by_ns: monotonic time at which those that still wait are told to come back.

        Raises:
            EntropydError: the ledger cannot be asked. No hand was told or waits.
        """
        steps = self._steps
        spent = steps.spent_among(orders)
        for order in orders:
            self._arrived_ns = steps.enter()
            if steps.first_other([order]) is not None:
                self._follow(order, answer_by_ns)
            else:
                self._find_or_wait(order, drawn=order.hand in spent)
        steps.draws.pump()
        if self._waiting:
            after_s = max(0, answer_by_ns - steps.clock_ns()) / 1e9
            self._timer = asyncio.get_running_loop().call_later(after_s, self._time_is_over)

    def hang_up(self) -> None:
        """Give up what still waits; nobody listens any more, so nothing is told."""
        for task in self._following:
            task.cancel()
        gone = ShuttingDownError("the caller hung up")
        for waiter in list(self._waiting):
            self._forget(waiter)
            self._steps.draws.give_up(waiter, gone)
            self._steps.note_failure(asyncio.CancelledError(), self._arrived_ns)
            self._steps.leave()

    def _find_or_wait(self, order: DrawOrder, *, drawn: bool) -> None:
        try:
            dealt = self._steps.find(order) if drawn else None
            if dealt is None:
                waiter = self._steps.enqueue([order])
                self._waiting[waiter] = order
                waiter.future.add_done_callback(lambda done: self._decided(waiter, done))
                return
        except EntropydError as error:
            self._end(order, error)
        else:
            self._end(order, dealt)

    def _follow(self, order: DrawOrder, answer_by_ns: int) -> None:
        """Wait for another call's draw of this hand, in a task of its own: it is rare."""
        task = asyncio.get_running_loop().create_task(self._deal(order, answer_by_ns))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _deal(self, order: DrawOrder, answer_by_ns: int) -> None:
        try:
            dealt = await self._steps.deal(order, answer_by_ns)
        except EntropydError as error:
            self._end(order, error)
        except asyncio.CancelledError as error:
            self._steps.note_failure(error, self._arrived_ns)
            self._steps.leave()
            raise
        else:
            self._end(order, dealt)

    def _decided(self, waiter: Waiter, done: "asyncio.Future[list[Outcome]]") -> None:
        order = self._waiting.get(waiter)
        if order is None:
            return  # told before: its time was over
        self._forget(waiter)
        error = done.exception()
        if error is None:
            [outcome] = done.result()
            try:
                self._end(order, dealt_of(order, outcome))
            except EntropydError as spent:
                self._end(order, spent)
        elif isinstance(error, EntropydError):
            self._end(order, error)
        else:
            raise error

    def _time_is_over(self) -> None:
        """Tell those that still wait to come back."""
        for waiter, order in list(self._waiting.items()):
            error = self._steps.out_of_time(waiter)
            self._forget(waiter)
            self._steps.draws.give_up(waiter, error)
            self._end(order, error)

    def _forget(self, waiter: Waiter) -> None:
        del self._waiting[waiter]
        if not self._waiting and self._timer is not None:
            self._timer.cancel()

    def _end(self, order: DrawOrder, answer: Dealt | EntropydError) -> None:
        """Tell one hand's caller."""
        if isinstance(answer, Dealt):
            self._steps.note([answer], self._arrived_ns)
        else:
            self._steps.note_failure(answer, self._arrived_ns)
        self._steps.leave()
        self._tell(order, answer)
