"""Shuffles of many decks at once: the orders of `shuffle`, bit for bit, by array operations.

Every deck takes a try at the same time, from the place in its own keystream
that it has come to. A deck that accepted one goes on to its next bound, one
that rejected stays. So there is no branch on what was drawn, and a turn costs
the same however many tries failed.

Two things end it early, both rare: a deck that needs more than one block of
keystream, and one that is not finished after 127 tries. Those are drawn by
`shuffle` from the start, which has the last word on the 128th rejection of a
draw: no deck that finishes here can have met one.

Spec: docs/protocol.md, "Keystream", "Masked" and "Shuffle and sample".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import pack

import numpy as np
from numpy.typing import NDArray

from entropyd.draw.keystream import BLOCK_BITS, SEED_BYTES, STREAM_LABEL
from entropyd.draw.samplers import MAX_REJECTIONS
from entropyd.draw.segments import split_shuffle
from entropyd.draw.shuffle import shuffle
from entropyd.encoding import lp, u32, u64
from entropyd.errors import InternalError
from entropyd.keyed_hash import digest

BYTE = 8
BLOCK_BYTES = BLOCK_BITS // BYTE
# A finished deck took each of its draws in fewer tries than end a draw.
MAX_TRIES = MAX_REJECTIONS - 1
# A shuffle of one segment has at most 52 items, so at most 6 bits a bound.
MAX_WIDTH = 6
# Below this many decks the arrays cost more than they save. Measured: bench kernels.
MIN_DECKS = 48

_FIRST_BLOCK = u32(0) + u64(0)

Bytes = NDArray[np.uint8]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bounds of a shuffle by how many draws a deck has accepted; the last one ends it.

    Attributes:
        widths: bits of a try.
        shifts: 8 less those.
        bounds: what a value must be below; 0, which nothing is, at the end.
    """

    widths: Places
    shifts: Bytes
    bounds: Bytes


def shuffle_many(size: int, seeds: Sequence[bytes], bindings: Sequence[bytes]) -> list[bytes]:
    """Draw an order of `size` items for each seed, by the masked rule.

    Args:
        size: number of items, 2 to 52, so that each deck is one segment.
        seeds: S_0 of each deck, 64 bytes. Secret.
        bindings: X of each deck.

    Returns:
        The items of each deck in dealing order, four big-endian bytes each.
        Secret until dealt.

    Raises:
        InternalError: a length or number is wrong; or a draw was rejected 128
            times, and all of it is void.
    """
    if size < 2 or len(split_shuffle(size)) != 1 or len(seeds) != len(bindings):
        raise InternalError(
            f"{len(seeds)} seeds and {len(bindings)} bindings for decks of {size} items; expected"
            " as many of both, for decks of one segment"
        )
    if {len(seed) for seed in seeds} - {SEED_BYTES}:
        raise InternalError(f"a seed has not {SEED_BYTES} bytes")
    if len(seeds) < MIN_DECKS:
        return [_one(size, seed, x) for seed, x in zip(seeds, bindings, strict=True)]
    values, unfinished = _draw(size, len(seeds), _windows(seeds, bindings))
    orders = _permute(size, values)
    encoded = orders.astype(">u4").tobytes()
    width = 4 * size
    decks = [encoded[at : at + width] for at in range(0, len(encoded), width)]
    for deck in unfinished:
        decks[deck] = _one(size, seeds[deck], bindings[deck])
    return decks


def _one(size: int, seed: bytes, binding: bytes) -> bytes:
    """Draw a deck alone: from its first block, in as many tries as the arrays take; or `shuffle`'s.

    In half of the time of `shuffle`, which calls a function for each try.
    """
    block = digest(seed, STREAM_LABEL + lp(binding) + _FIRST_BLOCK, "sha512")
    bits, left = int.from_bytes(block, "big"), BLOCK_BITS
    order, place = list(range(size)), size - 1
    for _ in range(MAX_TRIES):
        # (bound - 1).bit_length() of bound place + 1.
        width = place.bit_length()
        left -= width
        if left < 0:
            break
        chosen = bits >> left & (1 << width) - 1
        if chosen <= place:
            order[place], order[chosen] = order[chosen], order[place]
            place -= 1
            if place == 0:
                return pack(f">{size}I", *order)
    return pack(f">{size}I", *shuffle(size, (seed,), binding))


def _windows(seeds: Sequence[bytes], bindings: Sequence[bytes]) -> Bytes:
    """Return, for each bit of each first block, the eight bits that begin there, as one line."""
    joined = b"".join(
        [
            digest(seed, STREAM_LABEL + lp(x) + _FIRST_BLOCK, "sha512")
            for seed, x in zip(seeds, bindings, strict=True)
        ]
    )
    # Behind the last byte of a block comes the next one's: a deck that reads it needs a second
    # block, and is not finished here.
    stream = np.frombuffer(joined + b"\x00", np.uint8).astype(np.uint16)
    pairs = stream[:-1] << BYTE | stream[1:]
    # What runs beyond the last block ends in zeroes.
    windows = np.zeros(len(pairs) * BYTE + MAX_TRIES * MAX_WIDTH, np.uint8)
    by_bit = windows[: len(pairs) * BYTE].reshape(len(pairs), BYTE)
    for bit in range(BYTE):
        # Only the low byte is kept: bits before the window fall off.
        by_bit[:, bit] = pairs >> (BYTE - bit)
    return windows


def _draw(size: int, decks: int, windows: Bytes) -> tuple[Bytes, list[int]]:
    """Return the values of every deck, a column each, and the decks that are not finished."""
    bounds = _bounds(size)
    rows: Places = np.arange(decks, dtype=np.intp)
    first = rows * BLOCK_BITS
    at = first.copy()
    accepted = np.zeros(decks, np.intp)
    values = np.zeros((size, decks), np.uint8)
    flat = values.reshape(-1)
    # Each turn writes its try over the one before, until a try is accepted.
    place = rows.copy()
    for _ in range(MAX_TRIES):
        tries = windows.take(at) >> bounds.shifts.take(accepted)
        flat[place] = tries
        at += bounds.widths.take(accepted)
        good = tries < bounds.bounds.take(accepted)
        accepted += good
        place += good * decks
        if accepted.min() == size - 1:
            break
    finished = (accepted == size - 1) & (at - first <= BLOCK_BITS)
    return values[:-1], np.flatnonzero(~finished).tolist()


@lru_cache(maxsize=64)
def _bounds(size: int) -> _Bounds:
    bounds = [*range(size, 1, -1), 0]
    widths = [*((bound - 1).bit_length() for bound in bounds[:-1]), 0]
    # The last shift is of a deck that takes nothing any more: any will do.
    shifts = [BYTE - max(width, 1) for width in widths]
    return _Bounds(
        np.array(widths, np.intp), np.array(shifts, np.uint8), np.array(bounds, np.uint8)
    )


def _permute(size: int, values: Bytes) -> Bytes:
    """Return the orders that the values give, a row each.

    The values of a deck that is not finished may be out of range: it gets any
    order, which is thrown away.
    """
    decks = values.shape[1]
    # A line of `orders` has one place of every deck, so that a step moves whole lines.
    orders = np.repeat(np.arange(size, dtype=np.uint8), decks).reshape(size, decks)
    flat = orders.reshape(-1)
    columns = np.arange(decks, dtype=np.intp)
    chosen = np.minimum(values, size - 1).astype(np.intp) * decks + columns
    for place, others in zip(range(size - 1, 0, -1), chosen, strict=True):
        moved = flat.take(others)
        flat[others] = orders[place]
        orders[place] = moved
    return np.ascontiguousarray(orders.T)
