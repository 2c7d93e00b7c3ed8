"""What the clients send to HandService."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from google.protobuf.duration_pb2 import Duration

from entropyd.client.claims import ClaimKey
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2

# To whom, and how many cards.
Deals = Sequence[tuple[str, int]]


class Contributions(StrEnum):
    """Whether seats may move the committed cards, and how they say it."""

    NONE = "none"
    OPEN = "open"
    SEALED = "sealed"


_MODES = {
    Contributions.NONE: pb.CONTRIBUTIONS_MODE_NONE,
    Contributions.OPEN: pb.CONTRIBUTIONS_MODE_OPEN,
    Contributions.SEALED: pb.CONTRIBUTIONS_MODE_SEALED,
}


@dataclass(frozen=True)
class HandAsk:
    """A hand that is to be opened.

    Attributes:
        table, hand: ids; the hand's is unique in the tenant for ever.
        deck, decks, removed: what is shuffled; not beside `parent`.
        contributions: whether seats may move the cards.
        seats: seat -> Ed25519 public key of its own software, 32 bytes, or empty.
        contribute_for_s: how long they may, seconds; whole milliseconds.
        reveal_after_close: everything may be revealed once the hand is closed.
        plan: whom place 0, 1, ... must go to; may end before the deck.
        replaces: id of a void hand that this one replaces; empty for none.
        parent: id of the hand whose discards are dealt; empty for none.
        discards: places of it, ascending.
    """

    table: str
    hand: str
    deck: str = "standard52"
    decks: int = 1
    removed: Sequence[int] = ()
    contributions: Contributions = Contributions.NONE
    seats: Mapping[str, bytes] = field(default_factory=dict)
    contribute_for_s: float = 30.0
    reveal_after_close: bool = False
    plan: Sequence[str] = ()
    replaces: str = ""
    parent: str = ""
    discards: Sequence[int] = ()

    def request(self) -> pb.OpenHandRequest:
        """Return the message."""
        asked = pb.OpenHandRequest(
            key=key_of(self.table, self.hand),
            contributions=_MODES[self.contributions],
            seats=[pb.Seat(seat=seat, public_key=key) for seat, key in self.seats.items()],
            reveal_after_close=self.reveal_after_close,
            plan=self.plan,
            replaces=self.replaces,
        )
        if self.contributions is not Contributions.NONE:
            asked.contribute_for.CopyFrom(_duration(self.contribute_for_s))
        if self.parent:
            asked.parent.CopyFrom(pb.Parent(hand=self.parent, places=self.discards))
        else:
            deck = types_pb2.Deck(name=self.deck, decks=self.decks, removed=self.removed)
            asked.deck.CopyFrom(deck)
        return asked


@dataclass(frozen=True)
class SeatContribution:
    """What a seat's own software sends: `value`, or under SEALED first its leaf hash.

    Attributes:
        seat: whose.
        value: 32 random bytes of that software.
        leaf_hash: of the contribution's leaf, 32 bytes (docs/protocol.md, section 12).
        signature: by the seat's key, 64 bytes; empty for a seat without.
    """

    seat: str
    value: bytes = b""
    leaf_hash: bytes = b""
    signature: bytes = b""


class HandRequests:
    """Builds requests; takes the claim to each deal from the claim key."""

    def __init__(self, claim_key: ClaimKey) -> None:
        """Keep the key, so that callers need not."""
        self._claim_key = claim_key

    def deal(
        self, table: str, hand: str, first_place: int, deals: Deals, *, proofs: bool
    ) -> pb.DealCardsRequest:
        """Return a request for the next places, with its claim."""
        return pb.DealCardsRequest(
            key=key_of(table, hand),
            first_place=first_place,
            deals=[pb.Deal(recipient=to, count=count) for to, count in deals],
            claim=self._claim_key.claim(table, hand, first_place),
            without_proofs=not proofs,
        )

    def contribute(
        self,
        table: str,
        hand: str,
        open_hash: bytes,
        spoken: Sequence[SeatContribution],
        deals: Deals,
    ) -> pb.ContributeRequest:
        """Return a request with what seats say, and with the first deal if there are `deals`."""
        return pb.ContributeRequest(
            key=key_of(table, hand),
            open_hash=open_hash,
            contributions=[
                pb.Contribution(
                    seat=one.seat,
                    value=one.value,
                    leaf_hash=one.leaf_hash,
                    signature=one.signature,
                )
                for one in spoken
            ],
            deal=self.deal(table, hand, 0, deals, proofs=True) if deals else None,
        )

    @staticmethod
    def close(table: str, hand: str, following: HandAsk | None) -> pb.CloseHandRequest:
        """Return a request that ends a hand, and opens the next one if there is one."""
        asked = pb.CloseHandRequest(key=key_of(table, hand))
        if following is not None:
            asked.next.CopyFrom(following.request())
        return asked

    @staticmethod
    def listed(table_prefix: str, state: str, page_token: str) -> pb.ListHandsRequest:
        """Return a request for a page of hands; an empty state is any."""
        wanted = pb.HandState.Value(f"HAND_STATE_{state.upper() or 'UNSPECIFIED'}")
        return pb.ListHandsRequest(table_prefix=table_prefix, state=wanted, page_token=page_token)


def key_of(table: str, hand: str) -> types_pb2.HandKey:
    """Return which hand."""
    return types_pb2.HandKey(table=table, hand=hand)


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromMilliseconds(round(seconds * 1000))
    return duration
