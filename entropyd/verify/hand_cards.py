"""The cards that a hand file shows, whom they went to, and how it ended.

Spec: docs/protocol.md, "The hand file", 8 to 10.
"""

from typing import NoReturn

from entropyd.errors import ProofMismatchError
from entropyd.hands.card_proof import check_card
from entropyd.hands.deals import BURN, check_recipients, deals_root
from entropyd.verify.hand_cut import Spoken
from entropyd.verify.hand_file import PresentedCard, PresentedHand
from entropyd.verify.hand_steps import FixedHand
from entropyd.verify.keyring import located

_SWAPPED = "the card is of another place or hand, or salt or path was changed"
_FALSE_DECK = "the deck that was committed is no whole deck: keep this file, it shows it"


def check_dealt(presented: PresentedHand, hand: FixedHand, spoken: Spoken) -> None:
    """Check the end, the recipients and every card.

    Raises:
        ProofMalformedError, ProofMismatchError: one is refused; names the first.
    """
    _check_end(hand)
    _check_recipients(presented, hand)
    items: dict[int, int] = {}
    before = -1
    for card in presented.cards:
        _check_proof(card, hand, spoken, before)
        _check_item(card, hand, items)
        _check_recipient(card, presented, hand)
        before = card.proof.place


def dealt_of(hand: FixedHand) -> int | None:
    """Return how many places were dealt, None if the hand has not ended."""
    return None if hand.end is None else hand.end.dealt


def _check_end(hand: FixedHand) -> None:
    dealt = dealt_of(hand) or 0
    name = "close" if hand.closed else "void"
    if dealt > hand.rules.size or (dealt and not hand.sealed):
        _mismatch(f"receipts.{name}", f"says {dealt} cards were dealt; there were not as many")


def _check_recipients(presented: PresentedHand, hand: FixedHand) -> None:
    recipients = presented.recipients
    if recipients is None:
        return
    part = "recipients"
    if len(recipients) > hand.rules.size or (recipients and not hand.sealed):
        _mismatch(part, f"are {len(recipients)}; not as many cards can have been dealt")
    if recipients:
        with located(part):
            check_recipients(recipients)
    planned = hand.rules.plan[: len(recipients)]
    if recipients[: len(planned)] != planned:
        _mismatch(part, "depart from the plan of the rules")
    if hand.end is None:
        return
    if len(recipients) != hand.end.dealt:
        _mismatch(part, f"are {len(recipients)}; {hand.end.dealt} places were dealt")
    if deals_root(hand.open_hash, recipients) != hand.end.deals_root:
        _mismatch(
            part, "have another deals root than the receipt", "a recipient was changed or exchanged"
        )


def _check_proof(card: PresentedCard, hand: FixedHand, spoken: Spoken, before: int) -> None:
    if spoken.cut is None:
        _mismatch(card.path, "is shown of a hand without a seal")
    if card.proof.place <= before:
        _mismatch(card.path, "does not stand in order of places, each once")
    with located(card.path, _SWAPPED):
        check_card(
            card.proof,
            binding=hand.binding,
            size=hand.rules.size,
            deck_root=hand.opened.deck_root or b"",
            cut=spoken.cut,
        )


def _check_item(card: PresentedCard, hand: FixedHand, items: dict[int, int]) -> None:
    item, place = card.proof.item, card.proof.place
    if item >= hand.rules.deck.size:
        _mismatch(card.path, f"is item {item} of a deck of {hand.rules.deck.size}", _FALSE_DECK)
    if item in items:
        _mismatch(card.path, f"is the item that place {items[item]} has too", _FALSE_DECK)
    items[item] = place


def _check_recipient(card: PresentedCard, presented: PresentedHand, hand: FixedHand) -> None:
    place, to, dealt = card.proof.place, card.recipient, dealt_of(hand)
    listed = presented.recipients
    if listed is not None and to != (listed[place] if place < len(listed) else ""):
        _mismatch(card.path, "has another recipient than `recipients`")
    if to and place < len(hand.rules.plan) and to != hand.rules.plan[place]:
        _mismatch(card.path, "has another recipient than the plan of the rules")
    if dealt is not None and bool(to) != (place < dealt):
        _mismatch(
            card.path, f"has a recipient and was not among the {dealt} dealt, or none and was"
        )
    if to in {"", BURN} and not hand.closed:
        _mismatch(card.path, "went to nobody, and is shown before the hand is closed")


def _mismatch(part: str, message: str, *causes: str) -> NoReturn:
    raise ProofMismatchError(message, field=part, causes=causes)
