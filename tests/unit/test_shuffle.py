"""Orders: exhaustively fair for small decks, exactly as long as theory says for large ones."""

import hashlib
import json
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, permutations, product
from pathlib import Path

import pytest

from entropyd.draw.keystream import Keystream
from entropyd.draw.samplers import Sampler, masked_below
from entropyd.draw.segments import sample_bounds, shuffle_bounds, split, split_shuffle
from entropyd.draw.shuffle import choose, draw_values, permute, sample, shuffle
from entropyd.errors import InternalError
from tests.reference import naive
from tests.reference.bits import FiniteBits, OutOfBitsError

X = b"a binding"
BITS = json.loads(
    (Path(__file__).parents[1] / "vectors/shuffle/bits_per_shuffle.json").read_text("utf-8")
)


def seeds_of(label, count):
    return [hashlib.sha512(f"{label} {s}".encode()).digest() for s in range(count)]


def exact_counts(bounds, longest):
    """Return N with N[t] = how many strings of t bits are used up exactly by masked draws.

    The law of one draw is geometric: a string of w bits either ends it (k of
    2^w) or begins it again.
    """
    counts = [1] + [0] * longest
    for k in bounds:
        w = naive.b(k)
        after = [0] * (longest + 1)
        for t in range(w, longest + 1):
            after[t] = k * counts[t - w] + (2**w - k) * after[t - w]
        counts = after if w else counts
    return counts


# --- Exhaustion --------------------------------------------------------------


@pytest.mark.parametrize(("size", "longest"), [(2, 12), (3, 14), (4, 16), (5, 16)])
def test_every_order_is_met_equally_often_over_all_bit_strings(size, longest):
    """Kills a swap below i: at each bit length every order as often, the unfinished as rare."""
    by_length: dict[int, Counter[tuple[int, ...]]] = {}
    unfinished = 0
    for bits in map("".join, product("01", repeat=longest)):
        source = FiniteBits(bits)
        try:
            order = permute(size, (masked_below(source, k) for k in shuffle_bounds(size)))
        except OutOfBitsError:
            unfinished += 1
        else:
            by_length.setdefault(source.taken, Counter())[tuple(order)] += 1
    expected = exact_counts(shuffle_bounds(size), longest)
    assert {t for t, count in enumerate(expected) if count} == set(by_length)
    for taken, counts in by_length.items():
        assert set(permutations(range(size))) == set(counts)
        assert len(set(counts.values())) == 1
        assert expected[taken] * 2 ** (longest - taken) == counts.total()
    share = 1 - sum(Fraction(count, 2**t) for t, count in enumerate(expected))
    assert share == Fraction(unfinished, 2**longest)


@pytest.mark.parametrize(("size", "count"), [(4, 1), (4, 2), (4, 3), (5, 2), (3, 3)])
def test_every_sample_is_met_equally_often_over_all_bit_strings(size, count):
    """The first steps of a shuffle give every ordered choice as often, at each bit length."""
    by_length: dict[int, Counter[tuple[int, ...]]] = {}
    for bits in map("".join, product("01", repeat=12)):
        source = FiniteBits(bits)
        values = (masked_below(source, k) for k in sample_bounds(size, count))
        try:
            chosen = choose(size, count, values)
        except OutOfBitsError:
            continue
        by_length.setdefault(source.taken, Counter())[tuple(chosen)] += 1
    for counts in by_length.values():
        assert set(permutations(range(size), count)) == set(counts)
        assert len(set(counts.values())) == 1


# --- Against the naive reference ---------------------------------------------


@pytest.mark.parametrize("sampler", list(Sampler))
@pytest.mark.parametrize("size", [1, 2, 3, 4, 36, 52, 54, 104, 312, 432])
def test_shuffles_equal_the_naive_reference(size, sampler):
    """Every deck size, both samplers, seeds of every segment."""
    seeds = seeds_of(f"{size} {sampler}", len(split_shuffle(size)))
    order = shuffle(size, seeds, X, sampler)
    assert naive.shuffle(size, seeds, X, sampler.value) == order
    assert list(range(size)) == sorted(order)


