"""A hand as bytes and back: what the ledger keeps of it after each step.

JSON with hexadecimal texts, its names in order: an operator can read it, and a
test can compare it. Nothing here is secret, and nothing of it is ever hashed as
it stands; the protocol has bytes of its own.
"""

import json
from typing import Any

from entropyd.errors import InternalError
from entropyd.hands import rules as hand_rules
from entropyd.hands.contributions import Roll, Spoken
from entropyd.hands.deals import DealRun
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.opened import OpenedHand
from entropyd.hands.seats import Seat


def encode(hand: Hand) -> bytes:
    """Return the hand as bytes."""
    return json.dumps(_plain(hand), separators=(",", ":"), sort_keys=True).encode("ascii")


def decode(encoded: bytes) -> Hand:
    """Return the hand that `encode` made these bytes of.

    Raises:
        InternalError: they are of no hand. They were written by us, so this is damage.
    """
    try:
        return _hand(json.loads(encoded))
    except (KeyError, TypeError, ValueError) as error:
        raise InternalError(f"a stored hand cannot be read ({type(error).__name__})") from error


def _plain(hand: Hand) -> dict[str, Any]:
    opened = hand.opened
    return {
        "tenant": opened.tenant,
        "table": opened.table,
        "hand": opened.hand,
        "rules": opened.rules.encode().decode("ascii"),
        "sequence": opened.sequence,
        "size": opened.size,
        "C": opened.commitment.hex(),
        "D": opened.deck_root.hex(),
        "A": opened.seats_root.hex(),
        "O": opened.open_hash.hex(),
        "seats": [[seat.name, seat.public_key.hex()] for seat in opened.seats],
        "opened_at_ns": opened.opened_at_ns,
        "deadline_ns": opened.deadline_ns,
        "leaf_window_ns": opened.leaf_window_ns,
        "state": hand.state.value,
        "spoken": {
            seat: [one.leaf_hash.hex(), one.leaf.hex()] for seat, one in hand.spoken.items()
        },
        "roll": None if hand.roll is None else hand.roll.deadline_ns,
        "runs": [
            [run.first_place, list(run.recipients), run.claim_digest.hex()] for run in hand.runs
        ],
        "reason": hand.reason,
    }


def _hand(plain: dict[str, Any]) -> Hand:
    spoken = {
        seat: Spoken(bytes.fromhex(leaf_hash), bytes.fromhex(leaf))
        for seat, (leaf_hash, leaf) in plain["spoken"].items()
    }
    roll = None
    if plain["roll"] is not None:
        roll = Roll(tuple(sorted(one.leaf_hash for one in spoken.values())), plain["roll"])
    return Hand(
        opened=_opened(plain),
        state=HandState(plain["state"]),
        spoken=spoken,
        roll=roll,
        runs=tuple(
            DealRun(first, tuple(recipients), bytes.fromhex(claim_digest))
            for first, recipients, claim_digest in plain["runs"]
        ),
        reason=plain["reason"],
    )


def _opened(plain: dict[str, Any]) -> OpenedHand:
    return OpenedHand(
        tenant=plain["tenant"],
        table=plain["table"],
        hand=plain["hand"],
        rules=hand_rules.decode(plain["rules"].encode("ascii")),
        sequence=plain["sequence"],
        size=plain["size"],
        commitment=bytes.fromhex(plain["C"]),
        deck_root=bytes.fromhex(plain["D"]),
        seats_root=bytes.fromhex(plain["A"]),
        open_hash=bytes.fromhex(plain["O"]),
        seats=tuple(Seat(name, bytes.fromhex(key)) for name, key in plain["seats"]),
        opened_at_ns=plain["opened_at_ns"],
        deadline_ns=plain["deadline_ns"],
        leaf_window_ns=plain["leaf_window_ns"],
    )
