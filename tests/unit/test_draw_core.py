"""DrawService and RaffleService without a transport: the order of the checks, and turns."""

import asyncio

import pytest

from entropyd.errors import (
    DrawSpentError,
    EntropydError,
    EntropyHoldError,
    LedgerUnavailableError,
    MatchTakenError,
    OverloadError,
    PermissionDeniedError,
    RaffleNotFoundError,
    RequestError,
    WrongStateError,
)
from entropyd.ledger.subjects import SubjectKind
from entropyd.service.draw_core import DrawCore
from entropyd.service.identity import Call, Identity, Role
from entropyd.service.lists import LONG, MAX_LONG, Lists
from entropyd.service.patience import Patience
from entropyd.service.raffle_core import RaffleCore
from entropyd.v1 import draw_service_pb2 as pb
from entropyd.v1 import raffle_service_pb2 as rpb
from tests.fakes.dealing import MINE, SEED_SAMPLES, THEIRS, Table
from tests.fakes.ledger import FaultyLedger, MemoryLedger

MS = 10**6
PLAYER = Identity("room", frozenset({Role.DRAW}))
AUDITOR = Identity("room", frozenset({Role.AUDIT}))
OUTSIDER = Identity("room", frozenset({Role.DEAL_ALL, Role.ADMIN}))


class Desk:
    """Both cores over a gate with `seeds` of credit."""

    def __init__(self, seeds=20, *, large_seeds=64, **settings):
        self.table = Table(**settings)
        self.kinds = []
        self.lists = Lists()
        if seeds:
            self.table.deliver(seeds * SEED_SAMPLES)
        clock = self.table.clock
        patience = Patience(clock, max_hold_ns=5000 * MS, answer_before_deadline_ns=50 * MS)
        parts = {
            "ledger": self.table.ledger,
            "events": self.table.writer,
            "observer": self,
            "patience": patience,
            "lists": self.lists,
            "clock_ns": clock,
            "wall_ns": clock.wall_ns,
            "large_seeds": large_seeds,
            "log": "dc1",
        }
        self.draws = DrawCore(self.table.dealer.step_calls, **parts)
        self.raffles = RaffleCore(self.table.dealer.step_calls, **parts)

    def drew(self, kind):
        self.kinds.append(str(kind))

    def call(self, who=PLAYER, *, seconds=5.0):
        return Call(who, None if seconds is None else self.table.clock() + round(seconds * 10**9))

    async def roll(self, draw="1", match="m", *, claim=MINE, faces=6, who=PLAYER, seconds=5.0):
        request = pb.RollDiceRequest(
            key=pb.DrawKey(match=match, draw=draw),
            claim=claim,
            dice=[pb.Dice(count=2, faces=faces)],
        )
        return await self.draws.roll_dice(request, self.call(who, seconds=seconds))

    async def tiles(self, draw, *, count=7, seconds=5.0):
        request = pb.DrawFromBagRequest(
            key=pb.DrawKey(match="m", draw=draw),
            claim=MINE,
            bag="b",
            contents=pb.BagContents(preset="dominoes"),
            count=count,
        )
        return await self.draws.draw_from_bag(request, self.call(seconds=seconds))

    async def seal(self, raffle="r", *, who=PLAYER):
        request = rpb.SealEntriesRequest(raffle=raffle, claim=MINE, entries=["a", "b"], winners=1)
        return await self.raffles.seal_entries(request, self.call(who))

    async def draw(self, raffle="r", *, claim=MINE, who=PLAYER):
        request = rpb.DrawRequest(raffle=raffle, claim=claim)
        return await self.raffles.draw(request, self.call(who))


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


def test_the_order_of_the_checks():
    """Permission, form, deadline, existence: each is told before the next one is looked at."""

    async def run():
        desk = Desk()
        await desk.roll()
        before = desk.table.level
        with pytest.raises(PermissionDeniedError):
            await desk.roll(claim=b"short", who=OUTSIDER, seconds=None)
        with pytest.raises(RequestError) as form:
            await desk.roll(claim=b"short", seconds=None)
        with pytest.raises(RequestError) as deadline:
            await desk.roll(claim=THEIRS, seconds=None)
        with pytest.raises(RequestError, match="ms are left"):
            await desk.roll(claim=THEIRS, seconds=0.04)
        assert (form.value.field, deadline.value.field) == ("claim", "deadline")
        with pytest.raises(MatchTakenError):
            await desk.roll(claim=THEIRS)
        with pytest.raises(DrawSpentError):
            await desk.roll(faces=8)
        assert desk.table.level == before

    asyncio.run(run())


