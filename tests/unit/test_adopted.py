"""What goes on in a ledger that was adopted: nothing whose secret may have been used already.

The ledger ends before hands and rounds that were dealt from it. A hand that is open in it may have
been dealt to others, and a pair may have had the rounds that its next nonces would be.
"""

import asyncio

from entropyd.errors import WrongStateError
from entropyd.v1 import fair_service_pb2 as fpb
from entropyd.v1 import hand_service_pb2 as pb
from tests.fakes.dealing import SECOND
from tests.fakes.hand_desk import HandDesk
from tests.fakes.ledger import MemoryDisk, MemoryLedger
from tests.fakes.manual_time import settle
from tests.unit.test_fair_core import Desk, refused


def adopted_hands() -> HandDesk:
    """A desk over a ledger in which a hand is open and one is closed, from before."""
    disk = MemoryDisk()
    before = HandDesk(ledger=MemoryLedger(disk))

    async def scenario():
        await before.open("done")
        await before.close("done")
        await before.open("open")
        await before.deal(0, ("seat-1", 2), hand="open")

    before.run(scenario)
    begins = before.table.ledger.log_size()
    before.table.ledger.close()
    after = HandDesk(ledger=MemoryLedger(disk), log_begins=begins)
    after.table.clock.now_ns = before.table.clock.now_ns
    return after


def test_the_sweep_voids_a_hand_that_an_adoption_found_open():
    """In public, with the number of cards that are known to have been dealt; others stay."""
    desk = adopted_hands()

    async def scenario():
        desk.sweep.tick()
        await settle()
        await asyncio.sleep(0.1)
        await desk.open("new")
        desk.sweep.tick()
        await settle()
        return [await desk.get(name) for name in ("done", "open", "new")]

    done, found, new = desk.run(scenario)
    assert (pb.HAND_STATE_CLOSED, pb.HAND_STATE_VOID) == (done.state, found.state)
    assert ("adopted", 2) == (found.ended.reason, found.dealt)
    assert pb.HAND_STATE_SEALED == new.state
    assert ["adopted"] == desk.counted.voids


def test_nobody_is_dealt_from_such_a_hand_before_the_sweep_came_to_it():
    """The call that asks voids it."""
    desk = adopted_hands()

    async def scenario():
        await refused(WrongStateError, desk.deal(2, ("seat-2", 2), hand="open"), "VOID")
        return await desk.get("open")

    assert "adopted" == desk.run(scenario).ended.reason


def test_no_round_is_played_with_a_seed_of_before_the_adoption():
    """Both seeds that the ledger held are revealed: the second one may have been present too."""
    disk = MemoryDisk()
    before = Desk(ledger=MemoryLedger(disk))

    async def first_life():
        await before.begin()
        await before.play("r-1")
        await before.mines("dig")

    before.run(first_life)
    before.table.ledger.close()
    now_ns = before.table.clock.wall_ns()
    desk = Desk(ledger=MemoryLedger(disk), adopted_at_ns=now_ns + 1)
    desk.table.clock.now_ns = before.table.clock.now_ns + SECOND

    async def swept() -> int:
        return (await desk.sweep.reveal(["site"], desk.table.clock.wall_ns())).revealed

    async def scenario():
        assert (await desk.pair()).overdue
        await refused(WrongStateError, desk.play("r-2"), "pair 1 was made before the ledger")
        assert 1 == await swept()
        assert "expired" == (await desk.round("dig")).round.void_reason
        await desk.choose("again")
        await refused(WrongStateError, desk.play("r-2"), "pair 2 was made before the ledger")
        assert 1 == await swept()
        await desk.choose("again-2")
        played = (await desk.play("r-2")).round
        assert 0 == await swept()
        return played, (await desk.round("r-1")).round, await desk.pair()

    played, old, pair = desk.run(scenario)
    assert (3, 0) == (played.pair, played.nonce)
    assert fpb.ROUND_STATE_CLOSED == old.state
    assert not pair.overdue
