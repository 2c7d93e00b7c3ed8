"""A client for asyncio: `Client`, with `await`."""

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc

from entropyd.client.aio_draws import AsyncDraws, AsyncRaffles
from entropyd.client.aio_fair import AsyncFair
from entropyd.client.aio_hands import AsyncHands
from entropyd.client.aio_log import AsyncLog
from entropyd.client.claims import ClaimKey
from entropyd.client.connection import Tls, open_aio_channel, token_metadata
from entropyd.client.deal import Deal, HandAnswer, Refusal
from entropyd.client.draw_requests import DrawRequests, Large, SamplerName
from entropyd.client.hand_requests import HandRequests
from entropyd.client.requests import HANDS_A_MESSAGE, Event, Hand, Requests
from entropyd.client.service_config import BATCH_TIMEOUT_S, DEFAULT_TIMEOUT_S
from entropyd.client.stream_end import messages
from entropyd.v1 import (
    entropy_service_pb2,
    entropy_service_pb2_grpc,
    shuffle_service_pb2_grpc,
)


class AsyncClient:
    """The same for asyncio. Use it in one event loop."""

    def __init__(
        self,
        target: str,
        *,
        claim_key: ClaimKey | None = None,
        claim_key_file: str | Path | None = None,
        tls: Tls | None = None,
        token: str | None = None,
    ) -> None:
        """Connect lazily; arguments as for `Client`."""
        self._requests = Requests(claim_key, claim_key_file)
        self._metadata = token_metadata(target, tls, token)
        self._channel = open_aio_channel(target, tls)
        self._shuffles = shuffle_service_pb2_grpc.ShuffleServiceStub(self._channel)
        self._entropy = entropy_service_pb2_grpc.EntropyServiceStub(self._channel)

    def draws(
        self,
        *,
        sampler: SamplerName = SamplerName.MASKED,
        large: Large = Large.REFUSE,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> AsyncDraws:
        """Return the calls that draw numbers, dice, orders and more; see `Client.draws`."""
        requests = DrawRequests(self._requests.claim_key, sampler=sampler, large=large)
        return AsyncDraws(self._channel, requests, self._metadata, timeout_s)

    def raffles(
        self,
        *,
        sampler: SamplerName = SamplerName.MASKED,
        large: Large = Large.REFUSE,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> AsyncRaffles:
        """Return the calls of raffles; see `Client.raffles`."""
        requests = DrawRequests(self._requests.claim_key, sampler=sampler, large=large)
        return AsyncRaffles(self._channel, requests, self._metadata, timeout_s)

    def fair(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> AsyncFair:
        """Return the calls of seed pairs and their rounds; see `Client.fair`."""
        return AsyncFair(self._channel, self._metadata, timeout_s)

    def hands(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> AsyncHands:
        """Return the calls of hands that are dealt card by card; see `Client.hands`."""
        requests = HandRequests(self._requests.claim_key)
        return AsyncHands(self._channel, requests, self._metadata, timeout_s)

    def log(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> AsyncLog:
        """Return the calls of the log: receipts, checkpoints and proofs; see `Client.log`."""
        return AsyncLog(self._channel, self._metadata, timeout_s)

    async def shuffle(
        self,
        table: str,
        hand: str,
        *,
        deck: str = "standard52",
        decks: int = 1,
        removed: Sequence[int] = (),
        card_proofs: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Deal:
        """Return the deck of a hand; see `Client.shuffle`."""
        request = self._requests.shuffle(table, hand, deck, decks, removed, card_proofs=card_proofs)
        try:
            response = await self._shuffles.Shuffle(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return Deal.from_message(
            response.shuffle, replayed=response.replayed, proofs=response.proofs
        )

    async def shuffle_batch(
        self,
        hands: Sequence[Hand],
        *,
        deck: str = "standard52",
        decks: int = 1,
        removed: Sequence[int] = (),
        timeout_s: float = BATCH_TIMEOUT_S,
    ) -> list[Deal]:
        """Return the decks of hands, all of them or none; see `Client.shuffle_batch`."""
        request = self._requests.batch_shuffle(hands, deck, decks, removed)
        try:
            response = await self._shuffles.BatchShuffle(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return [Deal.from_message(one.shuffle, replayed=one.replayed) for one in response.hands]

    async def stream_shuffles(
        self,
        hands: Iterable[Hand],
        *,
        deck: str = "standard52",
        decks: int = 1,
        removed: Sequence[int] = (),
        hands_a_message: int = HANDS_A_MESSAGE,
        timeout_s: float | None = None,
    ) -> AsyncIterator[HandAnswer]:
        """Yield what became of each hand, in any order; see `Client.stream_shuffles`."""
        failures: list[Exception] = []
        requests = self._requests.stream_shuffles(
            hands,
            deck,
            decks,
            removed,
            hands_a_message=hands_a_message,
            failures=failures,
        )
        call = self._shuffles.StreamShuffles(requests, timeout=timeout_s, metadata=self._metadata)
        try:
            async for message in messages(call):
                for answer in message.answers:
                    yield HandAnswer.from_message(answer)
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
        finally:
            call.cancel()
        if failures:
            raise failures[0]

    async def get_shuffle(
        self, table: str, hand: str, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> Deal:
        """Return the deck of a hand that was drawn; never draws."""
        request = self._requests.get_shuffle(table, hand)
        try:
            response = await self._shuffles.GetShuffle(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return Deal.from_message(response.shuffle, replayed=True, proofs=response.proofs)

    async def add_user_entropy(
        self,
        user: str,
        *,
        blob: bytes = b"",
        events: Sequence[Event] = (),
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> entropy_service_pb2.AddUserEntropyResponse:
        """Forward what one user did: a blob, or events (x, y, microseconds)."""
        request = self._requests.add_user_entropy(user, blob, events)
        try:
            return await self._entropy.AddUserEntropy(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error

    async def status(
        self, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> entropy_service_pb2.GetStatusResponse:
        """Return whether the daemon can deal, why not, and how every source stands."""
        try:
            return await self._entropy.GetStatus(
                entropy_service_pb2.GetStatusRequest(), timeout=timeout_s, metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error

    async def watch_status(
        self, *, timeout_s: float | None = None
    ) -> AsyncIterator[entropy_service_pb2.GetStatusResponse]:
        """Yield the status, now and whenever it changes; see `Client.watch_status`."""
        call = self._entropy.WatchStatus(
            entropy_service_pb2.WatchStatusRequest(), timeout=timeout_s, metadata=self._metadata
        )
        try:
            async for response in call:
                yield response.status
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
        finally:
            call.cancel()

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
