"""What a call to DrawService asks for, checked as far as the request alone allows.

A wish becomes rules once the state of its match is known: what a bag holds is
said by the draws before. It also knows a draw that was made of it when it sees
one again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from entropyd.draw.samplers import Sampler
from entropyd.encoding import check_id
from entropyd.errors import RequestError, WrongStateError
from entropyd.games.bags import CUSTOM, MAX_TILES, BagRules, custom_tiles, full_bag
from entropyd.games.claims import match_claim_digest
from entropyd.games.draw_kind import DrawRules, Kind, check_range
from entropyd.games.draw_rules import DiceRules, IntegersRules, ItemsRules, SampleRules
from entropyd.games.labels import labels_hash
from entropyd.games.presets import PRESETS
from entropyd.service.draw_records import Bag, DrawRecord, MatchState
from entropyd.v1 import draw_service_pb2 as pb

# A match is a game: its bags are rewritten with every draw, at most 1 MiB of them.
MAX_BAGS = 16
# 2^64 has twenty digits.
MAX_BOUND_DIGITS = 20

SAMPLERS = {
    pb.SAMPLER_UNSPECIFIED: Sampler.MASKED,
    pb.SAMPLER_MASKED: Sampler.MASKED,
    pb.SAMPLER_WORD32: Sampler.WORD32,
}
# How the fields of requests are called where the rules call them something else.
_FIELDS = {"m": "count", "counts": "contents", "tiles": "contents"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A wish in a match.

    Attributes:
        rules: of the draw, as if all of its seeds were waited for.
        labels: of the list, or of the kinds of a bag.
    """

    rules: DrawRules
    labels: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Wish(ABC):
    """A draw that is asked for.

    Attributes:
        tenant, match, draw: which.
        claim_digest: of the match.
        large: what is to be done if it takes very many seeds.
    """

    tenant: str
    match: str
    draw: str
    claim_digest: bytes = field(repr=False)
    large: "pb.Large.ValueType"

    @property
    def key(self) -> tuple[str, ...]:
        """Under which nobody else may draw meanwhile."""
        return ("match", self.tenant, self.match, self.draw)

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What is drawn."""

    @property
    def changes_bags(self) -> bool:
        """Whether the match is another after it, by more than a draw."""
        return False

    @property
    def returns(self) -> tuple[int, ...]:
        """Kinds that are put back before the draw."""
        return ()

    @abstractmethod
    def prepare(self, match: MatchState) -> Prepared:
        """Return its rules in a match as it stands.

        Raises:
            RequestError: the request contradicts itself.
            WrongStateError: the match does not allow it now.
        """

    @abstractmethod
    def made(self, record: DrawRecord, match: MatchState) -> bool:
        """Return whether a recorded draw is what was asked for."""

    def may_be(self, rules: DrawRules, recorded: DrawRules) -> bool:
        """Return whether rules are the recorded ones, by all seeds or, if allowed, by one."""
        if recorded.computational and self.large == pb.LARGE_COMPUTATIONAL:
            recorded = replace(recorded, computational=False)
        return rules == recorded


@dataclass(frozen=True, slots=True)
class PlainWish(Wish):
    """A draw that depends on nothing but its request."""

    plain: Prepared

    @property
    def kind(self) -> Kind:
        """What is drawn."""
        return self.plain.rules.kind

    def prepare(self, match: MatchState) -> Prepared:  # noqa: ARG002  of every wish
        """Return what it was made with."""
        return self.plain

    def made(self, record: DrawRecord, match: MatchState) -> bool:  # noqa: ARG002
        """Return whether the rules are the same, which bind the labels too."""
        return self.may_be(self.plain.rules, record.rules)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a caller says that a bag holds at first."""

    tiles: str
    counts: tuple[int, ...]
    labels: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BagWish(Wish):
    """Tiles of a bag."""

    bag: str
    contents: Contents | None
    count: int
    put_back: tuple[int, ...]
    sampler: Sampler

    @property
    def kind(self) -> Kind:
        """Tiles."""
        return Kind.BAG

    @property
    def changes_bags(self) -> bool:
        """Always: it takes tiles out."""
        return True

    @property
    def returns(self) -> tuple[int, ...]:
        """Kinds that are put back before the draw."""
        return self.put_back

    def prepare(self, match: MatchState) -> Prepared:
        """Return its rules; see `Wish`."""
        bag = match.bags.get(self.bag)
        return self._first(match) if bag is None else self._later(bag)

    def made(self, record: DrawRecord, match: MatchState) -> bool:
        """Return whether a draw took so many tiles of this bag, with the same put back before."""
        rules, bag = record.rules, match.bags.get(self.bag)
        if not isinstance(rules, BagRules) or bag is None or record.returns != self.put_back:
            return False
        given = self.contents
        if given is not None and (given.tiles, given.counts) != (rules.tiles, bag.state.first):
            return False
        same = BagRules(
            bag=self.bag,
            counts=rules.counts,
            m=min(self.count, sum(rules.counts)),
            tiles=rules.tiles,
            sampler=self.sampler,
        )
        return self.count == rules.m and self.may_be(same, rules)

    def _first(self, match: MatchState) -> Prepared:
        contents = self.contents
        if contents is None:
            raise RequestError(
                "contents", "is missing; the first draw from a bag says what the bag holds"
            )
        if self.put_back:
            raise RequestError("returns", "stand before anything was drawn; leave them out")
        if len(match.bags) >= MAX_BAGS:
            raise WrongStateError(
                f"match {self.match!r} has {MAX_BAGS} bags, as many as a match may; draw from one"
                " of them, or take another match"
            )
        return self._prepared(contents.counts, contents.tiles, contents.labels)

    def _later(self, bag: Bag) -> Prepared:
        state, given = bag.state, self.contents
        try:
            if given is not None:
                state.check_contents(given.tiles, given.counts)
            counts = state.counts_after(self.put_back)
        except RequestError as error:
            raise WrongStateError(f"bag {self.bag!r}: {error}") from error
        holds = sum(counts)
        if not 1 <= self.count <= holds:
            expected = f"1 to {holds}" if holds else "another bag"
            raise WrongStateError(
                f"bag {self.bag!r} of match {self.match!r} holds {holds} tiles and {self.count} are"
                f" asked for; expected {expected}, or tiles that are put back first"
            )
        return self._prepared(counts, state.tiles, bag.labels)

    def _prepared(self, counts: tuple[int, ...], tiles: str, labels: tuple[str, ...]) -> Prepared:
        with _named():
            rules = BagRules(
                bag=self.bag, counts=counts, m=self.count, tiles=tiles, sampler=self.sampler
            )
        return Prepared(rules, labels)


