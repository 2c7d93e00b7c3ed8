"""Hands dealt card by card as plain lists and dicts, written from docs/protocol.md alone.

What a table's hands are, what time makes of them, and what each call may be
told. Nothing of the production code is used: hashes are the naive reference's.

A hand is a dict:

    mode, seats, n     as it was opened; `O` and `X` as section 11 has them
    state              OPEN, ROLLED, SEALED, CLOSED, VOID
    said               of each seat that spoke: [leaf hash, whether its value is there]
    deadline, roll     until when seats speak, and open what they sealed (None: no roll; 0: nothing
                       to open), wall clock, ns
    window, expires    how long they may; when the hand is void
    runs               of each deal: [first place, [recipients], claim digest]
    reason             why it is void

Spec: docs/protocol.md, "Hands dealt card by card".
"""

from copy import deepcopy
from typing import Any

from tests.reference import naive

Hand = dict[str, Any]
Table = dict[str, Hand]
Call = dict[str, Any]
# What a call is told, and the hand that it is recorded with, None where nothing is recorded.
Verdict = tuple[Any, Hand | None]

OPEN, ROLLED, SEALED, CLOSED, VOID = "OPEN", "ROLLED", "SEALED", "CLOSED", "VOID"
OK = "OK"
# Of the contributions mode `none` nobody has a seat.
LIMITS = {"open": 2, "dealing": 1}


def dealt(hand: Hand) -> list[str]:
    """Return whom places 0, 1, ... went to."""
    return [to for _, recipients, _ in hand["runs"] for to in recipients]


def is_live(hand: Hand) -> bool:
    """Whether it has not ended."""
    return hand["state"] not in {CLOSED, VOID}


def due_at(hand: Hand) -> int | None:
    """Return when time makes something of it; None for never."""
    if not is_live(hand):
        return None
    ends: dict[str, int] = {OPEN: hand["deadline"], ROLLED: hand["roll"], SEALED: hand["expires"]}
    expires: int = hand["expires"]
    return min(ends[hand["state"]], expires)


# --- time ---------------------------------------------------------------------------------


def after_time(hand: Hand, now: int) -> Hand:
    """Return what the hand is at a time: 21.2 and 21.6."""
    if is_live(hand) and now >= hand["expires"]:
        return hand | {"state": VOID, "reason": "expired"}
    return after_window(hand, now)


def after_window(hand: Hand, now: int) -> Hand:
    """Return what the hand is when its window may be over: never at will."""
    said = hand["said"].values()
    if hand["state"] == OPEN and (len(said) == len(hand["seats"]) or now >= hand["deadline"]):
        if hand["mode"] == "sealed" and said:
            rolled = hand | {"state": ROLLED, "roll": now + hand["window"]}
            return after_window(rolled, now)
        return hand | {"state": SEALED, "roll": 0}
    if hand["state"] == ROLLED:
        if all(there for _, there in said):
            return hand | {"state": SEALED}
        if now >= hand["roll"]:
            return hand | {"state": VOID, "reason": "unopened"}
    return hand


# --- calls --------------------------------------------------------------------------------


def judge(table: Table, call: Call, now: int) -> Verdict:
    """Return what a call is told of a table to whose hands time has made all that is due."""
    hand = table.get(call["hand"])
    if call["do"] == "open":
        return _open(table, hand, call)
    if hand is None:
        return "HAND_NOT_FOUND", None
    if call["do"] == "contribute":
        return _contribute(hand, call, now)
    if call["do"] == "deal":
        return _deal(table, hand, call)
    return _READS_AND_ENDS[call["do"]](hand, call)


def records(call: Call) -> bool:
    """Whether a call makes steps, and so time's step first."""
    return call["do"] not in {"open", "show", "reveal", "get"}


def _open(table: Table, hand: Hand | None, call: Call) -> Verdict:
    if hand is not None:
        same = (hand["mode"], hand["seats"]) == (call["mode"], call["seats"])
        return (OK if same else "HAND_SPENT"), None
    if sum(map(is_live, table.values())) >= LIMITS["open"]:
        return "TABLE_FULL", None
    # What is drawn is not the model's to say: `opened_as` looks at what was recorded.
    return OK, {"opened_by": call}


def opened_as(call: Call, hand: Hand, now: int) -> bool:
    """Whether a recorded hand is what a call to open it records."""
    none = call["mode"] == "none"
    expected = {
        "mode": call["mode"],
        "seats": call["seats"],
        "state": SEALED if none else OPEN,
        "said": {},
        "deadline": now + call["window"],
        "window": call["window"],
        "roll": 0 if none else None,
        "runs": [],
        "reason": "",
    }
    return {name: hand[name] for name in expected} == expected


