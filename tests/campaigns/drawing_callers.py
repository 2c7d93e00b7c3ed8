"""Callers of draws, bags, raffles and rounds that outlive the daemon.

Two share each match, each bag and half of the players, so that the numbers of
a match, the tiles of a bag and the nonces of a pair are wanted by both at the
same time. The other players have one caller each, who rotates the pair now and
then.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

from entropyd.games.claims import derive_match_claim, derive_raffle_claim
from entropyd.v1 import draw_service_pb2 as draws
from entropyd.v1 import draw_service_pb2_grpc, fair_service_pb2_grpc, raffle_service_pb2_grpc
from entropyd.v1 import fair_service_pb2 as fair
from entropyd.v1 import raffle_service_pb2 as raffles
from tests.campaigns.door import Door
from tests.campaigns.drawing_book import Ask, Book, Kind, drawn, played, sealed, won

CLAIM_KEY = bytes(32)
# Of each kind; every two of draws, bags and shared players belong together.
CALLERS = 8
# Of a match one caller makes as many draws; of a bag as many as half of its 100 tiles are for.
DRAWS_EACH = 12
TILES = 7
TURNS_EACH = 7
ENTRIES = tuple(f"ticket {number}" for number in range(20))
ROUNDS_OF_A_PAIR = 12
# Rounds need no entropy: without a pause there would be little else.
PAUSE_S = 0.1

DrawStub = draw_service_pb2_grpc.DrawServiceStub
RaffleStub = raffle_service_pb2_grpc.RaffleServiceStub
FairStub = fair_service_pb2_grpc.FairServiceStub


def match_claim(match: str) -> bytes:
    """Return the claim of a match."""
    return derive_match_claim(CLAIM_KEY, match)


def raffle_claim(raffle: str) -> bytes:
    """Return the claim of a raffle."""
    return derive_raffle_claim(CLAIM_KEY, raffle)


class DrawingCallers:
    """Callers in one event loop. They ask while they are let in.

    Attributes:
        book: what they asked for and were told.
        players: everybody whose line they opened.
    """

    def __init__(self, target: str) -> None:
        self.book = Book()
        self.players: list[str] = []
        self._door = Door(target)
        self._answered: set[str] = set()
        self._finishing = False
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Begin; they wait until they are let in."""
        for number in range(CALLERS):
            for caller in (self._draw, self._draw_tiles, self._draw_raffles, self._play):
                self._tasks.append(tasks.create_task(caller(number)))

    def let_in(self) -> None:
        """Give them a connection to the daemon that listens now."""
        self._door.let_in()

    async def shut_out(self) -> set[str]:
        """Wait until nobody waits for the dead daemon; return what it had answered."""
        await self._door.shut()
        answered, self._answered = self._answered, set()
        return answered

    async def finish(self) -> None:
        """Let every caller get what it wants now, and nothing more."""
        self._finishing = True
        await asyncio.gather(*self._tasks)

    def leave(self) -> None:
        """Want nothing any more, answered or not."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Give up the connection."""
        await self._door.close()

    async def _ask(self, ask: Ask) -> Any:
        self.book.asked[ask.name] = ask
        answer = await self._door.ask(ask.service, ask.method, ask.request)
        self.book.answer(ask, answer)
        self._answered.add(ask.name)
        return answer

    def _turns(self, each: int) -> Iterator[tuple[int, int]]:
        """Yield turns as (evening, turn of it) until they have to finish."""
        turn = 0
        while not self._finishing or turn == 0:
            yield divmod(turn, each)
            turn += 1

    # --- draws ---------------------------------------------------------------------

    async def _draw(self, number: int) -> None:
        for evening, turn in self._turns(DRAWS_EACH):
            match = f"match-{number // 2}-{evening}"
            method, request = _some_draw(turn)
            request.key.CopyFrom(draws.DrawKey(match=match, draw=f"draw-{number}-{turn}"))
            await self._ask(_of_match(Kind.DRAW, method, request))

    async def _draw_tiles(self, number: int) -> None:
        out: list[int] = []
        for evening, turn in self._turns(TURNS_EACH):
            if turn == 0:
                out = []
            # Now and then two of this caller's own tiles go back.
            back, out = (out[:2], out[2:]) if turn % 3 == 2 else ([], out)
            request = draws.DrawFromBagRequest(
                key=draws.DrawKey(
                    match=f"bag-{number // 2}-{evening}", draw=f"draw-{number}-{turn}"
                ),
                bag="letters",
                contents=draws.BagContents(preset="english"),
                count=TILES,
                returns=back,
            )
            answer = await self._ask(_of_match(Kind.BAG, "DrawFromBag", request))
            out += answer.draw.items

    # --- raffles -------------------------------------------------------------------

    async def _draw_raffles(self, number: int) -> None:
        for evening, _ in self._turns(1):
            raffle = f"raffle-{number}-{evening}"
            for ask in raffle_asks(raffle):
                await self._ask(ask)

    # --- rounds --------------------------------------------------------------------

    async def _play(self, number: int) -> None:
        shared = number < CALLERS // 2
        player = f"shared-{number // 2}" if shared else f"lone-{number}"
        pair = await self._begin(player)
        for evening, turn in self._turns(ROUNDS_OF_A_PAIR):
            if turn == 0 and evening and not shared:
                pair = await self._rotate(player, pair)
            await self._play_one(player, f"round-{number}-{evening}-{turn}", turn)
            await asyncio.sleep(PAUSE_S)

    async def _begin(self, player: str) -> fair.Pair:
        opened = await self._door.ask(FairStub, "OpenPair", fair.OpenPairRequest(player=player))
        if player not in self.players:
            self.players.append(player)
        return await self._seed(player, opened.pair)

    async def _rotate(self, player: str, pair: fair.Pair) -> fair.Pair:
        request = fair.RotatePairRequest(player=player, pair=pair.pair)
        rotated = await self._door.ask(FairStub, "RotatePair", request)
        assert rotated.revealed.server_hash == pair.server_hash
        assert rotated.pair.server_hash == pair.next_server_hash
        return await self._seed(player, rotated.pair)

    async def _seed(self, player: str, pair: fair.Pair) -> fair.Pair:
        request = fair.SetClientSeedRequest(
            player=player, server_hash=pair.server_hash, client_seed=f"of-{player}"
        )
        answer = await self._door.ask(FairStub, "SetClientSeed", request)
        present: fair.Pair = answer.pair
        return present

    async def _play_one(self, player: str, name: str, turn: int) -> None:
        games = (fair.GAME_ROULETTE, fair.GAME_DICE_POKER, fair.GAME_BLACKJACK)
        key, game = fair.RoundKey(player=player, round=name), games[turn % len(games)]
        request = fair.PlayRoundRequest(key=key, game=game)
        await self._ask(
            Ask(Kind.ROUND, round_name(player, name), FairStub, "PlayRound", request, played)
        )
        if game == fair.GAME_BLACKJACK:
            await self._door.ask(FairStub, "CloseRound", fair.CloseRoundRequest(key=key))