@pytest.mark.parametrize("sampler", list(Sampler))
@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 1), (2, 2), (49, 6), (100, 40), (52, 52)])
def test_samples_equal_the_naive_reference(size, count, sampler):
    """One item, some items, all items, over one segment and two."""
    seeds = seeds_of(f"{size} {count}", len(split(sample_bounds(size, count))))
    chosen = sample(size, count, seeds, X, sampler)
    assert naive.sample(size, count, seeds, X, sampler.value) == chosen
    assert count == len(set(chosen))


def test_every_segment_starts_its_own_stream_at_the_first_bit():
    """Kills a stream that is not restarted at a segment: each segment can be drawn alone."""
    seeds = seeds_of("segments", 10)
    drawn = iter(list(draw_values(split_shuffle(312), seeds, X, Sampler.MASKED)))
    for number, bounds in enumerate(split_shuffle(312)):
        bits = naive.Bits(seeds[number], X, number)
        for k in bounds:
            assert naive.masked(bits, k) == next(drawn)
    assert list(drawn) == []


def test_changing_the_seed_of_a_segment_changes_its_draws_only():
    """Nothing of a segment's seed or stream reaches another segment."""
    seeds, bounds = seeds_of("alone", 3), [6] * 200
    first = list(draw_values(split(bounds), seeds, X, Sampler.MASKED))
    second = list(draw_values(split(bounds), [seeds[0], bytes(64), seeds[2]], X, Sampler.MASKED))
    ends = [0, 83, 166, 200]
    same = [first[a:b] == second[a:b] for a, b in pairwise(ends)]
    assert same == [True, False, True]


def test_a_sample_of_very_many_is_that_of_the_whole_list():
    """A table of the places written stands for the list, also where steps meet the same places."""
    draws = [0, 0, 1, 5, 0, 3, 2, 0, 0, 0]
    for count in range(1, 11):
        order = list(range(10))
        for place, chosen in zip(range(9, 9 - count, -1), draws, strict=False):
            order[place], order[chosen] = order[chosen], order[place]
        assert choose(10, count, draws[:count]) == order[10 - count :][::-1]


def test_a_sample_of_2_to_the_32_items_makes_no_list_of_them():
    """The items are those of the steps: the last place, then what moved, then itself."""
    last = 2**32 - 1
    assert choose(2**32, 4, [7, 7, last - 2, 0]) == [7, last, last - 2, 0]


# --- What is refused ---------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "given"), [(52, 0), (52, 2), (54, 1), (312, 9), (312, 11), (1, 0)]
)
def test_another_number_of_seeds_is_refused(size, given):
    """A missing seed must not be made up for by an earlier one; a spare one means other bounds."""
    with pytest.raises(InternalError, match="one a segment"):
        shuffle(size, seeds_of("count", given), X)


@pytest.mark.parametrize(("size", "count"), [(5, 0), (5, 6), (5, -1)])
def test_a_sample_of_none_or_too_many_is_refused(size, count):
    """Nothing is drawn."""
    with pytest.raises(InternalError, match="expected 1 to 5"):
        sample(size, count, seeds_of("sample", 1), X)


def test_a_shuffle_of_nothing_is_refused():
    """Zero items have no order."""
    with pytest.raises(InternalError, match="expected at least 1"):
        shuffle(0, seeds_of("none", 1), X)


# --- How many bits a shuffle takes -------------------------------------------


def mean(bounds):
    """Return the expected number of bits: each try of width w is kept with probability k / 2^w."""
    return sum(naive.b(k) * Fraction(2 ** naive.b(k), k) for k in bounds)


