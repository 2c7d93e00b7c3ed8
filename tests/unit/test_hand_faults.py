"""Hands under faults: at every durable step, in every order of calls, and after a restart.

A commit fails in two ways: nothing was written, or all of it was and nobody was
told. Whoever asks again must find one hand, one step for each call, one answer.
"""

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest

from entropyd.errors import (
    EntropydError,
    LedgerUnavailableError,
    NotDealtError,
    PlaceDealtError,
    WrongPlaceError,
    WrongStateError,
)
from entropyd.ledger.subjects import SubjectKind
from entropyd.log.events import Event
from entropyd.log.receipt import Receipt
from entropyd.v1 import hand_service_pb2 as pb
from tests.fakes.hand_desk import HandDesk, Player, deal_request, key
from tests.fakes.ledger import FaultyLedger, MemoryDisk, MemoryLedger
from tests.fakes.manual_time import settle

ANN, BOB = Player("seat-1"), Player("seat-2", keyed=True)
# Of a hand with sealed contributions: one record each.
DURABLE = ("open", "seals", "rolls", "opens", "seals the hand", "hole cards", "flop", "close")
OPEN_HASH = "open hash"


async def take(desk, step, known):
    """Take one durable step; what is learned goes into `known`."""
    if step == "open":
        answer = await desk.open(players=(ANN, BOB), sealed=True)
        known[OPEN_HASH] = answer.hand.opened
        return answer.hand.opened
    opened = known[OPEN_HASH]
    match step:
        case "seals":
            return (await desk.contribute(opened, ANN.seals(opened.open_hash))).outcomes
        case "rolls":
            return (await desk.contribute(opened, BOB.seals(opened.open_hash))).outcomes
        case "opens":
            return (await desk.contribute(opened, ANN.opens())).outcomes
        case "seals the hand":
            return (await desk.contribute(opened, BOB.opens())).outcomes
        case "hole cards":
            return (await desk.deal(0, ("seat-1", 2), ("seat-2", 2))).cards
        case "flop":
            return (await desk.deal(4, ("burn", 1), ("board", 3))).cards
        case _:
            return (await desk.close()).hand


@pytest.mark.parametrize("written", [False, True], ids=["not written", "written"])
@pytest.mark.parametrize("faulty", DURABLE)
def test_a_fault_at_every_durable_step(faulty, written):
    """The retry finds the step or makes it; the hand has each of its steps once."""
    disk = MemoryDisk()
    ledger = FaultyLedger(MemoryLedger(disk))
    desk = HandDesk(ledger=ledger)

    async def scenario():
        known: dict[str, Any] = {}
        answers = []
        for step in DURABLE:
            if step == faulty:
                ledger.fail_but_written, ledger.fail_not_written = int(written), int(not written)
                with pytest.raises(LedgerUnavailableError):
                    await take(desk, step, known)
                desk.table.clock.advance(2)
                await settle()
            answers.append(await take(desk, step, known))
        again = [await take(desk, step, known) for step in DURABLE]
        assert answers == again
        return await desk.get()

    hand = desk.run(scenario)
    assert pb.HAND_STATE_CLOSED == hand.state
    steps = ledger.steps(SubjectKind.HAND, "room", "h-1", 0, 100)
    assert len(DURABLE) == len(steps)
    events = [Receipt.decode(entry.text).event for entry in disk.log]
    assert [Event.OPEN, Event.ROLL, Event.SEAL, Event.CLOSE] == events
    # The table's counts are right again: there is room for two further hands, one of them dealt.
    desk.run(lambda: room_for_two(desk))


async def room_for_two(desk):
    await desk.open("h-8")
    await desk.open("h-9")
    await desk.deal(0, ("seat-1", 1), hand="h-8")


# --- every order of calls, with a fault anywhere ----------------------------------------


