"""The dealer: find, wait, draw, record, answer, in this order whatever happens in between."""

import asyncio
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.draw.cards import Deck
from entropyd.entropy.gate import Hold, HoldReason
from entropyd.entropy.policy import UserShortfall
from entropyd.entropy.source_state import SourceState
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HandNotFoundError,
    HandSpentError,
    InternalError,
    LedgerUnavailableError,
    NotInstantiatedError,
    OverloadError,
    ShuttingDownError,
)
from entropyd.ledger.contract import AlreadySpent
from entropyd.log.receipt import Receipt
from entropyd.log.source_line import SourceClass
from entropyd.runtime.dealer import STALLED_S
from entropyd.runtime.draws import DRAWS_A_TURN
from entropyd.runtime.orders import Dealt, judge
from tests.fakes.dealing import (
    MINE,
    RETRY_S,
    SECOND,
    SEED_SAMPLES,
    THEIRS,
    Table,
    order_for,
)
from tests.fakes.ledger import FaultyLedger, MemoryLedger
from tests.fakes.manual_time import START_NS, play, settle

SHOE = Deck(decks=6)


def tasks(*calls):
    return [asyncio.create_task(call) for call in calls]


async def ends(task) -> EntropydError:
    """Return how a call was refused."""
    with pytest.raises(EntropydError) as caught:
        await task
    return caught.value


# --- find before wait -----------------------------------------------------------------


def test_a_hand_is_drawn_recorded_and_answered_from_the_record():
    table = Table()

    async def scenario():
        table.feed()
        return await table.call()

    dealt = play(table.clock, scenario)
    assert not dealt.replayed
    assert table.ledger.find("room", "hand-1") == dealt.record
    assert (b"", b"", b"") == (
        dealt.record.draft.seeds,
        dealt.record.draft.blinding,
        dealt.record.draft.salt_key,
    )
    [(seeds, wall_ns)] = table.described
    assert 1 == len(seeds)
    assert b"quantis-usb" in dealt.record.draft.provenance
    assert wall_ns == dealt.record.draft.drawn_at_ns == table.clock.wall_ns()
    assert 0 == table.level


def test_a_hand_has_its_receipt_in_the_log_and_says_where():
    table = Table(log="dc1")

    async def scenario():
        table.feed()
        return await table.call()

    record = play(table.clock, scenario).record
    receipt = Receipt.decode(table.ledger.log_entries(record.log_index, 1)[0].text)
    assert ("dc1", "room", "hand-1", record.sequence, record.open_hash, 52) == (
        receipt.log,
        receipt.tenant,
        receipt.hand,
        receipt.sequence,
        receipt.open_hash,
        receipt.dealt,
    )
    assert table.clock.wall_ns() // 10**6 == receipt.time_ms
    assert [SourceClass.HARDWARE, SourceClass.COVER, SourceClass.OS] == [
        line.source_class for line in receipt.sources
    ]


@pytest.mark.parametrize("shut", ["empty", "lost", "draining"])
def test_a_recorded_hand_is_answered_without_the_gate(shut):
    """During a hold and a drain too, at once, and nothing is spent."""
    table = Table()

    async def scenario():
        table.feed()
        first = await table.call()
        if shut == "lost":
            table.stand(state=SourceState.LOST)
        if shut == "draining":
            table.dealer.drain()
        return first, await table.call()

    first, again = play(table.clock, scenario)
    assert (first.record, True) == (again.record, again.replayed)
    assert START_NS == table.clock.now_ns
    assert 1 == len(table.writer.submitted)
    assert {"replayed": 1} == table.observer.calls
    assert {"recorded": 1} == table.observer.draws


@pytest.mark.parametrize(
    "other",
    [{"claim": THEIRS}, {"table": "table-2"}, {"deck": Deck(name="short36")}],
    ids=["claim", "table", "deck"],
)
def test_a_spent_hand_is_refused_to_another_claim_table_or_deck(other):
    """Nothing is drawn for it although the gate is open, and the stored hand is not told."""
    table = Table()

    async def scenario():
        table.feed(seeds=2)
        await table.call()
        return await ends(table.call(**other))

    refused = play(table.clock, scenario)
    assert type(refused) is HandSpentError
    assert 1 == len(table.writer.submitted)
    assert 6000 * SEED_SAMPLES == table.level
    assert {"refused": 1} == table.observer.calls


