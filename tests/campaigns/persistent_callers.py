"""Callers that outlive the daemon: each asks for its hand until it is answered."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from entropyd.client.claims import KEY_BYTES, ClaimKey
from entropyd.v1 import shuffle_service_pb2, shuffle_service_pb2_grpc, types_pb2

CALLERS = 64
TABLES = 8
TIMEOUT_S = 10.0
# A caller that was refused asks again after this; one whose daemon died waits for the next.
AGAIN_S = 0.01
# Retries are the callers' own, so that every answer and every refusal is seen here.
CHANNEL_OPTIONS = (("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1))


@dataclass(frozen=True)
class Answer:
    """The first answer to a hand."""

    message: shuffle_service_pb2.Shuffle
    replayed: bool


class PersistentCallers:
    """64 callers in one event loop. They ask while they are let in.

    Attributes:
        answers: every hand that was answered, as it first was.
    """

    def __init__(self, target: str) -> None:
        self.answers: dict[str, Answer] = {}
        self._target = target
        self._claims = ClaimKey(os.urandom(KEY_BYTES))
        self._open = asyncio.Event()
        self._idle = asyncio.Condition()
        self._asking = 0
        self._finishing = False
        self._answered: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Begin; they wait until they are let in."""
        self._tasks = [tasks.create_task(self._caller(number)) for number in range(CALLERS)]

    def let_in(self) -> None:
        """Give them a connection to the daemon that listens now."""
        self._channel = grpc.aio.insecure_channel(self._target, options=CHANNEL_OPTIONS)
        self._stub = shuffle_service_pb2_grpc.ShuffleServiceStub(self._channel)
        self._open.set()

    async def shut_out(self) -> set[str]:
        """Wait until nobody waits for the dead daemon; return what it had answered."""
        if self._open.is_set():
            self._open.clear()
            async with self._idle:
                await self._idle.wait_for(lambda: not self._asking)
            await self._channel.close()
        answered, self._answered = self._answered, set()
        return answered

    async def finish(self) -> None:
        """Let every caller get the hand that it wants now, and no other."""
        self._finishing = True
        await asyncio.gather(*self._tasks)

    async def ask_again(self) -> dict[str, Answer]:
        """Ask for every answered hand once more, with its claim."""
        left = [answer.message.key for answer in self.answers.values()]
        again: dict[str, Answer] = {}

        async def ask() -> None:
            while left:
                key = left.pop()
                again[key.hand] = await self._ask(key)

        await asyncio.gather(*(ask() for _ in range(CALLERS)))
        return again

    async def close(self) -> None:
        """Give up the connection."""
        if self._open.is_set():
            await self._channel.close()

    async def _caller(self, number: int) -> None:
        turn = 0
        while not self._finishing or turn == 0:
            key = types_pb2.HandKey(table=f"table-{number % TABLES}", hand=f"hand-{number}-{turn}")
            self.answers[key.hand] = await self._ask(key)
            turn += 1

    async def _ask(self, key: types_pb2.HandKey) -> Answer:
        """Ask until there is an answer."""
        claim = self._claims.claim(key.table, key.hand)
        request = shuffle_service_pb2.ShuffleRequest(key=key, claim=claim)
        while True:
            await self._open.wait()
            try:
                async with self._counted():
                    response = await self._stub.Shuffle(request, timeout=TIMEOUT_S)
            except grpc.aio.AioRpcError as error:
                # The one refusal that may be asked again. Any other fails the campaign.
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await asyncio.sleep(AGAIN_S)
            else:
                self._answered.add(key.hand)
                return Answer(response.shuffle, response.replayed)

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            async with self._idle:
                self._idle.notify_all()
