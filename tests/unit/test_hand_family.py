"""A hand that is dealt from another's discards, and what either may show while somebody plays."""

import asyncio
from dataclasses import replace

import pytest

from entropyd.errors import (
    LedgerUnavailableError,
    NotDealtError,
    RevealForbiddenError,
    WrongStateError,
)
from entropyd.hands import snapshot
from entropyd.hands.deals import DealRun
from entropyd.hands.family import Family
from entropyd.hands.hand import MAX_CHILDREN, HandState
from entropyd.hands.rules import Contributions, Parent
from entropyd.v1 import hand_service_pb2 as pb
from tests.fakes.hand_desk import LIMITS, HandDesk, key
from tests.fakes.ledger import FaultyLedger, MemoryDisk, MemoryLedger
from tests.fakes.manual_time import settle
from tests.fakes.opened_hands import opened

ROOMY = replace(LIMITS, open=9, dealing=9)


async def refused(kind, call, match=None):
    with pytest.raises(kind, match=match) as told:
        await call
    return told.value


def reveal(desk, hand):
    return desk.ask("reveal_hand", pb.RevealHandRequest(key=key(hand)))


def child_of(hand="h-1", *places):
    return pb.Parent(hand=hand, places=places or (1, 3, 4, 7))


async def open_both(desk, *, parent_reveals=True, child_reveals=True):
    """Open a parent, deal ten cards of it, and a child of four; deal two, and burn one, of that."""
    await desk.open("h-1", reveal_after_close=parent_reveals)
    await desk.deal(0, ("seat-1", 5), ("seat-2", 4), ("burn", 1))
    await desk.open("h-2", parent=child_of(), reveal_after_close=child_reveals)
    await desk.deal(0, ("seat-1", 2), ("burn", 1), hand="h-2")


# --- a child, while its parent goes on --------------------------------------------------


def test_a_child_is_not_revealed_before_its_parent_is_closed():
    """Its seeds show who discarded what of a hand that somebody plays: the refusal names it."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await open_both(desk)
        await desk.close("h-2")
        await refused(WrongStateError, reveal(desk, "h-2"), "'h-1', which is SEALED; expected CLOS")
        await desk.close("h-1")
        return await reveal(desk, "h-2")

    assert desk.run(scenario).revealed.salt_key


@pytest.mark.parametrize("place", [2, 3])
def test_undealt_and_burned_places_of_a_child_wait_for_its_parent_too(place):
    """What was dealt to somebody is shown at any time, as of every hand."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await open_both(desk)
        assert 2 == len((await desk.show(0, 1, hand="h-2")).cards)
        await refused(NotDealtError, desk.show(place, hand="h-2"), "is SEALED")
        await desk.close("h-2")
        assert 2 == len((await desk.show(0, 1, hand="h-2")).cards)
        await refused(WrongStateError, desk.show(0, place, hand="h-2"), "'h-1', which is SEALED")
        await desk.close("h-1")
        return await desk.show(0, place, hand="h-2")

    assert [0, place] == [card.place for card in desk.run(scenario).cards]


def test_a_child_of_a_void_hand_shows_no_more_than_that_hand():
    """A void hand never shows what was not dealt; nor is its child revealed."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await open_both(desk)
        await desk.close("h-2")
        await desk.void("h-1")
        for call in (reveal(desk, "h-2"), desk.show(3, hand="h-2")):
            await refused(WrongStateError, call, "'h-1', which is VOID; expected CLOSED")

    desk.run(scenario)


def test_a_child_is_not_opened_to_be_revealed_where_its_parent_never_is():
    """FAILED_PRECONDITION, reason REVEAL_FORBIDDEN; the id is not spent, and no seed."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await refused(
            RevealForbiddenError,
            open_both(desk, parent_reveals=False),
            "'h-1', whose rules say reveal=never; leave `reveal_after_close` out",
        )
        assert desk.store.find("room", "h-2") is None
        assert () == desk.kept("h-1").children
        return await desk.open("h-2", parent=child_of())

    assert not desk.run(scenario).replayed


