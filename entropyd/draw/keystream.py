"""The bits that one seed stretches to, and how they are taken.

A seed has 512 bits and was gated on 320; a draw needs 356 on average and may
need more than any fixed number. So a seed is a key, and the bits come from
HMAC-SHA-512 of a counter under it, as many as are asked for.

Nothing here knows what the bits are for. A reader belongs to one draw and is
thrown away with it.

Spec: docs/protocol.md, "Keystream".
"""

from typing import Protocol

from entropyd.encoding import lp, u32, u64
from entropyd.errors import InternalError
from entropyd.keyed_hash import digest

SEED_BYTES = 64
# One HMAC-SHA-512.
BLOCK_BITS = 512

STREAM_LABEL = lp(b"entropyd/stream/v1")


class BitSource(Protocol):
    """Bits in a fixed order. A sampler takes them and asks for nothing else."""

    def take(self, count: int) -> int:
        """Return the next `count` bits, at least 1, as an unsigned integer, first bit highest."""
        ...


class Keystream:
    """The keystream of one segment, read from its first bit on.

    The bits taken next are the low `_available` bits of `_window`; bits
    above them were taken before. One integer of a block's size keeps a shift
    cheap: a window of all blocks would be copied whole by every take.
    """

    __slots__ = ("_available", "_block", "_prefix", "_seed", "_window")

    def __init__(self, seed: bytes, binding: bytes, segment: int) -> None:
        """Start at bit 0 of block 0.

        Args:
            seed: S_s, 64 bytes. Secret.
            binding: X of the draw, public.
            segment: s, from 0.

        Raises:
            InternalError: the seed is not 64 bytes. Keys of another length
                would be accepted by HMAC and draw another order.
        """
        if len(seed) != SEED_BYTES:
            raise InternalError(f"seed of {len(seed)} bytes; expected {SEED_BYTES}")
        self._seed = seed
        self._prefix = STREAM_LABEL + lp(binding) + u32(segment)
        self._block = 0
        self._window = 0
        self._available = 0

    def take(self, count: int) -> int:
        """Return the next `count` bits, at least 1, as an unsigned integer, first bit highest.

        A take may run across the end of a block.
        """
        while self._available < count:
            self._append_block()
        self._available -= count
        return (self._window >> self._available) & ((1 << count) - 1)

    def _append_block(self) -> None:
        """Put the next block behind the bits that are left."""
        block = digest(self._seed, self._prefix + u64(self._block), "sha512")
        left = self._window & ((1 << self._available) - 1)
        self._window = left << BLOCK_BITS | int.from_bytes(block, "big")
        self._available += BLOCK_BITS
        self._block += 1
