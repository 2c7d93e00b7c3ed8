"""Reads back every match, raffle and pair, and says what should not be.

What is recorded must be numbered without a gap, each thing once; a bag must
give what it holds; and whatever is told of a thing must be what was told before
(drawing_book.py).
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import grpc

from entropyd.v1 import draw_service_pb2 as draws
from entropyd.v1 import fair_service_pb2 as fair
from entropyd.v1 import raffle_service_pb2 as raffles
from tests.campaigns.door import Door
from tests.campaigns.drawing_book import (
    Ask,
    Book,
    Kind,
    encoded,
    round_as_played,
    sealed,
    won,
)
from tests.campaigns.drawing_callers import (
    DrawStub,
    FairStub,
    RaffleStub,
    draw_name,
    match_claim,
    raffle_claim,
    round_name,
    seal_name,
    won_name,
)

AT_ONCE = 32
PAGE = 1000


class Judge:
    """Compares what a daemon has with what its callers were told.

    Attributes:
        asked_again: how many requests were made once more, by kind.
        lost: answered, and not there.
        missing: numbers and nonces that nothing has, below the last.
        repeated: numbers, nonces and ids that two things have.
        short: draws from a bag that does not hold what it should, or held too little.
    """

    def __init__(self, target: str, book: Book) -> None:
        self._door = Door(target)
        self._book = book
        self._answered: dict[str, set[str]] = {}
        self.asked_again: Counter[Kind] = Counter()
        self.lost: Counter[Kind] = Counter()
        self.missing: Counter[Kind] = Counter()
        self.repeated: Counter[Kind] = Counter()
        self.short = 0

    async def look(self, players: Sequence[str], again: Iterable[Ask]) -> None:
        """Read everything back, and ask again for some of it."""
        self._answered = self._by_prefix()
        self._door.let_in()
        try:
            await self._everywhere(self._ask_again, again)
            await self._everywhere(self._match, self._matches())
            await self._raffles()
            await self._everywhere(self._player, players)
        finally:
            await self._door.shut()

    async def _everywhere(self, look: Any, things: Iterable[Any]) -> None:
        left = list(things)

        async def work() -> None:
            while left:
                await look(left.pop())

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    async def _ask_again(self, ask: Ask) -> None:
        self.asked_again[ask.kind] += 1
        try:
            answer = await self._door.ask(ask.service, ask.method, ask.request)
        except grpc.aio.AioRpcError:
            # Answered once and refused now: what was recorded is not there.
            self.lost[ask.kind] += 1
            return
        self.lost[ask.kind] += not answer.replayed
        self._book.note(ask.kind, ask.name, ask.told(answer))

    # --- matches ---------------------------------------------------------------------

    def _matches(self) -> Iterable[tuple[Kind, str]]:
        return {
            (ask.kind, ask.request.key.match)
            for ask in self._book.asked.values()
            if ask.service is DrawStub
        }

    async def _match(self, which: tuple[Kind, str]) -> None:
        kind, match = which
        found = [draw async for draw in self._replayed(match)]
        names = [draw_name(match, draw.key.draw) for draw in found]
        self._numbers(kind, [draw.number for draw in found], first=1)
        self.repeated[kind] += len(names) - len(set(names))
        for name, draw in zip(names, found, strict=True):
            self._book.note(kind, name, encoded(draw))
        self._lost(kind, set(names), f"match/{match}/")
        if kind is Kind.BAG:
            self._bag(names, found)

    async def _replayed(self, match: str) -> AsyncIterator[draws.RecordedDraw]:
        """Yield the draws of a match in the order of their records; none if nobody drew in it."""
        request = draws.ReplayMatchRequest(match=match, claim=match_claim(match), page_size=PAGE)
        while True:
            page = await self._unless_missing(DrawStub, "ReplayMatch", request)
            for replayed in () if page is None else page.draws:
                yield replayed.draw
            if page is None or not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _bag(self, names: Sequence[str], found: Sequence[draws.RecordedDraw]) -> None:
        """Follow a bag from draw to draw: what it held, what came back, what was taken."""
        left: Counter[int] | None = None
        for name, draw in zip(names, found, strict=True):
            lines = dict(line.split("=", 1) for line in draw.rules.splitlines())
            held = Counter(dict(enumerate(map(int, lines["counts"].split(",")))))
            if left is not None:
                left.update(self._book.asked[name].request.returns)
                self.short += +left != +held
            held.subtract(draw.items)
            self.short += min(held.values()) < 0
            self.short += held.total() != draw.left
            left = held

    # --- raffles ---------------------------------------------------------------------

    async def _raffles(self) -> None:
        numbers: list[int] = []

        async def look(raffle: str) -> None:
            request = raffles.GetRaffleRequest(raffle=raffle, claim=raffle_claim(raffle))
            answer = await self._unless_missing(RaffleStub, "GetRaffle", request)
            there = set()
            if answer is not None:
                numbers.append(answer.raffle.number)
                there.add(seal_name(raffle))
                self._book.note(Kind.RAFFLE, seal_name(raffle), sealed(answer))
                if won(answer):
                    there.add(won_name(raffle))
                    self._book.note(Kind.RAFFLE, won_name(raffle), won(answer))
            self._lost(Kind.RAFFLE, there, f"raffle/{raffle}/")

        asks = [ask for ask in self._book.asked.values() if ask.kind is Kind.RAFFLE]
        await self._everywhere(look, {ask.request.raffle for ask in asks})
        self._numbers(Kind.RAFFLE, numbers, first=1)

    # --- rounds ----------------------------------------------------------------------

    async def _player(self, player: str) -> None:
        request = fair.GetPairRequest(player=player)
        answer = await self._unless_missing(FairStub, "GetPair", request)
        there: list[str] = []
        for pair in range(1, 1 if answer is None else answer.pair.pair + 1):
            found = [round_ async for round_ in self._rounds(player, pair)]
            self._numbers(Kind.ROUND, [round_.nonce for round_ in found], first=0)
            for round_ in found:
                name = round_name(player, round_.key.round)
                there.append(name)
                self._book.note(Kind.ROUND, name, round_as_played(round_))
        self.repeated[Kind.ROUND] += len(there) - len(set(there))
        self._lost(Kind.ROUND, set(there), f"pairs/{player}/")

    async def _rounds(self, player: str, pair: int) -> AsyncIterator[fair.Round]:
        request = fair.ListRoundsRequest(player=player, pair=pair, page_size=PAGE)
        while True:
            page = await self._door.ask(FairStub, "ListRounds", request)
            for round_ in page.rounds:
                yield round_
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    # --- what these share --------------------------------------------------------------

    def _lost(self, kind: Kind, there: set[str], prefix: str) -> None:
        self.lost[kind] += len(self._answered[prefix] - there)

    def _by_prefix(self) -> dict[str, set[str]]:
        """Return what was answered of each match, raffle and player."""
        grouped: dict[str, set[str]] = defaultdict(set)
        for name in self._book.answered:
            subject, of, _ = name.split("/", 2)
            grouped[f"{subject}/{of}/"].add(name)
        return grouped

    def _numbers(self, kind: Kind, found: Sequence[int], *, first: int) -> None:
        """Count gaps and repetitions in numbers that should go up from `first`."""
        distinct = set(found)
        self.repeated[kind] += len(found) - len(distinct)
        self.missing[kind] += len(set(range(first, max(found, default=first - 1) + 1)) - distinct)

    async def _unless_missing(self, service: type, method: str, request: Any) -> Any:
        """Return an answer, or None if there is no such thing."""
        try:
            return await self._door.ask(service, method, request)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
            return None
