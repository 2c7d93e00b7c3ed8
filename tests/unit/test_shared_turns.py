"""Turns: together where that is allowed, alone where not, nobody overtakes, nothing is left."""

import asyncio

import pytest

from entropyd.errors import OverloadError
from entropyd.runtime.shared_turns import MAX_IN_LINE, SharedTurns


async def asked(turns, key="m", *, alone, patience_s=5.0):
    return await turns.take(key, alone=alone, patience_s=patience_s)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def test_those_that_may_have_their_turns_together():
    async def run():
        turns = SharedTurns()
        ends = [await asked(turns, alone=False) for _ in range(3)]
        for end in ends:
            end()
        assert len(turns) == 0

    asyncio.run(run())


def test_one_that_is_alone_waits_for_the_others_and_they_for_it():
    async def run():
        turns = SharedTurns()
        first = await asked(turns, alone=False)
        alone = asyncio.create_task(asked(turns, alone=True))
        later = asyncio.create_task(asked(turns, alone=False))
        await settle()
        assert (alone.done(), later.done()) == (False, False)
        first()
        end = await alone
        await settle()
        assert not later.done()
        end()
        (await later)()
        assert len(turns) == 0

    asyncio.run(run())


def test_a_turn_that_is_free_is_taken_without_waiting():
    """And one that is not is not taken: not beside who is alone, nor before who waits."""

    async def run():
        turns = SharedTurns()
        first = turns.take_now("m", alone=False)
        beside = turns.take_now("m", alone=False)
        assert first is not None
        assert beside is not None
        assert turns.take_now("m", alone=True) is None
        waiting = asyncio.create_task(asked(turns, alone=True))
        await settle()
        assert turns.take_now("m", alone=False) is None
        first()
        beside()
        end = await waiting
        assert turns.take_now("m", alone=False) is None
        end()
        assert len(turns) == 0

    asyncio.run(run())


def test_another_match_has_a_line_of_its_own():
    async def run():
        turns = SharedTurns()
        end = await asked(turns, "one", alone=True)
        other = await asked(turns, "two", alone=True)
        end()
        other()
        assert len(turns) == 0

    asyncio.run(run())


def test_a_turn_that_does_not_come_in_time_lets_those_behind_go():
    async def run():
        turns = SharedTurns()
        first = await asked(turns, alone=False)
        with pytest.raises(TimeoutError):
            await asked(turns, alone=True, patience_s=0.01)
        second = await asked(turns, alone=False)
        first()
        second()
        assert len(turns) == 0

    asyncio.run(run())


def test_a_line_is_bounded():
    """Who comes when as many wait as may is refused at once; the others have their turns."""

    async def run():
        turns = SharedTurns()
        first = await asked(turns, alone=True)
        waiting = [asyncio.create_task(asked(turns, alone=False)) for _ in range(MAX_IN_LINE)]
        await settle()
        with pytest.raises(OverloadError, match="4096 callers"):
            await asked(turns, alone=False)
        first()
        for end in await asyncio.gather(*waiting):
            end()
        assert len(turns) == 0

    asyncio.run(run())


def test_a_caller_that_hangs_up_in_the_line_leaves_it():
    async def run():
        turns = SharedTurns()
        first = await asked(turns, alone=True)
        waiting = asyncio.create_task(asked(turns, alone=True))
        behind = asyncio.create_task(asked(turns, alone=True))
        await settle()
        waiting.cancel()
        await settle()
        first()
        (await behind)()
        assert len(turns) == 0

    asyncio.run(run())


def test_a_caller_that_hangs_up_as_its_turn_comes_gives_it_back():
    async def run():
        turns = SharedTurns()
        first = await asked(turns, alone=True)
        waiting = asyncio.create_task(asked(turns, alone=True))
        await settle()
        first()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        (await asked(turns, alone=True))()
        assert len(turns) == 0

    asyncio.run(run())
