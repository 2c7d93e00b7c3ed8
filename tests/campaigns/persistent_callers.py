"""Callers that outlive the daemon: each asks for its hand until it is answered."""

import asyncio
import os
from dataclasses import dataclass

from entropyd.client.claims import KEY_BYTES, ClaimKey
from entropyd.v1 import shuffle_service_pb2, shuffle_service_pb2_grpc, types_pb2
from tests.campaigns.door import Door

CALLERS = 64
TABLES = 8


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
        self._door = Door(target)
        self._claims = ClaimKey(os.urandom(KEY_BYTES))
        self._finishing = False
        self._answered: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Begin; they wait until they are let in."""
        self._tasks = [tasks.create_task(self._caller(number)) for number in range(CALLERS)]

    def let_in(self) -> None:
        """Give them a connection to the daemon that listens now."""
        self._door.let_in()

    async def shut_out(self) -> set[str]:
        """Wait until nobody waits for the dead daemon; return what it had answered."""
        await self._door.shut()
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
        await self._door.close()

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
        response = await self._door.ask(
            shuffle_service_pb2_grpc.ShuffleServiceStub, "Shuffle", request
        )
        self._answered.add(key.hand)
        return Answer(response.shuffle, response.replayed)
