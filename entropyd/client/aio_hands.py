"""Hands dealt card by card, for asyncio: `AsyncClient.hands`.

They differ from those for threads in how they wait and in nothing else.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import grpc

from entropyd.client.connection import Metadata
from entropyd.client.deal import Refusal
from entropyd.client.dealt import Closed, Contributed, Dealt, DealtCard, Hand, Revealed, cards_of
from entropyd.client.hand_requests import (
    Deals,
    HandAsk,
    HandRequests,
    SeatContribution,
    key_of,
)
from entropyd.client.service_config import DEFAULT_TIMEOUT_S
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import hand_service_pb2_grpc


class AsyncHands:
    """Opens, deals, shows and ends hands; see `Hands`."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        requests: HandRequests,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        self._stub = hand_service_pb2_grpc.HandServiceStub(channel)
        self._requests = requests
        self._metadata = metadata
        self._timeout_s = timeout_s

    async def open(self, ask: HandAsk) -> Hand:
        """Return a hand; see `Hands.open`."""
        return Hand.from_message((await self._call(self._stub.OpenHand, ask.request())).hand)

    async def contribute(
        self,
        table: str,
        hand: str,
        open_hash: bytes,
        spoken: Sequence[SeatContribution],
        *,
        deals: Deals = (),
    ) -> Contributed:
        """Hand over what seats say; see `Hands.contribute`."""
        request = self._requests.contribute(table, hand, open_hash, spoken, deals)
        return Contributed.from_message(await self._call(self._stub.Contribute, request))

    async def seal(self, table: str, hand: str) -> Hand:
        """End a window; see `Hands.seal`."""
        request = pb.SealHandRequest(key=key_of(table, hand))
        return Hand.from_message((await self._call(self._stub.SealHand, request)).hand)

    async def deal(
        self, table: str, hand: str, first_place: int, deals: Deals, *, proofs: bool = True
    ) -> Dealt:
        """Deal the next places; see `Hands.deal`."""
        request = self._requests.deal(table, hand, first_place, deals, proofs=proofs)
        return Dealt.from_message(await self._call(self._stub.DealCards, request))

    async def show(self, table: str, hand: str, places: Sequence[int]) -> tuple[DealtCard, ...]:
        """Return cards; see `Hands.show`."""
        request = pb.ShowCardsRequest(key=key_of(table, hand), places=places)
        return cards_of((await self._call(self._stub.ShowCards, request)).cards)

    async def reveal(self, table: str, hand: str) -> Revealed:
        """Return what a deck follows from; see `Hands.reveal`."""
        request = pb.RevealHandRequest(key=key_of(table, hand))
        return Revealed.from_message(await self._call(self._stub.RevealHand, request))

    async def close(self, table: str, hand: str, *, following: HandAsk | None = None) -> Closed:
        """End a hand; see `Hands.close`."""
        request = self._requests.close(table, hand, following)
        return Closed.from_message(await self._call(self._stub.CloseHand, request))

    async def void(self, table: str, hand: str, reason: str) -> Hand:
        """End a hand in public; see `Hands.void`."""
        request = pb.VoidHandRequest(key=key_of(table, hand), reason=reason)
        return Hand.from_message((await self._call(self._stub.VoidHand, request)).hand)

    async def get(self, table: str, hand: str) -> Hand:
        """Return everything public about a hand."""
        request = pb.GetHandRequest(key=key_of(table, hand))
        return Hand.from_message((await self._call(self._stub.GetHand, request)).hand)

    async def listed(self, *, table_prefix: str = "", state: str = "") -> AsyncIterator[Hand]:
        """Yield hands; see `Hands.listed`."""
        token = ""
        while True:
            request = self._requests.listed(table_prefix, state, token)
            page = await self._call(self._stub.ListHands, request)
            for message in page.hands:
                yield Hand.from_message(message)
            token = page.next_page_token
            if not token:
                return

    async def watch(
        self, table: str, hand: str, *, timeout_s: float | None = None
    ) -> AsyncIterator[Hand]:
        """Yield the hand whenever it went on; see `Hands.watch`."""
        request = pb.WatchHandRequest(key=key_of(table, hand))
        told: Any = self._stub.WatchHand(request, timeout=timeout_s, metadata=self._metadata)
        try:
            async for answer in told:
                yield Hand.from_message(answer.hand)
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
        finally:
            told.cancel()

    async def _call(self, method: Callable[..., Any], request: object) -> Any:
        try:
            return await method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
