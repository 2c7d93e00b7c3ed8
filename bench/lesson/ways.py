"""Known bad ways to shuffle, and the textbook's good one beside them.

A way that swaps is a list of steps. One description serves three uses: `order` runs it on one
list, `orders` on many at once, and `bench.lesson.exact` counts all its paths. Sorting by a random
comparator is code, because which comparisons are made depends on their answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.lesson.words import ManySource, Source

BYTE = 1 << 8
SIXTEEN_BITS = 1 << 16

Orders = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Step:
    """One swap: place `place` with place `first + w % span`, w uniform below `words`.

    Attributes:
        place: index of the item that is swapped, from 0.
        first: the lowest place that it can be swapped with.
        words: how many values w has.
        span: how many places it can be swapped with. They are equally likely
            if and only if `span` divides `words`.
    """

    place: int
    first: int
    words: int
    span: int

    def weights(self) -> list[int]:
        """Return in how many of the `words` ways each place is chosen, from `first` on."""
        share, left = divmod(self.words, self.span)
        return [share + (place < left) for place in range(self.span)]


Steps = Sequence[Step]
Way = Callable[[int], Steps]


def fisher_yates(size: int) -> Steps:
    """The good way, in the direction that the bad ones go: swap with itself or a later place."""
    return [Step(place, place, size - place, size - place) for place in range(size)]


def swap_with_anything(size: int) -> Steps:
    """Each place with any place: size^size paths, which size! orders cannot share evenly."""
    return [Step(place, 0, size, size) for place in range(size)]


def planet_poker(size: int) -> Steps:
    """The 1999 one: any place but the last, so that the last item never stays last."""
    return [Step(place, 0, size - 1, size - 1) for place in range(size)]


def sattolo(size: int) -> Steps:
    """Off by one: with a later place and never itself, so that no item stays where it was."""
    return [Step(place, place + 1, size - place - 1, size - place - 1) for place in range(size - 1)]


def remainder(words: int) -> Way:
    """Fisher-Yates with the remainder of a value below `words`, nothing rejected."""
    return lambda size: [Step(place, place, words, size - place) for place in range(size)]


byte_remainder = remainder(BYTE)


def order(size: int, steps: Steps, source: Source) -> list[int]:
    """Return [0, ..., size - 1] after the steps."""
    items = list(range(size))
    for step in steps:
        other = step.first + source.below(step.words) % step.span
        items[step.place], items[other] = items[other], items[step.place]
    return items


def orders(size: int, steps: Steps, source: ManySource, count: int) -> Orders:
    """Return `count` orders, a row each; numbers are taken step by step, not list by list."""
    # One line holds one place of every list.
    lines = np.repeat(np.arange(size, dtype=np.uint8), count).reshape(size, count)
    flat, columns = lines.reshape(-1), np.arange(count)
    for step in steps:
        chosen = step.first + source.below_many(step.words, count) % np.uint32(step.span)
        others = chosen.astype(np.intp) * count + columns
        moved = flat.take(others)
        flat[others] = lines[step.place]
        lines[step.place] = moved
    return lines.T


def insertion_sort(size: int, source: Source) -> list[int]:
    """Insertion sort whose comparison is a coin."""
    items = list(range(size))
    for end in range(1, size):
        at = end
        while at and source.below(2):
            items[at - 1], items[at] = items[at], items[at - 1]
            at -= 1
    return items


def merge_sort(size: int, source: Source) -> list[int]:
    """Merge sort whose comparison is a coin; an odd list has its longer half behind."""
    return _merge_sort(list(range(size)), source)


def _merge_sort(items: list[int], source: Source) -> list[int]:
    if len(items) < 2:
        return items
    middle = len(items) // 2
    left, right = _merge_sort(items[:middle], source), _merge_sort(items[middle:], source)
    merged = []
    while left and right:
        merged.append((right if source.below(2) else left).pop(0))
    return merged + left + right
