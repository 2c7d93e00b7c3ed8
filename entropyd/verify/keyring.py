"""Under which keys a verifier looks at notes, and what that is worth.

A file can name keys. Whoever made the file could have made those too, so they
show that its parts belong together and nothing about who made them. Keys that
the verifier was given by other means replace them.

Spec: docs/protocol.md, "The hand file".
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from entropyd.errors import (
    KeyInvalidError,
    ProofError,
    ProofMalformedError,
    ProofMismatchError,
    RequestError,
    SignatureInvalidError,
    SignatureMissingError,
    TextInvalidError,
    VerificationError,
)
from entropyd.log.checkpoint import SeenCheckpoint, open_checkpoint
from entropyd.log.keys import KeyType, VerifierKey
from entropyd.log.receipt import Receipt, key_names
from entropyd.log.seat_note import SeatNote
from entropyd.log.signed_note import SignedNote
from entropyd.verify.fields import Fields

# Two in force, two before them, and the witnesses. Each is compared with each signature.
MAX_KEYS = 16

NOT_TRUSTED = (
    "who signed: the receipts are signed by a key that the file itself names: not trusted;"
    " compare it with the operator's, or give it with --key"
)

_CHANGED = (
    "the text was changed after it was signed: an editor that changes white space or an end of"
    " line is enough; or the signature is of another text"
)
_OTHER_SIGNER = (
    "it is of another log, or was signed by a key that was changed before or after, or by"
    " somebody else"
)
_CAUSES: tuple[tuple[type[VerificationError], str], ...] = (
    (SignatureInvalidError, _CHANGED),
    (SignatureMissingError, _OTHER_SIGNER),
)


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys to look at a file's notes with.

    Attributes:
        named: those of the file, at most MAX_KEYS.
        given: those that the verifier was given; if there is one, only these count.
    """

    named: tuple[VerifierKey, ...]
    given: tuple[VerifierKey, ...]

    @property
    def trusted(self) -> bool:
        """Whether somebody other than the file vouches for the keys."""
        return bool(self.given)

    @property
    def witnesses(self) -> tuple[VerifierKey, ...]:
        """The witnesses that the verifier trusts; a file's own count for nothing."""
        return tuple(key for key in self.given if key.key_type is KeyType.COSIGNATURE)

    def of(self, name: str) -> tuple[VerifierKey, ...]:
        """Return the keys of this name that sign texts."""
        keys = self.given or self.named
        return tuple(key for key in keys if (key.name, key.key_type) == (name, KeyType.ED25519))

    def open_receipt(self, note: bytes) -> Receipt:
        """Return what a receipt says that a receipt key of its log signed.

        Raises:
            VerificationError: it is no such note; which, is said by the subclass.
        """
        opened = SignedNote.decode(note)
        receipt = Receipt.decode(opened.text)
        opened.verify(self.of(key_names(receipt.log)[1]))
        return receipt

    def open_seat_note(self, note: bytes) -> SeatNote:
        """Return what a note to a seat says that a receipt key of its log signed.

        Raises:
            VerificationError: as `open_receipt`.
        """
        opened = SignedNote.decode(note)
        told = SeatNote.decode(opened.text)
        opened.verify(self.of(key_names(told.log)[1]))
        return told

    def open_checkpoint(self, note: bytes, origin: str) -> SeenCheckpoint:
        """Return what a checkpoint of this log says, and which trusted witnesses saw it.

        Raises:
            VerificationError: as `open_receipt`.
        """
        return open_checkpoint(note, self.of(origin), self.witnesses)


def read_keys(fields: Fields) -> tuple[VerifierKey, ...]:
    """Return the keys that a file names.

    Raises:
        ProofMalformedError: one is no key, or they are too many.
    """
    texts = fields.texts("keys")
    if len(texts) > MAX_KEYS:
        fields.refuse("keys", f"are {len(texts)}; expected at most {MAX_KEYS}")
    with located("keys"):
        return tuple(map(VerifierKey.decode, texts))


@contextmanager
def located(field: str, *causes: str) -> Iterator[None]:
    """Say of whatever is refused within where in the file it stands.

    Args:
        field: path of the member.
        causes: what usually explains it here, named first.

    Raises:
        ProofMalformedError: a text or a key has a form that none has.
        ProofMismatchError: anything else was refused.
    """
    try:
        yield
    except ProofError as error:
        if error.field:
            raise
        raise ProofMismatchError(str(error), field=field, causes=causes) from error
    except (TextInvalidError, KeyInvalidError, RequestError) as error:
        raise ProofMalformedError(str(error), field=field) from error
    except VerificationError as error:
        usual = tuple(cause for kind, cause in _CAUSES if isinstance(error, kind))
        raise ProofMismatchError(str(error), field=field, causes=(*causes, *usual)) from error
