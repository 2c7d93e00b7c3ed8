"""How contributions move the committed cards: a public permutation of the places.

Nothing here is secret, and nothing here is random: whoever has O and the
contributions computes the same cut.

Spec: docs/protocol.md, "Contributions and cut".
"""

from collections.abc import Iterable, Sequence
from hashlib import sha512

from entropyd.draw.samplers import Sampler
from entropyd.draw.segments import split_shuffle
from entropyd.draw.shuffle import shuffle
from entropyd.encoding import check_id, lp, u32
from entropyd.errors import RequestError
from entropyd.log import merkle

CONTRIBUTION_LABEL = lp(b"entropyd/contribution/v1")
CUT_LABEL = lp(b"entropyd/cut/v1")

CONTRIBUTION_BYTES = 32


def contribution_leaf(open_hash: bytes, seat: str, value: bytes) -> bytes:
    """Return the leaf of one contribution.

    Args:
        open_hash: O of the hand that it was made for.
        seat: id of the seat.
        value: 32 bytes that the seat's own software made.

    Raises:
        RequestError: the seat is not an id, or the value has another length;
            names `seat` or `value`.
    """
    if len(value) != CONTRIBUTION_BYTES:
        raise RequestError(
            "value", f"has {len(value)} bytes; expected {CONTRIBUTION_BYTES} random ones"
        )
    return CONTRIBUTION_LABEL + lp(open_hash) + lp(check_id("seat", seat)) + lp(value)


def sort_leaves(leaves: Iterable[bytes]) -> list[bytes]:
    """Return the leaves in the order of the roll: byte order of their leaf hashes."""
    return sorted(leaves, key=merkle.leaf_hash)


def contributions_root(leaves: Iterable[bytes]) -> bytes:
    """Return R, whatever order the leaves came in."""
    return merkle.root(sort_leaves(leaves))


def cut_key(open_hash: bytes, leaves: Sequence[bytes]) -> bytes:
    """Return the 64 bytes that stand for every seed of the cut; at least one leaf."""
    ordered = sort_leaves(leaves)
    joined = b"".join(map(lp, ordered))
    root = merkle.root(ordered)
    return sha512(CUT_LABEL + lp(open_hash) + u32(len(ordered)) + lp(root) + joined).digest()


def cut(open_hash: bytes, size: int, leaves: Sequence[bytes], sampler: Sampler) -> list[int]:
    """Return for every place of the deal the leaf of D that is dealt there.

    Without contributions nothing moves.
    """
    if not leaves:
        return list(range(size))
    seeds = [cut_key(open_hash, leaves)] * len(split_shuffle(size))
    return shuffle(size, seeds, open_hash, sampler)
