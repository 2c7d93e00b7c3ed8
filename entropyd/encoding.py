"""The three encodings that everything hashed or signed is built from.

Length prefixes make every concatenation injective: no field can imitate its
neighbour. All integers are big-endian.

Spec: docs/protocol.md, "Encoding".
"""

from entropyd.errors import RequestError

# Nearly all that is hashed is shorter than this, and every hand hashes twenty of them.
_PREFIXES = tuple(length.to_bytes(4, "big") for length in range(512))


def lp(data: bytes) -> bytes:
    """Return `data` behind its length as four big-endian bytes."""
    length = len(data)
    return (_PREFIXES[length] if length < 512 else length.to_bytes(4, "big")) + data


def u32(number: int) -> bytes:
    """Return `number`, 0 to 2**32 - 1, as four big-endian bytes."""
    return number.to_bytes(4, "big")


def u64(number: int) -> bytes:
    """Return `number`, 0 to 2**64 - 1, as eight big-endian bytes."""
    return number.to_bytes(8, "big")


MAX_ID_BYTES = 128


def check_id(field: str, value: str) -> bytes:
    """Return the bytes of an id (tenant, table, hand, user, source).

    Spec: docs/protocol.md, "Ids": 1 to 128 bytes, each 0x21 to 0x7E.

    Args:
        field: path of the field, for the error text.
        value: the id as received.

    Raises:
        RequestError: the id is empty, too long or has another character.
    """
    if not value:
        raise RequestError(field, "is empty; expected 1 to 128 characters of printable ASCII")
    if len(value) > MAX_ID_BYTES:
        raise RequestError(
            field, f"has {len(value)} characters; expected at most {MAX_ID_BYTES}, use a shorter id"
        )
    # Of ASCII, the printable characters are those of an id and the space.
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise _bad_character(field, value)
    return value.encode("ascii")


def _bad_character(field: str, value: str) -> RequestError:
    position, character = next(
        (position, character)
        for position, character in enumerate(value)
        if not 0x21 <= ord(character) <= 0x7E
    )
    return RequestError(
        field,
        f"has U+{ord(character):04X} at position {position}; expected printable ASCII"
        " without spaces (0x21 to 0x7E)",
    )
