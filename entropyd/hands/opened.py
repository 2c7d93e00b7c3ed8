"""What fixes a hand before anybody contributes to it: the public half of an open.

Spec: docs/protocol.md, "Hands dealt card by card".
"""

from dataclasses import dataclass

from entropyd.hands.rules import Rules
from entropyd.hands.seats import Seat


@dataclass(frozen=True)
class OpenedHand:
    """An opened hand. Nothing here is secret.

    Attributes:
        tenant, table, hand: ids.
        rules: what it is played under.
        sequence: q, its number at the table, from 1.
        size: n, the number of cards.
        commitment, deck_root, seats_root: C, D and A, 32 bytes each.
        open_hash: O.
        seats: who may contribute, in byte order.
        opened_at_ns: wall clock; a claim, and where expiry counts from.
        deadline_ns: when the window ends, wall clock; `opened_at_ns` where nobody contributes.
        leaf_window_ns: how long sealed contributions may be opened after the roll.
        parent: id of the hand whose discards are dealt; empty for none.
    """

    tenant: str
    table: str
    hand: str
    rules: Rules
    sequence: int
    size: int
    commitment: bytes
    deck_root: bytes
    seats_root: bytes
    open_hash: bytes
    seats: tuple[Seat, ...]
    opened_at_ns: int
    deadline_ns: int
    leaf_window_ns: int
    parent: str = ""
