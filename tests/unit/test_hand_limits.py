"""What bounds hands: tables and their children, watchers, what a tick of the sweep does."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from entropyd.errors import (
    LedgerDamagedError,
    LedgerUnavailableError,
    OverloadError,
    RequestError,
    TableFullError,
)
from entropyd.hands.hand import HandState
from entropyd.log.source_line import ReceiptHealth, ReceiptSourceKind, SourceClass
from entropyd.runtime import hand_sweep, hand_tables
from entropyd.runtime.hand_sweep import HandSweep
from entropyd.runtime.hand_tables import HandTables
from entropyd.runtime.hand_turns import HandName
from entropyd.service import hand_feed
from entropyd.service.receipt_sources import sources_of
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2
from tests.fakes.dealing import SECOND
from tests.fakes.hand_desk import HOUR, LIMITS, HandDesk, Player, key
from tests.fakes.ledger import FaultyLedger, MemoryLedger
from tests.fakes.manual_time import settle


async def refused(kind, call):
    with pytest.raises(kind) as told:
        await call
    return told.value


def test_a_child_goes_one_beyond_the_limits_of_its_table():
    """The parent is being dealt and the next is prepared; of two children the second is refused."""
    desk = HandDesk()

    async def scenario():
        await desk.open("h-1")
        await desk.deal(0, ("seat-1", 9))
        await desk.open("next")
        parent = pb.Parent(hand="h-1", places=[1, 2, 3])
        await desk.open("child", parent=parent)
        await desk.deal(0, ("seat-1", 2), hand="child")
        other = pb.Parent(hand="h-1", places=[4, 5])
        await refused(TableFullError, desk.open("child-2", parent=other))
        await refused(TableFullError, desk.deal(0, ("seat-1", 1), hand="next"))
        await desk.close("child")
        await desk.close("h-1")
        await desk.deal(0, ("seat-1", 1), hand="next")

    desk.run(scenario)


def test_a_child_takes_nothing_from_the_hand_that_is_prepared_after_it():
    """Whichever is opened first; and what ended, or was never opened, gives its room back."""
    desk = HandDesk()

    async def scenario():
        await desk.open("h-1")
        await desk.deal(0, ("seat-1", 9))
        parent = pb.Parent(hand="h-1", places=[1, 2, 3])
        await desk.open("child", parent=parent)
        await desk.open("next")
        await refused(TableFullError, desk.open("another"))
        other = pb.Parent(hand="h-1", places=[4, 5])
        await refused(TableFullError, desk.open("child-2", parent=other))
        await desk.void("child")
        await refused(TableFullError, desk.open("another"))
        await desk.open("child-2", parent=other)
        await refused(TableFullError, desk.open("another"))
        await desk.close("h-1")
        await desk.open("another")

    desk.run(scenario)
    counted = desk.hands._tables._tables["room", "t-1"]
    assert (3, 1) == (counted.open, counted.children)


@pytest.mark.parametrize(("sealed", "seconds"), [(False, 60), (True, 30)])
def test_a_hand_does_not_expire_before_its_windows_do(sealed, seconds):
    """Seats have all of the time that a receipt gives them, sealed ones twice."""
    desk = HandDesk(limits=replace(LIMITS, expire_after_ns=60 * SECOND))

    async def scenario():
        seats = (Player("seat-1"),)
        told = await refused(RequestError, desk.open(players=seats, sealed=sealed, seconds=seconds))
        await desk.open(players=seats, sealed=sealed, seconds=seconds - 1)
        return told

    told = desk.run(scenario)
    assert "contribute_for" == told.field
    assert "`[hands] expire_after`" in str(told)


def test_watchers_of_a_tenant_are_bounded(monkeypatch):
    """The one too many is told; one that ends makes room."""
    monkeypatch.setattr(hand_feed, "MAX_WATCHERS", 2)
    desk = HandDesk()

    async def scenario():
        await desk.open()
        name = HandName("room", "t-1", "h-1")

        def watch():
            return desk.feed.watch(name, lambda: desk.store.get("room", "t-1", "h-1"))

        first, second, third = watch(), watch(), watch()
        await anext(first)
        await anext(second)
        await refused(OverloadError, anext(third))
        await first.aclose()
        fourth = watch()
        await anext(fourth)
        await second.aclose()
        await fourth.aclose()

    desk.run(scenario)


def test_a_tick_begins_so_many_steps_and_no_more(monkeypatch):
    """The others follow in the next ticks; callers have their turns in between."""
    monkeypatch.setattr(hand_sweep, "MAX_AT_ONCE", 3)
    desk = HandDesk(limits=replace(LIMITS, open=10))

    async def scenario():
        for number in range(8):
            await desk.open(f"h-{number}")
        desk.table.clock.advance(3600)
        counts = []
        for _ in range(4):
            desk.sweep.tick()
            await settle()
            counts.append(len(desk.counted.voids))
        return counts

    assert [3, 6, 8, 8] == desk.run(scenario)
    assert 0 == desk.sweep.overdue_ns


def test_the_sweep_says_how_late_it_is(monkeypatch):
    """By the oldest that is due and was not begun."""
    monkeypatch.setattr(hand_sweep, "MAX_AT_ONCE", 1)
    desk = HandDesk(limits=replace(LIMITS, open=10))

    async def scenario():
        await desk.open("h-1")
        await desk.open("h-2")
        desk.table.clock.advance(3600 + 7)
        desk.sweep.tick()
        return desk.sweep.overdue_ns

    assert 6 * SECOND < desk.run(scenario) < 8 * SECOND


class CountingLedger:
    """A ledger that counts what is asked of it."""

    def __init__(self, ledger):
        self._ledger = ledger
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name):
        self.asked[name] += 1
        return getattr(self._ledger, name)


def test_an_opening_that_was_written_unseen_is_swept_in_time():
    """Its commit was not confirmed and nobody asks again: its window ends all the same."""
    ledger = FaultyLedger(MemoryLedger())
    desk = HandDesk(ledger=ledger)

    async def scenario():
        ledger.fail_not_written = 1
        await refused(LedgerUnavailableError, desk.open("h-2"))
        await asyncio.sleep(2)
        ledger.fail_but_written = 1
        await refused(LedgerUnavailableError, desk.open(players=(Player("seat-1"),), seconds=30))
        assert 2 == len(desk.sweep)
        for _ in range(3):
            await asyncio.sleep(15)
            desk.sweep.tick()
        await asyncio.sleep(1)

    desk.run(scenario)
    assert HandState.SEALED == desk.kept().state
    assert 1 == len(desk.sweep)


def test_a_hand_that_is_due_again_as_its_step_ends_is_not_dropped(monkeypatch):
    """A tick in the moment between: what it meets does not run any more."""
    desk = HandDesk()
    real = HandSweep._put
    # Put when its step is recorded, and when the sweep's own task ends.
    puts = ["recorded", "ends"]

    def put(sweep: HandSweep, *wish: Any) -> None:
        real(sweep, *wish)
        if puts and puts.pop(0) == "ends":
            desk.table.clock.advance(HOUR // SECOND)
            sweep.tick()

    async def scenario():
        await desk.open(players=(Player("seat-1"),), seconds=30)
        monkeypatch.setattr(HandSweep, "_put", put)
        desk.table.clock.advance(30)
        desk.sweep.tick()
        await asyncio.sleep(0.1)
        desk.sweep.tick()
        await asyncio.sleep(0.1)
        return await desk.ask("get_hand", pb.GetHandRequest(key=key()))

    assert pb.HAND_STATE_VOID == desk.run(scenario).hand.state


def test_a_step_reads_its_hand_once():
    """What it left of the hand, and its receipts, the ledger says with the outcome."""
    desk = HandDesk()
    reader = desk.store._ledger = CountingLedger(desk.table.ledger)

    async def scenario():
        asked = []
        for step in (
            desk.open("h-1"),
            desk.deal(0, ("seat-1", 1)),
            desk.deal(1, ("seat-2", 1)),
            desk.close("h-1"),
            desk.open("h-2"),
        ):
            reader.asked.clear()
            await step
            asked.append(dict(reader.asked))
        return asked

    first, *steps = desk.run(scenario)
    # The hands of a table are counted when it has its first one.
    assert {"subject": 1, "hands_at": 3} == first
    assert [{"subject": 1}] * 4 == steps


def test_what_is_counted_of_tables_is_bounded(monkeypatch):
    """The last ones at which nothing goes on are known, and all at which something does."""
    monkeypatch.setattr(hand_tables, "MAX_IDLE", 2)
    counted = []

    def live(_tenant, table):
        counted.append(table)
        return ()

    tables = HandTables(live)
    for table in ("t1", "t2", "t3", "t3", "t1"):
        tables.reserve("room", table, 1)
        tables.release("room", table, None)
    assert counted == ["t1", "t2", "t3", "t1"]
    assert set(tables._tables) == {("room", "t3"), ("room", "t1")}


def test_what_the_sweep_keeps_is_bounded_by_what_is_live(monkeypatch):
    """Hands that ended long before they expire leave nothing behind."""
    monkeypatch.setattr(hand_sweep, "MIN_STALE", 4)
    desk = HandDesk(limits=replace(LIMITS, open=10))

    async def scenario():
        for number in range(12):
            await desk.open(f"h-{number}")
            await desk.close(f"h-{number}")
        return len(desk.sweep), len(desk.sweep._queue)

    live, queued = desk.run(scenario)
    assert 0 == live
    assert queued <= 5


def test_a_damaged_hand_ends_the_daemon(monkeypatch):
    """What can never be right is not tried again."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        desk.table.clock.advance(3600)

        def damaged(*_):
            raise LedgerDamagedError("hand: its row was changed")

        monkeypatch.setattr(desk.store, "get", damaged)
        desk.sweep.tick()
        await settle()

    desk.run(scenario)
    assert ["hand: its row was changed"] == [str(error) for error in desk.fatal]


