"""Deadlines of hands when somebody sets the clock of the machine."""

import asyncio

import pytest

from entropyd.errors import LedgerUnavailableError
from entropyd.runtime.hand_clock import HandClock
from entropyd.v1 import hand_service_pb2 as pb
from tests.fakes.dealing import SECOND
from tests.fakes.hand_desk import HOUR, MS, HandDesk, Player
from tests.fakes.ledger import FaultyLedger, MemoryDisk, MemoryLedger
from tests.fakes.manual_time import settle
from tests.fakes.opened_hands import opened

SEATS = (Player("seat-1"), Player("seat-2"))


async def pass_by(desk: HandDesk, seconds: int) -> None:
    desk.table.clock.advance(seconds)
    desk.sweep.tick()
    await settle()
    await asyncio.sleep(0.1)


def test_a_clock_that_is_set_forward_voids_no_hand():
    """An hour in a moment: windows stay open, nobody is said not to have opened, none expires."""
    desk = HandDesk()

    async def scenario():
        contributed = (await desk.open(players=SEATS, sealed=True)).hand.opened
        await desk.open("h-2")
        seals = [player.seals(contributed.open_hash) for player in SEATS]
        desk.table.clock.set_by_ns = 2 * HOUR
        await pass_by(desk, 1)
        rolled = (await desk.contribute(contributed, *seals)).hand
        desk.table.clock.set_by_ns = 4 * HOUR
        await pass_by(desk, 29)
        values = [player.opens() for player in SEATS]
        return rolled, await desk.contribute(contributed, *values), await desk.get("h-2")

    rolled, sealed, other = desk.run(scenario)
    assert pb.HAND_STATE_ROLLED == rolled.state
    assert ["", ""] == [outcome.refused for outcome in sealed.outcomes]
    assert pb.HAND_STATE_SEALED == sealed.hand.state == other.state
    assert [] == desk.counted.voids


def test_a_clock_that_is_set_back_keeps_no_window_open():
    """The window ends when its time is over, and the hand expires, whatever the clock says."""
    desk = HandDesk()

    async def scenario():
        contributed = (await desk.open(players=SEATS)).hand.opened
        desk.table.clock.set_by_ns = -HOUR
        await pass_by(desk, 30)
        late = await desk.contribute(contributed, SEATS[0].speaks(contributed.open_hash))
        await pass_by(desk, 3570)
        return late, await desk.get()

    late, ended = desk.run(scenario)
    assert ["window-over"] == [outcome.refused for outcome in late.outcomes]
    assert "expired" == ended.ended.reason


def test_another_run_begins_with_the_clock_as_it_is():
    """Nobody knows how long the daemon was away but the clock of the machine."""
    disk = MemoryDisk()
    before = HandDesk(ledger=MemoryLedger(disk))
    before.run(before.open)
    before.table.ledger.close()
    after = HandDesk(ledger=MemoryLedger(disk))
    after.table.clock.now_ns = before.table.clock.now_ns
    after.table.clock.set_by_ns = HOUR

    async def scenario():
        await pass_by(after, 0)
        return await after.get()

    assert "expired" == after.run(scenario).ended.reason


def test_the_time_is_kept_of_hands_that_go_on_and_of_no_other():
    """A daemon that runs for months does not grow by it."""
    desk = HandDesk()

    async def scenario():
        for number in range(5):
            await desk.open(f"h-{number}")
            await desk.close(f"h-{number}")
            ended = (await desk.get(f"h-{number}")).opened
            await desk.contribute(ended, SEATS[0].speaks(bytes(32)), hand=f"h-{number}")
        await desk.open("live")

    desk.run(scenario)
    assert 1 == len(desk.hands._clock)


def test_the_time_of_a_hand_that_ended_unseen_is_forgotten():
    """Nobody was told of the commit that ended it; whoever asks next finds it so."""
    ledger = FaultyLedger(MemoryLedger())
    desk = HandDesk(ledger=ledger)

    async def scenario():
        await desk.open()
        ledger.fail_but_written = 1
        with pytest.raises(LedgerUnavailableError):
            await desk.void()
        desk.table.clock.advance(2)
        await settle()
        assert 1 == len(desk.hands._clock)
        await desk.void()

    desk.run(scenario)
    assert 0 == len(desk.hands._clock)


def test_a_time_is_whole_milliseconds_and_comes_back():
    """Receipts say no less, and the moment at which it is due is that of the monotonic clock."""
    hand, _ = opened()
    clock = HandClock(clock_ns=lambda: 5 * SECOND + 1, wall_ns=lambda: 9 * SECOND + MS + 7)
    assert 9 * SECOND + MS == clock.now_ns(hand) == clock.stamp_ns()
    assert 5 * SECOND + 1 + 3 * MS - 7 == clock.monotonic_ns(hand, 9 * SECOND + 4 * MS)
