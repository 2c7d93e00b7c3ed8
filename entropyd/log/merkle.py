"""RFC 6962 tree heads: one hash over a list, of which parts can be proved later.

Leaves and nodes are hashed under different first bytes, so that no node can be
shown as a leaf.

Spec: RFC 6962, section 2.1; docs/protocol.md, "Encoding".
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

HASH_BYTES = 32

# Sizes and indices travel as u64, and a witness's numbers end at 2^63 - 1: no log is longer.
MAX_SIZE = (1 << 63) - 1

# The hash of nothing is the head of the tree without leaves.
EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    """Return the 32-byte hash of one leaf."""
    return sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the 32-byte hash of a node over its two children."""
    return sha256(b"\x01" + left + right).digest()


def root(leaves: Iterable[bytes]) -> bytes:
    """Return the 32-byte Merkle Tree Hash of `leaves`, in their order."""
    return root_of_hashes([leaf_hash(leaf) for leaf in leaves])


def root_of_hashes(hashes: Sequence[bytes]) -> bytes:
    """Return the Merkle Tree Hash over leaf hashes.

    The standard splits a list at the largest power of two below its length.
    Pairing neighbours level by level gives the same tree: below that split
    everything pairs up evenly, and what is odd at the end of a level is carried
    up unhashed until its left sibling is complete.
    """
    if not hashes:
        return EMPTY_ROOT
    level = list(hashes)
    while len(level) > 1:
        pairs = [
            sha256(b"\x01" + left + right).digest()
            for left, right in zip(level[::2], level[1::2], strict=False)
        ]
        level = pairs + level[2 * len(pairs) :]
    return level[0]
