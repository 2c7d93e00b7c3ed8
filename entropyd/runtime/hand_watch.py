"""Who is told that hands went on: whoever watches one, and whoever counts.

Owned by the event loop's thread.
"""

from collections.abc import Callable
from typing import Protocol

from entropyd.hands.hand import Hand, HandState
from entropyd.runtime.hand_turns import HandName


class HandObserver(Protocol):
    """Who counts. Called on the loop's thread; must not block."""

    def hand_stepped(self, step: str) -> None:
        """Note a recorded step of a hand: `open`, `contribute`, `deal`, ..."""
        ...

    def hand_voided(self, reason: str) -> None:
        """Note that a hand is void: `unopened`, `expired`, `adopted`, or another reason."""
        ...

    def place_dealt_again(self, tenant: str, table: str, hand: str, place: int) -> None:
        """Note a call for a place that was dealt with another claim or to others: an alarm."""
        ...


Listener = Callable[[Hand], None]


class HandWatch:
    """Tells of recorded steps."""

    def __init__(self, observer: HandObserver) -> None:
        """Make it, with nobody listening but who counts."""
        self._observer = observer
        self._listeners: list[Listener] = []
        self._doubters: list[Callable[[HandName], None]] = []

    def listen(self, listener: Listener) -> None:
        """Have `listener` called with each hand that was opened or went on. It must not raise."""
        self._listeners.append(listener)

    def listen_to_doubts(self, doubter: Callable[[HandName], None]) -> None:
        """Have `doubter` called with each hand that may have been opened. It must not raise."""
        self._doubters.append(doubter)

    def opening_doubted(self, name: HandName) -> None:
        """Tell of an opening that was not confirmed: the ledger knows whether it is there."""
        for doubter in self._doubters:
            doubter(name)

    def opened(self, hand: Hand) -> None:
        """Tell of a hand that was opened."""
        self._observer.hand_stepped("open")
        self._tell(hand)

    def went_on(self, hand: Hand, step: str) -> None:
        """Tell of a hand that another step was recorded of."""
        self._observer.hand_stepped(step)
        if hand.state is HandState.VOID:
            self._observer.hand_voided(hand.reason)
        self._tell(hand)

    def doubted(self, hand: Hand) -> None:
        """Tell of a hand of which a step was not confirmed: the ledger knows more."""
        self._tell(hand)

    def dealt_again(self, hand: Hand, place: int) -> None:
        """Tell of a second claim for a place."""
        opened = hand.opened
        self._observer.place_dealt_again(opened.tenant, opened.table, opened.hand, place)

    def _tell(self, hand: Hand) -> None:
        for listener in self._listeners:
            listener(hand)
