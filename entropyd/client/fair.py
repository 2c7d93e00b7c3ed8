"""Seed pairs and their rounds for threads: `Client.fair`."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import grpc

from entropyd.client import fair_requests as requests
from entropyd.client.connection import Metadata
from entropyd.client.deal import Refusal
from entropyd.client.rounds import OpenedRound, Pair, RevealedPair, Round
from entropyd.client.service_config import DEFAULT_TIMEOUT_S
from entropyd.v1 import fair_service_pb2_grpc

Answer = TypeVar("Answer")


class Fair:
    """Rounds of roulette, slots, mines, dice poker and blackjack. Safe to share between threads.

    Every method raises `Refusal` when the daemon refuses or is not reached. A
    round is played once: the same id with the same rules gets the recorded
    round again, with others it is refused.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        self._stub = fair_service_pb2_grpc.FairServiceStub(channel)
        self._metadata = metadata
        self._timeout_s = timeout_s

    def open_pair(self, player: str, *, profile: str | None = None) -> Pair:
        """Begin a player's line, or return it as it is.

        Args:
            player: the player's id.
            profile: "v1" or "v2"; None for the daemon's default.
        """
        request = requests.open_pair(player, profile)
        return Pair.from_message(self._call(self._stub.OpenPair, request).pair)

    def set_client_seed(self, player: str, client_seed: str, *, server_hash: bytes) -> Pair:
        """Set the player's client seed for the present pair.

        Args:
            player: the player's id.
            client_seed: 1 to 64 characters of printable ASCII without spaces and `:`, chosen by the
                player.
            server_hash: what the player saw first; another than the present pair's is refused.
        """
        request = requests.set_client_seed(player, client_seed, server_hash)
        return Pair.from_message(self._call(self._stub.SetClientSeed, request).pair)

    def play_round(
        self,
        player: str,
        round_id: str,
        game: str,
        *,
        machine: str | None = None,
        mines: int = 0,
        expected_nonce: int | None = None,
    ) -> Round:
        """Play a round, or return it as it was played.

        Args:
            player: the player's id.
            round_id: unique for ever in the player's line.
            game: "roulette", "slots", "mines", "dice_poker" or "blackjack".
            machine: of slots: "classic", "mini", "high_roller" or "cascade".
            mines: of mines: 1 to 19.
            expected_nonce: refuse the round if its nonce would be another.
        """
        request = requests.play_round(
            player, round_id, game, machine=machine, mines=mines, expected_nonce=expected_nonce
        )
        answer = self._call(self._stub.PlayRound, request)
        return Round.from_message(answer.round, replayed=answer.replayed)

    def close_round(self, player: str, round_id: str) -> Round:
        """End an open round of mines or blackjack."""
        request = requests.close_round(player, round_id)
        return Round.from_message(self._call(self._stub.CloseRound, request).round, replayed=True)

    def void_round(self, player: str, round_id: str, reason: str) -> Round:
        """End an open round that shall not count; its nonce stays spent, and the reason is kept."""
        request = requests.void_round(player, round_id, reason)
        return Round.from_message(self._call(self._stub.VoidRound, request).round, replayed=True)

    def rotate_pair(self, player: str, pair: int) -> tuple[RevealedPair, Pair]:
        """Reveal the present pair's server seed; the next pair becomes present.

        Args:
            player: the player's id.
            pair: its number. One that was revealed before is answered as it was.
        """
        answer = self._call(self._stub.RotatePair, requests.rotate_pair(player, pair))
        return RevealedPair.from_message(answer.revealed), Pair.from_message(answer.pair)

    def get_pair(self, player: str) -> Pair:
        """Return how a player's line stands."""
        answer = self._call(self._stub.GetPair, requests.get_pair(player))
        return Pair.from_message(answer.pair)

    def get_round(self, player: str, round_id: str) -> OpenedRound:
        """Return a round, with the server seed once its pair was rotated."""
        answer = self._call(self._stub.GetRound, requests.get_round(player, round_id))
        return OpenedRound.from_message(answer)

    def list_rounds(self, player: str, pair: int) -> Iterator[Round]:
        """Yield the rounds of a pair in the order of their nonces: none is missing."""
        token = ""
        while True:
            request = requests.list_rounds(player, pair, token)
            answer = self._call(self._stub.ListRounds, request)
            for message in answer.rounds:
                yield Round.from_message(message, replayed=True)
            token = answer.next_page_token
            if not token:
                return

    def list_pairs(self, player: str) -> list[RevealedPair]:
        """Return the revealed pairs of a player, in their order."""
        found: list[RevealedPair] = []
        token = ""
        while True:
            answer = self._call(self._stub.ListPairs, requests.list_pairs(player, token))
            found += map(RevealedPair.from_message, answer.revealed)
            token = answer.next_page_token
            if not token:
                return found

    def present_pairs(self, *, overdue_only: bool = False) -> Iterator[Pair]:
        """Yield the present pair of every player of the tenant, in byte order of their ids.

        Args:
            overdue_only: only those that should have been revealed by now.
        """
        token = ""
        while True:
            request = requests.present_pairs(token, overdue_only=overdue_only)
            answer = self._call(self._stub.ListPairs, request)
            yield from map(Pair.from_message, answer.present)
            token = answer.next_page_token
            if not token:
                return

    def _call(self, method: Callable[..., Answer], request: object) -> Answer:
        try:
            return method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
