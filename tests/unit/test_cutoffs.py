"""Cutoffs equal everything that was tabulated or published, and the ranges hold."""

import csv
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.cutoffs import (
    HealthCutoffs,
    LevelCutoffs,
    adaptive_proportion_cutoff,
    adaptive_proportion_cutoff_as_printed,
    bias_drift_cutoff,
    critbinom,
    cutoffs_for,
    repeated_block_cutoff,
    repetition_count_cutoff,
)
from entropyd.errors import ConfigError, InternalError

TESTS = Path(__file__).parents[1]
VECTORS = TESTS / "vectors" / "sp800_90b"

ROWS = list(csv.DictReader((VECTORS / "health_cutoffs.csv").read_text().splitlines()))
PUBLISHED = json.loads((VECTORS / "published_cutoffs.json").read_text())


def test_every_row_of_the_cutoff_table():
    """All 480 rows, all five integer columns."""
    assert len(ROWS) == 480
    for row in ROWS:
        claim, window = Fraction(row["H"]), int(row["window"])
        alpha = -int(row["neg_log2_alpha"])
        computed = {
            "rct_cutoff": repetition_count_cutoff(claim, alpha_log2=alpha),
            "apt_cutoff_spec": 1 + critbinom(window, claim, alpha_log2=alpha),
            "apt_cutoff_corrected": 2 + critbinom(window - 1, claim, alpha_log2=alpha),
            "apt_cutoff_spec_capped": adaptive_proportion_cutoff_as_printed(
                claim, alpha_log2=alpha, window=window
            ),
            "apt_cutoff_corrected_capped": adaptive_proportion_cutoff(
                claim, alpha_log2=alpha, window=window
            ),
        }
        assert {column: int(row[column]) for column in computed} == computed, row


def test_every_published_constant():
    """Constants of jitterentropy, Linux, Go, Apple, Nordic, Bouncy Castle and ChromiumOS."""
    assert len(PUBLISHED) == 86
    for entry in PUBLISHED:
        claim, alpha = Fraction(entry["H"]), -entry["neg_log2_alpha"]
        formula = {
            "2+critbinom(W-1,2^-H,1-alpha), capped at W": adaptive_proportion_cutoff,
            "1+critbinom(W,2^-H,1-alpha)": adaptive_proportion_cutoff_as_printed,
        }[entry["published_apt_formula"]]
        apt = formula(claim, alpha_log2=alpha, window=entry["window"])
        assert entry["published_apt"] == apt, entry
        if entry["published_rct"] is not None:
            assert entry["published_rct"] == repetition_count_cutoff(claim, alpha_log2=alpha), entry