def test_a_grandchild_waits_for_all_that_its_cards_come_from():
    """The parent is closed, and the parent's parent is not."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await open_both(desk)
        grandchild = child_of("h-2", 0, 1, 2)
        await desk.open("h-3", parent=grandchild, reveal_after_close=True)
        await desk.close("h-3")
        await desk.close("h-2")
        await refused(WrongStateError, reveal(desk, "h-3"), "'h-1', which is SEALED")
        await desk.close("h-1")
        return await reveal(desk, "h-3")

    assert 12 == len(desk.run(scenario).revealed.items)


# --- a parent, while a child goes on ----------------------------------------------------


def test_a_parent_shows_nothing_that_a_child_is_dealt_from():
    """Its deck less what is seen is the child's: all wait, a grandchild among them."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await open_both(desk)
        await desk.open("h-3", parent=child_of("h-2", 0, 1))
        await desk.close("h-1")
        await desk.close("h-2")
        for hand in ("h-1", "h-2"):
            for call in (reveal(desk, hand), desk.show(3 if hand == "h-2" else 9, hand=hand)):
                await refused(WrongStateError, call, f"'h-3' is dealt from discards of .*{hand}")
        assert 1 == len((await desk.show(8)).cards)
        await desk.void("h-3")
        return [await reveal(desk, hand) for hand in ("h-1", "h-2")]

    assert 2 == len(desk.run(scenario))


def test_no_card_is_dealt_in_two_children():
    """The second is refused, open or closed the first may be; of a void one they are free again."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await open_both(desk)
        taken = child_of("h-1", 0, 7)
        await refused(WrongStateError, desk.open("h-3", parent=taken), "'h-2' is SEALED and has")
        await desk.open("h-4", parent=child_of("h-1", 0, 2))
        await desk.close("h-2")
        await refused(WrongStateError, desk.open("h-3", parent=taken), "'h-2' is CLOSED and has")
        await desk.void("h-4")
        return await desk.open("h-3", parent=child_of("h-1", 0, 2))

    assert not desk.run(scenario).replayed
    assert ("h-2", "h-4", "h-3") == desk.kept("h-1").children


def test_two_calls_at_the_same_time_deal_no_card_twice():
    """One opens its child, the other is told so."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await desk.open("h-1")
        await desk.deal(0, ("seat-1", 9))
        opening = [desk.open(hand, parent=child_of()) for hand in ("h-2", "h-3")]
        return await asyncio.gather(*opening, return_exceptions=True)

    first, second = desk.run(scenario)
    assert first.hand.opened.size == 4
    assert isinstance(second, WrongStateError)
    assert ("h-2",) == desk.kept("h-1").children


# --- a parent that ends, or a commit that fails, while a child is opened ----------------


@pytest.mark.parametrize("end", ["close", "void"])
def test_a_parent_does_not_end_while_a_child_of_it_waits_at_the_gate(end):
    """Its end comes after the opening: a child has a parent that was SEALED."""
    desk = HandDesk(1, limits=ROOMY)

    async def scenario():
        await desk.open("h-1")
        await desk.deal(0, ("seat-1", 9))
        opening = asyncio.ensure_future(desk.open("h-2", parent=child_of()))
        await settle()
        ending = asyncio.ensure_future(getattr(desk, end)("h-1"))
        await settle()
        assert (False, False) == (opening.done(), ending.done())
        assert HandState.SEALED == desk.kept("h-1").state
        desk.table.feed()
        await opening
        await ending

    desk.run(scenario)
    steps = [(step.name, step.step) for step in desk.table.writer.steps]
    assert [("h-2", "open"), ("h-1", "child")] == steps[-3:-1]
    assert "h-1" == steps[-1][0]


def test_a_child_that_was_given_up_lets_its_parent_go_on():
    """Its caller hung up at the gate: the parent has its turn back, and no child."""
    desk = HandDesk(1, limits=ROOMY)

    async def scenario():
        await desk.open("h-1")
        await desk.deal(0, ("seat-1", 9))
        opening = asyncio.ensure_future(desk.open("h-2", parent=child_of()))
        await settle()
        opening.cancel()
        await settle()
        return await desk.close("h-1")

    assert pb.HAND_STATE_CLOSED == desk.run(scenario).hand.state
    assert () == desk.kept("h-1").children


