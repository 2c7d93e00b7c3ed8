"""One call at a time makes a step of a hand.

It has the turn until that step is recorded, whether it still waits or not: so a
step is made of the hand that the ledger has, and nobody's is thrown away.

Owned by the event loop's thread.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from entropyd.ledger.subjects import StepOutcome
from entropyd.runtime.shared_turns import SharedTurns
from entropyd.runtime.step_calls import StepCalls
from entropyd.runtime.waiter import AnyWaiter


@dataclass(frozen=True, slots=True)
class HandName:
    """Which hand: ids of tenant, table and hand."""

    tenant: str
    table: str
    hand: str


@dataclass(slots=True)
class Turn:
    """A call that has its turn.

    Attributes:
        answer_by_ns: monotonic time until when it waits.
        waiter: for what it waits, or waited last.
    """

    answer_by_ns: int
    waiter: AnyWaiter[StepOutcome] | None = None


class HandTurns:
    """The turns at all hands."""

    def __init__(self, calls: StepCalls, clock_ns: Callable[[], int]) -> None:
        """Begin with nobody waiting.

        Args:
            calls: counts calls, and says what one is told whose turn did not come.
            clock_ns: monotonic clock.
        """
        self._calls = calls
        self._clock_ns = clock_ns
        self._turns = SharedTurns()

    @asynccontextmanager
    async def at(self, name: HandName, answer_by_ns: int) -> AsyncIterator[Turn]:
        """Have the hand's turn until the block ends and what it waits for is decided.

        Raises:
            EntropyHoldError: other calls for this hand took all the time.
        """
        patience_s = (answer_by_ns - self._clock_ns()) / 1e9
        key = name.tenant, name.hand
        try:
            end = await self._turns.take(key, alone=True, patience_s=patience_s)
        except TimeoutError:
            raise self._calls.busy(f"other calls for hand {name.hand!r} go first") from None
        turn = Turn(answer_by_ns)
        try:
            yield turn
        finally:
            if turn.waiter is None or turn.waiter.decided:
                end()
            else:
                turn.waiter.listen(lambda _decided: end())