# --- from requests ------------------------------------------------------------------


def integers(request: pb.DrawIntegersRequest, tenant: str) -> Wish:
    """Return what DrawIntegers asks for; RequestError names the field, as do all below."""
    bound = request.bound
    if not (bound.isascii() and bound.isdecimal()) or bound[0] == "0":
        raise RequestError(
            "bound", "is no number above 0; expected 1 to 2^64 in decimal digits, no leading zeros"
        )
    if len(bound) > MAX_BOUND_DIGITS:
        raise RequestError("bound", f"has {len(bound)} digits; expected 1 to 2^64")
    with _named():
        rules = IntegersRules(
            bound=int(bound), count=request.count, low=request.low, sampler=_sampler(request)
        )
    return _plain(request, tenant, rules)


def dice(request: pb.RollDiceRequest, tenant: str) -> Wish:
    """Return what RollDice asks for."""
    groups = tuple((group.count, group.faces) for group in request.dice)
    with _named():
        rules = DiceRules(groups=groups, sampler=_sampler(request))
    return _plain(request, tenant, rules)


def items(request: pb.ShuffleItemsRequest, tenant: str) -> Wish:
    """Return what ShuffleItems asks for."""
    n, digest = _list(request.n, request.labels)
    with _named():
        rules = ItemsRules(n=n, labels_hash=digest, sampler=_sampler(request))
    return _plain(request, tenant, rules, request.labels)


