"""The assessed min-entropy of a source: how predictable its samples look lately.

The most common value estimate over a sliding window. It can contradict a
claim, never support one: a SHA-256 counter is assessed at 7.9 bits a byte and
has none. So credit is the lower of claim and assessment, and there is no
credit before the first assessment.

Floating point is used for estimates only, never where something is drawn. Its
error here, below 1e-12 bit, is a billionth of the unit in which credit is
counted.

Spec: SP 800-90B, section 6.3.1.
"""

import math
from collections import deque

import numpy as np
import numpy.typing as npt

from entropyd.entropy.source import MILLIBITS_PER_BIT

# How often each byte value occurs: 256 counts.
Histogram = npt.NDArray[np.int64]

BYTE_VALUES = 256

# The upper end of the two-sided 99 % confidence interval is the 99.5 % quantile of the normal
# distribution. The standard (6.3.1, step 2) prints it as 2.576; NIST's assessment tool computes
# with the unrounded value, and so do we: its published figures are then met to 1e-12, where the
# rounded one is off by 2e-5 bit at 10,000 samples and by less than 1e-5 from 65,536 on.
Z_99_5 = 2.5758293035489008

# The window slides in this many steps, and is assessed at each: between two assessments the share
# of any value in the window moves by at most 0.01, and a window of a million on a Quantis is
# looked at every 20 ms. More steps would only cost time.
STEPS = 100

# Number of ones in each byte value.
_ONES = np.array([value.bit_count() for value in range(BYTE_VALUES)], np.int64)


def most_common_value(mode_count: int, samples: int) -> float:
    """Return the most common value estimate, in bits of min-entropy a sample.

    Spec: SP 800-90B, section 6.3.1: p_u = min(1, p + 2.576 sqrt(p (1-p) / (L-1))).

    Args:
        mode_count: occurrences of the most common value, 1 to `samples`.
        samples: number of samples L, at least 2.

    Returns:
        -log2(p_u), at least 0.
    """
    p = mode_count / samples
    p_u = min(1.0, p + Z_99_5 * math.sqrt(p * (1 - p) / (samples - 1)))
    return abs(math.log2(p_u))  # log2(1) is 0.0, of which the negative would print as -0


def literal_estimate(histogram: Histogram) -> float:
    """Return the estimate on samples as they are, in bits a sample; at least two samples."""
    return most_common_value(int(histogram.max()), int(histogram.sum()))


def bitstring_estimate(histogram: Histogram, sample_bits: int) -> float:
    """Return the estimate on samples taken apart into bits, in bits a bit.

    The order of the bits does not matter to this estimator, so counts suffice.

    Args:
        histogram: counts of the samples, at least two of them.
        sample_bits: width of a sample; values are below 2**sample_bits.
    """
    bits = int(histogram.sum()) * sample_bits
    ones = int(histogram @ _ONES)
    return most_common_value(max(ones, bits - ones), bits)


def assess(histogram: Histogram, sample_bits: int) -> float:
    """Return the assessed min-entropy, in bits a sample: the lower of both estimates.

    Spec: SP 800-90B, section 3.1.3: min(H_original, n * H_bitstring); for
    one-bit samples both are the same.

    Args:
        histogram: counts of the samples, at least two of them.
        sample_bits: width of a sample, 1 to 8.
    """
    literal = literal_estimate(histogram)
    return min(literal, sample_bits * bitstring_estimate(histogram, sample_bits))


class SlidingAssessment:
    """Assesses the latest samples of one stream, again and again.

    First after `first` samples, then after every hundredth of `window`, over
    the last `window` samples or all there were. Kept as one histogram for each
    step, so that a step that leaves the window is subtracted, not recounted.
    When it assesses depends on the number of samples alone, never on how they
    were cut into calls. Owned by the entropy source.

    Attributes:
        millibits: assessed min-entropy of one sample in thousandths of a bit,
            rounded down; None before the first assessment.
        samples: how many samples that assessment looked at; 0 before the first.
    """

    def __init__(self, sample_bits: int, *, first: int, window: int) -> None:
        """Start with no samples.

        Args:
            sample_bits: width of a sample, 1 to 8.
            first: samples before the first assessment, at least 2 and at most `window`.
            window: most samples assessed at once, at least 100; rounded down
                to a multiple of 100.
        """
        self.millibits: int | None = None
        self.samples = 0
        self._sample_bits = sample_bits
        self._first = first
        self._step = window // STEPS
        self._seen = 0
        self._step_filled = 0
        self._uncounted = bytearray()  # counted when due: one histogram costs as much as a hundred
        self._total: Histogram = np.zeros(BYTE_VALUES, np.int64)
        self._open: Histogram = np.zeros(BYTE_VALUES, np.int64)
        self._closed: deque[Histogram] = deque()

    @property
    def until_due(self) -> int:
        """How many more samples complete the next assessment; at least 1."""
        if self._seen < self._first:
            return self._first - self._seen
        return self._step - self._step_filled

    def add(self, samples: bytes) -> None:
        """Take the next samples, any number, and assess wherever it is due."""
        offset = 0
        while offset < len(samples):
            step_left = self._step - self._step_filled
            due = self.until_due
            part = samples[offset : offset + min(due, step_left)]
            offset += len(part)
            self._uncounted += part
            self._seen += len(part)
            self._step_filled += len(part)
            if len(part) == step_left or len(part) == due:
                self._count()
            if len(part) == step_left:
                self._close_step()
            if len(part) == due:
                self._assess()

    def _count(self) -> None:
        counts = np.bincount(np.frombuffer(self._uncounted, np.uint8), minlength=BYTE_VALUES)
        self._uncounted = bytearray()
        self._open += counts
        self._total += counts

    def _assess(self) -> None:
        self.samples = len(self._closed) * self._step + self._step_filled
        self.millibits = int(MILLIBITS_PER_BIT * assess(self._total, self._sample_bits))

    def _close_step(self) -> None:
        self._closed.append(self._open)
        self._open = np.zeros(BYTE_VALUES, np.int64)
        self._step_filled = 0
        if len(self._closed) > STEPS:
            self._total -= self._closed.popleft()
