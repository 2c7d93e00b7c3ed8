"""The two SP 800-90B health tests, on samples as the device delivered them.

Each test has two cutoffs: the intermittent one is met by a healthy source
about once in 2**40 samples, the permanent one about once in 2**60. A test
only observes. It returns what it saw as values, never changes a sample, and
an alarm changes nothing in it: a run of equal samples goes on being counted
through the intermittent cutoff to the permanent one, and so does a window.
What an alarm means is decided by the entropy source that owns the tests.

The same samples give the same failures at the same indices however they are
cut into calls. Both tests work on whole arrays, because the 240 Mbit/s card
must be watched on a tenth of a core; the plain loops that they are compared
with stand in their test.

These tests see the output of the device. Where a device processes its noise
before delivering it, they are the standard's tests applied to device output,
and no claim of compliance follows.

Spec: SP 800-90B, section 4.4.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from entropyd.entropy.cutoffs import HealthCutoffs, LevelCutoffs

Samples = npt.NDArray[np.uint8]
Hits = npt.NDArray[np.bool_]


class HealthTest(StrEnum):
    """The tests, by the names that metrics and the history use."""

    REPETITION_COUNT = "rct"
    ADAPTIVE_PROPORTION = "apt"


class Verdict(StrEnum):
    """How bad a failure is. No failure is no verdict."""

    INTERMITTENT = "intermittent"
    PERMANENT = "permanent"


@dataclass(frozen=True)
class Failure:
    """One test reached one of its cutoffs.

    It is reported once, at the sample that made the count equal the cutoff,
    so count and cutoff are one number.

    Attributes:
        test: which test.
        verdict: which of its two cutoffs.
        cutoff: that cutoff, and the count that reached it, in samples.
        sample_index: the sample that did it, counted from 0 for the first
            sample that the tests were fed.
    """

    test: HealthTest
    verdict: Verdict
    cutoff: int
    sample_index: int


def _levels(cutoffs: LevelCutoffs) -> tuple[tuple[Verdict, int], ...]:
    return (
        (Verdict.INTERMITTENT, cutoffs.intermittent),
        (Verdict.PERMANENT, cutoffs.permanent),
    )


class RepetitionCount:
    """Counts how often a value repeats in a row.

    Spec: SP 800-90B, section 4.4.1. B there is `_count` here.
    """

    def __init__(self, cutoffs: LevelCutoffs) -> None:
        """Start before the first sample of a stream."""
        self._levels = _levels(cutoffs)
        self._permanent = cutoffs.permanent
        # A run of C equal samples is C - 1 samples in a row that equal the one before them.
        self._needle = b"\1" * (cutoffs.intermittent - 1)
        self._last = -1  # equals no sample
        self._count = 0

    def feed(self, samples: Samples, first_index: int) -> list[Failure]:
        """Observe `samples`, at least one, the first of which has index `first_index`."""
        carried = max(0, self._count - 1)
        equal = self._equal_to_previous(samples, carried)
        failures = list(self._search(equal, carried, first_index))
        self._last = int(samples[-1])
        # The run that is still open is as long as the flags after the last 0, plus its first
        # sample. Beyond the permanent cutoff nothing more can fire, so counting stops there.
        self._count = min(len(equal) - equal.rfind(b"\0"), self._permanent)
        return failures

    def _equal_to_previous(self, samples: Samples, carried: int) -> bytes:
        """Return one flag a sample (1 = equals the one before), after the flags of the open run."""
        flags = np.empty(carried + len(samples), np.bool_)
        flags[:carried] = True
        flags[carried] = samples[0] == self._last
        np.equal(samples[1:], samples[:-1], out=flags[carried + 1 :])
        return flags.tobytes()

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


class AdaptiveProportion:
    """Counts how often the first value of a window occurs in it.

    Windows follow each other without gap or overlap, and the first sample of
    each is its reference; no sample and no count is taken over from the one before.

    Spec: SP 800-90B, section 4.4.2. A, B and W there are `_reference`,
    `_count` and `_window` here.
    """

    def __init__(self, cutoffs: LevelCutoffs, window: int) -> None:
        """Start before the first sample of a stream."""
        self._levels = _levels(cutoffs)
        self._intermittent = cutoffs.intermittent
        self._window = window
        self._reference = np.uint8(0)  # of the open window; meaningless while `filled` is 0
        self._count = 0
        self.filled = 0  # samples of the open window seen so far, below `_window`

    def feed(self, samples: Samples, first_index: int) -> list[Failure]:
        """Observe `samples`, at least one, the first of which has index `first_index`."""
        head = min(len(samples), self._window - self.filled) if self.filled else 0
        whole = (len(samples) - head) // self._window * self._window
        failures = self._continue(samples[:head], first_index)
        failures += self._whole(samples[head : head + whole], first_index + head)
        failures += self._continue(samples[head + whole :], first_index + head + whole)
        return failures

    def _continue(self, part: Samples, first_index: int) -> list[Failure]:
        """Observe samples that all lie in the open window, or open one, or none at all."""
        if not len(part):
            return []
        if self.filled == 0:
            self._reference, self._count = part[0], 0
        hits = part == self._reference
        failures = list(self._reached(hits, self._count, first_index))
        self._count += int(np.count_nonzero(hits))
        self.filled = (self.filled + len(part)) % self._window
        return failures

    def _whole(self, samples: Samples, first_index: int) -> list[Failure]:
        """Observe whole windows. No window is open."""
        windows = samples.reshape(-1, self._window)
        hits = windows == windows[:, :1]
        counts = np.add.reduce(hits.view(np.uint8), axis=1, dtype=np.uint16)
        failures: list[Failure] = []
        for number in np.flatnonzero(counts >= self._intermittent).tolist():
            failures += self._reached(hits[number], 0, first_index + number * self._window)
        return failures

    def _reached(self, hits: Hits, counted: int, first_index: int) -> Iterator[Failure]:
        positions = np.flatnonzero(hits)
        for verdict, cutoff in self._levels:
            nth = cutoff - counted - 1
            if 0 <= nth < len(positions):
                index = first_index + int(positions[nth])
                yield Failure(HealthTest.ADAPTIVE_PROPORTION, verdict, cutoff, index)


class HealthTests:
    """Both tests over one stream of samples. Owned by the entropy source that feeds it.

    Attributes:
        samples: how many samples were fed.
    """

    def __init__(self, cutoffs: HealthCutoffs) -> None:
        """Start before the first sample of a stream."""
        self.samples = 0
        self._repetition = RepetitionCount(cutoffs.repetition_count)
        self._proportion = AdaptiveProportion(cutoffs.adaptive_proportion, cutoffs.window)

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
        self.samples += len(raw)
        # The sort is stable, and each test lists its failures by sample and then by severity
        # within a run or window, so ties keep that order.
        return sorted(failures, key=lambda failure: failure.sample_index)
