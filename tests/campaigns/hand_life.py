"""One daemon's life as far as hands go: HandService without a transport, over a ledger that fails.

A life can be frozen while nothing is on its way, and thawed as often as wanted:
what it has recorded, what the runtime remembers besides, and what time it is.
Killed, nothing is left of it but what it has recorded.

It draws from bits of its own: a hand that was opened twice would have two decks.
"""

import asyncio
from collections import OrderedDict
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from entropyd.runtime.hand_tables import HandLimits
from tests.campaigns.hand_model import LIMITS
from tests.fakes.dealing import SECOND, Table
from tests.fakes.hand_desk import HOUR, LOG, MS, HandDesk
from tests.fakes.ledger import FaultyLedger, MemoryDisk, MemoryLedger, copied

# Seeds of 96 samples: what one life opens before it is frozen again takes two at most.
SEEDS = 4
# Turns of the loop after which everything has run that can run.
TURNS = 24
POLICY = HandLimits(LIMITS["open"], LIMITS["dealing"], HOUR, 600 * SECOND)

_births = count(1)


@dataclass(frozen=True)
class Frozen:
    """A life while nothing is on its way.

    Attributes:
        disk: what it has recorded.
        now_ns: its monotonic clock, with which the wall clock goes.
        failing: whether the last commit failed, and the ledger was not tried since.
        doubtful: what that commit was about.
        scanned: whether the sweep has read all hands.
        due: when the sweep wants to look at hands.
        queue: the same, as it keeps it.
        tables: what is counted of tables.
        found, made: caches of the store, and of the service.
    """

    disk: MemoryDisk
    now_ns: int
    failing: bool = False
    doubtful: frozenset[tuple[str, ...]] = frozenset()
    scanned: bool = False
    due: dict[Any, int] = field(default_factory=dict)
    queue: tuple[Any, ...] = ()
    tables: dict[Any, Any] = field(default_factory=dict)
    found: dict[str, OrderedDict[Any, Any]] = field(default_factory=dict)
    made: OrderedDict[Any, Any] = field(default_factory=OrderedDict)

    def killed(self) -> "Frozen":
        """Return what the next process begins with."""
        return Frozen(self.disk, self.now_ns)


def newborn() -> Frozen:
    """Return a life in which nothing has happened."""
    return Frozen(MemoryDisk(), Table().clock.now_ns)


class Life:
    """A life that goes on.

    Attributes:
        desk: its HandService.
        ledger: fails as told.
        disk: what is recorded.
        fatal: what the daemon would have ended with.
    """

    def __init__(self, frozen: Frozen) -> None:
        """Thaw one. What is frozen stays as it is."""
        self.disk = copied(frozen.disk)
        self.disk.held = False
        inner = MemoryLedger(self.disk)
        inner.set_table_entry(_table_entry)
        self.ledger = FaultyLedger(inner)
        self.desk = HandDesk(0, limits=POLICY, ledger=self.ledger)
        table = self.desk.table
        table.clock.now_ns = frozen.now_ns
        table.os_random.asked += [0] * next(_births)
        table.deliver(96 * SEEDS)
        table.writer.held = True
        self._thaw(frozen)

    # What the runtime keeps besides its ledger has no door of its own: these reach in.

    def _thaw(self, frozen: Frozen) -> None:
        desk, sweep = self.desk, self.desk.sweep
        self.ledger._failing = frozen.failing
        self.ledger._doubtful = set(frozen.doubtful)
        sweep._due, sweep._queue = dict(frozen.due), list(frozen.queue)
        if frozen.scanned:
            sweep._scan = None
        desk.hands._tables._tables = deepcopy(frozen.tables)
        vars(desk.store).update({name: cache.copy() for name, cache in frozen.found.items()})
        desk.core._messages._made = frozen.made.copy()

    def freeze(self) -> Frozen:
        """Return the life as it is. Fails if something is still on its way."""
        desk, sweep = self.desk, self.desk.sweep
        left = (
            desk.hands._turns._turns._lines,
            desk.table.dealer.step_calls._steps.draws._drawing_steps,
            sweep._running,
            desk.table.writer._open,
            self.fatal,
        )
        assert not any(left), f"left behind: {left}"
        return Frozen(
            disk=copied(self.disk),
            now_ns=desk.table.clock.now_ns,
            failing=self.ledger._failing,
            doubtful=frozenset(self.ledger._doubtful),
            scanned=sweep._scan is None,
            due=dict(sweep._due),
            queue=tuple(sweep._queue),
            tables=deepcopy(desk.hands._tables._tables),
            found={
                name: cache.copy()
                for name, cache in vars(desk.store).items()
                if isinstance(cache, OrderedDict)
            },
            made=desk.core._messages._made.copy(),
        )

    @property
    def fatal(self) -> list[BaseException]:
        return [*self.desk.fatal, *self.desk.table.fatal]

    @property
    def wall_ns(self) -> int:
        wall_ns: int = self.desk.table.clock.wall_ns()
        return wall_ns - wall_ns % MS

    @property
    def failing(self) -> bool:
        return self.ledger._failing

    @property
    def pending(self) -> int:
        """How many submissions wait for the ledger."""
        return len(self.desk.table.writer._open)

    @property
    def sweeping(self) -> bool:
        return bool(self.desk.sweep._running)

    async def settle(self) -> None:
        """Let everything run that can run without time going on."""
        for _ in range(TURNS):
            await asyncio.sleep(0)

    def wait_until(self, wall_ns: int) -> None:
        """Let time pass. Meanwhile samples grow old, and new ones come."""
        table = self.desk.table
        table.clock.now_ns += wall_ns - self.wall_ns
        table.deliver(96 * SEEDS)

    def commit(self, *, written: bool = True, answered: bool = True) -> None:
        """Have the ledger take the oldest submission; it may fail, written or not."""
        self.ledger.fail_not_written = int(not written)
        self.ledger.fail_but_written = int(written and not answered)
        writer = self.desk.table.writer
        writer._commit(writer._open[0])

    async def commit_all(self) -> None:
        """Have the ledger take everything, now and from now on."""
        self.desk.table.writer.held = False
        while self.pending:
            self.commit()
            await self.settle()

    def mend(self) -> None:
        """Have the writer find out that the ledger works again."""
        self.ledger.commit([])

    async def kill(self, *tasks: "asyncio.Task[Any]") -> None:
        """End it: nobody is answered any more, and nothing more is recorded."""
        self.desk.table.writer._open.clear()
        disk = copied(self.disk)
        running = [*tasks, *self.desk.sweep._running.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        assert disk == self.disk, "a dead process has recorded something"


def _table_entry(tenant: str, table: str, index: int, *_: int) -> bytes:
    return (
        f"entropyd-receipt: v1\nlog: {LOG}\nindex: {index}\nevent: table\ntenant: {tenant}\n"
        f"table: {table}\npolicy: test\ntime: 1970-01-01T00:00:00.001Z\n"
    ).encode("ascii")
