"""How surprising a count is: exact, over all tests that share one budget.

Everything these tests look at is made from fixed labels, so each either passes for ever or never.
A budget says how often other labels would have failed by chance.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import comb

from bench.lesson.chi_square import tail

# That any comparison of this folder fails by chance; there are fewer than a hundred.
BUDGET = Fraction(1, 10**9)
COMPARISONS = 100
# Of one of them.
SHARE = BUDGET / COMPARISONS


def as_many(hits: int, trials: int, chances: Iterable[int]) -> Fraction:
    """Return the probability that guessing among so many things hits at least as often.

    Args:
        hits: how often it hit.
        trials: how often it guessed.
        chances: among how many things, each guess; all the same number.
    """
    (among,) = set(chances)
    p = Fraction(1, among)
    return sum(
        (comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1)),
        start=Fraction(0),
    )


def uniformity(seen: Iterable[int], cells: int) -> float:
    """Return the probability that uniform counts are at least as far from uniform.

    The statistic is exact; its distribution is chi-square's for at least five expected in a cell.
    """
    counts = Counter(seen)
    expected = Fraction(sum(counts.values()), cells)
    assert expected >= 5
    squares = sum((counts[cell] - expected) ** 2 for cell in range(cells))
    return tail(float(squares / expected), cells - 1)
