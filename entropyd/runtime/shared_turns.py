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
        """
        line = self._lines.setdefault(key, _Line())
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append((alone, mine))
        self._grant(key, line)
        try:
            await asyncio.wait((mine,), timeout=max(0.0, patience_s))
        finally:
            # Granted at the very end is granted; a caller that hangs up gives it back.
            if not mine.done():
                line.waiting.remove((alone, mine))
                self._grant(key, line)
            elif (task := asyncio.current_task()) is not None and task.cancelling():
                self._end(key, line)
        if not mine.done():
            raise TimeoutError
        return lambda: self._end(key, line)

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
