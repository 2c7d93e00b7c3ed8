"""Draws on this machine: the same rules and samplers, on the operating system's generator.

Nothing is recorded and nothing can be shown to anybody afterwards.
"""

import os

from entropyd.draw.samplers import SAMPLERS
from entropyd.games.draw_kind import DrawRules


class OsBits:
    """Bits of the operating system's generator."""

    def take(self, count: int) -> int:
        """Return `count` fresh bits, at least 1, as an unsigned integer."""
        size = (count + 7) // 8
        return int.from_bytes(os.urandom(size), "big") >> (8 * size - count)


def draw_here(rules: DrawRules) -> tuple[int, ...]:
    """Return the result of a draw under `rules`; every limit of the daemon's holds too."""
    bits, below = OsBits(), SAMPLERS[rules.sampler]
    return tuple(rules.result(below(bits, bound) for bound in rules.bounds()))
