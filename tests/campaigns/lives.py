"""One daemon that is killed again and again by plan while callers outlive it.

Seven kills of ten happen at a chosen point of what is recorded (phased_daemon.py),
so that every phase is hit for certain; the others at a random moment, of
working or of starting. The emulated device is slow, so that callers wait for
entropy.
"""

import asyncio
import random
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from tests.campaigns.phased_daemon import (
    AFTER_COMMIT,
    BEFORE_ANSWER,
    BEFORE_COMMIT,
    IN_COMMIT,
    NOWHERE,
    WAITING,
    phased,
)
from tests.system.harness import Daemon

# Bytes a second: 125 seeds of 96 samples, of which 64 callers of hands want many times as many.
RATE = 12_000
QUICK = "first_assessment_samples = 1024"
PATIENCE_S = 30.0

STARTING = "starting"
DEALING = "dealing"


class Phase(StrEnum):
    """Where something was at a kill. `ANSWERED`: its answer came through in that life."""

    WAITING = "waiting"
    DRAWN = "drawn"
    COMMITTED = "committed"
    ANSWERED = "answered"


@dataclass(frozen=True)
class Plan:
    """One kill.

    Attributes:
        point: where: one of `phased_daemon`'s, or STARTING or DEALING.
        count: at which passing of the point.
        delay_s: how long after the start (STARTING), or after callers were let in (DEALING).
    """

    point: str
    count: int = 1
    delay_s: float = 0.0


# How many of 20 kills happen where.
SHARES = {
    WAITING: 3,
    BEFORE_COMMIT: 3,
    IN_COMMIT: 3,
    AFTER_COMMIT: 3,
    BEFORE_ANSWER: 2,
    STARTING: 1,
    DEALING: 5,
}
# Of 64 callers of hands nearly all wait for entropy at the same time.
MOST = MappingProxyType({WAITING: 60, BEFORE_ANSWER: 24})
MOST_ELSEWHERE = 3


def plans(kills: int, seed: int, most: Mapping[str, int] = MOST) -> list[Plan]:
    """Return as many kills, in the proportions of SHARES, in a seeded order.

    Args:
        kills: how many.
        seed: of the order, the passings and the moments.
        most: the latest passing at which a kill happens, of points where that is not the third.
    """
    chance = random.Random(seed)
    twenty = [point for point, share in SHARES.items() for _ in range(share)]
    points = [twenty[number % len(twenty)] for number in range(kills)]
    chance.shuffle(points)
    return [_plan(point, chance, most) for point in points]


def _plan(point: str, chance: random.Random, most: Mapping[str, int]) -> Plan:
    if point == STARTING:
        return Plan(point, delay_s=chance.uniform(0.0, 0.9))
    if point == DEALING:
        return Plan(point, delay_s=chance.uniform(0.0, 0.6))
    return Plan(point, count=chance.randint(1, most.get(point, MOST_ELSEWHERE)))


class Callers(Protocol):
    """Who outlives the daemon."""

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Begin; they wait until they are let in."""
        ...

    def let_in(self) -> None:
        """Give them a connection to the daemon that listens now."""
        ...

    async def shut_out(self) -> set[str]:
        """Wait until nobody waits for the dead daemon; return what it had answered."""
        ...

    async def finish(self) -> None:
        """Let every caller get what it wants now, and nothing more."""
        ...

    async def close(self) -> None:
        """Give up the connection."""
        ...


class Lives:
    """One daemon's many lives. What they are judged by is for whoever derives from this.

    Attributes:
        daemon: the present one.
        callers: who outlives it.
    """

    callers: Callers

    def __init__(self, home: Path, alterations: Sequence[str] = (), *, rate: int = RATE) -> None:
        """Prepare them.

        Args:
            home: the daemon's.
            alterations: of the daemon; see `altered_daemon`.
            rate: of the emulated device, bytes a second.
        """
        self._home = home
        self._alterations = alterations
        self.daemon = Daemon(home, options=f", rate = {rate}", source_extra=QUICK)
        self._lives = 0

    def count(self, plan: Plan, phases: Mapping[str, Phase]) -> None:
        """Take note of a kill and of the phase in which it met each thing of its life."""
        raise NotImplementedError

    async def look_back(self) -> None:
        """Judge what the lives before have left, in a new one whose callers are not let in yet."""

    async def judge(self) -> None:
        """Judge what all lives have left; no caller wants anything any more."""
        raise NotImplementedError

    async def live(self, plans: Sequence[Plan]) -> float:
        """Live and die by plan, then live once more to be judged; return how long it took."""
        began = time.monotonic()
        try:
            async with asyncio.TaskGroup() as tasks:
                self.callers.start(tasks)
                for plan in plans:
                    await self._life(plan)
                await self._last_life()
        finally:
            await self.callers.close()
            if self.daemon.process is not None:
                self.daemon.kill()
        return time.monotonic() - began

    async def _life(self, plan: Plan) -> None:
        log = self._start(plan.point, plan.count)
        if plan.point == STARTING:
            await asyncio.sleep(plan.delay_s)
        else:
            await until(self._is_listening, "listening")
            await self.look_back()
            self.callers.let_in()
        if plan.point == DEALING:
            await asyncio.sleep(plan.delay_s)
        if plan.point in {STARTING, DEALING}:
            self.daemon.kill()
        await until(self._is_dead, f"dead: {plan}")
        answered = await self.callers.shut_out()
        self.count(plan, dict(_phases(log)) | dict.fromkeys(answered, Phase.ANSWERED))

    async def _last_life(self) -> None:
        self._start(NOWHERE, 1)
        await until(self._is_listening, "listening")
        self.callers.let_in()
        await self.callers.finish()
        await self.judge()

    def _start(self, point: str, count: int) -> Path:
        self._lives += 1
        log = self._home / f"phases{self._lives}"
        if point in {STARTING, DEALING}:
            point = NOWHERE
        self.daemon.prefix = phased(log, point, count, *self._alterations)
        self.daemon.start(wait=False)
        return log

    def _is_listening(self) -> bool:
        """Whether callers are let in. A daemon that ended by itself fails the campaign."""
        process = self.daemon.process
        assert process is not None
        assert process.poll() is None, f"ended with {process.returncode}: {self.daemon.log[-2000:]}"
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.daemon.target.removeprefix("unix:")) == 0

    def _is_dead(self) -> bool:
        """Whether the kill has happened; any other end fails the campaign."""
        process = self.daemon.process
        assert process is not None
        assert process.poll() in {None, -9}, f"{process.returncode}: {self.daemon.log[-2000:]}"
        return process.returncode is not None


def _phases(log: Path) -> Iterator[tuple[str, Phase]]:
    """Yield each step that was taken in a life; the last of a thing is where the kill met it."""
    for line in log.read_text("ascii").splitlines() if log.exists() else []:
        phase, name = line.split(" ")
        yield name, Phase(phase)


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait, and fail the campaign if it takes too long: a point that is not passed is no kill."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE_S, f"not within {PATIENCE_S} s: {what}"
        await asyncio.sleep(0.002)