def variance(bounds):
    """Return the variance: tries are geometric with success probability p = k / 2^w."""
    total = Fraction(0)
    for k in bounds:
        p = Fraction(k, 2 ** naive.b(k))
        total += naive.b(k) ** 2 * (1 - p) / p**2
    return total


def cumulative(bounds, longest):
    """Return P(bits <= t) for t = 0..longest, exact."""
    total, shares = Fraction(0), []
    for t, count in enumerate(exact_counts(bounds, longest)):
        total += Fraction(count, 2**t)
        shares.append(total)
    return shares


def quantile(shares, name):
    """Return the smallest t with P(bits <= t) >= the quantile called `name`, such as 1-2^-128."""
    wanted = Fraction(0)
    for sign, part in zip((1, -1), name.split("-", 1), strict=False):
        base, _, exponent = part.partition("^")
        wanted += sign * (Fraction(base) ** int(exponent) if exponent else Fraction(base))
    return next(t for t, share in enumerate(shares) if share >= wanted)


def half_a_digit(text):
    """Return half a unit of the last digit that is printed."""
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return Fraction(10) ** exponent / 2


def test_the_exact_bit_counts_of_52_cards():
    """Minimum, mean, variance, tails and quantiles, by exact convolution."""
    table, bounds = BITS["masked_bits"], shuffle_bounds(52)
    shares = cumulative(bounds, 1300)
    assert table["min"] == next(t for t, share in enumerate(shares) if share) == 249
    assert Fraction(table["mean_exact_fraction"]) == mean(bounds)
    assert abs(Fraction(table["variance"]) - variance(bounds)) <= half_a_digit(table["variance"])
    assert table["quantiles_bits"] == {q: quantile(shares, q) for q in table["quantiles_bits"]}
    minimum = table["prob_min_exactly"]
    assert abs(Fraction(minimum) - shares[249]) <= half_a_digit(minimum)
    for bits, text in table["prob_bits_greater_than"].items():
        assert abs(Fraction(text) - (1 - shares[int(bits)])) <= half_a_digit(text), bits


def test_the_exact_bit_counts_of_samples_and_shoes():
    """Minimum, mean and 99 % quantile of partial shuffles; minimum and mean of larger decks."""
    for row in BITS["partial_shuffles_masked"].values():
        bounds = sample_bounds(52, row["draws"])
        assert row["min_bits"] == sum(naive.b(k) for k in bounds)
        assert math.isclose(row["mean_bits"], mean(bounds), rel_tol=1e-14)
        shares = cumulative(bounds, 600)
        assert row["p99_bits"] == quantile(shares, "0.99")
        assert row["p999999_bits"] == quantile(shares, "0.999999")
    for size, row in zip((54, 312, 416), BITS["other_deck_sizes_masked"].values(), strict=True):
        assert row["min_bits"] == sum(naive.b(k) for k in shuffle_bounds(size))
        assert math.isclose(row["mean_bits"], mean(shuffle_bounds(size)), rel_tol=1e-14)


class CountingKeystream(Keystream):
    """Counts the bits that a draw takes."""

    def __init__(self, seed, binding, segment):
        super().__init__(seed, binding, segment)
        self.taken = 0

    def take(self, count):
        self.taken += count
        return super().take(count)


def test_production_takes_as_many_bits_as_theory_says():
    """Over 10,000 fixed seeds the mean is within 6.11 standard errors of 355.908.

    For seeds picked blindly a correct shuffle would miss that with a
    probability of 1e-9 (normal tails); these seeds are fixed, so it cannot flake.
    """
    bounds, total, runs = shuffle_bounds(52), 0, 10_000
    for run in range(runs):
        stream = CountingKeystream(hashlib.sha512(run.to_bytes(4, "big")).digest(), X, 0)
        permute(52, (masked_below(stream, k) for k in bounds))
        total += stream.taken
    error = math.sqrt(variance(bounds) / runs)
    assert abs(total / runs - float(mean(bounds))) <= 6.11 * error
