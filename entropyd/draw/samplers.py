"""Integers below a bound from bits, exactly uniform.

Both samplers draw, compare and throw away; none fits a number into a range by
remainder alone. Given fair bits every value is met equally often, which the
tests show by going through all bit strings, not by counting samples.

Spec: docs/protocol.md, "Draws".
"""

from collections.abc import Callable
from enum import StrEnum

from entropyd.draw.keystream import BitSource
from entropyd.errors import InternalError

# A fair try is rejected with probability below 1/2 by either rule, so this many
# rejections in one draw have a probability below 2**-128: the bits are not
# random, and what has been drawn from them must not be dealt.
MAX_REJECTIONS = 128

WORD_BITS = 32
WORDS = 1 << WORD_BITS


class Sampler(StrEnum):
    """How a draw turns bits into a value; a line of the rules."""

    MASKED = "masked"
    WORD32 = "word32"


def masked_below(bits: BitSource, bound: int) -> int:
    """Draw an integer uniformly from [0, bound).

    Takes the fewest bits that can express `bound - 1` and throws the whole try
    away when it lands at or above `bound`. Nothing of a rejected try is used
    again: keeping its remainder would tie the next value to this one. How many
    there were says nothing about the value that was kept.

    Spec: docs/protocol.md, "Masked".

    Args:
        bits: fair bits. Takes a multiple of `(bound - 1).bit_length()`, and
            none when `bound` is 1.
        bound: one more than the largest value wanted, at least 1.

    Returns:
        The value drawn.

    Raises:
        InternalError: `bound` is below 1 and nothing was taken; or
            MAX_REJECTIONS tries were rejected and the draw is void.
    """
    if bound <= 1:
        return _below_one(bound)
    width = (bound - 1).bit_length()
    for _ in range(MAX_REJECTIONS):
        value = bits.take(width)
        if value < bound:
            return value
    raise _rejected(bound)


def word32_below(bits: BitSource, bound: int) -> int:
    """Draw an integer uniformly from [0, bound) by the 32-bit rule of the field.

    Accepts the words below the largest multiple of `bound` that 2**32 holds,
    so that each remainder has equally many words. A bound of 1 takes a word too,
    as its published users do.

    Spec: docs/protocol.md, "Word-32".

    Args:
        bits: fair bits. Takes a multiple of 32.
        bound: 1 to 2**32.

    Returns:
        The value drawn.

    Raises:
        InternalError: `bound` is outside its range and nothing was taken; or
            MAX_REJECTIONS words were rejected and the draw is void.
    """
    if not 1 <= bound <= WORDS:
        raise InternalError(f"word-32 draw below {bound}; expected 1 to 2^32")
    limit = WORDS - WORDS % bound
    for _ in range(MAX_REJECTIONS):
        word = bits.take(WORD_BITS)
        if word < limit:
            return word % bound
    raise _rejected(bound)


SAMPLERS: dict[Sampler, Callable[[BitSource, int], int]] = {
    Sampler.MASKED: masked_below,
    Sampler.WORD32: word32_below,
}


def _below_one(bound: int) -> int:
    if bound == 1:
        return 0
    raise InternalError(f"masked draw below {bound}; expected at least 1")


def _rejected(bound: int) -> InternalError:
    return InternalError(
        f"{MAX_REJECTIONS} tries of one draw below {bound} were rejected;"
        " fair bits do this with a probability below 2^-128, so the draw is void"
    )
