"""The check of a hand dealt card by card, at whatever stage its file shows it.

Spec: docs/protocol.md, "The hand file".
"""

from collections.abc import Iterator, Sequence

from entropyd.draw.cards import cards_text
from entropyd.hands.rules import Contributions
from entropyd.log.checkpoint import SeenCheckpoint
from entropyd.log.keys import VerifierKey
from entropyd.verify.fields import Fields
from entropyd.verify.hand_cards import check_dealt
from entropyd.verify.hand_cut import check_spoken
from entropyd.verify.hand_file import STEPS, PresentedHand, read_hand
from entropyd.verify.hand_notes import check_inclusion, check_notes
from entropyd.verify.hand_secrets import check_secrets
from entropyd.verify.hand_steps import FixedHand, fix_hand
from entropyd.verify.keyring import NOT_TRUSTED, KeyRing
from entropyd.verify.report import ONE_AUDIENCE, SEED_ORIGIN, Kind, Report

# As many as fit a line of a terminal.
_TOLD_AT_MOST = 12

_HOST = (
    "who saw cards: the daemon's host knows the deck, and the poker server every card that it"
    " asked for"
)
_NOBODY_MOVED = "that the deck was not chosen: nobody contributed, it is the operator's word"
_OPEN_CONTRIBUTIONS = (
    "that the deck was not chosen by whoever knew the seed and spoke last: contributions were open"
)
_HONEST_SEAT = (
    "that one seat of the roll was honest and ran software of its own: only then nobody chose the"
    " cut; compare your own value with the leaves"
)
_NOT_REVEALED = (
    "that the committed deck follows from its seed and holds every card once: nothing was revealed"
)
_NOT_BOUND = "who got the places: nothing that is signed says so before the hand ends"
_SILENT = (
    "seats are not in R: silent, or left out; a seat that spoke in time has a note that says so"
)
_KEYED_SEATS = (
    "that seats with keys made what stands for them: their signatures are no part of a hand file;"
    " the daemon took none without, and each seat looks for its own value"
)
_TABLE = (
    "that no hand of the table is missing, and that this one's number follows the one before: ask"
    " for a range of the log"
)


def check_hand(fields: Fields, given: Sequence[VerifierKey]) -> Report:
    """Check everything that a hand file shows against everything else in it.

    Args:
        fields: a hand file.
        given: keys that the verifier trusts; none, and the file's own are used, and the report says
            so.

    Raises:
        ProofMalformedError: the file has a form that no hand has, or a text in it none of its kind.
        ProofMismatchError: something does not follow; names the first part, and the usual cause.
    """
    presented = read_hand(fields)
    ring = KeyRing(presented.keys, tuple(given))
    hand = fix_hand(presented, ring)
    spoken = check_spoken(presented, hand)
    check_dealt(presented, hand, spoken)
    check_secrets(presented, hand)
    check_notes(presented, hand, spoken, ring)
    seen = check_inclusion(presented, hand, ring)
    return Report(
        kind=Kind.HAND,
        subject=_subject(presented, hand),
        result=_cards(presented, hand),
        checked=tuple(_checked(presented, hand, ring, seen)),
        not_checked=tuple(_not_checked(presented, hand, ring, seen)),
    )


def _subject(presented: PresentedHand, hand: FixedHand) -> str:
    where = f"hand {presented.hand}, number {hand.opened.sequence}, of table {presented.table}"
    last = [name for name in STEPS if name in hand.receipts][-1]
    stage = {
        "open": "opened",
        "roll": "rolled",
        "seal": "sealed",
        "close": "closed",
        "void": "void",
    }
    if hand.end is None:
        return f"{where}: {stage[last]}"
    why = f", reason {hand.end.reason!a}" if hand.end.reason else ""
    return f"{where}: {stage[last]}, {hand.end.dealt} cards dealt{why}"


def _cards(presented: PresentedHand, hand: FixedHand) -> str:
    deck = hand.rules.deck
    told = [
        f"{card.proof.place}:{cards_text(deck.cards([card.proof.item]))}"
        for card in presented.cards[:_TOLD_AT_MOST]
    ]
    more = len(presented.cards) - len(told)
    return " ".join(told) + (f" ... ({more} more)" if more else "")


def _checked(
    presented: PresentedHand, hand: FixedHand, ring: KeyRing, seen: SeenCheckpoint | None
) -> Iterator[str]:
    names = ", ".join(hand.receipts)
    whose = "a key that was given" if ring.trusted else "a key that the file itself names"
    yield f"receipts {names}: signed by {hand.opened.log}/receipts, {whose}; each follows the last"
    yield "open hash O: ids, rules, seats, number, C and D are those that were opened"
    rolled = hand.roll is not None and (hand.sealed or presented.leaf_hashes is not None)
    if rolled and hand.roll is not None:
        yield f"R: {hand.roll.contributions} contributions, these and no others"
    if hand.sealed:
        yield "the cut, from O and the contributions"
    if presented.cards:
        yield f"{len(presented.cards)} cards: each the one that the cut brings there, and under D"
    if presented.recipients is not None and hand.end is not None:
        yield f"deals root: {len(presented.recipients)} recipients"
    if presented.parent is not None:
        yield "the parent and its discarded places are those that the rules name by a hash"
    if presented.reveal is not None:
        yield "C, the order and D from the revealed seeds: the whole deck"
    if presented.notes:
        counts = "what was accepted counts" if rolled else "of this hand and its seats"
        yield f"{len(presented.notes)} notes to seats: {counts}"
    if seen is not None:
        shown = ", ".join(presented.inclusion) or "no receipt"
        yield f"{shown} under a checkpoint of {seen.checkpoint.size} entries, {seen.signers()}"


def _not_checked(
    presented: PresentedHand, hand: FixedHand, ring: KeyRing, seen: SeenCheckpoint | None
) -> Iterator[str]:
    if not ring.trusted:
        yield NOT_TRUSTED
    missing = [name for name in hand.receipts if name not in presented.inclusion]
    if missing:
        yield f"that {', '.join(missing)} are in the log: the file has no inclusion of them"
    if seen is None or not seen.cosignatures:
        yield ONE_AUDIENCE
    if not hand.sealed:
        yield "the cut and every card: there is no seal in this file"
    if hand.end is None:
        yield "how the hand ended, and that no more cards were dealt"
        if presented.recipients or any(card.recipient for card in presented.cards):
            yield _NOT_BOUND
    elif presented.recipients is None and hand.end.dealt:
        yield "who got the places: the file has no recipients to compare with the deals root"
    yield from _of_seats(presented, hand)
    yield _TABLE
    yield _HOST
    yield _contributions(hand)
    yield SEED_ORIGIN if presented.reveal is not None else _NOT_REVEALED
    if presented.parent is not None or hand.rules.parent is not None:
        yield "that the discards are those of the parent: compare with the parent's own file"


def _of_seats(presented: PresentedHand, hand: FixedHand) -> Iterator[str]:
    if hand.roll is None:
        return
    spoken = hand.roll.contributions or 0
    silent = len(presented.seats) - spoken
    if silent:
        yield f"why {silent} of {len(presented.seats)} {_SILENT}"
    if spoken and any(seat.public_key for seat in presented.seats):
        yield _KEYED_SEATS


def _contributions(hand: FixedHand) -> str:
    if hand.roll is None or not hand.roll.contributions:
        return _NOBODY_MOVED
    sealed = hand.rules.contributions is Contributions.SEALED
    return _HONEST_SEAT if sealed else _OPEN_CONTRIBUTIONS
