"""The tree over a deck gives the proofs of RFC 6962, for every size and place."""

import pytest

from entropyd.hands.card_proof import CardTree, check_card
from entropyd.hands.commitment import card_by_card_root, card_leaves
from entropyd.log.merkle import leaf_hash
from entropyd.log.proofs import inclusion_proof, nodes_of

BINDING, SALT_KEY = b"binding", b"k" * 32


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 13, 31, 32, 33, 36, 52, 54, 416, 432])
def test_every_place_has_the_path_that_the_definition_gives(size):
    """Compared with the recursion of the RFC over the same leaves, and checked against D."""
    items = list(reversed(range(size)))
    tree = CardTree(BINDING, SALT_KEY, items)
    hashes = [leaf_hash(leaf) for leaf in card_leaves(BINDING, SALT_KEY, items)]
    read, cut = nodes_of(hashes), list(range(size))
    root = card_by_card_root(BINDING, SALT_KEY, items)
    for place in range(size):
        proof = tree.prove(place, place)
        assert tuple(inclusion_proof(read, place, size)) == proof.path
        check_card(proof, binding=BINDING, size=size, deck_root=root, cut=cut)
