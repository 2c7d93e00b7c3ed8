"""What clean windows go through before they have credit: start-up test, assessment, release.

A clean window is a proportion window that ended without an alarm. The first
ones are the start-up test: they pass by being clean, and are thrown away. The
next ones are assessed and thrown away, until there are enough for a first
assessment. From then on each window is released with the credit that is in
force when it has ended and been assessed itself.

Credit changes only between windows, so the same windows have the same credit
however many are taken at once.

Spec: SP 800-90B, section 4.3 (start-up tests); DESIGN 5 (assessment).
"""

from collections.abc import Iterator

from entropyd.entropy.assessment import SlidingAssessment
from entropyd.entropy.cutoffs import HealthCutoffs
from entropyd.entropy.health_history import HealthPolicy
from entropyd.entropy.source import NoiseSourceInfo
from entropyd.entropy.source_state import SourceState


class Release:
    """Takes the clean windows of one source in order. Owned by its entropy source."""

    def __init__(self, info: NoiseSourceInfo, policy: HealthPolicy, cutoffs: HealthCutoffs) -> None:
        """Begin with the start-up test."""
        self._info = info
        self._policy = policy
        self._window = cutoffs.window
        # A run of equal samples goes on being counted through an alarm. No part of it is credited:
        # it ends, or reaches the permanent cutoff, within the start-up test, which is at least
        # 1,024 samples where that cutoff is at most 1 + 100 / 0.1 = 1,001.
        self._startup_samples = -(-policy.startup_samples // self._window) * self._window
        self.restart()

    def restart(self) -> None:
        """Begin again with the start-up test, and with an assessment of what comes after it.

        What was assessed before is forgotten: behind an alarm or a loss there
        may be another source than the one that was assessed.
        """
        self._startup_left = self._startup_samples
        self._assessment = SlidingAssessment(
            self._info.sample_bits,
            first=self._policy.first_assessment_samples,
            window=self._policy.assessment_window_samples,
        )

    @property
    def phase(self) -> SourceState:
        """`STARTUP`, `ASSESSING` or `HEALTHY`."""
        if self._startup_left:
            return SourceState.STARTUP
        if self._assessment.millibits is None:
            return SourceState.ASSESSING
        return SourceState.HEALTHY

    @property
    def millibits(self) -> int:
        """Credit of one sample now: the lower of claim and assessment; 0 before there is one."""
        return min(self._info.claimed_millibits, self._assessment.millibits or 0)

    @property
    def assessed_millibits(self) -> int | None:
        """Assessed min-entropy of one sample; None before the first assessment."""
        return self._assessment.millibits

    @property
    def samples_assessed(self) -> int:
        """How many samples that assessment looked at."""
        return self._assessment.samples

    def take(self, windows: bytes) -> Iterator[tuple[int, bytes]]:
        """Take whole clean windows, any number, and yield those with credit, and how much.

        Args:
            windows: samples; the length is a multiple of the window's.

        Yields:
            Millibits a sample, above 0, and samples, in order.
        """
        position = min(len(windows), self._startup_left)
        self._startup_left -= position
        while position < len(windows):
            # Up to the window that completes the next assessment, then that window by itself.
            before_due = (self._assessment.until_due - 1) // self._window * self._window
            part = windows[position : position + max(self._window, before_due)]
            position += len(part)
            was_healthy = self.phase is SourceState.HEALTHY
            self._assessment.add(part)
            if was_healthy and self.millibits:
                yield self.millibits, part
