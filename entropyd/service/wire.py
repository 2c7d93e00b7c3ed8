"""A recorded deck as the bytes of its message, without the message.

Making the objects of a `ShuffleResponse`, filling them and copying them into
the message of a batch takes four times as long as drawing the deck. All that
differs between two hands is text and bytes of known length, so the bytes are
joined from them. They are those that protobuf writes, field by field in
ascending order: a test compares them for every kind of record.

Spec: protobuf, "Encoding": a field is a tag, and for text, bytes and messages
a length and that many bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from entropyd.draw.cards import Deck, cards_text
from entropyd.hands.rules import decode
from entropyd.ledger.contract import HandRecord
from entropyd.runtime.orders import Dealt
from entropyd.v1 import types_pb2

# Tags of length-delimited fields: number << 3 | 2. Those up to 15 are one byte.
_LENGTH_DELIMITED = 2
_SEQUENCE = bytes([6 << 3])
_REPLAYED = bytes([2 << 3, 1])


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
            field(3, cards),
            field(4, cards_text(cards).encode("ascii")),
            field(5, draft.items),
            _SEQUENCE,
            varint(record.sequence),
            field(7, draft.commitment),
            field(8, draft.deck_root),
            field(9, record.open_hash),
            form.rules_field,
            field(11, draft.provenance),
        )
    )


def field(number: int, payload: bytes) -> bytes:
    """Return a field of text, bytes or a message; `number` is 1 to 15, the payload not empty."""
    size = len(payload)
    if size < 128:
        return bytes((number << 3 | _LENGTH_DELIMITED, size)) + payload
    return bytes((number << 3 | _LENGTH_DELIMITED,)) + varint(size) + payload


def varint(value: int) -> bytes:
    """Return an unsigned integer, seven bits a byte, the least significant first."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


@dataclass(frozen=True, slots=True)
class _Form:
    """What all hands under the same rules share."""

    deck: Deck
    deck_field: bytes
    rules_field: bytes


@lru_cache(maxsize=256)
def _form(rules: bytes) -> _Form:
    deck = decode(rules).deck
    message = types_pb2.Deck(name=deck.name, decks=deck.decks, removed=deck.removed)
    return _Form(deck, field(2, message.SerializeToString()), field(10, rules))


def _key(table: str, hand: str) -> bytes:
    return field(1, table.encode("ascii")) + field(2, hand.encode("ascii"))
