"""Hands that are dealt from each other's discards, and what one may show of the others.

The cards of a child are cards of its parent: who sees a child's whole deck sees
what was discarded there, and who sees the parent's sees what the child is dealt
from. So what only a closed hand may show waits until nobody plays with these
cards any more.

Spec: docs/protocol.md, "Draw games: a hand from another's discards".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from entropyd.errors import RevealForbiddenError, WrongStateError
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.rules import Reveal


@dataclass(frozen=True, slots=True)
class Family:
    """A hand and those that have cards in common with it.

    Attributes:
        hand: the hand.
        ancestors: its parent, the parent's parent, ...; all of them.
        going_on: hands dealt from its discards, or from discards of such, that have not ended.
    """

    hand: Hand
    ancestors: tuple[Hand, ...] = ()
    going_on: tuple[Hand, ...] = ()

    def require_shown(self, places: Sequence[int]) -> None:
        """Refuse to show what may not be shown now.

        Raises:
            RequestError, NotDealtError: as `Hand.require_shown`.
            WrongStateError: a place was burned or not dealt, and others play with these cards.
        """
        self.hand.require_shown(places)
        if self.hand.withheld(places):
            self._require_over("places that were dealt to nobody are shown")

    def require_reveal(self) -> None:
        """Refuse to reveal everything unless all who have cards in common allow it.

        Raises:
            RevealForbiddenError: its rules say reveal=never, or those of an ancestor.
            WrongStateError: it is not closed, or others play with these cards.
        """
        self.hand.require_reveal()
        for ancestor in self.ancestors:
            if ancestor.opened.rules.reveal is not Reveal.AFTER_CLOSE:
                raise RevealForbiddenError(
                    f"hand {self._name!r} is dealt from discards of hand"
                    f" {ancestor.opened.hand!r}, whose rules say reveal=never; nobody is shown its"
                    " seeds, for they show these discards"
                )
        self._require_over("it is revealed")

    def _require_over(self, when: str) -> None:
        oldest = (self.hand, *self.ancestors)[-1]
        if oldest.opened.rules.parent is not None:
            # A record of before ids of parents were kept. Unknown is not over.
            raise WrongStateError(
                f"hand {oldest.opened.hand!r} is dealt from discards of a hand that its record does"
                f" not name; expected to find it CLOSED when {when}"
            )
        for ancestor in self.ancestors:
            if ancestor.state is not HandState.CLOSED:
                raise WrongStateError(
                    f"hand {self._name!r} is dealt from discards of hand"
                    f" {ancestor.opened.hand!r}, which is {ancestor.state.upper()}; expected"
                    f" CLOSED when {when}"
                )
        for other in self.going_on:
            raise WrongStateError(
                f"hand {other.opened.hand!r} is dealt from discards of hand {self._name!r} and is"
                f" {other.state.upper()}; expected CLOSED or VOID when {when}"
            )

    @property
    def _name(self) -> str:
        return self.hand.opened.hand


def require_child_rules(child: str, *, reveal: Reveal, parent: Hand) -> None:
    """Refuse rules of a child that would show what its parent's keep secret.

    Raises:
        RevealForbiddenError: the child would be revealed, and its parent never.
    """
    if reveal is Reveal.AFTER_CLOSE and parent.opened.rules.reveal is Reveal.NEVER:
        raise RevealForbiddenError(
            f"hand {child!r} would be revealed after its close, and with it discards of hand"
            f" {parent.opened.hand!r}, whose rules say reveal=never; leave `reveal_after_close` out"
        )