def test_a_parent_has_its_turn_until_the_child_is_recorded():
    """Its caller hung up after it was drawn: still no step is made of an old parent."""
    desk = HandDesk(limits=ROOMY)

    async def scenario():
        await desk.open("h-1")
        await desk.deal(0, ("seat-1", 9))
        desk.table.writer.held = True
        opening = asyncio.ensure_future(desk.open("h-2", parent=child_of()))
        await settle()
        opening.cancel()
        await settle()
        ending = asyncio.ensure_future(desk.close("h-1"))
        await settle()
        assert not ending.done()
        desk.table.writer.held = False
        desk.table.writer.commit_all()
        return await ending

    assert pb.HAND_STATE_CLOSED == desk.run(scenario).hand.state
    assert ("h-2",) == desk.kept("h-1").children


@pytest.mark.parametrize("written", [False, True])
def test_a_child_and_its_parents_note_of_it_are_one_commit(written):
    """After a commit that nobody confirmed there are both or neither; the retry makes it so."""
    ledger = FaultyLedger(MemoryLedger())
    desk = HandDesk(ledger=ledger, limits=ROOMY)

    async def scenario():
        await desk.open("h-1")
        await desk.deal(0, ("seat-1", 9))
        ledger.fail_but_written, ledger.fail_not_written = int(written), int(not written)
        await refused(LedgerUnavailableError, desk.open("h-2", parent=child_of()))
        desk.table.clock.advance(2)
        await settle()
        assert ("h-2",) * written == desk.kept("h-1").children
        return await desk.open("h-2", parent=child_of())

    assert written == desk.run(scenario).replayed
    assert ("h-2",) == desk.kept("h-1").children


def test_another_run_of_the_daemon_knows_the_family():
    """It is recorded, and not remembered."""
    disk = MemoryDisk()
    before = HandDesk(ledger=MemoryLedger(disk), limits=ROOMY)
    before.run(lambda: open_both(before))
    before.table.ledger.close()
    after = HandDesk(ledger=MemoryLedger(disk), limits=ROOMY)
    after.table.clock.now_ns = before.table.clock.now_ns

    async def scenario():
        await after.close("h-2")
        await refused(WrongStateError, reveal(after, "h-2"), "'h-1', which is SEALED")
        await after.close("h-1")
        await reveal(after, "h-2")

    after.run(scenario)


# --- by itself --------------------------------------------------------------------------


def dealt(size=9, **more):
    """Return a hand of which so many places were dealt."""
    hand, _ = opened(Contributions.NONE, **more)
    run = DealRun(0, ("seat-1",) * size, bytes(32))
    return replace(hand.after_window(0), runs=(run,))


def test_a_child_whose_parent_nobody_knows_shows_nothing_but_what_was_dealt():
    """A record that does not say whose discards it deals: unknown is not over."""
    child = dealt(2, parent=Parent(bytes(32), 4)).close()
    family = Family(child)
    family.require_shown([0, 1])
    with pytest.raises(WrongStateError, match="does not name"):
        family.require_shown([0, 2])


def test_a_hand_has_so_many_children_and_no_more():
    """As many as the places of the largest shoe make; void ones count."""
    hand = dealt()
    for number in range(MAX_CHILDREN):
        hand = hand.with_child(f"child-{number}")
    with pytest.raises(WrongStateError, match="has 216 hands"):
        hand.with_child("another")
    assert hand == snapshot.decode(snapshot.encode(hand))


@pytest.mark.parametrize("state", [HandState.CLOSED, HandState.VOID])
def test_an_ended_hand_has_no_further_child(state):
    """The state machine says so itself."""
    hand = dealt()
    ended = hand.close() if state is HandState.CLOSED else hand.void("misdeal")
    with pytest.raises(WrongStateError, match=f"is {state.upper()}; expected SEALED"):
        ended.with_child("child")
