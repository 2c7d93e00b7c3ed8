"""Which lines a receipt has: for each event those it must have and those it may have.

Two events have two forms. A `close` that says `delivery: whole-deck` is the
only receipt of its hand, and says what open and close say. A `seal` or a `draw`
that names a raffle is about that.

Spec: docs/protocol.md, "Receipts", whose table this is.
"""

from enum import StrEnum
from typing import NamedTuple


class Event(StrEnum):
    """What happened."""

    TABLE = "table"
    OPEN = "open"
    ROLL = "roll"
    SEAL = "seal"
    CLOSE = "close"
    VOID = "void"
    DRAW = "draw"
    POLICY = "policy"
    KEY = "key"
    HEALTH = "health"
    BUILD = "build"


class Delivery(StrEnum):
    """How the cards of a hand left the daemon, where it is not one by one."""

    WHOLE_DECK = "whole-deck"


class Form(NamedTuple):
    """The lines of one form of an event, by name. `log`, `index`, `event`, `time` are always there.

    Attributes:
        required: must be there.
        optional: may be there.
    """

    required: frozenset[str]
    optional: frozenset[str]


ALWAYS = frozenset({"entropyd-receipt", "log", "index", "event", "time"})


def _form(required: str, optional: str = "") -> Form:
    return Form(ALWAYS | frozenset(required.split()), frozenset(optional.split()))


_HAND = "tenant table hand sequence O"

FORMS: dict[Event, Form] = {
    Event.TABLE: _form("tenant table policy", "setting"),
    Event.OPEN: _form(
        f"{_HAND} rules n C D A policy source", "deadline escrow parent replaces degraded"
    ),
    Event.ROLL: _form(f"{_HAND} contributions R deadline"),
    Event.SEAL: _form(f"{_HAND} contributions R"),
    Event.CLOSE: _form(f"{_HAND} dealt deals"),
    Event.VOID: _form("tenant table hand dealt reason", "sequence O deals"),
    # Without `rules` from a bag: whoever tries every content of it would find the hash.
    Event.DRAW: _form("tenant match draw number C D policy source", "rules seeds degraded"),
    Event.POLICY: _form("policy", "tenant table reason setting"),
    Event.KEY: _form("key", "previous reason"),
    Event.HEALTH: _form("reason source"),
    Event.BUILD: _form("version", "digest reason"),
}
WHOLE_DECK = _form(
    f"{_HAND} rules n C D A delivery dealt policy source", "escrow replaces degraded"
)
RAFFLE_SEAL = _form("tenant raffle entries rules")
RAFFLE_DRAW = _form("tenant raffle entries rules C D policy source", "seeds degraded")


def form_of(event: Event, *, delivery: bool, raffle: bool) -> Form:
    """Return the form of an event that has, or has not, lines `delivery` and `raffle`."""
    if event is Event.CLOSE and delivery:
        return WHOLE_DECK
    if event is Event.SEAL and raffle:
        return RAFFLE_SEAL
    if event is Event.DRAW and raffle:
        return RAFFLE_DRAW
    return FORMS[event]
