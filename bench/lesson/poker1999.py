"""The online poker shuffle of 1999, and how five cards give the whole deck away.

Published, in Arkin, Hill, Marks, Schmid, Walls, McGraw, "How We Learned to Cheat at Online Poker:
A Study in Software Security", developer.com, 1999:

- the deck is filled in order, 1 to 52, before each shuffle; then for each place from 1 to 52, its
  card is swapped with the one at place `random(51)+1`, which is 1 to 51;
- `randomize` seeds the generator before each shuffle with the milliseconds since midnight;
- with the server's clock synchronised about 200,000 seeds are left to try;
- five known cards, two in the hand and three of the flop, find the right one.

Not in that article, and assumed here:

- the generator: s := 134775813 * s + 1 modulo 2^32, and `random(n)` = the upper 32 bits of s * n.
  That is how Borland's Turbo Pascal and Delphi are documented elsewhere;
- the deal: from the first place on, one card a seat twice around, a card burnt, the flop. The
  search takes cards by place, so that any other deal would do as well.

The article does not say either how long its authors' search took. Times here are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.lesson.ways import order, planet_poker

CARDS = 52
# Milliseconds in a day.
CLOCK_SEEDS = 24 * 60 * 60 * 1000
SYNCHRONISED_SEEDS = 200_000
MULTIPLIER = 134_775_813
_MASK = 0xFFFF_FFFF
# A chunk's arrays stay in the processor's cache.
CHUNK = 1 << 15
SEATS = 9

Seeds = NDArray[np.uint32]
# Place in the deck, from 0, to card.
Seen = Mapping[int, int]


class Generator:
    """The linear congruential generator that we assume."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, bound: int) -> int:
        """Return the next number, 0 to `bound` - 1."""
        self._state = (self._state * MULTIPLIER + 1) & _MASK
        return self._state * bound >> 32


def deck(seed: int) -> list[int]:
    """Return the deck of a seed: cards 0 to 51 in dealing order."""
    return order(CARDS, planet_poker(CARDS), Generator(seed))


def seen(cards: Sequence[int], seat: int, seats: int = SEATS) -> dict[int, int]:
    """Return what a player sees at the flop: two cards of his own, three of the table.

    Args:
        cards: the deck in dealing order.
        seat: 0 to `seats` - 1, in dealing order.
        seats: 2 to 23.
    """
    flop = 2 * seats + 1
    return {place: cards[place] for place in (seat, seats + seat, flop, flop + 1, flop + 2)}


def search(known: Seen, seeds: range) -> list[int]:
    """Return the seeds whose deck has every known card in its place."""
    found: list[int] = []
    for start in range(seeds.start, seeds.stop, CHUNK):
        part = np.arange(start, min(start + CHUNK, seeds.stop), dtype=np.uint32)
        for place, card in known.items():
            part = part[_cards_at(place, part) == card]
        found += part.tolist()
    return found


def _cards_at(place: int, seeds: Seeds) -> NDArray[np.uint8]:
    """Return the card that each seed brings to a place.

    A swap-with-anything shuffle has no card in its final place before its last
    swap. So the place is followed backwards through the swaps, to where its card
    lay in the ordered deck. The generator's state before each swap comes
    straight from the seed.
    """
    at = np.full(len(seeds), place, np.uint8)
    for swapped in reversed(_JUMPS):
        state = seeds * swapped.multiplier + swapped.increment
        other = (state.astype(np.uint64) * np.uint64(CARDS - 1) >> np.uint64(32)).astype(np.uint8)
        here, there = at == swapped.place, at == other
        at[there] = swapped.place
        np.copyto(at, other, where=here)
    return at


@dataclass(frozen=True, slots=True)
class _Jump:
    """The generator's state at the swap of `place`: seed * multiplier + increment, modulo 2^32."""

    place: np.uint8
    multiplier: np.uint32
    increment: np.uint32


def _jumps() -> list[_Jump]:
    jumps = []
    multiplier, increment = 1, 0
    for place in range(CARDS):
        multiplier, increment = multiplier * MULTIPLIER & _MASK, increment * MULTIPLIER + 1 & _MASK
        jumps.append(_Jump(np.uint8(place), np.uint32(multiplier), np.uint32(increment)))
    return jumps


_JUMPS = _jumps()
