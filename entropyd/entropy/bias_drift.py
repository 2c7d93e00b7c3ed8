"""The drift test: is the share of ones still what it was?

A test of our own, for a source that changes while it runs: a detector that
ages, a supply that sags, an amplifier that saturates. The tests of the standard
see that a value is too frequent for the claim; this one sees that the source is
no longer the one that was assessed, whatever it was.

Blocks of 65,536 samples follow each other, and the ones in each are compared
with those of the first. Whatever the distribution of a sample is, as long as
samples are independent and it stays the same, the sums of two blocks of N
samples, each of which adds 0 to b ones, differ by t or more with probability
2 exp(-t**2 / (N b**2)) at most (Hoeffding's inequality for the difference of
two means). So the cutoff for alpha is b sqrt(N ln(2 / alpha)): for bytes 10,918
of 524,288 bits at 2**-40 and 13,318 at 2**-60, a share that moved by 0.021 and
0.025. One false alarm in 2**40 blocks is one in 4,500 years of a Quantis; the
bits of a byte count as if they went together, which leaves a wide margin where
they do not.

The block that alarmed is what the next ones are compared with: what the source
became is tested, assessed and credited anew. A source that goes on drifting
alarms at each such step, and five of them an hour latch it off.

Spec: SP 800-90B, section 4.3 (developer-defined tests for known failure modes).
"""

from collections.abc import Iterator

import numpy as np

from entropyd.entropy.cutoffs import LevelCutoffs
from entropyd.entropy.verdicts import Failure, HealthTest, levels_of
from entropyd.entropy.window_count import Samples


class BiasDrift:
    """Counts ones, block by block."""

    def __init__(self, cutoffs: LevelCutoffs, block: int) -> None:
        """Start before the first sample of a stream."""
        self._levels = levels_of(cutoffs)
        self._block = block
        self._filled = 0
        self._ones = 0
        self._reference: int | None = None

    def feed(self, samples: Samples, first_index: int) -> list[Failure]:
        """Observe `samples`, at least one, the first of which has index `first_index`."""
        failures: list[Failure] = []
        start = 0
        while start < len(samples):
            part = samples[start : start + self._block - self._filled]
            self._ones += _ones_in(part)
            self._filled += len(part)
            start += len(part)
            if self._filled == self._block:
                failures += self._close_block(first_index + start - 1)
        return failures

    def _close_block(self, last_index: int) -> Iterator[Failure]:
        ones, self._ones, self._filled = self._ones, 0, 0
        if self._reference is None:
            self._reference = ones
        departure = abs(ones - self._reference)
        for verdict, cutoff in self._levels:
            if departure >= cutoff:
                self._reference = ones
                yield Failure(HealthTest.BIAS_DRIFT, verdict, cutoff, last_index)


def _ones_in(samples: Samples) -> int:
    """Return the number of ones, counted in words of 64 bits."""
    whole = len(samples) // 8 * 8
    words = samples[:whole].view(np.uint64)
    return int(np.bitwise_count(words).sum()) + int(np.bitwise_count(samples[whole:]).sum())