def test_find_never_draws():
    table = Table()
    table.deliver(SEED_SAMPLES)
    with pytest.raises(HandNotFoundError, match="'hand-1'"):
        table.dealer.find("room", "table-1", "hand-1")
    assert [] == table.writer.submitted


# --- one hand, many calls -------------------------------------------------------------


def test_calls_in_flight_for_one_hand_share_one_draw():
    """Ten calls with one claim: one draw, ten answers with the same record."""
    table = Table()

    async def scenario():
        calls = tasks(*(table.call() for _ in range(10)))
        await settle()
        table.feed(seeds=10)
        return await asyncio.gather(*calls)

    dealt = play(table.clock, scenario)
    assert 1 == len(table.writer.submitted)
    assert 1 == len({each.record for each in dealt})
    assert [False] + [True] * 9 == sorted(each.replayed for each in dealt)
    assert 9 * SEED_SAMPLES * 6000 == table.level


def test_another_claim_in_flight_is_refused_once_the_hand_is_recorded():
    """It is not refused before: the first caller may still give up."""
    table = Table()

    async def scenario():
        mine, theirs = tasks(table.call(), table.call(claim=THEIRS))
        await settle()
        assert not theirs.done()
        table.feed(seeds=2)
        return await mine, await ends(theirs)

    dealt, refused = play(table.clock, scenario)
    assert not dealt.replayed
    assert type(refused) is HandSpentError
    assert 1 == len(table.writer.submitted)


def test_who_follows_takes_over_when_the_first_caller_hangs_up():
    """The hand was not spent, so the other claim may have it."""
    table = Table()

    async def scenario():
        mine, theirs = tasks(table.call(), table.call(claim=THEIRS))
        await settle()
        mine.cancel()
        await settle()
        table.feed()
        return await theirs

    dealt = play(table.clock, scenario)
    assert not dealt.replayed
    assert order_for(claim=THEIRS).claim_digest == dealt.record.draft.claim_digest


def test_one_hand_holds_no_more_callers_than_a_tenants_share():
    """Who follows a draw is bounded as who waits for one, and other tenants are not touched."""
    table = Table(max_waiters=8, tenants=2)

    async def scenario():
        calls = tasks(*(table.call() for _ in range(6)))
        await settle()
        refused = await ends(calls[-1])
        elsewhere = tasks(*(table.call(tenant="other") for _ in range(5)))
        await settle()
        assert not any(call.done() for call in elsewhere)
        table.feed(seeds=2)
        table.feed(seeds=2)
        await asyncio.gather(*calls[:-1], *elsewhere)
        table.feed()
        await asyncio.gather(*(table.call() for _ in range(6)))
        return refused

    assert type(play(table.clock, scenario)) is OverloadError


# --- hanging up -----------------------------------------------------------------------


def test_who_hangs_up_while_waiting_leaves_nothing():
    """No waiter, no timer, no draw, and the hand is there for anybody."""
    table = Table()

    async def scenario():
        [call] = tasks(table.call())
        await settle()
        assert 1 == table.dealer.waiters
        call.cancel()
        await settle()
        assert call.cancelled()
        assert 0 == table.dealer.waiters == table.dealer.in_flight
        table.feed()
        assert [] == table.writer.submitted
        assert SEED_SAMPLES * 6000 == table.level
        assert [] == asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
        return await table.call(claim=THEIRS)

    assert not play(table.clock, scenario).replayed
    assert {"cancelled": 1} == table.observer.calls


def test_who_hangs_up_after_the_draw_does_not_stop_the_record():
    table = Table()

    async def scenario():
        table.writer.held = True
        table.feed()
        [call] = tasks(table.call())
        await settle()
        call.cancel()
        await settle()
        assert table.ledger.find("room", "hand-1") is None
        table.writer.commit_all()
        return await table.call()

    again = play(table.clock, scenario)
    assert again.replayed
    assert [again.record.draft.items] == [draft.items for draft in table.writer.submitted]


def test_a_commit_that_fails_for_nobody_troubles_nobody():
    """The caller is gone, the commit fails: no exception is left behind, the hand is unspent."""
    faulty = FaultyLedger(MemoryLedger())
    table = Table(ledger=faulty)

    async def scenario():
        faulty.fail_not_written = 1
        table.writer.held = True
        table.feed(seeds=2)
        [call] = tasks(table.call())
        await settle()
        call.cancel()
        await settle()
        table.writer.held = False
        table.writer.commit_all()
        await asyncio.sleep(RETRY_S)
        return await table.call()

    assert not play(table.clock, scenario).replayed


