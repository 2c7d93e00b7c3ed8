"""Opening many hands at once: the bytes of `open_deck`, without an object for a single card.

Spec: docs/protocol.md, "Commitments" and "A Shuffle".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.draw.batch import shuffle_many
from entropyd.draw.samplers import Sampler
from entropyd.hands import commitment
from entropyd.hands.rules import Rules, segments_needed
from entropyd.hands.whole_deck import open_deck
from entropyd.rbg.construction import DrawSeeds


@dataclass(frozen=True, slots=True)
class OpenedDeck:
    """A drawn and committed order. Show it to nobody before it is recorded.

    Attributes:
        commitment: C, 32 bytes.
        deck_root: D, 32 bytes.
        encoded_items: in dealing order, four big-endian bytes each.
    """

    commitment: bytes
    deck_root: bytes
    encoded_items: bytes = field(repr=False)


def open_decks(
    hand_rules: Rules, bindings: Sequence[bytes], secrets: Sequence[DrawSeeds]
) -> list[OpenedDeck]:
    """Draw and commit hands under the same rules, to which no seat contributes.

    Args:
        hand_rules: rules of every hand.
        bindings: X of each.
        secrets: seeds, r and K of each, as `open_deck` takes them.

    Raises:
        InternalError: as `open_deck`, and all of it is void.
    """
    if (
        segments_needed(hand_rules) != 1
        or hand_rules.sampler is not Sampler.MASKED
        or not hand_rules.whole_deck_proof
    ):
        return [_open(hand_rules, x, own) for x, own in zip(bindings, secrets, strict=True)]
    seeds = [own.seeds[0] for own in secrets]
    orders = shuffle_many(hand_rules.deck.size, seeds, bindings)
    return [
        OpenedDeck(
            commitment.seed_commitment(x, own.seeds, own.blinding),
            commitment.encoded_deck_root(x, own.salt_key, encoded),
            encoded,
        )
        for x, own, encoded in zip(bindings, secrets, orders, strict=True)
    ]


def _open(hand_rules: Rules, binding: bytes, own: DrawSeeds) -> OpenedDeck:
    deck = open_deck(
        hand_rules, binding, seeds=own.seeds, blinding=own.blinding, salt_key=own.salt_key
    )
    return OpenedDeck(deck.commitment, deck.deck_root, deck.encoded_items)
