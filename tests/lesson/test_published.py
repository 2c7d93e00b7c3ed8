"""Bad shuffles counted exactly, and how many samples show them, against published figures."""

import json
from fractions import Fraction
from functools import partial
from itertools import permutations
from math import factorial
from pathlib import Path

import pytest

from bench.lesson.cases import CARDS, order_samples, place_samples
from bench.lesson.chi_square import critical, samples_needed
from bench.lesson.exact import (
    chances,
    explore,
    order_counts,
    order_noncentrality,
    paths,
    place_counts,
    place_noncentrality,
)
from bench.lesson.ways import (
    byte_remainder,
    fisher_yates,
    insertion_sort,
    merge_sort,
    order,
    planet_poker,
    remainder,
    sattolo,
    swap_with_anything,
)

VECTORS = Path(__file__).parents[1] / "vectors/shuffle"
SMALL = json.loads((VECTORS / "bad_shuffles_small_n.json").read_text("utf-8"))["algorithms"]
DECK = json.loads((VECTORS / "card_position_test_n52.json").read_text("utf-8"))
WAYS = {
    "fisher_yates": fisher_yates,
    "naive_swap_any": swap_with_anything,
    "asf_planetpoker": planet_poker,
    "sattolo": sattolo,
    "fisher_yates_byte_modulo": byte_remainder,
    "fisher_yates_4bit_modulo": remainder(1 << 4),
    "fisher_yates_16bit_modulo": remainder(1 << 16),
    "fisher_yates_32bit_modulo": remainder(1 << 32),
}
LISTED = [(name, int(size)) for name in SMALL for size in SMALL[name]["by_n"]]


def test_every_published_way_and_size_is_here():
    assert {*SMALL} | {*DECK["algorithms"]} == {*WAYS}
    assert 32 == len(LISTED)


@pytest.mark.parametrize(("name", "size"), LISTED)
def test_exact_counts_are_the_published_ones(name, size):
    """Paths, orders reached, extremes, distance from fair, and every single count for n to 5."""
    way, published = WAYS[name], SMALL[name]["by_n"][str(size)]
    counts = order_counts(size, way(size))
    total = paths(way(size))
    least = min(counts.values()) if len(counts) == factorial(size) else 0
    assert published["total_paths"] == total == sum(counts.values())
    assert published["permutations_reached"] == len(counts)
    assert (published["max_count"], published["min_count"]) == (max(counts.values()), least)
    fair = Fraction(1, factorial(size))
    shares = [Fraction(counts[items], total) for items in permutations(range(size))]
    distance = sum(abs(share - fair) for share in shares) / 2
    assert Fraction(published["total_variation_exact"]) == distance
    if "all_counts" in published:
        named = {"".join(map(str, items)): count for items, count in counts.items()}
        assert {k: v for k, v in published["all_counts"].items() if v} == named


@pytest.mark.parametrize(("name", "size"), LISTED)
def test_numbers_of_samples_are_the_published_ones(name, size):
    way, published = WAYS[name], SMALL[name]["by_n"][str(size)]
    per_sample = float(order_noncentrality(size, chances(size, way(size))))
    assert published["chi2_noncentrality_per_sample"] == pytest.approx(per_sample, rel=1e-12)
    if published["samples_for_power_0.999_at_alpha_1e-6"] is None:
        assert 0 == per_sample
        return
    assert published["samples_for_power_0.999_at_alpha_1e-6"] == order_samples(way, size)
    at_1e3 = samples_needed(factorial(size) - 1, per_sample, alpha=1e-3)
    assert published["samples_for_power_0.999_at_alpha_1e-3"] == at_1e3


@pytest.mark.parametrize("name", DECK["algorithms"])
def test_places_of_a_deck_are_the_published_ones(name):
    """How likely each of the listed cards is at each of the listed places."""
    published = DECK["algorithms"][name]["P_times_52_selected"]
    steps = WAYS[name](CARDS)
    counts, total = place_counts(CARDS, steps), paths(steps)
    for card in (1, 26, CARDS):
        for place, ratio in zip(published["positions"], published[f"card{card}"], strict=True):
            exact = float(Fraction(CARDS * counts[card - 1][place - 1], total))
            assert ratio == pytest.approx(exact, abs=5.1e-6)


@pytest.mark.parametrize("name", [name for name in DECK["algorithms"] if name != "fisher_yates"])
def test_numbers_of_decks_are_the_published_ones(name):
    """Those of 32 bits were published from doubles: the exact bias differs in the eighth digit."""
    published = DECK["algorithms"][name]
    close = 1e-7 if "32bit" in name else 1e-12
    exact = float(place_noncentrality(CARDS, WAYS[name](CARDS)))
    assert published["noncentrality_per_deck"] == pytest.approx(exact, rel=close)
    decks = place_samples(WAYS[name])
    rel = close if "32bit" in name else 0
    assert published["decks_for_power_0.999_at_alpha_1e-6"] == pytest.approx(decks, rel=rel, abs=0)


def test_fisher_yates_has_no_bias_at_all():
    """Exactly: places of a deck of 52, and orders of seven."""
    assert 0 == place_noncentrality(CARDS, fisher_yates(CARDS))
    assert {1} == set(order_counts(7, fisher_yates(7)).values())


@pytest.mark.parametrize(("alpha", "value"), DECK["critical_values"].items())
def test_critical_values_are_the_published_ones(alpha, value):
    assert value == pytest.approx(critical(float(alpha), DECK["df"]), rel=1e-10)


@pytest.mark.parametrize(("name", "size"), [case for case in LISTED if case[1] <= 4])
def test_running_the_way_on_all_numbers_gives_the_same_counts(name, size):
    """The second method: the code that shuffles a list, on every path, not a sum over orders."""
    steps = WAYS[name](size)
    if paths(steps) > 100_000:
        steps = remainder(1 << 4)(size)
    assert chances(size, steps) == explore(partial(order, size, steps))


def test_sorts_by_coin_have_the_counted_probabilities():
    """Insertion sort: ABC and BAC 1/4 each. Both: sixths cannot be made of coins."""
    quarter, eighth = Fraction(1, 4), Fraction(1, 8)
    insertion = explore(partial(insertion_sort, 3))
    assert {(0, 1, 2), (1, 0, 2)} == {items for items, p in insertion.items() if p == quarter}
    merge = explore(partial(merge_sort, 3))
    assert {(0, 1, 2), (0, 2, 1)} == {items for items, p in merge.items() if p == quarter}
    for shares in (insertion, merge):
        assert [eighth] * 4 + [quarter] * 2 == sorted(shares.values())