def sample(request: pb.SampleRequest, tenant: str) -> Wish:
    """Return what Sample asks for."""
    n, digest = _list(request.n, request.labels)
    with _named():
        rules = SampleRules(n=n, m=request.count, labels_hash=digest, sampler=_sampler(request))
    return _plain(request, tenant, rules, request.labels)


def tiles(request: pb.DrawFromBagRequest, tenant: str) -> Wish:
    """Return what DrawFromBag asks for."""
    contents = _contents(request.contents) if request.HasField("contents") else None
    wish = BagWish(
        *_common(request, tenant),
        bag=request.bag,
        contents=contents,
        count=request.count,
        put_back=tuple(request.returns),
        sampler=_sampler(request),
    )
    with _named():
        # What can be said of them before anything is looked up.
        check_range("count", wish.count, 1, MAX_TILES, "tiles in a bag")
        counts, tiles = ((1,), CUSTOM) if contents is None else (contents.counts, contents.tiles)
        BagRules(bag=wish.bag, counts=counts, m=1, tiles=tiles)
    return wish


def _plain(
    request: "pb.DrawIntegersRequest | pb.RollDiceRequest | pb.ShuffleItemsRequest"
    " | pb.SampleRequest",
    tenant: str,
    rules: DrawRules,
    labels: Sequence[str] = (),
) -> Wish:
    return PlainWish(*_common(request, tenant), plain=Prepared(rules, tuple(labels)))


def _common(
    request: "pb.DrawIntegersRequest | pb.RollDiceRequest | pb.ShuffleItemsRequest"
    " | pb.SampleRequest | pb.DrawFromBagRequest",
    tenant: str,
) -> tuple[str, str, str, bytes, "pb.Large.ValueType"]:
    key = request.key
    digest = match_claim_digest(tenant, key.match, request.claim)
    check_id("key.draw", key.draw)
    if request.large not in pb.Large.values():
        raise RequestError("large", f"is {request.large}; expected LARGE_WAIT, LARGE_COMPUTATIONAL")
    return tenant, key.match, key.draw, digest, request.large


def _sampler(
    request: "pb.DrawIntegersRequest | pb.RollDiceRequest | pb.ShuffleItemsRequest"
    " | pb.SampleRequest | pb.DrawFromBagRequest",
) -> Sampler:
    return sampler_of(request.sampler)


def sampler_of(number: "pb.Sampler.ValueType") -> Sampler:
    """Return the sampler of a request; RequestError names `sampler`."""
    if number not in SAMPLERS:
        raise RequestError("sampler", f"is {number}; expected SAMPLER_MASKED or SAMPLER_WORD32")
    return SAMPLERS[number]


def _list(n: int, labels: Sequence[str]) -> tuple[int, bytes]:
    """Return length and labels hash of a list that is given in one of two ways."""
    if bool(n) == bool(labels):
        raise RequestError(
            "n", "or `labels`, exactly one of them, says what the list is; a list has an item"
        )
    return (n, b"") if n else (len(labels), labels_hash(labels, len(labels)))


def _contents(given: pb.BagContents) -> Contents:
    if bool(given.preset) == bool(given.tiles):
        raise RequestError(
            "contents", "expected exactly one of preset and tiles; a bag holds a tile at least"
        )
    if given.preset:
        with _named():
            counts = full_bag(given.preset)
        return Contents(given.preset, counts, PRESETS[given.preset].labels)
    labels = tuple(tile.label for tile in given.tiles)
    if len(set(labels)) < len(labels):
        raise RequestError("contents.tiles", "has a label twice; expected each kind once")
    hashed = custom_tiles(labels, field="contents.tiles")
    return Contents(hashed, tuple(tile.count for tile in given.tiles), labels)


@contextmanager
def _named() -> Iterator[None]:
    """Have refusals of rules name the fields of requests."""
    try:
        yield
    except RequestError as error:
        text = str(error).removeprefix(f"{error.field}: ")
        raise RequestError(_FIELDS.get(error.field, error.field), text) from error
