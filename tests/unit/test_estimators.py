"""Collision, Markov and t-tuple estimates equal NIST's tool on every sample file kept here."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.bitstring import Bitstring
from entropyd.entropy.estimators import (
    bit_tuple_estimate,
    collision_estimate,
    collision_of_counts,
    confident_min_entropy,
    markov_estimate,
    markov_of_pairs,
    sequence_estimate,
    symbol_tuple_estimate,
)
from tests.fakes.noise import noise
from tests.unit.test_assessment import EXPECTED, KEPT, NIST_TOLERANCE, samples_of

ON_BITS = {
    "Collision": collision_estimate,
    "Markov": markov_estimate,
    "t-Tuple": bit_tuple_estimate,
}


def near(figures):
    return pytest.approx(figures["min entropy"], abs=NIST_TOLERANCE)


def figures_on_bits(entry):
    """NIST's figures of the bit string: of a file of bits, they are the literal ones."""
    return entry["estimates"]["Literal" if entry["bits_per_symbol"] == 1 else "Bitstring"]


@pytest.mark.parametrize("estimator", sorted(ON_BITS))
@pytest.mark.parametrize("name", sorted(KEPT))
def test_estimates_of_bits_equal_those_of_the_nist_tool(name, estimator):
    entry = KEPT[name]
    bits = Bitstring.of(samples_of(entry), entry["bits_per_symbol"])
    assert near(figures_on_bits(entry)[estimator]) == ON_BITS[estimator](bits)


@pytest.mark.parametrize(
    "name", [name for name in sorted(KEPT) if "short" in name and "1" not in name]
)
def test_estimates_of_symbols_equal_those_of_the_nist_tool(name):
    """The standard applies collision and Markov estimates to bits only."""
    entry = KEPT[name]
    literal = entry["estimates"]["Literal"]["t-Tuple"]
    assert near(literal) == symbol_tuple_estimate(samples_of(entry))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_collision_formula_equals_the_nist_tool_on_every_published_count(name):
    """Also for the files that are too large to keep: v and the sum of t_i in, min-entropy out."""
    figures = figures_on_bits(EXPECTED[name])["Collision"]
    threes = figures["Sum t_i"] - 2 * figures["v"]
    assert near(figures) == collision_of_counts(figures["v"] - threes, threes)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_confidence_interval_equals_the_nist_tool_on_every_published_tuple(name):
    entry = EXPECTED[name]
    for kind, estimates in entry["estimates"].items():
        figures = estimates["t-Tuple"]
        length = entry["samples"] * (entry["bits_per_symbol"] if kind == "Bitstring" else 1)
        assert near(figures) == confident_min_entropy(figures["p-hat_max"], length)


def plain_collisions(bits):
    """Steps 1 to 5 of 6.3.2, one bit at a time."""
    twos = threes = place = 0
    while place + 1 < len(bits):
        if bits[place] == bits[place + 1]:
            twos, place = twos + 1, place + 2
        elif place + 2 < len(bits):
            threes, place = threes + 1, place + 3
        else:
            break
    return twos, threes


def plain_tuples(symbols, size):
    """The counts of overlapping tuples, one at a time."""
    counts: dict[tuple[int, ...], int] = {}
    for place in range(len(symbols) - size + 1):
        found = tuple(symbols[place : place + size])
        counts[found] = counts.get(found, 0) + 1
    return counts


def plain_tuple_estimate(symbols):
    """Section 6.3.5 as it is written."""
    p, size = 0.0, 1
    while size <= len(symbols):
        most = max(plain_tuples(symbols, size).values())
        if most < 35:
            break
        p = max(p, (most / (len(symbols) - size + 1)) ** (1 / size))
        size += 1
    return confident_min_entropy(p, len(symbols)) if p else math.inf


# Strings with long repetitions, so that tuples of many sizes count.
strings = st.tuples(st.binary(min_size=5, max_size=60), st.binary(max_size=5)).map(
    lambda parts: parts[0] * 4 + parts[1]
)


