"""What a hand file shows besides the hand: notes to its seats, and its place in the log.

Spec: docs/protocol.md, "The hand file", 13 to 15.
"""

from typing import NoReturn

from entropyd.errors import ProofMismatchError
from entropyd.hands.contributions import Refused
from entropyd.log.checkpoint import SeenCheckpoint
from entropyd.log.entry import check_entry
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.verify.hand_cut import Spoken
from entropyd.verify.hand_file import PresentedHand
from entropyd.verify.hand_steps import FixedHand
from entropyd.verify.keyring import KeyRing, located

_BROKEN_PROMISE = "a contribution was accepted and does not count: the note shows it, keep it"


def check_notes(presented: PresentedHand, hand: FixedHand, spoken: Spoken, ring: KeyRing) -> None:
    """Check that every note is of this hand, and that what was accepted counts.

    Raises:
        ProofMalformedError, ProofMismatchError: one is refused; names it.
    """
    for number, note in enumerate(presented.notes):
        part = f"notes[{number}]"
        with located(part):
            told = ring.open_seat_note(note)
        if (told.log, told.open_hash) != (hand.opened.log, hand.open_hash):
            _mismatch(part, "is of another hand")
        if told.outcome is Outcome.REFUSED:
            if told.reason not in set(Refused):
                _mismatch(part, "is a refusal for no reason that the protocol has")
        else:
            _check_accepted(part, told, presented, hand, spoken)


def check_inclusion(
    presented: PresentedHand, hand: FixedHand, ring: KeyRing
) -> SeenCheckpoint | None:
    """Check the checkpoint, and under it every receipt of which the place is shown.

    Returns:
        The checkpoint and who saw it; None if there is none.

    Raises:
        ProofMalformedError, ProofMismatchError: one is refused; names it.
    """
    seen = None
    if presented.checkpoint is not None:
        with located("checkpoint"):
            seen = ring.open_checkpoint(presented.checkpoint, hand.opened.log)
    for name, told in presented.inclusion.items():
        part = f"inclusion.{name}"
        receipt = hand.receipts.get(name)
        if seen is None or receipt is None:
            _mismatch(part, "is there without its receipt, or without a checkpoint")
        if told.index != receipt.index:
            _mismatch(part, f"says index {told.index}; the receipt has {receipt.index}")
        with located(part, "the path is that of another size of the log, or the log was forked"):
            check_entry(receipt, seen.checkpoint, told.path)
    return seen


def _check_accepted(
    part: str, told: SeatNote, presented: PresentedHand, hand: FixedHand, spoken: Spoken
) -> None:
    if told.seat not in {seat.name for seat in presented.seats}:
        _mismatch(part, "is an acceptance for no seat of this hand")
    if hand.roll is None or spoken.hashes is None:
        return
    if told.leaf_hash not in spoken.hashes:
        _mismatch(part, "accepts a leaf that is not in the roll", _BROKEN_PROMISE)
    if hand.sealed and spoken.by_seat.get(told.seat) != told.leaf_hash:
        _mismatch(part, "accepts a leaf that is another seat's", _BROKEN_PROMISE)


def _mismatch(part: str, message: str, *causes: str) -> NoReturn:
    raise ProofMismatchError(message, field=part, causes=causes)