def test_a_second_method_confirms_table_and_publications():
    """tests/tools/cutoffs.py sums other numbers in another order and finds no difference."""
    tool = TESTS / "tools" / "cutoffs.py"
    done = subprocess.run(
        [sys.executable, tool, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_cutoffs_of_a_quantis():
    """Six bits a byte at 2**-40 and 2**-60: the default of the first device."""
    cutoffs = cutoffs_for(
        6000, sample_bits=8, intermittent_alpha_log2=-40, permanent_alpha_log2=-60
    )
    expected = HealthCutoffs(
        window=512,
        repetition_count=LevelCutoffs(8, 11),
        adaptive_proportion=LevelCutoffs(36, 45),
        lag_correlation=LevelCutoffs(35, 44),
        repeated_block=LevelCutoffs(1, 2),
        bias_drift=LevelCutoffs(10_918, 13_318),
        drift_block=65_536,
    )
    assert expected == cutoffs


def test_the_cutoffs_of_bits():
    """Nine tenths of a bit: window 1024; 46 and 662 stand in the table."""
    cutoffs = cutoffs_for(900, sample_bits=1, intermittent_alpha_log2=-40, permanent_alpha_log2=-60)
    expected = HealthCutoffs(
        window=1024,
        repetition_count=LevelCutoffs(46, 68),
        adaptive_proportion=LevelCutoffs(662, 688),
        lag_correlation=LevelCutoffs(661, 688),
        repeated_block=LevelCutoffs(1, 2),
        bias_drift=LevelCutoffs(1365, 1665),
        drift_block=65_536,
    )
    assert expected == cutoffs


@settings(max_examples=40, deadline=None)
@given(claim=st.integers(100, 8000), alpha=st.integers(-100, -20), bits=st.sampled_from([1, 8]))
def test_the_cutoffs_of_our_own_tests_keep_their_budget(claim, alpha, bits):
    """With one window less, or one one less, the bound of a false alarm is above alpha."""
    window = 1024 if bits == 1 else 512
    h = Fraction(claim, 1000)
    windows = repeated_block_cutoff(h, alpha_log2=alpha, window=window)
    log2_p = 12 - min(window * h, Fraction(64))
    assert windows * log2_p <= alpha < (windows - 1) * log2_p
    ones = bias_drift_cutoff(alpha_log2=alpha, sample_bits=bits, block=65_536)
    bound = [1 - t**2 / (65_536 * bits**2 * math.log(2)) for t in (ones, ones - 1)]
    assert bound[0] <= alpha + 1e-9
    assert alpha - 1e-9 <= bound[1]


def test_the_cap_keeps_the_proportion_test_able_to_fail():
    """At a hundredth of a bit the formula asks for 513 of 512 samples."""
    claim = Fraction(1, 100)
    assert 2 + critbinom(511, claim, alpha_log2=-40) == 513
    assert adaptive_proportion_cutoff(claim, alpha_log2=-40, window=512) == 512


@settings(max_examples=40, deadline=None)
@given(
    claim=st.integers(100, 7999),
    more=st.integers(1, 500),
    alpha=st.integers(-99, -21),
    window=st.sampled_from([512, 1024]),
)
def test_cutoffs_fall_with_the_claim_and_rise_with_strictness(claim, more, alpha, window):
    """A better source repeats itself less; a rarer alarm needs more repetitions."""
    high = Fraction(min(8000, claim + more), 1000)
    low = Fraction(claim, 1000)

    def both(min_entropy, alpha_log2):
        return (
            repetition_count_cutoff(min_entropy, alpha_log2=alpha_log2),
            adaptive_proportion_cutoff(min_entropy, alpha_log2=alpha_log2, window=window),
        )

    for weaker, stronger in zip(both(low, alpha), both(high, alpha), strict=True):
        assert weaker >= stronger >= 2
    for lax, strict in zip(both(low, alpha + 1), both(low, alpha), strict=True):
        assert lax <= strict


@pytest.mark.parametrize(
    ("claim", "sample_bits", "text"),
    [
        (99, 8, "99 millibits a sample; expected 100 to 8000"),
        (8001, 8, "8001 millibits a sample; expected 100 to 8000"),
        (1001, 1, "1001 millibits a sample; expected 100 to 1000"),
    ],
)
def test_a_claim_that_cannot_be_watched_is_refused(claim, sample_bits, text):
    """The operator is told the range."""
    with pytest.raises(ConfigError, match=text):
        cutoffs_for(
            claim, sample_bits=sample_bits, intermittent_alpha_log2=-40, permanent_alpha_log2=-60
        )


@pytest.mark.parametrize("alpha", [-101, -19, 0, 40])
def test_an_alpha_outside_the_range_is_a_defect(alpha):
    with pytest.raises(InternalError, match="alpha"):
        repetition_count_cutoff(Fraction(6), alpha_log2=alpha)


@pytest.mark.parametrize("claim", [Fraction(0), Fraction(-1), Fraction(1, 1001), Fraction(9)])
def test_an_entropy_outside_the_range_is_a_defect(claim):
    with pytest.raises(InternalError, match="min-entropy"):
        critbinom(511, claim, alpha_log2=-40)


@pytest.mark.parametrize("trials", [0, 1025])
def test_more_trials_than_the_error_bound_covers_are_a_defect(trials):
    with pytest.raises(InternalError, match="trials"):
        critbinom(trials, Fraction(6), alpha_log2=-40)


def test_a_tail_that_equals_alpha_is_refused_not_guessed():
    """P(X > 39) of 40 fair bits is 2**-40 exactly; no decimal arithmetic may decide that."""
    with pytest.raises(InternalError, match="undecided"):
        critbinom(40, Fraction(1), alpha_log2=-40)
