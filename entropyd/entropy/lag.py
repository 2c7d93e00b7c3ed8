"""The lag test: does a sample tell one that comes a fixed distance behind it?

A test of our own, for faults that neither test of the standard can see,
because every value stays as frequent as it was: a device that sends each
sample twice, or the same packet or transfer again and again. It is not the
repetition count nor the adaptive proportion test and is not called by their
names.

In each proportion window it counts, for each lag, the samples that equal the
one so far before them. A source with min-entropy H a sample repeats any value
that is known beforehand with probability 2**-H at most, so the count is at
most binomial(W, 2**-H), and the cutoff is 1 + critbinom(W, 2**-H, 1-alpha).
Alpha holds for each lag, so a window alarms falsely five times as often.

Spec: SP 800-90B, section 4.3 (developer-defined tests for known failure modes).
"""

import numpy as np

from entropyd.entropy.cutoffs import LevelCutoffs
from entropyd.entropy.verdicts import Failure, HealthTest
from entropyd.entropy.window_count import Hits, Samples, WindowCount

# Neighbours; every second sample; a packet of USB full speed (64) and of high speed (512), each
# sent again; a transfer of the size that the Quantis driver reads (8,192), sent again.
LAGS = (1, 2, 64, 512, 8192)


# Samples are looked back on in one buffer, which is moved up when it is full: seldom enough that
# it costs nothing, and small enough to stay in the cache.
_PART = 8 * LAGS[-1]


class LagCorrelation:
    """Counts repetitions at five distances."""

    def __init__(self, cutoffs: LevelCutoffs, window: int) -> None:
        """Start before the first sample of a stream."""
        self._count = WindowCount(HealthTest.LAG_CORRELATION, cutoffs, window, rows=len(LAGS))
        self._buffer = np.empty(LAGS[-1] + _PART, np.uint8)
        self._end = 0  # of the samples in it, which are the last ones of the stream
        self._hits: Hits = np.empty((len(LAGS), 0), np.bool_)  # of the last part; used again

    def feed(self, samples: Samples, first_index: int) -> list[Failure]:
        """Observe `samples`, at least one, the first of which has index `first_index`."""
        failures: list[Failure] = []
        for start in range(0, len(samples), _PART):
            part = samples[start : start + _PART]
            self._append(part)
            failures += self._count.feed(self._hits_of(part), first_index + start)
        return failures

    def _append(self, part: Samples) -> None:
        if self._end + len(part) > len(self._buffer):
            kept = min(self._end, LAGS[-1])
            self._buffer[:kept] = self._buffer[self._end - kept : self._end]
            self._end = kept
        self._buffer[self._end : self._end + len(part)] = part
        self._end += len(part)

    def _hits_of(self, part: Samples) -> Hits:
        """Return for each lag one flag a sample of `part`: equals the one so far before it."""
        if self._hits.shape[1] != len(part):
            self._hits = np.empty((len(LAGS), len(part)), np.bool_)
        first = self._end - len(part)  # where `part` begins in the buffer, as its newest
        for hits, lag in zip(self._hits, LAGS, strict=True):
            # The first samples of a stream have nothing so far before them, and hit nothing.
            missing = min(len(part), max(0, lag - first))
            hits[:missing] = False
            past = self._buffer[first + missing - lag : self._end - lag]
            np.equal(part[missing:], past, out=hits[missing:])
        return self._hits
