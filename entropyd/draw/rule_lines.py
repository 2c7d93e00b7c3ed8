"""Rules as lines: the one spelling under which a set of rules is hashed.

Hands, other draws and rounds have names of their own and this grammar in
common. Nothing here repairs a spelling: what is not canonical is refused, so
that one set of rules has one hash.

Spec: docs/protocol.md, "Rules".
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from entropyd.errors import RequestError

MAX_VALUE_BYTES = 1024

_LINE = re.compile(rb"([a-z0-9_]{1,32})=([\x20-\x7E]{1,1024})\n")
# The largest number of any rule, 2^64, has 20 digits.
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_SHA256 = re.compile(r"[0-9a-f]{64}")

_Choice = TypeVar("_Choice", bound=StrEnum)


def encode_lines(lines: Mapping[str, str]) -> bytes:
    """Return the lines in byte order of their names, which are ASCII as their values are."""
    return "".join(f"{name}={lines[name]}\n" for name in sorted(lines)).encode("ascii")


def parse_lines(encoded: bytes, of: str = "rules") -> dict[str, str]:
    """Return name -> value, of lines in the one permitted order.

    Args:
        encoded: bytes from a record or from a stranger.
        of: what has the grammar of rules, for the error text.

    Raises:
        RequestError: these are not lines of the grammar; names `of`.
    """
    if not encoded:
        raise RequestError(of, "are empty; expected lines name=value")
    lines: dict[str, str] = {}
    position, previous = 0, ""
    while position < len(encoded):
        match = _LINE.match(encoded, position)
        if match is None:
            raise RequestError(of, f"byte {position} does not begin a line name=value")
        name, value = match[1].decode("ascii"), match[2].decode("ascii")
        if name <= previous:
            raise RequestError(
                of, f"{name} stands after {previous}; expected byte order, each name once"
            )
        lines[name] = value
        position, previous = match.end(), name
    return lines


def check_names(
    names: Iterable[str], *, required: frozenset[str], optional: frozenset[str], whose: str
) -> None:
    """Refuse a name that is unknown or missing.

    Args:
        names: as they stand in the lines.
        required: the names that always stand.
        optional: the names that may stand beside them.
        whose: what the rules are of, for the error text: "a hand".

    Raises:
        RequestError: names `rules.NAME`.
    """
    unknown = sorted(set(names) - required - optional)
    if unknown:
        known = ", ".join(sorted(required | optional))
        raise RequestError(f"rules.{unknown[0]}", f"is not a rule of {whose}; expected {known}")
    missing = sorted(required - set(names))
    if missing:
        raise RequestError(
            f"rules.{missing[0]}", f"is missing; the rules of {whose} always name it"
        )


def choice(
    choices: type[_Choice], name: str, lines: Mapping[str, str], of: str = "rules"
) -> _Choice:
    """Return the member of `choices` that the line names; RequestError names `rules.NAME`."""
    try:
        return choices(lines[name])
    except ValueError:
        raise RequestError(
            f"{of}.{name}", f"expected one of {', '.join(choice.value for choice in choices)}"
        ) from None


def decimal(name: str, text: str, of: str = "rules") -> int:
    """Return the number that `text` spells; RequestError names `rules.NAME`."""
    if not _DECIMAL.fullmatch(text):
        raise RequestError(
            f"{of}.{name}", "expected a decimal number without sign and leading zeros"
        )
    return int(text)


def sha256_digest(name: str, text: str) -> bytes:
    """Return the 32 bytes that 64 lower-case digits spell; RequestError names `rules.NAME`."""
    if not _SHA256.fullmatch(text):
        raise RequestError(f"rules.{name}", "expected 64 lower-case hexadecimal digits")
    return bytes.fromhex(text)
