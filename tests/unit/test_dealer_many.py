"""The dealer asked for many hands: all or none in a batch, each for itself in a stream."""

import asyncio

import pytest

from entropyd.draw.cards import Deck
from entropyd.entropy.policy import UserShortfall
from entropyd.entropy.source_state import SourceState
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HandSpentError,
    LedgerUnavailableError,
    NotInstantiatedError,
    OverloadError,
    RequestError,
    ShuttingDownError,
    WrongNodeError,
)
from entropyd.hands.whole_deck import open_deck
from entropyd.runtime.drawer import HANDS_A_PART
from entropyd.runtime.orders import Dealt
from entropyd.runtime.served_tables import ServedTables
from entropyd.v1 import types_pb2
from tests.fakes.dealing import MINE, SECOND, SEED_SAMPLES, THEIRS, Table, order_for
from tests.fakes.ledger import FaultyLedger, MemoryLedger
from tests.fakes.manual_time import START_NS, play, settle


def orders(*hands, **settings):
    return [order_for(hand, **settings) for hand in hands]


def batch(table, *hands, seconds=60, **settings):
    """Return a call for a batch."""
    answer_by_ns = table.clock() + round(seconds * SECOND)
    return table.dealer.deal_batch(orders(*hands, **settings), answer_by_ns=answer_by_ns)


def hands_of(dealt):
    return [(one.record.draft.hand, one.replayed) for one in dealt]


async def ends(call) -> EntropydError:
    with pytest.raises(EntropydError) as caught:
        await call
    return caught.value


class Ear:
    """Hears what becomes of hands, and when."""

    def __init__(self, table):
        self.table = table
        self.told = {}
        self.turns = []
        self.asked = table.dealer.ask_each(self.tell)

    def ask(self, *hands, seconds=60, **settings):
        answer_by_ns = self.table.clock() + round(seconds * SECOND)
        self.asked.ask(orders(*hands, **settings), answer_by_ns=answer_by_ns)

    def hang_up(self):
        self.asked.hang_up()

    def tell(self, order, answer):
        self.told.setdefault(order.hand, []).append(answer)
        self.turns.append(self.table.clock())

    def one(self, hand):
        [answer] = self.told[hand]
        return answer


# --- a batch ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 40])
def test_a_batch_is_drawn_and_recorded_as_one(count):
    """Its hands in order, one submission, and a seed more than hands spent."""
    table = Table()
    names = [f"h{number}" for number in range(count)]

    async def scenario():
        table.feed(seeds=count + 1)
        return await batch(table, *names)

    dealt = play(table.clock, scenario)
    assert [(name, False) for name in names] == hands_of(dealt)
    assert list(range(1, count + 1)) == [one.record.sequence for one in dealt]
    assert 0 == table.level
    assert {"recorded": count} == table.observer.draws
    assert (0, 0) == (table.dealer.waiters, table.dealer.in_flight)
    for name in names:
        check_opening(table.ledger.find("room", name, with_secrets=True), name)


def check_opening(record, hand):
    """The stored deck follows from the stored secrets, as of any hand."""
    draft, order = record.draft, order_for(hand)
    deck = open_deck(
        order.rules,
        order.binding,
        seeds=(draft.seeds,),
        blinding=draft.blinding,
        salt_key=draft.salt_key,
    )
    assert (deck.commitment, deck.deck_root, deck.encoded_items) == (
        draft.commitment,
        draft.deck_root,
        draft.items,
    )


def test_a_batch_says_what_its_hands_share():
    """Construction, number of hands, what the reseed was made of, and each hand's own samples."""
    table = Table()

    async def scenario():
        table.feed(seeds=3)
        return await batch(table, "h0", "h1")

    for one in play(table.clock, scenario):
        told = types_pb2.Provenance.FromString(one.record.draft.provenance)
        assert types_pb2.CONSTRUCTION_BATCH == told.construction
        assert (2, 1) == (told.batch_hands, told.seeds)
        own = [(source.source, source.samples) for source in told.sources]
        shared = [(source.source, source.samples) for source in told.shared_sources]
        assert [("quantis", 54), ("quantis", 42)] == own
        assert [("quantis", 54), ("quantis", 42), ("getrandom", 64)] == shared


