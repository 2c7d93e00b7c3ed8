"""What a step keeps, as bytes: fields behind their lengths, and nothing else.

Each is as long as it says: bytes of another form are damage, and are told as
such. What is hashed or signed has forms of its own, in docs/protocol.md.
"""

from collections.abc import Sequence
from struct import pack as pack_numbers
from struct import unpack as unpack_numbers

from entropyd.encoding import lp
from entropyd.errors import LedgerDamagedError

_LENGTH_BYTES = 4


def pack(*fields: bytes) -> bytes:
    """Return fields, each behind its length."""
    return b"".join(map(lp, fields))


def unpack(packed: bytes, what: str) -> list[bytes]:
    """Return the fields that `pack` made these bytes of.

    Raises:
        LedgerDamagedError: they are no such bytes; names `what`.
    """
    fields, at = [], 0
    while at < len(packed):
        begin = at + _LENGTH_BYTES
        at = begin + int.from_bytes(packed[at:begin], "big")
        fields.append(packed[begin:at])
    if at != len(packed):
        raise LedgerDamagedError(f"{what}: its fields do not end where its bytes do")
    return fields


def pack_texts(texts: Sequence[str]) -> bytes:
    """Return texts as one field."""
    return pack(*[text.encode("utf-8") for text in texts])


def unpack_texts(packed: bytes, what: str) -> tuple[str, ...]:
    """Return the texts of a field; LedgerDamagedError as of `unpack`."""
    return tuple(text.decode("utf-8") for text in unpack(packed, what))


def pack_counts(counts: Sequence[int]) -> bytes:
    """Return numbers of 0 to 2**32 - 1 as one field, of fixed length."""
    return pack_numbers(f">{len(counts)}I", *counts)


def unpack_counts(packed: bytes) -> tuple[int, ...]:
    """Return the numbers of a field."""
    return unpack_numbers(f">{len(packed) // 4}I", packed)
