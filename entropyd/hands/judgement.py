"""Whether a contribution to a hand is taken.

Every contribution is judged, also after its window: whoever asks again gets the
answer it got, and whoever comes too late is told so in a note that it can show.

Spec: docs/protocol.md, "Contributions and cut".
"""

from dataclasses import dataclass

from entropyd.hands.contributions import Contribution, Refused, Spoken
from entropyd.hands.cut import contribution_leaf
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.rules import Contributions
from entropyd.hands.seats import Seat, has_signed
from entropyd.log import merkle


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a contribution.

    Attributes:
        hand: after it; the same object if it changed nothing.
        leaf_hash: what was contributed, as the note names it.
        refused: why not; None if it is accepted.
    """

    hand: Hand
    leaf_hash: bytes
    refused: Refused | None


def judge(hand: Hand, contribution: Contribution, quoted: bytes, now_ns: int) -> Judged:
    """Say what becomes of a contribution to `hand`.

    Args:
        hand: as it is recorded.
        contribution: what arrived.
        quoted: the open hash that it quotes, 32 bytes.
        now_ns: wall clock.
    """
    opened = hand.opened
    # Of another hand's contribution the note names the leaf of that hand: its seat knows it again.
    spoken = _spoken(quoted, contribution)
    if quoted != opened.open_hash:
        return Judged(hand, spoken.leaf_hash, Refused.OTHER_HAND)
    seat = next((seat for seat in opened.seats if seat.name == contribution.seat), None)
    if seat is None:
        return Judged(hand, spoken.leaf_hash, Refused.UNKNOWN_SEAT)
    known = hand.spoken.get(seat.name)
    if known is not None and known.leaf_hash == spoken.leaf_hash:
        return _said_again(hand, seat, known, spoken, now_ns)
    return Judged(*_first(hand, seat, spoken, contribution.signature, now_ns))


def _spoken(open_hash: bytes, contribution: Contribution) -> Spoken:
    if contribution.leaf_hash:
        return Spoken(contribution.leaf_hash)
    leaf = contribution_leaf(open_hash, contribution.seat, contribution.value)
    return Spoken(merkle.leaf_hash(leaf), leaf)


def _said_again(hand: Hand, seat: Seat, known: Spoken, spoken: Spoken, now_ns: int) -> Judged:
    """The seat says what it said, or opens it. Its signature was checked the first time."""
    if not spoken.leaf or known.leaf:
        return Judged(hand, known.leaf_hash, None)
    if hand.roll is None:
        # Before the roll a value would tell whoever speaks after it.
        return Judged(hand, known.leaf_hash, Refused.WRONG_FORM)
    if hand.state is not HandState.ROLLED or now_ns >= hand.roll.deadline_ns:
        return Judged(hand, known.leaf_hash, Refused.WINDOW_OVER)
    return Judged(hand.with_spoken(seat.name, spoken), known.leaf_hash, None)


def _first(
    hand: Hand, seat: Seat, spoken: Spoken, signature: bytes, now_ns: int
) -> tuple[Hand, bytes, Refused | None]:
    """The seat says something that it has not said."""
    refused = _refusal(hand, seat, spoken, signature, now_ns)
    if refused is not None:
        return hand, spoken.leaf_hash, refused
    return hand.with_spoken(seat.name, spoken), spoken.leaf_hash, None


def _refusal(
    hand: Hand, seat: Seat, spoken: Spoken, signature: bytes, now_ns: int
) -> Refused | None:
    """Return the first reason against it, None if there is none."""
    opened = hand.opened
    sealed = opened.rules.contributions is Contributions.SEALED
    late = hand.state is not HandState.OPEN or now_ns >= opened.deadline_ns
    reasons = (
        (hand.state is HandState.ROLLED and bool(spoken.leaf), Refused.NOT_IN_ROLL),
        (late, Refused.WINDOW_OVER),
        (seat.name in hand.spoken, Refused.ALREADY_SPOKEN),
        (sealed == bool(spoken.leaf), Refused.WRONG_FORM),
        (spoken.leaf_hash in {one.leaf_hash for one in hand.spoken.values()}, Refused.COPIED),
    )
    refused = next((reason for holds, reason in reasons if holds), None)
    if refused is None and not has_signed(seat, spoken.leaf_hash, signature):
        return Refused.BAD_SIGNATURE
    return refused
