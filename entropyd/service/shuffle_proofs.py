"""Proofs of single cards of a deck that is dealt whole, where its caller asked for them.

Most decks have none: a hash over all of it is all that their caller needs, and
takes a hundredth of the time.

Spec: docs/protocol.md, "Deck root D, card by card".
"""

from entropyd.errors import RequestError
from entropyd.hands.card_proof import CardTree
from entropyd.hands.commitment import decode_items
from entropyd.hands.rules import decode
from entropyd.ledger.contract import HandRecord
from entropyd.service.fields import field
from entropyd.v1 import shuffle_service_pb2


def has_card_proofs(record: HandRecord) -> bool:
    """Return whether a deck was committed card by card."""
    return not decode(record.draft.rules).whole_deck_proof


def refuse_card_proofs(request: shuffle_service_pb2.ShuffleRequest) -> None:
    """Refuse proofs of one of many hands: an answer has no room for all of them.

    Raises:
        RequestError: they are asked for; names `card_proofs`.
    """
    if request.card_proofs:
        raise RequestError(
            "card_proofs",
            "stands in a hand of many; expected it where one hand is asked for: ask Shuffle",
        )


def proofs_fields(number: int, opened: HandRecord) -> bytes:
    """Return a field `number` for the proof of every card, in dealing order.

    Args:
        number: of the field of the answer, 1 to 15.
        opened: the hand, with its secrets.
    """
    draft = opened.draft
    items = decode_items(draft.items)
    tree = CardTree(draft.binding, draft.salt_key, items)
    # Nobody contributes to a deck that is dealt whole: place p is leaf p.
    proofs = [tree.prove(place, place) for place in range(len(items))]
    return b"".join(
        [
            field(number, field(1, proof.salt) + b"".join([field(2, node) for node in proof.path]))
            for proof in proofs
        ]
    )
