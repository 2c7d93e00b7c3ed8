"""Names that a caller gives to items or to kinds of tiles, for people.

Only their hash enters the rules. What is drawn is numbers.

Spec: docs/protocol.md, "Labels".
"""

from collections.abc import Sequence
from hashlib import sha256

from entropyd.encoding import lp, u32
from entropyd.errors import RequestError

MAX_LABEL_BYTES = 256
# All labels of a draw, without their length prefixes.
MAX_LABELS_BYTES = 1 << 20

LABELS_LABEL = lp(b"entropyd/labels/v1")


def labels_hash(labels: Sequence[str], count: int, *, field: str = "labels") -> bytes:
    """Return the 32 bytes that stand for the labels in the rules.

    Args:
        labels: one for each item, in order; equal ones are allowed.
        count: how many items there are, at most 2**32 - 1.
        field: path of the labels in the request, for the error text.

    Raises:
        RequestError: not one label an item, or a label is empty, too long or
            has a control character, or all of them are too long; names `field`.
    """
    if len(labels) != count:
        raise RequestError(field, f"are {len(labels)}; expected {count}, one for each")
    encoded = [_encode(field, place, label) for place, label in enumerate(labels)]
    total = sum(map(len, encoded))
    if total > MAX_LABELS_BYTES:
        raise RequestError(
            field, f"have {total} bytes; expected at most {MAX_LABELS_BYTES}, use shorter ones"
        )
    return sha256(LABELS_LABEL + u32(count) + b"".join(map(lp, encoded))).digest()


def _encode(field: str, place: int, label: str) -> bytes:
    try:
        encoded = label.encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError(field, f"place {place} has a lone surrogate, which is no text") from None
    if not 1 <= len(encoded) <= MAX_LABEL_BYTES:
        raise RequestError(
            field,
            f"place {place} has {len(encoded)} bytes; expected 1 to {MAX_LABEL_BYTES} of UTF-8",
        )
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in label):
        raise RequestError(field, f"place {place} has a control character; leave it out")
    return encoded
