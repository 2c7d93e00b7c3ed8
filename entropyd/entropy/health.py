"""The health tests, on samples as the device delivered them: two of SP 800-90B, three of our own.

Each test has two cutoffs: the intermittent one is met by a healthy source
about once in 2**40 samples, the permanent one about once in 2**60. A test
only observes. It returns what it saw as values, never changes a sample, and
an alarm changes nothing in it: a run of equal samples goes on being counted
through the intermittent cutoff to the permanent one, and so does a window.
What an alarm means is decided by the entropy source that owns the tests.

The same samples give the same failures at the same indices however they are
cut into calls. All work on whole arrays, because the 240 Mbit/s card
must be watched on a tenth of a core; the plain loops that they are compared
with stand in their test.

These tests see the output of the device. Where a device processes its noise
before delivering it, they are the standard's tests applied to device output,
and no claim of compliance follows.

Spec: SP 800-90B, section 4.4; modules `lag`, `repeated_block` and `bias_drift` for our own.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from entropyd.entropy.bias_drift import BiasDrift
from entropyd.entropy.cutoffs import HealthCutoffs, LevelCutoffs
from entropyd.entropy.lag import LagCorrelation
from entropyd.entropy.repeated_block import RepeatedBlock
from entropyd.entropy.verdicts import Failure, HealthTest, Verdict, levels_of
from entropyd.entropy.window_count import Flags, Samples, WindowCount

__all__ = [
    "AdaptiveProportion",
    "Failure",
    "HealthTest",
    "HealthTests",
    "RepetitionCount",
    "Verdict",
]


class RepetitionCount:
    """Counts how often a value repeats in a row.

    Spec: SP 800-90B, section 4.4.1. B there is `_count` here.
    """

    def __init__(self, cutoffs: LevelCutoffs) -> None:
        """Start before the first sample of a stream."""
        self._levels = levels_of(cutoffs)
        self._permanent = cutoffs.permanent
        # A run of C equal samples is C - 1 samples in a row that equal the one before them.
        self._needle = b"\1" * (cutoffs.intermittent - 1)
        self._word = _word_within(cutoffs.intermittent - 1)
        self._last = -1  # equals no sample
        self._count = 0

    def feed(self, samples: Samples, first_index: int) -> list[Failure]:
        """Observe `samples`, at least one, the first of which has index `first_index`."""
        carried = max(0, self._count - 1)
        flags = self._equal_to_previous(samples, carried)
        length = carried + len(samples)
        equal = flags.tobytes()[:length]
        failures: list[Failure] = []
        if self._may_hold_run(flags):
            failures += self._search(equal, carried, first_index)
        self._last = int(samples[-1])
        # The run that is still open is as long as the flags after the last 0, plus its first
        # sample. Beyond the permanent cutoff nothing more can fire, so counting stops there.
        self._count = min(length - equal.rfind(b"\0"), self._permanent)
        return failures

    def _equal_to_previous(self, samples: Samples, carried: int) -> Flags:
        """Return one flag a sample (1 = equals the one before), after the flags of the open run.

        And after them up to seven zeros, so that they are whole words.
        """
        length = carried + len(samples)
        flags = np.empty(-(-length // 8) * 8, np.bool_)
        flags[:carried] = True
        flags[carried] = samples[0] == self._last
        np.equal(samples[1:], samples[:-1], out=flags[carried + 1 : length])
        flags[length:] = False
        return flags

    def _may_hold_run(self, flags: Flags) -> bool:
        """Return whether a run that reaches the cutoff is possible: a look at whole words."""
        if self._word is None:
            return True
        ones = self._word.type(int.from_bytes(b"\1" * self._word.itemsize, "big"))
        return bool((flags.view(self._word) == ones).any())

    def _search(self, equal: bytes, carried: int, first_index: int) -> Iterator[Failure]:
        start = equal.find(self._needle)
        while start >= 0:
            end = equal.find(b"\0", start + len(self._needle))
            end = len(equal) if end < 0 else end
            for verdict, cutoff in self._levels:
                # The sample with this flag is the cutoff-th of its run. Where it lies among the
                # carried flags, the cutoff was reached, and reported, in an earlier call.
                reached = start + cutoff - 2
                if carried <= reached < end:
                    index = first_index + reached - carried
                    yield Failure(HealthTest.REPETITION_COUNT, verdict, cutoff, index)
            start = equal.find(self._needle, end)


def _word_within(run: int) -> np.dtype[np.unsignedinteger[Any]] | None:
    """Return the widest word that lies whole, and aligned, in any `run` flags; None if none does.

    Of w flags aligned to w, 2 w - 1 in a row hold one. Searching 64 KiB takes 32 us, looking at
    words 3, and in fair samples there is hardly ever one.
    """
    for width in (8, 4, 2):
        if run >= 2 * width - 1:
            return np.dtype(f"u{width}")
    return None


class AdaptiveProportion:
    """Counts how often the first value of a window occurs in it.

    Windows follow each other without gap or overlap, and the first sample of
    each is its reference; no sample and no count is taken over from the one before.

    Spec: SP 800-90B, section 4.4.2. A and W there are `_reference` and
    the counter's `window` here.
    """

    def __init__(self, cutoffs: LevelCutoffs, window: int) -> None:
        """Start before the first sample of a stream."""
        self._counter = WindowCount(HealthTest.ADAPTIVE_PROPORTION, cutoffs, window)
        self._reference = np.uint8(0)  # of the open window; meaningless while none is open

    @property
    def filled(self) -> int:
        """Samples of the open window seen so far; 0 between windows."""
        return self._counter.filled

    def feed(self, samples: Samples, first_index: int) -> list[Failure]:
        """Observe `samples`, at least one, the first of which has index `first_index`."""
        head, whole = self._counter.parts(len(samples))
        hits = np.empty((1, len(samples)), np.bool_)
        row = hits[0]
        np.equal(samples[:head], self._reference, out=row[:head])
        windows = samples[head:whole].reshape(-1, self._counter.window)
        np.equal(windows, windows[:, :1], out=row[head:whole].reshape(windows.shape))
        if whole < len(samples):
            self._reference = samples[whole]
            np.equal(samples[whole:], self._reference, out=row[whole:])
        return self._counter.feed(hits, first_index)


class HealthTests:
    """All tests over one stream of samples. Owned by the entropy source that feeds it.

    Attributes:
        samples: how many samples were fed.
    """

    def __init__(self, cutoffs: HealthCutoffs) -> None:
        """Start before the first sample of a stream."""
        self.samples = 0
        self._repetition = RepetitionCount(cutoffs.repetition_count)
        self._proportion = AdaptiveProportion(cutoffs.adaptive_proportion, cutoffs.window)
        self._lag = LagCorrelation(cutoffs.lag_correlation, cutoffs.window)
        self._block = RepeatedBlock(cutoffs.repeated_block, cutoffs.window)
        self._drift = BiasDrift(cutoffs.bias_drift, cutoffs.drift_block)

    @property
    def window_filled(self) -> int:
        """How many samples of the open proportion window were fed; 0 between windows."""
        return self._proportion.filled

    def feed(self, raw: bytes) -> list[Failure]:
        """Observe the next samples, any number.

        Returns:
            What was reached, in order of samples; at one sample the
            intermittent cutoff of a test comes before its permanent one.
        """
        if not raw:
            return []
        samples = np.frombuffer(raw, np.uint8)
        failures = self._repetition.feed(samples, self.samples)
        failures += self._proportion.feed(samples, self.samples)
        failures += self._lag.feed(samples, self.samples)
        failures += self._block.feed(raw, self.samples)
        failures += self._drift.feed(samples, self.samples)
        self.samples += len(raw)
        # The sort is stable, and each test lists its failures by sample and then by severity
        # within a run or window, so ties keep that order.
        return sorted(failures, key=lambda failure: failure.sample_index)
