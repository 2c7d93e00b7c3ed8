"""Kill -9 again and again under 64 callers, and ask for every answered hand once more.

    python -m tests.campaigns.kill --kills 200 --seed 1

Each caller asks for one hand until it is answered, with the same claim, and
then for its next. The daemon is killed, begun again, killed ... Seven
kills of ten happen at a chosen point of a hand's way (phased_daemon.py), so that
every phase is hit for certain; the others at a random moment, of dealing or
of starting. The emulated device is slow, so that callers wait for entropy.

In the end every hand that was ever answered is asked for again. It must be
the same to the byte (else it is differing), come from the ledger (else it was
lost), and share neither deck nor number with another (else it is repeated).

Shows what survives a process that dies. The kernel lives on and keeps what was
written: of power losses this shows nothing, crash_replay.py does.
"""

import argparse
import asyncio
import random
import socket
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tests.campaigns.persistent_callers import CALLERS, PersistentCallers
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

# 125 seeds of 96 samples a second: 64 callers want many times as many.
DEVICE = ", rate = 12000"
QUICK = "first_assessment_samples = 1024"
PATIENCE_S = 30.0

STARTING = "starting"
DEALING = "dealing"


class Phase(StrEnum):
    """Where a hand was at a kill. `ANSWERED`: its answer came through in that life."""

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


def plans(kills: int, seed: int) -> list[Plan]:
    """Return as many kills, in the proportions of SHARES, in a seeded order."""
    chance = random.Random(seed)
    twenty = [point for point, share in SHARES.items() for _ in range(share)]
    points = [twenty[number % len(twenty)] for number in range(kills)]
    chance.shuffle(points)
    return [_plan(point, chance) for point in points]


def _plan(point: str, chance: random.Random) -> Plan:
    if point == STARTING:
        return Plan(point, delay_s=chance.uniform(0.0, 0.9))
    if point == DEALING:
        return Plan(point, delay_s=chance.uniform(0.0, 0.6))
    most = {WAITING: CALLERS - 4, BEFORE_ANSWER: 24}.get(point, 3)
    return Plan(point, count=chance.randint(1, most))


@dataclass
class Tally:
    """What came of a campaign.

    Attributes:
        kills: by point.
        hits: kills that met at least one hand in a phase, by point and phase.
        hands: hands met, by point and phase.
        answered: hands that were ever answered.
        lost: of them, those that the ledger did not have in the end.
        differing: of them, those that came back with another byte.
        repeated: decks, hashes and numbers that two hands share.
        missing: numbers that no hand has, below the last of a table.
        contradicted: hands whose answer says `replayed` against what their phases say.
        took_s: duration, seconds.
    """

    kills: Counter[str] = field(default_factory=Counter)
    hits: Counter[tuple[str, Phase]] = field(default_factory=Counter)
    hands: Counter[tuple[str, Phase]] = field(default_factory=Counter)
    answered: int = 0
    lost: int = 0
    differing: int = 0
    repeated: int = 0
    missing: int = 0
    contradicted: int = 0
    took_s: float = 0.0

    def add(self, point: str, phases: Iterable[Phase]) -> None:
        """Count a kill that met hands in these phases."""
        self.kills[point] += 1
        for phase, number in Counter(phases).items():
            self.hits[point, phase] += 1
            self.hands[point, phase] += number

    def kills_that_hit(self, phase: Phase) -> int:
        """Return how many kills met a hand in a phase."""
        return sum(number for (_, met), number in self.hits.items() if met is phase)

    def table(self) -> str:
        """Return the campaign as a table: kills that met a phase, and how many hands in it."""
        lines = [f"{'killed at':14} {'kills':>6}" + "".join(f"{phase:>15}" for phase in Phase)]
        lines += [self._line(point, [point]) for point in SHARES if self.kills[point]]
        lines.append(self._line("in all", list(SHARES)))
        lines.append("")
        lines.append(
            f"{self.answered} hands answered: {self.lost} lost, {self.repeated} repeated,"
            f" {self.differing} differing, {self.missing} numbers missing,"
            f" {self.contradicted} contradicting their phase; {self.took_s:.0f} s"
        )
        return "\n".join(lines)

    def _line(self, name: str, points: Sequence[str]) -> str:
        cells = [
            f"{sum(self.hits[point, phase] for point in points):>7}"
            f" /{sum(self.hands[point, phase] for point in points):>6}"
            for phase in Phase
        ]
        return f"{name:14} {sum(self.kills[point] for point in points):>6}" + "".join(cells)