@pytest.mark.parametrize("who", [OUTSIDER, AUDITOR])
def test_nobody_draws_or_seals_without_the_role(who):
    async def run():
        desk = Desk()
        for call in (desk.roll(who=who), desk.seal(who=who), desk.draw(who=who)):
            with pytest.raises(PermissionDeniedError, match="draw"):
                await call
        assert desk.table.writer.steps == []

    asyncio.run(run())


def test_a_draw_is_recorded_counted_and_replayed_without_the_gate():
    async def run():
        desk = Desk(seeds=1)
        first = await desk.roll()
        again = await desk.roll()
        assert (first.replayed, again.replayed) == (False, True)
        assert first.draw == again.draw
        assert desk.kinds == ["dice"]
        assert desk.table.observer.calls == {"replayed": 1}

    asyncio.run(run())


def test_an_auditor_is_shown_no_match_and_no_raffle_that_the_ledger_could_not_record():
    """Who shows the claim is shown its own, for its game goes on with it."""

    async def run():
        ledger = FaultyLedger(MemoryLedger())
        desk = Desk(ledger=ledger)
        await desk.roll()
        await desk.seal()
        asked = [
            lambda who, **claim: desk.draws.replay_match(
                pb.ReplayMatchRequest(match="m", openings=True, **claim), desk.call(who)
            ),
            lambda who, **claim: desk.raffles.get_raffle(
                rpb.GetRaffleRequest(raffle="r", entries=True, **claim), desk.call(who)
            ),
        ]
        for ask in asked:
            ledger.fail_not_written = 1
            with pytest.raises(LedgerUnavailableError):
                await ask(AUDITOR)
            assert ledger.fail_not_written == 0
            await ask(AUDITOR)
            ledger.fail_not_written = 1
            await ask(PLAYER, claim=MINE)
        return [event.detail for event in desk.table.writer.events]

    audited, played = '"role": "audit"', '"role": "draw"'
    told = asyncio.run(run())
    assert [audited in one for one in told] == [True, False] * 2
    assert [played in one for one in told] == [False, True] * 2


class CountingReader:
    """A ledger that counts how often subjects and steps are asked for."""

    def __init__(self, ledger):
        self._ledger = ledger
        self.asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        return getattr(self._ledger, name)


def test_a_draw_reads_its_match_once_a_turn():
    """Again only when it waited for the turn: others may have drawn meanwhile."""

    async def run():
        desk = Desk()
        reader = desk.draws._ledger = CountingReader(desk.table.ledger)
        await desk.roll("1")
        assert reader.asked == ["subject"]
        reader.asked.clear()
        await desk.roll("2")
        assert reader.asked == ["subject", "step"]
        reader.asked.clear()
        await asyncio.gather(desk.tiles("3"), desk.tiles("4"))
        assert reader.asked == ["subject", "step"] * 3

    asyncio.run(run())


def test_what_is_kept_in_the_clear_tells_no_result():
    """Neither of a draw nor, by its counts, of the draws from a bag."""

    async def run():
        desk = Desk()
        await desk.tiles("1", count=20)
        await desk.tiles("2", count=1)
        for step in desk.table.writer.steps:
            assert b"counts=" not in step.public + step.state
            assert b"counts=" in step.secret

    asyncio.run(run())


def test_draws_of_one_match_wait_for_the_gate_beside_each_other():
    """The first is alone; later ones that change no bag are released in one go."""

    async def run():
        desk = Desk(seeds=1)
        await desk.roll("first")
        calls = [asyncio.create_task(desk.roll(str(number))) for number in range(5)]
        await turns()
        assert desk.table.dealer.waiters == 5
        desk.table.feed(5)
        numbers = sorted([(await call).draw.number for call in calls])
        assert numbers == [2, 3, 4, 5, 6]

    asyncio.run(run())


def test_draws_from_a_bag_have_the_match_alone_and_in_order():
    async def run():
        desk = Desk(seeds=1)
        await desk.roll("first")
        calls = [asyncio.create_task(desk.tiles(str(number), count=14)) for number in range(3)]
        await turns()
        assert desk.table.dealer.waiters == 1
        desk.table.feed(3)
        first, second, third = await asyncio.gather(*calls, return_exceptions=True)
        assert not isinstance(first, BaseException)
        assert not isinstance(second, BaseException)
        assert sorted([*first.draw.items, *second.draw.items]) == list(range(28))
        assert isinstance(third, WrongStateError)
        assert "expected another bag, or tiles that are put back first" in str(third)

    asyncio.run(run())


