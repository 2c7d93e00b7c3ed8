"""A hand as bytes and back: what the ledger keeps of it after each step.

JSON with hexadecimal texts, its names in order: an operator can read it, and a
test can compare it. Nothing here is secret, and nothing of it is ever hashed as
it stands; the protocol has bytes of its own. It is written anew with each step:
what follows from something else in it is left out.

    spoken  of each seat the value that is known, or the leaf hash: [value, ""] or ["", hash]
    runs    first place, recipients with how many places each, and the claim digest; that is ""
            where it is the one before
    parent, children   only of hands that have them
"""

import json
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, repeat
from typing import Any

from entropyd.errors import InternalError, RequestError
from entropyd.hands import rules as hand_rules
from entropyd.hands.contributions import Roll, Spoken
from entropyd.hands.cut import CONTRIBUTION_BYTES, contribution_leaf
from entropyd.hands.deals import DealRun
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.opened import OpenedHand
from entropyd.hands.seats import Seat
from entropyd.log import merkle


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
    except (KeyError, TypeError, ValueError, RequestError) as error:
        raise InternalError(f"a stored hand cannot be read ({type(error).__name__})") from error


def _plain(hand: Hand) -> dict[str, Any]:
    opened = hand.opened
    family: dict[str, Any] = {}
    if opened.parent:
        family["parent"] = opened.parent
    if hand.children:
        family["children"] = list(hand.children)
    return family | {
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
        "spoken": {seat: _plain_spoken(one) for seat, one in hand.spoken.items()},
        "roll": None if hand.roll is None else hand.roll.deadline_ns,
        "runs": list(_plain_runs(hand.runs)),
        "reason": hand.reason,
    }


def _plain_spoken(one: Spoken) -> list[str]:
    return [one.leaf[-CONTRIBUTION_BYTES:].hex(), "" if one.leaf else one.leaf_hash.hex()]


def _plain_runs(runs: Sequence[DealRun]) -> Iterator[list[Any]]:
    before = b""
    for run in runs:
        recipients = [[to, len(list(places))] for to, places in groupby(run.recipients)]
        same = run.claim_digest == before
        yield [run.first_place, recipients, "" if same else run.claim_digest.hex()]
        before = run.claim_digest


def _hand(plain: dict[str, Any]) -> Hand:
    opened = _opened(plain)
    spoken = {
        seat: _spoken(opened.open_hash, seat, bytes.fromhex(value), bytes.fromhex(leaf_hash))
        for seat, (value, leaf_hash) in plain["spoken"].items()
    }
    roll = None
    if plain["roll"] is not None:
        roll = Roll(tuple(sorted(one.leaf_hash for one in spoken.values())), plain["roll"])
    return Hand(
        opened=opened,
        state=HandState(plain["state"]),
        spoken=spoken,
        roll=roll,
        runs=tuple(_runs(plain["runs"])),
        reason=plain["reason"],
        children=tuple(plain.get("children", ())),
    )


def _spoken(open_hash: bytes, seat: str, value: bytes, leaf_hash: bytes) -> Spoken:
    if not value:
        return Spoken(leaf_hash)
    leaf = contribution_leaf(open_hash, seat, value)
    return Spoken(merkle.leaf_hash(leaf), leaf)


def _runs(plain: list[Any]) -> Iterator[DealRun]:
    claim_digest = b""
    for first, recipients, digest in plain:
        claim_digest = bytes.fromhex(digest) or claim_digest
        places = chain.from_iterable(repeat(to, count) for to, count in recipients)
        yield DealRun(first, tuple(places), claim_digest)


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
        parent=plain.get("parent", ""),
    )
