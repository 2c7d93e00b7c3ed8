"""Draws that are recorded as steps: in one line with hands, in parts if large."""

import asyncio
import threading

import pytest

from entropyd.errors import (
    EntropyHoldError,
    InternalError,
    LedgerUnavailableError,
    OverloadError,
    ShuttingDownError,
    WrongNodeError,
)
from entropyd.ledger.subjects import StepConflict, StepDraft, StepRecorded, StepTaken, SubjectKind
from entropyd.rbg.construction import DrawSeeds
from entropyd.runtime.draws import SEEDS_A_PART
from entropyd.runtime.orders import StepOrder
from entropyd.runtime.step_calls import MAX_GATHERING, MAX_GATHERING_SEEDS
from tests.fakes.dealing import MINUTE, SEED_SAMPLES, Table

BINDING = b"X of a draw"


class Made:
    """Makes one step of a match, and remembers what of."""

    def __init__(self, name="match-1", key="draw-1", expected=None, tenant="room"):
        self.name, self.key, self.expected, self.tenant = name, key, expected, tenant
        self.seeds: list[DrawSeeds] = []
        self.provenance: list[bytes] = []
        self.thread = None
        self.error = None

    def __call__(self, seeds, provenance, drawn_at_ns):
        self.thread = threading.current_thread()
        if self.error is not None:
            raise self.error
        self.seeds.append(seeds)
        self.provenance.append(provenance)
        return [step(self.name, self.key, self.expected, self.tenant, drawn_at_ns)]


def step(name, key, expected=None, tenant="room", at_ns=0):
    return StepDraft(
        SubjectKind.MATCH, tenant, name, expected, "draw", key, b"public", b"secret", b"", b"", "",
        at_ns,
    )  # fmt: skip


def order(made=None, *, seeds=1, tenant="room", **settings):
    made = made or Made(tenant=tenant)
    key = (tenant, made.name, made.key)
    return StepOrder(tenant, made.name, key, BINDING, seeds, made, **settings)


async def drawn(table, wanted, *, seconds=5):
    calls = table.dealer.step_calls
    with calls.call():
        waiter = calls.enqueue(wanted)
        return await calls.outcomes(waiter, table.clock() + round(seconds * 10**9))


async def turns(count=20):
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_draw_is_recorded_before_it_is_answered():
    """It has the seeds that it asked for, and what made them in its provenance."""

    async def run():
        table, made = Table(), Made()
        table.deliver(3 * SEED_SAMPLES)
        [outcome] = await drawn(table, order(made, seeds=3))
        assert isinstance(outcome, StepRecorded)
        assert outcome.record == table.ledger.step(SubjectKind.MATCH, "room", "match-1", "draw-1")
        [seeds] = made.seeds
        assert [len(seed) for seed in seeds.seeds] == [64] * 3
        assert (len(seeds.blinding), len(seeds.salt_key)) == (32, 32)
        [(described, _)] = table.described
        assert len(described) == 3
        assert sum(use.samples for seed in described for use in seed.uses) == 3 * SEED_SAMPLES
        assert made.provenance[0]
        assert table.level < 6000
        assert table.observer.draws == {"recorded": 1}
        assert table.observer.seeds == 3
        assert table.dealer.in_flight == 0

    asyncio.run(run())


def test_all_seeds_or_none():
    """Two of three seeds do not open the gate for a small draw, and nothing is spent."""

    async def run():
        table, made = Table(), Made()
        table.deliver(2 * SEED_SAMPLES)
        before = table.level
        call = asyncio.create_task(drawn(table, order(made, seeds=3), seconds=0.05))
        with pytest.raises(EntropyHoldError, match="bits of hardware entropy"):
            await call
        assert made.seeds == []
        assert table.level == before
        assert table.observer.calls == {"held": 1}

    asyncio.run(run())


def test_hands_and_draws_share_one_line():
    """First come, first served, whatever is asked for."""

    async def run():
        table = Table()
        first = asyncio.create_task(table.call("hand-1"))
        await turns()
        second = asyncio.create_task(drawn(table, order()))
        await turns()
        third = asyncio.create_task(table.call("hand-2"))
        await turns()
        for task in (first, second, third):
            assert not task.done()
            table.feed()
            await task

    asyncio.run(run())


def test_a_step_that_was_taken_or_came_too_late_is_told():
    """The outcomes of the ledger come as they are; what was drawn is thrown away and counted."""

    async def run():
        table = Table()
        table.deliver(3 * SEED_SAMPLES)
        await drawn(table, order())
        [taken] = await drawn(table, order())
        [conflict] = await drawn(table, order(Made(key="draw-2", expected=0)))
        assert isinstance(taken, StepTaken)
        assert conflict == StepConflict(1)
        assert table.observer.draws == {"recorded": 1, "spent": 2}

    asyncio.run(run())


