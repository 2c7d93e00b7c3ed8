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

# What stands for nothing in the tables below: no card has this id, no text this character.
_NONE = 0xFF
_FIRST_CHARACTERS = bytes(ord(text[0]) for text in _TEXTS).ljust(256, bytes([_NONE]))
_SECOND_CHARACTERS = bytes(ord(text[1]) for text in _TEXTS).ljust(256, bytes([_NONE]))
# Byte 0 to 0x00, byte 1 to 0xFF: which of two tables an item's low byte is looked up in.
_SECOND_TABLE = bytes([0, _NONE]).ljust(256, b"\0")
# An item as it is committed: four big-endian bytes, of which the first two are 0.
_ITEM_BYTES = 4


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
    # Three bytes a card, whole columns at a time: no object for a single card.
    text = bytearray(b"   ") * len(cards)
    text[0::3] = cards.translate(_FIRST_CHARACTERS)
    text[1::3] = cards.translate(_SECOND_CHARACTERS)
    if _NONE in text:
        raise InternalError(f"card id {max(cards)}; expected 0 to {len(_TEXTS) - 1}")
    return text[:-1].decode("ascii")


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

    def packed_cards(self, encoded_items: bytes) -> bytes:
        """Return the card id of each item, one byte each, without an object for a single card.

        Args:
            encoded_items: four big-endian bytes an item, as they are committed.

        Raises:
            InternalError: an item is not one of this deck's, or a part of one.
        """
        low, second = encoded_items[3::_ITEM_BYTES], encoded_items[2::_ITEM_BYTES]
        high = encoded_items[0::_ITEM_BYTES] + encoded_items[1::_ITEM_BYTES]
        first_table, second_table = _tables(self)
        cards = low.translate(first_table)
        # Items from 256 on come with shoes alone.
        if second.strip(b"\0"):
            mask = int.from_bytes(second.translate(_SECOND_TABLE))
            others = int.from_bytes(low.translate(second_table))
            cards = (int.from_bytes(cards) & ~mask | others & mask).to_bytes(len(low))
        if len(encoded_items) % _ITEM_BYTES or high.strip(b"\0") or second.strip(b"\0\1"):
            raise InternalError("items are not four bytes each, below 512")
        if _NONE in cards:
            raise InternalError(f"item above {self.size - 1}, the last of the deck")
        return cards

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


@lru_cache(maxsize=256)
def _tables(deck: Deck) -> tuple[bytes, bytes]:
    """Return the card ids of items 0 to 255, and of 256 to 511, `_NONE` where there is no item."""
    cards = bytes(_copies(deck)).ljust(512, bytes([_NONE]))
    return cards[:256], cards[256:]
