"""Samples taken apart into bits, and what is counted in them: tuples and collisions.

Bits stay packed, eight a byte, most significant first: a bit string of eight
million bits is a megabyte, and whole bytes are counted at a time.

Spec: SP 800-90B, section 3.1.3 (the bit string of a source whose samples are wider than a bit).
"""

from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]

BYTE_VALUES = 256

# A tuple must lie in the 32 bits that begin with its first byte, wherever in that byte it begins.
MAX_TUPLE_BITS = 25

# So many parts of a bit string are walked through side by side when collisions are counted.
_LANES = 1024

# Where the search for a collision stands: no bit seen; a 0 seen; a 1 seen; two different bits seen.
_STATES = 4


@dataclass(frozen=True)
class Bitstring:
    """A string of bits.

    Attributes:
        packed: the bits, eight a byte, most significant first; the rest of the last byte is 0.
        length: how many there are.
    """

    packed: Samples
    length: int

    @classmethod
    def of(cls, samples: bytes, sample_bits: int) -> Self:
        """Return the bits of samples that are `sample_bits` wide, 1 to 8, one byte each."""
        values = np.frombuffer(samples, np.uint8)
        if sample_bits < 8:
            bits = np.unpackbits(values[:, np.newaxis], axis=1)[:, 8 - sample_bits :]
            values = np.packbits(bits)
        return cls(values, sample_bits * len(samples))

    def tuple_counts(self, size: int) -> Counts:
        """Return how often each tuple of `size` bits occurs, at every bit, 1 to MAX_TUPLE_BITS."""
        words = self._words()
        counts = np.zeros(1 << size, np.int64)
        mask = np.uint32((1 << size) - 1)
        for offset in range(8):
            # Tuples that begin at this bit of a byte, and end within the string.
            fitting = (self.length - size - offset) // 8 + 1
            if fitting > 0:
                tuples = (words[:fitting] >> np.uint32(32 - size - offset)) & mask
                counts += np.bincount(tuples, minlength=1 << size)
        return counts

    def last(self, size: int) -> int:
        """Return the last `size` bits, at most MAX_TUPLE_BITS and the length, as a number."""
        tail = int.from_bytes(self.packed[-5:].tobytes(), "big")
        unused = 8 * len(self.packed) - self.length
        return (tail >> unused) & ((1 << size) - 1)

    def unpacked(self) -> Samples:
        """Return one byte a bit."""
        return np.unpackbits(self.packed, count=self.length)

    def collisions(self) -> tuple[int, int]:
        """Return how often a value comes twice after two bits, and how often only after three.

        From the first bit on, as few bits as hold a value twice are taken and
        thrown away, again and again: of two equal bits two, else three. What
        is left at the end holds none.

        Spec: SP 800-90B, section 6.3.2, steps 1 to 5.
        """
        after, found = _collision_tables()
        whole = self.length // 8
        steps = whole // _LANES
        parts = self.packed[: steps * _LANES].reshape(_LANES, steps).T.astype(np.intp)
        # Where a part begins depends on the one before it; so each is walked from every state.
        state = np.repeat(np.arange(_STATES, dtype=np.uint8)[:, np.newaxis], _LANES, axis=1)
        total = np.zeros((_STATES, _LANES), np.int64)
        for column in parts:
            index = state * np.intp(BYTE_VALUES) + column
            total += found[index]
            state = after[index]
        now, twos_and_threes = 0, 0
        for ends, counts in zip(state.T.tolist(), total.T.tolist(), strict=True):
            now, twos_and_threes = ends[now], twos_and_threes + counts[now]
        for byte in self.packed[steps * _LANES : whole].tolist():
            index = now * BYTE_VALUES + byte
            now, twos_and_threes = int(after[index]), twos_and_threes + int(found[index])
        for bit in self.unpacked()[8 * whole :].tolist() if self.length % 8 else ():
            now, count = _step(now, bit)
            twos_and_threes += count
        return twos_and_threes % _THREE, twos_and_threes // _THREE

    def _words(self) -> npt.NDArray[np.uint32]:
        """Return for each byte the 32 bits that begin with it."""
        padded = np.zeros(len(self.packed) + 3, np.uint8)
        padded[: len(self.packed)] = self.packed
        words = padded[:-3].astype(np.uint32)
        for number in range(1, 4):
            words <<= np.uint32(8)
            words |= padded[number : number + len(self.packed)]
        return words


# Both counts in one number: a collision after two bits counts 1, after three so much. More bits
# than that would take 2**30 bytes.
_THREE = 1 << 32


def _step(state: int, bit: int) -> tuple[int, int]:
    """Return the state after one more bit, and what was found with it."""
    if state == 0:
        return 1 + bit, 0
    if state == 3:
        return 0, _THREE
    return (0, 1) if bit == state - 1 else (3, 0)


@cache
def _collision_tables() -> tuple[Samples, Counts]:
    """Return, by 256 * state + byte, the state after the byte and what was found in it."""
    after = np.zeros(_STATES * BYTE_VALUES, np.uint8)
    found = np.zeros(_STATES * BYTE_VALUES, np.int64)
    for index in range(_STATES * BYTE_VALUES):
        state, byte = divmod(index, BYTE_VALUES)
        for position in range(7, -1, -1):
            state, count = _step(state, byte >> position & 1)
            found[index] += count
        after[index] = state
    return after, found