def test_a_turn_that_does_not_come_in_time_is_told_as_a_hold():
    async def run():
        desk = Desk(seeds=1)
        await desk.roll("first")
        held = asyncio.create_task(desk.tiles("1"))
        await turns()
        with pytest.raises(EntropyHoldError, match="other draws of match 'm' go first"):
            await desk.tiles("2", seconds=0.1)
        desk.table.feed()
        await held
        desk.table.feed()
        await desk.tiles("2")

    asyncio.run(run())


def test_a_caller_that_leaves_before_the_draw_gives_its_turn_back():
    async def run():
        desk = Desk(seeds=0)
        call = asyncio.create_task(desk.roll())
        await turns()
        call.cancel()
        await turns()
        desk.table.feed()
        assert not (await desk.roll()).replayed

    asyncio.run(run())


def test_a_commit_that_fails_gives_the_turn_back_and_the_retry_draws_or_finds():
    """Neither does a match stay shut, nor is anything shown that was not recorded."""

    async def run():
        desk = Desk()
        desk.table.writer.held = True
        call = asyncio.create_task(desk.roll(seconds=0.1))
        with pytest.raises(LedgerUnavailableError):
            await call
        desk.table.writer.held = False
        desk.table.writer.commit_all()
        await turns()
        assert (await desk.roll()).replayed

    asyncio.run(run())


def test_a_large_draw_needs_a_word_and_its_retry_finds_it():
    async def run():
        desk = Desk(seeds=0, large_seeds=2)
        request = pb.ShuffleItemsRequest(key=pb.DrawKey(match="m", draw="1"), claim=MINE, n=120)
        with pytest.raises(RequestError, match="takes 3 seeds"):
            await desk.draws.shuffle_items(request, desk.call())
        request.large = pb.LARGE_WAIT
        with pytest.raises(EntropyHoldError, match="0 of 3 seeds"):
            await desk.draws.shuffle_items(request, desk.call(seconds=0.1))
        for _ in range(3):
            desk.table.feed()
        await turns()
        answer = await desk.draws.shuffle_items(request, desk.call())
        assert answer.replayed
        assert sorted(answer.draw.items) == list(range(120))

    asyncio.run(run())


def test_calls_with_long_lists_are_few():
    async def run():
        desk = Desk(seeds=40)
        with desk.lists.room(LONG):
            pass
        rooms = [desk.lists.room(LONG + 1) for _ in range(MAX_LONG)]
        for room in rooms:
            room.__enter__()
        request = pb.ShuffleItemsRequest(
            key=pb.DrawKey(match="m", draw="1"), claim=MINE, labels=["a"] * (LONG + 1)
        )
        with pytest.raises(OverloadError, match="lists"):
            await desk.draws.shuffle_items(request, desk.call())
        rooms[0].__exit__(None, None, None)
        assert (await desk.draws.shuffle_items(request, desk.call())).draw.items

    asyncio.run(run())


def test_a_raffle_is_sealed_before_anything_is_drawn_and_drawn_once():
    async def run():
        desk = Desk()
        before = desk.table.level
        with pytest.raises(RaffleNotFoundError):
            await desk.draw()
        sealed = await desk.seal()
        assert desk.table.level == before
        assert (sealed.raffle.number, sealed.replayed) == (1, False)
        assert (await desk.seal()).replayed
        first, second = await asyncio.gather(desk.draw(), desk.draw())
        assert first.raffle == second.raffle
        assert {first.replayed, second.replayed} == {True, False}
        assert desk.kinds == ["raffle"]
        steps = desk.table.ledger.steps(SubjectKind.RAFFLE, "room", "r", 0, 10)
        assert [step.step for step in steps] == ["seal", "draw"]

    asyncio.run(run())


def test_a_refused_call_leaves_no_turn_behind():
    """Whatever is raised in a turn, the next caller has it."""

    async def run():
        desk = Desk()
        await desk.tiles("1", count=28)
        for number in range(3):
            with pytest.raises(EntropydError):
                await desk.tiles(f"more-{number}")
        assert (await desk.roll("after")).draw.number == 2

    asyncio.run(run())
