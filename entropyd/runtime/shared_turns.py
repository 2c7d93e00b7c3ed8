"""Turns at something that only some may do at the same time: first come, first served.

Draws of one match that leave its state as it is run beside each other; one
that changes it, such as a draw from a bag, runs alone. Nobody overtakes: who
wants to be alone is not put off by those who come later.

Owned by the event loop's thread.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from entropyd.errors import OverloadError

# As many as wait for the gate by default: a caller is refused at either door before it waits long.
MAX_IN_LINE = 4096
# A turn is a commit: a quarter of a second later a hundred have had theirs.
RETRY_AFTER_S = 0.25


@dataclass(slots=True)
class _Line:
    running: int = 0
    alone: bool = False
    waiting: deque[tuple[bool, asyncio.Future[None]]] = field(default_factory=deque)


class SharedTurns:
    """The lines of all that there is to take turns at; one that is empty is forgotten."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lines: dict[Hashable, _Line] = {}

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self._lines)

    def take_now(self, key: Hashable, *, alone: bool) -> Callable[[], None] | None:
        """Take a turn that is free, and wait for none.

        What its caller knew before still holds: nothing else ran on this thread meanwhile.

        Args:
            key: at what.
            alone: whether nobody else may have a turn at it meanwhile.

        Returns:
            What ends the turn, as `take` does; None if others go first.
        """
        line = self._lines.setdefault(key, _Line())
        # Whoever is alone lets nobody in, and whoever waits already is not overtaken.
        if line.waiting or line.alone or (alone and line.running):
            return None
        line.running += 1
        line.alone = alone
        return lambda: self._end(key, line)

    async def take(self, key: Hashable, *, alone: bool, patience_s: float) -> Callable[[], None]:
        """Wait for a turn.

        Args:
            key: at what.
            alone: whether nobody else may have a turn at it meanwhile.
            patience_s: for how long, in seconds.

        Returns:
            What ends the turn; to be called once, from anywhere on this thread.

        Raises:
            TimeoutError: the turn did not come in time.
            OverloadError: too many wait for one at the same thing.
        """
        end_turn = self.take_now(key, alone=alone)
        if end_turn is not None:
            return end_turn
        line = self._lines[key]
        if len(line.waiting) >= MAX_IN_LINE:
            raise OverloadError(
                f"{MAX_IN_LINE} callers wait for their turn at one match, raffle list, hand or"
                " player; expected fewer at the same time, nothing was spent",
                retry_after_s=RETRY_AFTER_S,
            )
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (alone, mine)
        line.waiting.append(place)
        self._grant(key, line)
        try:
            await asyncio.wait((mine,), timeout=max(0.0, patience_s))
        except asyncio.CancelledError:
            # A turn that came as its caller hung up is given back.
            self._leave(key, line, place)
            raise
        if not mine.done():
            self._leave(key, line, place)
            raise TimeoutError
        return lambda: self._end(key, line)

    def _leave(self, key: Hashable, line: _Line, place: tuple[bool, asyncio.Future[None]]) -> None:
        if place[1].done():
            self._end(key, line)
            return
        line.waiting.remove(place)
        self._grant(key, line)

    def _end(self, key: Hashable, line: _Line) -> None:
        line.running -= 1
        line.alone = False
        self._grant(key, line)

    def _grant(self, key: Hashable, line: _Line) -> None:
        while line.waiting and not line.alone:
            alone, first = line.waiting[0]
            if alone and line.running:
                break
            line.waiting.popleft()
            line.running += 1
            line.alone = alone
            first.set_result(None)
        if not line.running and not line.waiting:
            self._lines.pop(key, None)
