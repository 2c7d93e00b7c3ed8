"""Hands as messages: what is public, and the cards of one call.

`Hand` and all that it holds is made of the public half of a record alone. What
is secret comes in at `cards` and `revealed`, and in no other place.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from entropyd.errors import InternalError
from entropyd.hands.commitment import encode_items
from entropyd.hands.deals import BURN
from entropyd.hands.hand import ENDED, Hand, HandState
from entropyd.hands.judgement import Judged
from entropyd.hands.rules import Contributions
from entropyd.log.events import Event
from entropyd.log.seat_note import Outcome, SeatNote
from entropyd.runtime.hand_store import Deck
from entropyd.runtime.kept_hands import KeptHand, OpenSecrets
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2

STATES = {
    HandState.OPEN: pb.HAND_STATE_OPEN,
    HandState.ROLLED: pb.HAND_STATE_ROLLED,
    HandState.SEALED: pb.HAND_STATE_SEALED,
    HandState.CLOSED: pb.HAND_STATE_CLOSED,
    HandState.VOID: pb.HAND_STATE_VOID,
}
# Two parts of each of as many hands as decks are kept of: some 2 KiB each.
MAX_MADE = 4096

Part = TypeVar("Part", bound=Message)


class HandMessages:
    """Makes messages of what is recorded.

    What does not change about a hand any more is made once: how it was opened,
    and its cut. Owned by the event loop's thread.
    """

    def __init__(
        self,
        *,
        log: str,
        sign: Callable[[bytes], bytes],
        receipt: Callable[[int], bytes],
    ) -> None:
        """Make it.

        Args:
            log: origin of the log.
            sign: returns the signed note of a receipt or of a note to a seat; the same for the
                same text.
            receipt: returns the text of an entry of the log.
        """
        self._log = log
        self._sign = sign
        self._receipt = receipt
        self._made: OrderedDict[tuple[str, bytes], Message] = OrderedDict()

    # --- what is public ---------------------------------------------------------------

    def hand(self, kept: KeptHand) -> pb.Hand:
        """Return everything public about a hand."""
        hand = kept.hand
        return pb.Hand(
            state=STATES[hand.state],
            opened=self._once("opened", kept, self._opened),
            contributed=sorted(hand.spoken),
            roll=self._roll(kept) if Event.ROLL in kept.receipts else None,
            sealed=(
                self._once("sealed", kept, self._sealed) if Event.SEAL in kept.receipts else None
            ),
            dealt=hand.dealt,
            ended=self._ended(kept) if hand.state in ENDED else None,
        )

    def _opened(self, kept: KeptHand) -> pb.Opened:
        opened = kept.hand.opened
        contributing = opened.rules.contributions is not Contributions.NONE
        return pb.Opened(
            key=types_pb2.HandKey(table=opened.table, hand=opened.hand),
            rules=opened.rules.encode().decode("ascii"),
            sequence=opened.sequence,
            size=opened.size,
            commitment=opened.commitment,
            deck_root=opened.deck_root,
            seats_root=opened.seats_root,
            open_hash=opened.open_hash,
            seats=[pb.Seat(seat=seat.name, public_key=seat.public_key) for seat in opened.seats],
            deadline=_time(opened.deadline_ns) if contributing else None,
            receipt=self._signed(kept, Event.OPEN),
            provenance=types_pb2.Provenance.FromString(kept.provenance),
        )

    def _roll(self, kept: KeptHand) -> pb.Roll:
        roll = kept.hand.roll
        if roll is None:
            raise InternalError("a roll receipt of a hand without a roll")
        return pb.Roll(
            root=roll.root,
            leaf_hashes=roll.leaf_hashes,
            deadline=_time(roll.deadline_ns),
            receipt=self._signed(kept, Event.ROLL),
        )

    def _sealed(self, kept: KeptHand) -> pb.Sealed:
        hand = kept.hand
        if hand.roll is None:
            raise InternalError("a seal receipt of a hand without a roll")
        return pb.Sealed(
            root=hand.roll.root,
            leaves=hand.leaves,
            cut=encode_items(hand.cut()),
            receipt=self._signed(kept, Event.SEAL),
        )

    def _ended(self, kept: KeptHand) -> pb.Ended:
        hand = kept.hand
        event = Event.CLOSE if hand.state is HandState.CLOSED else Event.VOID
        return pb.Ended(
            dealt=hand.dealt,
            deals_root=hand.deals_root,
            reason=hand.reason,
            receipt=self._signed(kept, event),
        )

    def _signed(self, kept: KeptHand, event: Event) -> types_pb2.SignedReceipt:
        index = kept.receipts[event]
        note = self._sign(self._receipt(index))
        return types_pb2.SignedReceipt(note=note.decode("utf-8"), log_index=index)

    def _once(self, part: str, kept: KeptHand, make: Callable[[KeptHand], Part]) -> Part:
        """Return a part that does not change any more, made when it was first asked for."""
        key = part, kept.hand.opened.open_hash
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = make(kept)
            if len(self._made) > MAX_MADE:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return cast("Part", made)

    # --- what seats are told ------------------------------------------------------------

    def outcome(self, seat: str, judged: Judged) -> pb.ContributionOutcome:
        """Return what became of a contribution, with the seat's signed note."""
        note = SeatNote(
            log=self._log,
            open_hash=judged.hand.opened.open_hash,
            seat=seat,
            leaf_hash=judged.leaf_hash,
            outcome=Outcome.ACCEPTED if judged.refused is None else Outcome.REFUSED,
            reason=judged.refused,
        )
        signed = self._sign(note.encode())
        return pb.ContributionOutcome(
            seat=seat, refused=judged.refused or "", note=signed.decode("utf-8")
        )


# --- what is secret until it is shown -------------------------------------------------


def cards(
    hand: Hand, deck: Deck, places: Sequence[int], *, proofs: bool, burned: bool
) -> list[pb.DealtCard]:
    """Return cards of places.

    Args:
        hand: sealed, or after that.
        deck: its secret half.
        places: which; the caller may have them.
        proofs: with salts and paths.
        burned: burned cards too, which leave only when they are shown after the hand was closed.
    """
    recipients = hand.recipients
    told = []
    for proof in deck.prove(places):
        to = recipients[proof.place] if proof.place < len(recipients) else ""
        card = pb.DealtCard(place=proof.place, recipient=to, leaf_index=proof.leaf_index)
        if burned or to != BURN:
            card.item = encode_items([proof.item])
            card.card = hand.opened.rules.deck.cards([proof.item])
            if proofs:
                card.salt = proof.salt
                card.path.extend(proof.path)
        told.append(card)
    return told


def revealed(secrets: OpenSecrets) -> pb.Revealed:
    """Return what a whole deck follows from."""
    return pb.Revealed(
        seeds=secrets.seeds,
        blinding=secrets.blinding,
        salt_key=secrets.salt_key,
        items=encode_items(secrets.items),
    )


def _time(at_ns: int) -> Timestamp:
    time = Timestamp()
    time.FromNanoseconds(at_ns)
    return time
