"""Hands dealt card by card, for threads: `Client.hands`."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

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

Answer = TypeVar("Answer")


class Hands:
    """Opens, deals, shows and ends hands. Safe to share between threads.

    Every step is idempotent: the same call gets the same stored answer. Claims
    of deals come from the claim key, by hand and place. Every method raises
    `Refusal` when the daemon refuses or is not reached, and `RequestError`
    where a deal's table or hand is no id, before anything is sent.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        requests: HandRequests,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        self._stub = hand_service_pb2_grpc.HandServiceStub(channel)
        self._requests = requests
        self._metadata = metadata
        self._timeout_s = timeout_s

    def open(self, ask: HandAsk) -> Hand:
        """Return a hand: opened now, or as it was opened before. Role `deal`.

        Nothing of it may be dealt or shown before players' software has its open receipt.
        """
        return Hand.from_message((self._call(self._stub.OpenHand, ask.request())).hand)

    def contribute(
        self,
        table: str,
        hand: str,
        open_hash: bytes,
        spoken: Sequence[SeatContribution],
        *,
        deals: Deals = (),
    ) -> Contributed:
        """Hand over what seats say, each answered with a signed note for the seat.

        Args:
            table: the table's id.
            hand: the hand's id.
            open_hash: O, as the open receipt has it.
            spoken: one for each seat that speaks now.
            deals: the first cards, dealt in the same call if the hand is sealed then; takes the
                role `deal`.
        """
        request = self._requests.contribute(table, hand, open_hash, spoken, deals)
        return Contributed.from_message(self._call(self._stub.Contribute, request))

    def seal(self, table: str, hand: str) -> Hand:
        """End a window whose deadline has passed; return the hand, ROLLED or beyond. Role deal."""
        request = pb.SealHandRequest(key=key_of(table, hand))
        return Hand.from_message((self._call(self._stub.SealHand, request)).hand)

    def deal(
        self, table: str, hand: str, first_place: int, deals: Deals, *, proofs: bool = True
    ) -> Dealt:
        """Deal the next places, or get the cards again that an earlier call dealt. Role `deal`.

        Args:
            table: the table's id.
            hand: the hand's id.
            first_place: the first of them: how many were dealt before.
            deals: recipient and count, in order; a card to `burn` does not leave.
            proofs: with salts and paths.
        """
        request = self._requests.deal(table, hand, first_place, deals, proofs=proofs)
        return Dealt.from_message(self._call(self._stub.DealCards, request))

    def show(self, table: str, hand: str, places: Sequence[int]) -> tuple[DealtCard, ...]:
        """Return cards that were dealt to somebody, or any after the close. Role `reveal`."""
        request = pb.ShowCardsRequest(key=key_of(table, hand), places=places)
        return cards_of((self._call(self._stub.ShowCards, request)).cards)

    def reveal(self, table: str, hand: str) -> Revealed:
        """Return what a closed hand's whole deck follows from. Role `reveal`."""
        request = pb.RevealHandRequest(key=key_of(table, hand))
        return Revealed.from_message(self._call(self._stub.RevealHand, request))

    def close(self, table: str, hand: str, *, following: HandAsk | None = None) -> Closed:
        """End a hand, and open the next one of its table in the same call. Role `deal`."""
        request = self._requests.close(table, hand, following)
        return Closed.from_message(self._call(self._stub.CloseHand, request))

    def void(self, table: str, hand: str, reason: str) -> Hand:
        """End a hand in public, with a reason for everybody to read. Role `void`."""
        request = pb.VoidHandRequest(key=key_of(table, hand), reason=reason)
        return Hand.from_message((self._call(self._stub.VoidHand, request)).hand)

    def get(self, table: str, hand: str) -> Hand:
        """Return everything public about a hand."""
        request = pb.GetHandRequest(key=key_of(table, hand))
        return Hand.from_message((self._call(self._stub.GetHand, request)).hand)

    def listed(self, *, table_prefix: str = "", state: str = "") -> Iterator[Hand]:
        """Yield hands in byte order of table and number, as pages come in.

        Args:
            table_prefix: what their tables begin with; empty for all.
            state: only those that are "open", "rolled", "sealed", "closed" or "void"; empty for
                all.
        """
        token = ""
        while True:
            request = self._requests.listed(table_prefix, state, token)
            page = self._call(self._stub.ListHands, request)
            yield from map(Hand.from_message, page.hands)
            token = page.next_page_token
            if not token:
                return

    def watch(self, table: str, hand: str, *, timeout_s: float | None = None) -> Iterator[Hand]:
        """Yield the hand as it is, and whenever it went on, until it has ended.

        Args:
            table: the table's id.
            hand: the hand's id.
            timeout_s: for how long, in seconds; None for ever.
        """
        request = pb.WatchHandRequest(key=key_of(table, hand))
        told = self._stub.WatchHand(request, timeout=timeout_s, metadata=self._metadata)
        try:
            for answer in told:
                yield Hand.from_message(answer.hand)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
        finally:
            told.cancel()

    def _call(self, method: Callable[..., Answer], request: object) -> Answer:
        try:
            return method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
