"""What the operator signs with: the two keys of a log, and those that they replaced.

A receipt is signed by the key that was in force for its index, whenever it is
asked for: Ed25519 gives one signature a text, so a signed receipt is the same
each time and need not be kept.

Spec: docs/protocol.md, "The two keys of a log".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from entropyd.errors import InternalError, KeyInvalidError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.keys import SigningKey, VerifierKey
from entropyd.log.receipt import key_names
from entropyd.log.signed_note import sign

# Before the index in a receipt; a note to a seat has no such line.
_INDEX = b"\nindex: "


@dataclass(frozen=True, slots=True)
class Term:
    """A private key and since when it signs.

    Attributes:
        signing: the key.
        entry: index of the entry that put it in force; -1 for the first one.
    """

    signing: SigningKey
    entry: int = -1


@dataclass(frozen=True, slots=True)
class LogSigner:
    """Signs for one log; a value that never changes.

    Attributes:
        origin: name of the log.
        receipts: keys of receipts and notes to seats, in the order in which they came into force.
        checkpoints: keys of checkpoints, likewise.
        earlier: what signs receipts of a log that this one goes on after, under another name.

    Raises:
        KeyInvalidError: on construction, if one has another name, or there is none, or their
            order is none.
    """

    origin: str
    receipts: tuple[Term, ...] = field(repr=False)
    checkpoints: tuple[Term, ...] = field(repr=False)
    earlier: tuple["LogSigner", ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse keys under a name that verifiers of this log do not know."""
        of_checkpoints, of_receipts = key_names(self.origin)
        _check_terms(of_receipts, self.receipts)
        _check_terms(of_checkpoints, self.checkpoints)

    def verifier_keys(self) -> tuple[VerifierKey, ...]:
        """Return what verifiers hold: each key of checkpoints, then each of receipts."""
        return tuple(term.signing.key for term in (*self.checkpoints, *self.receipts))

    def sign_receipt(self, text: bytes) -> bytes:
        """Return the signed note of a receipt, or of a note to a seat.

        Args:
            text: with its last newline, as `Receipt.encode` or `SeatNote.encode` wrote it.
        """
        log = f"\nlog: {self.origin}\n".encode("ascii")
        if log in text:
            return sign(text, *self._signers_of(text)).encode()
        for before in self.earlier:
            if f"\nlog: {before.origin}\n".encode("ascii") in text:
                return before.sign_receipt(text)
        raise InternalError(f"a receipt of another log than {self.origin}")

    def sign_checkpoint(self, checkpoint: Checkpoint, *, change: bool = False) -> bytes:
        """Return the signed checkpoint of a size that the newest key signs.

        Args:
            checkpoint: of this log, consistent with every one that was signed before.
            change: the key of before signs too, if there was one: what holds it sees the change.

        Raises:
            InternalError: it is another log's, or a tree without the entry that put the newest
                key in force.
        """
        newest = self.checkpoints[-1]
        if checkpoint.origin != self.origin or checkpoint.size <= newest.entry:
            raise InternalError(f"a checkpoint of {checkpoint.origin}, size {checkpoint.size}")
        signers = self.checkpoints[-2:] if change else (newest,)
        return sign(checkpoint.encode(), *[term.signing for term in signers]).encode()

    def _signers_of(self, text: bytes) -> list[SigningKey]:
        """Return the key in force, and the one that follows it in this very entry."""
        _, found, rest = text.partition(_INDEX)
        if not found or text.startswith(b"entropyd-note: "):
            return [self.receipts[-1].signing]
        index = int(rest.partition(b"\n")[0])
        in_force = [term for term in self.receipts if term.entry < index or term.entry < 0]
        following = [term for term in self.receipts if term.entry == index]
        return [term.signing for term in (in_force[-1], *following)]


def _check_terms(name: str, terms: Sequence[Term]) -> None:
    if not terms or any(term.signing.key.name != name for term in terms):
        raise KeyInvalidError(f"a signer of {name} has no key, or one of another name")
    entries = [term.entry for term in terms]
    if entries[0] != -1 or any(before >= after for before, after in pairwise(entries)):
        raise KeyInvalidError(f"the keys of {name} came into force in no order")
