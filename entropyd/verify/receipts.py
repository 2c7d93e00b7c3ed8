"""The check of one signed note as it is given out: a receipt, a note to a seat, or a checkpoint.

Spec: docs/protocol.md, "Receipts" and "Files that verifiers take".
"""

from collections.abc import Sequence

from entropyd.log.checkpoint import Checkpoint, SeenCheckpoint
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.log.signed_note import SignedNote
from entropyd.verify.keyring import KeyRing, located
from entropyd.verify.report import ONE_AUDIENCE, Kind, Report

RECEIPT_START = b"entropyd-receipt: "
NOTE_START = b"entropyd-note: "
# A checkpoint begins with the name of any log, so its signatures have to tell.
_SIGNATURES_START = "\n\n\N{EM DASH} ".encode()
_WHITE_SPACE_OF_JSON = b" \t\n\r"

_FORM = "every line in its place and in its one spelling"
_ALONE = "that it is in the log: ask for its inclusion under a checkpoint"
_TRUE = "that it is true: a receipt fixes what the operator said, other files show what follows"
_SOURCES = "source, degraded, policy and time: statements that nobody outside can check"
_UNDER_IT = "what is in the log: files of hands and ranges of the log show what is under it"


def is_note(data: bytes) -> bool:
    """Return whether a file is a signed note rather than JSON, whatever it says."""
    if data.startswith((RECEIPT_START, NOTE_START)):
        return True
    return _SIGNATURES_START in data and not data.lstrip(_WHITE_SPACE_OF_JSON).startswith(b"{")


def check_note(data: bytes, given: Sequence[VerifierKey]) -> Report:
    """Check a receipt, a note to a seat or a checkpoint.

    Args:
        data: the whole note.
        given: the keys that the verifier trusts; without one nothing is taken.

    Raises:
        ProofMalformedError: it is no note, or its text none of ours; names line and byte.
        ProofMismatchError: no trusted key of its log signed it, or one that is named did not.
    """
    ring = KeyRing((), tuple(given))
    why = () if given else ("no key was given: give the log's keys with --key",)
    with located("", *why):
        if data.startswith(NOTE_START):
            return _of_seat_note(ring.open_seat_note(data))
        if data.startswith(RECEIPT_START):
            return _of_receipt(ring.open_receipt(data))
        origin = Checkpoint.decode(SignedNote.decode(data).text).origin
        return _of_checkpoint(ring.open_checkpoint(data, origin))


def _of_receipt(receipt: Receipt) -> Report:
    return Report(
        kind=Kind.RECEIPT,
        subject=f"receipt {receipt.index} of {receipt.log}: {receipt.event}{_what(receipt)}",
        result=_hashes(receipt),
        checked=(_FORM, _signed(receipt.log)),
        not_checked=(_ALONE, _TRUE, _SOURCES),
    )


def _of_seat_note(told: SeatNote) -> Report:
    why = f", {told.reason}" if told.outcome is Outcome.REFUSED else ""
    return Report(
        kind=Kind.SEAT_NOTE,
        subject=f"note of {told.log} to seat {told.seat}",
        result=f"contribution {told.leaf_hash.hex()} {told.outcome}{_printable(why)}",
        checked=(_FORM, _signed(told.log)),
        not_checked=("that the contribution counts: compare it with the leaves of the seal",),
    )


def _of_checkpoint(seen: SeenCheckpoint) -> Report:
    checkpoint = seen.checkpoint
    limits = () if seen.cosignatures else (ONE_AUDIENCE,)
    return Report(
        kind=Kind.CHECKPOINT,
        subject=f"checkpoint of {_printable(checkpoint.origin)}, {checkpoint.size} entries",
        result=f"root {checkpoint.root.hex()}",
        checked=(
            "origin, size and root, each in its one spelling",
            f"signed by {_printable(checkpoint.origin)}, a key that was given; {seen.signers()}",
        ),
        not_checked=(*limits, _UNDER_IT),
    )


def _signed(log: str) -> str:
    return f"signed by {log}/receipts, a key that was given"


def _what(receipt: Receipt) -> str:
    names = ("tenant", "table", "hand", "match", "draw", "raffle")
    said = [(name, getattr(receipt, name)) for name in names]
    return "".join(f", {name} {value}" for name, value in said if value is not None)


def _hashes(receipt: Receipt) -> str:
    names = (
        ("O", "open_hash"),
        ("C", "commitment"),
        ("D", "deck_root"),
        ("R", "contributions_root"),
    )
    said = [(name, getattr(receipt, attribute)) for name, attribute in names]
    return ", ".join(f"{name} {value.hex()}" for name, value in said if value is not None)


def _printable(text: str) -> str:
    """Return outside text so that it moves no cursor."""
    return ascii(text)[1:-1]
