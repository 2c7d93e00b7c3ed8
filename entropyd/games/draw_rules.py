"""The rules of draws: numbers, dice, orders, samples, server seeds; and reading any of them back.

Spec: docs/protocol.md, "Rules of a draw".
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from entropyd.draw.rule_lines import check_names, choice, parse_lines, sha256_digest
from entropyd.draw.samplers import WORDS, Sampler
from entropyd.draw.segments import sample_bounds, shuffle_bounds
from entropyd.draw.shuffle import choose, permute
from entropyd.errors import RequestError
from entropyd.games.bags import BagRules
from entropyd.games.draw_kind import (
    COMPUTATIONAL,
    MAX_ITEMS,
    MAX_NUMBERS,
    Common,
    DrawRules,
    Kind,
    check_range,
    number,
)
from entropyd.games.raffle import RaffleRules
from entropyd.games.seed_pair import Profile

# A result is committed and recorded as u64.
MAX_BOUND = 1 << 64
# The faces of a die fit a word, so that either sampler rolls every die.
MAX_FACES = WORDS
MAX_DICE_GROUPS = 32
MAX_SAMPLED = 1 << 32

# The longest numbers that have a meaning have ten digits.
_GROUP = re.compile(r"([1-9][0-9]{0,9})d([1-9][0-9]{0,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegersRules(DrawRules):
    """`count` numbers, each uniform from `low` to `low + bound - 1`; equal ones may come.

    Attributes:
        bound: how many different numbers may come, 1 to 2**64; 2**32 under word-32.
        count: how many are drawn, 1 to 10,000.
        low: the smallest that may come; `low + bound` is at most 2**64.
    """

    bound: int
    count: int
    low: int = 0

    kind: ClassVar[Kind] = Kind.INTEGERS
    number_bytes: ClassVar[int] = 8

    def check(self) -> None:
        """Refuse numbers that are not there, too many, or that u64 cannot hold."""
        check_range("count", self.count, 1, MAX_NUMBERS, "make several draws for more")
        check_range("bound", self.bound, 1, MAX_BOUND, "draw larger numbers in parts")
        if self.sampler is Sampler.WORD32 and self.bound > WORDS:
            raise RequestError(
                "bound", f"is {self.bound}; expected 1 to 2^32 under word32, use masked for more"
            )
        check_range("low", self.low, 0, MAX_BOUND - self.bound, "low + bound is at most 2^64")

    def own_lines(self) -> dict[str, str]:
        """Return the lines of this kind."""
        return {"bound": str(self.bound), "count": str(self.count), "low": str(self.low)}

    def bounds(self) -> Sequence[int]:
        """Return the same bound for every number."""
        return (self.bound,) * self.count

    def result(self, values: Iterable[int]) -> list[int]:
        """Return the numbers."""
        return [self.low + value for value in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiceRules(DrawRules):
    """Dice in groups, rolled group after group.

    Attributes:
        groups: (how many dice, faces of each): 1 to 32 groups, 10,000 dice in
            all, of 1 to 2**32 faces.
    """

    groups: tuple[tuple[int, int], ...]

    kind: ClassVar[Kind] = Kind.DICE
    number_bytes: ClassVar[int] = 8

    def check(self) -> None:
        """Refuse no dice, too many, and dice that nobody can roll."""
        check_range("dice", len(self.groups), 1, MAX_DICE_GROUPS, "groups in one draw")
        for count, faces in self.groups:
            check_range("dice", count, 1, MAX_NUMBERS, "dice in a group; make several draws")
            check_range("dice", faces, 1, MAX_FACES, "faces of a die")
        dice = sum(count for count, _ in self.groups)
        check_range("dice", dice, 1, MAX_NUMBERS, "dice in all; make several draws for more")

    def own_lines(self) -> dict[str, str]:
        """Return the line of this kind."""
        return {"dice": ",".join(f"{count}d{faces}" for count, faces in self.groups)}

    def bounds(self) -> Sequence[int]:
        """Return the faces of each die."""
        return [faces for count, faces in self.groups for _ in range(count)]

    def result(self, values: Iterable[int]) -> list[int]:
        """Return the faces shown, from 1."""
        return [value + 1 for value in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsRules(DrawRules):
    """An order of `n` items.

    Attributes:
        n: how many, 1 to 100,000.
        labels_hash: 32 bytes of `labels.labels_hash`; empty where no labels were given.
    """

    n: int
    labels_hash: bytes = b""

    kind: ClassVar[Kind] = Kind.ITEMS

    def check(self) -> None:
        """Refuse nothing, and too much."""
        check_range("n", self.n, 1, MAX_ITEMS, "items in one order")

    def own_lines(self) -> dict[str, str]:
        """Return the lines of this kind."""
        return {"n": str(self.n)} | _labels_line(self.labels_hash)

    def bounds(self) -> Sequence[int]:
        """Return the bounds of a shuffle."""
        return shuffle_bounds(self.n)

    def result(self, values: Iterable[int]) -> list[int]:
        """Return the order of the items."""
        return permute(self.n, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRules(DrawRules):
    """`m` of `n` items, each once, in the order in which they are drawn.

    Attributes:
        n: of how many, 1 to 2**32; 100,000 where labels were given.
        m: how many are drawn, 1 to the lesser of n and 100,000.
        labels_hash: as of `ItemsRules`.
    """

    n: int
    m: int
    labels_hash: bytes = b""

    kind: ClassVar[Kind] = Kind.SAMPLE

    def check(self) -> None:
        """Refuse a sample of nothing, of too much, or of more than there is."""
        check_range("n", self.n, 1, MAX_SAMPLED, "items to sample from")
        check_range("m", self.m, 1, min(self.n, MAX_ITEMS), "each item is drawn once at most")
        if self.labels_hash and self.n > MAX_ITEMS:
            raise RequestError(
                "labels", f"stand for {self.n} items; expected {MAX_ITEMS} or fewer, leave them out"
            )

    def own_lines(self) -> dict[str, str]:
        """Return the lines of this kind."""
        return {"m": str(self.m), "n": str(self.n)} | _labels_line(self.labels_hash)

    def bounds(self) -> Sequence[int]:
        """Return the bounds of a sample."""
        return sample_bounds(self.n, self.m)

    def result(self, values: Iterable[int]) -> list[int]:
        """Return the items of the sample."""
        return choose(self.n, self.m, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSeedRules(DrawRules):
    """A server seed of a seed pair: bits, not numbers below a bound.

    Attributes:
        profile: the scheme that it is for.
    """

    profile: Profile

    kind: ClassVar[Kind] = Kind.SERVER_SEED

    def check(self) -> None:
        """Refuse a sampler that would not be used."""
        if self.sampler is not Sampler.MASKED:
            raise RequestError(
                "sampler", "is word32 for a server seed, which has no bounds; leave it out"
            )

    def own_lines(self) -> dict[str, str]:
        """Return the line of this kind."""
        return {"profile": self.profile.value}

    def bounds(self) -> Sequence[int]:
        """Return none: the seed is taken from the stream as it is."""
        return ()

    def result(self, values: Iterable[int]) -> list[int]:
        """Return no number, for none was drawn: the seed is bits of the stream."""
        return list(values)


def _labels_line(labels_hash: bytes) -> dict[str, str]:
    return {"labels": labels_hash.hex()} if labels_hash else {}


# --- Reading them back ---------------------------------------------------------


def decode(encoded: bytes) -> DrawRules:
    """Return the rules that the lines spell.

    Args:
        encoded: bytes from a record or from a stranger.

    Returns:
        Rules of one kind, whose `encode` gives exactly `encoded`.

    Raises:
        RequestError: the lines are not canonical, a name or value is unknown or
            missing, or the draw must not be made. Names `rules`, `rules.NAME`,
            or the name alone where a value is well spelled and out of range.
    """
    lines = parse_lines(encoded)
    if "kind" not in lines:
        raise RequestError("rules.kind", "is missing; the rules of a draw always name it")
    kind = choice(Kind, "kind", lines)
    names, optional, read = _KINDS[kind]
    check_names(
        lines,
        required=frozenset({"kind", "sampler", *names}),
        optional=frozenset({"seeds", *optional}),
        whose=f"a draw of kind {kind}",
    )
    common: Common = {
        "sampler": choice(Sampler, "sampler", lines),
        "computational": _computational(lines.get("seeds")),
    }
    return read(lines, common)


def _computational(text: str | None) -> bool:
    if text not in {None, COMPUTATIONAL}:
        raise RequestError("rules.seeds", f"expected {COMPUTATIONAL}, or no such line")
    return text is not None


def _labels_hash(lines: Mapping[str, str]) -> bytes:
    return sha256_digest("labels", lines["labels"]) if "labels" in lines else b""


def _integers(lines: Mapping[str, str], common: Common) -> DrawRules:
    return IntegersRules(
        bound=number(lines, "bound"),
        count=number(lines, "count"),
        low=number(lines, "low"),
        **common,
    )


def _dice(lines: Mapping[str, str], common: Common) -> DrawRules:
    groups = [_GROUP.fullmatch(part) for part in lines["dice"].split(",")]
    if None in groups:
        raise RequestError("rules.dice", "expected COUNTdFACES, joined by commas, such as 2d6,1d20")
    return DiceRules(
        groups=tuple((int(group[1]), int(group[2])) for group in groups if group), **common
    )


def _items(lines: Mapping[str, str], common: Common) -> DrawRules:
    return ItemsRules(n=number(lines, "n"), labels_hash=_labels_hash(lines), **common)


def _sample(lines: Mapping[str, str], common: Common) -> DrawRules:
    return SampleRules(
        n=number(lines, "n"), m=number(lines, "m"), labels_hash=_labels_hash(lines), **common
    )


def _server_seed(lines: Mapping[str, str], common: Common) -> DrawRules:
    return ServerSeedRules(profile=choice(Profile, "profile", lines), **common)


_Read = Callable[[Mapping[str, str], Common], DrawRules]
# Names that always stand, names that may, and who reads them.
_KINDS: Final[Mapping[Kind, tuple[tuple[str, ...], tuple[str, ...], _Read]]] = {
    Kind.INTEGERS: (("bound", "count", "low"), (), _integers),
    Kind.DICE: (("dice",), (), _dice),
    Kind.ITEMS: (("n",), ("labels",), _items),
    Kind.SAMPLE: (("m", "n"), ("labels",), _sample),
    Kind.BAG: (("bag", "counts", "m", "tiles"), (), BagRules.read),
    Kind.RAFFLE: (("alternates", "entries", "n", "winners"), (), RaffleRules.read),
    Kind.SERVER_SEED: (("profile",), (), _server_seed),
}