# --- time is over ---------------------------------------------------------------------


def test_a_waiter_is_answered_when_its_time_is_over_and_not_before():
    """To the nanosecond on a loop whose time only we move; nothing is spent, nobody waits."""
    table = Table()

    async def scenario():
        table.deliver(SEED_SAMPLES - 1)
        return await ends(table.call(seconds=3.25))

    held = play(table.clock, scenario)
    assert 3_250_000_000 == pytest.approx(table.clock.now_ns - START_NS, abs=1000)
    assert type(held) is EntropyHoldError
    assert HoldReason.HARDWARE_SHORT == held.why
    assert "570 of 570 bits" in str(held)
    assert "nothing was spent" in str(held)
    assert (0, 0) == (table.dealer.waiters, table.dealer.in_flight)
    assert (SEED_SAMPLES - 1) * 6000 == table.level
    assert {"held": 1} == table.observer.calls
    assert table.observer.lasted_s["held"] == pytest.approx(3.25, abs=1e-6)


@pytest.mark.parametrize(
    ("state", "why", "retry_s"),
    [
        (SourceState.LOST, HoldReason.SOURCE_LOST, 2.0),
        (SourceState.FAILED, HoldReason.SOURCE_FAILED, 5.0),
        (SourceState.STARTUP, HoldReason.SOURCE_STARTUP, 0.5),
        (SourceState.ASSESSING, HoldReason.SOURCE_ASSESSING, 0.5),
    ],
)
def test_a_hold_names_what_is_awaited_and_when_to_come_back(state, why, retry_s):
    """The hint is not from the fill rate: what came in lately tells nothing about a lost device."""
    table = Table()

    async def scenario():
        table.dealer.fill_rate.add(10**9, table.clock())
        table.stand(state=state, detail="the cable is out")
        return await ends(table.call(seconds=1))

    held = play(table.clock, scenario)
    assert (why, retry_s) == (held.why, held.retry_after_s)
    assert "'quantis'" in str(held)
    assert "the cable is out" in str(held)


def test_the_hint_of_a_short_reservoir_counts_everybody_who_waits():
    """Three waiters of 569 bits and the draw's own at 569 bits a second: four seconds."""
    table = Table()

    async def scenario():
        calls = tasks(*(table.call(f"h{n}", seconds=2 + n) for n in range(3)))
        await asyncio.sleep(1.5)
        table.dealer.fill_rate.add(5 * 569_000, table.clock())
        first = await ends(calls[0])
        for call in calls[1:]:
            call.cancel()
        await settle()
        return first

    assert 4.0 == play(table.clock, scenario).retry_after_s


def test_who_is_not_served_although_there_is_entropy_is_told_that_others_were():
    """Nobody pumps here, as if the loop had no time to: the gate would open, time is over."""
    table = Table()

    async def scenario():
        [call] = tasks(table.call(seconds=1))
        await settle()
        table.deliver(SEED_SAMPLES)
        return await ends(call)

    held = play(table.clock, scenario)
    assert "BUSY" == held.why
    assert "others were served first" in str(held)


def test_who_follows_is_told_what_the_draw_waits_for():
    """Its own time counts, not that of the call it follows."""
    table = Table()

    async def scenario():
        table.stand(state=SourceState.LOST)
        first, second = tasks(table.call(seconds=9), table.call(seconds=2))
        held = await ends(second)
        at_ns = table.clock.now_ns
        assert not first.done()
        await ends(first)
        return held, at_ns

    held, at_ns = play(table.clock, scenario)
    assert (HoldReason.SOURCE_LOST, 2.0) == (held.why, held.retry_after_s)
    assert 2 * SECOND == pytest.approx(at_ns - START_NS, abs=1000)


