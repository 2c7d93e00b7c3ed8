"""Calls that bring long lists: few at a time, and their lists read on another thread.

A list of 1 MiB is 100,000 texts of ten bytes, which take tens of times as much
as objects and 0.1 s to be read: the loop has other callers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from entropyd.errors import OverloadError
from entropyd.runtime.apart import apart
from entropyd.service.admission import RETRY_AFTER_S

# As many are read in 1 ms.
LONG = 1000
# With the message, its texts, what was read from it and the answer, one of 1 MiB takes 30 MiB.
MAX_LONG = 16

T = TypeVar("T")


class Lists:
    """Counts calls with long lists. Owned by the event loop's thread."""

    def __init__(self) -> None:
        """Begin with none."""
        self._running = 0

    @contextmanager
    def room(self, texts: int) -> Iterator[None]:
        """Let a call with so many texts run until the block ends.

        Raises:
            OverloadError: as many with long lists run as may; nothing was spent.
        """
        if texts <= LONG:
            yield
            return
        if self._running >= MAX_LONG:
            raise OverloadError(
                f"{MAX_LONG} calls with lists of more than {LONG} texts are running; expected fewer"
                " at the same time, nothing was spent",
                retry_after_s=RETRY_AFTER_S,
            )
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def apart(self, texts: int, work: Callable[[], T]) -> T:
        """Return what `work` returns: from another thread, if it is about so many texts."""
        return work() if texts <= LONG else await apart(work)
