"""A buffer that fills at a steady rate, in whole bytes and nanoseconds.

Nothing runs in the background: what has come in follows from the time that has
passed since the moment at which the buffer would have been empty.
"""

NANOSECONDS = 1_000_000_000


class Pace:
    """How many bytes a source of `rate` bytes a second has ready, at most `depth`.

    A rate of 0 means unpaced: the buffer is always full. Times are nanoseconds
    of one monotonic clock and come in as arguments.
    """

    def __init__(self, rate: int, depth: int, now_ns: int) -> None:
        self._rate = rate
        self._depth = depth
        self._empty_ns = now_ns

    def ready(self, now_ns: int) -> int:
        """Return how many bytes are there now. What came to a full buffer never was."""
        if self._rate == 0:
            return self._depth
        filled = (now_ns - self._empty_ns) * self._rate // NANOSECONDS
        if filled > self._depth:
            self._empty_ns = now_ns - self._fill_ns(self._depth)
        return min(filled, self._depth)

    def take(self, size: int) -> None:
        """Remove `size` bytes that were ready."""
        self._empty_ns += self._fill_ns(size)

    def wait_ns(self, size: int, now_ns: int) -> int:
        """Return in how many nanoseconds `size` bytes, or a full buffer, will be ready."""
        return max(0, self._empty_ns + self._fill_ns(min(size, self._depth)) - now_ns)

    def change(self, rate: int, now_ns: int) -> None:
        """Go on at another rate with what is in the buffer."""
        if rate == self._rate:
            return
        filled = self.ready(now_ns)
        self._rate = rate
        self._empty_ns = now_ns - self._fill_ns(filled)

    def _fill_ns(self, size: int) -> int:
        """Return the time that `size` bytes take, rounded up; 0 where unpaced."""
        return -(-size * NANOSECONDS // self._rate) if self._rate else 0
