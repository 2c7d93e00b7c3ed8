"""Draws and raffles for asyncio: `AsyncClient.draws` and `AsyncClient.raffles`.

They differ from those for threads in how they wait and in nothing else.
"""

from collections.abc import Callable, Sequence
from typing import Any

import grpc

from entropyd.client.connection import Metadata
from entropyd.client.deal import Refusal
from entropyd.client.draw_requests import Dice, DrawRequests, Tile
from entropyd.client.drawn import (
    Drawn,
    DrawSummary,
    Match,
    OpenedRaffle,
    Raffle,
    ReplayedDraw,
)
from entropyd.client.service_config import DEFAULT_TIMEOUT_S
from entropyd.v1 import draw_service_pb2_grpc, raffle_service_pb2_grpc


class _AsyncCalls:
    """Makes calls, and tells what was refused."""

    def __init__(self, requests: DrawRequests, metadata: Metadata | None, timeout_s: float) -> None:
        self._requests = requests
        self._metadata = metadata
        self._timeout_s = timeout_s

    async def _call(self, method: Callable[..., Any], request: object) -> Any:
        try:
            return await method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error


class AsyncDraws(_AsyncCalls):
    """Draws of numbers, dice, orders, samples and tiles; see `Draws`."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        requests: DrawRequests,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        super().__init__(requests, metadata, timeout_s)
        self._stub = draw_service_pb2_grpc.DrawServiceStub(channel)

    async def draw_integers(
        self, match: str, draw: str, *, bound: int, low: int = 0, count: int = 1
    ) -> Drawn:
        """Return numbers; see `Draws.draw_integers`."""
        request = self._requests.draw_integers(match, draw, count, low, bound)
        return await self._drawn(self._stub.DrawIntegers, request)

    async def roll_dice(self, match: str, draw: str, dice: Sequence[Dice]) -> Drawn:
        """Return the faces shown; see `Draws.roll_dice`."""
        request = self._requests.roll_dice(match, draw, dice)
        return await self._drawn(self._stub.RollDice, request)

    async def shuffle_items(
        self, match: str, draw: str, *, size: int = 0, labels: Sequence[str] = ()
    ) -> Drawn:
        """Return a list's places in a new order; see `Draws.shuffle_items`."""
        request = self._requests.shuffle_items(match, draw, size, labels)
        return await self._drawn(self._stub.ShuffleItems, request)

    async def sample(
        self, match: str, draw: str, count: int, *, size: int = 0, labels: Sequence[str] = ()
    ) -> Drawn:
        """Return places of a list, each at most once; see `Draws.sample`."""
        request = self._requests.sample(match, draw, count, size, labels)
        return await self._drawn(self._stub.Sample, request)

    async def draw_from_bag(
        self,
        match: str,
        draw: str,
        bag: str,
        count: int,
        *,
        preset: str | None = None,
        tiles: Sequence[Tile] = (),
        returns: Sequence[int] = (),
    ) -> Drawn:
        """Return kinds of tiles in drawing order; see `Draws.draw_from_bag`."""
        request = self._requests.draw_from_bag(
            match, draw, bag, count, preset=preset, tiles=tiles, returns=returns
        )
        return await self._drawn(self._stub.DrawFromBag, request)

    async def list_draws(self, match: str) -> list[DrawSummary]:
        """Return what was drawn in a match, without what came of it."""
        found: list[DrawSummary] = []
        token = ""
        while True:
            request = self._requests.list_draws(match, token)
            answer = await self._call(self._stub.ListDraws, request)
            found += map(DrawSummary.from_message, answer.draws)
            token = answer.next_page_token
            if not token:
                return found

    async def replay_match(self, match: str, *, openings: bool = False) -> Match:
        """Return a match as it was recorded; see `Draws.replay_match`."""
        draws: list[ReplayedDraw] = []
        token = ""
        while True:
            request = self._requests.replay_match(match, token, openings=openings)
            page = await self._call(self._stub.ReplayMatch, request)
            draws += map(ReplayedDraw.from_message, page.draws)
            token = page.next_page_token
            if not token:
                return Match(page.tenant, match, tuple(draws))

    async def _drawn(self, method: Callable[..., Any], request: object) -> Drawn:
        answer = await self._call(method, request)
        return Drawn.from_message(answer.draw, replayed=answer.replayed)


class AsyncRaffles(_AsyncCalls):
    """Raffles: seal the list, publish its hash, draw once; see `Raffles`."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        requests: DrawRequests,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        super().__init__(requests, metadata, timeout_s)
        self._stub = raffle_service_pb2_grpc.RaffleServiceStub(channel)

    async def seal_entries(
        self, raffle: str, entries: Sequence[str], *, winners: int, alternates: int = 0
    ) -> Raffle:
        """Fix a raffle; see `Raffles.seal_entries`."""
        request = self._requests.seal_entries(raffle, entries, winners, alternates)
        answer = await self._call(self._stub.SealEntries, request)
        return Raffle.from_message(answer.raffle, replayed=answer.replayed)

    async def draw_raffle(self, raffle: str, *, entries_hash: bytes = b"") -> Raffle:
        """Return a sealed raffle with its winners; see `Raffles.draw_raffle`."""
        request = self._requests.draw_raffle(raffle, entries_hash)
        answer = await self._call(self._stub.Draw, request)
        return Raffle.from_message(answer.raffle, replayed=answer.replayed)

    async def get_raffle(
        self, raffle: str, *, entries: bool = False, opening: bool = False
    ) -> OpenedRaffle:
        """Return how a raffle stands; see `Raffles.get_raffle`."""
        request = self._requests.get_raffle(raffle, entries=entries, opening=opening)
        return OpenedRaffle.from_message(await self._call(self._stub.GetRaffle, request))
