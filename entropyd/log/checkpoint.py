"""Checkpoints: the operator's signed word on what its log is, and who else saw the same.

A log that shows two people two histories must sign two checkpoints that no
consistency proof joins. Witnesses are others who sign a checkpoint only after
such a proof from the last one they signed; who sees the cosignatures of
witnesses he trusts need not trust the operator not to fork the log.

Spec: C2SP tlog-checkpoint, tlog-cosignature; docs/protocol.md, "The log".
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from entropyd.encoding import u64
from entropyd.errors import CheckpointInvalidError, SignatureInvalidError
from entropyd.log.keys import (
    SIGNATURE_BYTES,
    KeyType,
    SigningKey,
    VerifierKey,
    canonical_base64,
    shown,
)
from entropyd.log.merkle import EMPTY_ROOT, HASH_BYTES, MAX_SIZE
from entropyd.log.signed_note import Signature, SignedNote

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_TIME_BYTES = len(u64(0))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of a log.

    Attributes:
        origin: name of the log, not empty.
        size: leaves, 0 to 2**63 - 1.
        root: 32 bytes, those of nothing for a log without leaves.
        extensions: further lines, not empty. A log of ours has none; what others
            write there is kept, since it is signed, and means nothing here.

    Raises:
        CheckpointInvalidError: on construction, if one of them is none of these.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no checkpoint says."""
        lines = (self.origin, *self.extensions)
        if any(not line or "\n" in line for line in lines):
            raise CheckpointInvalidError("origin or an extension line is empty, or two lines")
        if not 0 <= self.size <= MAX_SIZE:
            raise CheckpointInvalidError("the size is outside 0 to 2^63 - 1", line=2)
        if len(self.root) != HASH_BYTES:
            raise CheckpointInvalidError(f"the root has not {HASH_BYTES} bytes", line=3)
        if (self.size == 0) != (self.root == EMPTY_ROOT):
            raise CheckpointInvalidError("the root is that of another size", line=3)

    def encode(self) -> bytes:
        """Return the text that is signed."""
        root = b64encode(self.root).decode("ascii")
        lines = (self.origin, str(self.size), root, *self.extensions)
        return "".join(f"{line}\n" for line in lines).encode()

    @classmethod
    def decode(cls, text: bytes) -> Self:
        """Return the checkpoint that `encode` wrote; no other spelling is read.

        Raises:
            CheckpointInvalidError: the text is no checkpoint; names the line.
        """
        try:
            lines = text.decode().split("\n")
        except UnicodeDecodeError:
            raise CheckpointInvalidError("not UTF-8") from None
        if len(lines) < 4 or lines[-1]:
            raise CheckpointInvalidError("expected at least the lines origin, size and root")
        origin, size, root, *extensions = lines[:-1]
        if not _DECIMAL.fullmatch(size):
            raise CheckpointInvalidError("expected a decimal size without leading zeros", line=2)
        decoded = canonical_base64(root)
        if decoded is None:
            raise CheckpointInvalidError("expected a root in canonical base64", line=3)
        return cls(origin, int(size), decoded, tuple(extensions))


@dataclass(frozen=True, slots=True)
class Cosignature:
    """What a trusted witness says: this was the largest tree of the log that it had seen.

    Attributes:
        witness: name of its key.
        time_s: when, by its clock, in seconds since 1970.
    """

    witness: str
    time_s: int


@dataclass(frozen=True, slots=True)
class SeenCheckpoint:
    """A checkpoint that its log signed, and who else did.

    Attributes:
        checkpoint: what was signed.
        signed_by: keys of the log; two only around the change of its key.
        cosignatures: of trusted witnesses, in the order of the note.
    """

    checkpoint: Checkpoint
    signed_by: tuple[VerifierKey, ...]
    cosignatures: tuple[Cosignature, ...]

    def signers(self) -> str:
        """Return who vouches for this history, for people to read."""
        if not self.cosignatures:
            return "signed by the operator only"
        return "signed by the operator, seen by " + ", ".join(
            cosignature.witness for cosignature in self.cosignatures
        )


def open_checkpoint(
    note: bytes, log: Sequence[VerifierKey], witnesses: Sequence[VerifierKey] = ()
) -> SeenCheckpoint:
    """Return what a log's signed checkpoint says, and which witnesses it shows.

    Args:
        note: from anywhere.
        log: the keys that the caller trusts for this size of the log. Their name
            is the origin.
        witnesses: keys of type `COSIGNATURE` that the caller trusts; others'
            cosignatures are ignored.

    Raises:
        NoteInvalidError: it is no signed note.
        SignatureMissingError: no key of the log signed it.
        SignatureInvalidError: a trusted key is named and did not sign.
        CheckpointInvalidError: the text is no checkpoint, or another log's.
    """
    opened = SignedNote.decode(note)
    signed_by = opened.verify(log)
    checkpoint = Checkpoint.decode(opened.text)
    for key in signed_by:
        if key.name != checkpoint.origin:
            raise CheckpointInvalidError(
                f"of the log {shown(checkpoint.origin)}, signed by the key of {shown(key.name)}",
                line=1,
            )
    cosignatures = tuple(
        _check_cosignature(opened.text, key, signature)
        for key, signature in opened.signed_by(witnesses)
    )
    return SeenCheckpoint(checkpoint, signed_by, cosignatures)


def cosign(checkpoint: bytes, witness: SigningKey, time_s: int) -> Signature:
    """Return the line that a witness adds to a checkpoint after it checked its consistency.

    Args:
        checkpoint: the signed text.
        witness: a key of type `COSIGNATURE`.
        time_s: by the witness's clock, seconds since 1970, 1 to 2**63 - 1.
    """
    value = u64(time_s) + witness.sign(_cosigned(checkpoint, time_s))
    return Signature(witness.key.name, witness.key.key_id, value)


def _check_cosignature(text: bytes, key: VerifierKey, signature: Signature) -> Cosignature:
    if key.key_type is not KeyType.COSIGNATURE:
        raise SignatureInvalidError(f"key {key.name} is no witness's: it signs without a time")
    if len(signature.value) != _TIME_BYTES + SIGNATURE_BYTES:
        raise SignatureInvalidError(f"witness {key.name}: its cosignature has another length")
    time_s = int.from_bytes(signature.value[:_TIME_BYTES], "big")
    # The format ends there, and no Ed25519 witness leaves the time out.
    if not 1 <= time_s <= MAX_SIZE:
        raise SignatureInvalidError(f"witness {key.name}: its time is not 1 to 2^63 - 1")
    key.check(signature.value[_TIME_BYTES:], _cosigned(text, time_s))
    return Cosignature(key.name, time_s)


def _cosigned(text: bytes, time_s: int) -> bytes:
    return b"cosignature/v1\n" + f"time {time_s}\n".encode("ascii") + text
