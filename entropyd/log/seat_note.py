"""Notes to seats: that a contribution was taken, or was not and why.

A seat that holds one can show that its contribution was accepted, and is
missing; or that it was refused, and for what. Notes are no entries of the log,
because they name a seat.

Spec: docs/protocol.md, "Receipts".
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from entropyd.errors import ReceiptInvalidError, RequestError
from entropyd.log.lines import Field, line_of, read_lines, write_lines
from entropyd.log.values import Hash, Id, OutsideText, Word


class NoteVersion(StrEnum):
    """The versions that are read here."""

    V1 = "v1"


class Outcome(StrEnum):
    """What became of a contribution."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


FIELDS = (
    Field("entropyd-note", "version_of_format", Word(NoteVersion)),
    Field("log", "log", Id(plus=False)),
    Field("O", "open_hash", Hash()),
    Field("seat", "seat", Id()),
    Field("leaf", "leaf_hash", Hash()),
    Field("outcome", "outcome", Word(Outcome)),
    Field("reason", "reason", OutsideText()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatNote:
    """What the operator tells one seat of one contribution.

    Attributes:
        log: origin of the log that the hand's receipts are in.
        open_hash: O of the hand.
        seat: whose contribution.
        leaf_hash: of the contribution, 32 bytes.
        outcome: what became of it.
        reason: why it was refused; None if it was accepted.

    Raises:
        RequestError: on construction, if a reason is missing or has no place.
    """

    log: str
    open_hash: bytes
    seat: str
    leaf_hash: bytes
    outcome: Outcome
    reason: str | None = None
    version_of_format: NoteVersion = NoteVersion.V1

    def __post_init__(self) -> None:
        """Refuse a refusal without reason, and a reason for nothing."""
        if (self.outcome is Outcome.REFUSED) != (self.reason is not None):
            raise RequestError("reason", "stands where the contribution was refused, only there")

    def encode(self) -> bytes:
        """Return the text, which ends in a newline.

        Raises:
            RequestError: a value has no spelling; names the attribute.
        """
        return write_lines(FIELDS, self)

    @classmethod
    def decode(cls, text: bytes) -> Self:
        """Return the note that `encode` wrote; no other spelling is read.

        Raises:
            ReceiptInvalidError: the text is no note to a seat; names line and byte.
        """
        values = read_lines(FIELDS, text)
        for field in FIELDS[:-1]:
            if field.attribute not in values:
                raise ReceiptInvalidError(f"{field.name} is missing; every note has it")
        try:
            return cls(**values)
        except RequestError as error:
            raise ReceiptInvalidError(str(error), line=line_of(error.field, text)) from error
