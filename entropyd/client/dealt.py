"""What a client gets of hands that are dealt card by card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import unpack

from google.protobuf.timestamp_pb2 import Timestamp

from entropyd.client.deal import Refusal
from entropyd.client.log import SignedReceipt
from entropyd.draw.cards import card_text
from entropyd.v1 import hand_service_pb2 as pb


@dataclass(frozen=True)
class Hand:
    """Everything public about a hand; it may be published as it is.

    Attributes:
        table, hand: ids.
        state: "open", "rolled", "sealed", "closed" or "void".
        rules: the canonical lines.
        sequence: q, its number at the table.
        size: n, how many cards.
        open_hash: O, which contributions quote, 32 bytes.
        seats: seat -> public key, empty for none.
        receipts: event -> signed receipt: open always; roll, seal, close or void as they come.
        deadline_s: when the window ends, Unix time; None where nobody contributes.
        roll_deadline_s: until when sealed contributions are opened; None before the roll.
        contributed: seats whose contribution was accepted.
        leaf_hashes: of the roll, sorted, 32 bytes each.
        leaves: the contributions, once the hand is sealed, in the order of their leaf hashes.
        cut: for every place the leaf that is dealt there; empty until the hand is sealed.
        dealt: how many places were dealt.
        reason: why it is void; empty unless it is.
        message: the same with everything else, as it came.
    """

    table: str
    hand: str
    state: str
    rules: str
    sequence: int
    size: int
    open_hash: bytes
    seats: Mapping[str, bytes]
    receipts: Mapping[str, SignedReceipt]
    deadline_s: float | None
    roll_deadline_s: float | None
    contributed: Sequence[str]
    leaf_hashes: Sequence[bytes]
    leaves: Sequence[bytes]
    cut: Sequence[int]
    dealt: int
    reason: str
    message: pb.Hand = field(repr=False, compare=False)

    @classmethod
    def from_message(cls, message: pb.Hand) -> "Hand":
        """Return the hand that a message holds."""
        opened, sealed = message.opened, message.sealed
        has_roll = message.HasField("roll")
        return cls(
            table=opened.key.table,
            hand=opened.key.hand,
            state=pb.HandState.Name(message.state).removeprefix("HAND_STATE_").lower(),
            rules=opened.rules,
            sequence=opened.sequence,
            size=opened.size,
            open_hash=opened.open_hash,
            seats={seat.seat: seat.public_key for seat in opened.seats},
            receipts=_receipts(message),
            deadline_s=_seconds(opened.deadline) if opened.HasField("deadline") else None,
            roll_deadline_s=_seconds(message.roll.deadline) if has_roll else None,
            contributed=tuple(message.contributed),
            leaf_hashes=tuple(message.roll.leaf_hashes),
            leaves=tuple(sealed.leaves),
            cut=unpack(f">{len(sealed.cut) // 4}I", sealed.cut),
            dealt=message.dealt,
            reason=message.ended.reason,
            message=message,
        )


@dataclass(frozen=True)
class DealtCard:
    """A card on its way to a recipient. Secret until it is shown.

    Attributes:
        place: of the deal.
        recipient: to whom; empty for a place that was not dealt.
        card: as people read it, such as `As`; empty for a burned card, which does not leave.
        item, leaf_index, salt, path: what proves it (docs/protocol.md, section 11.2); empty for a
            burned card, and salt and path where they were not asked for.
    """

    place: int
    recipient: str
    card: str = field(repr=False)
    item: int | None = field(repr=False)
    leaf_index: int
    salt: bytes = field(repr=False)
    path: Sequence[bytes] = field(repr=False)

    @classmethod
    def from_message(cls, message: pb.DealtCard) -> "DealtCard":
        """Return the card that a message holds."""
        return cls(
            place=message.place,
            recipient=message.recipient,
            card=card_text(message.card[0]) if message.card else "",
            item=int.from_bytes(message.item, "big") if message.item else None,
            leaf_index=message.leaf_index,
            salt=message.salt,
            path=tuple(message.path),
        )


@dataclass(frozen=True)
class Dealt:
    """What one call dealt.

    Attributes:
        cards: in order of places.
        dealt: how many places are dealt now: the next `first_place`.
        replayed: dealt by an earlier call with this claim.
    """

    cards: Sequence[DealtCard]
    dealt: int
    replayed: bool

    @classmethod
    def from_message(cls, message: pb.DealCardsResponse) -> "Dealt":
        """Return what a message says was dealt."""
        return cls(cards_of(message.cards), message.dealt, message.replayed)


@dataclass(frozen=True)
class SeatOutcome:
    """What became of a contribution.

    Attributes:
        seat: whose.
        refused: empty if it was accepted, else why not.
        note: the daemon's signed note, for the seat to keep.
    """

    seat: str
    refused: str
    note: str


@dataclass(frozen=True)
class Contributed:
    """What became of contributions, and of the deal beside them.

    Attributes:
        outcomes: in the order of the call.
        hand: after it.
        dealt: the first cards; None where they were not asked for, or the hand is not sealed.
        refusal: why nothing was dealt although the hand is sealed; None unless it was refused.
    """

    outcomes: Sequence[SeatOutcome]
    hand: Hand
    dealt: Dealt | None
    refusal: Refusal | None

    @classmethod
    def from_message(cls, message: pb.ContributeResponse) -> "Contributed":
        """Return what a message says."""
        return cls(
            outcomes=tuple(
                SeatOutcome(one.seat, one.refused, one.note) for one in message.outcomes
            ),
            hand=Hand.from_message(message.hand),
            dealt=Dealt.from_message(message.dealt) if message.HasField("dealt") else None,
            refusal=Refusal.from_message(message.deal_refusal)
            if message.HasField("deal_refusal")
            else None,
        )


@dataclass(frozen=True)
class Closed:
    """A closed hand, and the one that was opened in the same call.

    Attributes:
        hand: the closed one.
        following: the next one; None where none was asked for, or it was refused.
        refusal: why there is no next one; ask `open` for it.
    """

    hand: Hand
    following: Hand | None
    refusal: Refusal | None

    @classmethod
    def from_message(cls, message: pb.CloseHandResponse) -> "Closed":
        """Return what a message says."""
        return cls(
            hand=Hand.from_message(message.hand),
            following=Hand.from_message(message.next.hand) if message.HasField("next") else None,
            refusal=Refusal.from_message(message.next_refusal)
            if message.HasField("next_refusal")
            else None,
        )


@dataclass(frozen=True)
class Revealed:
    """What a whole deck follows from. Secret until it is shown; of no other hand.

    Attributes:
        seeds, blinding, salt_key: S, r and K.
        items: the committed order.
        hand: the hand.
    """

    seeds: bytes = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)
    items: Sequence[int] = field(repr=False)
    hand: Hand

    @classmethod
    def from_message(cls, message: pb.RevealHandResponse) -> "Revealed":
        """Return what a message says."""
        told = message.revealed
        items = unpack(f">{len(told.items) // 4}I", told.items)
        hand = Hand.from_message(message.hand)
        return cls(told.seeds, told.blinding, told.salt_key, items, hand)


def cards_of(messages: Sequence[pb.DealtCard]) -> tuple[DealtCard, ...]:
    """Return cards in their order."""
    return tuple(map(DealtCard.from_message, messages))


def _receipts(message: pb.Hand) -> dict[str, SignedReceipt]:
    end = "void" if message.state == pb.HAND_STATE_VOID else "close"
    found = {
        "open": message.opened.receipt,
        "roll": message.roll.receipt,
        "seal": message.sealed.receipt,
        end: message.ended.receipt,
    }
    return {
        event: SignedReceipt(signed.log_index, signed.note)
        for event, signed in found.items()
        if signed.note
    }


def _seconds(time: Timestamp) -> float:
    return time.seconds + time.nanos / 1e9
