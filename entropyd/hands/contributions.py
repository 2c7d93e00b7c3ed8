"""What seats contribute to a hand.

Spec: docs/protocol.md, "Contributions and cut".
"""

from dataclasses import dataclass, field
from enum import StrEnum

from entropyd.errors import RequestError
from entropyd.log import merkle

HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a seat contributed.

    Attributes:
        leaf_hash: of its leaf, 32 bytes.
        leaf: the leaf itself; empty until a sealed contribution is opened. No secret once the hand
            is sealed, and in no text before.
    """

    leaf_hash: bytes
    leaf: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Roll:
    """The contributions that count.

    Attributes:
        leaf_hashes: in byte order.
        deadline_ns: until when sealed ones are opened; 0 where there is nothing to open.
    """

    leaf_hashes: tuple[bytes, ...]
    deadline_ns: int

    @property
    def root(self) -> bytes:
        """R."""
        return merkle.root_of_hashes(self.leaf_hashes)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What arrived for one seat. Exactly one of `value` and `leaf_hash`.

    Attributes:
        seat: whose.
        value: 32 random bytes; a sealed one's only after the roll.
        leaf_hash: of a sealed one before the roll, 32 bytes.
        signature: of a seat with a key, 64 bytes.

    Raises:
        RequestError: on construction, if it has both or none, or a length is wrong; names
            `contributions`.
    """

    seat: str
    value: bytes = field(default=b"", repr=False)
    leaf_hash: bytes = b""
    signature: bytes = b""

    def __post_init__(self) -> None:
        """Refuse what is no contribution at all."""
        if bool(self.value) == bool(self.leaf_hash):
            raise RequestError(
                "contributions", f"{self.seat!r} has a value and a leaf hash, or none; expected one"
            )
        if len(self.value or self.leaf_hash) != HASH_BYTES:
            raise RequestError(
                "contributions",
                f"{self.seat!r} has {len(self.value or self.leaf_hash)} bytes; expected"
                f" {HASH_BYTES}: random ones made by the seat's own software, or a leaf hash",
            )


class Refused(StrEnum):
    """Why a contribution is not taken; stands in the seat's note."""

    UNKNOWN_SEAT = "unknown-seat"
    OTHER_HAND = "other-hand"
    BAD_SIGNATURE = "bad-signature"
    ALREADY_SPOKEN = "already-spoken"
    COPIED = "copied"
    WINDOW_OVER = "window-over"
    NOT_IN_ROLL = "not-in-roll"
    WRONG_FORM = "wrong-form"
