"""How often a try is thrown away, for each bound, beside the exact rate.

A masked try below k is rejected with probability 1 - k / 2^b(k), a word with
(2^32 mod k) / 2^32. Ten million draws are made below each bound, and z says by
how many standard deviations the rejected tries miss their mean: among so many
bounds a |z| near 3 is no wonder, one above 5 is a defect (6 in 10 million).

The tries are taken by array operations from the production keystream's blocks.
That they are the tries of the production samplers, one by one, is tested:
tests/unit/test_rejections.py.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from hmac import digest
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bench.report import Line, Report
from entropyd.draw.keystream import BLOCK_BITS, STREAM_LABEL
from entropyd.draw.samplers import WORD_BITS, WORDS, Sampler
from entropyd.encoding import lp, u32, u64

DRAWS = 10_000_000
QUICK_DRAWS = 100_000
BINDING = b"bench rejections"

MASKED_BOUNDS = (
    *(2, 3, 5, 6, 7, 9, 10, 12, 13, 17, 20, 33, 37, 38, 49, 52, 54, 65, 100, 104, 129, 312),
    *(1000, 2**16 + 1, 100_000, 10**9, 2**31 + 1, 2**32, 2**32 + 1, 2**63 + 1, 2**64),
)
WORD_BOUNDS = (
    *(1, 2, 3, 6, 37, 38, 52, 100, 1000, 2**16 + 1, 10**6, 10**9, 2**31 - 1, 2**31 + 1),
    *(3 * 2**30, 2**32 - 1, 2**32),
)
# Tries of a turn: some tens of megabytes of bits.
CHUNK_TRIES = 500_000
_BLOCK_BYTES = BLOCK_BITS // 8

Tries = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Rejections:
    """What was counted while `draws` draws were made below `bound`."""

    sampler: Sampler
    bound: int
    draws: int
    rejected: int

    @property
    def exact(self) -> Fraction:
        """The probability that a try is rejected."""
        if self.sampler is Sampler.WORD32:
            return Fraction(WORDS % self.bound, WORDS)
        return 1 - Fraction(self.bound, 1 << (self.bound - 1).bit_length())

    @property
    def measured(self) -> float:
        """The share of the tries that were rejected."""
        return self.rejected / (self.rejected + self.draws)

    @property
    def z(self) -> float:
        """Standard deviations between the rejected tries and their mean.

        Rejections before the n-th success are negative binomial: mean n q / p
        and variance n q / p^2. Where nothing can be rejected, 0 or infinite.
        """
        q = float(self.exact)
        if not q:
            return float("inf") if self.rejected else 0.0
        p = 1 - q
        return (self.rejected - self.draws * q / p) / sqrt(self.draws * q / p**2)


def run(report: Report, *, quick: bool) -> None:
    """Count for every bound, from a seed that nobody chose."""
    draws, seed = QUICK_DRAWS if quick else DRAWS, os.urandom(64)
    counted = [
        count(sampler, bound, draws, seed)
        for sampler, bounds in ((Sampler.MASKED, MASKED_BOUNDS), (Sampler.WORD32, WORD_BOUNDS))
        for bound in bounds
    ]
    report.add("rejections", [_line(one) for one in counted], _sentence(counted))


def count(sampler: Sampler, bound: int, draws: int, seed: bytes) -> Rejections:
    """Make `draws` draws below `bound` from one stream and count the tries thrown away."""
    if sampler is Sampler.MASKED and bound == 1:
        return Rejections(sampler, bound, draws, 0)
    width = WORD_BITS if sampler is Sampler.WORD32 else (bound - 1).bit_length()
    # The greatest value that is kept; one more may be 2^64, which no array element holds.
    greatest = (WORDS - WORDS % bound if sampler is Sampler.WORD32 else bound) - 1
    left, rejected = draws, 0
    for tries in _tries(width, seed, draws):
        kept = np.flatnonzero(tries <= np.uint64(greatest))
        if len(kept) >= left:
            return Rejections(sampler, bound, draws, rejected + int(kept[left - 1]) + 1 - left)
        left -= len(kept)
        rejected += len(tries) - len(kept)
    raise AssertionError("a stream ended")


def _tries(width: int, seed: bytes, draws: int) -> Iterator[Tries]:
    """Yield the stream's tries of `width` bits, at most 64, in order, many at a time."""
    # So many tries that they end with a block: 512 tries are `width` blocks.
    # A draw takes fewer than two on average.
    tries = (min(CHUNK_TRIES, 2 * draws) // BLOCK_BITS + 1) * BLOCK_BITS
    blocks = tries * width // BLOCK_BITS
    first = 0
    while True:
        yield _values(_blocks(seed, first, blocks), width)
        first += blocks


def _blocks(seed: bytes, first: int, count: int) -> bytes:
    prefix = STREAM_LABEL + lp(BINDING) + u32(0)
    return b"".join(
        digest(seed, prefix + u64(block), "sha512") for block in range(first, first + count)
    )


def _values(stream: bytes, width: int) -> Tries:
    if width == WORD_BITS:
        return np.frombuffer(stream, ">u4").astype(np.uint64)
    bits = np.unpackbits(np.frombuffer(stream, np.uint8)).reshape(-1, width)
    values = np.zeros(len(bits), np.uint64)
    for column in bits.T:
        values = values << np.uint64(1) | column
    return values


def _line(one: Rejections) -> Line:
    return {
        "sampler": one.sampler.value,
        "bound": str(one.bound),
        "draws": one.draws,
        "exact": f"{float(one.exact):.7g}",
        "measured": f"{one.measured:.7g}",
        "z": f"{one.z:+.2f}",
    }


def _sentence(counted: list[Rejections]) -> str:
    widest = max(counted, key=lambda one: abs(one.z))
    return (
        f"{len(counted)} bounds, {counted[0].draws:,} draws each; the widest miss is"
        f" z = {widest.z:+.2f}, below {widest.bound} by {widest.sampler}"
    )
