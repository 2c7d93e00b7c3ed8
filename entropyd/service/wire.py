"""A recorded deck as the bytes of its message, without the message.

Making the objects of a `ShuffleResponse`, filling them and copying them into
the message of a batch takes four times as long as drawing the deck. All that
differs between two hands is text and bytes of known length, so the bytes are
joined from them. They are those that protobuf writes, field by field in
ascending order: a test compares them for every kind of record.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from entropyd.draw.cards import Deck, cards_text
from entropyd.hands.commitment import ITEM_BYTES
from entropyd.hands.rules import decode
from entropyd.ledger.contract import HandRecord
from entropyd.runtime.orders import Dealt
from entropyd.service.fields import field, head, number_field
from entropyd.v1 import types_pb2

HASH_BYTES = 32

_REPLAYED = number_field(2, 1)
_COMMITMENT_HEAD, _DECK_ROOT_HEAD, _OPEN_HASH_HEAD = (
    head(number, HASH_BYTES) for number in (7, 8, 9)
)


def batch_response(dealt: Iterable[bytes]) -> bytes:
    """Return a `BatchShuffleResponse` of the responses of its hands, as `response` made them."""
    return b"".join([field(1, one) for one in dealt])


def stream_response(answers: Iterable[bytes]) -> bytes:
    """Return a `StreamShufflesResponse` of answers, each a `HandAnswer`."""
    return b"".join([field(1, one) for one in answers])


def get_response(record: HandRecord) -> bytes:
    """Return a `GetShuffleResponse`."""
    return field(1, shuffle(record))


def hand_answer(dealt: Dealt) -> bytes:
    """Return the `HandAnswer` of a hand that was dealt."""
    draft = dealt.record.draft
    return field(1, _key(draft.table, draft.hand)) + field(2, response(dealt))


def response(dealt: Dealt) -> bytes:
    """Return the `ShuffleResponse` of a hand."""
    deck = field(1, shuffle(dealt.record))
    return deck + _REPLAYED if dealt.replayed else deck


def shuffle(record: HandRecord) -> bytes:
    """Return the `Shuffle` of a record: the same bytes for the same record."""
    draft = record.draft
    form = _form(draft.rules)
    cards = form.deck.packed_cards(draft.items)
    return b"".join(
        (
            field(1, _key(draft.table, draft.hand)),
            form.deck_field,
            form.cards_head,
            cards,
            form.text_head,
            cards_text(cards).encode("ascii"),
            form.items_head,
            draft.items,
            number_field(6, record.sequence),
            _COMMITMENT_HEAD,
            draft.commitment,
            _DECK_ROOT_HEAD,
            draft.deck_root,
            _OPEN_HASH_HEAD,
            record.open_hash,
            form.rules_field,
            field(11, draft.provenance),
            number_field(12, record.log_index or 0),
        )
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """What all hands under the same rules share."""

    deck: Deck
    deck_field: bytes
    cards_head: bytes
    text_head: bytes
    items_head: bytes
    rules_field: bytes


@lru_cache(maxsize=256)
def _form(rules: bytes) -> _Form:
    deck = decode(rules).deck
    message = types_pb2.Deck(name=deck.name, decks=deck.decks, removed=deck.removed)
    return _Form(
        deck=deck,
        deck_field=field(2, message.SerializeToString()),
        cards_head=head(3, deck.size),
        # Two characters a card, and a space between.
        text_head=head(4, 3 * deck.size - 1),
        items_head=head(5, ITEM_BYTES * deck.size),
        rules_field=field(10, rules),
    )


def _key(table: str, hand: str) -> bytes:
    return field(1, table.encode("ascii")) + field(2, hand.encode("ascii"))
