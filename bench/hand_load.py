"""Hands dealt card by card, as a card room asks for them: hand after hand at each table.

A hand of six seats takes five calls. With contributions the first of them brings
those of all seats and gets the cards in hand; without, it only deals. Then flop,
turn and river, each behind a burned card, and CloseHand, which opens the next.
The first hand of each table is opened before the clock runs, and the last of
each closed after it.
"""

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.http2 import Connection, connect
from bench.tally import Tally
from entropyd.hands.deals import BURN
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2

CALLS = 5
SEATS = tuple(f"seat-{number}" for number in range(1, 7))
BOARD = "board"
# Cards in hand; then flop, turn and river, each behind a burned card.
IN_HAND: Sequence[tuple[str, int]] = tuple((seat, 2) for seat in SEATS)
STREETS: Sequence[Sequence[tuple[str, int]]] = tuple(
    ((BURN, 1), (BOARD, cards)) for cards in (3, 1, 1)
)
WINDOW_S = 30

_PATHS = {
    method: f"/entropyd.v1.HandService/{method}"
    for method in ("OpenHand", "Contribute", "DealCards", "CloseHand")
}


@dataclass(frozen=True)
class Style:
    """How hands are played.

    Attributes:
        contributions: whether all seats contribute.
        proofs: whether cards come with salts and paths.
    """

    contributions: bool
    proofs: bool


STYLES = {
    "no contributions": Style(contributions=False, proofs=True),
    "no contributions, without proofs": Style(contributions=False, proofs=False),
    "6 open contributions": Style(contributions=True, proofs=True),
    "6 open contributions, without proofs": Style(contributions=True, proofs=False),
}


class RefusedError(Exception):
    """A call was refused."""


class _Table:
    """A table at which one hand follows the other."""

    def __init__(self, lane: Mapping[str, Connection], name: str, number: int, style: Style):
        self._lane = lane
        self._name, self._table = f"{name}-{number}", f"table-{number}"
        self._style = style
        self._hand = 0
        self._open_hash = b""
        self.answers = 0

    async def open(self) -> None:
        """Open the first hand."""
        raw = await self._call("OpenHand", self._next())
        self._open_hash = pb.OpenHandResponse.FromString(raw).hand.opened.open_hash

    async def play(self, *, last: bool) -> None:
        """Play a hand, and open the next unless it is the last one."""
        await self._begin()
        place = sum(cards for _, cards in IN_HAND)
        for street in STREETS:
            await self._call("DealCards", self._deal(place, street))
            place += sum(cards for _, cards in street)
        request = pb.CloseHandRequest(key=self._key)
        if not last:
            self._hand += 1
            request.next.CopyFrom(self._next())
        closed = pb.CloseHandResponse.FromString(await self._call("CloseHand", request))
        if closed.HasField("next_refusal"):
            raise RefusedError(closed.next_refusal.message)
        self._open_hash = closed.next.hand.opened.open_hash

    async def _begin(self) -> None:
        """Deal the cards in hand, with the contributions if there are any."""
        deal = self._deal(0, IN_HAND)
        if not self._style.contributions:
            await self._call("DealCards", deal)
            return
        request = pb.ContributeRequest(
            key=self._key,
            open_hash=self._open_hash,
            # As good as random: who draws them is the players' affair.
            contributions=[pb.Contribution(seat=seat, value=self._digest(seat)) for seat in SEATS],
            deal=deal,
        )
        answer = pb.ContributeResponse.FromString(await self._call("Contribute", request))
        if not answer.HasField("dealt"):
            raise RefusedError(f"{answer.deal_refusal.message} {answer.outcomes}")

    @property
    def _key(self) -> types_pb2.HandKey:
        return types_pb2.HandKey(table=self._table, hand=f"{self._name}-{self._hand}")

    def _digest(self, of: str) -> bytes:
        return hashlib.sha256(f"{self._name} {self._hand} {of}".encode()).digest()

    def _next(self) -> pb.OpenHandRequest:
        request = pb.OpenHandRequest(key=self._key)
        if self._style.contributions:
            request.contributions = pb.CONTRIBUTIONS_MODE_OPEN
            request.seats.extend([pb.Seat(seat=seat) for seat in SEATS])
            request.contribute_for.FromSeconds(WINDOW_S)
        return request

    def _deal(self, first: int, deals: Sequence[tuple[str, int]]) -> pb.DealCardsRequest:
        return pb.DealCardsRequest(
            key=self._key,
            first_place=first,
            deals=[pb.Deal(recipient=to, count=cards) for to, cards in deals],
            claim=self._digest("claim")[:16],
            without_proofs=not self._style.proofs,
        )

    async def _call(self, method: str, request: Any) -> bytes:
        """Return the answer to a call; RefusedError if it has none."""
        answered: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        connection = self._lane[method]
        connection.call(request.SerializeToString(), answered.set_result)
        connection.flush()
        answer = await answered
        if answer is None:
            raise RefusedError(f"{method} {self._name}")
        self.answers += 1
        return answer


async def hands(order: Any) -> dict[str, float]:
    """Play at `in_flight` tables for `seconds`.

    `answered` counts hands by the calls that were answered while the clock ran: a hand may take as
    long as it runs. `played` counts those that ended after it too.
    """
    lanes = [
        {name: await connect(order.target, path, timeout_s=order.timeout_s) for name, path in paths}
        for paths in [_PATHS.items()] * min(order.connections, order.in_flight)
    ]
    style = STYLES[order.method]
    tables = [
        _Table(lanes[number % len(lanes)], order.name, number, style)
        for number in range(order.in_flight)
    ]
    await asyncio.gather(*[table.open() for table in tables])
    tally, played, before = Tally(order.pid), 0, _answers(tables)
    end = time.monotonic() + order.seconds

    async def play(table: _Table) -> None:
        nonlocal played
        while (began := time.monotonic()) < end:
            await table.play(last=False)
            played += 1
            if time.monotonic() < end:
                tally.latencies_s.append(time.monotonic() - began)

    playing = [asyncio.create_task(play(table)) for table in tables]
    await asyncio.sleep(order.seconds)
    result = tally.result()
    answered = (_answers(tables) - before) / CALLS
    await asyncio.gather(*playing)
    await asyncio.gather(*[table.play(last=True) for table in tables])
    for connection in [connection for lane in lanes for connection in lane.values()]:
        connection.close()
    rate = answered / result["seconds"]
    return result | {"answered": answered, "rate": rate, "played": played + len(tables)}


def _answers(tables: Sequence[_Table]) -> int:
    return sum(table.answers for table in tables)
