"""Game servers and seats that outlive the daemon: at each table they play hand after hand.

Every request is made until it is answered. Two game servers with one claim key
share each table and make every call of a hand at the same time, as after a
fail-over; the seats of a hand speak at the same time too. A third of the hands
has open contributions, a third sealed ones, a third none.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import hand_service_pb2_grpc, types_pb2
from tests.campaigns import hand_facts
from tests.campaigns.door import Door
from tests.fakes.hand_desk import Player, deal_request, open_request
from tests.system.harness import Daemon

TABLES = 12
SERVERS = 2
ANN, BOB = Player("seat-1"), Player("seat-2", keyed=True)
# No window may end while the daemon is dead: a hand's course would depend on the machine.
WINDOW_S = 600
MODES = ("open", "sealed", "none")

HandStub = hand_service_pb2_grpc.HandServiceStub


@dataclass(frozen=True)
class Ask:
    """A request that is made until it is answered, and again later.

    Attributes:
        name: what of which hand.
        hand: which.
        method: of HandService.
        request: the same each time.
    """

    name: str
    hand: str
    method: str
    request: Any


class HandBook:
    """What was told of hands.

    Attributes:
        differing: what was told otherwise than before.
    """

    def __init__(self) -> None:
        self.differing: list[tuple[Any, ...]] = []
        self._told: hand_facts.Book = {}

    def note(self, hand: str, answer: Any) -> None:
        """Write down what an answer says for ever."""
        for what, said in hand_facts.facts(hand, answer):
            if self._told.setdefault(what, said) != said:
                self.differing.append(what)


class HandDoors:
    """The ways in: the game servers', the seats' and the auditor's. What is told is written down.

    Attributes:
        book: where.
    """

    def __init__(self, daemon: Daemon, book: HandBook) -> None:
        self.book = book
        doors = [Door(f"unix:{daemon.home}/{name}.sock") for name in ("dealer", "poker", "audit")]
        self._dealer, self._players, self._auditor = self._doors = doors

    def let_in(self) -> None:
        """Connect to the daemon that listens now."""
        for door in self._doors:
            door.let_in()

    async def shut(self) -> None:
        """Wait until nobody waits for the dead daemon."""
        for door in self._doors:
            await door.shut()

    async def close(self) -> None:
        """Give up the connections."""
        for door in self._doors:
            await door.close()

    async def ask(self, ask: Ask) -> Any:
        """Ask until there is an answer.

        Raises:
            grpc.aio.AioRpcError: as `Door.patiently`.
        """
        door = self._players if ask.method == "Contribute" else self._dealer
        answer = await door.ask(HandStub, ask.method, ask.request)
        self.book.note(ask.hand, answer)
        return answer

    async def get(self, key: types_pb2.HandKey) -> None:
        """Have a hand told as anybody is told of it."""
        answer = await self._auditor.ask(HandStub, "GetHand", pb.GetHandRequest(key=key))
        self.book.note(key.hand, answer)

    async def listed(self) -> Sequence[pb.Hand]:
        """Return all hands there are, in order of table and number."""
        found: list[pb.Hand] = []
        request = pb.ListHandsRequest(page_size=100)
        while True:
            page = await self._auditor.ask(HandStub, "ListHands", request)
            found += page.hands
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token


class HandCallers:
    """Callers in one event loop. They ask while they are let in.

    Attributes:
        book: everything that was told.
        answered: what was answered, by name.
        played: how many hands ended.
    """

    def __init__(self, daemon: Daemon) -> None:
        self.book = HandBook()
        self.answered: dict[str, Ask] = {}
        self.played = 0
        self._doors = HandDoors(daemon, self.book)
        self._just: set[str] = set()
        self._finishing = False
        self._tasks: list[asyncio.Task[None]] = []

    # --- lives.Callers -------------------------------------------------------------------

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Begin; they wait until they are let in."""
        self._tasks = [tasks.create_task(self._play(number)) for number in range(TABLES)]

    def let_in(self) -> None:
        """Give them connections to the daemon that listens now."""
        self._doors.let_in()

    async def shut_out(self) -> set[str]:
        """Wait until nobody waits for the dead daemon; return what it had answered."""
        await self._doors.shut()
        just, self._just = self._just, set()
        return just

    async def finish(self) -> None:
        """Let every table end its hand, and begin no other."""
        self._finishing = True
        await asyncio.gather(*self._tasks)

    def leave(self) -> None:
        """Want nothing any more, answered or not."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Give up the connections."""
        await self._doors.close()

    # --- hands ---------------------------------------------------------------------------

    async def _play(self, table: int) -> None:
        turn = 0
        while not self._finishing or turn == 0:
            await self._play_one(f"table-{table}", f"hand-{table}-{turn}", MODES[turn % 3], turn)
            self.played += 1
            turn += 1

    async def _play_one(self, table: str, hand: str, mode: str, turn: int) -> None:
        key = types_pb2.HandKey(table=table, hand=hand)
        players = () if mode == "none" else (ANN, BOB)
        opening = open_request(
            hand,
            table=table,
            players=players,
            sealed=mode == "sealed",
            seconds=WINDOW_S,
            reveal_after_close=True,
        )
        opened = (await self._both("open", hand, "OpenHand", opening)).hand.opened
        for form in {"open": ("speaks",), "sealed": ("seals", "opens"), "none": ()}[mode]:
            await asyncio.gather(*(self._say(opened, player, form) for player in players))
        for first, *deals in ((0, ("seat-1", 2), ("seat-2", 2)), (4, ("burn", 1), ("board", 3))):
            request = deal_request(first, *deals, hand=hand)
            request.key.table = table
            await self._both(f"deal-{first}", hand, "DealCards", request)
        shown = pb.ShowCardsRequest(key=key, places=(0, 1, 5))
        await self._both("show", hand, "ShowCards", shown)
        if turn % 4 == 3:
            ending = pb.VoidHandRequest(key=key, reason="misdeal")
            await self._both("void", hand, "VoidHand", ending)
            return
        await self._both("close", hand, "CloseHand", pb.CloseHandRequest(key=key))
        await self._both("reveal", hand, "RevealHand", pb.RevealHandRequest(key=key))

    async def _say(self, opened: pb.Opened, player: Player, form: str) -> None:
        say = getattr(player, form)
        said = say() if form == "opens" else say(opened.open_hash)
        request = pb.ContributeRequest(
            key=opened.key, open_hash=opened.open_hash, contributions=[said]
        )
        name = f"{form}-{player.seat}"
        answer = await self._ask(self._named(name, opened.key.hand, "Contribute", request))
        assert not answer.outcomes[0].refused, answer

    async def _both(self, what: str, hand: str, method: str, request: Any) -> Any:
        """Have both game servers ask; return one's answer."""
        ask = self._named(what, hand, method, request)
        answers = await asyncio.gather(*(self._ask(ask) for _ in range(SERVERS)))
        return answers[0]

    def _named(self, what: str, hand: str, method: str, request: Any) -> Ask:
        return Ask(f"hand/{hand}/{what}", hand, method, request)

    async def _ask(self, ask: Ask) -> Any:
        answer = await self._doors.ask(ask)
        self.answered[ask.name] = ask
        self._just.add(ask.name)
        return answer
