"""RFC 6962 tree heads against published trees and the recursive definition."""

import hashlib
import json
from pathlib import Path

import pytest

from entropyd.log import merkle
from tests.reference import naive

TREE = json.loads(
    (Path(__file__).parents[1] / "vectors/merkle/reference_tree.json").read_text("utf-8")
)
LEAVES = [bytes.fromhex(leaf) for leaf in TREE["leaf_inputs_hex"]]


@pytest.mark.parametrize("size", range(9))
def test_the_published_tree_of_every_size(size):
    """Roots of the first 0 to 8 reference leaves."""
    expected = TREE["root_hashes_hex_by_tree_size_0_to_8"][size]
    assert expected == merkle.root(LEAVES[:size]).hex()
    assert expected == naive.merkle_root(LEAVES[:size]).hex()


def test_the_published_leaf_hashes():
    """The bottom row of the reference tree."""
    expected = TREE["node_hashes_hex_by_level"][0]
    assert expected == [merkle.leaf_hash(leaf).hex() for leaf in LEAVES]


@pytest.mark.parametrize("size", [*range(130), 255, 256, 257, 432])
def test_pairing_level_by_level_is_splitting_at_powers_of_two(size):
    """The loop and the standard's recursion give one tree."""
    leaves = [index.to_bytes(2, "big") for index in range(size)]
    assert naive.merkle_root(leaves) == merkle.root(leaves)


def test_a_node_cannot_be_shown_as_a_leaf():
    """Two leaves and one leaf made of their hashes have different roots."""
    left, right = merkle.leaf_hash(b"a"), merkle.leaf_hash(b"b")
    assert merkle.root([b"a", b"b"]) != merkle.root([left + right])
    assert hashlib.sha256(b"\x01" + left + right).digest() == merkle.root([b"a", b"b"])


def test_an_iterator_is_read_once():
    """Leaves may come from a generator."""
    assert merkle.root(LEAVES) == merkle.root(leaf for leaf in LEAVES)
