"""From requests to checked wishes: what can be said of them without looking anything up.

Spec: docs/protocol.md, "Hands dealt card by card".
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from google.protobuf.duration_pb2 import Duration

from entropyd.draw.cards import Deck
from entropyd.encoding import check_id
from entropyd.errors import RequestError
from entropyd.hands.claim import CLAIM_BYTES
from entropyd.hands.contributions import HASH_BYTES, Contribution
from entropyd.hands.rules import MAX_ITEMS, Contributions, Parent, Reveal, Rules
from entropyd.hands.seats import MAX_SEATS, Seat, check_seats
from entropyd.runtime.hand_turns import HandName
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2

NS_A_MS = 1_000_000
# People need a second at least; DESIGN has tables wait for ten minutes at most.
MIN_WINDOW_MS = 1_000
MAX_WINDOW_MS = 600_000

_MODES = {
    pb.CONTRIBUTIONS_MODE_UNSPECIFIED: Contributions.NONE,
    pb.CONTRIBUTIONS_MODE_NONE: Contributions.NONE,
    pb.CONTRIBUTIONS_MODE_OPEN: Contributions.OPEN,
    pb.CONTRIBUTIONS_MODE_SEALED: Contributions.SEALED,
}


@dataclass(frozen=True, slots=True)
class OpenWish:
    """A well-formed request to open a hand.

    Attributes:
        name: which hand.
        rules: what it says of them. Where it names a hand that is replaced, or whose discards are
            dealt, these lines have bytes of 0 in place of what follows from that hand.
        seats: who may contribute, in byte order.
        window_ns: how long they may; 0 for nobody.
        replaces: id of a void hand; empty for none.
        parent: id of the hand whose discards are dealt; empty for none.
        places: of those discards, ascending. Secret: they say who discarded what.
    """

    name: HandName
    rules: Rules
    seats: tuple[Seat, ...]
    window_ns: int
    replaces: str
    parent: str
    places: tuple[int, ...] = field(repr=False)


def name_of(key: types_pb2.HandKey, tenant: str) -> HandName:
    """Return which hand a key names.

    Raises:
        RequestError: names `key.table` or `key.hand`.
    """
    check_id("key.table", key.table)
    check_id("key.hand", key.hand)
    return HandName(tenant, key.table, key.hand)


@contextmanager
def within(field: str) -> Iterator[None]:
    """Name the fields of a request that stands in another one by their whole path."""
    try:
        yield
    except RequestError as error:
        text = str(error).removeprefix(f"{error.field}: ")
        raise RequestError(f"{field}.{error.field}", text) from error


# --- opening -----------------------------------------------------------------------------


def open_wish(request: pb.OpenHandRequest, tenant: str) -> OpenWish:
    """Return what an `OpenHandRequest` asks for.

    Raises:
        RequestError: something in it is malformed, or contradicts something else; names it.
    """
    name = name_of(request.key, tenant)
    mode = _MODES.get(request.contributions)
    if mode is None:
        raise RequestError(
            "contributions", f"is {request.contributions}; expected NONE, OPEN or SEALED"
        )
    places = _parent_places(request)
    if request.replaces:
        check_id("replaces", request.replaces)
    return OpenWish(
        name=name,
        rules=Rules(
            deck=_deck(request.deck),
            contributions=mode,
            reveal=Reveal.AFTER_CLOSE if request.reveal_after_close else Reveal.NEVER,
            whole_deck_proof=False,
            parent=Parent(bytes(HASH_BYTES), len(places)) if places else None,
            plan=tuple(request.plan),
            replaces=bytes(HASH_BYTES) if request.replaces else b"",
        ),
        seats=_seats(request.seats, mode),
        window_ns=_window_ns(request, mode),
        replaces=request.replaces,
        parent=request.parent.hand,
        places=places,
    )


def _deck(deck: types_pb2.Deck) -> Deck:
    return Deck(deck.name or "standard52", deck.decks or 1, tuple(deck.removed))


def _parent_places(request: pb.OpenHandRequest) -> tuple[int, ...]:
    if not request.HasField("parent"):
        return ()
    if request.HasField("deck"):
        raise RequestError("deck", "stands beside `parent`; expected one of them")
    check_id("parent.hand", request.parent.hand)
    places = tuple(request.parent.places)
    if not 2 <= len(places) <= MAX_ITEMS or any(a >= b for a, b in pairwise(places)):
        raise RequestError(
            "parent.places", f"expected 2 to {MAX_ITEMS} places, ascending, each once"
        )
    return places


def _seats(seats: Sequence[pb.Seat], mode: Contributions) -> tuple[Seat, ...]:
    checked = check_seats(Seat(seat.seat, seat.public_key) for seat in seats)
    if bool(checked) == (mode is Contributions.NONE):
        expected = "none" if mode is Contributions.NONE else f"1 to {MAX_SEATS}"
        raise RequestError(
            "seats", f"are {len(checked)} under contributions={mode}; expected {expected}"
        )
    return checked


def _window_ns(request: pb.OpenHandRequest, mode: Contributions) -> int:
    if mode is Contributions.NONE:
        if request.HasField("contribute_for"):
            raise RequestError("contribute_for", "stands where nobody contributes; leave it out")
        return 0
    milliseconds = _whole_milliseconds(request.contribute_for)
    if milliseconds is None or not MIN_WINDOW_MS <= milliseconds <= MAX_WINDOW_MS:
        raise RequestError(
            "contribute_for", "expected 1 s to 10 min, in whole milliseconds; 30 s is a good value"
        )
    return milliseconds * NS_A_MS


def _whole_milliseconds(duration: Duration) -> int | None:
    milliseconds, rest = divmod(duration.seconds * 10**9 + duration.nanos, NS_A_MS)
    return None if rest else milliseconds


# --- contributing ------------------------------------------------------------------------


def contributions_of(request: pb.ContributeRequest) -> list[Contribution]:
    """Return what arrived, one for each seat that speaks.

    Raises:
        RequestError: none, too many, a seat twice, or one that is malformed; names
            `contributions` or `open_hash`.
    """
    if len(request.open_hash) != HASH_BYTES:
        raise RequestError(
            "open_hash",
            f"has {len(request.open_hash)} bytes; expected O of the open receipt, {HASH_BYTES}",
        )
    if not 1 <= len(request.contributions) <= MAX_SEATS:
        raise RequestError(
            "contributions", f"are {len(request.contributions)}; expected 1 to {MAX_SEATS}"
        )
    names = {check_id("contributions", one.seat) for one in request.contributions}
    if len(names) < len(request.contributions):
        raise RequestError("contributions", "have a seat twice; expected each once")
    return [
        Contribution(one.seat, one.value, one.leaf_hash, one.signature)
        for one in request.contributions
    ]


# --- dealing -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DealWish:
    """A well-formed request to deal.

    Attributes:
        first_place: the first place of it.
        recipients: whom each place goes to.
        claim: 16 bytes.
        without_proofs: leave out salts and paths.
    """

    first_place: int
    recipients: tuple[str, ...]
    claim: bytes
    without_proofs: bool

    def __repr__(self) -> str:
        """Return a text without the claim."""
        return f"DealWish({self.first_place}, {len(self.recipients)} places)"


def deal_wish(request: pb.DealCardsRequest) -> DealWish:
    """Return what a `DealCardsRequest` asks for, its key aside.

    Raises:
        RequestError: names `deals` or `claim`.
    """
    for deal in request.deals:
        check_id("deals", deal.recipient)
        if not deal.count:
            raise RequestError("deals", f"give {deal.recipient!r} no card; expected at least one")
    cards = sum(deal.count for deal in request.deals)
    if not 1 <= cards <= MAX_ITEMS:
        raise RequestError("deals", f"ask for {cards} cards; expected 1 to {MAX_ITEMS}")
    if len(request.claim) != CLAIM_BYTES:
        raise RequestError(
            "claim",
            f"has {len(request.claim)} bytes; expected {CLAIM_BYTES}, random and stored before the"
            " call, or derived from a claim key",
        )
    recipients = tuple(deal.recipient for deal in request.deals for _ in range(deal.count))
    return DealWish(request.first_place, recipients, request.claim, request.without_proofs)


def places_of(request: pb.ShowCardsRequest) -> tuple[int, ...]:
    """Return the places that are asked for.

    Raises:
        RequestError: none, or not ascending; names `places`.
    """
    places = tuple(request.places)
    if not 1 <= len(places) <= MAX_ITEMS or any(a >= b for a, b in pairwise(places)):
        raise RequestError("places", f"expected 1 to {MAX_ITEMS} places, ascending, each once")
    return places
