"""What every draw that is not a hand has in common: sampler, seeds, bounds, result.

A kind of draw is a frozen value. It knows its lines, the bounds that it is
drawn below, and how the values drawn become its result. It refuses, when it is
made, whatever must not be drawn: before any seed is spent.

Spec: docs/protocol.md, "Rules of a draw".
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from struct import pack, unpack
from typing import ClassVar, TypedDict

from entropyd.draw.rule_lines import decimal, encode_lines
from entropyd.draw.samplers import Sampler
from entropyd.draw.segments import fits_one_segment, split
from entropyd.errors import RequestError

# A shuffle of so many items takes some 6,000 seeds; a device of 500 kB/s makes them in seconds.
MAX_ITEMS = 100_000
MAX_NUMBERS = 10_000

COMPUTATIONAL = "computational"


class Kind(StrEnum):
    """What is drawn; a line of the rules."""

    INTEGERS = "integers"
    DICE = "dice"
    ITEMS = "items"
    SAMPLE = "sample"
    BAG = "bag"
    RAFFLE = "raffle"
    SERVER_SEED = "server_seed"


class Common(TypedDict):
    """What the rules of every kind say, as read from their lines."""

    sampler: Sampler
    computational: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawRules(ABC):
    """The rules of a draw. Abstract: make a value of one kind.

    Attributes:
        sampler: how a value is drawn from bits.
        computational: all of it comes from one seed, although its bounds are
            more than one segment. Whether a draw is, only the caller may choose.

    Raises:
        RequestError: on construction, if the draw must not be made; names the
            field, such as `count`.
    """

    sampler: Sampler = Sampler.MASKED
    computational: bool = False

    kind: ClassVar[Kind]
    # Bytes of a number of the result, where it is encoded: 4, or 8 where it may be above 2^32 - 1.
    number_bytes: ClassVar[int] = 4

    def __post_init__(self) -> None:
        """Refuse what must not be drawn."""
        self.check()
        if self.computational and fits_one_segment(self.bounds()):
            raise RequestError(
                "seeds",
                f"are {COMPUTATIONAL} for a draw that one seed is enough for; leave it out",
            )

    @abstractmethod
    def check(self) -> None:
        """Refuse what this kind refuses; called when a value is made."""

    @abstractmethod
    def own_lines(self) -> dict[str, str]:
        """Return the lines that this kind has besides `kind`, `sampler` and `seeds`."""

    @abstractmethod
    def bounds(self) -> Sequence[int]:
        """Return the bounds of the draw, in order."""

    @abstractmethod
    def result(self, values: Iterable[int]) -> list[int]:
        """Return what the values drawn below `bounds` stand for; secret until it is recorded."""

    def encode(self) -> bytes:
        """Return the canonical lines."""
        lines = {"kind": self.kind.value, "sampler": self.sampler.value} | self.own_lines()
        if self.computational:
            lines["seeds"] = COMPUTATIONAL
        return encode_lines(lines)

    def segments(self) -> tuple[tuple[int, ...], ...]:
        """Return the bounds as they are cut, a seed for each part."""
        if self.computational:
            return (tuple(self.bounds()),)
        return split(self.bounds())

    def seeds_needed(self) -> int:
        """Return how many seeds the draw takes, which is known before any is made."""
        return len(self.segments())

    def encode_result(self, numbers: Sequence[int]) -> bytes:
        """Return the numbers of a result as they are committed and recorded."""
        return pack(f">{len(numbers)}{self._format}", *numbers)

    def decode_result(self, encoded: bytes) -> tuple[int, ...]:
        """Return the numbers that `encode_result` made these bytes of."""
        return unpack(f">{len(encoded) // self.number_bytes}{self._format}", encoded)

    @property
    def _format(self) -> str:
        return {4: "I", 8: "Q"}[self.number_bytes]


def number(lines: Mapping[str, str], name: str) -> int:
    """Return the number of a line; RequestError names `rules.NAME`."""
    return decimal(name, lines[name])


def check_range(field: str, value: int, least: int, most: int, remedy: str) -> None:
    """Refuse a value outside its range.

    Args:
        field: its path in the request.
        value: as received.
        least: the smallest that may be.
        most: the largest that may be.
        remedy: what to do about it, for the error text.

    Raises:
        RequestError: names `field`.
    """
    if not least <= value <= most:
        raise RequestError(field, f"is {value}; expected {least} to {most}, {remedy}")
