"""JSON from a stranger, read so that one text has one meaning, or refused by name.

The parser of the standard library takes more than JSON and guesses where JSON
leaves a choice: it takes the last of two equal names, NaN, floats, numbers of
any length, and nests as deep as its stack. Each of these is refused here
before anything is looked up.

Spec: docs/protocol.md, "Files that verifiers take"; RFC 8259; RFC 7493 (I-JSON).
"""

import json
import re
from collections.abc import Mapping

from entropyd.errors import ProofMalformedError

# Ten times the largest raffle: 100,000 entries in 1 MiB, whose escapes make six bytes of one.
MAX_BYTES = 32 << 20
# The file, its outcome, the wins of all grids, those of one grid, a symbol with its cells.
MAX_DEPTH = 5
# RFC 7493, 2.2: the largest integer that every JSON reader has exactly. Larger ones are texts.
MAX_INTEGER = 2**53 - 1

# A string (to the end of the text if it does not end, so that no byte is looked at twice), or a
# bracket outside of strings.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
_DIGITS_OF_MAX = len(str(MAX_INTEGER))


def parse_document(data: bytes) -> Mapping[str, object]:
    """Return the JSON object that a file holds.

    Args:
        data: the whole file, as it came.

    Raises:
        ProofMalformedError: it is no JSON object in UTF-8, is larger or deeper than a proof, names
            something twice, or has a number that readers disagree about; names which.
    """
    text = _text(data)
    _check_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
    except json.JSONDecodeError as error:
        if error.pos == 0 and text[0].isprintable():
            raise ProofMalformedError(
                "is not JSON, nor a signed note: a proof begins with {, a receipt with"
                " `entropyd-receipt: v1`"
            ) from error
        raise ProofMalformedError(
            f"is not JSON: {error.msg.lower()}, line {error.lineno} column {error.colno}"
        ) from error
    if not isinstance(value, dict):
        raise ProofMalformedError("is JSON, but no object; expected {...}")
    return value


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        # Whoever reads files reads no further than to see this.
        raise ProofMalformedError(f"has more than {MAX_BYTES} bytes; no file of a proof has")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProofMalformedError(f"is not UTF-8: byte {error.start}") from error
    if not text.strip():
        raise ProofMalformedError("is empty")
    return text


def _check_depth(text: str) -> None:
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        first = text[token.start()]
        depth += (first in "[{") - (first in "]}")
        if depth > MAX_DEPTH:
            raise ProofMalformedError(
                f"nests deeper than {MAX_DEPTH} brackets, at character {token.start()}"
            )


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise ProofMalformedError(f"an object names {name[:40]!a} twice; expected it once")
        members[name] = value
    return members


def _integer(digits: str) -> int:
    # The length first: converting a number of a million digits takes quadratic time.
    if len(digits.lstrip("-")) > _DIGITS_OF_MAX or abs(int(digits)) > MAX_INTEGER:
        raise ProofMalformedError(
            f"has a number of {len(digits)} digits; expected it as text, in quotation marks"
        )
    if digits == "-0":
        raise ProofMalformedError("has the number -0; expected 0")
    return int(digits)


def _no_float(written: str) -> object:
    raise ProofMalformedError(f"has the number {written[:20]}; expected integers alone")
