"""The draws of one round, each remembered for people who look at it.

The trace says for every draw below k which words were read, where they stand in
the stream, and which of them was kept: enough to follow a round by hand.
"""

from collections.abc import Callable
from dataclasses import dataclass

from entropyd.draw.keystream import BitSource
from entropyd.draw.samplers import word32_below
from entropyd.games.seed_pair import WORDS_PER_BLOCK

# A game is a function of this: k -> an integer from 0 to k - 1, the next one of the round.
Below = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class DrawTrace:
    """One draw of a round.

    Attributes:
        bound: k.
        first_word: where the first word of the draw stands in the stream, from 0.
        words: the words read; all but the last were rejected.
        value: the last word modulo k.
    """

    bound: int
    first_word: int
    words: tuple[int, ...]
    value: int

    @property
    def first_block(self) -> int:
        """The block that holds the first word."""
        return self.first_word // WORDS_PER_BLOCK


class Draws:
    """Draws below a bound from a source of words, in order, with their trace."""

    __slots__ = ("_read", "_source", "_trace")

    def __init__(self, source: BitSource) -> None:
        """Start where `source` stands; for a round, at its first word."""
        self._source = source
        self._read: list[int] = []
        self._trace: list[DrawTrace] = []

    def take(self, count: int) -> int:
        """Return the next word of the source, remembered."""
        word = self._source.take(count)
        self._read.append(word)
        return word

    def below(self, bound: int) -> int:
        """Draw an integer uniformly from [0, bound) by the word-32 rule.

        Raises:
            InternalError: as `samplers.word32_below`; at its 128th rejection the round is void.
        """
        first = len(self._read)
        value = word32_below(self, bound)
        self._trace.append(DrawTrace(bound, first, tuple(self._read[first:]), value))
        return value

    @property
    def trace(self) -> tuple[DrawTrace, ...]:
        """The draws so far, in order."""
        return tuple(self._trace)
