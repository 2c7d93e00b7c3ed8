"""A client for threads; `aio_client` has the one for asyncio, which differs in how it waits."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc

from entropyd.client.claims import ClaimKey
from entropyd.client.connection import Tls, open_channel, token_metadata
from entropyd.client.deal import Deal, HandAnswer, Refusal
from entropyd.client.draw_requests import DrawRequests, Large, SamplerName
from entropyd.client.draws import Draws, Raffles
from entropyd.client.fair import Fair
from entropyd.client.hand_requests import HandRequests
from entropyd.client.hands import Hands
from entropyd.client.log import Log
from entropyd.client.requests import HANDS_A_MESSAGE, Event, Hand, Requests
from entropyd.client.service_config import BATCH_TIMEOUT_S, DEFAULT_TIMEOUT_S
from entropyd.v1 import (
    entropy_service_pb2,
    entropy_service_pb2_grpc,
    shuffle_service_pb2_grpc,
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
        self._requests = Requests(claim_key, claim_key_file)
        self._metadata = token_metadata(target, tls, token)
        self._channel = open_channel(target, tls)
        self._shuffles = shuffle_service_pb2_grpc.ShuffleServiceStub(self._channel)
        self._entropy = entropy_service_pb2_grpc.EntropyServiceStub(self._channel)

    def draws(
        self,
        *,
        sampler: SamplerName = SamplerName.MASKED,
        large: Large = Large.REFUSE,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Draws:
        """Return the calls that draw numbers, dice, orders, samples and tiles.

        Args:
            sampler: the rule of the draws, MASKED or WORD32.
            large: what is to be done with a draw that takes very many seeds.
            timeout_s: when each call gives up, in all, seconds.
        """
        requests = DrawRequests(self._requests.claim_key, sampler=sampler, large=large)
        return Draws(self._channel, requests, self._metadata, timeout_s)

    def raffles(
        self,
        *,
        sampler: SamplerName = SamplerName.MASKED,
        large: Large = Large.REFUSE,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Raffles:
        """Return the calls of raffles; arguments as for `draws`."""
        requests = DrawRequests(self._requests.claim_key, sampler=sampler, large=large)
        return Raffles(self._channel, requests, self._metadata, timeout_s)

    def fair(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Fair:
        """Return the calls of seed pairs and their rounds.

        Args:
            timeout_s: when each call gives up, in all, seconds.
        """
        return Fair(self._channel, self._metadata, timeout_s)

    def hands(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Hands:
        """Return the calls of hands that are dealt card by card; timeout as of `fair`."""
        requests = HandRequests(self._requests.claim_key)
        return Hands(self._channel, requests, self._metadata, timeout_s)

    def log(self, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Log:
        """Return the calls of the log: receipts, checkpoints and proofs; timeout as of `fair`."""
        return Log(self._channel, self._metadata, timeout_s)

    def shuffle(
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
        """Return the deck of a hand: drawn now, or as it was drawn before.

        Args:
            table: the table's id.
            hand: the hand's id, unique for ever in the tenant; the same id gets the same deck.
            deck: "standard52", "standard54" or "short36".
            decks: how many of them are in the shoe, 1 to 8.
            removed: card ids left out of each, ascending.
            card_proofs: commit each card alone, and get its proof with it: `Deal.proofs`. Part of
                what is asked for: a hand that was drawn without them is spent.
            timeout_s: when to give up, in all, seconds.
        """
        request = self._requests.shuffle(table, hand, deck, decks, removed, card_proofs=card_proofs)
        try:
            response = self._shuffles.Shuffle(request, timeout=timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return Deal.from_message(
            response.shuffle, replayed=response.replayed, proofs=response.proofs
        )

    def shuffle_batch(
        self,
        hands: Sequence[Hand],
        *,
        deck: str = "standard52",
        decks: int = 1,
        removed: Sequence[int] = (),
        timeout_s: float = BATCH_TIMEOUT_S,
    ) -> list[Deal]:
        """Return the decks of hands in their order: all of them, or none.

        Args:
            hands: table and hand of each, 1 to 1,000, each hand once.
            deck: "standard52" or "short36": a deck of a batch takes one seed.
            decks: as for `shuffle`.
            removed: card ids left out of each, ascending.
            timeout_s: when to give up, in all, seconds.
        """
        request = self._requests.batch_shuffle(hands, deck, decks, removed)
        try:
            response = self._shuffles.BatchShuffle(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return [Deal.from_message(one.shuffle, replayed=one.replayed) for one in response.hands]

    def stream_shuffles(
        self,
        hands: Iterable[Hand],
        *,
        deck: str = "standard52",
        decks: int = 1,
        removed: Sequence[int] = (),
        hands_a_message: int = HANDS_A_MESSAGE,
        timeout_s: float | None = None,
    ) -> Iterator[HandAnswer]:
        """Ask for hands as they come, and yield what became of each, in any order.

        Take the answers as they come too: while a thousand wait to be taken,
        no more is asked. A stream that breaks raises `Refusal`; ask again, in
        another one, for the hands that were not answered.

        Args:
            hands: table and hand of each. Taken from in a thread of gRPC.
            deck: as for `shuffle`.
            decks: as for `shuffle`.
            removed: card ids left out of each, ascending.
            hands_a_message: how many hands are sent together, 1 to 1,000; fewer where `hands`
                comes slowly, for a message waits until it is full.
            timeout_s: when to give up, in all, seconds; None for never.
        """
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
            for message in call:
                yield from map(HandAnswer.from_message, message.answers)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        finally:
            call.cancel()
        if failures:
            raise failures[0]

    def get_shuffle(self, table: str, hand: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Deal:
        """Return the deck of a hand that was drawn; never draws."""
        request = self._requests.get_shuffle(table, hand)
        try:
            response = self._shuffles.GetShuffle(
                request, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        return Deal.from_message(response.shuffle, replayed=True, proofs=response.proofs)

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

    def watch_status(
        self, *, timeout_s: float | None = None
    ) -> Iterator[entropy_service_pb2.GetStatusResponse]:
        """Yield what `status` returns, now and whenever it changes, until the daemon stops.

        Args:
            timeout_s: when to stop watching, seconds; None for never.
        """
        call = self._entropy.WatchStatus(
            entropy_service_pb2.WatchStatusRequest(), timeout=timeout_s, metadata=self._metadata
        )
        try:
            for response in call:
                yield response.status
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        finally:
            call.cancel()

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
