"""How fast credit comes in, for telling callers when to come back."""

from collections import deque

from entropyd.entropy.gate import Hold, HoldReason

# Long enough to smooth over blocks of a slow serial device, short enough that a device that was
# just re-plugged is believed within seconds.
WINDOW_NS = 5_000_000_000

# Between "as soon as you can" and "the operator has to come": a client never hammers, and never
# sleeps through a recovery.
MIN_RETRY_S = 0.05
MAX_RETRY_S = 5.0

# A lost device is looked for every 3.2 s at least, and is dealt from 0.2 s after it came back. A
# failed one needs an operator: callers come back as seldom as they may.
WAIT_FOR_SOURCE_S = {
    HoldReason.SOURCE_LOST: 2.0,
    HoldReason.SOURCE_FAILED: MAX_RETRY_S,
    HoldReason.SOURCE_NOT_ALLOWED: MAX_RETRY_S,
    HoldReason.SOURCE_STARTUP: 0.5,
    HoldReason.SOURCE_ASSESSING: 0.5,
    HoldReason.NOT_INSTANTIATED: 0.5,
}


class FillRate:
    """A sliding count of delivered credit."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._deliveries: deque[tuple[int, int]] = deque()
        self._millibits = 0

    def add(self, millibits: int, now_ns: int) -> None:
        """Count credit that arrived now."""
        self._deliveries.append((now_ns, millibits))
        self._millibits += millibits
        self._forget(now_ns)

    def millibits_per_second(self, now_ns: int) -> int:
        """Return the rate over the last five seconds."""
        self._forget(now_ns)
        return self._millibits * 1_000_000_000 // WINDOW_NS

    def comes_in(self, millibits: int, within_ns: int, now_ns: int) -> bool:
        """Return whether so much can be expected within a time.

        Judged by the time in which credit came in, not by the whole window: a
        daemon that has just started is as fast as it will be.
        """
        self._forget(now_ns)
        if not self._deliveries:
            return False
        since_ns = now_ns - self._deliveries[0][0]
        return self._millibits * within_ns >= millibits * since_ns

    def seconds_for(self, millibits: int, now_ns: int) -> float:
        """Return how long this much takes to come in, 0.05 to 5 s; 5 s if nothing comes."""
        rate = self.millibits_per_second(now_ns)
        if rate == 0:
            return MAX_RETRY_S
        return min(MAX_RETRY_S, max(MIN_RETRY_S, millibits / rate))

    def seconds_after(self, hold: Hold | None, waiting_millibits: int, now_ns: int) -> float:
        """Return when a caller should come back, 0.05 to 5 s.

        Args:
            hold: what the gate waits for; None if there were only others before.
            waiting_millibits: credit that those who wait already will take.
            now_ns: monotonic time.
        """
        if hold is None:
            return self.seconds_for(waiting_millibits, now_ns)
        # What came in lately tells nothing about when a source is back.
        needed = hold.needed_millibits + waiting_millibits
        return WAIT_FOR_SOURCE_S.get(hold.why) or self.seconds_for(needed, now_ns)

    def _forget(self, now_ns: int) -> None:
        while self._deliveries and self._deliveries[0][0] <= now_ns - WINDOW_NS:
            self._millibits -= self._deliveries.popleft()[1]
