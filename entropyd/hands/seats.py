"""The seats that may move the committed cards, and how one of them signs.

A seat is a place at the table and not a player: who sees A can guess at its
names. With a key of its own nobody else, the poker server included, can speak
for it.

Spec: docs/protocol.md, "Seats root A" and "Contributions and cut".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from entropyd.encoding import check_id, lp
from entropyd.errors import RequestError
from entropyd.hands.commitment import SEAT_KEY_BYTES

SIGNATURE_LABEL = lp(b"entropyd/contribution-signature/v1")
# An Ed25519 signature, RFC 8032, section 5.1.6.
SIGNATURE_BYTES = 64
# Six times the largest table; each seat costs a leaf, a note and a signature.
MAX_SEATS = 64


@dataclass(frozen=True, slots=True)
class Seat:
    """One seat.

    Attributes:
        name: an id such as `seat-3`.
        public_key: Ed25519, 32 bytes; empty for none.
    """

    name: str
    public_key: bytes = b""


def check_seats(seats: Iterable[Seat]) -> tuple[Seat, ...]:
    """Return the seats in byte order.

    Raises:
        RequestError: a name is no id or stands there twice, a key is none, or
            there are more than MAX_SEATS; names `seats`.
    """
    ordered = sorted(seats, key=lambda seat: check_id("seats", seat.name))
    if len(ordered) > MAX_SEATS:
        raise RequestError("seats", f"are {len(ordered)}; expected at most {MAX_SEATS}")
    for seat, following in pairwise(ordered):
        if seat.name == following.name:
            raise RequestError("seats", f"{seat.name!r} stands there twice; expected each once")
    for seat in ordered:
        _check_key(seat)
    return tuple(ordered)


def signed_bytes(leaf_hash: bytes) -> bytes:
    """Return what a seat signs to contribute the leaf with this hash."""
    return SIGNATURE_LABEL + lp(leaf_hash)


def has_signed(seat: Seat, leaf_hash: bytes, signature: bytes) -> bool:
    """Return whether the seat's own key signed this leaf hash; True for a seat without a key."""
    if not seat.public_key:
        return True
    if len(signature) != SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(seat.public_key).verify(
            signature, signed_bytes(leaf_hash)
        )
    except InvalidSignature:
        return False
    return True


def _check_key(seat: Seat) -> None:
    if len(seat.public_key) not in {0, SEAT_KEY_BYTES}:
        raise RequestError(
            "seats",
            f"{seat.name!r} has a key of {len(seat.public_key)} bytes; expected the"
            f" {SEAT_KEY_BYTES} of an Ed25519 public key, or none",
        )