@settings(max_examples=60, deadline=None)
@given(samples=strings, width=st.sampled_from([1, 3, 8]))
def test_counts_of_any_string_equal_plain_loops(samples, width):
    """Collisions, tuples of every size and the last bits, for any number of bits."""
    samples = bytes(sample & ((1 << width) - 1) for sample in samples)
    bits = Bitstring.of(samples, width)
    plain = [sample >> place & 1 for sample in samples for place in range(width - 1, -1, -1)]
    assert plain == bits.unpacked().tolist()
    assert plain_collisions(plain) == bits.collisions()
    for size in (1, 2, 7, 9, 16):
        counts = plain_tuples(plain, size)
        ours = bits.tuple_counts(size)
        assert {int("".join(map(str, key)), 2): n for key, n in counts.items()} == {
            int(value): int(ours[value]) for value in np.flatnonzero(ours)
        }
        assert int("".join(map(str, plain[-size:])), 2) == bits.last(min(size, len(plain)))


@settings(max_examples=25, deadline=None)
@given(samples=strings)
def test_tuple_estimates_of_any_string_equal_the_text_of_the_standard(samples):
    symbols = [sample & 3 for sample in samples] * 3
    expected = plain_tuple_estimate(symbols)
    assert pytest.approx(expected, abs=1e-12) == symbol_tuple_estimate(bytes(symbols))
    plain = [bit for symbol in symbols for bit in (symbol >> 1, symbol & 1)]
    ours = bit_tuple_estimate(Bitstring.of(bytes(symbols), 2))
    assert pytest.approx(plain_tuple_estimate(plain), abs=1e-12) == ours


@pytest.mark.parametrize("length", [8190, 8192, 100_003])
def test_collisions_across_the_parts_that_are_walked_side_by_side(length):
    """Longer than 1,024 parts, with a rest, in every phase."""
    bits = [sample & 1 for sample in noise(length, "collisions")]
    assert plain_collisions(bits) == Bitstring.of(bytes(bits), 1).collisions()


def test_a_string_without_change_never_falls_into_step():
    """All equal: walked from two states, the parts never meet, and still none is counted wrong."""
    assert (50_000, 0) == Bitstring.of(bytes(12_500), 8).collisions()
    assert 0.0 == collision_estimate(Bitstring.of(bytes(12_500), 8))


@pytest.mark.parametrize(
    ("samples", "expected"),
    [(b"\0" * 4096, 0.0), (b"\xff" * 4096, 0.0), (b"\x55" * 4096, 1 / 128)],
)
def test_markov_of_strings_without_entropy(samples, expected):
    """Constant: nothing. By turns: only the first bit of 128 is open, and it is all there is."""
    assert pytest.approx(expected, abs=1e-4) == markov_estimate(Bitstring.of(samples, 8))


def test_markov_counts_the_last_bit_among_the_shares():
    """It begins no pair, but it is one of the bits: 0 0 0 1 is a quarter ones."""
    expected = -(math.log2(3 / 4) + 127 * math.log2(2 / 3)) / 128
    assert pytest.approx(expected, abs=1e-12) == markov_of_pairs(np.array([2, 1, 0, 0]), 1)


def test_the_running_estimate_is_the_lowest_of_the_three():
    """At its limited cost; on noise the limit does not matter to collision and Markov."""
    samples = noise(65_536, "lowest")
    bits = Bitstring.of(samples, 8)
    limited = bit_tuple_estimate(bits, longest=17)
    of_a_bit = min(collision_estimate(bits), markov_estimate(bits), limited)
    expected = min(8 * of_a_bit, symbol_tuple_estimate(samples, longest=2))
    assert pytest.approx(expected, abs=1e-12) == sequence_estimate(samples, 8)
    assert bit_tuple_estimate(bits) <= limited


def test_a_limit_only_raises_an_estimate():
    """Of a string that comes again and again, longer tuples tell more."""
    bits = Bitstring.of(noise(20, "again") * 60, 8)
    estimates = [bit_tuple_estimate(bits, longest=size) for size in (4, 8, 12, 30, 100)]
    assert all(before > after for before, after in pairwise(estimates))


def test_too_few_samples_say_nothing():
    """34 of a value are too few for tuples; the other estimators still speak."""
    assert math.inf == symbol_tuple_estimate(bytes(range(40)) * 34)
    assert math.inf > sequence_estimate(bytes(range(40)) * 34, 8)
