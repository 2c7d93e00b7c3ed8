"""Inclusion and consistency proofs, and the tree that grows: every size, every bit."""

import json
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import InternalError, ProofInvalidError, TreeInvalidError
from entropyd.log import merkle
from entropyd.log.frontier import Frontier, Node, subtrees
from entropyd.log.proofs import (
    consistency_proof,
    inclusion_proof,
    nodes_of,
    tree_head,
    verify_consistency,
    verify_inclusion,
)
from tests.reference import naive

VECTORS = Path(__file__).parents[1] / "vectors"
LARGEST = 70
HASHES = [merkle.leaf_hash(index.to_bytes(2, "big")) for index in range(LARGEST)]
READ = nodes_of(HASHES)
ROOTS = [merkle.root_of_hashes(HASHES[:size]) for size in range(LARGEST + 1)]


def published(name):
    return json.loads((VECTORS / "merkle" / name).read_text("utf-8"))


def unbase(text):
    return b64decode(text)


def judged(verify, *arguments):
    """Return whether a proof was taken."""
    try:
        verify(*arguments)
    except ProofInvalidError:
        return False
    return True


def flips(data):
    """Yield `data` with each of its bits changed alone."""
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


# --- what others published -----------------------------------------------------


def by_file(case):
    return case["file"]


@pytest.mark.parametrize("case", published("inclusion.json")["vectors"], ids=by_file)
def test_published_inclusion_proofs(case):
    """98 proofs, 92 of which must be refused."""
    taken = judged(
        verify_inclusion,
        unbase(case["leafHash"]),
        case["leafIdx"],
        case["treeSize"],
        [unbase(each) for each in case["proof"] or []],
        unbase(case["root"]),
    )
    assert (not case["wantErr"]) == taken


@pytest.mark.parametrize("case", published("consistency.json")["vectors"], ids=by_file)
def test_published_consistency_proofs(case):
    """98 proofs, 92 of which must be refused."""
    taken = judged(
        verify_consistency,
        case["size1"],
        case["size2"],
        unbase(case["root1"]),
        unbase(case["root2"]),
        [unbase(each) for each in case["proof"] or []],
    )
    assert (not case["wantErr"]) == taken


def test_a_leaf_of_a_real_certificate_log():
    """A path of 22 hashes in a tree of 3,630,887 leaves."""
    case = published("real_ct_log_inclusion.json")
    path = [bytes.fromhex(each) for each in case["audit_path_hex"]]
    leaf = merkle.leaf_hash(bytes.fromhex(case["leaf_input_hex"]))
    root = bytes.fromhex(case["root_hash_hex"])
    verify_inclusion(leaf, case["leaf_index"], case["tree_size"], path, root)
    with pytest.raises(ProofInvalidError):
        verify_inclusion(leaf, case["leaf_index"] + 1, case["tree_size"], path, root)


# --- every size -----------------------------------------------------------------


def test_every_leaf_of_every_tree_to_70_leaves_has_a_path_that_verifies():
    """Paths equal those of the recursive definition, and lead to the root."""
    leaves = [index.to_bytes(2, "big") for index in range(LARGEST)]
    for size in range(1, LARGEST + 1):
        for index in range(size):
            path = inclusion_proof(READ, index, size)
            assert naive.merkle_path(index, leaves[:size]) == path
            verify_inclusion(HASHES[index], index, size, path, ROOTS[size])


def test_every_two_trees_to_70_leaves_have_a_proof_that_verifies():
    """Every pair of sizes, equal ones with an empty proof."""
    for new in range(1, LARGEST + 1):
        for old in range(1, new + 1):
            proof = consistency_proof(READ, old, new)
            assert (old == new) == (not proof)
            verify_consistency(old, new, ROOTS[old], ROOTS[new], proof)


