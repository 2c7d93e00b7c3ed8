"""When overdue pairs are looked for, and how often the journal says that some stay overdue."""

import asyncio
import io
import json
import logging

import pytest
import structlog

from entropyd.daemon import fair_sweeps
from entropyd.daemon.fair_sweeps import PAUSE_NS, FairSweeps
from entropyd.errors import SecretsDestroyedError
from entropyd.ledger.subjects import SubjectKind
from entropyd.ops.logs import configure
from tests.fakes.dealing import SECOND
from tests.fakes.ledger import MemoryLedger
from tests.fakes.manual_time import settle
from tests.unit.test_fair_core import Desk

DAY_S = 86_400
SAID = "overdue pairs could not be revealed"


class PrunedLedger(MemoryLedger):
    """A ledger whose operator destroyed the last states of some players.

    Attributes:
        destroyed: the players.
    """

    def __init__(self):
        super().__init__()
        self.destroyed: set[str] = set()

    def subject(self, kind: SubjectKind, tenant: str, name: str):
        if name in self.destroyed:
            raise SecretsDestroyedError(f"{kind} {name!r}, its last state: destroyed")
        return super().subject(kind, tenant, name)


class Runs:
    """The sweeps of a desk, run by hand.

    Attributes:
        counted: revealed and overdue, of each run.
        fatal: what the daemon would end with.
    """

    def __init__(self, desk: Desk) -> None:
        self.fatal: list[BaseException] = []
        self.counted: list[tuple[int, int]] = []
        self._sweeps = FairSweeps(
            desk.sweep,
            ["site"],
            observer=self,
            clock_ns=desk.table.clock,
            wall_ns=desk.table.clock.wall_ns,
            on_fatal=self.fatal.append,
        )

    def swept(self, *, revealed: int, overdue: int) -> None:
        self.counted.append((revealed, overdue))

    async def after(self, seconds: float) -> None:
        """Let time go on, and look."""
        await asyncio.sleep(seconds)
        self._sweeps.look()
        await settle()


@pytest.fixture
def lines():
    """Log as JSON, give back reason and number of what was said of pairs, and clean up."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    configure(level="info", json=True, stream=stream)
    yield lambda: [
        (line["pairs"], line["reason"])
        for line in map(json.loads, stream.getvalue().splitlines())
        if line["event"] == SAID
    ]
    root.handlers[:], level = before
    root.setLevel(level)
    structlog.reset_defaults()


def test_a_destroyed_seed_is_told_once_a_day_and_not_every_half_minute(lines):
    """By the refusal of the first one, with how many there are; others are revealed as ever."""
    ledger = PrunedLedger()
    desk = Desk(ledger=ledger)
    runs = Runs(desk)

    async def scenario():
        for player in ("ann", "bob", "cid"):
            await desk.begin(player)
        await asyncio.sleep(3600)
        desk.table.deliver(96 * 4)
        ledger.destroyed |= {"ann", "bob"}
        for _ in range(4):
            await runs.after(PAUSE_NS / SECOND)
        first_day = lines()
        await runs.after(DAY_S - 4 * PAUSE_NS / SECOND)
        return first_day, lines()

    first_day, second_day = desk.run(scenario)
    assert [(2, "pairs 'ann', its last state: destroyed")] == first_day
    assert first_day == second_day, "it is not a day yet"
    assert (1, 2) == runs.counted[0]
    assert [(0, 2)] * 3 == runs.counted[1:4]
    assert [] == runs.fatal


def test_a_day_later_it_is_told_again(lines):
    ledger = PrunedLedger()
    desk = Desk(ledger=ledger)
    runs = Runs(desk)

    async def scenario():
        await desk.open("ann")
        ledger.destroyed.add("ann")
        await runs.after(3600)
        await runs.after(DAY_S - 1)
        before = len(lines())
        await runs.after(PAUSE_NS / SECOND)
        return before, len(lines())

    assert (1, 2) == desk.run(scenario)


def test_players_of_another_node_are_told_apart_from_destroyed_seeds(lines):
    """Each reason has its own line, and its own day."""
    ledger = PrunedLedger()
    before = Desk(ledger=ledger)

    async def open_three():
        for player in ("ann", "bob", "cid"):
            await before.open(player)

    before.run(open_three)
    # Started again, with other players to serve.
    desk = Desk(ledger=ledger, tables=("ann", "bob"))
    runs = Runs(desk)

    async def scenario():
        await asyncio.sleep(3600)
        desk.table.deliver(96 * 4)
        await runs.after(1)
        other_node = lines()
        ledger.destroyed.add("ann")
        await asyncio.sleep(3600)
        desk.table.deliver(96 * 4)
        await runs.after(PAUSE_NS / SECOND)
        return other_node, lines()

    other_node, both = desk.run(scenario)
    [(pairs, reason)] = other_node
    assert (1, True) == (pairs, reason.startswith("'cid' is not served by this node"))
    assert [*other_node, (1, "pairs 'ann', its last state: destroyed")] == both


def test_a_run_over_many_lines_is_followed_by_a_longer_pause(monkeypatch):
    """Lines are never forgotten: in the end a daemon would do nothing but look at them."""
    desk = Desk()
    runs = Runs(desk)
    monkeypatch.setattr(fair_sweeps, "PAUSE_A_LINE_NS", PAUSE_NS)

    async def scenario():
        for player in ("ann", "bob", "cid"):
            await desk.open(player)
        await runs.after(1)
        counts = []
        for _ in range(6):
            await runs.after(PAUSE_NS / SECOND)
            counts.append(len(runs.counted))
        return counts

    assert [1, 1, 2, 2, 2, 3] == desk.run(scenario)
    assert [] == runs.fatal
