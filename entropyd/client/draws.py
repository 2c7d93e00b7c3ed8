"""Draws and raffles for threads: `Client.draws` and `Client.raffles`."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

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
from entropyd.v1 import draw_service_pb2, draw_service_pb2_grpc, raffle_service_pb2_grpc

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class _Calls:
    """Makes calls, and tells what was refused."""

    def __init__(self, requests: DrawRequests, metadata: Metadata | None, timeout_s: float) -> None:
        self._requests = requests
        self._metadata = metadata
        self._timeout_s = timeout_s

    def _call(self, method: Callable[..., Answer], request: object) -> Answer:
        try:
            return method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error


class Draws(_Calls):
    """Draws of numbers, dice, orders, samples and tiles. Safe to share between threads.

    Every draw belongs to a match and has an id in it; the same ids with the
    same parameters get the recorded draw again, with others they are refused.
    Every method raises `Refusal` when the daemon refuses or is not reached, and
    `RequestError` where match or draw is no id, before anything is sent.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        requests: DrawRequests,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        super().__init__(requests, metadata, timeout_s)
        self._stub = draw_service_pb2_grpc.DrawServiceStub(channel)

    def draw_integers(
        self, match: str, draw: str, *, bound: int, low: int = 0, count: int = 1
    ) -> Drawn:
        """Return numbers, each uniform over `low` to `low + bound - 1`; equal ones may come.

        Args:
            match: the match's id.
            draw: the draw's id, unique in the match.
            bound: how many different numbers may come, 1 to 2^64.
            low: the smallest; low + bound is at most 2^64.
            count: how many, 1 to 10,000.
        """
        request = self._requests.draw_integers(match, draw, count, low, bound)
        return _drawn(self._call(self._stub.DrawIntegers, request))

    def roll_dice(self, match: str, draw: str, dice: Sequence[Dice]) -> Drawn:
        """Return the faces shown, from 1, group after group.

        Args:
            match: the match's id.
            draw: the draw's id, unique in the match.
            dice: (count, faces) of each group, 1 to 32 groups.
        """
        return _drawn(self._call(self._stub.RollDice, self._requests.roll_dice(match, draw, dice)))

    def shuffle_items(
        self, match: str, draw: str, *, size: int = 0, labels: Sequence[str] = ()
    ) -> Drawn:
        """Return a list's places in a new order.

        Args:
            match: the match's id.
            draw: the draw's id, unique in the match.
            size: the length of the list, 1 to 100,000; or
            labels: the list itself.
        """
        request = self._requests.shuffle_items(match, draw, size, labels)
        return _drawn(self._call(self._stub.ShuffleItems, request))

    def sample(
        self, match: str, draw: str, count: int, *, size: int = 0, labels: Sequence[str] = ()
    ) -> Drawn:
        """Return places of a list, each at most once, in the order in which they were drawn.

        Args:
            match: the match's id.
            draw: the draw's id, unique in the match.
            count: how many, 1 to 100,000 and to the length of the list.
            size: the length of the list, 1 to 2^32; or
            labels: the list itself.
        """
        request = self._requests.sample(match, draw, count, size, labels)
        return _drawn(self._call(self._stub.Sample, request))

    def draw_from_bag(
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
        """Return kinds of tiles in drawing order; the others stay in the bag for later draws.

        Args:
            match: the match's id.
            draw: the draw's id, unique in the match.
            bag: which bag of the match.
            count: how many tiles, 1 to as many as it holds.
            preset: what the bag held at first, by name; or
            tiles: the same as (label, count) of each kind. Later draws may leave both out.
            returns: kinds that are put back first, one entry a tile.
        """
        request = self._requests.draw_from_bag(
            match, draw, bag, count, preset=preset, tiles=tiles, returns=returns
        )
        return _drawn(self._call(self._stub.DrawFromBag, request))

    def list_draws(self, match: str) -> list[DrawSummary]:
        """Return what was drawn in a match, without what came of it."""
        found: list[DrawSummary] = []
        token = ""
        while True:
            answer = self._call(self._stub.ListDraws, self._requests.list_draws(match, token))
            found += map(DrawSummary.from_message, answer.draws)
            token = answer.next_page_token
            if not token:
                return found

    def replay_match(self, match: str, *, openings: bool = False) -> Match:
        """Return a match as it was recorded.

        Args:
            match: its id.
            openings: with what each draw was made from, for whoever shall compute it again.
        """
        pages = list(self._pages(match, openings=openings))
        draws = (ReplayedDraw.from_message(draw) for page in pages for draw in page.draws)
        return Match(pages[0].tenant, match, tuple(draws))

    def _pages(
        self, match: str, *, openings: bool
    ) -> Iterator[draw_service_pb2.ReplayMatchResponse]:
        token = ""
        while True:
            request = self._requests.replay_match(match, token, openings=openings)
            page = self._call(self._stub.ReplayMatch, request)
            yield page
            token = page.next_page_token
            if not token:
                return


class Raffles(_Calls):
    """Raffles: seal the list, publish its hash, draw once. Errors as of `Draws`."""

    def __init__(
        self,
        channel: grpc.Channel,
        requests: DrawRequests,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        super().__init__(requests, metadata, timeout_s)
        self._stub = raffle_service_pb2_grpc.RaffleServiceStub(channel)

    def seal_entries(
        self, raffle: str, entries: Sequence[str], *, winners: int, alternates: int = 0
    ) -> Raffle:
        """Fix a raffle: its list, and how many win. Publish `entries_hash` of what it returns.

        Args:
            raffle: its id, unique for ever in the tenant.
            entries: 1 to 100,000 texts in any order, no two equal.
            winners: how many win.
            alternates: how many stand by for winners who fall out.
        """
        request = self._requests.seal_entries(raffle, entries, winners, alternates)
        answer = self._call(self._stub.SealEntries, request)
        return Raffle.from_message(answer.raffle, replayed=answer.replayed)

    def draw_raffle(self, raffle: str, *, entries_hash: bytes = b"") -> Raffle:
        """Return a sealed raffle with its winners: drawn now, or as it was drawn before.

        Args:
            raffle: its id.
            entries_hash: E as it was published; another one than the sealed is refused.
        """
        answer = self._call(self._stub.Draw, self._requests.draw_raffle(raffle, entries_hash))
        return Raffle.from_message(answer.raffle, replayed=answer.replayed)

    def get_raffle(
        self, raffle: str, *, entries: bool = False, opening: bool = False
    ) -> OpenedRaffle:
        """Return how a raffle stands; never draws.

        Args:
            raffle: its id.
            entries: with its canonical entries.
            opening: with what it was drawn from.
        """
        request = self._requests.get_raffle(raffle, entries=entries, opening=opening)
        return OpenedRaffle.from_message(self._call(self._stub.GetRaffle, request))


def _drawn(
    answer: draw_service_pb2.DrawIntegersResponse
    | draw_service_pb2.RollDiceResponse
    | draw_service_pb2.ShuffleItemsResponse
    | draw_service_pb2.SampleResponse
    | draw_service_pb2.DrawFromBagResponse,
) -> Drawn:
    return Drawn.from_message(answer.draw, replayed=answer.replayed)
