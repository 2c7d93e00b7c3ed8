"""What a health test can say: which test, how bad, and at which sample."""

from dataclasses import dataclass
from enum import StrEnum

from entropyd.entropy.cutoffs import LevelCutoffs


class HealthTest(StrEnum):
    """The tests, by the names that metrics and the history use.

    The first two are those of the standard; the others are our own, and bear names of their own.
    """

    REPETITION_COUNT = "rct"
    ADAPTIVE_PROPORTION = "apt"
    LAG_CORRELATION = "lag"
    REPEATED_BLOCK = "repeated-block"
    BIAS_DRIFT = "drift"


class Verdict(StrEnum):
    """How bad a failure is. No failure is no verdict."""

    INTERMITTENT = "intermittent"
    PERMANENT = "permanent"


@dataclass(frozen=True)
class Failure:
    """One test reached one of its cutoffs.

    It is reported once, at the sample that made the count equal the cutoff,
    so count and cutoff are one number; of drift, which is judged at the end of
    a block, the count may be larger.

    Attributes:
        test: which test.
        verdict: which of its two cutoffs.
        cutoff: that cutoff, in what the test counts: samples, or windows
            (repeated block), or ones (drift).
        sample_index: the sample that did it, counted from 0 for the first
            sample that the tests were fed.
    """

    test: HealthTest
    verdict: Verdict
    cutoff: int
    sample_index: int


def levels_of(cutoffs: LevelCutoffs) -> tuple[tuple[Verdict, int], ...]:
    """Return both cutoffs with their verdicts, the milder first."""
    return (
        (Verdict.INTERMITTENT, cutoffs.intermittent),
        (Verdict.PERMANENT, cutoffs.permanent),
    )
