"""What callers of draws, raffles and rounds asked for, and what was ever told of each.

A thing has one content for ever. Whatever tells of it - its answer, the same
request again, a match, raffle or pair read back - is noted here, and anything
that tells it otherwise is counted.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from entropyd.v1 import fair_service_pb2 as fair
from entropyd.v1 import raffle_service_pb2 as raffles


class Kind(StrEnum):
    """What is asked for."""

    DRAW = "draws"
    BAG = "bags"
    RAFFLE = "raffles"
    ROUND = "rounds"


@dataclass(frozen=True)
class Ask:
    """A request that is made until it is answered, and again later.

    Attributes:
        kind: what of.
        name: as the log of phases names it: kind of subject, subject, key.
        service: class of a stub.
        method: its method.
        request: the same each time.
        told: returns of an answer what is recorded, and so never changes.
    """

    kind: Kind
    name: str
    service: type
    method: str
    request: Any
    told: Callable[[Any], bytes]


class Book:
    """Everything that was asked for and told.

    Attributes:
        asked: by name, everything that was ever asked for.
        answered: by name, what was answered.
        differing: how often something was told otherwise than before, by kind.
    """

    def __init__(self) -> None:
        self.asked: dict[str, Ask] = {}
        self.answered: dict[str, Ask] = {}
        self.differing: Counter[Kind] = Counter()
        self._told: dict[str, bytes] = {}

    def note(self, kind: Kind, name: str, told: bytes) -> None:
        """Take note of what something is told to be."""
        if self._told.setdefault(name, told) != told:
            self.differing[kind] += 1

    def answer(self, ask: Ask, answer: Any) -> None:
        """Take note of an answer."""
        self.answered[ask.name] = ask
        self.note(ask.kind, ask.name, ask.told(answer))

    def of_kind(self, kind: Kind) -> list[Ask]:
        """Return what was answered of a kind."""
        return [ask for ask in self.answered.values() if ask.kind is kind]


def drawn(answer: Any) -> bytes:
    """Return a draw as recorded."""
    return encoded(answer.draw)


def sealed(answer: Any) -> bytes:
    """Return a raffle as sealed: what became of it later is another record."""
    raffle = raffles.Raffle()
    raffle.CopyFrom(answer.raffle)
    raffle.ClearField("result")
    return encoded(raffle)


def won(answer: Any) -> bytes:
    """Return who won a raffle; nothing if it was not drawn."""
    raffle = answer.raffle
    return encoded(raffle.result) if raffle.HasField("result") else b""


def played(answer: Any) -> bytes:
    """Return a round as played: how it ended is another record."""
    return round_as_played(answer.round)


def round_as_played(message: fair.Round) -> bytes:
    """Return what the record of a round holds."""
    round_ = fair.Round()
    round_.CopyFrom(message)
    round_.ClearField("state")
    round_.ClearField("void_reason")
    return encoded(round_)


def encoded(message: Any) -> bytes:
    """Return the one encoding of a message."""
    told: bytes = message.SerializeToString(deterministic=True)
    return told
