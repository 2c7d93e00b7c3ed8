"""Time that moves only when there is nothing else to do.

A scenario of minutes takes milliseconds and is the same in every run: a timer
fires exactly when it is due and never because the machine was busy.
"""

import asyncio
import gc
import math
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")

START_NS = 1000 * 10**9
WALL_START_NS = 1_700_000_000 * 10**9


class ManualClock:
    """A monotonic clock in nanoseconds, set forward by hand or by `ManualLoop`.

    Attributes:
        now_ns: what it says.
        set_by_ns: by how much somebody has set the wall clock since.
    """

    def __init__(self) -> None:
        self.now_ns = START_NS
        self.set_by_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        # Rounded up: a timer must be due after the time that its loop was told to wait.
        self.now_ns += max(1, math.ceil(seconds * 1e9))

    def wall_ns(self) -> int:
        """A wall clock that goes with it."""
        return WALL_START_NS + self.now_ns + self.set_by_ns


class _Selector(selectors.DefaultSelector):
    """Never waits: sets the clock forward instead."""

    clock: ManualClock

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("everybody waits and nobody will ever wake them")
        if not ready and timeout:
            self.clock.advance(timeout)
        return ready


class _AtOnce(ThreadPoolExecutor):
    """Other threads, whose work ends before time goes on."""

    def submit(self, fn, /, *args, **named):
        done = super().submit(fn, *args, **named)
        wait([done])
        return done


class ManualLoop(asyncio.SelectorEventLoop):
    """An event loop on a manual clock."""

    def __init__(self, clock: ManualClock) -> None:
        selector = _Selector()
        selector.clock = clock
        self._clock = clock
        super().__init__(selector)
        self._apart = _AtOnce()
        self.set_default_executor(self._apart)

    def time(self) -> float:
        return self._clock.now_ns / 1e9

    async def shutdown_default_executor(self) -> None:
        # The loop's own waits for a thread, and here nobody ever waits.
        self._apart.shutdown()


def play(clock: ManualClock, scenario: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a scenario to its end; an exception that nobody looked at fails it."""
    unseen: list[dict[str, Any]] = []
    with asyncio.Runner(loop_factory=lambda: ManualLoop(clock)) as runner:
        runner.get_loop().set_exception_handler(lambda _, context: unseen.append(context))
        result = runner.run(scenario())
        gc.collect()
    assert [] == unseen
    return result


async def settle() -> None:
    """Let everything run that can run without time going on."""
    for _ in range(10):
        await asyncio.sleep(0)