def test_a_disk_that_hangs_does_not_hold_its_callers_beyond_their_time():
    """Drawn and not confirmed: UNAVAILABLE at the time; the record lands, and a retry gets it."""
    table = Table()

    async def scenario():
        table.writer.held = True
        table.feed()
        first, follower = tasks(table.call(seconds=2), table.call(seconds=3))
        late = [await ends(first), await ends(follower)]
        at_ns = table.clock.now_ns
        [retry] = tasks(table.call(seconds=5))
        await settle()
        table.writer.commit_all()
        return late, at_ns, await retry

    late, at_ns, again = play(table.clock, scenario)
    assert [LedgerUnavailableError] * 2 == [type(error) for error in late]
    assert "nothing was shown" in str(late[0])
    assert 3 * SECOND == pytest.approx(at_ns - START_NS, abs=1000)
    assert again.replayed
    assert 1 == len(table.writer.submitted)


# --- the ledger fails, in pairs -------------------------------------------------------


def test_failed_and_not_written_the_retry_draws_anew():
    """The first deck is thrown away unseen; the second has the first number of its table."""
    faulty = FaultyLedger(MemoryLedger())
    table = Table(ledger=faulty)

    async def scenario():
        faulty.fail_not_written = 1
        table.feed(seeds=2)
        failed = await ends(table.call())
        await asyncio.sleep(RETRY_S)
        return failed, await table.call()

    failed, dealt = play(table.clock, scenario)
    assert type(failed) is LedgerUnavailableError
    thrown_away, kept = table.writer.submitted
    assert (False, 1) == (dealt.replayed, dealt.record.sequence)
    assert kept.items == dealt.record.draft.items
    assert thrown_away.items != kept.items
    assert {"unrecorded": 1} == table.observer.calls
    assert {"recorded": 1} == table.observer.draws


def test_failed_but_written_the_retry_gets_the_recorded_deck():
    faulty = FaultyLedger(MemoryLedger())
    table = Table(ledger=faulty)

    async def scenario():
        faulty.fail_but_written = 1
        table.feed(seeds=2)
        failed = await ends(table.call())
        await asyncio.sleep(RETRY_S)
        return failed, await table.call()

    failed, dealt = play(table.clock, scenario)
    assert type(failed) is LedgerUnavailableError
    [draft] = table.writer.submitted
    assert (True, draft.items) == (dealt.replayed, dealt.record.draft.items)
    assert SEED_SAMPLES * 6000 == table.level


def test_who_follows_a_draw_that_was_written_although_it_failed_gets_it():
    """The follower looks the hand up before anything else."""
    faulty = FaultyLedger(MemoryLedger())
    table = Table(ledger=faulty)

    async def scenario():
        faulty.fail_but_written = 1
        first, follower = tasks(table.call(), table.call())
        await settle()
        table.feed(seeds=2)
        return await ends(first), await follower

    failed, dealt = play(table.clock, scenario)
    assert type(failed) is LedgerUnavailableError
    assert dealt.replayed
    assert table.ledger.find("room", "hand-1") == dealt.record


def test_who_follows_a_draw_that_was_not_written_is_not_drawn_for_by_a_ledger_that_fails():
    """It is told to ask again; once the ledger works, the retry is drawn for."""
    faulty = FaultyLedger(MemoryLedger())
    table = Table(ledger=faulty)

    async def scenario():
        faulty.fail_not_written = 1
        calls = tasks(table.call(), table.call())
        await settle()
        table.feed(seeds=2)
        failed = [await ends(call) for call in calls]
        spent = len(table.os_random.asked)
        await asyncio.sleep(RETRY_S)
        return failed, spent, await table.call()

    failed, spent, dealt = play(table.clock, scenario)
    assert [LedgerUnavailableError] * 2 == [type(error) for error in failed]
    assert (1, False) == (spent, dealt.replayed)


@pytest.mark.parametrize(("claim", "outcome"), [(MINE, "replayed"), (THEIRS, "refused")])
def test_a_hand_that_somebody_else_recorded_meanwhile_is_judged(claim, outcome):
    """The draft is thrown away unseen; the record decides, by its claim."""
    table = Table()

    async def scenario():
        table.writer.held = True
        table.feed()
        [call] = tasks(table.call(claim=claim))
        await settle()
        other = dataclasses.replace(
            table.writer.submitted[0],
            claim_digest=order_for(claim=MINE).claim_digest,
            items=table.writer.submitted[0].items[::-1],
        )
        table.ledger.commit([other])
        table.writer.commit_all()
        if claim == THEIRS:
            assert type(await ends(call)) is HandSpentError
        else:
            assert other.items == (await call).record.draft.items

    play(table.clock, scenario)
    assert {"spent": 1} == table.observer.draws
    assert {outcome: 1} == table.observer.calls


