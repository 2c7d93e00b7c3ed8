"""Callers that ask in every way: alone, in batches, and on streams."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

import grpc

from entropyd.client import Deal
from entropyd.client.stream_end import messages
from entropyd.v1 import shuffle_service_pb2, shuffle_service_pb2_grpc, types_pb2
from tests.campaigns.door import TIMEOUT_S
from tests.campaigns.persistent_callers import TABLES, Answer, PersistentCallers
from tests.system.harness import Daemon

# What a caller of a batch or of a stream wants at a time.
HANDS = 4
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
Wanted = dict[str, shuffle_service_pb2.ShuffleRequest]


class ManyCallers(PersistentCallers):
    """64 callers that outlive the daemon: a third each ask alone, in batches, and on streams.

    A stream that breaks may have answered some of its hands: those count as
    answered, and the others are asked for again.
    """

    async def _caller(self, number: int) -> None:
        if number % 3 == 0:
            await super()._caller(number)
            return
        ask = self._ask_batch if number % 3 == 1 else self._ask_stream
        turn = 0
        while not self._finishing or turn == 0:
            wanted = self._wanted(number, turn)
            while wanted:
                await self._door.patiently(partial(ask, wanted))
            turn += 1

    def _wanted(self, number: int, turn: int) -> Wanted:
        keys = [
            types_pb2.HandKey(
                table=f"table-{(number + place) % TABLES}", hand=f"hand-{number}-{turn}-{place}"
            )
            for place in range(HANDS)
        ]
        return {
            key.hand: shuffle_service_pb2.ShuffleRequest(
                key=key, claim=self._claims.claim(key.table, key.hand)
            )
            for key in keys
        }

    async def _ask_batch(self, wanted: Wanted) -> None:
        request = shuffle_service_pb2.BatchShuffleRequest(hands=wanted.values())
        response = await self._stub().BatchShuffle(request, timeout=TIMEOUT_S)
        for one in response.hands:
            self._keep(wanted, one)

    async def _ask_stream(self, wanted: Wanted) -> None:
        requests = [
            shuffle_service_pb2.StreamShufflesRequest(hands=[one]) for one in wanted.values()
        ]
        call = self._stub().StreamShuffles(_sent(requests), timeout=TIMEOUT_S)
        async for message in messages(call):
            for answer in message.answers:
                if answer.HasField("dealt"):
                    self._keep(wanted, answer.dealt)
                else:
                    assert answer.refusal.code == UNAVAILABLE.value[0], answer.refusal

    def _stub(self) -> Any:
        return self._door.stub(shuffle_service_pb2_grpc.ShuffleServiceStub)

    def _keep(self, wanted: Wanted, dealt: shuffle_service_pb2.ShuffleResponse) -> None:
        hand = dealt.shuffle.key.hand
        del wanted[hand]
        self._answered.add(hand)
        self.answers[hand] = Answer(dealt.shuffle, dealt.replayed)


async def _sent(
    requests: Sequence[shuffle_service_pb2.StreamShufflesRequest],
) -> AsyncIterator[shuffle_service_pb2.StreamShufflesRequest]:
    for request in requests:
        yield request


def deal_many(daemon: Daemon, *, hands: int, name: str) -> Mapping[str, Deal]:
    """Deal hands in three batches and on a stream, some of them twice; return all answers."""
    deals: dict[str, Deal] = {}
    with daemon.client() as client:
        for turn in range(3):
            batch = [("table-b", f"{name}-batch-{turn}-{number}") for number in range(hands)]
            deals |= {deal.hand: deal for deal in client.shuffle_batch(batch)}
        streamed = [
            (f"table-{number % TABLES}", f"{name}-stream-{number}") for number in range(3 * hands)
        ]
        for answer in client.stream_shuffles(streamed, hands_a_message=hands // 2):
            deals[answer.hand] = answer.result()
        again = client.shuffle_batch([("table-b", f"{name}-batch-0-0"), ("table-b", f"{name}-new")])
        assert [True, False] == [deal.replayed for deal in again]
        deals[again[1].hand] = again[1]
    return deals
