"""Hands that are asked for together and answered one by one: none waits for another.

What a stream of hands is made of. A task for every hand would cost more than
its draw; so the hands of a stream share a timer, and each is told when
its own draw is decided. Owned by the event loop's thread.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from entropyd.errors import EntropydError, InternalError, ShuttingDownError
from entropyd.runtime.orders import Dealt, DrawOrder
from entropyd.runtime.steps import Steps, dealt_of
from entropyd.runtime.waiter import Waiter

# What becomes of a hand. Called once for each, on the loop's thread.
Tell = Callable[[DrawOrder, Dealt | EntropydError], None]


class _Waiting(NamedTuple):
    order: DrawOrder
    arrived_ns: int
    answer_by_ns: int


class Asked:
    """The hands that one listener asks for, as long as it listens."""

    def __init__(self, steps: Steps, tell: Tell) -> None:
        """Begin with none.

        Args:
            steps: of a call for a hand.
            tell: called once for each hand, at once or later, with what a call of its own would
                return or raise. Those of one commit are told in one turn of the loop.
        """
        self._steps = steps
        self._tell = tell
        # In the order in which they came, and so of their time.
        self._waiting: dict[Waiter, _Waiting] = {}
        self._following: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, orders: Sequence[DrawOrder], *, answer_by_ns: int) -> None:
        """Find, or let wait, every hand.

        Args:
            orders: of one tenant, at least one. A hand that stands there twice is drawn once.
            answer_by_ns: monotonic time at which those that still wait are told to come back; not
                before that of the hands asked for earlier, for else it is that.

        Raises:
            LedgerError: the ledger cannot be asked. No hand of these was told or waits.
        """
        steps, draws = self._steps, self._steps.draws
        spent = steps.spent_among(orders)
        shut = self._why_shut()
        for order in orders:
            asked = _Waiting(order, steps.enter(), answer_by_ns)
            if draws.of_hand(order.tenant, order.hand) is not None:
                self._follow(asked)
            elif order.hand in spent:
                self._find(asked)
            elif shut is not None:
                self._end(asked, shut)
            else:
                self._wait(asked)
        draws.pump()
        self._set_timer()

    def hang_up(self) -> None:
        """Give up what still waits. Nobody listens any more: nothing is told after this."""
        for task in self._following:
            task.cancel()
        gone = ShuttingDownError("the caller hung up")
        for waiter, asked in list(self._waiting.items()):
            del self._waiting[waiter]
            self._steps.draws.give_up(waiter, gone)
            self._leave(asked, asyncio.CancelledError())
        self._set_timer()

    def _why_shut(self) -> EntropydError | None:
        """Return why nothing new is drawn now, for all hands of a message."""
        try:
            self._steps.require_open()
        except EntropydError as error:
            return error
        return None

    def _find(self, asked: _Waiting) -> None:
        try:
            dealt = self._steps.find(asked.order)
        except EntropydError as error:
            self._end(asked, error)
            return
        if dealt is None:
            raise InternalError("the ledger does not find a hand that it said is spent")
        self._end(asked, dealt)

    def _wait(self, asked: _Waiting) -> None:
        try:
            waiter = self._steps.enqueue_open([asked.order])
        except EntropydError as error:
            self._end(asked, error)
        else:
            self._waiting[waiter] = asked
            waiter.listen(self._decided)

    def _follow(self, asked: _Waiting) -> None:
        """Wait for another call's draw of this hand, in a task of its own: it is rare."""
        task = asyncio.get_running_loop().create_task(self._deal(asked))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _deal(self, asked: _Waiting) -> None:
        try:
            dealt = await self._steps.deal(asked.order, asked.answer_by_ns)
        except EntropydError as error:
            self._end(asked, error)
        except asyncio.CancelledError as error:
            self._leave(asked, error)
            raise
        else:
            self._end(asked, dealt)

    def _decided(self, waiter: Waiter) -> None:
        asked = self._waiting.pop(waiter, None)
        if asked is None:
            return  # told before: its time was over, or nobody listens
        try:
            [outcome] = waiter.outcomes()
            dealt = dealt_of(asked.order, outcome)
        except EntropydError as error:
            self._end(asked, error)
        else:
            self._end(asked, dealt)

    def _set_timer(self) -> None:
        """See to it that the first one whose time is over is told."""
        if self._timer is not None and not self._waiting:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and self._waiting:
            first = next(iter(self._waiting.values()))
            left_s = max(0, first.answer_by_ns - self._steps.clock_ns()) / 1e9
            self._timer = asyncio.get_running_loop().call_later(left_s, self._time_is_over)

    def _time_is_over(self) -> None:
        """Tell those that waited for too long to come back."""
        self._timer = None
        now_ns = self._steps.clock_ns()
        for waiter, asked in list(self._waiting.items()):
            if asked.answer_by_ns > now_ns:
                break
            error = self._steps.out_of_time(waiter)
            del self._waiting[waiter]
            self._steps.draws.give_up(waiter, error)
            self._end(asked, error)
        self._set_timer()

    def _end(self, asked: _Waiting, answer: Dealt | EntropydError) -> None:
        """Tell what became of one hand."""
        self._leave(asked, answer)
        self._tell(asked.order, answer)

    def _leave(self, asked: _Waiting, answer: Dealt | BaseException) -> None:
        if isinstance(answer, Dealt):
            self._steps.note([answer], asked.arrived_ns)
        else:
            self._steps.note_failure(answer, asked.arrived_ns)
        self._steps.leave()
