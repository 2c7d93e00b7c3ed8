"""The members of a parsed file, each read as what it must be, or refused with its path.

Nothing is trimmed, folded or converted on the way: a value that is only almost
right is refused, and the text says what is wrong with it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from entropyd.encoding import check_id
from entropyd.errors import ProofMalformedError, RequestError

# No result is above 2^64 - 1, which has 20 digits.
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]*", re.ASCII)


class Fields:
    """One object of a file. Call `finish` when all of it was read.

    Attributes:
        path: where the object stands in the file; empty for the file itself.
    """

    def __init__(self, members: Mapping[str, object], path: str = "") -> None:
        """Read from `members`, which stand at `path`."""
        self.path = path
        self._members = members
        self._read: set[str] = set()

    def at(self, name: str) -> str:
        """Return the path of a member."""
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        """Return whether there is such a member."""
        return name in self._members

    def finish(self) -> None:
        """Refuse members that nobody read.

        Raises:
            ProofMalformedError: there is one. It would look checked without having been.
        """
        left = sorted(set(self._members) - self._read)
        if left:
            # Escaped: it goes to somebody's terminal.
            name = ascii(left[0][:40])[1:-1]
            self.refuse(name, "is no member of this kind of file; leave it out")

    def refuse(self, name: str, message: str) -> NoReturn:
        """Raise that a member is not what it must be."""
        raise ProofMalformedError(message, field=self.at(name))

    def refused(self, error: RequestError, member: str = "") -> ProofMalformedError:
        """Return what the code that draws refuses, as a refusal of this file.

        Args:
            error: names a field of what it was given.
            member: the member that holds this field; empty if the field is a member itself.
        """
        inside = member and not error.field.startswith(member)
        name = f"{member}.{error.field}" if inside else error.field
        message = str(error).removeprefix(f"{error.field}: ")
        return ProofMalformedError(message, field=self.at(name))

    def text(self, name: str) -> str:
        """Return a text."""
        return self._as_text(name, self._value(name))

    def id(self, name: str) -> str:
        """Return a text that is an id."""
        value = self.text(name)
        try:
            check_id(name, value)
        except RequestError as error:
            raise self.refused(error) from error
        return value

    def number(self, name: str, low: int, high: int) -> int:
        """Return an integer, `low` to `high`, that stands there as a JSON number."""
        return self._as_number(name, self._value(name), low, high)

    def decimal(self, name: str) -> int:
        """Return a number below 2^64 that stands there as text."""
        return self._as_decimal(name, self._value(name))

    def hex(self, name: str, length: int) -> bytes:
        """Return `length` bytes that stand there as lower-case hex."""
        return self._as_hex(name, self._value(name), length)

    def hexes(self, name: str, length: int) -> tuple[bytes, ...]:
        """Return a list of which each is `length` bytes."""
        values = enumerate(self._list(name))
        return tuple(self._as_hex(f"{name}[{place}]", value, length) for place, value in values)

    def blobs(self, name: str) -> tuple[bytes, ...]:
        """Return a list of byte strings of any length."""
        values = enumerate(self.texts(name))
        # Of an odd number of digits one is missing, which the other check then names.
        return tuple(
            self._as_hex(f"{name}[{place}]", value, (len(value) + 1) // 2)
            for place, value in values
        )

    def numbers(self, name: str, high: int) -> tuple[int, ...]:
        """Return a list of integers, 0 to `high`, that stand there as JSON numbers."""
        values = enumerate(self._list(name))
        return tuple(self._as_number(f"{name}[{place}]", value, 0, high) for place, value in values)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        values = enumerate(self._list(name))
        return tuple(self._as_text(f"{name}[{place}]", value) for place, value in values)

    def decimals(self, name: str) -> tuple[int, ...]:
        """Return a list of numbers below 2^64, each as text."""
        values = enumerate(self._list(name))
        return tuple(self._as_decimal(f"{name}[{place}]", value) for place, value in values)

    def nested(self, name: str) -> "Fields":
        """Return an object."""
        return self._as_object(name, self._value(name))

    def nested_list(self, name: str) -> tuple["Fields", ...]:
        """Return a list of objects."""
        values = enumerate(self._list(name))
        return tuple(self._as_object(f"{name}[{place}]", value) for place, value in values)

    def raw(self, name: str) -> object:
        """Return a member as it is, for a comparison with what was computed."""
        return self._value(name)

    def _value(self, name: str) -> object:
        if name not in self._members:
            self.refuse(name, "is missing")
        self._read.add(name)
        return self._members[name]

    def _list(self, name: str) -> Sequence[object]:
        value = self._value(name)
        if not isinstance(value, list):
            self.refuse(name, "expected a list [...]")
        return value

    def _as_number(self, name: str, value: object, low: int, high: int) -> int:
        if type(value) is not int or not low <= value <= high:
            self.refuse(name, f"expected a whole number from {low} to {high}, without quotes")
        return value

    def _as_object(self, name: str, value: object) -> "Fields":
        if not isinstance(value, dict):
            self.refuse(name, "expected an object {...}")
        return Fields(value, self.at(name))

    def _as_text(self, name: str, value: object) -> str:
        if not isinstance(value, str):
            self.refuse(name, "expected text in quotation marks")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ProofMalformedError(
                f"has half of a surrogate pair at character {error.start}", field=self.at(name)
            ) from error
        return value

    def _as_decimal(self, name: str, value: object) -> int:
        text = self._as_text(name, value)
        if _DECIMAL.fullmatch(text) is None or int(text) >= 1 << 64:
            self.refuse(
                name, "expected a decimal number below 2^64 as text, without sign or leading zeros"
            )
        return int(text)

    def _as_hex(self, name: str, value: object, length: int) -> bytes:
        text = self._as_text(name, value)
        good = _HEX.match(text)
        end = good.end() if good else 0
        if end < len(text):
            self.refuse(name, _bad_digit(text, end))
        if len(text) != 2 * length:
            self.refuse(name, f"has {len(text)} digits; expected {2 * length} for {length} bytes")
        return bytes.fromhex(text)


def _bad_digit(text: str, place: int) -> str:
    """Say what stands where a hex digit should, as people would look for it."""
    character = text[place]
    if character in "ABCDEF":
        return f"has the upper-case digit {character} at place {place}; expected lower case"
    if character.isspace():
        return f"has white space (U+{ord(character):04X}) at place {place}; leave it out"
    if text[: place + 1] == "0x":
        return "begins with 0x; expected the digits alone"
    return f"has U+{ord(character):04X} at place {place}; expected the digits 0-9 and a-f"