@dataclass
class Model:
    """What should be true of a hand without contributions, written as plainly as it can be."""

    state: str = "sealed"
    runs: list[tuple[int, str]] = field(default_factory=list)

    def expect(self, call):
        """Return what a call is answered with, and make its step."""
        what, *rest = call
        match what:
            case "deal":
                return self._deal(*rest)
            case "show":
                return None if self.runs or self.state == "closed" else NotDealtError
            case "reveal":
                return None if self.state == "closed" else WrongStateError
        if self.state == what:
            return None
        if self.state != "sealed":
            return WrongStateError
        self.state = what
        return None

    def _deal(self, place, whose):
        if place < len(self.runs):
            return None if self.runs[place] == (place, whose) else PlaceDealtError
        if place > len(self.runs):
            return WrongPlaceError
        if self.state != "sealed":
            return WrongStateError
        self.runs.append((place, whose))
        return None


CALLS = (
    ("deal", 0, "server"),
    ("deal", 0, "thief"),
    ("deal", 1, "server"),
    ("show",),
    ("closed",),
    ("void",),
    ("reveal",),
)
FAULTS = (None, "not written", "written")


async def make(desk, call):
    match call:
        case ("deal", place, whose):
            return await desk.ask("deal_cards", deal_request(place, ("seat-1", 1), whose=whose))
        case ("show",):
            return await desk.show(0)
        case ("closed",):
            return await desk.close()
        case ("void",):
            return await desk.void()
        case _:
            return await desk.ask("reveal_hand", pb.RevealHandRequest(key=key()))


async def outcome_of(desk, call):
    """Return the kind of a refusal, None for an answer."""
    try:
        await make(desk, call)
    except EntropydError as error:
        return type(error)
    return None


async def attempt(desk, ledger, model, call, fault):
    """Make a call, under a fault or not, and compare it with the model."""
    before = (model.state, list(model.runs))
    expected = model.expect(call)
    durable = (model.state, model.runs) != before
    if durable and fault is not None:
        ledger.fail_but_written = int(fault == "written")
        ledger.fail_not_written = int(fault == "not written")
        expected = LedgerUnavailableError
        if fault == "not written":
            model.state, model.runs = before
    assert expected is await outcome_of(desk, call), f"{call} after {before}, {fault}"
    if expected is LedgerUnavailableError:
        # The ledger is tried again after a second of the loop; the desk has a clock of its own.
        desk.table.clock.advance(2)
        await asyncio.sleep(1.1)


def orders():
    """Return orders of calls, each with where a fault is and which: all of two, all of three."""
    for calls in itertools.product(CALLS, repeat=2):
        for place, fault in itertools.product(range(2), FAULTS):
            yield calls, place, fault
    # A fault earlier than the last call, and what follows it, was among those of two.
    for calls in itertools.product(CALLS, repeat=3):
        for fault in FAULTS:
            yield calls, 2, fault


async def explore(calls, place, fault):
    """Go one way, and compare what is recorded with the model."""
    disk = MemoryDisk()
    ledger = FaultyLedger(MemoryLedger(disk))
    desk, model = HandDesk(1, ledger=ledger), Model()
    await desk.open(reveal_after_close=True)
    for number, call in enumerate(calls):
        await attempt(desk, ledger, model, call, fault if number == place else None)
    hand = await desk.get()
    assert f"HAND_STATE_{model.state.upper()}" == pb.HandState.Name(hand.state)
    assert len(model.runs) == hand.dealt
    events = [str(Receipt.decode(entry.text).event) for entry in disk.log]
    end = {"sealed": [], "closed": ["close"], "void": ["void"]}[model.state]
    assert ["open", "seal", *end] == events


def test_every_order_of_calls_with_a_fault_at_any_of_them(capsys):
    """Each is answered as the model says, and the record is the model's."""
    ways = list(orders())

    async def scenario():
        for calls, place, fault in ways:
            await explore(calls, place, fault)

    HandDesk(0).run(scenario)
    with capsys.disabled():
        print(f"\nhands: {len(ways)} orders of calls with faults, 0 departed from the model")