def test_decks_of_a_batch_may_differ():
    table = Table()

    async def scenario():
        table.feed(seeds=4)
        mixed = [
            order_for("full"),
            order_for("short", deck=Deck("short36")),
            order_for("again"),
        ]
        return await table.dealer.deal_batch(mixed, answer_by_ns=table.clock() + SECOND)

    dealt = play(table.clock, scenario)
    assert [52, 36, 52] == [one.record.draft.size for one in dealt]


def test_a_long_batch_is_drawn_in_parts_and_recorded_in_one():
    """The loop goes on between the parts; nothing is handed over before the last."""
    table = Table(max_waiters=1000)
    count = 2 * HANDS_A_PART + 1

    async def scenario():
        table.feed(seeds=count + 1)
        call = asyncio.create_task(batch(table, *(f"h{number}" for number in range(count))))
        handed_over = []
        while not call.done():
            handed_over.append(len(table.writer.submitted))
            await asyncio.sleep(0)
        return handed_over, await call

    handed_over, dealt = play(table.clock, scenario)
    assert {0, count} == set(handed_over)
    assert handed_over.count(0) >= 3
    assert count == len(dealt)


def test_hands_that_were_drawn_are_returned_and_the_others_drawn():
    """The same batch again, in another order and with one hand more."""
    table = Table()

    async def scenario():
        table.feed(seeds=3)
        first = await batch(table, "h0", "h1")
        table.feed(seeds=2)
        second = await batch(table, "h2", "h1", "h0")
        table.stand(state=SourceState.LOST)
        third = await batch(table, "h0", "h1", "h2")
        return first, second, third

    first, second, third = play(table.clock, scenario)
    assert [("h2", False), ("h1", True), ("h0", True)] == hands_of(second)
    assert [("h0", True), ("h1", True), ("h2", True)] == hands_of(third)
    assert [one.record for one in third] == [
        first[0].record,
        first[1].record,
        second[0].record,
    ]
    assert {"replayed": 5} == table.observer.calls


@pytest.mark.parametrize(
    "other",
    [{"claim": THEIRS}, {"table": "table-2"}, {"deck": Deck("short36")}],
    ids=["claim", "table", "deck"],
)
def test_one_hand_with_other_parameters_fails_the_batch_and_spends_nothing(other):
    table = Table()

    async def scenario():
        table.feed()
        await table.call("spent")
        table.feed(seeds=4)
        level = table.level
        mixed = [order_for("new-1"), order_for("spent", **other), order_for("new-2")]
        error = await ends(table.dealer.deal_batch(mixed, answer_by_ns=table.clock() + 60 * SECOND))
        assert level == table.level
        return error

    assert type(play(table.clock, scenario)) is HandSpentError
    assert 1 == table.ledger.count()
    assert 1 == len(table.writer.submitted)


def test_a_batch_waits_until_all_of_it_can_be_released():
    """One sample too few holds it, whatever waits; nothing of it is drawn before."""
    table = Table()

    async def scenario():
        table.dealer.fill_rate.add(10**9, table.clock())
        table.deliver(3 * SEED_SAMPLES - 1)
        call = asyncio.create_task(batch(table, "h0", "h1"))
        await settle()
        assert (2, []) == (table.dealer.waiters, table.writer.submitted)
        table.deliver(1)
        table.dealer.pump()
        return await call

    assert 2 == len(play(table.clock, scenario))


def test_a_batch_that_cannot_come_in_time_does_not_block_those_behind_it():
    """At a rate that gives it in a minute, a caller with a second is told at once."""
    table = Table()

    async def scenario():
        table.deliver(SEED_SAMPLES)
        error = await ends(batch(table, *(f"h{n}" for n in range(50)), seconds=1))
        return error, await table.call("single")

    error, single = play(table.clock, scenario)
    assert (EntropyHoldError, "HARDWARE_SHORT") == (type(error), error.why)
    assert not single.replayed
    assert START_NS == table.clock.now_ns


