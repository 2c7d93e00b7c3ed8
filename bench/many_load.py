"""Batches and streams of a load generator.

Through grpcio, with messages that are made before the clock runs or while the
daemon works. What is counted is decks: of each answer as many as it holds.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count, islice
from typing import Any

import grpc

from bench.process import cpu_s
from entropyd.v1 import shuffle_service_pb2, types_pb2

TABLES = 64
OPTIONS = (("grpc.max_receive_message_length", 16 << 20),)
BATCH = "/entropyd.v1.ShuffleService/BatchShuffle"
STREAM = "/entropyd.v1.ShuffleService/StreamShuffles"


class Decks:
    """Counts decks while the clock runs."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.dealt = self.refused = 0
        self._pid = pid
        self._began = (time.monotonic(), cpu_s(pid), time.process_time())
        self.end = self._began[0] + seconds

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.end

    def count(self, dealt: int, refused: int = 0) -> None:
        if not self.over:
            self.dealt += dealt
            self.refused += refused

    def result(self) -> dict[str, float]:
        """Stop the clock and return the figures."""
        began, server_s, own_s = self._began
        seconds = time.monotonic() - began
        return {
            "answered": self.dealt,
            "refused": self.refused,
            "seconds": seconds,
            "rate": self.dealt / seconds,
            "server_cpu_s": cpu_s(self._pid) - server_s,
            "client_cores": (time.process_time() - own_s) / seconds,
        }


def hands(name: str) -> Iterator[shuffle_service_pb2.ShuffleRequest]:
    """Yield requests for hands that are never the same twice."""
    for number in count():
        hand = f"{name}-{number}"
        yield shuffle_service_pb2.ShuffleRequest(
            key=types_pb2.HandKey(table=f"table-{number % TABLES}", hand=hand),
            claim=hashlib.sha256(hand.encode()).digest()[:16],
        )


def messages(order: Any, kind: Any) -> Iterator[bytes]:
    """Yield messages of `hands` hands, other ones each time unless `again`."""
    coming = hands(order.name)
    while True:
        message = kind(hands=islice(coming, order.hands)).SerializeToString()
        yield message
        while order.again:
            yield message


async def batches(order: Any) -> dict[str, float]:
    """Keep `in_flight` batches of `hands` hands under way for `seconds`."""
    coming = messages(order, shuffle_service_pb2.BatchShuffleRequest)
    async with grpc.aio.insecure_channel(order.target, OPTIONS) as channel:
        call: Any = channel.unary_unary(BATCH)
        decks = Decks(order.pid, order.seconds)

        async def caller() -> None:
            while not decks.over:
                try:
                    await call(next(coming), timeout=order.timeout_s)
                except grpc.aio.AioRpcError:
                    decks.count(0, order.hands)
                else:
                    decks.count(order.hands)

        callers = [asyncio.create_task(caller()) for _ in range(order.in_flight)]
        await asyncio.sleep(order.seconds)
        result = decks.result()
        await asyncio.gather(*callers)
    return result


class _Window:
    """How many hands a stream may still have under way."""

    def __init__(self, hands: int) -> None:
        self._left = hands
        self._changed = asyncio.Condition()

    async def take(self, hands: int) -> None:
        """Wait until there is room for so many more."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._left >= hands)
            self._left -= hands

    async def give(self, hands: int) -> None:
        """Make room: they were answered."""
        async with self._changed:
            self._left += hands
            self._changed.notify_all()


async def streams(order: Any) -> dict[str, float]:
    """Keep `in_flight` hands under way on each of `connections` streams for `seconds`."""
    coming = messages(order, shuffle_service_pb2.StreamShufflesRequest)
    async with grpc.aio.insecure_channel(order.target, OPTIONS) as channel:
        call: Any = channel.stream_stream(STREAM)
        decks = Decks(order.pid, order.seconds)

        async def requests(window: _Window) -> AsyncIterator[bytes]:
            while not decks.over:
                await window.take(order.hands)
                yield next(coming)

        async def caller() -> None:
            window = _Window(order.in_flight)
            async for raw in call(requests(window)):
                message = shuffle_service_pb2.StreamShufflesResponse.FromString(raw)
                refused = sum(answer.HasField("refusal") for answer in message.answers)
                decks.count(len(message.answers) - refused, refused)
                await window.give(len(message.answers))

        callers = [asyncio.create_task(caller()) for _ in range(order.connections)]
        await asyncio.sleep(order.seconds)
        result = decks.result()
        await asyncio.gather(*callers)
    return result