def test_others_find_who_draws_under_a_key_and_follow():
    """A second call waits for the first one's draw and finds its record."""

    async def run():
        table, made = Table(), Made()
        wanted = order(made)
        calls = table.dealer.step_calls
        first = asyncio.create_task(drawn(table, wanted))
        await turns()
        other = calls.in_progress(wanted.key)
        assert other is not None
        following = asyncio.create_task(calls.follow(other, table.clock() + MINUTE))
        await turns()
        assert not following.done()
        table.feed()
        await following
        await first
        assert calls.in_progress(wanted.key) is None
        assert len(made.seeds) == 1

    asyncio.run(run())


def test_steps_without_a_draw_are_recorded_at_once():
    """Nothing of the gate is spent, and the caller waits for the ledger alone."""

    async def run():
        table = Table()
        calls = table.dealer.step_calls
        recording = calls.record("room", "match-1", [step("match-1", "a"), step("match-1", "b")])
        outcomes = await calls.outcomes(recording, table.clock() + MINUTE)
        assert [1, 2] == [one.record.number for one in outcomes if isinstance(one, StepRecorded)]
        assert table.level == 0
        assert table.observer.draws == {}

    asyncio.run(run())


def test_a_commit_that_was_not_confirmed_fails_its_callers():
    """They are told to ask again; their key is free for the retry."""

    async def run():
        table = Table()
        table.writer.held = True
        table.deliver(SEED_SAMPLES)
        wanted = order()
        call = asyncio.create_task(drawn(table, wanted, seconds=0.05))
        with pytest.raises(LedgerUnavailableError, match="not confirmed it yet"):
            await call
        assert table.dealer.step_calls.in_progress(wanted.key) is not None
        table.writer.commit_all()
        await turns()
        assert table.dealer.step_calls.in_progress(wanted.key) is None

    asyncio.run(run())


def test_another_nodes_place_is_refused():
    """Matches, raffles and players are served as tables are."""

    async def run():
        table = Table(tables=("dc1/*",))
        table.deliver(SEED_SAMPLES)
        before = table.level
        with pytest.raises(WrongNodeError, match="match-1"):
            await drawn(table, order())
        with pytest.raises(WrongNodeError, match="match-1"):
            table.dealer.step_calls.record("room", "match-1", [step("match-1", "a")])
        assert table.level == before

    asyncio.run(run())


def test_a_draw_that_fails_ends_the_daemon():
    """What can only be a defect is not tried again."""

    async def run():
        table, made = Table(), Made()
        made.error = InternalError("rejected 128 times")
        table.deliver(SEED_SAMPLES)
        with pytest.raises(InternalError, match="128"):
            await drawn(table, order(made))
        assert [str(error) for error in table.fatal] == ["rejected 128 times"]
        assert table.writer.steps == []

    asyncio.run(run())


# --- draws that take long to compute -------------------------------------------------


def test_a_heavy_draw_is_computed_on_another_thread():
    """The loop's own thread is free meanwhile; light ones stay on it."""

    async def run():
        table, heavy, light = Table(), Made(), Made(key="draw-2")
        table.deliver(2 * SEED_SAMPLES)
        await drawn(table, order(heavy, heavy=True))
        await drawn(table, order(light))
        assert heavy.thread is not threading.current_thread()
        assert light.thread is threading.current_thread()

    asyncio.run(run())


def test_a_heavy_draw_that_outlives_the_writer_is_not_a_defect():
    """The daemon stopped while it was computed: nothing is recorded, and it ends in good order."""

    async def run():
        table = Table()
        table.writer.refusal = ShuttingDownError("the writer has stopped")
        table.deliver(SEED_SAMPLES)
        with pytest.raises(ShuttingDownError):
            await drawn(table, order(heavy=True))
        assert table.fatal == []

    asyncio.run(run())


# --- draws that gather their seeds -----------------------------------------------------


def test_a_draw_gathers_more_seeds_than_the_reservoir_holds():
    """They come in parts as the gate releases them, and are those of one draw."""

    async def run():
        table, made = Table(), Made()
        call = asyncio.create_task(drawn(table, order(made, seeds=5000, gathers=True), seconds=60))
        await turns()
        for _ in range(5000):
            if call.done():
                break
            table.feed(20)
            await turns(3)
        [outcome] = await call
        assert isinstance(outcome, StepRecorded)
        [seeds] = made.seeds
        assert len(set(seeds.seeds)) == 5000
        [(described, _)] = table.described
        assert len(described) == 5000
        assert all(seed.hardware == () for seed in described)
        assert table.observer.seeds == 5000

    asyncio.run(run())


