"""Where segments end, and that 249 is the number."""

import pytest

from entropyd.draw.segments import (
    SEGMENT_BITS,
    counted_bits,
    sample_bounds,
    shuffle_bounds,
    split,
    split_shuffle,
)
from entropyd.errors import InternalError
from tests.reference import naive


def test_a_segment_holds_exactly_one_52_card_deck():
    """249 is the sum of ceil(log2 k) for k = 2..52, recomputed."""
    assert sum(naive.b(k) for k in range(2, 53)) == SEGMENT_BITS
    assert ((*range(52, 1, -1),),) == split_shuffle(52)


@pytest.mark.parametrize("bound", [*range(1, 70), 2**31, 2**31 + 1, 2**32, 2**32 + 1, 2**249])
def test_counted_bits_are_the_logarithm_rounded_up(bound):
    """b(k) is the least exponent whose power of two reaches k."""
    assert naive.b(bound) == counted_bits(bound)


@pytest.mark.parametrize("coins", [1, 248, 249, 250, 255, 256, 257, 498, 499])
def test_segments_end_at_249_bits_and_not_at_256(coins):
    """Kills 256 for 249: the 250th one-bit draw has a seed of its own."""
    expected = [249] * (coins // 249) + [coins % 249] * (coins % 249 > 0)
    assert expected == [len(segment) for segment in split([2] * coins)]


def test_every_deck_size_is_cut_as_the_reference_cuts_it():
    """Production and naive reference agree on the segments of every shoe that can be asked for."""
    for size in range(1, 433):
        expected = naive.segments_of(naive.shuffle_bounds(size))
        assert expected == [list(segment) for segment in split_shuffle(size)], size


def test_known_decks_need_so_many_seeds():
    """54 cards need a second seed; a six-deck shoe of 2297 bits ten, one of eight decks 14."""
    sizes = {1: 1, 2: 1, 36: 1, 52: 1, 53: 2, 54: 2, 104: 3, 312: 10, 416: 14, 432: 14}
    assert sizes == {size: len(split_shuffle(size)) for size in sizes}
    assert sum(counted_bits(bound) for bound in shuffle_bounds(312)) == 2297
    assert sum(counted_bits(bound) for bound in shuffle_bounds(54)) == 261


@pytest.mark.parametrize("bounds", [[], [1], [1, 1, 1]])
def test_a_list_that_counts_no_bits_has_one_segment(bounds):
    """Such a draw spends a seed like any other."""
    assert (tuple(bounds),) == split(bounds)


def test_a_bound_of_1_stays_in_a_full_segment():
    """It brings the sum not above 249."""
    assert split([2] * 249 + [1, 2, 1]) == ((2,) * 249 + (1,), (2, 1))


def test_a_bound_too_wide_for_what_is_left_begins_the_next_segment():
    """244 bits and 6 more would be 250; 4 more, after that, no longer go back."""
    assert split([2] * 244 + [64, 16]) == ((2,) * 244, (64, 16))
    assert split([2**249, 2]) == ((2**249,), (2,))


@pytest.mark.parametrize("bound", [0, -1, -(2**300), 2**249 + 1])
def test_a_bound_that_no_segment_can_hold_is_a_defect(bound):
    """Below 1 nothing can be drawn, above 2^249 one seed must not decide."""
    with pytest.raises(InternalError, match="expected 1 to"):
        split([2, bound])


def test_bounds_of_samples():
    """A sample of m of n has the first m bounds of the shuffle, and bound 1 if all are taken."""
    assert list(sample_bounds(52, 5)) == [52, 51, 50, 49, 48]
    assert list(sample_bounds(3, 3)) == [3, 2, 1]
    assert list(sample_bounds(1, 1)) == [1]
    assert list(shuffle_bounds(1)) == []