def test_a_batch_that_no_reservoir_can_hold_is_a_bad_request():
    table = Table(max_waiters=5000, reservoir_bytes=128 * 1024)

    async def scenario():
        most = 128 * 1024 // SEED_SAMPLES
        return await ends(batch(table, *(f"h{number}" for number in range(most))))

    error = play(table.clock, scenario)
    assert (RequestError, "hands") == (type(error), error.field)
    assert "gate.reservoir_bytes" in str(error)


def test_a_batch_out_of_time_leaves_nothing():
    table = Table(user_shortfall=UserShortfall.WAIT)

    async def scenario():
        table.deliver(10 * SEED_SAMPLES)
        return await ends(batch(table, "h0", "h1", seconds=2))

    error = play(table.clock, scenario)
    assert (EntropyHoldError, "USER_SHORT") == (type(error), error.why)
    assert START_NS + 2 * SECOND == table.clock.now_ns
    assert (0, 0, 0) == (table.dealer.waiters, table.dealer.in_flight, table.ledger.count())
    assert {"held": 1} == table.observer.calls


def test_a_batch_whose_caller_hangs_up_is_recorded_once_drawn():
    """And one that was not drawn is given up."""
    table = Table()

    async def scenario():
        table.dealer.fill_rate.add(10**9, table.clock())
        waiting = asyncio.create_task(batch(table, "w0", "w1"))
        await settle()
        waiting.cancel()
        await settle()
        table.feed(seeds=3)
        drawn = asyncio.create_task(batch(table, "h0", "h1"))
        await asyncio.sleep(0)
        drawn.cancel()
        await settle()

    play(table.clock, scenario)
    assert 2 == table.ledger.count()
    assert {"cancelled": 2} == table.observer.calls
    assert 0 == table.dealer.waiters


def test_the_same_hand_in_two_calls_is_drawn_once():
    """A single call follows the batch, a batch follows a single call and another batch."""
    table = Table()

    async def scenario():
        table.writer.held = True
        table.feed()
        single = asyncio.create_task(table.call("h0"))
        await settle()
        first = asyncio.create_task(batch(table, "h0", "h1"))
        await settle()
        table.feed(seeds=2)
        table.writer.commit_all()
        await settle()
        second = asyncio.create_task(batch(table, "h1", "h0"))
        follower = asyncio.create_task(table.call("h1"))
        await settle()
        table.writer.commit_all()
        return await asyncio.gather(single, first, second, follower)

    single, first, second, follower = play(table.clock, scenario)
    assert not single.replayed
    assert [("h0", True), ("h1", False)] == hands_of(first)
    assert [("h1", True), ("h0", True)] == hands_of(second)
    assert follower.replayed
    assert ["h0", "h1"] == [draft.hand for draft in table.writer.submitted]


@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_a_batch_that_is_not_confirmed_is_safe_to_ask_for_again(written):
    """All of it is there, or nothing; asked again, every hand has one deck."""
    ledger = FaultyLedger(MemoryLedger())
    table = Table(ledger=ledger)

    async def scenario():
        table.feed(seeds=3)
        ledger.fail_but_written, ledger.fail_not_written = int(written), int(not written)
        failed = await ends(batch(table, "h0", "h1"))
        assert (2 if written else 0) == ledger.count()
        await asyncio.sleep(2)
        table.feed(seeds=3)
        return failed, await batch(table, "h0", "h1")

    failed, dealt = play(table.clock, scenario)
    assert type(failed) is LedgerUnavailableError
    assert [written] * 2 == [one.replayed for one in dealt]
    assert 2 == ledger.count()


def test_a_batch_whose_draw_fails_ends_the_daemon():
    """Also in a later part: nothing of it was handed over, and nobody else is drawn for."""
    table = Table(max_waiters=1000)
    count = HANDS_A_PART + 1

    async def scenario():
        table.feed(seeds=count + 2)
        call = asyncio.create_task(batch(table, *(f"h{number}" for number in range(count))))
        await asyncio.sleep(0)
        table.writer.refusal = NotInstantiatedError("as if the ledger's writer had ended")
        return await ends(call), await ends(table.call("later"))

    failed, later = play(table.clock, scenario)
    assert [NotInstantiatedError, ShuttingDownError] == [type(failed), type(later)]
    assert [failed] == table.fatal
    assert 0 == table.ledger.count()


