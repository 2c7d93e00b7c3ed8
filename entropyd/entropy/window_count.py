"""Counts hits in windows that follow each other without gap or overlap.

What a hit is, the test that owns the count decides; it may count several
things at once, a row each. The same hits give the same failures at the same
indices however they are cut into calls.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from entropyd.entropy.cutoffs import LevelCutoffs
from entropyd.entropy.verdicts import Failure, HealthTest, levels_of

Samples = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
# A row for each thing that is counted, a column for each sample.
Hits = Flags

# A window is counted eight flags at a time, in the bytes of 64-bit words: 1024 flags add 128 of
# them, so no byte of a sum overflows into its neighbour.
_LANES = 8
MAX_WINDOW = 255 * _LANES


class WindowCount:
    """The counts of one test, from window to window.

    Attributes:
        window: length of a window, in samples: a multiple of 8, at most 2,040.
        filled: samples of the open window seen so far, below `window`.
    """

    def __init__(
        self, test: HealthTest, cutoffs: LevelCutoffs, window: int, *, rows: int = 1
    ) -> None:
        """Start before the first sample of a stream."""
        self.window = window
        self.filled = 0
        self._test = test
        self._levels = levels_of(cutoffs)
        self._intermittent = cutoffs.intermittent
        self._counts = [0] * rows

    def parts(self, length: int) -> tuple[int, int]:
        """Return where among `length` new samples the open window and the last whole one end."""
        head = min(length, self.window - self.filled) if self.filled else 0
        return head, head + (length - head) // self.window * self.window

    def feed(self, hits: Hits, first_index: int) -> list[Failure]:
        """Count a column of flags for each sample; the first of them has index `first_index`."""
        head, whole = self.parts(hits.shape[1])
        failures = self._continue(hits[:, :head], first_index)
        failures += self._whole(hits[:, head:whole], first_index + head)
        failures += self._continue(hits[:, whole:], first_index + whole)
        return failures

    def _continue(self, hits: Hits, first_index: int) -> list[Failure]:
        """Count flags that all lie in the open window, or open one, or none at all."""
        if not hits.shape[1]:
            return []
        failures: list[Failure] = []
        for number, row in enumerate(hits):
            before = self._counts[number] if self.filled else 0
            count = self._counts[number] = before + int(np.count_nonzero(row))
            if count >= self._intermittent:
                failures += self._reached(row, before, first_index)
        self.filled = (self.filled + hits.shape[1]) % self.window
        return failures

    def _whole(self, hits: Hits, first_index: int) -> list[Failure]:
        """Count whole windows. No window is open."""
        if not hits.shape[1]:
            return []
        lanes = hits.view(np.uint64).reshape(len(hits), -1, self.window // _LANES)
        sums = np.add.reduce(lanes, axis=2).view(np.uint8).reshape(len(hits), -1, _LANES)
        # Nearly always no lane holds an eighth of the cutoff, and then no window holds the cutoff.
        if _LANES * int(sums.max()) < self._intermittent:
            return []
        counts = np.add.reduce(sums, axis=2, dtype=np.uint16)
        failures: list[Failure] = []
        for row, number in np.argwhere(counts >= self._intermittent).tolist():
            start = number * self.window
            window = hits[row, start : start + self.window]
            failures += self._reached(window, 0, first_index + start)
        return failures

    def _reached(self, hits: Flags, counted: int, first: int) -> Iterator[Failure]:
        positions = np.flatnonzero(hits)
        for verdict, cutoff in self._levels:
            nth = cutoff - counted - 1
            if 0 <= nth < len(positions):
                yield Failure(self._test, verdict, cutoff, first + int(positions[nth]))
