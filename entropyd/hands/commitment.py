"""The hashes that fix a hand before anything of it is shown.

C fixes the seed, D the cards in their order, A the seats that may contribute,
O all of them with the hand's number at its table. They hide what they fix: C is
blinded by r, D is salted under K.

Spec: docs/protocol.md, "Commitments".
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from hmac import new
from struct import Struct

from entropyd.encoding import check_id, lp, u32, u64
from entropyd.errors import RequestError
from entropyd.log import merkle

COMMIT_LABEL = lp(b"entropyd/commit/v1")
SALT_LABEL = lp(b"entropyd/salt/v1")
CARD_LABEL = lp(b"entropyd/card/v1")
DECK_LABEL = lp(b"entropyd/deck/v1")
SEAT_LABEL = lp(b"entropyd/seat/v1")
OPEN_LABEL = lp(b"entropyd/open/v1")

ITEM_BYTES = 4
SALT_BYTES = 32
# An Ed25519 public key, RFC 8032, section 5.1.5.
SEAT_KEY_BYTES = 32
# What a Shuffle, to which no seat contributes, has for A and R.
NO_SEATS_ROOT = merkle.EMPTY_ROOT


def encode_items(items: Sequence[int]) -> bytes:
    """Return the items as they are committed, recorded and sent: four bytes each."""
    return _items(len(items)).pack(*items)


def decode_items(encoded: bytes) -> tuple[int, ...]:
    """Return the items that `encode_items` made these bytes of."""
    return _items(len(encoded) // ITEM_BYTES).unpack(encoded)


def seed_commitment(binding: bytes, seeds: Sequence[bytes], blinding: bytes) -> bytes:
    """Return C over the seeds of all segments, hidden by the 32 bytes of `blinding`."""
    return sha256(COMMIT_LABEL + lp(binding) + lp(b"".join(seeds)) + lp(blinding)).digest()


def whole_deck_root(binding: bytes, salt_key: bytes, items: Sequence[int]) -> bytes:
    """Return D of a hand of which no card is proved alone.

    The salt key K makes the input unguessable: without it D could be compared
    with decks that somebody suspects.
    """
    return encoded_deck_root(binding, salt_key, encode_items(items))


def encoded_deck_root(binding: bytes, salt_key: bytes, encoded_items: bytes) -> bytes:
    """Return D as `whole_deck_root` does, of items in the form of `encode_items`."""
    return sha256(DECK_LABEL + lp(binding) + lp(salt_key) + lp(encoded_items)).digest()


def card_salts(binding: bytes, salt_key: bytes, count: int) -> list[bytes]:
    """Return the 32-byte salts of leaves 0 to count - 1, two from each HMAC.

    One salt a leaf, so that a leaf that is shown tells nothing of its sibling.
    """
    # What all of them begin with is hashed once.
    keyed = new(salt_key, SALT_LABEL + lp(binding), "sha512")
    salts: list[bytes] = []
    for half in range((count + 1) // 2):
        pair = keyed.copy()
        pair.update(u32(half))
        two = pair.digest()
        salts += (two[:SALT_BYTES], two[SALT_BYTES:])
    return salts[:count]


def card_leaves(binding: bytes, salt_key: bytes, items: Sequence[int]) -> list[bytes]:
    """Return the leaf of every place of the committed order."""
    return salted_leaves(binding, card_salts(binding, salt_key, len(items)), items)


def salted_leaves(binding: bytes, salts: Sequence[bytes], items: Sequence[int]) -> list[bytes]:
    """Return the leaf of every place, of salts that `card_salts` gave."""
    prefix = CARD_LABEL + lp(binding)
    return [
        prefix + u32(index) + u32(item) + salt
        for index, (item, salt) in enumerate(zip(items, salts, strict=True))
    ]


def card_by_card_root(binding: bytes, salt_key: bytes, items: Sequence[int]) -> bytes:
    """Return D of a hand whose cards can be proved one by one."""
    return merkle.root(card_leaves(binding, salt_key, items))


def seats_root(seats: Mapping[str, bytes]) -> bytes:
    """Return A over the seats that may contribute.

    Args:
        seats: seat id -> Ed25519 public key, 32 bytes, or empty for none.

    Raises:
        RequestError: a seat is not an id, or a key has another length; names
            `seats`.
    """
    for key in seats.values():
        if len(key) not in {0, SEAT_KEY_BYTES}:
            raise RequestError(
                "seats",
                f"a key has {len(key)} bytes; expected the {SEAT_KEY_BYTES} of an Ed25519 public"
                " key, or none",
            )
    keys = sorted((check_id("seats", seat), key) for seat, key in seats.items())
    return merkle.root(SEAT_LABEL + lp(seat) + lp(key) for seat, key in keys)


def open_hash(
    binding: bytes,
    *,
    sequence: int,
    size: int,
    commitment: bytes,
    deck_root: bytes,
    seats_root: bytes,
) -> bytes:
    """Return O, the name of an opened hand.

    Args:
        binding: X.
        sequence: q, the hand's number at its table, from 1.
        size: n, the number of items.
        commitment: C.
        deck_root: D.
        seats_root: A.
    """
    numbers = u64(sequence) + u32(size)
    hashes = lp(commitment) + lp(deck_root) + lp(seats_root)
    return sha256(OPEN_LABEL + lp(binding) + numbers + hashes).digest()


@lru_cache(maxsize=256)
def _items(count: int) -> Struct:
    """Return the form of `count` items: `u32` of each, in one step for all."""
    return Struct(f">{count}I")
