"""The contributions that a hand file shows, and the cut that they make.

Spec: docs/protocol.md, "The hand file", 6 and 7; "Contributions and cut".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from entropyd.errors import ProofMismatchError
from entropyd.hands.cut import CONTRIBUTION_BYTES, contribution_leaf, cut
from entropyd.log import merkle
from entropyd.verify.compare import hex_difference
from entropyd.verify.hand_file import PresentedHand
from entropyd.verify.hand_steps import FixedHand

_LEFT_OUT = "a contribution was left out, added or changed"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What seats said, as far as the file shows it.

    Attributes:
        hashes: leaf hashes in order of the roll; None if they are not shown.
        by_seat: seat -> hash of its leaf; empty before the seal.
        cut: leaf of D for every place; None before the seal.
    """

    hashes: tuple[bytes, ...] | None
    by_seat: Mapping[str, bytes]
    cut: Sequence[int] | None


def check_spoken(presented: PresentedHand, hand: FixedHand) -> Spoken:
    """Check leaf hashes and leaves against R, and compute the cut.

    Raises:
        ProofMismatchError: they are not those of the roll or seal; names which.
    """
    _check_leaf_hashes(presented, hand)
    by_seat = _by_seat(presented, hand)
    if not hand.sealed:
        return Spoken(presented.leaf_hashes, {}, None)
    hashes = tuple(map(merkle.leaf_hash, presented.leaves))
    _check_order("leaves", hashes)
    _check_root("leaves", hashes, hand)
    if presented.leaf_hashes not in (None, hashes):
        raise ProofMismatchError("are not those of leaf_hashes", field="leaves")
    moved = cut(hand.open_hash, hand.rules.size, presented.leaves, hand.rules.sampler)
    return Spoken(hashes, by_seat, moved)


def _check_leaf_hashes(presented: PresentedHand, hand: FixedHand) -> None:
    hashes = presented.leaf_hashes
    if hashes is None:
        return
    if hand.roll is None:
        raise ProofMismatchError("are there without a roll or a seal", field="leaf_hashes")
    _check_number("leaf_hashes", len(hashes), hand.roll.contributions or 0)
    _check_order("leaf_hashes", hashes)
    _check_root("leaf_hashes", hashes, hand)


def _by_seat(presented: PresentedHand, hand: FixedHand) -> dict[str, bytes]:
    seal = hand.receipts.get("seal")
    _check_number("leaves", len(presented.leaves), seal.contributions or 0 if seal else 0)
    starts = {
        contribution_leaf(hand.open_hash, seat.name, bytes(CONTRIBUTION_BYTES))[
            :-CONTRIBUTION_BYTES
        ]: seat.name
        for seat in presented.seats
    }
    found: dict[str, bytes] = {}
    for number, leaf in enumerate(presented.leaves):
        seat = starts.get(leaf[:-CONTRIBUTION_BYTES])
        if seat is None or seat in found:
            raise ProofMismatchError(
                "is no contribution of a seat to this hand, or the seat's second",
                field=f"leaves[{number}]",
                causes=("it quotes another hand's O, or was copied from there",),
            )
        found[seat] = merkle.leaf_hash(leaf)
    return found


def _check_number(part: str, shown: int, said: int) -> None:
    if shown != said:
        raise ProofMismatchError(
            f"are {shown}; the receipt says {said}", field=part, causes=(_LEFT_OUT,)
        )


def _check_order(part: str, hashes: Sequence[bytes]) -> None:
    if any(one >= following for one, following in pairwise(hashes)):
        raise ProofMismatchError(
            "are not in byte order of their leaf hashes, each once", field=part
        )


def _check_root(part: str, hashes: Sequence[bytes], hand: FixedHand) -> None:
    said = hand.roll.contributions_root if hand.roll else None
    computed = merkle.root_of_hashes(hashes)
    if computed != said:
        raise ProofMismatchError(
            f"have another R: {hex_difference(computed, said or bytes(len(computed)))}",
            field=part,
            causes=(_LEFT_OUT,),
        )
