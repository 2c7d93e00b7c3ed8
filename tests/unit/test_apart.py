"""Work apart: on another thread, with a short switch interval for as long as it runs."""

import asyncio
import sys
import threading
from functools import partial

import pytest

from entropyd.runtime.apart import INTERVAL_S, apart


@pytest.fixture
def usual():
    """The interval of the interpreter outside of any work."""
    before = sys.getswitchinterval()
    yield before
    sys.setswitchinterval(before)


def test_work_runs_on_another_thread_and_gives_way_soon(usual):
    """A test would not see the interval if it were short anyway."""

    def work():
        return threading.current_thread(), sys.getswitchinterval()

    thread, interval_s = asyncio.run(apart(work))
    assert threading.current_thread() is not thread
    assert pytest.approx(INTERVAL_S) == interval_s
    assert usual > 2 * INTERVAL_S
    assert usual == sys.getswitchinterval()


def test_work_that_fails_leaves_the_interval_as_it_was(usual):
    def work():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(apart(work))
    assert usual == sys.getswitchinterval()


def test_the_interval_is_short_until_the_last_work_ends_also_when_nobody_awaits_it(usual):
    """Of two, the first to end leaves it to the other; the caller of that one has left."""
    started, ends = threading.Barrier(3), [threading.Event(), threading.Event()]

    def work(number):
        started.wait()
        ends[number].wait()

    async def run():
        first, second = (asyncio.create_task(apart(partial(work, number))) for number in (0, 1))
        await asyncio.to_thread(started.wait)
        second.cancel()
        ends[0].set()
        await first
        left = sys.getswitchinterval()
        ends[1].set()
        return left

    assert pytest.approx(INTERVAL_S) == asyncio.run(run())
    assert usual == sys.getswitchinterval()
