"""What a dealer with the operator's true key may say instead of the truth, at every step.

Each lie is as consistent as it can be made: roots fit lists, receipts are signed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from entropyd.hands.cut import contribution_leaf, sort_leaves
from entropyd.hands.deals import deals_root
from entropyd.hands.rules import Contributions, Reveal
from entropyd.log import merkle
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.log.signed_note import SignedNote
from tests.examples.seats import RECIPIENTS, Game, Sitting, publics
from tests.fakes.hand_dealer import FORGER, HandDealer, Message, resigned, signed
from tests.fakes.opened_hands import OPENED_AT, made

NONE, OPEN, SEALED = Contributions
OPENED_MS = OPENED_AT // 1_000_000
HOUR_MS = 3_600_000
# A seat that nobody sits on.
THIRD = "seat-3"


@dataclass(frozen=True)
class Lie:
    """What a dealer says at a step instead of the truth, and the check that finds it."""

    name: str
    step: str
    check: str
    told: Callable[[Game, Sitting, Message], Message]


def of_receipt(**changes: Any) -> Callable[[Game, Sitting, Message], Message]:
    """A receipt that says something else, signed by the operator."""
    return lambda game, victim, message: resigned(message, **changes)


def of_message(**changes: Any) -> Callable[[Game, Sitting, Message], Message]:
    return lambda game, victim, message: {**message, **changes}


def by_forger(game, victim, message):
    return resigned(message, FORGER)


def unsigned(game, victim, message):
    text = message["receipt"].partition("\n\n")[0]
    return {**message, "receipt": f"{text}\n"}


def altered(game, victim, message):
    """A receipt with the signature of the true one."""
    return {**message, "receipt": message["receipt"].replace("index: ", "index: 1")}


def signed_twice(game, victim, message):
    line = message["receipt"].rpartition("\n\n")[2]
    return {**message, "receipt": message["receipt"] + line}


def of_hand(mode=SEALED, seats=None, **more):
    """The open message of another hand of the same table."""

    def lie(game, victim, message):
        told = publics(game.seats) if seats is None else seats(game, victim)
        return HandDealer(mode, told, **more).open()

    return lie


def receipt_of_another_hand(game, victim, message):
    other = HandDealer(SEALED, publics(game.seats), hand="hand-2").open()
    return {**message, "receipt": other["receipt"]}


def without_the_victim(game, victim):
    return [seat.public() for seat in game.seats if seat is not victim]


def key_of_the_house(game, victim):
    house = made("key of the house", 32)
    return [*without_the_victim(game, victim), replace(victim.public(), public_key=house)]


def other_seats(game, victim, message):
    """True to the victim's own, and another key for the other one."""
    seats = [
        seat if seat["seat"] == victim.seat else {**seat, "key": made("key", 32).hex()}
        for seat in message["seats"]
    ]
    return {**message, "seats": seats}


def sealed_at_once(game, victim, message):
    dealer = HandDealer(NONE)
    return {**message, "receipt": dealer.seal()["receipt"]}


OPENING = [
    Lie("signed by another key", "open", "signature", by_forger),
    Lie("not signed", "open", "signature", unsigned),
    Lie("signed, but another text", "open", "signature", altered),
    Lie("signed twice by one key", "open", "signature", signed_twice),
    Lie("another hand's receipt", "open", "hand", receipt_of_another_hand),
    Lie("another hand's name", "open", "hand", of_message(hand="hand-2")),
    Lie("another table", "open", "hand", of_receipt(table="table-8")),
    Lie("another log", "open", "hand", of_receipt(log="other.example/log")),
    Lie("a seal for an open", "open", "event", sealed_at_once),
    Lie("other rules", "open", "rules", of_hand(reveal=Reveal.AFTER_CLOSE)),
    Lie("rules without contributions", "open", "rules", of_hand(OPEN)),
    Lie("the hash of other rules", "open", "rules", of_receipt(rules_hash=made("rules", 32))),
    Lie("in the place of a hand", "open", "rules", of_receipt(replaces=made("void", 32))),
    Lie("a card too few", "open", "n", of_receipt(n=51)),
    Lie("another root of seats", "open", "A", of_receipt(seats_root=made("A", 32))),
    Lie("another seat's key", "open", "A", other_seats),
    Lie("no seat for us", "open", "seat", of_hand(seats=without_the_victim)),
    Lie("our seat, a key of the house", "open", "seat", of_hand(seats=key_of_the_house)),
    Lie("a swapped deck root", "open", "O", of_receipt(deck_root=made("D", 32))),
    Lie("a swapped commitment", "open", "O", of_receipt(commitment=made("C", 32))),
    Lie("another number", "open", "O", of_receipt(sequence=2)),
    Lie("another O", "open", "O", of_receipt(open_hash=made("O", 32))),
    Lie("no deadline", "open", "deadline", of_receipt(deadline_ms=None)),
    Lie("a deadline that is over", "open", "deadline", of_receipt(deadline_ms=OPENED_MS)),
    Lie("a deadline far off", "open", "deadline", of_receipt(deadline_ms=OPENED_MS + HOUR_MS)),
]


