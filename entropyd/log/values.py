"""How each kind of value is written in a receipt: one spelling each, and its strict inverse.

A codec's `encode` writes a value, and refuses one that has no spelling with a
RequestError: whoever wrote it must act. Its `decode` reads what `encode` wrote
and nothing else, and refuses the rest with a BadValueError, which says where in
the value; whoever reads the text turns it into line and byte.

Spec: docs/protocol.md, "Receipts".
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from entropyd.encoding import check_id
from entropyd.errors import KeyInvalidError, RequestError
from entropyd.log.keys import VerifierKey
from entropyd.log.merkle import HASH_BYTES

MAX_U64 = (1 << 64) - 1

# Room for a sentence, and for a page of source lines in one receipt.
MAX_TEXT_BYTES = 1024


class BadValueError(Exception):
    """A text is not the spelling of any value. Never leaves this package.

    Attributes:
        at: position in the value, from 0.
    """

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


class Codec(Protocol):
    """One kind of value and its spelling."""

    def encode(self, field: str, value: Any) -> str:
        """Return the spelling; RequestError naming `field` if there is none."""

    def decode(self, text: str) -> Any:
        """Return the value; BadValueError for any other text."""


@dataclass(frozen=True, slots=True)
class Id:
    """An id of section 2; an origin is one without `+`."""

    plus: bool = True

    def encode(self, field: str, value: str) -> str:
        """Return the id itself."""
        check_id(field, value)
        if not self.plus and "+" in value:
            raise RequestError(field, "has a +, which no key name can hold; use another origin")
        return value

    def decode(self, text: str) -> str:
        """Return the id."""
        try:
            return self.encode("id", text)
        except RequestError as error:
            raise BadValueError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Decimal:
    """An integer from `least` to `most`, without sign and leading zeros."""

    least: int = 0
    most: int = MAX_U64

    def encode(self, field: str, value: int) -> str:
        """Return its digits."""
        if not self.least <= value <= self.most:
            raise RequestError(field, f"is {value}; expected {self.least} to {self.most}")
        return str(value)

    def decode(self, text: str) -> int:
        """Return the integer. Twenty digits are enough for 2**64 - 1."""
        if not re.fullmatch(r"0|[1-9][0-9]{0,19}", text):
            raise BadValueError("expected decimal digits without leading zeros")
        value = int(text)
        if not self.least <= value <= self.most:
            raise BadValueError(f"expected {self.least} to {self.most}")
        return value


class Hash:
    """32 bytes in lower-case hex."""

    def encode(self, field: str, value: bytes) -> str:
        """Return 64 digits."""
        if len(value) != HASH_BYTES:
            raise RequestError(field, f"has {len(value)} bytes; expected {HASH_BYTES}")
        return value.hex()

    def decode(self, text: str) -> bytes:
        """Return the bytes."""
        wrong = re.search(r"[^0-9a-f]", text)
        if wrong:
            raise BadValueError("expected lower-case hex", wrong.start())
        if len(text) != 2 * HASH_BYTES:
            raise BadValueError(f"has {len(text)} digits; expected {2 * HASH_BYTES}")
        return bytes.fromhex(text)


@dataclass(frozen=True, slots=True)
class OutsideText:
    """Text that somebody else chose, so that it can end no line and begin no field.

    Every byte of its UTF-8 outside 0x21 to 0x7E, and `%`, is `%` and two
    upper-case digits of hex.
    """

    least: int = 1

    def encode(self, field: str, value: str) -> str:
        """Return the text percent-encoded."""
        try:
            raw = value.encode()
        except UnicodeEncodeError:
            raise RequestError(field, "is no Unicode text: it has half a character") from None
        if not self.least <= len(raw) <= MAX_TEXT_BYTES:
            raise RequestError(
                field, f"has {len(raw)} bytes; expected {self.least} to {MAX_TEXT_BYTES}"
            )
        if _PLAIN.fullmatch(value):
            return value
        return "".join(chr(byte) if _stands_for_itself(byte) else f"%{byte:02X}" for byte in raw)

    def decode(self, text: str) -> str:
        """Return the text."""
        raw, at = bytearray(), 0
        while at < len(text):
            raw.append(_percent_byte(text, at))
            at += 3 if text[at] == "%" else 1
        if not self.least <= len(raw) <= MAX_TEXT_BYTES:
            raise BadValueError(f"has {len(raw)} bytes; expected {self.least} to {MAX_TEXT_BYTES}")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise BadValueError("does not decode to UTF-8") from None


# Nearly all that comes from outside: what has it only needs no second look.
_PLAIN = re.compile(r"[\x21-\x24\x26-\x7E]*")


def _stands_for_itself(byte: int) -> bool:
    return 0x21 <= byte <= 0x7E and byte != ord("%")


def _percent_byte(text: str, at: int) -> int:
    """Return the byte that is spelt at a position."""
    if text[at] != "%":
        if not _stands_for_itself(ord(text[at])):
            raise BadValueError("expected printable ASCII, the rest percent-encoded", at)
        return ord(text[at])
    if not re.fullmatch(r"[0-9A-F]{2}", text[at + 1 : at + 3]):
        raise BadValueError("expected two upper-case digits of hex after %", at)
    byte = int(text[at + 1 : at + 3], 16)
    if _stands_for_itself(byte):
        raise BadValueError(f"{chr(byte)} is not percent-encoded", at)
    return byte


@dataclass(frozen=True, slots=True)
class Word:
    """One of a few words."""

    words: type[StrEnum]

    def encode(self, field: str, value: StrEnum) -> str:
        """Return the word."""
        if not isinstance(value, self.words):
            raise RequestError(field, f"is none of {', '.join(self.words)}")
        return value.value

    def decode(self, text: str) -> StrEnum:
        """Return what the word stands for."""
        try:
            return self.words(text)
        except ValueError:
            known = ", ".join(word.value for word in self.words)
            raise BadValueError(f"expected one of {known}") from None


@dataclass(frozen=True, slots=True)
class Flag:
    """A line that is there, with this one word, or is not."""

    word: str

    def encode(self, field: str, value: bool) -> str:  # noqa: FBT001 - a value as any other
        """Return the word; who has no flag writes no line."""
        if value is not True:
            raise RequestError(field, f"is {value!r}; expected True, or no such field")
        return self.word

    def decode(self, text: str) -> bool:
        """Return True."""
        if text != self.word:
            raise BadValueError(f"expected {self.word}, or no such line")
        return True


class Key:
    """A verifier key in its text form, of printable ASCII."""

    def encode(self, field: str, value: VerifierKey) -> str:
        """Return `name+id+base64`."""
        if not re.fullmatch(r"[\x21-\x7E]+", value.name):
            raise RequestError(field, "has a name that is not printable ASCII; use another origin")
        return value.encode()

    def decode(self, text: str) -> VerifierKey:
        """Return the key."""
        try:
            key = VerifierKey.decode(text)
            self.encode("key", key)
        except (KeyInvalidError, RequestError) as error:
            raise BadValueError(str(error)) from error
        return key
