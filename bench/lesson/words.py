"""Where the lesson's numbers come from: a fixed stream for each label, or the operating system.

Both are read in 32-bit words and turned into numbers below a bound by rejection, so that a bad
way is bad by itself and not by what feeds it.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import shake_256
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

WORD_BYTES = 4
WORDS = 1 << 32
BLOCK_BYTES = 1 << 16

Numbers = NDArray[np.uint32]


class Source(Protocol):
    """Numbers, each uniform below its bound. The scalar ways ask for nothing else."""

    def below(self, bound: int) -> int:
        """Return the next number, 0 to `bound` - 1."""
        ...


class ManySource(Protocol):
    """Columns of such numbers."""

    def below_many(self, bound: int, count: int) -> Numbers:
        """Return the next `count` numbers, each 0 to `bound` - 1."""
        ...


class Words:
    """Numbers from a stream of bytes. Bounds are 1 to 2^32."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read

    def below(self, bound: int) -> int:
        """Return one number."""
        limit = WORDS - WORDS % bound
        while True:
            word = int.from_bytes(self.read(WORD_BYTES), "little")
            if word < limit:
                return word % bound

    def below_many(self, bound: int, count: int) -> Numbers:
        """Return many; those that were rejected are drawn again, in their places."""
        words = self._words(count)
        if WORDS % bound:
            limit = WORDS - WORDS % bound
            while (rejected := np.flatnonzero(words >= limit)).size:
                words[rejected] = self._words(rejected.size)
        return words % np.uint32(bound) if bound < WORDS else words

    def _words(self, count: int) -> Numbers:
        # A copy, because what `frombuffer` gives cannot be written to.
        return np.frombuffer(self.read(WORD_BYTES * count), "<u4").astype(np.uint32)


def fixed(label: str) -> Words:
    """Return the stream of a label: SHAKE-256 of the label and a block number.

    A label that says what is tested leaves nothing to choose, so nobody can have looked for the
    stream on which a test comes out well.
    """
    return Words(_Buffered(_blocks(f"entropyd lesson: {label}".encode())).read)


def fresh(_label: str) -> Words:
    """Return the operating system's generator; the label changes nothing."""
    return Words(_Buffered(iter(lambda: os.urandom(BLOCK_BYTES), b"")).read)


def _blocks(label: bytes) -> Iterator[bytes]:
    number = 0
    while True:
        yield shake_256(label + number.to_bytes(8, "big")).digest(BLOCK_BYTES)
        number += 1


class _Buffered:
    """Bytes of any number from blocks."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._left = b""
        self._at = 0

    def read(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        missing = count - (len(self._left) - self._at)
        if missing > 0:
            blocks = islice(self._blocks, -(-missing // BLOCK_BYTES))
            self._left, self._at = b"".join([self._left[self._at :], *blocks]), 0
        self._at += count
        return self._left[self._at - count : self._at]