def test_a_batch_takes_as_many_places_as_it_has_hands():
    """A flood of batches is refused like a flood of hands; one batch always has room."""
    table = Table(max_waiters=10)

    async def scenario():
        table.dealer.fill_rate.add(10**9, table.clock())
        large = asyncio.create_task(batch(table, *(f"l{n}" for n in range(12))))
        await settle()
        errors = [await ends(batch(table, "h0", "h1")), await ends(table.call("single"))]
        large.cancel()
        await settle()
        small = asyncio.create_task(batch(table, *(f"s{n}" for n in range(9))))
        await settle()
        errors.append(await ends(batch(table, "h0", "h1")))
        small.cancel()
        await settle()
        return errors

    assert [OverloadError] * 3 == [type(error) for error in play(table.clock, scenario)]
    assert 0 == table.dealer.waiters


def test_a_batch_is_refused_whole_while_draining_or_for_another_node():
    table = Table()
    table.dealer._steps._tables = ServedTables(["table-1"])

    async def scenario():
        table.feed(seeds=3)
        mixed = [order_for("h0"), order_for("h1", table="table-2")]
        other = await ends(table.dealer.deal_batch(mixed, answer_by_ns=table.clock() + 60 * SECOND))
        table.dealer.drain()
        return other, await ends(batch(table, "h0", "h1"))

    other, draining = play(table.clock, scenario)
    assert [WrongNodeError, ShuttingDownError] == [type(other), type(draining)]
    assert [] == table.writer.submitted


# --- each for itself ------------------------------------------------------------------------


def test_hands_of_one_commit_are_told_in_one_turn():
    """Drawn together, recorded in one submission, told before anything else runs."""
    table = Table()
    ear = Ear(table)

    async def scenario():
        table.feed(seeds=3)
        ear.ask("h0", "h1", "h2")
        assert {} == ear.told
        for _ in range(10):
            await asyncio.sleep(0)
            assert len(ear.told) in {0, 3}
        assert {"h0", "h1", "h2"} == set(ear.told)

    play(table.clock, scenario)
    assert all(not ear.one(hand).replayed for hand in ear.told)
    assert {"recorded": 3} == table.observer.draws
    assert 0 == table.dealer.in_flight


def test_a_held_hand_blocks_none():
    """A shoe waits for its seeds; what came behind it in other messages is told at its time."""
    table = Table(tenants=2)
    shoe, other = Ear(table), Ear(table)

    async def scenario():
        shoe.ask("shoe", deck=Deck(decks=6), seconds=1)
        table.deliver(SEED_SAMPLES)
        other.ask("h0", seconds=5)
        await settle()
        assert ({}, {}) == (shoe.told, other.told)
        await asyncio.sleep(1.5)
        table.dealer.pump()
        await settle()

    play(table.clock, scenario)
    assert type(shoe.one("shoe")) is EntropyHoldError
    assert isinstance(other.one("h0"), Dealt)
    assert {"held": 1} == table.observer.calls


def test_each_hand_has_its_own_answer():
    """Replayed, spent, of another node, drawn, twice in one message: none minds the others."""
    table = Table()
    table.dealer._steps._tables = ServedTables(["table-1"])
    ear = Ear(table)

    async def scenario():
        table.feed(seeds=2)
        await asyncio.gather(table.call("old"), table.call("spent"))
        table.feed(seeds=2)
        mixed = [
            order_for("old"),
            order_for("spent", claim=THEIRS),
            order_for("elsewhere", table="table-2"),
            order_for("new"),
            order_for("twice"),
            order_for("twice"),
        ]
        ear.asked.ask(mixed, answer_by_ns=table.clock() + 60 * SECOND)
        await settle()

    play(table.clock, scenario)
    assert ear.one("old").replayed
    assert type(ear.one("spent")) is HandSpentError
    assert type(ear.one("elsewhere")) is WrongNodeError
    assert not ear.one("new").replayed
    assert [False, True] == sorted(one.replayed for one in ear.told["twice"])
    assert 4 == table.ledger.count()
    assert 0 == table.dealer.in_flight