class Campaign:
    """One daemon's many lives."""

    def __init__(self, home: Path, *alterations: str) -> None:
        self._home = home
        self._alterations = alterations
        self._daemon = Daemon(home, options=DEVICE, source_extra=QUICK)
        self._callers = PersistentCallers(self._daemon.target)
        self._lives = 0
        self._met: dict[str, set[Phase]] = defaultdict(set)
        self._tally = Tally()

    async def run(self, plans: Sequence[Plan]) -> Tally:
        """Live and die by plan, then live once more to be asked for everything."""
        began = time.monotonic()
        try:
            async with asyncio.TaskGroup() as tasks:
                self._callers.start(tasks)
                for plan in plans:
                    await self._life(plan)
                await self._last_life()
        finally:
            await self._callers.close()
            if self._daemon.process is not None:
                self._daemon.kill()
        self._tally.took_s = time.monotonic() - began
        return self._tally

    async def _life(self, plan: Plan) -> None:
        log = self._start(plan.point, plan.count)
        if plan.point == STARTING:
            await asyncio.sleep(plan.delay_s)
        else:
            await _until(self._is_listening, "listening")
            self._callers.let_in()
        if plan.point == DEALING:
            await asyncio.sleep(plan.delay_s)
        if plan.point in {STARTING, DEALING}:
            self._daemon.kill()
        await _until(self._is_dead, f"dead: {plan}")
        answered = await self._callers.shut_out()
        self._count(plan.point, log, answered)

    async def _last_life(self) -> None:
        self._start(NOWHERE, 1)
        await _until(self._is_listening, "listening")
        self._callers.let_in()
        await self._callers.finish()
        await self._judge()

    def _start(self, point: str, count: int) -> Path:
        self._lives += 1
        log = self._home / f"phases{self._lives}"
        if point in {STARTING, DEALING}:
            point = NOWHERE
        self._daemon.prefix = phased(log, point, count, *self._alterations)
        self._daemon.start(wait=False)
        return log

    def _is_listening(self) -> bool:
        """Whether callers are let in. A daemon that ended by itself fails the campaign."""
        process = self._daemon.process
        assert process is not None
        assert process.poll() is None, (
            f"ended with {process.returncode}: {self._daemon.log[-2000:]}"
        )
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self._daemon.target.removeprefix("unix:")) == 0

    def _is_dead(self) -> bool:
        """Whether the kill has happened; any other end fails the campaign."""
        process = self._daemon.process
        assert process is not None
        assert process.poll() in {None, -9}, f"{process.returncode}: {self._daemon.log[-2000:]}"
        return process.returncode is not None

    def _count(self, point: str, log: Path, answered: set[str]) -> None:
        """Find out in which phase the kill met each hand of this life."""
        lines = log.read_text("ascii").splitlines() if log.exists() else []
        phases: dict[str, Phase] = {}
        for line in lines:
            phase, hand = line.split(" ")
            phases[hand] = Phase(phase)
        phases |= dict.fromkeys(answered, Phase.ANSWERED)
        for hand, met in phases.items():
            self._met[hand].add(met)
        self._tally.add(point, phases.values())

    async def _judge(self) -> None:
        tally, answers = self._tally, self._callers.answers
        tally.answered = len(answers)
        for hand, again in (await self._callers.ask_again()).items():
            tally.lost += not again.replayed
            tally.differing += again.message != answers[hand].message
        messages = [answer.message for answer in answers.values()]
        for of in (lambda m: m.open_hash, lambda m: m.items, lambda m: m.commitment):
            tally.repeated += len(messages) - len({of(message) for message in messages})
        numbers = defaultdict(list)
        for message in messages:
            numbers[message.key.table].append(message.sequence)
        for found in numbers.values():
            tally.repeated += len(found) - len(set(found))
            tally.missing += max(found) - len(set(found))
        tally.contradicted = sum(
            self._contradicts(hand, replayed=answer.replayed) for hand, answer in answers.items()
        )

    def _contradicts(self, hand: str, *, replayed: bool) -> bool:
        """Whether an answer claims to be new or old against what the kills saw of its hand.

        One that a kill met committed must be old, one that no kill met drawn
        must be new. One that a kill met drawn may be either.
        """
        if Phase.COMMITTED in self._met[hand]:
            return not replayed
        return replayed and Phase.DRAWN not in self._met[hand]


async def _until(condition: Callable[[], bool], what: str) -> None:
    """Wait, and fail the campaign if it takes too long: a point that is not passed is no kill."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE_S, f"not within {PATIENCE_S} s: {what}"
        await asyncio.sleep(0.002)


def main() -> None:
    """Run a campaign and print its table."""
    parser = argparse.ArgumentParser(description="kill -9 under 64 callers")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ed-") as home:
        campaign = Campaign(Path(home))
        print(asyncio.run(campaign.run(plans(arguments.kills, arguments.seed))).table())


if __name__ == "__main__":
    main()
