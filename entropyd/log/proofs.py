"""Proofs about a log: that a leaf is in it, and that it only grew.

Making needs a log, given as a reader of its nodes (see `Node`). Checking needs
nothing but the proof: whatever is wrong with it ends in a VerificationError.

Every check recomputes each root from the proof and compares, and takes exactly
the hashes that index and sizes call for: one missing, one too many or one of
another length is refused, so that a statement has one proof.

Spec: RFC 6962, section 2.1; RFC 9162, sections 2.1.3 and 2.1.4, whose checks
these are; docs/protocol.md, "The log".
"""

from collections.abc import Callable, Sequence
from hmac import compare_digest

from entropyd.errors import InternalError, ProofInvalidError
from entropyd.log.frontier import Node, subtrees
from entropyd.log.merkle import EMPTY_ROOT, HASH_BYTES, MAX_SIZE, node_hash

ReadNode = Callable[[Node], bytes]
"""Returns the 32-byte hash of a node that the log has completed."""


def nodes_of(leaf_hashes: Sequence[bytes]) -> ReadNode:
    """Return a reader over leaf hashes in memory, for lists too short to store nodes of."""

    def read(node: Node) -> bytes:
        if node.level == 0:
            return leaf_hashes[node.place]
        below = node.level - 1
        return node_hash(read(Node(below, 2 * node.place)), read(Node(below, 2 * node.place + 1)))

    return read


def tree_head(read: ReadNode, size: int) -> bytes:
    """Return the root of the first `size` leaves of a log."""
    return _range_root(read, 0, size) if size else EMPTY_ROOT


def inclusion_proof(read: ReadNode, index: int, size: int) -> list[bytes]:
    """Return the path of leaf `index` in the first `size` leaves, the leaf's sibling first.

    Raises:
        InternalError: there is no such leaf; whoever asks checks that first.
    """
    if not 0 <= index < size:
        raise InternalError(f"no leaf {index} in a tree of {size}")
    start, stop, path = 0, size, []
    while stop - start > 1:
        split = start + _largest_power_below(stop - start)
        if index < split:
            path.append(_range_root(read, split, stop))
            stop = split
        else:
            path.append(_range_root(read, start, split))
            start = split
    return path[::-1]


def consistency_proof(read: ReadNode, old: int, new: int) -> list[bytes]:
    """Return the proof that the first `new` leaves begin with the first `old`.

    It is empty where both sizes are equal.

    Raises:
        InternalError: not 1 <= old <= new; whoever asks checks that first.
    """
    if not 1 <= old <= new:
        raise InternalError(f"no proof from {old} leaves to {new}")
    start, stop, proof = 0, new, []
    while stop != old:
        split = start + _largest_power_below(stop - start)
        if old <= split:
            proof.append(_range_root(read, split, stop))
            stop = split
        else:
            proof.append(_range_root(read, start, split))
            start = split
    # The old root itself is known to whoever asks; a subtree further right is not.
    if start:
        proof.append(_range_root(read, start, stop))
    return proof[::-1]


def verify_inclusion(
    leaf_hash: bytes, index: int, size: int, path: Sequence[bytes], root: bytes
) -> None:
    """Check that a leaf is in the tree with this root.

    Args:
        leaf_hash: 32 bytes.
        index: of the leaf, from 0.
        size: of the tree, 1 to 2**63 - 1, from the same checkpoint as the root: a root
            alone does not fix it.
        path: the leaf's sibling first.
        root: 32 bytes; the caller has it from a checkpoint it trusts.

    Raises:
        ProofInvalidError: it is not, or the proof has another form.
    """
    if not 0 <= index < size <= MAX_SIZE:
        raise ProofInvalidError(f"inclusion: no leaf {index} in a tree of {size}")
    _check_lengths("inclusion", (leaf_hash, root, *path))
    present, place, last = leaf_hash, index, size - 1
    for sibling in path:
        if last == 0:
            raise ProofInvalidError(f"inclusion: {len(path)} hashes are more than the path has")
        if place & 1 or place == last:
            present = node_hash(sibling, present)
            place, last = _up_from_left_sibling(place, last)
        else:
            present = node_hash(present, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise ProofInvalidError(f"inclusion: {len(path)} hashes are fewer than the path has")
    if not compare_digest(present, root):
        raise ProofInvalidError(
            f"inclusion: leaf {index} and its path give root {present.hex()}, not {root.hex()}"
        )


def verify_consistency(
    old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> None:
    """Check that the tree with the new root begins with the whole tree of the old one.

    Args:
        old: size of the older tree, at least 1: of the empty tree, which is the
            beginning of everything, there is nothing to prove.
        new: size of the newer tree, at most 2**63 - 1.
        old_root: 32 bytes, from a checkpoint.
        new_root: 32 bytes, from a checkpoint.
        proof: as `consistency_proof` makes it.

    Raises:
        ProofInvalidError: it does not, or the proof has another form.
    """
    if not 1 <= old <= new <= MAX_SIZE:
        raise ProofInvalidError(f"consistency: no proof leads from {old} leaves to {new}")
    if old == new:
        _check_same_tree(old_root, new_root, proof)
        return
    _check_lengths("consistency", (old_root, new_root, *proof))
    first, rest = _first_subtree(old, old_root, proof)
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_side = new_side = first
    for sibling in rest:
        if last == 0:
            raise ProofInvalidError(f"consistency: {len(proof)} hashes are more than it takes")
        if place & 1 or place == last:
            old_side, new_side = node_hash(sibling, old_side), node_hash(sibling, new_side)
            place, last = _up_from_left_sibling(place, last)
        else:
            new_side = node_hash(new_side, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise ProofInvalidError(f"consistency: {len(proof)} hashes are fewer than it takes")
    _compare_roots((old, old_side, old_root), (new, new_side, new_root))


def _check_same_tree(old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    if proof:
        raise ProofInvalidError("consistency: trees of one size take no hashes")
    if not compare_digest(old_root, new_root):
        raise ProofInvalidError("consistency: two roots for one size: the log was forked")


def _first_subtree(
    old: int, old_root: bytes, proof: Sequence[bytes]
) -> tuple[bytes, Sequence[bytes]]:
    """Return where both computations begin: an old tree that is perfect is its own start."""
    if old & (old - 1) == 0:
        return old_root, proof
    if not proof:
        raise ProofInvalidError("consistency: no hashes where some are needed")
    return proof[0], proof[1:]


def _up_from_left_sibling(place: int, last: int) -> tuple[int, int]:
    """Skip the levels on which a node at the right edge has no sibling to its right."""
    while place and not place & 1:
        place, last = place >> 1, last >> 1
    return place, last


def _compare_roots(*trees: tuple[int, bytes, bytes]) -> None:
    for size, computed, given in trees:
        if not compare_digest(computed, given):
            raise ProofInvalidError(
                f"consistency: the proof gives root {computed.hex()} for {size} leaves,"
                f" not {given.hex()}"
            )


def _check_lengths(what: str, hashes: Sequence[bytes]) -> None:
    for each in hashes:
        if len(each) != HASH_BYTES:
            raise ProofInvalidError(f"{what}: a hash has {len(each)} bytes; expected {HASH_BYTES}")


def _largest_power_below(count: int) -> int:
    """Return the largest power of two below `count`, which is at least 2."""
    return 1 << (count - 1).bit_length() - 1


def _range_root(read: ReadNode, start: int, stop: int) -> bytes:
    """Return the root over the leaves from `start` to before `stop`, folded from the right."""
    *rest, last = subtrees(start, stop)
    present = read(last)
    for node in reversed(rest):
        present = node_hash(read(node), present)
    return present
