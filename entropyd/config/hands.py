"""`[hands]`: how many hands of a table may go on at once, and for how long.

Nothing here chooses an outcome: what is refused was not drawn, and a hand that
ends is void in public, whatever its cards are.
"""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from entropyd import units
from entropyd.config.values import Table

# A pool has all of its hands at one table.
MAX_PER_TABLE = 100_000


class Hands(Table):
    """`[hands]`: hands that are dealt card by card. Read again on SIGHUP."""

    per_table_open: int = Field(
        default=2,
        ge=1,
        le=MAX_PER_TABLE,
        description="a whole number from 1 to 100000: hands of a table that may go on at once, so"
        " that the next is prepared while one is played; raise it for pools",
    )
    per_table_dealing: int = Field(
        default=1,
        ge=1,
        le=MAX_PER_TABLE,
        description="a whole number from 1 to 100000, at most per_table_open: hands of a table of"
        " which cards may be out at once; raise it for pools",
    )
    expire_after_ns: Annotated[int, BeforeValidator(units.duration_between("1m", "30d"))] = Field(
        default=units.HOUR,
        alias="expire_after",
        description="a duration from 1m to 30d: an older hand that has not ended is void, in"
        " public",
    )
    max_contribute_for_ns: Annotated[int, BeforeValidator(units.duration_between("1s", "10m"))] = (
        Field(
            default=10 * units.MINUTE,
            alias="max_contribute_for",
            description="a duration from 1s to 10m: the longest that seats may be given to"
            " contribute",
        )
    )

    @model_validator(mode="after")
    def _deals_what_is_open(self) -> Self:
        if self.per_table_dealing > self.per_table_open:
            raise ValueError(
                f"per_table_dealing is {self.per_table_dealing}; expected at most per_table_open,"
                f" {self.per_table_open}: only what is open is dealt"
            )
        return self
