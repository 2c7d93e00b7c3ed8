"""Who lacks one honest seat's sealed value cannot aim the cut; who lacks nothing can.

The honest values are made from labels, as if they were random; whoever attacks gets everything
else. Where an attack could aim, the place of one card would not be uniform.
"""

from collections.abc import Callable
from itertools import count

import pytest

from entropyd.draw.cards import Deck
from entropyd.draw.samplers import Sampler
from entropyd.hands.cut import cut
from entropyd.hands.rules import Contributions
from entropyd.hands.seats import Seat
from tests.adversary.chances import SHARE, uniformity
from tests.fakes.opened_hands import made, opened
from tests.reference import naive

HONEST, OTHER = "seat-1", "seat-2"
SEATS = (Seat(HONEST), Seat(OTHER))
# What an attacker tries before it takes the last.
TRIES = 12
# Ten expected in each cell.
IN_A_CELL = 10


def at_first_place(open_hash, size, leaves, wanted):
    """Return whether the cut brings this leaf to the first place, as an attacker would find out."""
    return cut(open_hash, size, leaves, Sampler.MASKED)[0] == wanted


def honest_leaf(open_hash, number):
    """The honest seat's, made when it holds the open receipt."""
    value = made(f"honest {number} {open_hash.hex()}", 32)
    return naive.contribution_leaf(open_hash, HONEST, value)


def own_leaf(open_hash, value):
    return naive.contribution_leaf(open_hash, OTHER, value)


def place_of(leaf, open_hash, size, leaves):
    """Where a leaf comes to lie, by the reference and not by the code that attackers ran."""
    return naive.cut_permutation(open_hash, size, leaves, "masked").index(leaf)


# --- one honest seat, sealed ---------------------------------------------------------

# (O, n, wanted leaf of the deck, leaf hash of the honest seat) -> the attacker's value
Strategy = Callable[[bytes, int, int, bytes], bytes]


def always_the_same(open_hash, size, wanted, sealed):
    return made("always", 32)


def an_echo(open_hash, size, wanted, sealed):
    """What the honest seat sealed, said again."""
    return sealed


def aimed(guess) -> Strategy:
    """Guess the honest value, and choose the own one so that with it the card would come first."""

    def choose(open_hash, size, wanted, sealed):
        theirs = naive.contribution_leaf(open_hash, HONEST, guess(open_hash, sealed))
        tries = [made(f"own {attempt} {sealed.hex()}", 32) for attempt in range(TRIES)]
        for value in tries:
            if at_first_place(open_hash, size, [theirs, own_leaf(open_hash, value)], wanted):
                return value
        return tries[-1]

    return choose


STRATEGIES = {
    "the same each time": always_the_same,
    "an echo": an_echo,
    "aimed, if the value is its leaf hash": aimed(lambda open_hash, sealed: sealed),
    "aimed, if the value is nothing": aimed(lambda open_hash, sealed: bytes(32)),
    "aimed, if the value follows from O": aimed(lambda open_hash, sealed: naive.sha256(open_hash)),
}


@pytest.mark.parametrize("choose", STRATEGIES.values(), ids=STRATEGIES)
def test_whoever_sees_what_is_sealed_and_speaks_last_cannot_aim(choose):
    """It knows the deck and chooses after it saw the honest leaf hash: any card lies anywhere."""
    hand, deck = opened(Contributions.SEALED, seats=SEATS)
    open_hash, wanted = deck.at_sequence(1), deck.items.index(51)
    places = []
    for number in range(52 * IN_A_CELL):
        theirs = honest_leaf(open_hash, number)
        value = choose(open_hash, 52, wanted, naive.leaf_hash(theirs))
        places.append(place_of(wanted, open_hash, 52, [theirs, own_leaf(open_hash, value)]))
    assert hand.opened.open_hash == open_hash
    assert uniformity(places, 52) > SHARE


def test_the_same_attack_aims_once_it_is_told_the_honest_value():
    """So that the test above can fail: twelve tries of one in 52 are a fifth of all hands."""
    _, deck = opened(Contributions.SEALED, seats=SEATS)
    open_hash, wanted = deck.at_sequence(1), deck.items.index(51)
    places = []
    for number in range(52 * IN_A_CELL):
        theirs = honest_leaf(open_hash, number)
        told = aimed(lambda open_hash, sealed, leaf=theirs: leaf[-32:])
        value = told(open_hash, 52, wanted, naive.leaf_hash(theirs))
        places.append(place_of(wanted, open_hash, 52, [theirs, own_leaf(open_hash, value)]))
    assert uniformity(places, 52) < SHARE


