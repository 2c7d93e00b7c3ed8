"""Seed pairs and their rounds for asyncio: `AsyncClient.fair`.

It differs from that for threads in how it waits and in nothing else.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from entropyd.client import fair_requests as requests
from entropyd.client.connection import Metadata
from entropyd.client.deal import Refusal
from entropyd.client.rounds import OpenedRound, Pair, RevealedPair, Round
from entropyd.client.service_config import DEFAULT_TIMEOUT_S
from entropyd.v1 import fair_service_pb2_grpc


class AsyncFair:
    """Rounds of roulette, slots, mines, dice poker and blackjack; see `Fair`."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        self._stub = fair_service_pb2_grpc.FairServiceStub(channel)
        self._metadata = metadata
        self._timeout_s = timeout_s

    async def open_pair(self, player: str, *, profile: str | None = None) -> Pair:
        """Begin a player's line, or return it as it is; see `Fair.open_pair`."""
        answer = await self._call(self._stub.OpenPair, requests.open_pair(player, profile))
        return Pair.from_message(answer.pair)

    async def set_client_seed(self, player: str, client_seed: str, *, server_hash: bytes) -> Pair:
        """Set the player's client seed for the present pair; see `Fair.set_client_seed`."""
        request = requests.set_client_seed(player, client_seed, server_hash)
        return Pair.from_message((await self._call(self._stub.SetClientSeed, request)).pair)

    async def play_round(
        self,
        player: str,
        round_id: str,
        game: str,
        *,
        machine: str | None = None,
        mines: int = 0,
        expected_nonce: int | None = None,
    ) -> Round:
        """Play a round, or return it as it was played; see `Fair.play_round`."""
        request = requests.play_round(
            player, round_id, game, machine=machine, mines=mines, expected_nonce=expected_nonce
        )
        answer = await self._call(self._stub.PlayRound, request)
        return Round.from_message(answer.round, replayed=answer.replayed)

    async def close_round(self, player: str, round_id: str) -> Round:
        """End an open round of mines or blackjack."""
        request = requests.close_round(player, round_id)
        answer = await self._call(self._stub.CloseRound, request)
        return Round.from_message(answer.round, replayed=True)

    async def void_round(self, player: str, round_id: str, reason: str) -> Round:
        """End an open round that shall not count; its nonce stays spent, and the reason is kept."""
        request = requests.void_round(player, round_id, reason)
        answer = await self._call(self._stub.VoidRound, request)
        return Round.from_message(answer.round, replayed=True)

    async def rotate_pair(self, player: str, pair: int) -> tuple[RevealedPair, Pair]:
        """Reveal the present pair's server seed; see `Fair.rotate_pair`."""
        answer = await self._call(self._stub.RotatePair, requests.rotate_pair(player, pair))
        return RevealedPair.from_message(answer.revealed), Pair.from_message(answer.pair)

    async def get_pair(self, player: str) -> Pair:
        """Return how a player's line stands."""
        answer = await self._call(self._stub.GetPair, requests.get_pair(player))
        return Pair.from_message(answer.pair)

    async def get_round(self, player: str, round_id: str) -> OpenedRound:
        """Return a round, with the server seed once its pair was rotated."""
        answer = await self._call(self._stub.GetRound, requests.get_round(player, round_id))
        return OpenedRound.from_message(answer)

    async def list_rounds(self, player: str, pair: int) -> AsyncIterator[Round]:
        """Yield the rounds of a pair in the order of their nonces: none is missing."""
        token = ""
        while True:
            request = requests.list_rounds(player, pair, token)
            answer = await self._call(self._stub.ListRounds, request)
            for message in answer.rounds:
                yield Round.from_message(message, replayed=True)
            token = answer.next_page_token
            if not token:
                return

    async def list_pairs(self, player: str) -> list[RevealedPair]:
        """Return the revealed pairs of a player, in their order."""
        found: list[RevealedPair] = []
        token = ""
        while True:
            answer = await self._call(self._stub.ListPairs, requests.list_pairs(player, token))
            found += map(RevealedPair.from_message, answer.revealed)
            token = answer.next_page_token
            if not token:
                return found

    async def present_pairs(self, *, overdue_only: bool = False) -> AsyncIterator[Pair]:
        """Yield the present pair of every player of the tenant; see `Fair.present_pairs`."""
        token = ""
        while True:
            request = requests.present_pairs(token, overdue_only=overdue_only)
            answer = await self._call(self._stub.ListPairs, request)
            for message in answer.present:
                yield Pair.from_message(message)
            token = answer.next_page_token
            if not token:
                return

    async def _call(self, method: Callable[..., Any], request: object) -> Any:
        try:
            return await method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
