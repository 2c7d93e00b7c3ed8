"""Texts of lines `name: value`, read so that an error says which line and which byte.

Spec: docs/protocol.md, "Receipts".
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from entropyd.errors import ReceiptInvalidError, RequestError
from entropyd.log.values import BadValueError, Codec

# The limit of an entry of a log with tiles, whose length has two bytes there.
MAX_TEXT = 65_535

_FORBIDDEN = re.compile(rb"[^\x20-\x7E\n]")


class Field(NamedTuple):
    """A line that a text may have.

    Attributes:
        name: what stands before the colon.
        attribute: of the object that holds the value.
        codec: how the value is written.
        repeated: the attribute is a tuple, with a line for each value.
    """

    name: str
    attribute: str
    codec: Codec
    repeated: bool = False


def write_lines(fields: Iterable[Field], holder: object) -> bytes:
    """Return a line for each value that `holder` has, in the order of `fields`.

    Raises:
        RequestError: a value has no spelling, or the text is too long.
    """
    lines = [
        f"{name}: {codec.encode(attribute, one)}\n"
        for name, attribute, codec, repeated in fields
        if _stands(value := getattr(holder, attribute))
        for one in (value if repeated else (value,))
    ]
    text = "".join(lines).encode("ascii")
    if len(text) > MAX_TEXT:
        raise RequestError("receipt", f"has {len(text)} bytes; expected at most {MAX_TEXT}")
    return text


def has(field: Field, holder: object) -> bool:
    """Return whether a line stands there for this field; one does for the number 0."""
    return _stands(getattr(holder, field.attribute))


def _stands(value: object) -> bool:
    return not (value is None or value is False or value == ())


def read_lines(fields: Iterable[Field], text: bytes) -> dict[str, Any]:
    """Return attribute -> value of a text whose lines stand in the order of `fields`.

    Args:
        fields: every line that may stand there.
        text: from a stranger.

    Raises:
        ReceiptInvalidError: the text breaks a rule of its form, a name is unknown
            or out of place, or a value has another spelling; names line and byte.
    """
    left, values = iter(tuple(fields)), dict[str, Any]()
    field: Field | None = None
    for number, name, written in _split(text):
        if field is None or not field.repeated or field.name != name:
            field = _find(left, name, number)
        value = _decode(field, number, written)
        if field.repeated:
            values[field.attribute] = (*values.get(field.attribute, ()), value)
        else:
            values[field.attribute] = value
    return values


def _split(text: bytes) -> Iterator[tuple[int, str, str]]:
    """Yield number, name and value of every line."""
    if len(text) > MAX_TEXT:
        raise ReceiptInvalidError(f"{len(text)} bytes; expected at most {MAX_TEXT}")
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        at = forbidden.start()
        raise ReceiptInvalidError(
            f"byte 0x{forbidden[0].hex()}; expected printable ASCII",
            line=text.count(b"\n", 0, at) + 1,
            byte=at - text.rfind(b"\n", 0, at),
        )
    *lines, last = text.decode("ascii").split("\n")
    if last or not lines:
        raise ReceiptInvalidError("does not end in a newline", line=len(lines) + 1)
    for number, line in enumerate(lines, start=1):
        name, colon, value = line.partition(": ")
        if not colon or not value:
            raise ReceiptInvalidError("expected name, colon, space, value", line=number, byte=1)
        yield number, name, value


def _find(left: Iterator[Field], name: str, number: int) -> Field:
    """Return the field of this name among those that may still follow."""
    for field in left:
        if field.name == name:
            return field
    raise ReceiptInvalidError(
        f"{name} is unknown, stands twice, or stands after a line that it precedes",
        line=number,
        byte=1,
    )


def _decode(field: Field, number: int, written: str) -> Any:
    try:
        return field.codec.decode(written)
    except BadValueError as error:
        raise ReceiptInvalidError(
            f"{field.name}: {error}", line=number, byte=len(field.name) + 3 + error.at
        ) from error


def line_of(name: str, text: bytes) -> int:
    """Return the number of the first line of this name, 0 if there is none."""
    names = [line.partition(b": ")[0] for line in text.split(b"\n")]
    return names.index(name.encode()) + 1 if name.encode() in names else 0