def test_two_calls_at_the_moment_of_expiry_make_one_void():
    """The sweep and a caller: whoever is first, one step."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        desk.table.clock.advance(HOUR // SECOND)
        desk.sweep.tick()
        asked = asyncio.ensure_future(desk.ask("seal_hand", pb.SealHandRequest(key=key())))
        await settle()
        return await asked

    assert pb.HAND_STATE_VOID == desk.run(scenario).hand.state
    assert ["open", "void"] == desk.counted.steps


def test_a_receipt_says_of_sources_what_the_provenance_says():
    """Line by line; what a batch shares has classes of its own."""
    stored = types_pb2.Provenance(policy="hardware=320", degraded=True)
    quantis = stored.sources.add(
        kind=types_pb2.SOURCE_KIND_HARDWARE,
        driver="quantis-usb",
        serial="S 1",
        samples=96,
        credited_millibits=576_999,
        health=types_pb2.SOURCE_STATE_HEALTHY,
    )
    setattr(quantis, "class", types_pb2.SOURCE_CLASS_HARDWARE)
    quantis.age.FromNanoseconds(1_234_567_890)
    shared = stored.shared_sources.add(kind=types_pb2.SOURCE_KIND_OS, samples=64)
    setattr(shared, "class", types_pb2.SOURCE_CLASS_OS)
    told = sources_of(stored.SerializeToString())
    first, second = told.lines
    assert ("hardware=320", True) == (told.policy, told.degraded)
    assert (SourceClass.HARDWARE, ReceiptSourceKind.HARDWARE, "quantis-usb", "S 1") == (
        first.source_class,
        first.kind,
        first.driver,
        first.serial,
    )
    assert (96, 576, 1234, ReceiptHealth.HEALTHY) == (
        first.samples,
        first.credited,
        first.age_ms,
        first.health,
    )
    assert (SourceClass.BATCH_OS, 64, ReceiptHealth.NONE) == (
        second.source_class,
        second.samples,
        second.health,
    )
