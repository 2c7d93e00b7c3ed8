"""Ed25519 keys under a name, in the text form that verifiers are configured with.

A key is written `name+id+base64(type || public key)`. The type is signed for,
through the id: one public key of two types is two keys, and a signature of one
cannot be shown as the other's.

Spec: C2SP signed-note, "Signatures", "Verifier keys"; C2SP tlog-cosignature;
docs/protocol.md, "The log".
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from entropyd.errors import KeyInvalidError, SignatureInvalidError

PUBLIC_KEY_BYTES = 32
SEED_BYTES = 32
SIGNATURE_BYTES = 64
KEY_ID_BYTES = 4

# An origin of 128 characters and `/receipts`, and no novel.
_SHOWN_AT_MOST = 160

_VERIFIER_KEY = re.compile(r"([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)")


class KeyType(IntEnum):
    """What a key signs: the text of a note, or, as a witness, a checkpoint at a time."""

    ED25519 = 0x01
    COSIGNATURE = 0x04


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key that somebody trusts under a name.

    Attributes:
        name: what it is called, not empty, without white space and `+`.
        public_key: the 32 bytes of RFC 8032.
        key_type: what it signs.

    Raises:
        KeyInvalidError: on construction, if name or key has another form.
    """

    name: str
    public_key: bytes
    key_type: KeyType = KeyType.ED25519

    def __post_init__(self) -> None:
        """Refuse what no signature line could name."""
        if not is_key_name(self.name):
            raise KeyInvalidError("a key name is empty, or has white space, `+` or no UTF-8")
        if len(self.public_key) != PUBLIC_KEY_BYTES:
            raise KeyInvalidError(
                f"key {shown(self.name)}: {len(self.public_key)} bytes; expected {PUBLIC_KEY_BYTES}"
            )

    @property
    def key_id(self) -> bytes:
        """The four bytes by which, with the name, a signature line names this key."""
        tagged = bytes([self.key_type]) + self.public_key
        return sha256(self.name.encode() + b"\n" + tagged).digest()[:KEY_ID_BYTES]

    def encode(self) -> str:
        """Return the text form."""
        tagged = bytes([self.key_type]) + self.public_key
        return f"{self.name}+{self.key_id.hex()}+{b64encode(tagged).decode('ascii')}"

    @classmethod
    def decode(cls, text: str) -> Self:
        """Return the key that `encode` wrote; no other spelling is read.

        Raises:
            KeyInvalidError: the text is no verifier key, the id is not that of
                name and key, or the type is neither Ed25519 nor a cosignature.
        """
        match = _VERIFIER_KEY.fullmatch(text)
        if match is None:
            raise KeyInvalidError("a verifier key is name+id+base64, the id 8 digits of hex")
        name, key_id, tagged = match[1], match[2], canonical_base64(match[3])
        if tagged is None:
            raise KeyInvalidError(f"key {shown(name)}: its base64 is not canonical")
        try:
            key = cls(name, tagged[1:], KeyType(tagged[0]))
        except ValueError:
            raise KeyInvalidError(
                f"key {shown(name)} has type {tagged[0]}; expected 1 (Ed25519) or 4 (cosignature)"
            ) from None
        if key.key_id.hex() != key_id:
            raise KeyInvalidError(
                f"key {shown(name)}: id {key_id} is not that of this name and key"
            )
        return key

    def check(self, signature: bytes, message: bytes) -> None:
        """Check a plain Ed25519 signature, RFC 8032, by this key.

        Raises:
            SignatureInvalidError: this key did not sign these bytes.
        """
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, message)
        except (InvalidSignature, ValueError):
            raise SignatureInvalidError(
                f"key {self.name} ({self.key_id.hex()}) did not make the signature that names it"
            ) from None


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key under its name. It signs whatever it is given: callers keep keys apart.

    Attributes:
        key: its public half.
        private: the library's own object, which no text shows.
    """

    key: VerifierKey
    private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def from_seed(cls, name: str, seed: bytes, key_type: KeyType = KeyType.ED25519) -> "SigningKey":
        """Return the key of RFC 8032 that 32 secret bytes stand for.

        Raises:
            KeyInvalidError: the name cannot stand in a signature line, or the
                seed has another length.
        """
        if len(seed) != SEED_BYTES:
            raise KeyInvalidError(f"key {name}: a seed of {len(seed)} bytes; expected {SEED_BYTES}")
        private = Ed25519PrivateKey.from_private_bytes(seed)
        public = private.public_key().public_bytes_raw()
        return cls(VerifierKey(name, public, key_type), private)

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of the signature, the same for the same message."""
        return self.private.sign(message)


def is_key_name(name: str) -> bool:
    """Return whether a signature line can hold this name."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return bool(name) and not any(
        character == "+" or character.isspace() or character < " " for character in name
    )


def shown(name: str) -> str:
    """Return a stranger's name for a message: it moves no cursor and fills no screen."""
    return ascii(name[:_SHOWN_AT_MOST])[1:-1]


def canonical_base64(text: str) -> bytes | None:
    """Return the bytes of standard base64, or None for any spelling but the one.

    The decoder alone ignores the bits that padding leaves over, so that one
    value would have several texts.
    """
    try:
        decoded = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        return None
    return decoded if b64encode(decoded).decode("ascii") == text else None
