"""What the lesson's table judges: each bad way with as many samples as its bias takes, and ours.

The *least* number of samples is computed from the exact bias: the fewest with which a way is
caught 999 times in 1,000 by a test that accuses a fair way once in a million. That takes the
statistic for a noncentral chi-square, which it is for many samples a cell only. With few it is
more spread out, and 999 becomes 930 for the way that is off by one among seven items. So a row is
judged with twice as many, and at least five a cell, where no miss is to be expected, and beside
that it is told how many of several runs with the least number catch the way.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import factorial

import numpy as np

from bench.lesson.chi_square import samples_needed
from bench.lesson.detector import ALPHA, Finding, judge_orders, judge_places, judge_share
from bench.lesson.exact import chances, explore, order_noncentrality, place_noncentrality
from bench.lesson.ways import (
    BYTE,
    SIXTEEN_BITS,
    Orders,
    Way,
    byte_remainder,
    insertion_sort,
    merge_sort,
    orders,
    planet_poker,
    remainder,
    sattolo,
    swap_with_anything,
)
from bench.lesson.words import WORDS, Source, Words
from entropyd.draw.batch import shuffle_many
from entropyd.draw.keystream import SEED_BYTES, Keystream
from entropyd.draw.samplers import Sampler, masked_below
from entropyd.draw.shuffle import shuffle

CARDS = 52
# Of the least number of samples, and samples a cell: see above.
MARGIN = 2
MIN_A_CELL = 5
# Runs with the least number: as many as that many samples allow, within limits.
RUN_SAMPLES, MIN_RUNS, MAX_RUNS = 200_000, 5, 100
# Of these many items all orders are told apart; of a deck, the places.
SIZES = (3, 4, 5, 6, 7)
BATCH = 4096

WAYS: dict[str, Way] = {
    "off by one (Sattolo)": sattolo,
    "swap with anything": swap_with_anything,
    "online poker, 1999": planet_poker,
    "remainder of a byte": byte_remainder,
}
# Caught neither in a small list nor in a deck with less than hundreds of millions.
SUBTLE: dict[str, Way] = {
    "remainder of 16 bits": remainder(SIXTEEN_BITS),
    "remainder of 32 bits": remainder(WORDS),
}
Sort = Callable[[int, Source], list[int]]
SORTS: dict[str, Sort] = {
    "insertion sort by coin": insertion_sort,
    "merge sort by coin": merge_sort,
}
SORT_SIZES = (3, 4, 7)


@dataclass(frozen=True, slots=True)
class Draw:
    """Single draws by remainder: is the lower part of a range met too often?

    Attributes:
        words: how many values the raw number has.
        bound: what its remainder is below.
    """

    words: int
    bound: int

    @property
    def low(self) -> int:
        """How many values, the lowest, are met once more than the others."""
        return self.words % self.bound

    @property
    def fair(self) -> Fraction:
        """Their share if all values were equally likely."""
        return Fraction(self.low, self.bound)

    @property
    def share(self) -> Fraction:
        """The share that they get."""
        return Fraction((self.words // self.bound + 1) * self.low, self.words)

    @property
    def noncentrality(self) -> Fraction:
        """What a draw adds to chi-square of this share."""
        return (self.share - self.fair) ** 2 / (self.fair * (1 - self.fair))


DRAWS: dict[str, Draw] = {
    "1 of 100 by a byte": Draw(BYTE, 100),
    "1 of 40,000 by 16 bits": Draw(SIXTEEN_BITS, 40_000),
}


Judge = Callable[[Words, int], Finding]


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the table.

    Attributes:
        way: its name, which with `size` also names its stream of numbers.
        size: items, or the bound of a single draw.
        cells: how many outcomes are counted.
        least: the least number of samples, for a bad way as computed.
        samples: how many are judged.
        judge: takes numbers and how many samples, returns the finding.
    """

    way: str
    size: int
    cells: int
    least: int
    samples: int
    judge: Judge

    @property
    def label(self) -> str:
        """Name of the stream; a row's figures depend on no other row."""
        return f"{self.way}, {self.size}"

    @property
    def runs(self) -> int:
        """How often the least number of samples is tried."""
        return max(MIN_RUNS, min(MAX_RUNS, RUN_SAMPLES // self.least))

    def caught_with_least(self, words: Words) -> int:
        """Return how many of the runs with the least number of samples catch the way."""
        return sum(self.judge(words, self.least).caught for _ in range(self.runs))


def _bad(way: str, size: int, cells: int, least: int, judged: Judge) -> Case:
    return Case(way, size, cells, least, max(MARGIN * least, MIN_A_CELL * cells), judged)


@lru_cache(maxsize=64)
def order_samples(way: Way, size: int) -> int:
    """Return how many orders of a way that swaps are needed."""
    per_sample = order_noncentrality(size, chances(size, way(size)))
    return samples_needed(factorial(size) - 1, float(per_sample), alpha=ALPHA)


@lru_cache(maxsize=64)
def place_samples(way: Way) -> int:
    """Return how many decks of a way that swaps are needed; above 2^53 to that precision."""
    per_deck = place_noncentrality(CARDS, way(CARDS))
    return samples_needed((CARDS - 1) ** 2, float(per_deck), alpha=ALPHA)


@lru_cache(maxsize=64)
def sort_samples(sort: Sort, size: int) -> int:
    """Return how many orders of a sort are needed."""
    per_sample = order_noncentrality(size, explore(partial(sort, size)))
    return samples_needed(factorial(size) - 1, float(per_sample), alpha=ALPHA)


def draw_samples(draw: Draw) -> int:
    """Return how many single draws are needed."""
    return samples_needed(1, float(draw.noncentrality), alpha=ALPHA)


def bad_cases(sizes: Sequence[int] = (*SIZES, CARDS)) -> Iterator[Case]:
    """Yield every bad way at each size."""
    for name, way in WAYS.items():
        for size in sizes:
            whole = size == CARDS
            least = place_samples(way) if whole else order_samples(way, size)
            cells = CARDS**2 if whole else factorial(size)
            yield _bad(name, size, cells, least, _of_steps(way, size))
    for name, sort in SORTS.items():
        for size in sorted({*SORT_SIZES} & {*sizes}):
            least = sort_samples(sort, size)
            yield _bad(name, size, factorial(size), least, _of_sort(sort, size))
    for name, draw in DRAWS.items():
        yield _bad(name, draw.bound, 2, draw_samples(draw), _of_remainder(draw))


def our_cases(sizes: Sequence[int] = (*SIZES, CARDS), *, times: int = 10) -> Iterator[Case]:
    """Yield ours with the largest number of samples that the least bad way of the size takes.

    Args:
        sizes: numbers of items.
        times: how many times as many decks of 52 come from the batch kernel.
    """
    for size in sizes:
        if size == CARDS:
            least, cells = place_samples(byte_remainder), CARDS**2
            for sampler in Sampler:
                judged = _of_shuffle(sampler, size)
                yield Case(f"ours, {sampler}", size, cells, least, MARGIN * least, judged)
            yield Case("ours, batch", size, cells, least, times * least, _of_batch(size))
        else:
            least, cells = order_samples(byte_remainder, size), factorial(size)
            yield Case("ours, batch", size, cells, least, least, _of_batch(size))
    for draw in DRAWS.values():
        least = draw_samples(draw)
        yield Case("ours, masked draw", draw.bound, 2, least, 10 * least, _of_masked(draw))


def judge(found: Orders) -> Finding:
    """Judge orders by all their orders if those are few, by places else."""
    return judge_places(found) if found.shape[1] == CARDS else judge_orders(found)


def _of_steps(way: Way, size: int) -> Judge:
    return lambda words, samples: judge(orders(size, way(size), words, samples))


def _of_sort(sort: Sort, size: int) -> Judge:
    return lambda words, samples: judge(
        np.array([sort(size, words) for _ in range(samples)], np.uint8)
    )


def _of_remainder(draw: Draw) -> Judge:
    def judged(words: Words, samples: int) -> Finding:
        drawn = words.below_many(draw.words, samples) % np.uint32(draw.bound)
        return judge_share(int((drawn < draw.low).sum()), samples, draw.fair)

    return judged


def _of_masked(draw: Draw) -> Judge:
    def judged(words: Words, samples: int) -> Finding:
        bits = Keystream(words.read(SEED_BYTES), b"lesson", 0)
        low = sum(masked_below(bits, draw.bound) < draw.low for _ in range(samples))
        return judge_share(low, samples, draw.fair)

    return judged


def _of_shuffle(sampler: Sampler, size: int) -> Judge:
    return lambda words, samples: judge(
        np.array(our_orders(words, size, samples, sampler), np.uint8)
    )


def _of_batch(size: int) -> Judge:
    return lambda words, samples: judge(batch_orders(words, size, samples))


def our_orders(
    words: Words, size: int, samples: int, sampler: Sampler = Sampler.MASKED
) -> list[list[int]]:
    """Return orders as the daemon draws them one by one, each from a seed of its own."""
    return [shuffle(size, (words.read(SEED_BYTES),), b"lesson", sampler) for _ in range(samples)]


def batch_orders(words: Words, size: int, samples: int) -> Orders:
    """Return orders as the daemon draws many at once, each from a seed of its own."""
    found = np.empty((samples, size), np.uint8)
    for start in range(0, samples, BATCH):
        count = min(BATCH, samples - start)
        seeds = [words.read(SEED_BYTES) for _ in range(count)]
        drawn = b"".join(shuffle_many(size, seeds, [b"lesson"] * count))
        # Four big-endian bytes an item, of which the last one counts.
        found[start : start + count] = np.frombuffer(drawn, np.uint8)[3::4].reshape(count, size)
    return found