def test_a_record_of_other_parameters_is_refused_whatever_its_claim_digest_says():
    """The digest covers the parameters; the judgement does not lean on that."""
    table = Table()

    async def scenario():
        table.feed()
        return await table.call()

    record = play(table.clock, scenario).record
    other = order_for(table="table-2").binding
    with pytest.raises(HandSpentError):
        judge(record, other, record.draft.claim_digest)
    assert record == judge(record, record.draft.binding, record.draft.claim_digest)


def test_a_stored_claim_digest_of_another_length_is_a_damaged_ledger_and_no_replay():
    table = Table()

    async def scenario():
        table.feed()
        return await table.call()

    record = play(table.clock, scenario).record
    cut = dataclasses.replace(record, draft=dataclasses.replace(record.draft, claim_digest=b""))
    with pytest.raises(InternalError):
        judge(cut, record.draft.binding, order_for().claim_digest)


# --- what is drawn, and from what -----------------------------------------------------


def test_the_systems_generator_is_asked_for_64_bytes_a_seed():
    """Ten seeds for a shoe of six decks, and none again for the replay."""
    table = Table()

    async def scenario():
        table.feed(seeds=11)
        await table.call()
        await table.call("shoe", deck=SHOE)
        await table.call("shoe", deck=SHOE)

    play(table.clock, scenario)
    assert 10 == order_for(deck=SHOE).seeds
    assert [64, 64 * 10] == table.os_random.asked
    assert 11 == table.observer.seeds
    assert [1, 10] == [len(seeds) for seeds, _ in table.described]


def test_no_sample_enters_two_seeds():
    """What the gate released for twenty draws is all different and no more than came in."""
    table = Table()

    async def scenario():
        table.feed(seeds=20)
        await asyncio.gather(*(table.call(f"h{n}") for n in range(20)))

    play(table.clock, scenario)
    spent = [
        samples
        for seeds, _ in table.described
        for seed in seeds
        for _, samples in (*seed.hardware, *seed.cover)
    ]
    assert 20 * SEED_SAMPLES == sum(map(len, spent))
    assert len(spent) == len(set(spent))


def test_an_order_shows_no_claim():
    """Neither the claim nor its digest is in any text of an order."""
    order = order_for()
    assert order.claim_digest.hex() not in repr(order)
    assert repr(order.claim_digest) not in repr(order)


# --- turns ----------------------------------------------------------------------------


def test_a_turn_draws_128_hands_and_lets_the_loop_go_on():
    """Readers, commits and callers get their turn before the rest is drawn."""
    table = Table(max_waiters=300)

    async def scenario():
        calls = tasks(*(table.call(f"h{n}") for n in range(300)))
        await settle()
        table.writer.held = True
        drawn = []
        table.feed(seeds=300)
        for _ in range(3):
            drawn.append(len(table.writer.submitted))
            await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await settle()
        return drawn

    assert 128 == DRAWS_A_TURN
    assert [128, 256, 300] == play(table.clock, scenario)


def test_tenants_are_drawn_for_in_turn():
    """A tenant with a thousand calls delays another's by one draw."""
    table = Table(tenants=2)

    async def scenario():
        calls = [table.call(f"a{n}", tenant="acme") for n in range(4)]
        calls += [table.call(f"g{n}", tenant="globex") for n in range(2)]
        running = tasks(*calls)
        await settle()
        table.feed(seeds=6)
        await asyncio.gather(*running)

    play(table.clock, scenario)
    assert ["a0", "g0", "a1", "g1", "a2", "a3"] == [draft.hand for draft in table.writer.submitted]


def test_a_draw_of_many_seeds_is_not_overtaken_for_ever():
    """While a shoe gathers its ten seeds nobody behind it takes from them."""
    table = Table(tenants=2)

    async def scenario():
        shoe, small = tasks(table.call("shoe", deck=SHOE), table.call("small", tenant="globex"))
        await settle()
        for _ in range(10):
            assert [] == table.writer.submitted
            table.feed()
        table.feed()
        await asyncio.gather(shoe, small)

    play(table.clock, scenario)
    assert ["shoe", "small"] == [draft.hand for draft in table.writer.submitted]


