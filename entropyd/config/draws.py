"""`[draws]` and `[fair]`: what is large, and how long a seed pair may live.

Nothing here chooses an outcome: a large draw says in its rules how it was made,
and a pair is revealed sooner or later, whatever was played on it.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from entropyd import units
from entropyd.config.values import Table

# At once they are in the reservoir: 256 seeds of 569 bits are 18 KiB of a device that gives eight
# bits a sample, and 143 KiB of one that gives one.
MAX_LARGE_SEEDS = 256


class Draws(Table):
    """`[draws]`: draws that are no hands."""

    large_seeds: int = Field(
        default=64,
        ge=1,
        le=MAX_LARGE_SEEDS,
        description="a whole number from 1 to 256: a draw of more seeds is large, and its caller"
        " says whether to wait for all of them or to draw from one",
    )


class Fair(Table):
    """`[fair]`: seed pairs of players."""

    profile: Literal["v1", "v2"] = Field(
        default="v2",
        description='"v1" (the published scheme) or "v2" (which binds the rules) for pairs that do'
        " not say which",
    )
    reveal_after_ns: Annotated[int, BeforeValidator(units.duration_between("1m", "365d"))] = Field(
        default=30 * units.DAY,
        alias="reveal_after",
        description="a duration from 1m to 365d: an older pair is revealed and the next one begins",
    )
    max_rounds: int = Field(
        default=100_000,
        ge=1,
        le=1_000_000,
        description="a whole number from 1 to 1000000: after so many rounds a pair is revealed and"
        " the next one begins",
    )
