"""Is a way fair? Pearson's chi-square on samples, with the degrees of freedom that are right.

The statistic is exact; only its probability is a double. A small probability accuses. A large
one acquits of what this test looks at with so many samples, and of nothing else.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import factorial

import numpy as np
from numpy.typing import NDArray

from bench.lesson import chi_square
from bench.lesson.ways import Orders

# A fair way is accused once in a million tests.
ALPHA = 1e-6
# Beyond 8! orders samples cannot fill the cells; there the places are tested.
MAX_ORDERS_SIZE = 8


@dataclass(frozen=True, slots=True)
class Finding:
    """What one test found.

    Attributes:
        samples: how many orders or draws were counted.
        statistic: chi-square, exact.
        df: its degrees of freedom.
        p: probability that a fair way gives at least this statistic.
    """

    samples: int
    statistic: Fraction
    df: int
    p: float

    @property
    def caught(self) -> bool:
        """Whether the way is accused."""
        return self.p < ALPHA


def judge_orders(orders: Orders) -> Finding:
    """Test that all size! orders come equally often: size! - 1 degrees of freedom.

    The probability is an approximation that is good from about five samples an
    order on. With fewer, fair ways are accused more often than ALPHA says.

    Args:
        orders: one order of 0 to size - 1 a row; size 2 to 8.
    """
    samples, size = orders.shape
    if not 2 <= size <= MAX_ORDERS_SIZE:
        raise ValueError(f"orders of {size} items; expected 2 to {MAX_ORDERS_SIZE}")
    numbers = np.zeros(samples, np.int64)
    for column in orders.T:
        numbers = numbers * size + column
    cells = factorial(size)
    return _finding(samples, _squares(np.bincount(numbers)), cells, cells - 1)


def judge_places(orders: Orders) -> Finding:
    """Test that every item comes to every place equally often: (size - 1)^2 degrees of freedom.

    Each item has one place in each order and each place one item: rows and
    columns both sum to the number of samples. So Pearson's sum is too large by
    size / (size - 1), which is taken out.
    """
    samples, size = orders.shape
    counts = np.stack([np.bincount(place, minlength=size) for place in orders.T])
    # The sum over the cells of (O - N/n)^2 / (N/n), multiplied out.
    pearson = Fraction(size * _squares(counts), samples) - size * samples
    statistic = pearson * (size - 1) / size
    df = (size - 1) ** 2
    return Finding(samples, statistic, df, chi_square.tail(float(statistic), df))


def judge_share(low: int, samples: int, expected: Fraction) -> Finding:
    """Test that `low` of the samples fell into a share of `expected`: 1 degree of freedom."""
    difference = low - samples * expected
    statistic = difference**2 / (samples * expected * (1 - expected))
    return Finding(samples, statistic, 1, chi_square.tail(float(statistic), 1))


def _finding(samples: int, squares: int, cells: int, df: int) -> Finding:
    statistic = Fraction(cells * squares, samples) - samples
    return Finding(samples, statistic, df, chi_square.tail(float(statistic), df))


def _squares(counts: NDArray[np.int64]) -> int:
    # Counts are below 2^31 and few: their squares' sum stays below 2^63 for 10^9 samples.
    return int(np.square(counts).sum())
