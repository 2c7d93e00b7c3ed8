"""Bags of tiles: what is in them, what a draw takes out, what is put back.

Tiles are numbered only while a draw is made, and its result is kinds. So which
of two equal tiles came is in no result, no record and no hash.

Spec: docs/protocol.md, "Bags of a match".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from entropyd.draw.rule_lines import decimal, sha256_digest
from entropyd.draw.segments import sample_bounds
from entropyd.draw.shuffle import choose
from entropyd.errors import InternalError, RequestError
from entropyd.games.draw_kind import Common, DrawRules, Kind, check_range, number
from entropyd.games.labels import labels_hash
from entropyd.games.presets import PRESETS

MAX_KINDS = 256
MAX_OF_A_KIND = 1000
MAX_TILES = 10_000

CUSTOM = "custom-"
_BAG_ID = re.compile(r"[a-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BagRules(DrawRules):
    """`m` tiles from a bag.

    Attributes:
        bag: id of the bag in its match, 1 to 64 characters of a-z, 0-9, `_`, `-`.
        counts: how many tiles of each kind it holds before this draw: 1 to 256
            kinds of 0 to 1000, 1 to 10,000 tiles.
        m: how many tiles are drawn, 1 to all.
        tiles: name of a preset, or what `custom_tiles` made of the labels.
    """

    bag: str
    counts: tuple[int, ...]
    m: int
    tiles: str

    kind: ClassVar[Kind] = Kind.BAG

    def check(self) -> None:
        """Refuse a bag that is empty, too large or other than its tiles, and too many tiles."""
        if not _BAG_ID.fullmatch(self.bag):
            raise RequestError("bag", "is no id of a bag; expected 1 to 64 of a-z, 0-9, _ and -")
        _check_counts(self.counts)
        _check_tiles(self.tiles, self.counts)
        holds = sum(self.counts)
        check_range("m", self.m, 1, holds, f"the bag holds {holds} tiles")

    def own_lines(self) -> dict[str, str]:
        """Return the lines of this kind."""
        counts = ",".join(map(str, self.counts))
        return {"bag": self.bag, "counts": counts, "m": str(self.m), "tiles": self.tiles}

    def bounds(self) -> Sequence[int]:
        """Return the bounds of a sample of the tiles."""
        return sample_bounds(sum(self.counts), self.m)

    def result(self, values: Iterable[int]) -> list[int]:
        """Return the kinds of the tiles drawn; their numbers are dropped here."""
        kinds = [kind for kind, count in enumerate(self.counts) for _ in range(count)]
        return [kinds[item] for item in choose(len(kinds), self.m, values)]

    @classmethod
    def read(cls, lines: Mapping[str, str], common: Common) -> "BagRules":
        """Return the rules that the lines of this kind spell; errors as of `draw_rules.decode`."""
        tiles = lines["tiles"]
        if tiles.startswith(CUSTOM):
            sha256_digest("tiles", tiles.removeprefix(CUSTOM))
        counts = tuple(decimal("counts", part) for part in lines["counts"].split(","))
        return cls(bag=lines["bag"], counts=counts, m=number(lines, "m"), tiles=tiles, **common)


def custom_tiles(labels: Sequence[str], *, field: str = "labels") -> str:
    """Return what the line `tiles` says of kinds that no preset has.

    Args:
        labels: one for each kind, in order.
        field: path of the labels in the request.

    Raises:
        RequestError: as `labels.labels_hash`; names `field`.
    """
    return CUSTOM + labels_hash(labels, len(labels), field=field).hex()


def full_bag(preset: str) -> tuple[int, ...]:
    """Return how many tiles of each kind a preset has; RequestError names `tiles`."""
    if preset not in PRESETS:
        raise RequestError("tiles", f"are of no preset; expected one of {', '.join(PRESETS)}")
    return PRESETS[preset].counts


@dataclass(frozen=True, slots=True)
class BagState:
    """A bag as the draws of its match left it.

    Attributes:
        tiles: as of `BagRules`, the same in every draw.
        first: what it held before its first draw.
        left: what its last draw left in it.
    """

    tiles: str
    first: tuple[int, ...]
    left: tuple[int, ...]

    def counts_after(self, returns: Iterable[int]) -> tuple[int, ...]:
        """Return what the bag holds once tiles are put back.

        Args:
            returns: the kind of each tile, in any order.

        Raises:
            RequestError: a kind is not of this bag, or more of it come back
                than are out; names `returns`. The bag is as it was.
        """
        counts = list(self.left)
        for kind in returns:
            check_range("returns", kind, 0, len(counts) - 1, "the kinds of this bag")
            counts[kind] += 1
            if counts[kind] > self.first[kind]:
                raise RequestError(
                    "returns",
                    f"bring the tiles of kind {kind} to {counts[kind]}; the bag held"
                    f" {self.first[kind]} at first, return only what was drawn from it",
                )
        return tuple(counts)

    def check_contents(self, tiles: str, counts: Sequence[int] | None) -> None:
        """Refuse contents other than those that the bag held at first.

        Args:
            tiles: what the caller says its kinds are.
            counts: what the caller says it held at first; None if it says nothing.

        Raises:
            RequestError: they differ; names `tiles` or `counts`.
        """
        if tiles != self.tiles:
            raise RequestError("tiles", "are not those of this bag; take another bag id for them")
        if counts is not None and tuple(counts) != self.first:
            raise RequestError(
                "counts",
                "are not what this bag held at first; leave them out, or take another bag id:"
                " a bag is not refilled",
            )


def after_draw(state: BagState | None, rules: BagRules, kinds: Iterable[int]) -> BagState:
    """Return the bag after a draw that was made.

    The one way from draw to draw, for whoever draws and for whoever reads a
    match back.

    Args:
        state: the bag before it; None if this is its first draw in the match.
        rules: of the draw.
        kinds: its result.

    Raises:
        RequestError: the draw does not follow from `state`: other tiles, or a
            count below what was left or above what was there at first; names
            `tiles` or `counts`.
        InternalError: the result is not of these rules.
    """
    if state is None:
        state = BagState(rules.tiles, rules.counts, rules.counts)
    _check_follows(state, rules)
    left = list(rules.counts)
    for kind in kinds:
        left[kind] -= 1
    if min(left) < 0 or sum(rules.counts) - sum(left) != rules.m:
        raise InternalError(f"the result is not {rules.m} tiles of the bag")
    return replace(state, left=tuple(left))


def _check_follows(state: BagState, rules: BagRules) -> None:
    state.check_contents(rules.tiles, None)
    if len(rules.counts) != len(state.first):
        raise RequestError(
            "counts", f"are of {len(rules.counts)} kinds; the bag has {len(state.first)}"
        )
    for kind, count in enumerate(rules.counts):
        check_range(
            "counts", count, state.left[kind], state.first[kind], f"of kind {kind}, at this draw"
        )


def _check_counts(counts: Sequence[int]) -> None:
    check_range("counts", len(counts), 1, MAX_KINDS, "kinds of tiles in a bag")
    for count in counts:
        check_range("counts", count, 0, MAX_OF_A_KIND, "tiles of a kind")
    # What passes fits a line of 1,024 bytes: with 10,000 tiles at most 82 of 256 kinds have three
    # digits while the others have two, which is 849 bytes with the commas.
    check_range("counts", sum(counts), 1, MAX_TILES, "tiles in the bag before a draw")


def _check_tiles(tiles: str, counts: Sequence[int]) -> None:
    if tiles.startswith(CUSTOM):
        return
    full = full_bag(tiles)
    if len(counts) != len(full):
        raise RequestError(
            "counts", f"are of {len(counts)} kinds; expected the {len(full)} of {tiles}"
        )
    for kind, (count, most) in enumerate(zip(counts, full, strict=True)):
        check_range("counts", count, 0, most, f"tiles of kind {kind} of {tiles}")