def test_a_path_proves_no_other_place():
    """Each path of each tree to 40 leaves, tried at every index: its own is the only one."""
    for size in range(1, 41):
        for index in range(size):
            path = inclusion_proof(READ, index, size)
            taken = [
                other
                for other in range(size)
                if judged(verify_inclusion, HASHES[index], other, size, path, ROOTS[size])
            ]
            assert [index] == taken


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13, 64, 70])
def test_every_changed_bit_of_an_inclusion_proof_is_refused(size):
    """Leaf, path and root, one bit at a time, and hashes left out, doubled or added."""
    taken = []
    for index in {0, size // 2, size - 2, size - 1} & set(range(size)):
        path = inclusion_proof(READ, index, size)
        good = [HASHES[index], *path, ROOTS[size]]
        for at, each in enumerate(good):
            for changed in flips(each):
                tried = [*good[:at], changed, *good[at + 1 :]]
                proof = (tried[0], index, size, tried[1:-1], tried[-1])
                taken.append(judged(verify_inclusion, *proof))
        for at in range(len(path) + 1):
            longer = [*path[:at], HASHES[0], *path[at:]]
            taken.append(judged(verify_inclusion, HASHES[index], index, size, longer, ROOTS[size]))
        for at in range(len(path)):
            fewer = path[:at] + path[at + 1 :]
            taken.append(judged(verify_inclusion, HASHES[index], index, size, fewer, ROOTS[size]))
    assert len(taken) >= 2 * 256
    assert not any(taken)


@pytest.mark.parametrize(
    ("old", "new"), [(1, 2), (1, 70), (3, 7), (4, 8), (6, 70), (64, 70), (69, 70)]
)
def test_every_changed_bit_of_a_consistency_proof_is_refused(old, new):
    """Both roots and the proof, one bit at a time, and hashes left out or added."""
    proof = consistency_proof(READ, old, new)
    good = [ROOTS[old], *proof, ROOTS[new]]
    taken = []
    for at, each in enumerate(good):
        for changed in flips(each):
            tried = [*good[:at], changed, *good[at + 1 :]]
            ends = (tried[0], tried[-1])
            taken.append(judged(verify_consistency, old, new, *ends, tried[1:-1]))
    for at in range(len(proof) + 1):
        longer = [*proof[:at], HASHES[0], *proof[at:]]
        taken.append(judged(verify_consistency, old, new, ROOTS[old], ROOTS[new], longer))
    for at in range(len(proof)):
        fewer = proof[:at] + proof[at + 1 :]
        taken.append(judged(verify_consistency, old, new, ROOTS[old], ROOTS[new], fewer))
    assert len(taken) >= 2 * 256
    assert not any(taken)


def test_a_hash_too_many_is_named_whatever_it_is():
    """Also where the path was complete before it."""
    for extra in (bytes(32), ROOTS[13]):
        path = [*inclusion_proof(READ, 4, 13), extra]
        with pytest.raises(ProofInvalidError, match="5 hashes are more than the path has"):
            verify_inclusion(HASHES[4], 4, 13, path, ROOTS[13])
        proof = [*consistency_proof(READ, 6, 13), extra]
        with pytest.raises(ProofInvalidError, match="hashes are more than it takes"):
            verify_consistency(6, 13, ROOTS[6], ROOTS[13], proof)


def test_a_log_that_changed_an_old_leaf_has_no_consistency_proof():
    """Every honest-looking proof of the forked log is refused against the old root."""
    forked = [*HASHES[:5], merkle.leaf_hash(b"another"), *HASHES[6:]]
    read = nodes_of(forked)
    for new in range(11, LARGEST + 1):
        proof = consistency_proof(read, 10, new)
        assert not judged(verify_consistency, 10, new, ROOTS[10], tree_head(read, new), proof)


def test_two_roots_of_one_size_are_a_fork():
    """Equal sizes take no hashes and one root."""
    with pytest.raises(ProofInvalidError, match="forked"):
        verify_consistency(7, 7, ROOTS[7], ROOTS[6], [])
    with pytest.raises(ProofInvalidError, match="take no hashes"):
        verify_consistency(7, 7, ROOTS[7], ROOTS[7], [ROOTS[7]])


@pytest.mark.parametrize(
    ("index", "size"), [(-1, 1), (1, 1), (0, 0), (0, -1), (2**63 - 1, 2**63), (2**64, 2**65)]
)
def test_a_leaf_that_no_tree_has_is_refused(index, size):
    with pytest.raises(ProofInvalidError, match="no leaf"):
        verify_inclusion(HASHES[0], index, size, [], HASHES[0])


def test_nothing_is_made_for_a_leaf_or_size_that_is_not_there():
    """Whoever asks for a client checks the client's numbers first."""
    with pytest.raises(InternalError):
        inclusion_proof(READ, 5, 5)
    with pytest.raises(InternalError):
        consistency_proof(READ, 0, 5)
    with pytest.raises(InternalError):
        subtrees(1, 3)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-2, 2**70),
    st.integers(-2, 2**70),
    st.lists(st.binary(max_size=40), max_size=70),
    st.binary(max_size=40),
)
def test_hostile_proofs_are_refused_and_nothing_else(one, other, hashes, root):
    """No number, length or count of hashes crashes a check or satisfies it."""
    assert not judged(verify_inclusion, HASHES[3], one, other, hashes, root)
    assert not judged(verify_consistency, one, other, root, HASHES[3], hashes)


# --- the tree that grows ----------------------------------------------------------


def test_a_growing_tree_has_every_root():
    """300 leaves, one at a time, and the frontier through its encoding at each."""
    hashes = [sha256(bytes([index % 251, index // 251])).digest() for index in range(300)]
    tree = Frontier()
    stored: dict[Node, bytes] = {}
    for size, leaf in enumerate(hashes):
        assert merkle.root_of_hashes(hashes[:size]) == tree.root()
        assert tree == Frontier.decode(tree.encode())
        completed = dict(tree.completed(leaf))
        assert not completed.keys() & stored.keys()
        stored |= completed
        tree = tree.append(leaf)
    assert len(stored) < 2 * len(hashes)
    # The stored nodes alone serve every proof.
    for size in (1, 2, 255, 256, 257, 300):
        assert merkle.root_of_hashes(hashes[:size]) == tree_head(stored.__getitem__, size)
        path = inclusion_proof(stored.__getitem__, size // 2, size)
        verify_inclusion(
            hashes[size // 2], size // 2, size, path, tree_head(nodes_of(hashes), size)
        )
    proof = consistency_proof(stored.__getitem__, 100, 300)
    verify_consistency(100, 300, merkle.root_of_hashes(hashes[:100]), tree.root(), proof)


def test_the_empty_tree_has_the_hash_of_nothing():
    """And begins from nothing else than its size."""
    assert merkle.EMPTY_ROOT == Frontier().root() == tree_head(READ, 0)
    assert bytes(8) == Frontier().encode()


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        bytes(7),
        bytes(8) + bytes(32),
        bytes(7) + b"\x01",
        bytes(7) + b"\x01" + bytes(31),
        bytes(7) + b"\x01" + bytes(33),
        bytes(7) + b"\x03" + bytes(32),
        b"\x80" + bytes(7) + bytes(32),
    ],
)
def test_bytes_that_are_no_frontier_are_refused(encoded):
    with pytest.raises(TreeInvalidError):
        Frontier.decode(encoded)


def test_a_leaf_hash_of_another_length_is_not_appended():
    with pytest.raises(TreeInvalidError):
        Frontier().append(bytes(31))


def test_ranges_fall_into_perfect_subtrees():
    """Largest first: 64 to 69 are four leaves and one."""
    assert [Node(2, 16), Node(0, 68)] == subtrees(64, 69)
