"""What a load generator asks of DrawService, RaffleService and FairService.

A turn is one call, or two that follow each other: the messages of each are made
here, other ids each time, so that nothing is replayed.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from entropyd.v1 import draw_service_pb2 as draws
from entropyd.v1 import fair_service_pb2 as fair
from entropyd.v1 import raffle_service_pb2 as raffles

_DRAW = "/entropyd.v1.DrawService/"
_RAFFLE = "/entropyd.v1.RaffleService/"
_FAIR = "/entropyd.v1.FairService/"

# Of one match one call has its turn at a time when it changes the match: many more matches go on
# than there are callers. Each has as many draws as an English bag gives tiles for.
MATCHES = 256
DRAWS_A_MATCH = 14
TILES = 7
# Likewise of players; each opens its line before the clock runs.
PLAYERS = 128
ENTRIES = tuple(f"ticket {number:03}" for number in range(100))
WINNERS, ALTERNATES = 3, 2

Turn = Sequence[bytes]


@dataclass(frozen=True)
class Asked:
    """What is asked for in a turn.

    Attributes:
        paths: the methods, in order.
        turn: makes the messages, from a name that was never there before and the turn's number.
    """

    paths: Sequence[str]
    turn: Callable[[str, int], Turn]


def player(number: int) -> str:
    """Return the id of a player."""
    return f"player-{number % PLAYERS}"


def claim(name: str) -> bytes:
    """Return 16 bytes as good as a claim: what they are derived from is the client's affair."""
    return hashlib.sha256(name.encode()).digest()[:16]


def turns(method: str, name: str) -> Iterator[Turn]:
    """Yield the messages of turn after turn."""
    make = ASKED[method].turn
    for number in count():
        yield make(name, number)


def _spread(name: str, number: int) -> tuple[str, int]:
    """Return the match of a turn, and the draw's number in it."""
    lap, place = divmod(number, MATCHES)
    evening, turn = divmod(lap, DRAWS_A_MATCH)
    return f"{name}-{evening}-{place}", turn


def _drawn(request: Callable[..., Any], method: str, *, one_match: bool = False) -> Asked:
    """Return draws of one kind: `request` makes the message of a match's draw."""

    def turn(name: str, number: int) -> Turn:
        match, place = (name, number) if one_match else _spread(name, number)
        key = draws.DrawKey(match=match, draw=f"draw-{place}")
        return (request(key=key, claim=claim(match)).SerializeToString(),)

    return Asked((_DRAW + method,), turn)


def _two_dice(**key: Any) -> draws.RollDiceRequest:
    return draws.RollDiceRequest(dice=[draws.Dice(count=2, faces=6)], **key)


def _one_number(**key: Any) -> draws.DrawIntegersRequest:
    return draws.DrawIntegersRequest(count=1, low=1, bound="100", **key)


def _deck(**key: Any) -> draws.ShuffleItemsRequest:
    return draws.ShuffleItemsRequest(n=52, **key)


def _lottery(**key: Any) -> draws.SampleRequest:
    return draws.SampleRequest(n=49, count=6, **key)


def _tiles(**key: Any) -> draws.DrawFromBagRequest:
    contents = draws.BagContents(preset="english")
    return draws.DrawFromBagRequest(bag="bag", contents=contents, count=TILES, **key)


def _raffle(name: str, number: int) -> Turn:
    raffle = f"{name}-{number}"
    sealed = raffles.SealEntriesRequest(
        raffle=raffle,
        claim=claim(raffle),
        entries=ENTRIES,
        winners=WINNERS,
        alternates=ALTERNATES,
    )
    drawn = raffles.DrawRequest(raffle=raffle, claim=claim(raffle))
    return sealed.SerializeToString(), drawn.SerializeToString()


def _roulette(name: str, number: int) -> Turn:
    return (_round(name, number, fair.GAME_ROULETTE),)


def _blackjack(name: str, number: int) -> Turn:
    closed = fair.CloseRoundRequest(key=_key(name, number))
    return _round(name, number, fair.GAME_BLACKJACK), closed.SerializeToString()


def _round(name: str, number: int, game: "fair.Game.ValueType") -> bytes:
    return fair.PlayRoundRequest(key=_key(name, number), game=game).SerializeToString()


def _key(name: str, number: int) -> fair.RoundKey:
    return fair.RoundKey(player=player(number), round=f"{name}-{number}")


ASKED = {
    "RollDice 2d6": _drawn(_two_dice, "RollDice"),
    "RollDice 2d6, one match": _drawn(_two_dice, "RollDice", one_match=True),
    "DrawIntegers 1": _drawn(_one_number, "DrawIntegers"),
    "ShuffleItems 52": _drawn(_deck, "ShuffleItems"),
    "Sample 6 of 49": _drawn(_lottery, "Sample"),
    f"DrawFromBag {TILES}": _drawn(_tiles, "DrawFromBag"),
    f"SealEntries {len(ENTRIES)} + Draw": Asked(
        (_RAFFLE + "SealEntries", _RAFFLE + "Draw"), _raffle
    ),
    "PlayRound roulette": Asked((_FAIR + "PlayRound",), _roulette),
    "PlayRound blackjack + CloseRound": Asked(
        (_FAIR + "PlayRound", _FAIR + "CloseRound"), _blackjack
    ),
}
