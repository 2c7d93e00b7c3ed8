"""The attack of 1999: five cards give the whole deck away, and nothing of ours."""

import pytest

from bench.lesson.cases import CARDS, our_orders
from bench.lesson.poker1999 import CLOCK_SEEDS, Generator, deck, search, seen
from bench.lesson.row import DAY, SEAT, SEED, WINDOW, attack
from bench.lesson.words import fixed


def test_the_generator_is_the_one_that_is_assumed():
    """S := 134775813 s + 1 modulo 2^32 with a range of 2^32 shows s itself."""
    generator = Generator(0)
    states = [generator.below(1 << 32) for _ in range(3)]
    assert [1, 134775814, (134775814 * 134775813 + 1) % (1 << 32)] == states


def test_the_deck_is_shuffled_as_published():
    """Written again from the article: places and cards from 1, random(51)+1, each place once."""
    for seed in (0, 1, SEED, CLOCK_SEEDS - 1):
        generator, cards = Generator(seed), list(range(53))
        for place in range(1, 53):
            other = generator.below(51) + 1
            cards[place], cards[other] = cards[other], cards[place]
        assert [card - 1 for card in cards[1:]] == deck(seed)


def test_the_last_card_is_never_last():
    assert 51 not in {deck(seed)[51] for seed in range(3000)}


@pytest.mark.parametrize("place", range(0, CARDS, 3))
def test_a_card_traced_back_is_the_card_that_was_dealt(place):
    """The search for one card finds the seeds whose decks have it there, and no others."""
    seeds = range(1000, 1400)
    expected = [seed for seed in seeds if deck(seed)[place] == 17]
    assert expected == search({place: 17}, seeds)


def test_a_player_sees_two_cards_of_his_own_and_the_flop():
    """Nine seats: places 0 to 8 and 9 to 17 are dealt, 18 is burnt, 19 to 21 are the flop."""
    cards = list(range(100, 152))
    assert {3: 103, 12: 112, 19: 119, 20: 120, 21: 121} == seen(cards, 3)
    assert {1: 101, 3: 103, 5: 105, 6: 106, 7: 107} == seen(cards, 1, seats=2)


@pytest.mark.parametrize("seed", [0, 99_999, SEED, CLOCK_SEEDS - 1], ids=str)
def test_five_cards_and_the_clock_give_the_whole_deck(seed):
    """200,000 seeds; a second one would fit by chance once in 1,500 hands."""
    start = max(0, min(seed - 100_000, CLOCK_SEEDS - 200_000))
    assert [seed] == search(seen(deck(seed), SEAT), range(start, start + 200_000))


@pytest.mark.timeout(900)
def test_without_the_clock_a_whole_day_is_searched_and_the_deck_is_found():
    """All 86,400,000 seeds."""
    assert [SEED] == search(seen(deck(SEED), SEAT), DAY)


@pytest.mark.timeout(900)
def test_a_deck_of_ours_has_no_seed_of_the_clock():
    """All 86,400,000 seeds fit no five cards of it; that one does by chance is 0.28 a deck."""
    [cards] = our_orders(fixed("decks under attack"), CARDS, 1)
    assert [] == search(seen(cards, SEAT), DAY)


def test_a_seed_that_fits_a_deck_of_ours_foresees_nothing():
    """Three known cards fit hundreds of seeds; none of those gives the deck, nor ten more cards."""
    for cards in our_orders(fixed("ours"), CARDS, 5):
        known = dict(list(seen(cards, SEAT).items())[:3])
        fit = search(known, range(4_000_000))
        right = [sum(a == b for a, b in zip(deck(seed), cards, strict=True)) for seed in fit]
        assert len(fit) > 5
        assert max(right) < 13


def test_the_row_tells_what_was_found():
    [line], _ = attack(fixed, quick=True)
    assert (len(WINDOW), 1, 1, 1) == (
        line["seeds"],
        line["fit 5 cards"],
        line["fit the turn"],
        line["give the deck"],
    )
