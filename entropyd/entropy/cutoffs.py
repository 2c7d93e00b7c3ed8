"""Cutoffs of the health tests, computed instead of tabulated.

A cutoff follows from a claim (min-entropy of one sample), from the false
alarm probability that is accepted, and for the proportion test from the
window. Nothing here measures anything; nothing here is approximate: either
the integer returned is the right one or `InternalError` is raised.

The proportion test uses the corrected form. The standard prints
`1 + critbinom(W, 2**-H, 1-alpha)`, which counts the first sample of a window
among the random ones. That sample is the reference and equals itself with
certainty, so the random part are the other W - 1:
`2 + critbinom(W-1, 2**-H, 1-alpha)`. The printed form is one lower for most
claims and alarms more often than alpha promises; it is kept for comparison.

`tests/tools/cutoffs.py --check` recomputes every published and tabulated
cutoff by another method.

The cutoffs of our own tests are derived in their modules.

Spec: SP 800-90B, sections 4.4.1 and 4.4.2.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from entropyd.entropy.source import MILLIBITS_PER_BIT
from entropyd.errors import ConfigError, InternalError

# SPEC: SP 800-90B 4.4.2: the window is 1024 for a binary source, 512 for any other.
BINARY_WINDOW = 1024
BYTE_WINDOW = 512

# Below a tenth of a bit a sample, a constant source is hardly rarer than a healthy one: 512 equal
# samples happen by chance with probability 2**(-511 * H), so that from H = 0.078 down even the
# cutoff W alarms more often than 2**-40, and at H = 0.01 on every 35th window. No such claim can
# be watched by these tests.
MIN_CLAIM_MILLIBITS = 100

# SPEC: SP 800-90B 4.3 recommends 2**-20 to 2**-40 and allows less. 2**-100 is never.
MAX_ALPHA_LOG2 = -20
MIN_ALPHA_LOG2 = -100

# The repeated-block test remembers at most so many windows, by fingerprints of so many bits.
REMEMBERED_BLOCKS = 2048
FINGERPRINT_BITS = 64
_LOG2_2N = REMEMBERED_BLOCKS.bit_length()

# Long enough to see a share of ones move by a fiftieth; 0.13 s of a Quantis, 6 s of a serial
# generator; whole proportion windows.
DRIFT_BLOCK = 65_536

# 80 digits. p and q = 1 - p carry a relative error of 1e-75 at most (q loses under four digits to
# cancellation, as p <= 2**-0.001). A term of the tail raises them to at most the 1024th power and
# passes 1024 steps of four roundings: below 1e-70 relative. All terms are positive, so their sum
# is as good. A comparison with alpha that is closer than 1e-60 is therefore not decided but
# refused; every other one is exact. The smallest number met, q**1024, is above 1e-3300.
_DECIMAL = Context(prec=80, Emin=-999_999, Emax=999_999)
_UNDECIDED = Decimal("1e-60")


def repetition_count_cutoff(min_entropy: Fraction, *, alpha_log2: int) -> int:
    """Return the cutoff C of the repetition count test, `1 + ceil(-log2(alpha) / H)`.

    A value that repeats C times in a row fails the source. The count starts
    at 1 for the first sample of a run, as the standard's B does; one that
    starts at 0 would have to compare with C - 1.

    Spec: SP 800-90B, section 4.4.1.

    Args:
        min_entropy: claimed min-entropy H of one sample, in bits, above 0; a
            claim, not a measurement.
        alpha_log2: base-2 logarithm of the false alarm probability per
            sample, -100 to -20.

    Returns:
        The cutoff in samples, at least 2.

    Raises:
        InternalError: an argument is outside its range; the policy checks both.
    """
    _check(min_entropy, alpha_log2)
    return 1 + math.ceil(-alpha_log2 / min_entropy)


def adaptive_proportion_cutoff(min_entropy: Fraction, *, alpha_log2: int, window: int) -> int:
    """Return the corrected cutoff of the adaptive proportion test, at most `window`.

    A window in which the first sample's value occurs this often, itself
    included, fails the source. The cap keeps the test able to fail where the
    claim is so low that the formula asks for more samples than there are.

    Spec: SP 800-90B, section 4.4.2, corrected as the module says.

    Args:
        min_entropy: claimed min-entropy of one sample, in bits, above 0.
        alpha_log2: base-2 logarithm of the false alarm probability per
            window, -100 to -20.
        window: 1024 for bits, 512 for anything wider.

    Returns:
        The cutoff in samples, 2 to `window`.

    Raises:
        InternalError: an argument is outside its range.
    """
    return min(window, 2 + critbinom(window - 1, min_entropy, alpha_log2=alpha_log2))


def adaptive_proportion_cutoff_as_printed(
    min_entropy: Fraction, *, alpha_log2: int, window: int
) -> int:
    """Return the cutoff of the formula as the standard prints it, for comparison only.

    Spec: SP 800-90B, section 4.4.2. Arguments as `adaptive_proportion_cutoff`.
    """
    return min(window, 1 + critbinom(window, min_entropy, alpha_log2=alpha_log2))


def lag_correlation_cutoff(min_entropy: Fraction, *, alpha_log2: int, window: int) -> int:
    """Return the cutoff of the lag test, `1 + critbinom(W, 2**-H, 1-alpha)`, at most `window`.

    All W samples are compared with an earlier one, and none with itself, so
    all of them are random. Arguments as `adaptive_proportion_cutoff`.
    """
    return min(window, 1 + critbinom(window, min_entropy, alpha_log2=alpha_log2))


def repeated_block_cutoff(min_entropy: Fraction, *, alpha_log2: int, window: int) -> int:
    """Return how many windows in a row must have come before, for the repeated-block test.

    `ceil(log2(alpha) / log2(p))`, p = 2 N 2**-min(W H, 64); derived in `repeated_block`.
    Arguments as `adaptive_proportion_cutoff`.
    """
    _check(min_entropy, alpha_log2)
    one_in_bits = min(window * min_entropy, Fraction(FINGERPRINT_BITS)) - _LOG2_2N
    return math.ceil(-alpha_log2 / one_in_bits)


def bias_drift_cutoff(*, alpha_log2: int, sample_bits: int, block: int) -> int:
    """Return by how many ones a block must differ, `ceil(b sqrt(N ln(2 / alpha)))`.

    It follows from no claim; derived in `bias_drift`.

    Args:
        alpha_log2: base-2 logarithm of the false alarm probability per block, -100 to -20.
        sample_bits: b, the width of a sample.
        block: N, the length of a block, in samples.
    """
    _check(Fraction(sample_bits), alpha_log2)
    square = _DECIMAL.multiply(_DECIMAL.ln(Decimal(2)), block * sample_bits**2 * (1 - alpha_log2))
    # Irrational, so never a whole number that rounding could take for its neighbour.
    return math.ceil(_DECIMAL.sqrt(square))


def critbinom(trials: int, min_entropy: Fraction, *, alpha_log2: int) -> int:
    """Return the smallest k with P(X <= k) >= 1 - alpha, X binomial(trials, 2**-H).

    The tail P(X > k) is summed from its far end, where the terms are
    smallest, until adding one more would lift it above alpha.

    Args:
        trials: number of trials, 1 to 1024.
        min_entropy: H, in bits, above 0.
        alpha_log2: base-2 logarithm of alpha, -100 to -20.

    Raises:
        InternalError: an argument is outside its range, or a tail is too
            close to alpha to be told from it.
    """
    _check(min_entropy, alpha_log2)
    if not 1 <= trials <= BINARY_WINDOW:
        raise InternalError(f"{trials} trials; the error bound holds for 1 to {BINARY_WINDOW}")
    alpha = _DECIMAL.power(2, alpha_log2)
    p = _DECIMAL.power(2, _DECIMAL.divide(-min_entropy.numerator, min_entropy.denominator))
    odds = _DECIMAL.divide(_DECIMAL.subtract(1, p), p)
    tail, term = Decimal(0), _DECIMAL.power(p, trials)
    for k in range(trials, 0, -1):
        # Here tail is P(X > k) and at most alpha, and term is P(X = k).
        tail = _DECIMAL.add(tail, term)
        if _exceeds(tail, alpha):
            return k
        step = _DECIMAL.divide(_DECIMAL.multiply(odds, k), trials - k + 1)
        term = _DECIMAL.multiply(term, step)
    return 0


def _exceeds(tail: Decimal, alpha: Decimal) -> bool:
    if abs(_DECIMAL.subtract(_DECIMAL.divide(tail, alpha), 1)) < _UNDECIDED:
        raise InternalError("a binomial tail equals alpha to 60 digits; the cutoff is undecided")
    return tail > alpha


def _check(min_entropy: Fraction, alpha_log2: int) -> None:
    if not Fraction(1, 1000) <= min_entropy <= 8:
        raise InternalError(f"min-entropy {min_entropy}; expected 1/1000 to 8 bits a sample")
    if not MIN_ALPHA_LOG2 <= alpha_log2 <= MAX_ALPHA_LOG2:
        raise InternalError(f"alpha 2**{alpha_log2}; expected 2**-100 to 2**-20")


@dataclass(frozen=True)
class LevelCutoffs:
    """The two cutoffs of one test, in samples; `intermittent <= permanent`."""

    intermittent: int
    permanent: int


@dataclass(frozen=True)
class HealthCutoffs:
    """Everything that the health tests of one source compare with.

    Attributes:
        window: length of the proportion window, in samples.
        repetition_count: cutoffs of the repetition count test.
        adaptive_proportion: cutoffs of the adaptive proportion test.
        lag_correlation: cutoffs of the lag test.
        repeated_block: cutoffs of the repeated-block test, in windows.
        bias_drift: cutoffs of the drift test, in ones.
        drift_block: length of its block, in samples.
    """

    window: int
    repetition_count: LevelCutoffs
    adaptive_proportion: LevelCutoffs
    lag_correlation: LevelCutoffs
    repeated_block: LevelCutoffs
    bias_drift: LevelCutoffs
    drift_block: int = DRIFT_BLOCK


def cutoffs_for(
    claimed_millibits: int,
    *,
    sample_bits: int,
    intermittent_alpha_log2: int,
    permanent_alpha_log2: int,
) -> HealthCutoffs:
    """Return the cutoffs that follow from a claim.

    Args:
        claimed_millibits: claimed min-entropy of one sample, in thousandths of a bit.
        sample_bits: 1 for a binary source, 8 for bytes.
        intermittent_alpha_log2: base-2 logarithm of alpha of the lower cutoff.
        permanent_alpha_log2: the same of the upper one.

    Raises:
        ConfigError: the claim is below what these tests can watch, or above the width of a sample.
    """
    most = MILLIBITS_PER_BIT * sample_bits
    if not MIN_CLAIM_MILLIBITS <= claimed_millibits <= most:
        raise ConfigError(
            f"claimed min-entropy is {claimed_millibits} millibits a sample; expected"
            f" {MIN_CLAIM_MILLIBITS} to {most} for samples of {sample_bits} bit: correct the claim"
        )
    claim = Fraction(claimed_millibits, MILLIBITS_PER_BIT)
    window = BINARY_WINDOW if sample_bits == 1 else BYTE_WINDOW
    alphas = (intermittent_alpha_log2, permanent_alpha_log2)
    rct = [repetition_count_cutoff(claim, alpha_log2=a) for a in alphas]
    apt = [adaptive_proportion_cutoff(claim, alpha_log2=a, window=window) for a in alphas]
    lag = [lag_correlation_cutoff(claim, alpha_log2=a, window=window) for a in alphas]
    block = [repeated_block_cutoff(claim, alpha_log2=a, window=window) for a in alphas]
    drift = [
        bias_drift_cutoff(alpha_log2=a, sample_bits=sample_bits, block=DRIFT_BLOCK) for a in alphas
    ]
    return HealthCutoffs(
        window,
        LevelCutoffs(*rct),
        LevelCutoffs(*apt),
        LevelCutoffs(*lag),
        LevelCutoffs(*block),
        LevelCutoffs(*drift),
    )