def test_a_tenant_that_waits_for_its_users_holds_up_nobody_else():
    """`user_shortfall = wait`: acme's users gave nothing, globex's gave enough."""
    table = Table(tenants=2, user_shortfall=UserShortfall.WAIT)

    async def scenario():
        acme, globex = tasks(table.call("a", tenant="acme"), table.call("g", tenant="globex"))
        await settle()
        table.feed(seeds=2)
        assert [] == table.writer.submitted
        for number, user in enumerate(("ann", "bob", "cy", "dee")):
            blob = bytes((n + number) % 256 for n in range(200))
            table.gate.add_user_blob("globex", user, blob, table.clock())
        table.dealer.pump()
        dealt = await globex
        return dealt, await ends(acme)

    dealt, held = play(table.clock, scenario)
    assert "g" == dealt.record.draft.hand
    assert HoldReason.USER_SHORT == held.why


# --- bounds ---------------------------------------------------------------------------


def test_a_full_queue_refuses_at_once_and_spends_nothing():
    """4,096 waiters: the next is refused without time going on, and they are served in order."""
    table = Table(max_waiters=4096)

    async def scenario():
        calls = tasks(*(table.call(f"h{n}") for n in range(4096)))
        await settle()
        refused = await ends(table.call("one-more"))
        assert START_NS == table.clock.now_ns
        assert 4096 == table.dealer.waiters
        table.feed(seeds=3)
        await asyncio.gather(*calls[:3])
        dealt = await_room = tasks(table.call("one-more"))[0]
        await settle()
        assert not await_room.done()
        for call in [*calls[3:], dealt]:
            call.cancel()
        await settle()
        return refused

    refused = play(table.clock, scenario)
    assert type(refused) is OverloadError
    assert 5.0 == refused.retry_after_s
    assert "'room'" in str(refused)
    assert ["h0", "h1", "h2"] == [draft.hand for draft in table.writer.submitted]
    assert 1 == table.observer.calls["overloaded"]


def test_a_tenant_fills_its_share_and_not_that_of_the_others():
    table = Table(max_waiters=4, tenants=2)

    async def scenario():
        calls = tasks(*(table.call(f"a{n}", tenant="acme") for n in range(2)))
        await settle()
        refused = await ends(table.call("a2", tenant="acme"))
        calls += tasks(*(table.call(f"g{n}", tenant="globex") for n in range(2)))
        await settle()
        assert 4 == table.dealer.waiters
        for call in calls:
            call.cancel()
        await settle()
        return refused

    assert "'acme' may have 2" in str(play(table.clock, scenario))


# --- when a draw fails ----------------------------------------------------------------


def broken(table: Table, how: str) -> None:
    if how == "generator":
        table.construction.enter_error_state()
    elif how == "defect":
        table.os_random.error = OSError("getrandom: no such luck")
    elif how == "writer":
        table.writer.refusal = ShuttingDownError("the ledger writer has stopped")


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("generator", NotInstantiatedError),
        ("defect", InternalError),
        ("writer", ShuttingDownError),
    ],
)
def test_a_draw_that_fails_ends_the_daemon_and_draws_no_more(how, told):
    """Nothing is recorded, everybody is told at once, and nobody else is drawn for."""
    table = Table()

    async def scenario():
        calls = tasks(*(table.call(f"h{n}") for n in range(3)))
        await settle()
        broken(table, how)
        table.feed()
        ended = [await ends(call) for call in calls]
        broken(table, "writer")
        table.feed(seeds=3)
        return ended, await ends(table.call("later"))

    ended, later = play(table.clock, scenario)
    assert [told, ShuttingDownError, ShuttingDownError] == [type(error) for error in ended]
    assert type(later) is ShuttingDownError
    assert [told] == [type(error) for error in table.fatal]
    assert [] == table.writer.submitted
    assert 0 == table.ledger.count()
    assert (0, 0) == (table.dealer.waiters, table.dealer.in_flight)
    assert START_NS == table.clock.now_ns


def test_hands_that_are_drawn_in_one_turn_fail_together():
    """None of them is handed over: nobody can say which of the seeds are good."""
    table = Table()

    async def scenario():
        calls = tasks(*(table.call(f"h{n}") for n in range(3)))
        await settle()
        table.construction.enter_error_state()
        table.feed(seeds=2)
        return [await ends(call) for call in calls]

    ended = play(table.clock, scenario)
    told = [NotInstantiatedError, NotInstantiatedError, ShuttingDownError]
    assert told == [type(error) for error in ended]
    assert [NotInstantiatedError] == [type(error) for error in table.fatal]
    assert [] == table.writer.submitted


