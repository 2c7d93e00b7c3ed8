"""The time of hands: that of the wall clock, but for what somebody sets it by.

Deadlines stand in receipts and must hold across a restart, so they are times of
a wall clock. A clock that is set an hour forward would void every open hand at
once, and say in public that seats did not open what they sealed; one that is
set back would keep their windows open for an hour. So the wall clock is read
when a hand is first seen by this run of the daemon, and from there a clock goes
on that nobody sets.

Owned by the event loop's thread.

Spec: docs/protocol.md, "Hands dealt card by card".
"""

from collections.abc import Callable

from entropyd.hands.hand import ENDED, Hand
from entropyd.hands.receipts import NS_A_MS


class HandClock:
    """Tells each hand its time. Keeps two numbers for each that goes on."""

    def __init__(self, *, clock_ns: Callable[[], int], wall_ns: Callable[[], int]) -> None:
        """Make it, with no hand seen.

        Args:
            clock_ns: monotonic clock.
            wall_ns: wall clock.
        """
        self._clock_ns = clock_ns
        self._wall_ns = wall_ns
        self._ahead: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        """Return of how many hands it keeps the time."""
        return len(self._ahead)

    def stamp_ns(self) -> int:
        """Return the wall clock, as receipts say it: in whole milliseconds."""
        return _whole(self._wall_ns())

    def now_ns(self, hand: Hand) -> int:
        """Return the time of a hand in whole milliseconds, to compare with its deadlines."""
        return _whole(self._clock_ns() + self._wall_ahead_ns(hand))

    def monotonic_ns(self, hand: Hand, at_ns: int) -> int:
        """Return when it will be `at_ns` for a hand, by the monotonic clock."""
        return at_ns - self._wall_ahead_ns(hand)

    def forget(self, hand: Hand) -> None:
        """Keep nothing of a hand that has ended."""
        self._ahead.pop((hand.opened.tenant, hand.opened.hand), None)

    def _wall_ahead_ns(self, hand: Hand) -> int:
        """Return by how much the wall clock was ahead of the monotonic one when it counted."""
        key = hand.opened.tenant, hand.opened.hand
        if hand.state in ENDED:
            # Also where nobody was told that the step which ended it was recorded.
            self._ahead.pop(key, None)
            return self._wall_ns() - self._clock_ns()
        if key not in self._ahead:
            self._ahead[key] = self._wall_ns() - self._clock_ns()
        return self._ahead[key]


def _whole(at_ns: int) -> int:
    return at_ns - at_ns % NS_A_MS
