"""What a way does over all its paths: whole numbers and fractions, no samples.

Here a bias needs no luck to be seen, however small it is.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import factorial, prod

from bench.lesson.ways import Steps
from bench.lesson.words import Source

Order = tuple[int, ...]
# For each item, in how many paths it ends at each place.
Places = list[list[int]]


def paths(steps: Steps) -> int:
    """Return the number of equally likely paths."""
    return prod(step.words for step in steps)


def order_counts(size: int, steps: Steps) -> Counter[Order]:
    """Return in how many paths each order is reached, the unreached left out.

    Paths that meet in an order are counted on together: the cost grows with
    size!, not with the number of paths.
    """
    counts = Counter({tuple(range(size)): 1})
    for step in steps:
        after: Counter[Order] = Counter()
        weights = step.weights()
        for items, count in counts.items():
            for other, weight in enumerate(weights, step.first):
                after[_swapped(items, step.place, other)] += count * weight
        counts = after
    return counts


def _swapped(items: Order, one: int, other: int) -> Order:
    swapped = list(items)
    swapped[one], swapped[other] = items[other], items[one]
    return tuple(swapped)


def place_counts(size: int, steps: Steps) -> Places:
    """Return in how many paths each item ends at each place; a row for each item."""
    return [_places_of(item, size, steps) for item in range(size)]


def _places_of(item: int, size: int, steps: Steps) -> list[int]:
    at = [int(place == item) for place in range(size)]
    for step in steps:
        weights = dict(enumerate(step.weights(), step.first))
        here = at[step.place]
        after = [
            count * (step.words - weights.get(place, 0)) + here * weights.get(place, 0)
            for place, count in enumerate(at)
        ]
        # The item comes here from wherever it was, and stays if here was chosen.
        after[step.place] = sum(at[place] * weight for place, weight in weights.items())
        at = after
    return at


class _NeedsMoreError(Exception):
    def __init__(self, bound: int) -> None:
        super().__init__(bound)
        self.bound = bound


class _Script:
    """A source that gives what was written down, and says which bound it was asked for next."""

    def __init__(self, numbers: Order) -> None:
        self._numbers = iter(numbers)

    def below(self, bound: int) -> int:
        """Return the next written number."""
        for number in self._numbers:
            return number
        raise _NeedsMoreError(bound)


def explore(work: Callable[[Source], list[int]]) -> dict[Order, Fraction]:
    """Run code on every sequence of numbers that it can ask for.

    Args:
        work: takes numbers below bounds, returns an order, and must end.

    Returns:
        The probability of each order that was returned.
    """
    chances: dict[Order, Fraction] = {}
    pending: list[tuple[Order, Fraction]] = [((), Fraction(1))]
    while pending:
        numbers, chance = pending.pop()
        try:
            items = tuple(work(_Script(numbers)))
        except _NeedsMoreError as more:
            share = chance / more.bound
            pending += [((*numbers, number), share) for number in range(more.bound)]
        else:
            chances[items] = chances.get(items, Fraction(0)) + chance
    return chances


def chances(size: int, steps: Steps) -> dict[Order, Fraction]:
    """Return the probability of each order that the steps can reach."""
    total = paths(steps)
    return {items: Fraction(count, total) for items, count in order_counts(size, steps).items()}


def order_noncentrality(size: int, by_order: Mapping[Order, Fraction]) -> Fraction:
    """Return what one sample adds to chi-square over all orders beyond a fair way's."""
    return factorial(size) * sum((p * p for p in by_order.values()), Fraction(0)) - 1


def place_noncentrality(size: int, steps: Steps) -> Fraction:
    """Return what one deck adds to the card-position statistic beyond a fair way's."""
    total = paths(steps)
    squares = sum(count * count for row in place_counts(size, steps) for count in row)
    # (n-1)/n * sum of (p - 1/n)^2 / (1/n), where the p of a row sum to 1.
    return Fraction(size - 1, size) * (size * Fraction(squares, total * total) - size)