def test_a_defect_keeps_its_cause_for_the_log_and_out_of_the_text():
    table = Table()

    async def scenario():
        table.os_random.error = OSError("seed 00ff")
        table.feed()
        return await ends(table.call())

    error = play(table.clock, scenario)
    assert "OSError" in str(error)
    assert "00ff" not in str(error)
    assert table.os_random.error is error.__cause__


def test_a_draw_that_fails_leaves_what_is_on_its_way_to_the_ledger():
    """The hand before it was drawn rightly: it is recorded and answered."""
    table = Table()

    async def scenario():
        table.writer.held = True
        good, bad = tasks(table.call("good"), table.call("bad"))
        await settle()
        table.feed()
        table.construction.enter_error_state()
        table.feed()
        failed = await ends(bad)
        table.writer.commit_all()
        return await good, failed

    dealt, failed = play(table.clock, scenario)
    assert "good" == dealt.record.draft.hand
    assert type(failed) is NotInstantiatedError


# --- stopping -------------------------------------------------------------------------


def test_draining_takes_no_new_draws_and_serves_those_that_wait():
    table = Table()

    async def scenario():
        [waiting] = tasks(table.call("early"))
        await settle()
        table.dealer.drain()
        late = await ends(table.call("late"))
        table.feed()
        return await waiting, late

    dealt, late = play(table.clock, scenario)
    assert "early" == dealt.record.draft.hand
    assert type(late) is ShuttingDownError
    assert {"held": 1} == table.observer.calls


def test_waiters_that_are_dismissed_are_told_and_spend_nothing():
    table = Table()

    async def scenario():
        calls = tasks(*(table.call(f"h{n}") for n in range(3)))
        await settle()
        table.dealer.drain()
        table.dealer.dismiss_waiters()
        table.feed(seeds=3)
        return [await ends(call) for call in calls]

    assert [ShuttingDownError] * 3 == [type(error) for error in play(table.clock, scenario)]
    assert [] == table.writer.submitted


def test_idle_is_when_the_last_call_was_answered():
    """Waiting for it ends then, or at its limit."""
    table = Table()

    async def scenario():
        await table.dealer.wait_until_idle(5)
        assert START_NS == table.clock.now_ns
        table.writer.held = True
        table.feed()
        [call] = tasks(table.call())
        await settle()
        await table.dealer.wait_until_idle(2)
        assert 2 * SECOND == pytest.approx(table.clock.now_ns - START_NS, abs=1000)
        [idle] = tasks(table.dealer.wait_until_idle(2))
        await settle()
        assert not idle.done()
        table.writer.commit_all()
        await idle
        assert call.done()
        assert 2 * SECOND == pytest.approx(table.clock.now_ns - START_NS, abs=1000)

    play(table.clock, scenario)


# --- whether dealing is possible ------------------------------------------------------


def why(hold: Hold | None) -> HoldReason:
    assert hold is not None
    return hold.why


def test_an_empty_reservoir_that_fills_is_load_and_one_that_does_not_is_a_hold():
    table = Table()
    assert HoldReason.HARDWARE_SHORT == why(table.dealer.hold("room"))
    table.dealer.fill_rate.add(6000, table.clock())
    assert table.dealer.hold("room") is None
    table.clock.advance(5)
    assert HoldReason.HARDWARE_SHORT == why(table.dealer.hold("room"))
    table.deliver(SEED_SAMPLES)
    assert table.dealer.hold("room") is None


def test_a_lost_source_is_a_hold_however_much_came_in_lately():
    table = Table()
    table.dealer.fill_rate.add(10**9, table.clock())
    table.stand(state=SourceState.LOST)
    assert HoldReason.SOURCE_LOST == why(table.dealer.hold("room"))


def test_a_commit_that_does_not_end_is_a_hold():
    """Nobody is answered while the disk hangs: a panel must not be green over it."""
    table = Table()
    table.deliver(SEED_SAMPLES)
    table.writer.stalled_s = STALLED_S - 0.1
    assert table.dealer.hold("room") is None
    table.writer.stalled_s = STALLED_S
    assert HoldReason.LEDGER_UNAVAILABLE == why(table.dealer.hold("room"))
    table.writer.stalled_s = 0.0
    assert table.dealer.hold("room") is None


