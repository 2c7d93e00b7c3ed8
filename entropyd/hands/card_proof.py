"""What proves one card of a hand, and nothing of any other.

Spec: docs/protocol.md, "Deck root D, card by card" and "Dealing".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.encoding import lp, u32
from entropyd.errors import OrderMismatchError, ProofInvalidError
from entropyd.hands.commitment import CARD_LABEL, SALT_BYTES, card_salts, salted_leaves
from entropyd.log.merkle import leaf_hash, node_hash
from entropyd.log.proofs import verify_inclusion


@dataclass(frozen=True, slots=True)
class CardProof:
    """A card that was dealt, with what shows that it was committed there.

    Attributes:
        place: of the deal.
        leaf_index: i, the leaf of D that was dealt there.
        item: a[i].
        salt: of that leaf, 32 bytes.
        path: from the leaf to D, its sibling first, 32 bytes each.
    """

    place: int
    leaf_index: int
    item: int = field(repr=False)
    salt: bytes = field(repr=False)
    path: tuple[bytes, ...] = field(repr=False)


class CardTree:
    """The leaves of a committed deck and the nodes over them, for as many proofs as are asked for.

    Secret as the deck is.
    """

    def __init__(self, binding: bytes, salt_key: bytes, items: Sequence[int]) -> None:
        """Hash all leaves and nodes.

        Args:
            binding: X.
            salt_key: K, 32 bytes.
            items: the committed order a.
        """
        self._items = items
        self._salts = card_salts(binding, salt_key, len(items))
        level = [leaf_hash(leaf) for leaf in salted_leaves(binding, self._salts, items)]
        self._levels: list[list[bytes]] = []
        while len(level) > 1:
            self._levels.append(level)
            # RFC 6962 splits at the largest power of two below the size, so an odd one at the end
            # meets its sibling further up: it goes there unchanged.
            odd = level[-1:] if len(level) % 2 else []
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [node_hash(left, right) for left, right in pairs] + odd

    def prove(self, place: int, leaf_index: int) -> CardProof:
        """Return the card of a place, that of leaf `leaf_index`, with its proof."""
        path, at = [], leaf_index
        for level in self._levels:
            if at ^ 1 < len(level):
                path.append(level[at ^ 1])
            at >>= 1
        return CardProof(
            place, leaf_index, self._items[leaf_index], self._salts[leaf_index], tuple(path)
        )


def check_card(
    proof: CardProof, *, binding: bytes, size: int, deck_root: bytes, cut: Sequence[int]
) -> None:
    """Check that a card was committed and is the one that the cut brings to its place.

    Args:
        proof: as presented.
        binding: X, computed by whoever checks.
        size: n, from the open receipt.
        deck_root: D, from the open receipt.
        cut: the cut, computed by whoever checks.

    Raises:
        OrderMismatchError: the cut brings another leaf to this place.
        ProofInvalidError: the leaf, with its salt, does not lead to D.
    """
    if not 0 <= proof.place < size or cut[proof.place] != proof.leaf_index:
        raise OrderMismatchError(
            f"place {proof.place}: leaf {proof.leaf_index} is not the one that the cut brings there"
        )
    if len(proof.salt) != SALT_BYTES or not 0 <= proof.item < 1 << 32:
        raise ProofInvalidError(f"place {proof.place}: salt or item has another length")
    leaf = CARD_LABEL + lp(binding) + u32(proof.leaf_index) + u32(proof.item) + proof.salt
    verify_inclusion(leaf_hash(leaf), proof.leaf_index, size, proof.path, deck_root)
