"""The chi-square tail by another method: the finite sum that whole degrees of freedom allow."""

from decimal import Decimal, localcontext
from math import erfc, exp, factorial, sqrt

import pytest

from bench.lesson.chi_square import critical, power, samples_needed, tail

DEGREES = [1, 2, 5, 23, 119, 719, 2601, 5039]


def finite_sum(statistic, df):
    """Q(df/2, x) = Q(first, x) + e^-x * sum of x^a / Gamma(a + 1), in 60 digits.

    Even: Q(1, x) = e^-x. Odd: Q(1/2, x) = erfc(sqrt x), the one part that is a
    double.
    """
    with localcontext() as context:
        context.prec = 60
        x = Decimal(statistic) / 2
        first = Decimal(1) if df % 2 == 0 else Decimal("0.5")
        # Gamma(3/2) = sqrt(pi) / 2.
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        gamma = Decimal(1) if df % 2 == 0 else pi.sqrt() / 2
        total = (-x).exp() if df % 2 == 0 else Decimal(erfc(sqrt(x)))
        term = (-x).exp() * x**first / gamma
        a = first
        while a < Decimal(df) / 2:
            total += term
            a += 1
            term *= x / a
        return float(total)


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("deviations", [-4, -1, 0, 0.5, 3, 6, 10, 30])
def test_the_tail_is_the_finite_sum(df, deviations):
    statistic = max(0.25, df + deviations * sqrt(2 * df))
    assert finite_sum(statistic, df) == pytest.approx(tail(statistic, df), rel=1e-10)


def test_tails_known_by_heart():
    """3.841 is the 5 % point of one degree; of two degrees the tail is e^(-x/2)."""
    assert 0.05 == pytest.approx(tail(3.841458820694124, 1), rel=1e-12)
    assert exp(-7) == pytest.approx(tail(14, 2), rel=1e-14)
    assert 1 == tail(0, 5)


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("alpha", [0.5, 0.01, 1e-6, 1e-9])
def test_a_critical_value_is_exceeded_with_its_probability(df, alpha):
    assert alpha == pytest.approx(tail(critical(alpha, df), df), rel=1e-9)


def test_power_is_the_sum_over_a_poisson_number_of_degrees():
    """The definition, term by term, each tail anew."""
    mean, df, threshold = 6.0, 5, 30.0
    terms = [
        exp(-mean) * mean**k / factorial(k) * finite_sum(threshold, df + 2 * k) for k in range(80)
    ]
    assert sum(terms) == pytest.approx(power(df, 2 * mean, threshold), rel=1e-12)


def test_without_bias_power_is_alpha():
    assert 1e-6 == pytest.approx(power(23, 0, critical(1e-6, 23)), rel=1e-8)


def test_the_fewest_samples_reach_the_power_and_one_fewer_do_not():
    needed = samples_needed(23, 0.03, alpha=1e-6)
    threshold = critical(1e-6, 23)
    assert power(23, (needed - 1) * 0.03, threshold) < 0.999 <= power(23, needed * 0.03, threshold)