def test_dealing_is_possible_while_one_tenant_could_be_dealt_to():
    table = Table(tenants=2, user_shortfall=UserShortfall.WAIT)
    table.deliver(SEED_SAMPLES)
    assert HoldReason.USER_SHORT == why(table.dealer.hold_for_any(["acme", "globex"]))
    for number, user in enumerate(("ann", "bob", "cy", "dee")):
        blob = bytes((n + number) % 256 for n in range(200))
        table.gate.add_user_blob("globex", user, blob, table.clock())
    assert table.dealer.hold_for_any(["acme", "globex"]) is None
    assert HoldReason.USER_SHORT == why(table.dealer.hold("acme"))


# --- whatever happens -----------------------------------------------------------------


class World:
    """A table, its faults and everybody who ever called."""

    def __init__(self) -> None:
        self.faulty = FaultyLedger(MemoryLedger())
        self.table = Table(ledger=self.faulty)
        self.calls: list[tuple[str, bytes, asyncio.Task[Dealt]]] = []

    def happen(self, what, *arguments):
        getattr(self, what.replace(" ", "_"), lambda *_: None)(*arguments)

    def call(self, hand, claim, seconds):
        [call] = tasks(self.table.call(hand, claim=claim, seconds=seconds))
        self.calls.append((hand, claim, call))

    def feed(self, seeds):
        self.table.feed(seeds)

    def hang_up(self, which):
        if which < len(self.calls):
            self.calls[which][2].cancel()

    def hold_commits(self, held):
        self.table.writer.held = held
        if not held:
            self.table.writer.commit_all()

    def fail(self, how):
        setattr(self.faulty, how, 1)

    def source(self, state):
        self.table.stand(state=state)


hands = st.sampled_from(("h1", "h2", "h3"))
claims = st.sampled_from((MINE, THEIRS))
happenings = st.lists(
    st.one_of(
        st.tuples(st.just("call"), hands, claims, st.floats(0.01, 2)),
        st.tuples(st.just("feed"), st.integers(1, 2)),
        st.tuples(st.just("hang up"), st.integers(0, 20)),
        st.tuples(st.just("hold commits"), st.booleans()),
        st.tuples(st.just("fail"), st.sampled_from(("fail_not_written", "fail_but_written"))),
        st.tuples(st.just("time"), st.floats(0.01, 1)),
        st.tuples(st.just("source"), st.sampled_from((SourceState.LOST, SourceState.HEALTHY))),
    ),
    max_size=25,
)


@given(happenings)
@settings(max_examples=30, deadline=None)
def test_one_hand_one_deck_whatever_happens(script):
    """No order of calls, faults, hang-ups and delays shows two decks of a hand."""
    world = World()
    table = world.table

    async def scenario():
        for what, *arguments in script:
            world.happen(what, *arguments)
            await (asyncio.sleep(arguments[0]) if what == "time" else settle())
        world.happen("hold commits", False)
        return await asyncio.gather(*(call for _, _, call in world.calls), return_exceptions=True)

    answers = play(table.clock, scenario)
    for (hand, claim, _), answer in zip(world.calls, answers, strict=True):
        if isinstance(answer, BaseException):
            assert isinstance(answer, EntropydError | asyncio.CancelledError), answer
        else:
            assert table.ledger.find("room", hand) == answer.record
            assert order_for(hand, claim=claim).claim_digest == answer.record.draft.claim_digest
    assert [] == table.fatal
    assert (0, 0) == (table.dealer.waiters, table.dealer.in_flight)
    released = sum(len(seeds) for seeds, _ in table.described)
    assert released == len(table.writer.submitted) >= table.ledger.count()
    fed = sum(arguments[0] for what, *arguments in script if what == "feed")
    assert released <= fed


def test_the_writers_outcome_is_what_a_commit_gave():
    """The fake writer itself: its outcomes come from a ledger and from nowhere else."""
    table = Table()

    async def scenario():
        table.feed()
        await table.call()
        [outcome] = await table.writer.submit(table.writer.submitted[:1])
        return outcome

    assert isinstance(play(table.clock, scenario), AlreadySpent)
