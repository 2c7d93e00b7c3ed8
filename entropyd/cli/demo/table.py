"""The second act: a hand that two players shuffle along with, dealt card by card.

This file is the game server: it asks the daemon, and passes on what it answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from entropyd.cli.demo.checkout import Checkout
from entropyd.cli.demo.seats import Message, Seat, seated
from entropyd.cli.demo.stage import fail, require, say, title
from entropyd.client import Client, Contributions, HandAsk, SeatContribution
from entropyd.client.dealt import Contributed, DealtCard, Hand
from entropyd.client.hand_file import card_entry
from entropyd.client.hands import Hands
from entropyd.hands.rules import Contributions as ContributionsRule
from entropyd.hands.rules import Rules

TABLE, HAND = "table-8", "hand-5"
BOARD = "board"
RECIPIENTS = ("seat-1", "seat-2", "seat-1", "seat-2", "burn", BOARD, BOARD, BOARD)
# A card of seat-2, which seat-1 was not dealt.
SHOWN = 1
# How long seats have for each of two answers. They take milliseconds; a loaded machine may not.
WINDOW_S = 60.0


@dataclass(frozen=True)
class Played:
    """What is left of the hand when everybody has gone.

    Attributes:
        hand: as it was closed.
        receipt_key, log_key: verifier keys, from the daemon's operator.
        hand_file: what the software of seat-1 kept.
    """

    hand: Hand
    receipt_key: str
    log_key: str
    hand_file: Path


def play_a_hand(dealer: Client, home: Path, checkout: Checkout) -> Played:
    """Open, contribute, roll, seal, deal, show and close, with the seats checking every step."""
    keys = {key.partition("+")[0]: key for key in dealer.log().head().verifier_keys}
    log_name = min(keys, key=len)
    receipt_key = keys[f"{log_name}/receipts"]
    with seated(home, checkout) as seats:
        hands = dealer.hands(timeout_s=30.0)
        opened = _open(hands, seats, receipt_key)
        sealed = _contribute(hands, opened, seats)
        _deal(hands, sealed, seats)
        _show(hands, seats)
        closed = _close(hands, seats)
        hand_file = seats[0].hand_file
    return Played(closed, receipt_key, keys[log_name], hand_file)


def _open(hands: Hands, seats: Sequence[Seat], receipt_key: str) -> Hand:
    title(
        "a hand dealt card by card: the deck is committed, signed and logged before anybody speaks"
    )
    rules = Rules(contributions=ContributionsRule.SEALED, whole_deck_proof=False)
    table = {
        "receipt_key": receipt_key,
        "tenant": "acme",
        "table": TABLE,
        "rules": rules.encode().decode("ascii"),
        "previous": None,
    }
    for seat in seats:
        seat.start(table)
        say(f"{seat.name} sits down: {seat.language}, a process and a signing key of its own")
    ask = HandAsk(
        TABLE,
        HAND,
        contributions=Contributions.SEALED,
        seats={seat.name: seat.public_key for seat in seats},
        contribute_for_s=WINDOW_S,
    )
    opened = hands.open(ask)
    say(
        f"opened {HAND}: deck root {opened.message.opened.deck_root.hex()[:16]}...,"
        f" {_entry(opened, 'open')}"
    )
    return opened


def _contribute(hands: Hands, opened: Hand, seats: Sequence[Seat]) -> Hand:
    message = {
        "type": "open",
        "hand": HAND,
        "rules": opened.rules,
        "seats": [{"seat": seat, "key": key.hex()} for seat, key in opened.seats.items()],
        "receipt": opened.receipts["open"].note,
    }
    answer = _pass_on(hands, opened, [seat.tell(message)["answer"] for seat in seats])
    for seat, outcome in zip(seats, answer.outcomes, strict=True):
        seat.tell({"type": "accepted", "note": outcome.note})
    rolled = answer.hand
    say(
        "each seat checked that, and sealed a secret of its own; roll closed,"
        f" {_entry(rolled, 'roll')}"
    )
    hashes = [each.hex() for each in rolled.leaf_hashes]
    roll = {"type": "roll", "receipt": rolled.receipts["roll"].note, "leaf_hashes": hashes}
    sealed = _pass_on(hands, opened, [seat.tell(roll)["answer"] for seat in seats]).hand
    leaves = [leaf.hex() for leaf in sealed.leaves]
    for seat in seats:
        seat.tell({"type": "seal", "receipt": sealed.receipts["seal"].note, "leaves": leaves})
    say(
        f"both opened their secrets, which cut the deck: place 0 gets leaf {sealed.cut[0]},"
        f" {_entry(sealed, 'seal')}"
    )
    return sealed


def _pass_on(hands: Hands, opened: Hand, answers: Sequence[Message]) -> Contributed:
    """Hand over what seats say; the game server cannot change it without being found out."""
    spoken = [
        SeatContribution(
            answer["seat"],
            value=bytes.fromhex(answer.get("value", "")),
            leaf_hash=bytes.fromhex(answer.get("leaf_hash", "")),
            signature=bytes.fromhex(answer.get("signature", "")),
        )
        for answer in answers
    ]
    contributed = hands.contribute(TABLE, HAND, opened.open_hash, spoken)
    for outcome in contributed.outcomes:
        require(not outcome.refused, f"the contribution of {outcome.seat}: {outcome.refused}")
    return contributed


def _deal(hands: Hands, sealed: Hand, seats: Sequence[Seat]) -> None:
    title("dealing: each card leaves alone, with its proof, and nobody has the rest of the deck")
    for place, recipient in enumerate(RECIPIENTS):
        [card] = hands.deal(TABLE, HAND, place, [(recipient, 1)]).cards
        require(card.leaf_index == sealed.cut[place], f"place {place} got another leaf")
        if recipient == "burn":
            require(not card.card, "a burned card left the daemon")
            say(f"place {place}: burned, and not even the game server sees it")
            continue
        _send(card, "cards", [seat for seat in seats if recipient in {seat.name, BOARD}])
        checked = "both seats" if recipient == BOARD else "its software"
        say(f"place {place}: {card.card} to {recipient}, checked by {checked}")


def _send(card: DealtCard, how: str, seats: Sequence[Seat]) -> None:
    for seat in seats:
        known = seat.tell({"type": how, "cards": [card_entry(card)]})["cards"]
        if known[str(card.place)] != card.card:
            fail(f"{seat.name} reads place {card.place} as {known[str(card.place)]}")


def _show(hands: Hands, seats: Sequence[Seat]) -> None:
    [card] = hands.show(TABLE, HAND, [SHOWN])
    _send(card, "shown", seats)
    say(f"shown to everybody: place {SHOWN}, {card.card}; seat-2's other card is mucked")


def _close(hands: Hands, seats: Sequence[Seat]) -> Hand:
    closed = hands.close(TABLE, HAND).hand
    end = {
        "type": "end",
        "receipt": closed.receipts["close"].note,
        "recipients": list(RECIPIENTS),
    }
    for seat in seats:
        seat.tell(end)
    say(f"closed after {closed.dealt} of {closed.size} cards, {_entry(closed, 'close')}")
    return closed


def _entry(hand: Hand, event: str) -> str:
    return f"receipt {hand.receipts[event].index} of the log"
