"""Blackjack: a shoe of six decks.

Cards are the published scheme's: value 2 to 14 and suit, `14c`. They are not
the cards of `entropyd.draw.cards`, which number and name them otherwise.

Spec: docs/protocol.md, "Games".
"""

from collections.abc import Iterable
from dataclasses import dataclass

from entropyd.draw.shuffle import permute
from entropyd.games.round_draws import Below

DECKS = 6
# Of each deck: diamonds, hearts, spades, clubs, each from 2 to the ace, 14.
DECK = tuple(f"{value}{suit}" for suit in "dhsc" for value in range(2, 15))
CARDS = DECKS * DECK
# The order of the first four cards: player, dealer, player, dealer.
_FIRST_FOUR = 4


@dataclass(frozen=True, slots=True)
class BlackjackOutcome:
    """A shoe, and the cards that lie on the table first.

    Attributes:
        shoe: 312 cards in the order in which they leave it, the first four among them.
    """

    shoe: tuple[str, ...]

    @property
    def player(self) -> tuple[str, ...]:
        """The player's first two cards."""
        return self.shoe[0:_FIRST_FOUR:2]

    @property
    def dealer(self) -> tuple[str, ...]:
        """The dealer's first two cards."""
        return self.shoe[1:_FIRST_FOUR:2]

    def as_json(self) -> dict[str, object]:
        """Return the outcome as it stands in a round file."""
        return {"shoe": list(self.shoe), "player": list(self.player), "dealer": list(self.dealer)}


def shuffle_shoe(below: Below) -> BlackjackOutcome:
    """Return the shoe: all six decks shuffled, then turned over, so that the last card leads."""
    order = permute(len(CARDS), _draws(below))
    return BlackjackOutcome(tuple(CARDS[card] for card in reversed(order)))


def _draws(below: Below) -> Iterable[int]:
    return (below(bound) for bound in range(len(CARDS), 1, -1))