def of_note(**changes: Any) -> Callable[[Game, Sitting, Message], Message]:
    """A note to a seat that says something else, signed by the operator."""

    def lie(game, victim, message):
        text = SignedNote.decode(message["note"].encode()).text
        return {**message, "note": signed(replace(SeatNote.decode(text), **changes).encode())}

    return lie


def forged_note(game, victim, message):
    text = SignedNote.decode(message["note"].encode()).text
    return {**message, "note": signed(text, FORGER)}


def receipt_for_a_note(game, victim, message):
    return {**message, "note": game.dealer.open()["receipt"]}


REFUSED = {"outcome": Outcome.REFUSED, "reason": "window-over"}
ACCEPTING = [
    Lie("signed by another key", "accepted", "signature", forged_note),
    Lie("of another hand", "accepted", "hand", of_note(open_hash=made("O", 32))),
    Lie("of another log", "accepted", "hand", of_note(log="other.example/log")),
    Lie("for another seat", "accepted", "seat", of_note(seat=THIRD)),
    Lie("of another leaf", "accepted", "leaf", of_note(leaf_hash=made("leaf", 32))),
    Lie("refused", "accepted", "outcome", of_note(**REFUSED)),
    Lie("a receipt for a note", "accepted", "form", receipt_for_a_note),
]


def roll_of(choose) -> Callable[[Game, Sitting, Message], Message]:
    """A roll that is consistent, of other leaf hashes."""

    def lie(game, victim, message):
        own = leaf_hash_of(game, victim)
        others = [bytes.fromhex(text) for text in message["leaf_hashes"]]
        others.remove(own)
        hashes = sorted(choose(own, others))
        told = {**message, "leaf_hashes": [one.hex() for one in hashes]}
        root = merkle.root_of_hashes(hashes)
        return resigned(told, contributions=len(hashes), contributions_root=root)

    return lie


def leaf_hash_of(game, victim):
    return game.dealer.hand.spoken[victim.seat].leaf_hash


def seal_for_a_roll(game, victim, message):
    return {**message, "receipt": HandDealer(NONE).seal()["receipt"]}


FOREIGN = made("somebody's leaf", 32)
ROLLING = [
    Lie("signed by another key", "roll", "signature", by_forger),
    Lie("not signed", "roll", "signature", unsigned),
    Lie("a seal for a roll", "roll", "event", seal_for_a_roll),
    Lie("another hand's", "roll", "hand", of_receipt(open_hash=made("O", 32))),
    Lie("another number", "roll", "hand", of_receipt(sequence=9)),
    Lie("from before the open", "roll", "index", of_receipt(index=0)),
    Lie("without our leaf", "roll", "own leaf", roll_of(lambda own, others: others)),
    Lie("our leaf replaced", "roll", "own leaf", roll_of(lambda own, others: [*others, FOREIGN])),
    Lie(
        "more leaves than seats", "roll", "m", roll_of(lambda own, others: [own, *others, FOREIGN])
    ),
    Lie("another m", "roll", "m", of_receipt(contributions=1)),
    Lie("another R", "roll", "R", of_receipt(contributions_root=made("R", 32))),
    Lie("our leaf twice", "roll", "R", roll_of(lambda own, others: [own, own])),
    Lie("a deadline that is over", "roll", "deadline", of_receipt(deadline_ms=OPENED_MS)),
    Lie("a deadline far off", "roll", "deadline", of_receipt(deadline_ms=OPENED_MS + HOUR_MS)),
]


def seal_of(choose) -> Callable[[Game, Sitting, Message], Message]:
    """A seal that is consistent, of other leaves."""

    def lie(game, victim, message):
        own = game.dealer.hand.spoken[victim.seat].leaf
        others = [bytes.fromhex(text) for text in message["leaves"]]
        others.remove(own)
        leaves = sort_leaves(choose(game.dealer.open_hash, victim.seat, own, others))
        told = {**message, "leaves": [one.hex() for one in leaves]}
        root = merkle.root(leaves)
        return resigned(told, contributions=len(leaves), contributions_root=root)

    return lie


def another_of(open_hash, seat):
    return contribution_leaf(open_hash, seat, made("chosen after the roll", 32))


def other_seat(seat):
    return {"seat-1": "seat-2", "seat-2": "seat-1"}[seat]


def backwards(game, victim, message):
    return {**message, "leaves": message["leaves"][::-1]}