def test_no_order_of_a_small_deck_is_more_likely():
    """The whole permutation of four cards, against the strategy that aims."""
    _, deck = opened(Contributions.SEALED, seats=SEATS, deck=Deck(removed=tuple(range(4, 52))))
    open_hash, choose = deck.at_sequence(1), STRATEGIES["aimed, if the value is its leaf hash"]
    orders: dict[tuple[int, ...], int] = {}
    seen = []
    for number in range(24 * IN_A_CELL):
        theirs = honest_leaf(open_hash, number)
        own = own_leaf(open_hash, choose(open_hash, 4, 0, naive.leaf_hash(theirs)))
        order = tuple(naive.cut_permutation(open_hash, 4, [theirs, own], "masked"))
        seen.append(orders.setdefault(order, len(orders)))
    assert len(orders) == 24
    assert uniformity(seen, 24) > SHARE


# --- open: the last one to speak ----------------------------------------------------------


def last_word(open_hash, size, theirs, wanted):
    """Return a value with which this leaf comes first, chosen after the others were heard."""
    for attempt in count():
        leaf = own_leaf(open_hash, made(f"last word {attempt}", 32))
        if at_first_place(open_hash, size, [theirs, leaf], wanted):
            return leaf
    raise AssertionError


def test_under_open_the_last_one_to_speak_who_knows_the_deck_chooses():
    """The contrast: with the honest value heard, the card that it wants comes first, always."""
    _, deck = opened(Contributions.OPEN, seats=SEATS, deck=Deck(removed=tuple(range(12, 52))))
    open_hash, wanted = deck.at_sequence(1), deck.items.index(11)
    places = []
    for number in range(12 * IN_A_CELL):
        theirs = honest_leaf(open_hash, number)
        own = last_word(open_hash, 12, theirs, wanted)
        places.append(place_of(wanted, open_hash, 12, [theirs, own]))
    assert set(places) == {0}
    assert uniformity(places, 12) < SHARE


def test_under_open_who_does_not_know_the_deck_chooses_a_leaf_and_no_card():
    """It brings leaf 0 to the first place, in every hand; what lies there is any card."""
    cards = []
    for number in range(12 * IN_A_CELL):
        small = Deck(removed=tuple(range(12, 52)))
        _, deck = opened(Contributions.OPEN, seats=SEATS, deck=small, hand=f"hand-{number}")
        open_hash = deck.at_sequence(1)
        theirs = honest_leaf(open_hash, number)
        leaves = [theirs, last_word(open_hash, 12, theirs, 0)]
        assert place_of(0, open_hash, 12, leaves) == 0
        cards.append(deck.items[0])
    assert uniformity(cards, 12) > SHARE


# --- an operator who draws again before it opens -----------------------------------------------


def ground(number, mode, suits):
    """Return a deck of twelve that the operator drew again and again until it liked it."""
    for attempt in count():
        _, deck = opened(
            mode,
            seats=() if mode is Contributions.NONE else SEATS[:1],
            deck=Deck(removed=tuple(range(12, 52))),
            hand=f"hand-{number}-{attempt}",
        )
        if suits(deck):
            return deck
    raise AssertionError


def has_it_on_top(deck):
    return deck.items[0] == 11


def would_have_it_on_top(deck):
    """If the honest seat's value were nothing."""
    open_hash = deck.at_sequence(1)
    leaf = naive.contribution_leaf(open_hash, HONEST, bytes(32))
    return at_first_place(open_hash, 12, [leaf], deck.items.index(11))


def test_without_contributions_who_draws_again_chooses():
    """The contrast: the card lies on top in every hand, and every hand is proved."""
    decks = [ground(number, Contributions.NONE, has_it_on_top) for number in range(60)]
    assert {deck.items.index(11) for deck in decks} == {0}
    assert uniformity([0] * 60, 12) < SHARE


@pytest.mark.parametrize("suits", [has_it_on_top, would_have_it_on_top])
def test_one_honest_sealed_seat_undoes_every_choice_of_a_deck(suits):
    """However the deck was chosen, the card lies anywhere once it is cut."""
    places = []
    for number in range(12 * IN_A_CELL):
        deck = ground(number, Contributions.SEALED, suits)
        assert suits(deck)
        open_hash = deck.at_sequence(1)
        theirs = honest_leaf(open_hash, number)
        places.append(place_of(deck.items.index(11), open_hash, 12, [theirs]))
    assert uniformity(places, 12) > SHARE
