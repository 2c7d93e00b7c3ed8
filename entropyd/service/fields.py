"""Single fields of a message as protobuf writes them, for answers that are joined from bytes.

Spec: protobuf, "Encoding": a field is a tag, and for text, bytes and messages
a length and that many bytes.
"""

from functools import lru_cache

# The wire type of text, bytes and messages. A tag is number << 3 | wire type; those of numbers up
# to 15 are one byte.
LENGTH_DELIMITED = 2


def field(number: int, payload: bytes) -> bytes:
    """Return a field of text, bytes or a message, with a number of 1 to 15."""
    return head(number, len(payload)) + payload


# Few lengths occur: of ids, of decks, and of what a policy's sources are told in.
@lru_cache(maxsize=4096)
def head(number: int, size: int) -> bytes:
    """Return what stands before the `size` bytes of a field."""
    return bytes((number << 3 | LENGTH_DELIMITED,)) + varint(size)


def number_field(number: int, value: int) -> bytes:
    """Return a field of an unsigned integer; nothing for 0, which protobuf leaves out."""
    return bytes((number << 3,)) + varint(value) if value else b""


def varint(value: int) -> bytes:
    """Return an unsigned integer, seven bits a byte, the least significant first."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
