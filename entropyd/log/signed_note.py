"""Signed notes: a text for people, and under it who signed it.

A note is its text, an empty line, and a line for each signature: em dash,
space, key name, space, base64 of key id and signature. Whoever reads one knows
some keys, and ignores the lines of others.

The text of a note is nothing until a trusted key is seen to have signed it:
`verify` comes before any use.

Spec: C2SP signed-note; docs/protocol.md, "The log".
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from entropyd.errors import NoteInvalidError, SignatureInvalidError, SignatureMissingError
from entropyd.log.keys import (
    KEY_ID_BYTES,
    KeyType,
    SigningKey,
    VerifierKey,
    canonical_base64,
    is_key_name,
)

# What the reader that notes come from, golang.org/x/mod/sumdb/note, takes too.
MAX_NOTE_BYTES = 1_000_000
MAX_SIGNATURES = 100

_CONTROL = re.compile(rb"[\x00-\x09\x0B-\x1F]")
_DASH = "\N{EM DASH} "


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature line as it stands, checked by nobody yet.

    Attributes:
        name: of the key that is said to have signed.
        key_id: 4 bytes.
        value: the signature, at least one byte; its form is the key type's.
    """

    name: str
    key_id: bytes
    value: bytes

    def encode(self) -> str:
        """Return the line, without its end."""
        return f"{_DASH}{self.name} {b64encode(self.key_id + self.value).decode('ascii')}"

    def names(self, key: VerifierKey) -> bool:
        """Return whether the line says that this key signed."""
        return (self.name, self.key_id) == (key.name, key.key_id)


@dataclass(frozen=True, slots=True)
class SignedNote:
    """A note taken apart. That it could be says nothing about its signatures.

    Attributes:
        text: UTF-8 with its last newline: what is signed.
        signatures: 1 to 100, in their order.
    """

    text: bytes
    signatures: tuple[Signature, ...]

    def encode(self) -> bytes:
        """Return the note."""
        lines = "".join(f"{signature.encode()}\n" for signature in self.signatures)
        return self.text + b"\n" + lines.encode()

    @classmethod
    def decode(cls, note: bytes) -> Self:
        """Return the note that `encode` wrote; no other spelling is read.

        Raises:
            NoteInvalidError: it is no signed note; names line and byte.
        """
        if len(note) > MAX_NOTE_BYTES:
            raise NoteInvalidError(f"{len(note)} bytes; expected at most {MAX_NOTE_BYTES}")
        _check_text(note)
        # An empty line may stand in the text; the last one ends it.
        end = note.rfind(b"\n\n") + 1
        if not end:
            raise NoteInvalidError("no empty line stands between a text and its signatures")
        lines = note[end + 1 : -1].decode().split("\n")
        if len(lines) > MAX_SIGNATURES:
            raise NoteInvalidError(f"{len(lines)} signatures; expected at most {MAX_SIGNATURES}")
        first = note.count(b"\n", 0, end + 1) + 1
        return cls(note[:end], tuple(_signature(line, at) for at, line in enumerate(lines, first)))

    def verify(self, keys: Sequence[VerifierKey]) -> tuple[VerifierKey, ...]:
        """Return who of `keys` signed the text, in the order of the lines.

        Args:
            keys: the trusted ones, of type `ED25519`; lines of others are ignored.

        Raises:
            SignatureInvalidError: a line names one of them that did not sign, or
                names it twice.
            SignatureMissingError: none of them signed.
        """
        signed = []
        for key, signature in self.signed_by(keys):
            if key.key_type is not KeyType.ED25519:
                raise SignatureInvalidError(f"key {key.name} signs as a witness, not the text")
            key.check(signature.value, self.text)
            signed.append(key)
        if not signed:
            names = ", ".join(f"{key.name} ({key.key_id.hex()})" for key in keys) or "no key"
            raise SignatureMissingError(f"signed by none of those trusted here: {names}")
        return tuple(signed)

    def signed_by(self, keys: Sequence[VerifierKey]) -> list[tuple[VerifierKey, Signature]]:
        """Return the lines that name one of `keys`, each with it; none of them is checked.

        Raises:
            SignatureInvalidError: a key is named twice: a note has one spelling.
        """
        found = [
            (key, signature)
            for signature in self.signatures
            for key in keys
            if signature.names(key)
        ]
        named = [key for key, _ in found]
        for key in named:
            if named.count(key) > 1:
                raise SignatureInvalidError(f"key {key.name} ({key.key_id.hex()}) signs twice")
        return found


def sign(text: bytes, *signers: SigningKey) -> SignedNote:
    """Return the note of a text, signed by each of the keys in their order.

    Args:
        text: UTF-8 without control characters but newlines, ends in a newline.
        signers: at least one, of type `ED25519`.

    Raises:
        NoteInvalidError: the text can stand in no note.
    """
    _check_text(text)
    return SignedNote(
        text,
        tuple(
            Signature(signer.key.name, signer.key.key_id, signer.sign(text)) for signer in signers
        ),
    )


def _check_text(text: bytes) -> None:
    """Refuse bytes that are not UTF-8 lines."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise NoteInvalidError("not UTF-8", **_place(text, error.start)) from None
    control = _CONTROL.search(text)
    if control:
        shown = f"control character 0x{control[0].hex()}"
        raise NoteInvalidError(shown, **_place(text, control.start()))
    if not text.endswith(b"\n"):
        raise NoteInvalidError("the last line does not end")


def _place(text: bytes, at: int) -> dict[str, int]:
    """Return line and byte of a position, both from 1."""
    return {"line": text.count(b"\n", 0, at) + 1, "byte": at - text.rfind(b"\n", 0, at)}


def _signature(line: str, number: int) -> Signature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space or not is_key_name(name):
        raise NoteInvalidError("expected em dash, key name, signature", line=number)
    value = canonical_base64(encoded)
    if value is None:
        raise NoteInvalidError("the signature is not canonical base64", line=number)
    if len(value) <= KEY_ID_BYTES:
        raise NoteInvalidError("the signature has no bytes after its key id", line=number)
    return Signature(name, value[:KEY_ID_BYTES], value[KEY_ID_BYTES:])
