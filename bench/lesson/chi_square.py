"""The chi-square distribution: tail, power, and how many samples a bias needs to be seen.

The tail is the regularised upper incomplete gamma function Q(df/2, x/2), by the power series
of P = 1 - Q where x/2 < df/2 + 1 and by the continued fraction of Q elsewhere, evaluated by
Lentz's method; both are in Abramowitz and Stegun, 6.5.29 and 6.5.31. In doubles the relative
error is below 1e-10 over the range that is used here; the tests compare it with the finite sum
that a whole number of degrees of freedom allows.
"""

from collections.abc import Callable
from math import exp, lgamma, log, sqrt

# The probability with which a bias is to be seen.
WANTED = 0.999

# What a term may still add, as a share of the sum.
_SMALL = 1e-16
# Stands for 0 where Lentz's method would divide by it.
_TINY = 1e-300


def tail(statistic: float, df: int) -> float:
    """Return the probability that chi-square is at least `statistic`.

    Args:
        statistic: 0 or more.
        df: degrees of freedom, 1 or more.
    """
    return _upper_gamma(df / 2, statistic / 2)


def critical(alpha: float, df: int) -> float:
    """Return the statistic that is exceeded with probability `alpha`, 0 to 1 exclusive."""
    # A normal deviate of 40 has a probability below 1e-300.
    high = df + 40 * sqrt(2 * df) + 1600
    return _bisect(lambda statistic: alpha - tail(statistic, df), 0.0, high)


def power(df: int, noncentrality: float, threshold: float) -> float:
    """Return the probability that a noncentral chi-square exceeds `threshold`.

    It is a central one whose degrees of freedom are df + 2K, K Poisson with
    mean `noncentrality` / 2.
    """
    mean, x = noncentrality / 2, threshold / 2
    reach = 12 * sqrt(mean) + 40
    first = max(0, int(mean - reach))
    a = df / 2 + first
    upper, total = _upper_gamma(a, x), 0.0
    for k in range(first, int(mean + reach) + 1):
        total += _poisson(k, mean) * upper
        # Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1).
        upper += _density(a, x) / a
        a += 1
    return min(total, 1.0)


def samples_needed(df: int, per_sample: float, *, alpha: float, wanted: float = WANTED) -> int:
    """Return the fewest samples with which a bias is seen.

    Args:
        df: degrees of freedom of the test.
        per_sample: noncentrality that each sample adds, above 0.
        alpha: probability with which the test accuses a fair way.
        wanted: probability with which it must catch the bias.
    """
    threshold = critical(alpha, df)
    low, high = 0, 1
    while power(df, high * per_sample, threshold) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if power(df, middle * per_sample, threshold) < wanted:
            low = middle
        else:
            high = middle
    return high


def _bisect(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function passes 0."""
    for _ in range(200):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return high


def _upper_gamma(a: float, x: float) -> float:
    if x <= 0:
        return 1.0
    return 1 - _series(a, x) if x < a + 1 else _fraction(a, x)


def _density(a: float, x: float) -> float:
    """Return x^a e^-x / Gamma(a), which both expansions begin with."""
    return exp(a * log(x) - x - lgamma(a))


def _poisson(k: int, mean: float) -> float:
    return exp(k * log(mean) - mean - lgamma(k + 1)) if mean else float(k == 0)


def _series(a: float, x: float) -> float:
    term = total = 1 / a
    step = a
    while term > total * _SMALL:
        step += 1
        term *= x / step
        total += term
    return total * _density(a, x)


def _fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / (b or _TINY)
    value, change, i = d, 0.0, 0
    while abs(change - 1) > 4 * _SMALL:
        i += 1
        numerator = i * (a - i)
        b += 2
        d = 1 / ((numerator * d + b) or _TINY)
        c = (b + numerator / c) or _TINY
        change = c * d
        value *= change
    return value * _density(a, x)