def test_hands_that_wait_beyond_their_time_are_told_to_come_back():
    table = Table()
    ear = Ear(table)

    async def scenario():
        ear.ask("h0", "h1", seconds=2)
        await asyncio.sleep(3)
        table.feed(seeds=2)
        await settle()

    play(table.clock, scenario)
    assert [EntropyHoldError] * 2 == [type(ear.one(hand)) for hand in ("h0", "h1")]
    assert [START_NS + 2 * SECOND] * 2 == ear.turns
    assert [] == table.writer.submitted


def test_each_message_has_its_own_time():
    """Hands of three messages are told a second after each other; one of them was dealt."""
    table = Table()
    ear = Ear(table)

    async def scenario():
        for hand in ("h0", "h1", "h2"):
            ear.ask(hand, seconds=2)
            await asyncio.sleep(1)
        table.feed()
        await asyncio.sleep(5)

    play(table.clock, scenario)
    assert [EntropyHoldError, EntropyHoldError, Dealt] == [
        type(ear.one(hand)) for hand in ("h0", "h1", "h2")
    ]
    assert [2, 3, 3] == [(turn - START_NS) // SECOND for turn in ear.turns]


def test_a_drawn_hand_whose_commit_takes_too_long_is_told_so_once():
    """The record goes on, and a retry finds it."""
    table = Table()
    ear = Ear(table)

    async def scenario():
        table.writer.held = True
        table.feed()
        ear.ask("h0", seconds=1)
        await asyncio.sleep(2)
        table.writer.commit_all()
        await settle()
        return await table.call("h0")

    again = play(table.clock, scenario)
    assert type(ear.one("h0")) is LedgerUnavailableError
    assert again.replayed
    assert 0 == table.dealer.in_flight


def test_who_hangs_up_gives_up_what_waits_and_hears_nothing():
    """What was drawn is recorded all the same; whoever follows another's draw stops following."""
    table = Table()
    ear, follower = Ear(table), Ear(table)

    async def scenario():
        table.writer.held = True
        table.feed()
        ear.ask("drawn", "waits")
        follower.ask("drawn")
        await settle()
        assert 1 == table.dealer.waiters
        ear.hang_up()
        follower.hang_up()
        await settle()
        assert (0, 0) == (table.dealer.waiters, table.dealer.in_flight)
        table.writer.commit_all()
        table.feed()
        await settle()

    play(table.clock, scenario)
    assert ({}, {}) == (ear.told, follower.told)
    assert ["drawn"] == [draft.hand for draft in table.writer.submitted]
    assert {"cancelled": 3} == table.observer.calls


def test_a_full_queue_refuses_each_hand_that_has_no_room():
    table = Table(max_waiters=2)
    ear = Ear(table)

    async def scenario():
        ear.ask("h0", "h1", "h2")
        await settle()
        assert {"h2"} == set(ear.told)
        ear.hang_up()

    play(table.clock, scenario)
    assert type(ear.one("h2")) is OverloadError


def test_a_ledger_that_cannot_be_asked_tells_nobody():
    """The whole message fails: no hand of it was counted, waits or is told."""
    table = Table()
    ear = Ear(table)

    async def scenario():
        table.ledger.close()
        with pytest.raises(LedgerUnavailableError):
            ear.ask("h0", "h1", claim=MINE)

    play(table.clock, scenario)
    assert {} == ear.told
    assert (0, 0) == (table.dealer.waiters, table.dealer.in_flight)


def test_a_system_that_gives_less_than_was_asked_for_is_asked_for_the_rest():
    """getrandom(2) may be cut short by a signal when asked for more than 256 bytes."""
    table = Table()
    whole = table.os_random

    class CutShort:
        def __init__(self):
            self.given = []

        def __call__(self, length):
            self.given.append(whole(length)[:100])
            return self.given[-1]

    table.dealer._draws._drawer._os_random = cut = CutShort()

    async def scenario():
        table.feed(seeds=3)
        await asyncio.gather(*(table.call(f"h{number}") for number in range(3)))

    play(table.clock, scenario)
    assert 3 == table.ledger.count()
    assert 3 * 64 <= sum(map(len, cut.given))
