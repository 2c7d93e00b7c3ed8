"""Which keys of a log a verifier trusts, for which of its entries, and what it opens with them.

A log has two keys. `<origin>` signs checkpoints and nothing else, `<origin>/receipts`
signs receipts and notes to seats and nothing else. A verifier is given both
from outside the log, and follows the log from there: a key changes by an entry
of event `key`, signed by the key that it replaces.

Spec: docs/protocol.md, "The log", "Keys".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from entropyd.errors import KeyInvalidError, ReceiptInvalidError, SignatureMissingError
from entropyd.log.checkpoint import Checkpoint, SeenCheckpoint, open_checkpoint
from entropyd.log.events import Event
from entropyd.log.keys import KeyType, VerifierKey
from entropyd.log.receipt import Receipt, key_names
from entropyd.log.seat_note import SeatNote
from entropyd.log.signed_note import SignedNote


@dataclass(frozen=True, slots=True)
class Era:
    """A key in force.

    Attributes:
        key: the key.
        entry: index of the entry that put it in force; -1 for the one that the
            verifier was given.
    """

    key: VerifierKey
    entry: int = -1


@dataclass(frozen=True, slots=True)
class TrustedLog:
    """What a verifier believes of a log's keys; a value that never changes.

    Attributes:
        origin: name of the log.
        checkpoint_keys: in the order in which they came into force, at least one.
        receipt_keys: likewise.
    """

    origin: str
    checkpoint_keys: tuple[Era, ...]
    receipt_keys: tuple[Era, ...]

    @classmethod
    def given(cls, checkpoint_key: VerifierKey, receipt_key: VerifierKey) -> Self:
        """Return the log whose keys somebody gave, from a source other than the log.

        Raises:
            KeyInvalidError: they are not the two keys of one log.
        """
        names = (checkpoint_key.name, receipt_key.name)
        types = {checkpoint_key.key_type, receipt_key.key_type}
        if names != key_names(checkpoint_key.name) or types != {KeyType.ED25519}:
            raise KeyInvalidError(
                f"keys {names[0]} and {names[1]}; expected a log's Ed25519 keys NAME and"
                " NAME/receipts"
            )
        return cls(names[0], (Era(checkpoint_key),), (Era(receipt_key),))

    def open_receipt(self, note: bytes) -> Receipt:
        """Return what a signed receipt of this log says.

        That it is in the log is another check, of its leaf and a checkpoint.

        Args:
            note: from anywhere.

        Raises:
            NoteInvalidError: it is no signed note.
            ReceiptInvalidError: its text is no receipt, or another log's.
            SignatureMissingError: the key that was in force for its index did
                not sign it, or not both keys signed their change.
            SignatureInvalidError: a trusted key is named and did not sign.
        """
        opened = SignedNote.decode(note)
        signed_by = opened.verify(self._known_receipt_keys(_next_key(opened)))
        receipt = Receipt.decode(opened.text)
        self._check_origin(receipt.log)
        _expect_signers(signed_by, self._signers_of(receipt), f"entry {receipt.index}")
        return receipt

    def open_seat_note(self, note: bytes) -> SeatNote:
        """Return what a signed note to a seat says.

        It has no index, so that any key of the receipts may have signed it.

        Raises:
            NoteInvalidError, ReceiptInvalidError, SignatureMissingError,
            SignatureInvalidError: as `open_receipt`.
        """
        opened = SignedNote.decode(note)
        opened.verify(self._known_receipt_keys())
        told = SeatNote.decode(opened.text)
        self._check_origin(told.log)
        return told

    def open_checkpoint(self, note: bytes, witnesses: Sequence[VerifierKey] = ()) -> SeenCheckpoint:
        """Return what a signed checkpoint of this log says, and which witnesses it shows.

        Raises:
            SignatureMissingError: the key that is in force for its size did not sign it.
            NoteInvalidError, CheckpointInvalidError, SignatureInvalidError: as
                `entropyd.log.checkpoint.open_checkpoint`.
        """
        size = Checkpoint.decode(SignedNote.decode(note).text).size
        return open_checkpoint(note, [_in_force(self.checkpoint_keys, size - 1)], witnesses)

    def follow(self, receipt: Receipt) -> Self:
        """Return what is trusted after an entry of event `key`; any other changes nothing.

        Args:
            receipt: opened with this object, and proved to be in the log. Entries
                are followed in the order of their indices.

        Raises:
            KeyInvalidError: it replaces a key that is not the one in force, or
                stands before an entry that was followed already.
        """
        if receipt.event is not Event.KEY or receipt.key is None or receipt.log != self.origin:
            return self
        of_checkpoints = receipt.key.name == self.origin
        eras = self.checkpoint_keys if of_checkpoints else self.receipt_keys
        if receipt.previous is None and receipt.key == eras[-1].key:
            return self
        if receipt.previous != eras[-1].key or receipt.index <= eras[-1].entry:
            raise KeyInvalidError(
                f"entry {receipt.index} replaces a key of {receipt.key.name} that is not in force"
            )
        later = (*eras, Era(receipt.key, receipt.index))
        if of_checkpoints:
            return type(self)(self.origin, later, self.receipt_keys)
        return type(self)(self.origin, self.checkpoint_keys, later)

    def _known_receipt_keys(self, more: Sequence[VerifierKey] = ()) -> list[VerifierKey]:
        """Return each once, also one that came into force again after another."""
        return list(dict.fromkeys([*(era.key for era in self.receipt_keys), *more]))

    def _signers_of(self, receipt: Receipt) -> set[VerifierKey]:
        """Return who must have signed: the key in force, and the one that follows it here."""
        signers = {_in_force(self.receipt_keys, receipt.index - 1)}
        key = receipt.key
        if key is not None and receipt.previous is not None and key.name != self.origin:
            signers.add(key)
        return signers

    def _check_origin(self, log: str) -> None:
        if log != self.origin:
            raise ReceiptInvalidError(f"of the log {log}; expected {self.origin}", line=2)


def _in_force(eras: Sequence[Era], index: int) -> VerifierKey:
    """Return the key that entry `index` is the last or a later entry of."""
    return [era.key for era in eras if era.entry <= index or era.entry == -1][-1]


def _next_key(note: SignedNote) -> list[VerifierKey]:
    """Return the key that a note would put in force: its own signature is checked by it too."""
    try:
        receipt = Receipt.decode(note.text)
    except ReceiptInvalidError:
        return []
    is_of_receipts = receipt.key is not None and receipt.key.name != receipt.log
    return [receipt.key] if receipt.key is not None and is_of_receipts else []


def _expect_signers(
    signed_by: Sequence[VerifierKey], expected: set[VerifierKey], what: str
) -> None:
    missing = sorted(f"{key.name} ({key.key_id.hex()})" for key in expected - set(signed_by))
    if missing:
        raise SignatureMissingError(f"{what} is not signed by {', '.join(missing)}")