def _contribute(hand: Hand, call: Call, now: int) -> Verdict:
    """21.2, one contribution after the other."""
    after, told = deepcopy(hand), []
    for one in call["said"]:
        told.append(_refusal(after, one, now))
        if not told[-1]:
            hashed, is_value = hash_of(hand, one), one["form"] == "value"
            there = after["said"].get(one["seat"], [hashed, False])[1]
            after["said"][one["seat"]] = [hashed, there or is_value]
    after = after_window(after, now)
    return told, None if after == hand else after


def hash_of(hand: Hand, one: Call) -> str:
    """Return the leaf hash that a seat sends, or that its value has."""
    leaf = naive.contribution_leaf(hand["O"], one.get("of", one["seat"]), one["value"])
    hashed: str = naive.leaf_hash(leaf).hex()
    return hashed


def _refusal(hand: Hand, one: Call, now: int) -> str:
    """Return the reason of 21.2 against one contribution; empty if it is accepted."""
    if one.get("other_hand"):
        return "other-hand"
    if one["seat"] not in hand["seats"]:
        return "unknown-seat"
    hashed, is_value = hash_of(hand, one), one["form"] == "value"
    mine, there = hand["said"].get(one["seat"], [None, False])
    if mine == hashed and (there or not is_value):
        return ""
    if hand["mode"] == "sealed" and is_value:
        if mine == hashed:
            return _of_the_sealed_value(hand, now)
        if hand["state"] == ROLLED:
            return "not-in-roll"
    return _of_something_new(hand, one, hashed, now)


def _of_the_sealed_value(hand: Hand, now: int) -> str:
    if hand["roll"] is None:
        return "wrong-form"
    return "" if hand["state"] == ROLLED and now < hand["roll"] else "window-over"


def _of_something_new(hand: Hand, one: Call, hashed: str, now: int) -> str:
    if hand["state"] != OPEN or now >= hand["deadline"]:
        return "window-over"
    if one["seat"] in hand["said"]:
        return "already-spoken"
    if (hand["mode"] == "sealed") == (one["form"] == "value"):
        return "wrong-form"
    if hashed in [theirs for theirs, _ in hand["said"].values()]:
        return "copied"
    return "bad-signature" if one.get("unsigned") else ""


def _deal(table: Table, hand: Hand, call: Call) -> Verdict:
    """21.4."""
    run = [call["first"], list(call["to"]), naive.claim_digest(hand["X"], call["claim"]).hex()]
    if run in hand["runs"]:
        return OK, None
    if call["first"] < len(dealt(hand)):
        return "PLACE_DEALT", None
    if call["first"] > len(dealt(hand)):
        return "WRONG_PLACE", None
    if hand["state"] != SEALED:
        return "WRONG_STATE", None
    if call["first"] + len(call["to"]) > hand["n"]:
        return "INVALID_REQUEST", None
    begun = sum(is_live(other) and bool(other["runs"]) for other in table.values())
    if not hand["runs"] and begun >= LIMITS["dealing"]:
        return "TABLE_FULL", None
    return OK, hand | {"runs": [*hand["runs"], run]}


def _seal(hand: Hand, call: Call) -> Verdict:
    return ("WINDOW_OPEN" if hand["state"] == OPEN else OK), None


def _show(hand: Hand, call: Call) -> Verdict:
    """21.5."""
    if hand["state"] == CLOSED:
        return OK, None
    there = dealt(hand)
    shown = all(place < len(there) and there[place] != "burn" for place in call["places"])
    return (OK if shown else "NOT_DEALT"), None


def _reveal(hand: Hand, call: Call) -> Verdict:
    return (OK if hand["state"] == CLOSED else "WRONG_STATE"), None


def _get(hand: Hand, call: Call) -> Verdict:
    return OK, None


def _close(hand: Hand, call: Call) -> Verdict:
    """21.6."""
    if hand["state"] == CLOSED:
        return OK, None
    return (OK, hand | {"state": CLOSED}) if hand["state"] == SEALED else ("WRONG_STATE", None)


def _void(hand: Hand, call: Call) -> Verdict:
    if hand["state"] == VOID and hand["reason"] == call["reason"]:
        return OK, None
    if not is_live(hand):
        return "WRONG_STATE", None
    return OK, hand | {"state": VOID, "reason": call["reason"]}


_READS_AND_ENDS = {
    "seal": _seal,
    "show": _show,
    "reveal": _reveal,
    "get": _get,
    "close": _close,
    "void": _void,
}
