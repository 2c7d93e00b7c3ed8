"""What an entropy source tells about itself: its alarms, its blocks, its status.

Values only; they may be handed to any thread. None of them shows a sample:
blocks keep theirs out of every text.
"""

from dataclasses import dataclass, field

from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.health import HealthTest, Verdict
from entropyd.entropy.health_history import HealthHistory, LatchReason
from entropyd.entropy.rate import Rate, RateChange
from entropyd.entropy.source_state import SourceState


@dataclass(frozen=True)
class HealthAlarm:
    """A health test fired.

    Attributes:
        source_id: whose.
        test: which test.
        severity: which of its cutoffs.
        cutoff: that cutoff, in samples.
        sample_index: the sample that reached it, counted from 0 over all
            samples that this source was ever fed in this process.
        window_start: index of the first sample of the proportion window that holds it.
        window: length of that window, in samples; none of them is credited.
        latch: why the source is off because of it; None while it may recover by itself.
        samples: the samples of that window up to the one that fired; none is ever dealt from.
    """

    source_id: str
    test: HealthTest
    severity: Verdict
    cutoff: int
    sample_index: int
    window_start: int
    window: int
    latch: LatchReason | None
    samples: bytes = field(default=b"", repr=False)

    @property
    def count(self) -> int:
        """The count at that sample. A test fires when it reaches the cutoff, so they are equal."""
        return self.cutoff


@dataclass(frozen=True)
class FeedResult:
    """What came of feeding samples.

    To be applied in this order: if there is an alarm, take the credit from
    every sample of this source that is still held; then add the blocks. They
    were all released after the last of the alarms.

    Attributes:
        blocks: samples with credit, in order of delivery.
        alarms: what fired, in order.
        rate: how fast samples come, where that changed; takes no credit.
    """

    blocks: tuple[CreditedBlock, ...] = ()
    alarms: tuple[HealthAlarm, ...] = ()
    rate: RateChange | None = None


@dataclass(frozen=True)
class SourceStatus:
    """A source at one moment, for metrics and status answers.

    Attributes:
        source_id: whose.
        state: where it is.
        since_ns: when it came there, monotonic nanoseconds; None before the first event.
        samples_total: samples it was fed in this process.
        credited_total: those that were released with credit.
        discarded_total: those that never will be: start-up, assessment, alarms, losses.
        claimed_millibits: claimed min-entropy of one sample.
        assessed_millibits: assessed min-entropy of one sample; None before the first assessment.
        current_millibits: credit of one sample now.
        samples_assessed: how many samples that assessment looked at.
        last_good_ns: when credit was last released, monotonic nanoseconds; None if never.
        history: counts, latch and resets, kept over restarts.
        rate: how fast samples come.
    """

    source_id: str
    state: SourceState
    since_ns: int | None
    samples_total: int
    credited_total: int
    discarded_total: int
    claimed_millibits: int
    assessed_millibits: int | None
    current_millibits: int
    samples_assessed: int
    last_good_ns: int | None
    history: HealthHistory
    rate: Rate = Rate.UNKNOWN
