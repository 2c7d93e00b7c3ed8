"""Nothing published tells a card that was not shown; without one part of it the same attacks do.

An attack either reads a card or has only a coin to go by, so that a leak that it looks for would
show in nearly every hand.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from entropyd.hands.commitment import card_leaves, card_salts
from entropyd.hands.rules import Contributions
from entropyd.hands.seats import Seat
from entropyd.log.receipt import Receipt
from entropyd.log.signed_note import SignedNote
from tests.adversary import guessers
from tests.adversary.chances import SHARE, as_many
from tests.adversary.guessers import Guesser
from tests.adversary.public import (
    SEATS,
    TIME_MS,
    one_salt_a_pair,
    play,
    under_a_known_key,
    without_salt,
)
from tests.fakes.hand_dealer import HandDealer
from tests.fakes.opened_hands import made
from tests.reference import naive

HANDS = 100
NO_SALT = {"leaves_of": without_salt}
KNOWN_KEY = {"leaves_of": under_a_known_key}
ONE_SALT_FOR_TWO = {"leaves_of": one_salt_a_pair}
FROM_THE_CLOCK = {"seed": naive.sha512(naive.u64(TIME_MS - 42))}
POOR_SEED: dict[str, Any] = {"seed": naive.sha512(b"")}
POOR_SEED_AND_R = {**POOR_SEED, "blinding": bytes(32)}
NOT_SHUFFLED = {"in_order": True}


def only(*leaves: int) -> Callable[[int], bool]:
    return lambda leaf: leaf in leaves


@dataclass(frozen=True)
class Attack:
    """A guesser on its ground.

    Attributes:
        guess: the guesser.
        size: of the deck.
        target: the leaf that it goes for.
        show: which leaves are shown.
        hand: how the hand is made where that is not as always.
    """

    guess: Guesser
    size: int
    target: int
    show: Callable[[int], bool]
    hand: tuple[tuple[str, Any], ...] = ()

    def hits(self, hands: int = HANDS, **how: Any) -> tuple[int, list[int]]:
        """Return how often it was right, and among how many cards each time."""
        right, among = 0, []
        for number in range(hands):
            played = play(number, self.size, self.show, **{**dict(self.hand), **how})
            place = played.public.cut.index(self.target)
            right += self.guess(played.public, place) == played.items[self.target]
            among.append(len(played.public.left))
        return right, among


SIBLING = Attack(guessers.by_leaf, 52, 6, lambda leaf: leaf % 2 == 1)
PAIR = Attack(guessers.by_pair, 12, 6, only(4, 11))
ROOT = Attack(guessers.by_root, 6, 2, only(0, 5))
WHOLE = Attack(guessers.by_whole_deck, 6, 2, only(0, 5))
SEED = Attack(guessers.by_seed, 12, 3, only(*range(4, 12)))
# A seed that the attacker knows: only the blinding r keeps C from telling that it is the one.
OPENED_C = Attack(guessers.by_commitment, 12, 3, only(), tuple(POOR_SEED.items()))
POSITION = Attack(guessers.by_position, 52, 3, only(0, 9))
ATTACKS = {
    "leaf by leaf": SIBLING,
    "two leaves under a node": PAIR,
    "whole decks against D": ROOT,
    "whole decks against D of a Shuffle": WHOLE,
    "seeds": SEED,
    "seeds against C": OPENED_C,
    "by position": POSITION,
}
WITHOUT = {
    "leaf by leaf, no salts": (SIBLING, NO_SALT),
    "leaf by leaf, a known salt key": (SIBLING, KNOWN_KEY),
    "leaf by leaf, one salt for two": (SIBLING, ONE_SALT_FOR_TWO),
    "two leaves under a node, no salts": (PAIR, NO_SALT),
    "two leaves under a node, a known salt key": (PAIR, KNOWN_KEY),
    "whole decks against D, a known salt key": (ROOT, KNOWN_KEY),
    "whole decks against D of a Shuffle, a known salt key": (WHOLE, KNOWN_KEY),
    "seeds, from the clock": (SEED, FROM_THE_CLOCK),
    "seeds against C, no blinding": (OPENED_C, POOR_SEED_AND_R),
    "by position, nothing shuffled": (POSITION, NOT_SHUFFLED),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_attack_is_better_than_a_coin(attack):
    """Hits over fixed hands, against the exact chance of as many."""
    hits, among = attack.hits()
    assert as_many(hits, HANDS, among) > SHARE


@pytest.mark.parametrize(("attack", "weak"), WITHOUT.values(), ids=WITHOUT)
def test_each_attack_reads_every_card_once_its_obstacle_is_gone(attack, weak):
    """So that the test above can fail."""
    assert attack.hits(12, **weak)[0] == 12


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_that_reads_two_cards_of_three_would_not_pass_for_a_coin(attack):
    """Of four cards or more; so the budget is not so small that nothing exceeds it."""
    among = attack.size - sum(map(attack.show, range(attack.size)))
    assert as_many(2 * HANDS // 3, HANDS, [among]) < SHARE


def test_a_coin_is_right_as_often_as_it_should_be():
    """Not too seldom either: the chance that everything above is compared with."""
    attack = Attack(guessers.by_coin, 6, 2, only(0, 5))
    hits, among = attack.hits(400)
    assert as_many(hits, 400, among) > SHARE
    assert as_many(hits + 1, 400, among) < 1 - SHARE


def test_the_attacked_hand_is_the_one_that_is_published():
    """Roots, cut and proofs are those of the receipts and cards of a dealt hand."""
    dealer = HandDealer(Contributions.OPEN, [Seat(seat) for seat in SEATS])
    opened = Receipt.decode(SignedNote.decode(dealer.open()["receipt"].encode()).text)
    deck = dealer.deck
    assert opened.deck_root == naive.merkle_root(
        card_leaves(deck.binding, deck.salt_key, deck.items)
    )
    values = {seat: made(f"value of {seat}", 32) for seat in SEATS}
    for seat, value in values.items():
        dealer.accepted({"O": dealer.open_hash.hex(), "seat": seat, "value": value.hex()})
    dealer.seal()
    dealer.deal(["seat-1"])
    leaves = [naive.contribution_leaf(dealer.open_hash, s, v) for s, v in values.items()]
    cut = naive.cut_permutation(dealer.open_hash, 52, leaves, "masked")
    card = dealer.shown([0])["cards"][0]
    assert (cut[0], deck.items[cut[0]]) == (card["leaf_index"], card["item"])


def test_no_secret_stands_in_what_is_published():
    """Neither seed, r, K nor the salt of a hidden card, in any message of a hand to anybody."""
    dealer = HandDealer(Contributions.OPEN, [Seat("seat-1")])
    messages = [dealer.open()]
    answer = {"O": dealer.open_hash.hex(), "seat": "seat-1", "value": made("value", 32).hex()}
    messages += [dealer.accepted(answer), dealer.seal()]
    dealer.deal(["seat-1", "burn", "board"])
    messages += [dealer.cards("seat-1"), dealer.shown([0]), dealer.close()]
    published, deck = json.dumps(messages), dealer.deck
    salts = card_salts(deck.binding, deck.salt_key, deck.size)
    shown = {dealer.hand.cut()[place] for place in (0, 2)}
    hidden = [salt for leaf, salt in enumerate(salts) if leaf not in shown]
    secrets = [*deck.seeds, deck.blinding, deck.salt_key, *hidden]
    assert [secret for secret in secrets if secret.hex() in published] == []
    assert [salts[leaf].hex() in published for leaf in shown] == [True, True]
