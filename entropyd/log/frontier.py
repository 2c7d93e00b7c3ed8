"""A tree that grows at its end, kept as the few hashes that its next root needs.

A tree of `size` leaves is a row of perfect subtrees, one for each bit set in
`size`, the largest first. Their roots are the *frontier*: at most 63 hashes,
whatever the log holds. Appending is binary addition: every bit that carries
joins two subtrees of equal size.

Nodes have an address: `level` 0 are the leaf hashes, and node `place` of level
L is over leaves `place * 2**L` to `(place + 1) * 2**L - 1`. Only perfect
subtrees are nodes, so a node never changes once it is there, and a ledger may
store it.

Spec: RFC 6962, section 2.1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

from entropyd.encoding import u64
from entropyd.errors import InternalError, TreeInvalidError
from entropyd.log.merkle import EMPTY_ROOT, HASH_BYTES, MAX_SIZE, node_hash


class Node(NamedTuple):
    """The address of a perfect subtree: of those of 2**level leaves, the place-th from 0."""

    level: int
    place: int


@dataclass(frozen=True, slots=True)
class Frontier:
    """The roots of the perfect subtrees of a tree; a value that never changes.

    Attributes:
        size: how many leaves the tree has, 0 to 2**63 - 1.
        hashes: one 32-byte root for each bit set in `size`, the largest subtree first.

    Raises:
        TreeInvalidError: on construction, if number or length of the hashes do
            not fit the size.
    """

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        """Refuse hashes that no tree of this size has."""
        if not 0 <= self.size <= MAX_SIZE:
            raise TreeInvalidError(f"tree size {self.size} is outside 0 to 2^63 - 1")
        if len(self.hashes) != self.size.bit_count():
            raise TreeInvalidError(
                f"a tree of {self.size} leaves has {self.size.bit_count()} perfect subtrees;"
                f" got {len(self.hashes)} hashes"
            )
        if any(len(each) != HASH_BYTES for each in self.hashes):
            raise TreeInvalidError(f"a hash of the frontier is not {HASH_BYTES} bytes long")

    def append(self, leaf_hash: bytes) -> Self:
        """Return the tree with one leaf more.

        Raises:
            TreeInvalidError: the leaf hash is not 32 bytes long, or the tree is full.
        """
        *_, (_, top) = self.completed(leaf_hash)
        carried = _trailing_ones(self.size)
        kept = self.hashes[: len(self.hashes) - carried]
        return type(self)(self.size + 1, (*kept, top))

    def completed(self, leaf_hash: bytes) -> Iterator[tuple[Node, bytes]]:
        """Yield the nodes that this leaf completes, from itself upwards: what a ledger stores.

        Over a whole log these are fewer than two nodes a leaf.
        """
        present = leaf_hash
        yield Node(0, self.size), present
        for level, left in enumerate(self._joined_by_next(), start=1):
            present = node_hash(left, present)
            yield Node(level, self.size >> level), present

    def _joined_by_next(self) -> tuple[bytes, ...]:
        """Return the subtrees that the next leaf joins, the smallest first."""
        carried = _trailing_ones(self.size)
        return tuple(reversed(self.hashes[len(self.hashes) - carried :]))

    def root(self) -> bytes:
        """Return the 32-byte Merkle Tree Hash.

        What is right of the largest power of two is a tree of its own, so the
        row folds from its right end.
        """
        if not self.hashes:
            return EMPTY_ROOT
        *rest, present = self.hashes
        for left in reversed(rest):
            present = node_hash(left, present)
        return present

    def encode(self) -> bytes:
        """Return `u64(size)` and the hashes, at most 2,024 bytes."""
        return u64(self.size) + b"".join(self.hashes)

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Return the frontier that `encode` wrote; nothing else is read.

        Raises:
            TreeInvalidError: the bytes are not the encoding of a frontier.
        """
        size, hashes = encoded[:8], encoded[8:]
        if len(size) != len(u64(0)):
            raise TreeInvalidError(f"a frontier begins with a size of 8 bytes; got {len(size)}")
        split = [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]
        return cls(int.from_bytes(size, "big"), tuple(split))


def subtrees(start: int, stop: int) -> list[Node]:
    """Return the perfect subtrees that the leaves from `start` to before `stop` are made of.

    Args:
        start: first leaf; every range of a proof begins at a multiple of a power
            of two that is not below its length.
        stop: the leaf after the last one, above `start`.

    Returns:
        Nodes from left to right, the largest first.
    """
    nodes = []
    while start < stop:
        level = (stop - start).bit_length() - 1
        if start & ((1 << level) - 1):
            raise InternalError(f"leaves {start} to {stop} are not a subtree of any tree")
        nodes.append(Node(level, start >> level))
        start += 1 << level
    return nodes


def _trailing_ones(number: int) -> int:
    """Return how many low bits are set: number + 1 clears exactly these."""
    return (number ^ (number + 1)).bit_length() - 1
