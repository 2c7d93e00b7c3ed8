"""The rate test: do samples come as fast as the device gives them?

A test of our own, on time and not on samples. A device that gives far fewer
than it should has lost a part of itself, its supply or the bus; one that gives
far more hands out something that it did not measure, or is not the device that
it says it is.

It reports and takes no credit: no cutoff follows from a claim, for a slow
sample is as good as a fast one, and what an expected rate is worth only the
operator knows who wrote or left it. The state shows in status and metrics, and
each change for the worse is an alarm in the ledger.

A span is ten seconds: five million samples of a Quantis, a hundred thousand of
a serial generator. What a reader can be late by, and what a device can hold
back, are a block and a buffer, below a percent of that. Slow is below half of
the nominal rate: device and bus are shared by nobody, and between that and
seven eighths, which the maker of TrueRNG accepts of new ones, all may still be
well. Fast is above five quarters: a clock is off by a thousandth at most, a
data sheet's round figure by some percent.

Spec: SP 800-90B, section 4.3 (developer-defined tests for known failure modes).
"""

from dataclasses import dataclass
from enum import StrEnum

SPAN_NS = 10 * 10**9


class Rate(StrEnum):
    """How fast samples come, by the names that metrics and the ledger use."""

    UNKNOWN = "unknown"  # no whole span yet, no device, or no nominal rate
    STEADY = "steady"
    SLOW = "slow"
    FAST = "fast"


@dataclass(frozen=True)
class RateChange:
    """The rate is another one than before.

    Attributes:
        source_id: whose.
        rate: what it is now.
        samples_per_s: as measured over the last span, rounded down.
        nominal_per_s: what it should be.
    """

    source_id: str
    rate: Rate
    samples_per_s: int
    nominal_per_s: int


class RateWatch:
    """Measures the rate of one source, span by span. Owned by its entropy source.

    Attributes:
        rate: what it was in the last whole span.
    """

    def __init__(self, source_id: str, nominal_per_s: int) -> None:
        """Start with no device.

        Args:
            source_id: whose.
            nominal_per_s: samples a second that a healthy device gives; 0: unknown, not watched.
        """
        self.rate = Rate.UNKNOWN
        self._source_id = source_id
        self._nominal = nominal_per_s
        self._began_ns: int | None = None
        self._samples = 0

    def begin(self, now_ns: int) -> None:
        """Note that a device was opened: the first span begins."""
        self._began_ns, self._samples = now_ns, 0

    def stop(self) -> None:
        """Note that the device is gone: that is told elsewhere, and is no rate."""
        self.rate, self._began_ns = Rate.UNKNOWN, None

    def note(self, samples: int, now_ns: int) -> RateChange | None:
        """Count samples that came just now; return the rate where a span ended and it changed.

        These samples are the first ones of the next span, so that what is
        measured does not depend on how they are cut into calls.
        """
        if self._began_ns is None or not self._nominal:
            return None
        took_ns = now_ns - self._began_ns
        if took_ns < SPAN_NS:
            self._samples += samples
            return None
        measured = self._samples * 10**9 // took_ns
        self._began_ns, self._samples = now_ns, samples
        before, self.rate = self.rate, self._judge(measured)
        if self.rate is before:
            return None
        return RateChange(self._source_id, self.rate, measured, self._nominal)

    def _judge(self, measured: int) -> Rate:
        if 2 * measured < self._nominal:
            return Rate.SLOW
        return Rate.FAST if 4 * measured > 5 * self._nominal else Rate.STEADY
