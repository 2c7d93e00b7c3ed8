"""What a health test can say: which test, how bad, and at which sample."""

from dataclasses import dataclass
from enum import StrEnum

from entropyd.entropy.cutoffs import LevelCutoffs


class HealthTest(StrEnum):
    """The tests, by the names that metrics and the history use."""

    REPETITION_COUNT = "rct"
    ADAPTIVE_PROPORTION = "apt"
    LAG_CORRELATION = "lag"


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


def levels_of(cutoffs: LevelCutoffs) -> tuple[tuple[Verdict, int], ...]:
    """Return both cutoffs with their verdicts, the milder first."""
    return (
        (Verdict.INTERMITTENT, cutoffs.intermittent),
        (Verdict.PERMANENT, cutoffs.permanent),
    )
