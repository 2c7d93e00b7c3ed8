"""Both samplers, over all bit strings where that is possible."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from entropyd.draw import samplers
from entropyd.draw.samplers import MAX_REJECTIONS, Sampler, masked_below, word32_below
from entropyd.errors import InternalError
from tests.reference.bits import FiniteBits, OutOfBitsError, Values


def outcomes_by_length(below, bound, longest):
    """Return (length -> Counter of values that took exactly so many bits, unfinished count)."""
    by_length: dict[int, Counter[int]] = {}
    unfinished = 0
    for bits in map("".join, product("01", repeat=longest)):
        source = FiniteBits(bits)
        try:
            value = below(source, bound)
        except OutOfBitsError:
            unfinished += 1
        else:
            by_length.setdefault(source.taken, Counter())[value] += 1
    return by_length, unfinished


@pytest.mark.parametrize("bound", range(2, 17))
def test_masked_draw_is_uniform_over_all_bit_strings(bound):
    """At each bit length every value is met equally often, and the rest is (1 - k/2^b)^tries."""
    width = next(width for width in range(1, 5) if 2**width >= bound)
    tries = 12 // width
    by_length, unfinished = outcomes_by_length(masked_below, bound, width * tries)
    assert [width * count for count in range(1, tries + 1)][: len(by_length)] == sorted(by_length)
    for counts in by_length.values():
        assert list(range(bound)) == sorted(counts)
        assert len(set(counts.values())) == 1
    rejected = 1 - Fraction(bound, 2**width)
    assert rejected**tries == Fraction(unfinished, 2 ** (width * tries))


def test_masked_draw_below_one_takes_no_bits():
    """One outcome needs no decision."""
    source = Values()
    assert (masked_below(source, 1), source.widths) == (0, [])


@pytest.mark.parametrize("bound", [2, 3, 5, 12, 13, 33, 52, 2**31 + 1, 2**40 - 1])
def test_masked_draw_accepts_below_the_bound_and_rejects_the_bound_itself(bound):
    """Kills `v <= k`: v = k is thrown away whole, v = k - 1 is kept."""
    width = (bound - 1).bit_length()
    if bound < 2**width:
        source = Values(bound, bound - 1)
        assert (bound - 1, [width, width]) == (masked_below(source, bound), source.widths)
    source = Values(bound - 1, 0)
    assert (bound - 1, [width]) == (masked_below(source, bound), source.widths)


@pytest.mark.parametrize("word_bits", [3, 4, 5])
def test_word_rule_is_uniform_over_all_words(monkeypatch, word_bits):
    """The rule of word-32 at a width at which all pairs of words can be gone through."""
    monkeypatch.setattr(samplers, "WORD_BITS", word_bits)
    monkeypatch.setattr(samplers, "WORDS", 2**word_bits)
    for bound in range(1, 2**word_bits + 1):
        by_length, unfinished = outcomes_by_length(word32_below, bound, 2 * word_bits)
        for counts in by_length.values():
            assert list(range(bound)) == sorted(counts)
            assert len(set(counts.values())) == 1
        rejected = Fraction(2**word_bits % bound, 2**word_bits)
        assert rejected**2 == Fraction(unfinished, 2 ** (2 * word_bits))


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 37, 52, 2**16 + 1, 2**31, 2**31 + 1, 2**32 - 1])
def test_word_draw_accepts_below_the_last_whole_multiple(bound):
    """The largest multiple's last word is kept, and the word after it thrown away."""
    limit = 2**32 - 2**32 % bound
    source = Values(limit - 1)
    assert (bound - 1, [32]) == (word32_below(source, bound), source.widths)
    if limit < 2**32:
        source = Values(limit, 2**32 - 1, 0)
        assert (word32_below(source, bound), source.widths) == (0, [32, 32, 32])


def test_word_draw_takes_a_word_also_below_one():
    """Published schemes take it, so leaving it out would shift every later draw."""
    source = Values(0xFFFFFFFF)
    assert (word32_below(source, 1), source.widths) == (0, [32])


def test_word_draw_below_two_to_the_32_is_the_word():
    """The widest bound accepts every word unchanged."""
    assert word32_below(Values(0xFFFFFFFF), 2**32) == 0xFFFFFFFF


@pytest.mark.parametrize(
    ("below", "bound", "rejected"),
    [(masked_below, 5, 7), (word32_below, 2**31 + 1, 2**32 - 1)],
)
def test_the_128th_rejection_voids_the_draw(below, bound, rejected):
    """127 rejections are borne; one more and nothing may be dealt from these bits."""
    assert below(Values(*[rejected] * (MAX_REJECTIONS - 1), 4), bound) == 4
    source = Values(*[rejected] * MAX_REJECTIONS, 4)
    with pytest.raises(InternalError, match="128 tries of one draw"):
        below(source, bound)
    assert len(source.widths) == 128


@pytest.mark.parametrize(
    ("below", "bound"),
    [(masked_below, 0), (masked_below, -1), (word32_below, 0), (word32_below, 2**32 + 1)],
)
def test_a_bound_outside_its_range_takes_nothing(below, bound):
    """A wrong bound is a defect; it must not end in a loop, a division by zero or a bias."""
    source = Values()
    with pytest.raises(InternalError, match="draw below"):
        below(source, bound)
    assert source.widths == []


def test_the_rules_name_both_samplers():
    """Every name of the rules has a sampler behind it."""
    assert {Sampler.MASKED: masked_below, Sampler.WORD32: word32_below} == samplers.SAMPLERS
