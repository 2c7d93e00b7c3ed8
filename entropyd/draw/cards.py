"""Cards, decks and shoes: what the numbers of a draw stand for.

Draws, commitments and records carry items, 0 to n - 1. This module alone knows
which card an item is and how a card is written for people.

Spec: docs/protocol.md, "Decks and cards".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from entropyd.errors import InternalError, RequestError

RANKS = "23456789TJQKA"
SUITS = "cdhs"

_SUITED = tuple(range(len(SUITS) * len(RANKS)))
JOKERS = (52, 53)
_SIX = RANKS.index("6")

# Name -> ascending ids of one whole deck.
DECKS: dict[str, tuple[int, ...]] = {
    "short36": tuple(card for card in _SUITED if card % len(RANKS) >= _SIX),
    "standard52": _SUITED,
    "standard54": _SUITED + JOKERS,
}

MAX_DECKS = 8
# One card has one order: a hand over it would spend an id and a seed to decide
# nothing, so a request that leaves one card is taken for the mistake it is.
MIN_CARDS = 2

_TEXTS = (*(rank + suit for suit in SUITS for rank in RANKS), "X1", "X2")
_IDS = {text: card for card, text in enumerate(_TEXTS)}


def card_text(card: int) -> str:
    """Return the two characters of a card, such as `As`, `Td` or `X1`.

    Raises:
        InternalError: there is no such card. Ids from outside go through `Deck`.
    """
    if not 0 <= card < len(_TEXTS):
        raise InternalError(f"card id {card}; expected 0 to {len(_TEXTS) - 1}")
    return _TEXTS[card]


def cards_text(cards: bytes) -> str:
    """Return cards, one byte each, as people read them: `As Td X1`.

    Raises:
        InternalError: there is no such card.
    """
    try:
        return " ".join(map(_TEXTS.__getitem__, cards))
    except IndexError as error:
        raise InternalError(f"card id {max(cards)}; expected 0 to {len(_TEXTS) - 1}") from error


def card_id(field: str, text: str) -> int:
    """Return the id of a card written as by `card_text`; no other spelling is taken.

    Args:
        field: where the text came from, for the error.
        text: rank then suit, such as `As` or `Td`, or `X1`, `X2`.

    Raises:
        RequestError: no card is written so.
    """
    if text not in _IDS:
        raise RequestError(
            field,
            f"no card is written {text[:8]!a}; expected a rank of {RANKS}"
            f" and a suit of {SUITS}, such as As or Td, or X1 or X2",
        )
    return _IDS[text]


@dataclass(frozen=True, slots=True)
class Deck:
    """What is shuffled: 1 to 8 copies of a named deck without its removed cards.

    Construction checks everything, so a Deck that exists can be dealt.

    Attributes:
        name: `standard52`, `standard54` or `short36`.
        decks: number of copies, 1 to 8.
        removed: ids of cards of the deck, ascending, each once. They are taken
            out of every copy. At least 2 cards must be left.

    Raises:
        RequestError: on construction, if one of the above does not hold; names
            the field as `deck.name`, `deck.decks` or `deck.removed`.
    """

    name: str = "standard52"
    decks: int = 1
    removed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a deck that cannot be dealt."""
        if self.name not in DECKS:
            raise RequestError(
                "deck.name",
                f"there is no deck {self.name[:32]!a}; expected one of {', '.join(DECKS)}",
            )
        if not 1 <= self.decks <= MAX_DECKS:
            raise RequestError(
                "deck.decks", f"is {self.decks}; expected 1 to {MAX_DECKS} copies of the deck"
            )
        self._check_removed()

    @property
    def card_ids(self) -> tuple[int, ...]:
        """Ids of one copy, ascending, without the removed ones."""
        return tuple(card for card in DECKS[self.name] if card not in self.removed)

    @property
    def size(self) -> int:
        """Number n of items, 2 to 432."""
        return self.decks * (len(DECKS[self.name]) - len(self.removed))

    def cards(self, items: Iterable[int]) -> bytes:
        """Return the card id of each item, one byte each.

        Raises:
            InternalError: an item is not one of this deck's.
        """
        copies = _copies(self)
        items = tuple(items)
        # A tuple would count a negative one from its end.
        if min(items, default=0) < 0:
            raise InternalError("negative item; expected 0 or above")
        try:
            return bytes(map(copies.__getitem__, items))
        except IndexError as error:
            raise InternalError(f"item above {len(copies) - 1}, the last of the deck") from error

    def _check_removed(self) -> None:
        deck = DECKS[self.name]
        previous = -1
        for card in self.removed:
            if card not in deck:
                raise RequestError(
                    "deck.removed", f"card id {card} is not in {self.name}; leave it out"
                )
            if card <= previous:
                raise RequestError(
                    "deck.removed",
                    f"card id {card} stands after {previous}; expected ascending ids, each once",
                )
            previous = card
        left = len(deck) - len(self.removed)
        if left < MIN_CARDS:
            raise RequestError(
                "deck.removed",
                f"leaves {left} of the {len(deck)} cards of {self.name};"
                f" expected at least {MIN_CARDS} to be left, remove fewer",
            )


# Asked for every hand that is dealt, by the few decks that a room deals.
@lru_cache(maxsize=256)
def _copies(deck: Deck) -> tuple[int, ...]:
    """Return the card id of every item of a deck."""
    return deck.card_ids * deck.decks
