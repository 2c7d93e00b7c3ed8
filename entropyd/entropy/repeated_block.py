"""The repeated-block test: does a whole window come a second time?

A test of our own, for a device, a driver or a host controller that hands out
a buffer again after a while: each value is as frequent as it was, and no lag
that the lag test knows fits. Windows are the proportion windows, 512 bytes
(a packet of USB high speed) or 1024 bits, and each is compared with the last
1,024 to 2,048: up to 1 MiB, two seconds of a Quantis.

Compared are fingerprints, Python's keyed 64-bit hash of the window, so that
samples that were dealt from are not kept for this. A window of a source with
min-entropy H a sample equals one given window with probability 2**-(W H) at
most and has its fingerprint with 2**-64 more, so that it looks like one of N
before it with p <= N (2**-(W H) + 2**-64) <= 2 N 2**-min(W H, 64). What counts is
how many windows in a row are such, and k in a row come with p**k: the cutoff is
ceil(log2(alpha) / log2(p)), for any claim above an eighth of a bit 1 at 2**-40
and 2 at 2**-60.

GAP: a buffer that comes again at a place that is no multiple of the window
from where it was before is not seen here.

Spec: SP 800-90B, section 4.3 (developer-defined tests for known failure modes).
"""

from collections.abc import Iterator

from entropyd.entropy.cutoffs import REMEMBERED_BLOCKS, LevelCutoffs
from entropyd.entropy.verdicts import Failure, HealthTest, levels_of

# Half of what is remembered is forgotten at a time, which costs nothing.
_GENERATION = REMEMBERED_BLOCKS // 2


class RepeatedBlock:
    """Remembers windows, and counts those in a row that came before."""

    def __init__(self, cutoffs: LevelCutoffs, window: int) -> None:
        """Start before the first sample of a stream."""
        self._window = window
        self._levels = levels_of(cutoffs)
        self._most = cutoffs.permanent
        self._open = b""
        self._young: set[int] = set()
        self._old: set[int] = set()
        self._windows = 0  # of the young generation
        self._repeats = 0  # in a row, up to now

    def feed(self, raw: bytes, first_index: int) -> list[Failure]:
        """Observe `raw`, at least one sample, the first of which has index `first_index`."""
        raw = self._open + raw
        first_index -= len(self._open)
        whole = len(raw) // self._window * self._window
        failures: list[Failure] = []
        for start in range(0, whole, self._window):
            fingerprint = hash(raw[start : start + self._window])
            if fingerprint in self._young or fingerprint in self._old:
                failures += self._repeated(first_index + start + self._window - 1)
            else:
                self._repeats = 0
            self._remember(fingerprint)
        self._open = raw[whole:]
        return failures

    def _repeated(self, last_index: int) -> Iterator[Failure]:
        # Beyond the permanent cutoff nothing more can fire, so counting stops there.
        if self._repeats >= self._most:
            return
        self._repeats += 1
        for verdict, cutoff in self._levels:
            if self._repeats == cutoff:
                yield Failure(HealthTest.REPEATED_BLOCK, verdict, cutoff, last_index)

    def _remember(self, fingerprint: int) -> None:
        self._young.add(fingerprint)
        self._windows += 1
        if self._windows == _GENERATION:
            self._old, self._young, self._windows = self._young, set(), 0
