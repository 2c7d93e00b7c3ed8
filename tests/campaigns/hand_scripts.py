"""Small hands: who may ask for what, as the model knows the calls and as HandService takes them."""

from dataclasses import dataclass
from typing import Any

from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2
from tests.campaigns.hand_model import Call
from tests.fakes.dealing import SECOND
from tests.fakes.hand_desk import (
    AUDITOR,
    PLAYER,
    SERVER,
    Player,
    claim,
    deal_request,
    key,
    made,
    open_request,
)

WINDOW_S = 30
# Six cards: a deck of 52 has no other states, and takes six times as long.
CARDS = 6
SMALL = types_pb2.Deck(removed=range(52 - CARDS))
ANN, BOB = Player("seat-1"), Player("seat-2", keyed=True)
SEATS = {player.seat: player for player in (ANN, BOB)}


@dataclass(frozen=True)
class Ask:
    """One call of an actor, made as often as wanted.

    Attributes:
        name: of it.
        parts: what it asks for, one after the other, as the model knows it.
    """

    name: str
    parts: tuple[Call, ...]


@dataclass(frozen=True)
class Script:
    """A small hand, or several.

    Attributes:
        name: of it.
        asks: all that its actors may ask for.
    """

    name: str
    asks: tuple[Ask, ...]


def _open(mode: str, hand: str = "h-1") -> Call:
    seats = () if mode == "none" else tuple(SEATS)
    window = 0 if mode == "none" else WINDOW_S * SECOND
    return {"do": "open", "hand": hand, "mode": mode, "seats": seats, "window": window}


def _says(*said: Call) -> Call:
    return {"do": "contribute", "hand": "h-1", "said": said}


def _one(player: Player, form: str, **more: Any) -> Call:
    return {"seat": player.seat, "form": form, "value": player.value} | more


def _deal(first: int, *to: str, hand: str = "h-1", whose: str = "server") -> Call:
    claimed = claim(first, whose)
    return {"do": "deal", "hand": hand, "first": first, "to": to, "claim": claimed, "whose": whose}


def _end(do: str, hand: str = "h-1", **more: Any) -> Call:
    return {"do": do, "hand": hand} | more


OTHER = made("another value")
FIRST = _deal(0, "seat-1", "burn")
# What the game server, another one and the auditor do with a hand that has seats.
TABLE_TALK = (
    Ask("deal", (FIRST,)),
    Ask("deal-on", (_deal(2, "board"),)),
    Ask("thief", (_deal(0, "seat-1", "burn", whose="thief"),)),
    Ask("seal", (_end("seal"),)),
    Ask("show", (_end("show", places=(0,)),)),
    Ask("show-burned", (_end("show", places=(1,)),)),
    Ask("reveal", (_end("reveal"),)),
    Ask("close", (_end("close"),)),
    Ask("void", (_end("void", reason="misdeal"),)),
)
OPENLY = Script(
    "two seats, open",
    (
        Ask("open", (_open("open"),)),
        Ask("ann", (_says(_one(ANN, "value")),)),
        Ask("bob", (_says(_one(BOB, "value")),)),
        Ask("ann-otherwise", (_says(_one(ANN, "value", value=OTHER)),)),
        Ask("bob-unsigned", (_says(_one(BOB, "value", unsigned=True)),)),
        Ask("all-and-deal", (_says(_one(ANN, "value"), _one(BOB, "value")), FIRST)),
        *TABLE_TALK,
    ),
)
SEALEDLY = Script(
    "two seats, sealed",
    (
        Ask("open", (_open("sealed"),)),
        Ask("ann-seals", (_says(_one(ANN, "hash")),)),
        Ask("bob-seals", (_says(_one(BOB, "hash")),)),
        Ask("bob-copies", (_says(_one(BOB, "hash", of="seat-1", value=ANN.value, unsigned=True)),)),
        Ask("ann-opens", (_says(_one(ANN, "value")),)),
        Ask("bob-opens", (_says(_one(BOB, "value")),)),
        Ask("bob-otherwise", (_says(_one(BOB, "value", value=OTHER)),)),
        *TABLE_TALK,
    ),
)
TABLE = Script(
    "three hands of a table",
    (
        *(Ask(f"open-{n}", (_open("none", f"h-{n}"),)) for n in (1, 2, 3)),
        Ask("thief-opens-1", (_open("open", "h-1"),)),
        *(Ask(f"deal-{n}", (_deal(0, "board", hand=f"h-{n}"),)) for n in (1, 2)),
        Ask("close-1-open-3", (_end("close", "h-1"), _open("none", "h-3"))),
        Ask("void-2", (_end("void", "h-2", reason="misdeal"),)),
        Ask("close-2", (_end("close", "h-2"),)),
    ),
)
SCRIPTS = (OPENLY, SEALEDLY, TABLE)