def draw_name(match: str, draw: str) -> str:
    """Return how a draw is called here."""
    return f"match/{match}/{draw}"


def round_name(player: str, name: str) -> str:
    """Return how a round is called here."""
    return f"pairs/{player}/round/{name}"


def seal_name(raffle: str) -> str:
    """Return how the sealing of a raffle is called here."""
    return f"raffle/{raffle}/seal"


def won_name(raffle: str) -> str:
    """Return how the draw of a raffle is called here."""
    return f"raffle/{raffle}/raffle"


def raffle_asks(raffle: str) -> tuple[Ask, Ask]:
    """Return how a raffle is sealed, and drawn."""
    claim = raffle_claim(raffle)
    seal = raffles.SealEntriesRequest(
        raffle=raffle, claim=claim, entries=ENTRIES, winners=3, alternates=1
    )
    draw = raffles.DrawRequest(raffle=raffle, claim=claim)
    return (
        Ask(Kind.RAFFLE, seal_name(raffle), RaffleStub, "SealEntries", seal, sealed),
        Ask(Kind.RAFFLE, won_name(raffle), RaffleStub, "Draw", draw, won),
    )


def _some_draw(turn: int) -> tuple[str, Any]:
    kinds: tuple[tuple[str, Any], ...] = (
        ("RollDice", draws.RollDiceRequest(dice=[draws.Dice(count=2, faces=6)])),
        ("DrawIntegers", draws.DrawIntegersRequest(count=3, bound="100")),
        ("ShuffleItems", draws.ShuffleItemsRequest(n=52)),
        # Three segments of 249 bits: a draw of several seeds.
        ("ShuffleItems", draws.ShuffleItemsRequest(n=100)),
        ("Sample", draws.SampleRequest(n=49, count=6)),
    )
    return kinds[turn % len(kinds)]


def _of_match(kind: Kind, method: str, request: Any) -> Ask:
    key = request.key
    request.claim = match_claim(key.match)
    return Ask(kind, draw_name(key.match, key.draw), DrawStub, method, request, drawn)
