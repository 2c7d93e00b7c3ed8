"""The two clients. They differ in how they wait and in nothing else."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc

from entropyd.client.claims import ClaimKey
from entropyd.client.connection import Tls, open_aio_channel, open_channel, token_metadata
from entropyd.client.deal import Deal, Refusal
from entropyd.client.service_config import DEFAULT_TIMEOUT_S
from entropyd.v1 import (
    entropy_service_pb2,
    entropy_service_pb2_grpc,
    shuffle_service_pb2,
    shuffle_service_pb2_grpc,
    types_pb2,
)

Event = tuple[int, int, int]  # x, y, time in microseconds


class _Requests:
    """Builds requests; keeps the claim key so that callers need not."""

    def __init__(self, claim_key: ClaimKey | None, claim_key_file: str | Path | None) -> None:
        if (claim_key is None) == (claim_key_file is None):
            raise ValueError("give exactly one of claim_key and claim_key_file")
        if claim_key is None:
            claim_key = ClaimKey.load_or_create(Path(str(claim_key_file)))
        self._claim_key = claim_key

    def shuffle(
        self, table: str, hand: str, deck: str, decks: int, removed: Sequence[int]
    ) -> shuffle_service_pb2.ShuffleRequest:
        return shuffle_service_pb2.ShuffleRequest(
            key=types_pb2.HandKey(table=table, hand=hand),
            deck=types_pb2.Deck(name=deck, decks=decks, removed=removed),
            claim=self._claim_key.claim(table, hand),
        )

    def get_shuffle(self, table: str, hand: str) -> shuffle_service_pb2.GetShuffleRequest:
        return shuffle_service_pb2.GetShuffleRequest(
            key=types_pb2.HandKey(table=table, hand=hand),
            claim=self._claim_key.claim(table, hand),
        )

    @staticmethod
    def add_user_entropy(
        user: str, blob: bytes, events: Sequence[Event]
    ) -> entropy_service_pb2.AddUserEntropyRequest:
        return entropy_service_pb2.AddUserEntropyRequest(
            user=user,
            blob=blob,
            events=[
                entropy_service_pb2.UserEvent(x=x, y=y, time_us=time_us) for x, y, time_us in events
            ],
        )


class Client:
    """A connection to entropyd for threads. Safe to share between them.

    Every method raises `Refusal` when the daemon refuses or is not reached;
    retryable refusals were already retried as the service config says. A table
    or hand that is no id is a `RequestError` before anything is sent: no claim
    follows from it.
    """

    def __init__(
        self,
        target: str,
        *,
        claim_key: ClaimKey | None = None,
        claim_key_file: str | Path | None = None,
        tls: Tls | None = None,
        token: str | None = None,
    ) -> None:
        """Connect lazily: the first call opens the connection.

        Args:
            target: "unix:/run/entropyd/poker.sock", "127.0.0.1:7443", or with `tls` "host:port".
            claim_key: the game server's own key, or
            claim_key_file: where it is kept; made (mode 0600) if there is none.
            tls: what to expect of the daemon and to show it; None on this machine.
            token: who calls, where the listener asks for one.

        Raises:
            ValueError: the token would cross a network in the clear.
        """
        self._requests = _Requests(claim_key, claim_key_file)
        self._metadata = token_metadata(target, tls, token)
        self._channel = open_channel(target, tls)
        self._shuffles = shuffle_service_pb2_grpc.ShuffleServiceStub(self._channel)
        self._entropy = entropy_service_pb2_grpc.EntropyServiceStub(self._channel)

    def shuffle(
        self,
        table: str,
        hand: str,
        *,
        deck: str = "standard52",
        decks: int = 1,
        removed: Sequence[int] = (),
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Deal:
        """Return the deck of a hand: drawn now, or as it was drawn before.

        Args:
            table: the table's id.
            hand: the hand's id, unique for ever in the tenant; the same id gets the same deck.
            deck: "standard52", "standard54" or "short36".
            decks: how many of them are in the shoe, 1 to 8.
            removed: card ids left out of each, ascending.
            timeout_s: when to give up, in all, seconds.
        """
        request = self._requests.shuffle(table, hand, deck, decks, removed)
        try:
            response = self._shuffles.Shuffle(request, timeout=timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return Deal.from_message(response.shuffle, replayed=response.replayed)

    def get_shuffle(self, table: str, hand: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Deal:
        """Return the deck of a hand that was drawn; never draws."""
        request = self._requests.get_shuffle(table, hand)
        try:
            response = self._shuffles.GetShuffle(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return Deal.from_message(response.shuffle, replayed=True)

    def add_user_entropy(
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
            return self._entropy.AddUserEntropy(request, timeout=timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error

    def status(
        self, *, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> entropy_service_pb2.GetStatusResponse:
        """Return whether the daemon can deal, why not, and how every source stands."""
        try:
            return self._entropy.GetStatus(
                entropy_service_pb2.GetStatusRequest(), timeout=timeout_s, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


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
        self._requests = _Requests(claim_key, claim_key_file)
        self._metadata = token_metadata(target, tls, token)
        self._channel = open_aio_channel(target, tls)
        self._shuffles = shuffle_service_pb2_grpc.ShuffleServiceStub(self._channel)
        self._entropy = entropy_service_pb2_grpc.EntropyServiceStub(self._channel)

    async def shuffle(
        self,
        table: str,
        hand: str,
        *,
        deck: str = "standard52",
        decks: int = 1,
        removed: Sequence[int] = (),
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Deal:
        """Return the deck of a hand; see `Client.shuffle`."""
        request = self._requests.shuffle(table, hand, deck, decks, removed)
        try:
            response = await self._shuffles.Shuffle(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return Deal.from_message(response.shuffle, replayed=response.replayed)

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
        return Deal.from_message(response.shuffle, replayed=True)

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