# --- as messages --------------------------------------------------------------------------


def request_of(parts: tuple[Call, ...], open_hash: bytes) -> tuple[str, Any, Any]:
    """Return method, request and caller.

    Args:
        parts: what is asked for.
        open_hash: O of the hand, 32 bytes of 0 if it is not opened.
    """
    method, request, who = _METHODS[parts[0]["do"]](parts[0], open_hash)
    for further in parts[1:]:
        field = "deal" if further["do"] == "deal" else "next"
        getattr(request, field).CopyFrom(request_of((further,), open_hash)[1])
        who = SERVER
    return method, request, who


def _opening(call: Call, _: bytes) -> tuple[str, Any, Any]:
    request = open_request(
        call["hand"],
        players=[SEATS[seat] for seat in call["seats"]],
        sealed=call["mode"] == "sealed",
        seconds=WINDOW_S,
        deck=SMALL,
        reveal_after_close=True,
    )
    return "open_hand", request, SERVER


def _contributing(call: Call, open_hash: bytes) -> tuple[str, Any, Any]:
    said = [_contribution(one, open_hash) for one in call["said"]]
    request = pb.ContributeRequest(key=key(call["hand"]), open_hash=open_hash, contributions=said)
    return "contribute", request, PLAYER


def _contribution(one: Call, open_hash: bytes) -> pb.Contribution:
    player, writer = SEATS[one["seat"]], SEATS[str(one.get("of", one["seat"]))]
    said = writer.seals(open_hash) if one["form"] == "hash" else writer.speaks(open_hash)
    said.seat = player.seat
    if one["form"] == "value":
        said.value = one["value"]
    if one.get("unsigned"):
        said.signature = b""
    return said


def _dealing(call: Call, _: bytes) -> tuple[str, Any, Any]:
    deals = [(to, 1) for to in call["to"]]
    return (
        "deal_cards",
        deal_request(call["first"], *deals, hand=call["hand"], whose=call["whose"]),
        SERVER,
    )


def _showing(call: Call, _: bytes) -> tuple[str, Any, Any]:
    return "show_cards", pb.ShowCardsRequest(key=key(call["hand"]), places=call["places"]), SERVER


def _voiding(call: Call, _: bytes) -> tuple[str, Any, Any]:
    return "void_hand", pb.VoidHandRequest(key=key(call["hand"]), reason=call["reason"]), SERVER


def _named(method: str, request: type, who: Any = SERVER) -> Any:
    return lambda call, _: (method, request(key=key(call["hand"])), who)


_METHODS = {
    "open": _opening,
    "contribute": _contributing,
    "deal": _dealing,
    "show": _showing,
    "void": _voiding,
    "seal": _named("seal_hand", pb.SealHandRequest),
    "reveal": _named("reveal_hand", pb.RevealHandRequest),
    "close": _named("close_hand", pb.CloseHandRequest),
    "get": _named("get_hand", pb.GetHandRequest, AUDITOR),
}