SEALING = [
    Lie("signed by another key", "seal", "signature", by_forger),
    Lie("another hand's", "seal", "hand", of_receipt(hand="hand-2")),
    Lie("from before the roll", "seal", "index", of_receipt(index=4)),
    Lie("another m", "seal", "m", of_receipt(contributions=1)),
    Lie("another R", "seal", "R", of_receipt(contributions_root=made("R", 32))),
    Lie("in another order", "seal", "leaves", backwards),
    Lie(
        "a leaf of no seat", "seal", "leaves",
        seal_of(lambda o, seat, own, others: [own, another_of(o, THIRD)]),
    ),
    Lie(
        "two leaves of one seat", "seal", "leaves",
        seal_of(lambda o, seat, own, others: [own, another_of(o, seat)]),
    ),
    Lie(
        "a leaf of another hand", "seal", "leaves",
        seal_of(lambda o, seat, own, others: [own, another_of(made("O", 32), other_seat(seat))]),
    ),
    Lie(
        "our value replaced", "seal", "own leaf",
        seal_of(lambda o, seat, own, others: [another_of(o, seat), *others]),
    ),
    Lie(
        "our value left out", "seal", "own leaf",
        seal_of(lambda o, seat, own, others: others),
    ),
    Lie(
        "another's value chosen after the roll", "seal", "roll",
        seal_of(lambda o, seat, own, others: [own, another_of(o, other_seat(seat))]),
    ),
    Lie(
        "another's value left out", "seal", "roll",
        seal_of(lambda o, seat, own, others: [own]),
    ),
]  # fmt: skip


def card_as(change) -> Callable[[Game, Sitting, Message], Message]:
    """The last card of a message, changed."""

    def lie(game, victim, message):
        *rest, last = message["cards"]
        return {**message, "cards": [*rest, {**last, **change(game, last)}]}

    return lie


def uncut(game, victim, message):
    """The cards as they lie in the deck, each with its true proof."""
    cards = [game.dealer.card(card["place"], card["place"]) for card in message["cards"]]
    return {**message, "cards": cards}


def another_leaf(game, card):
    free = game.dealer.hand.cut()[20]
    return {**game.dealer.card(card["place"], free)}


def of_another_deck(game, victim, message):
    game.dealer.tree = HandDealer(SEALED, publics(game.seats), hand="hand-2").tree
    return {**message, "cards": [game.dealer.card(card["place"]) for card in message["cards"]]}


def a_place_twice(game, victim, message):
    return {**message, "cards": [*message["cards"], message["cards"][0]]}


def a_card_of_the_other(game, victim, message):
    place = RECIPIENTS.index(other_seat(victim.seat))
    return {**message, "cards": [*message["cards"], game.dealer.card(place)]}


CARDS = [
    ("another cut", "cut", uncut),
    ("another leaf of the deck", "cut", card_as(another_leaf)),
    ("beyond the deck", "cut", card_as(lambda game, card: {"place": 52})),
    ("before the deck", "cut", card_as(lambda game, card: {"place": -1})),
    ("another card", "path", card_as(lambda game, card: {"item": (card["item"] + 1) % 52})),
    ("another salt", "path", card_as(lambda game, card: {"salt": made("salt", 32).hex()})),
    ("a short salt", "path", card_as(lambda game, card: {"salt": card["salt"][2:]})),
    ("a short path", "path", card_as(lambda game, card: {"path": card["path"][:-1]})),
    ("another path", "path", card_as(lambda game, card: {"path": card["path"][::-1]})),
    ("of another deck", "path", of_another_deck),
    ("a place twice", "twice", a_place_twice),
    ("a number that is text", "form", card_as(lambda game, card: {"item": str(card["item"])})),
    ("capital letters", "form", card_as(lambda game, card: {"salt": "AB" + card["salt"][2:]})),
]
DEALING = [
    *(Lie(name, step, check, told) for name, check, told in CARDS for step in ("cards", "shown")),
    Lie("a card of the other seat", "cards", "recipient", a_card_of_the_other),
    Lie("a burned card", "cards", "recipient", card_as(lambda game, card: {"recipient": "burn"})),
]


def ended_with(change) -> Callable[[Game, Sitting, Message], Message]:
    """An end that is consistent, with other recipients."""

    def lie(game, victim, message):
        recipients = change(list(message["recipients"]), victim)
        told = {**message, "recipients": recipients}
        root = deals_root(game.dealer.open_hash, recipients)
        return resigned(told, dealt=len(recipients), deals_root=root)

    return lie


def hide(recipients, victim):
    """Our card was the other seat's, they say now."""
    recipients[recipients.index(victim.seat)] = other_seat(victim.seat)
    return recipients


def impute(recipients, victim):
    """The burned card was ours, they say now."""
    recipients[recipients.index("burn")] = victim.seat
    return recipients


def hide_in_list_alone(game, victim, message):
    return {**message, "recipients": hide(list(message["recipients"]), victim)}


ENDING = [
    Lie("signed by another key", "end", "signature", by_forger),
    Lie("another hand's", "end", "hand", of_receipt(open_hash=made("O", 32))),
    Lie("from before the seal", "end", "index", of_receipt(index=5)),
    Lie("a card too few", "end", "dealt", of_receipt(dealt=len(RECIPIENTS) - 1)),
    Lie("another root", "end", "deals", of_receipt(deals_root=made("deals", 32))),
    Lie("our card, in the list alone", "end", "deals", hide_in_list_alone),
    Lie("our card was another's", "end", "recipients", ended_with(hide)),
    Lie("a card that never came", "end", "recipients", ended_with(impute)),
    Lie(
        "our last cards were never dealt", "end", "recipients",
        ended_with(lambda recipients, victim: recipients[:2]),
    ),
]  # fmt: skip

LIES = [*OPENING, *ACCEPTING, *ROLLING, *SEALING, *DEALING, *ENDING]
