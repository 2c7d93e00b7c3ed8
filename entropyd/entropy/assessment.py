"""The assessed min-entropy of a source: how predictable its samples look lately.

The most common value estimate over a sliding window, and over the same window,
but less often, the estimates that look at the order of samples
(`estimators`): the lowest of them counts. It can contradict a claim, never
support one: a SHA-256 counter is assessed at 7.5 bits a byte and has none. So
credit is the lower of claim and assessment, and there is no credit before the
first assessment.

Floating point is used for estimates only, never where something is drawn. Its
error here, below 1e-12 bit, is a billionth of the unit in which credit is
counted.

GAP: the samples of the window stay in memory until they have left it, two
seconds on a Quantis, also those that were dealt from.

Spec: SP 800-90B, sections 6.3.1 to 6.3.3 and 6.3.5.
"""

from collections import deque

import numpy as np
import numpy.typing as npt

from entropyd.entropy.bitstring import BYTE_VALUES
from entropyd.entropy.estimators import confident_min_entropy, sequence_estimate
from entropyd.entropy.source import MILLIBITS_PER_BIT

# How often each byte value occurs: 256 counts.
Histogram = npt.NDArray[np.int64]

# The window slides in this many steps, and is assessed at each: between two assessments the share
# of any value in the window moves by at most 0.01, and a window of a million on a Quantis is
# looked at every 20 ms. More steps would only cost time.
STEPS = 100

# Number of ones in each byte value.
_ONES = np.array([value.bit_count() for value in range(BYTE_VALUES)], np.int64)


def most_common_value(mode_count: int, samples: int) -> float:
    """Return the most common value estimate, in bits of min-entropy a sample.

    Spec: SP 800-90B, section 6.3.1.

    Args:
        mode_count: occurrences of the most common value, 1 to `samples`.
        samples: number of samples L, at least 2.

    Returns:
        -log2(p_u), at least 0.
    """
    return confident_min_entropy(mode_count / samples, samples)


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
    The order of samples is looked at at the first assessment and whenever a
    whole window of new ones has come; its estimate is in force until then.
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
            sample_bits: width of a sample, 1 or 8.
            first: samples before the first assessment, at least 35 and at most `window`.
            window: most samples assessed at once, at least 100; rounded down
                to a multiple of 100.
        """
        self.millibits: int | None = None
        self.samples = 0
        self._sample_bits = sample_bits
        self._first = first
        self._step = window // STEPS
        self._seen = 0
        self._of_order = float(sample_bits)  # the estimate that looks at the order
        self._step_samples = bytearray()
        self._counted = 0  # of the step's samples: one histogram costs as much as a hundred
        self._total: Histogram = np.zeros(BYTE_VALUES, np.int64)
        self._open: Histogram = np.zeros(BYTE_VALUES, np.int64)
        self._closed: deque[tuple[Histogram, bytes]] = deque()

    @property
    def until_due(self) -> int:
        """How many more samples complete the next assessment; at least 1."""
        if self._seen < self._first:
            return self._first - self._seen
        return self._step - len(self._step_samples)

    def add(self, samples: bytes) -> None:
        """Take the next samples, any number, and assess wherever it is due."""
        offset = 0
        while offset < len(samples):
            step_left = self._step - len(self._step_samples)
            due = self.until_due
            part = samples[offset : offset + min(due, step_left)]
            offset += len(part)
            self._step_samples += part
            self._seen += len(part)
            if len(part) == step_left or len(part) == due:
                self._count()
            if len(part) == step_left:
                self._close_step()
            if len(part) == due:
                self._assess()

    def _count(self) -> None:
        uncounted = np.frombuffer(self._step_samples[self._counted :], np.uint8)
        counts = np.bincount(uncounted, minlength=BYTE_VALUES)
        self._counted = len(self._step_samples)
        self._open += counts
        self._total += counts

    def _assess(self) -> None:
        self.samples = len(self._closed) * self._step + len(self._step_samples)
        if self._seen == self._first or self._seen % (STEPS * self._step) == 0:
            window = b"".join([*(part for _, part in self._closed), bytes(self._step_samples)])
            self._of_order = sequence_estimate(window, self._sample_bits)
        lowest = min(assess(self._total, self._sample_bits), self._of_order)
        self.millibits = int(MILLIBITS_PER_BIT * lowest)

    def _close_step(self) -> None:
        self._closed.append((self._open, bytes(self._step_samples)))
        self._open = np.zeros(BYTE_VALUES, np.int64)
        self._step_samples.clear()
        self._counted = 0
        if len(self._closed) > STEPS:
            self._total -= self._closed.popleft()[0]
