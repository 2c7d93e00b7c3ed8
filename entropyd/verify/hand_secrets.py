"""What a hand is revealed to have been made of: its seeds, and a child's parent.

Spec: docs/protocol.md, "The hand file", 11 and 12; "Draw games: a hand from another's discards".
"""

from itertools import pairwise
from typing import NoReturn

from entropyd.errors import ProofMismatchError
from entropyd.hands import commitment
from entropyd.hands.child import child_digest
from entropyd.hands.rules import Reveal, segments_needed
from entropyd.hands.whole_deck import open_deck
from entropyd.verify.compare import hex_difference
from entropyd.verify.hand_file import PresentedHand, PresentedParent, PresentedReveal
from entropyd.verify.hand_steps import FixedHand

_OTHER_SEED = "seeds or blinding are another hand's, or were exchanged"
_OTHER_DECK = (
    "the deck that was committed is not the one that the seeds draw, or the salt key is another"
)


def check_secrets(presented: PresentedHand, hand: FixedHand) -> None:
    """Check the parent and the reveal, as far as they are there.

    Raises:
        ProofMismatchError: one does not give this hand; names which.
    """
    if presented.parent is not None:
        _check_parent(presented.parent, hand)
    if presented.reveal is not None:
        _check_reveal(presented.reveal, hand)


def _check_parent(told: PresentedParent, hand: FixedHand) -> None:
    parent = hand.rules.parent
    if parent is None or len(told.places) != parent.cards:
        _mismatch("parent", "is there without such a rule, or has another number of places")
    if any(one >= following for one, following in pairwise(told.places)):
        _mismatch("parent", "has places that do not ascend")
    computed = child_digest(told.open_hash, told.places, told.salt)
    if computed != parent.digest:
        _mismatch("parent", hex_difference(computed, parent.digest), "other places, O or salt")


def _check_reveal(told: PresentedReveal, hand: FixedHand) -> None:
    if hand.rules.reveal is not Reveal.AFTER_CLOSE or not hand.closed:
        _mismatch("reveal", "is there before the close, or against the rules")
    if len(told.seeds) != segments_needed(hand.rules):
        _mismatch("reveal", f"has {len(told.seeds)} seeds; expected {segments_needed(hand.rules)}")
    computed = commitment.seed_commitment(hand.binding, told.seeds, told.blinding)
    said = hand.opened.commitment or b""
    if computed != said:
        _mismatch("reveal", f"gives another C: {hex_difference(computed, said)}", _OTHER_SEED)
    _check_discards(told, hand)
    deck = open_deck(
        hand.rules,
        hand.binding,
        seeds=told.seeds,
        blinding=told.blinding,
        salt_key=told.salt_key,
        discards=told.discards,
    )
    said = hand.opened.deck_root or b""
    if deck.deck_root != said:
        _mismatch("reveal", f"gives another D: {hex_difference(deck.deck_root, said)}", _OTHER_DECK)


def _check_discards(told: PresentedReveal, hand: FixedHand) -> None:
    discards = told.discards
    if (discards is None) != (hand.rules.parent is None):
        _mismatch("reveal", "has discards without a parent, or a parent without discards")
    if discards is None:
        return
    if not len(discards) == len(set(discards)) == hand.rules.size:
        _mismatch("reveal", f"has not {hand.rules.size} discards, each once")
    if max(discards) >= hand.rules.deck.size:
        _mismatch("reveal", "has a discard that the deck does not")


def _mismatch(part: str, message: str, *causes: str) -> NoReturn:
    raise ProofMismatchError(message, field=part, causes=causes)
