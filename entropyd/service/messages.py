"""From records to messages: the same bytes for the same record."""

from functools import lru_cache

from entropyd.draw.cards import Deck, cards_text
from entropyd.hands.rules import decode
from entropyd.ledger.contract import HandRecord
from entropyd.runtime.orders import Dealt
from entropyd.v1 import shuffle_service_pb2, types_pb2


def response(dealt: Dealt) -> shuffle_service_pb2.ShuffleResponse:
    """Return what a hand is answered with."""
    return shuffle_service_pb2.ShuffleResponse(
        shuffle=shuffle_message(dealt.record), replayed=dealt.replayed
    )


def shuffle_message(record: HandRecord) -> shuffle_service_pb2.Shuffle:
    """Return a record as its message: the same bytes for the same record."""
    draft = record.draft
    deck = _deck(draft.rules)
    cards = deck.packed_cards(draft.items)
    return shuffle_service_pb2.Shuffle(
        key=types_pb2.HandKey(table=draft.table, hand=draft.hand),
        deck=types_pb2.Deck(name=deck.name, decks=deck.decks, removed=deck.removed),
        cards=cards,
        text=cards_text(cards),
        items=draft.items,
        sequence=record.sequence,
        commitment=draft.commitment,
        deck_root=draft.deck_root,
        open_hash=record.open_hash,
        rules=draft.rules.decode("ascii"),
        provenance=types_pb2.Provenance.FromString(draft.provenance),
    )


@lru_cache(maxsize=256)
def _deck(rules: bytes) -> Deck:
    return decode(rules).deck