def test_others_have_their_turns_between_the_parts():
    """Each part of a large draw is paid with a turn of everybody who waits."""

    async def run():
        table = Table()
        large = asyncio.create_task(drawn(table, order(seeds=10 * SEEDS_A_PART, gathers=True)))
        await turns()
        small = [asyncio.create_task(table.call(f"hand-{number}")) for number in range(3)]
        await turns()
        table.feed(SEEDS_A_PART + 3)
        await turns()
        assert [task.done() for task in small] == [True] * 3
        assert not large.done()
        large.cancel()

    asyncio.run(run())


def test_others_do_not_starve_a_large_draw():
    """However many small draws come after it, it gets a part in every round of the line."""

    async def run():
        table, made = Table(), Made()
        parts = 6
        large = asyncio.create_task(
            drawn(table, order(made, seeds=parts * SEEDS_A_PART, gathers=True))
        )
        await turns()
        line = [asyncio.create_task(table.call(f"first-{number}")) for number in range(5)]
        await turns()
        for turn in range(parts):
            line += [asyncio.create_task(table.call(f"{turn}-{number}")) for number in range(5)]
            await turns()
            table.feed(SEEDS_A_PART + 10)
            await turns()
        await large
        assert len(made.seeds) == 1
        for task in line:
            task.cancel()

    asyncio.run(run())


def test_a_large_draw_of_one_tenant_leaves_turns_to_another():
    """Tenants are in turn between the parts as well."""

    async def run():
        table = Table(tenants=2)
        large = asyncio.create_task(drawn(table, order(seeds=1000, gathers=True)))
        await turns()
        other = asyncio.create_task(table.call("hand-1", tenant="globex"))
        await turns()
        table.feed(SEEDS_A_PART + 1)
        await other
        assert not large.done()
        large.cancel()

    asyncio.run(run())


def test_a_large_draw_goes_on_when_its_caller_leaves():
    """The caller is told how far it is; the draw is recorded without it."""

    async def run():
        table, made = Table(), Made()
        wanted = order(made, seeds=100, gathers=True)
        table.deliver(30 * SEED_SAMPLES)
        with pytest.raises(EntropyHoldError, match="30 of 100 seeds") as told:
            await drawn(table, wanted, seconds=0.05)
        assert told.value.why == "LARGE_DRAW"
        assert table.dealer.in_flight == 0
        for _ in range(10):
            table.feed(10)
            await turns()
        assert len(made.seeds) == 1
        assert table.ledger.step(SubjectKind.MATCH, "room", "match-1", "draw-1") is not None

    asyncio.run(run())


def test_a_caller_that_hangs_up_does_not_end_a_large_draw():
    """Its connection is as little of the draw as its patience."""

    async def run():
        table, made = Table(), Made()
        call = asyncio.create_task(drawn(table, order(made, seeds=100, gathers=True)))
        await turns()
        call.cancel()
        await turns()
        for _ in range(10):
            table.feed(10)
            await turns()
        assert len(made.seeds) == 1

    asyncio.run(run())


def test_a_stop_ends_a_large_draw_with_nothing_recorded():
    """What it gathered is lost, which costs samples and nothing else."""

    async def run():
        table, made = Table(), Made()
        call = asyncio.create_task(drawn(table, order(made, seeds=100, gathers=True)))
        table.deliver(30 * SEED_SAMPLES)
        table.dealer.pump()
        await turns()
        table.dealer.drain()
        table.dealer.dismiss_waiters()
        with pytest.raises(ShuttingDownError):
            await call
        assert made.seeds == []
        assert table.writer.steps == []
        assert table.dealer.waiters == 0
        with pytest.raises(ShuttingDownError):
            await drawn(table, order())

    asyncio.run(run())


def test_a_tenant_has_so_many_large_draws_and_no_more():
    """Neither in number nor in seeds; the tenants beside it have their own."""

    async def run():
        table = Table(tenants=2)
        running = [
            asyncio.create_task(
                drawn(table, order(Made(key=f"draw-{number}"), seeds=100, gathers=True))
            )
            for number in range(MAX_GATHERING)
        ]
        await turns()
        with pytest.raises(OverloadError, match=f"{MAX_GATHERING} large draws .* go on"):
            await drawn(table, order(Made(key="more"), seeds=100, gathers=True))
        other = asyncio.create_task(
            drawn(table, order(Made(tenant="globex"), tenant="globex", seeds=100, gathers=True))
        )
        await turns()
        assert not other.done()
        for task in (*running, other):
            task.cancel()

    asyncio.run(run())


def test_the_seeds_of_a_tenants_large_draws_are_bounded():
    """One always has room; a second that would bring them above the bound has none."""

    async def run():
        table = Table()
        first = asyncio.create_task(drawn(table, order(seeds=MAX_GATHERING_SEEDS, gathers=True)))
        await turns()
        with pytest.raises(OverloadError, match="which takes 65"):
            await drawn(table, order(Made(key="more"), seeds=65, gathers=True))
        first.cancel()

    asyncio.run(run())
