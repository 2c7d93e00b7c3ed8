"""A hand as bytes and back: what the ledger keeps of it after each step.

JSON with bytes in base64, its names in order: an operator can read it, and a
test can compare it. Nothing here is secret, and nothing of it is ever hashed as
it stands; the protocol has bytes of its own. It is written anew with each step:
what follows from something else in it is left out, A and O too, and what is empty.

    spoken  of each seat the value that is known, or the leaf hash in a list: value or [hash]
    runs    first place, recipients with how many places each, and the claim digest; that is ""
            where it is the one before
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, repeat
from typing import Any

from entropyd.errors import InternalError, RequestError
from entropyd.hands import rules as hand_rules
from entropyd.hands.binding import hand_binding
from entropyd.hands.commitment import open_hash, seats_root
from entropyd.hands.contributions import Roll, Spoken
from entropyd.hands.cut import CONTRIBUTION_BYTES, contribution_leaf
from entropyd.hands.deals import DealRun
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.opened import OpenedHand
from entropyd.hands.seats import Seat
from entropyd.log import merkle

# What is left out where it is this.
_EMPTY: dict[str, Any] = {
    "seats": [],
    "leaf_window_ns": 0,
    "parent": "",
    "spoken": {},
    "roll": None,
    "runs": [],
    "reason": "",
    "children": [],
}


def encode(hand: Hand) -> bytes:
    """Return the hand as bytes."""
    told = {
        name: value
        for name, value in _plain(hand).items()
        if name not in _EMPTY or value != _EMPTY[name]
    }
    return json.dumps(told, separators=(",", ":"), sort_keys=True).encode("ascii")


def decode(encoded: bytes) -> Hand:
    """Return the hand that `encode` made these bytes of.

    Raises:
        InternalError: they are of no hand. They were written by us, so this is damage.
    """
    try:
        return _hand(_EMPTY | json.loads(encoded))
    except (LookupError, TypeError, ValueError, RequestError) as error:
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
        "C": _text(opened.commitment),
        "D": _text(opened.deck_root),
        "seats": [[seat.name, _text(seat.public_key)] for seat in opened.seats],
        "opened_at_ns": opened.opened_at_ns,
        "deadline_ns": opened.deadline_ns,
        "leaf_window_ns": opened.leaf_window_ns,
        "parent": opened.parent,
        "state": hand.state.value,
        "spoken": {seat: _plain_spoken(one) for seat, one in hand.spoken.items()},
        "roll": None if hand.roll is None else hand.roll.deadline_ns,
        "runs": list(_plain_runs(hand.runs)),
        "reason": hand.reason,
        "children": list(hand.children),
    }


def _plain_spoken(one: Spoken) -> str | list[str]:
    return _text(one.leaf[-CONTRIBUTION_BYTES:]) if one.leaf else [_text(one.leaf_hash)]


def _plain_runs(runs: Sequence[DealRun]) -> Iterator[list[Any]]:
    before = b""
    for run in runs:
        recipients = [[to, len(list(places))] for to, places in groupby(run.recipients)]
        same = run.claim_digest == before
        yield [run.first_place, recipients, "" if same else _text(run.claim_digest)]
        before = run.claim_digest


def _hand(plain: dict[str, Any]) -> Hand:
    opened = _opened(plain)
    spoken = {seat: _spoken(opened.open_hash, seat, said) for seat, said in plain["spoken"].items()}
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
        children=tuple(plain["children"]),
    )


def _spoken(open_hash: bytes, seat: str, said: str | list[str]) -> Spoken:
    if isinstance(said, list):
        return Spoken(b64decode(said[0]))
    leaf = contribution_leaf(open_hash, seat, b64decode(said))
    return Spoken(merkle.leaf_hash(leaf), leaf)


def _runs(plain: list[Any]) -> Iterator[DealRun]:
    claim_digest = b""
    for first, recipients, digest in plain:
        claim_digest = b64decode(digest) or claim_digest
        places = chain.from_iterable(repeat(to, count) for to, count in recipients)
        yield DealRun(first, tuple(places), claim_digest)


def _opened(plain: dict[str, Any]) -> OpenedHand:
    tenant, table, hand = plain["tenant"], plain["table"], plain["hand"]
    rules = plain["rules"].encode("ascii")
    seats = tuple(Seat(name, b64decode(key)) for name, key in plain["seats"])
    hashes = {
        "commitment": b64decode(plain["C"]),
        "deck_root": b64decode(plain["D"]),
        "seats_root": seats_root({seat.name: seat.public_key for seat in seats}),
    }
    sequence, size = plain["sequence"], plain["size"]
    binding = hand_binding(tenant, table, hand, hand_rules.rules_hash(rules))
    return OpenedHand(
        tenant=tenant,
        table=table,
        hand=hand,
        rules=hand_rules.decode(rules),
        sequence=sequence,
        size=size,
        **hashes,
        open_hash=open_hash(binding, sequence=sequence, size=size, **hashes),
        seats=seats,
        opened_at_ns=plain["opened_at_ns"],
        deadline_ns=plain["deadline_ns"],
        leaf_window_ns=plain["leaf_window_ns"],
        parent=plain["parent"],
    )


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
