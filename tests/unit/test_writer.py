"""The group-commit writer, on asyncio's loop and on uvloop's, with ledgers that have opinions."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from entropyd.errors import (
    EntropydError,
    InternalError,
    LedgerDamagedError,
    LedgerUnavailableError,
    ShuttingDownError,
)
from entropyd.ledger.contract import (
    AlreadySpent,
    Event,
    EventKind,
    HandDraft,
    Ledger,
    Outcome,
    Recorded,
)
from entropyd.ledger.subjects import StepConflict, StepRecorded, StepTaken, SubjectKind
from entropyd.runtime import quiet_rule, writer
from entropyd.runtime.quiet_rule import MAX_BATCH_ROWS
from entropyd.runtime.writer import MAX_WAITING_NOTES, GroupCommitWriter
from tests.fakes.drafts import make_draft, record_of
from tests.fakes.ledger import FaultyLedger, GatedLedger, MemoryLedger
from tests.fakes.step_drafts import make_step

ALARM = Event(EventKind.HEALTH_ALARM, "quantis-1", "{}", 1)
RESET = Event(EventKind.HEALTH_RESET, "quantis-1", "{}", 2)


class Bench:
    """A started writer, and what it reported."""

    def __init__(self, ledger: Ledger, retry_s: float = 0.02) -> None:
        self.fatal: list[EntropydError] = []
        self.in_flight = 1
        self.writer = GroupCommitWriter(
            ledger, in_flight=lambda: self.in_flight, on_fatal=self.fatal.append, retry_s=retry_s
        )
        self.writer.start()

    def submit(self, draft: HandDraft) -> "asyncio.Future[Outcome]":
        """Hand over one draft by itself; the future is of its one outcome."""
        answer = self.writer.submit([draft])
        one: asyncio.Future[Outcome] = answer.get_loop().create_future()

        def passed_on(done: "asyncio.Future[list[Outcome]]") -> None:
            if one.done():
                return
            error = done.exception()
            if error is not None:
                one.set_exception(error)
            else:
                [outcome] = done.result()
                one.set_result(outcome)

        answer.add_done_callback(passed_on)
        return one


Scenario = Callable[[], Coroutine[Any, Any, None]]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def play(request) -> Callable[[Scenario], None]:
    """Run a scenario to its end on one of the two loops; it must leave no thread behind."""

    def run(scenario: Scenario) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(asyncio.wait_for(scenario(), 20))
        assert [] == [t.name for t in threading.enumerate() if t.name == "ledger-writer"]

    return run


async def until(condition: Callable[[], bool]) -> None:
    # What is waited for happens in the writer thread, which knows no asyncio.Event.
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


# --- recorded before shown -----------------------------------------------------------


def test_no_answer_before_the_commit_has_returned(play):
    """Kills the mutant `commit after answer`: while `Ledger.commit` runs, nobody is answered."""

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        answer = bench.submit(make_draft())
        order: list[int] = []
        answer.add_done_callback(lambda _: order.append(ledger.returned))
        await until(lambda: ledger.batches != [])
        await asyncio.sleep(0.05)
        assert not answer.done()
        assert ledger.find("room", "hand-1") is None
        ledger.let()
        outcome = await answer
        assert [1] == order
        assert isinstance(outcome, Recorded)
        assert outcome.record == ledger.find("room", "hand-1")
        await bench.writer.stop()

    play(scenario)


def test_an_answer_is_what_the_ledger_returned(play):
    """A spent hand's answer is the stored record, never the draft that was handed over."""

    async def scenario() -> None:
        ledger = MemoryLedger()
        ledger.commit([make_draft(attempt=1)])
        bench = Bench(ledger)
        outcome = await bench.submit(make_draft(attempt=2))
        assert isinstance(outcome, AlreadySpent)
        assert make_draft(attempt=1).items == record_of(outcome).draft.items
        await bench.writer.stop()

    play(scenario)


# --- batches -----------------------------------------------------------------------


def test_a_call_that_is_alone_is_committed_at_once(play):
    """It is in the thread's hands when `submit` returns: no timer, no turn of the loop."""

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        answer = bench.submit(make_draft())
        # The loop does not run while we sleep, so no timer can have helped.
        deadline = time.monotonic() + 5
        while not ledger.batches and time.monotonic() < deadline:
            time.sleep(0.001)  # noqa: ASYNC251 - on purpose
        assert 1 == len(ledger.batches)
        ledger.open_door()
        await answer
        await bench.writer.stop()

    play(scenario)


def test_a_burst_shares_one_commit(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        ledger.open_door()
        bench = Bench(ledger)
        bench.in_flight = 64
        answers = [bench.submit(make_draft(f"h{number}")) for number in range(64)]
        outcomes = await asyncio.gather(*answers)
        assert [64] == [len(batch) for batch in ledger.batches]
        assert list(range(1, 65)) == [record_of(outcome).sequence for outcome in outcomes]
        await bench.writer.stop()

    play(scenario)


def test_every_arrival_makes_the_batch_wait_anew(play, monkeypatch):
    """The quiet rule in slow motion, 0.2 s of quiet: calls 0.1 s apart share a commit."""
    monkeypatch.setattr(quiet_rule, "QUIET_NS", 200_000_000)
    monkeypatch.setattr(writer, "QUIET_NS", 200_000_000)
    monkeypatch.setattr(quiet_rule, "MAX_WAIT_NS", 10_000_000_000)

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        ledger.open_door()
        bench = Bench(ledger)
        bench.in_flight = 5
        answers = []
        for number in range(5):
            answers.append(bench.submit(make_draft(f"h{number}")))
            await asyncio.sleep(0.1)
        await asyncio.gather(*answers)
        assert [5] == [len(batch) for batch in ledger.batches]
        await bench.writer.stop()

    play(scenario)


def test_while_a_commit_runs_the_next_batch_gathers(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        answers = [bench.submit(make_draft("h0"))]
        await until(lambda: ledger.batches != [])
        bench.in_flight = 11
        for number in range(1, 11):
            answers.append(bench.submit(make_draft(f"h{number}")))
            await asyncio.sleep(0.002)
        assert 1 == len(ledger.batches)
        assert 10 == bench.writer.stats.queued
        ledger.open_door()
        await asyncio.gather(*answers)
        assert [1, 10] == [len(batch) for batch in ledger.batches]
        await bench.writer.stop()

    play(scenario)


def test_all_answers_of_a_commit_are_posted_in_one_call(play):
    """They are done in one turn of the loop: none is seen done while another is not."""

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        ledger.open_door()
        bench = Bench(ledger)
        bench.in_flight = 20
        answers = [bench.submit(make_draft(f"h{number}")) for number in range(20)]
        seen: list[int] = []
        answers[0].add_done_callback(lambda _: seen.append(sum(a.done() for a in answers)))
        await asyncio.gather(*answers)
        assert [20] == seen
        await bench.writer.stop()

    play(scenario)


def test_a_full_batch_does_not_wait_for_quiet(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        bench.in_flight = 2 * MAX_BATCH_ROWS
        answers = [bench.submit(make_draft(f"h{n}")) for n in range(MAX_BATCH_ROWS)]
        assert 0 == bench.writer.stats.queued
        ledger.open_door()
        await asyncio.gather(*answers)
        await bench.writer.stop()

    play(scenario)


def test_a_caller_that_went_away_spends_its_hand_and_hurts_nobody(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        bench.in_flight = 2
        gone, stays = (bench.submit(make_draft(hand)) for hand in ("h1", "h2"))
        gone.cancel()
        ledger.open_door()
        outcome = await stays
        assert 2 == record_of(outcome).sequence
        assert ledger.find("room", "h1") is not None
        await bench.writer.stop()

    play(scenario)


def test_drafts_that_were_drawn_together_are_one_commit(play):
    """Also beside others that wait, and although they are more than a batch ever gathers."""

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        bench.in_flight = 1000
        alone = bench.submit(make_draft("h"))
        drafts = [make_draft(f"h{number}") for number in range(MAX_BATCH_ROWS + 10)]
        together = bench.writer.submit(drafts)
        ledger.open_door()
        await alone
        outcomes = await together
        assert [1 + len(drafts)] == [len(batch) for batch in ledger.batches]
        assert [draft.hand for draft in drafts] == [record_of(o).draft.hand for o in outcomes]
        await bench.writer.stop()

    play(scenario)


def test_drafts_that_were_drawn_together_fail_together(play):
    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_not_written = 1
        bench = Bench(ledger)
        together = bench.writer.submit([make_draft("h1"), make_draft("h2")])
        with pytest.raises(LedgerUnavailableError):
            await together
        assert 0 == ledger.count()
        await bench.writer.stop()

    play(scenario)


def test_hands_and_steps_share_a_commit_and_each_caller_gets_its_own(play):
    """Mixed in the order in which they came; a conflict of one is nobody else's."""

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        bench.in_flight = 4
        hands = bench.writer.submit([make_draft("h1"), make_draft("h2")])
        steps = bench.writer.submit([make_step(expected=0), make_step(expected=1)])
        late = bench.writer.submit([make_step(expected=0, attempt=2)])
        hand = bench.submit(make_draft("h3"))
        ledger.open_door()
        assert [1, 2] == [record_of(o).sequence for o in await hands]
        assert [StepRecorded, StepRecorded] == [type(o) for o in await steps]
        assert [StepConflict(2)] == await late
        assert isinstance(await hand, Recorded)
        assert [6] == [len(batch) for batch in ledger.batches]
        await bench.writer.stop()

    play(scenario)


@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_a_step_of_an_unconfirmed_commit_is_told_and_found_by_a_look_up(play, written):
    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_but_written, ledger.fail_not_written = int(written), int(not written)
        bench = Bench(ledger)
        with pytest.raises(LedgerUnavailableError):
            await bench.writer.submit([make_step(expected=0, key="k")])
        found = ledger.step(SubjectKind.MATCH, "room", "match-1", "k")
        assert written == (found is not None)
        [outcome] = await bench.writer.submit([make_step(expected=0, key="k", attempt=2)])
        assert isinstance(outcome, StepTaken if written else StepRecorded)
        await bench.writer.stop()

    play(scenario)


# --- notes ------------------------------------------------------------------------


def test_notes_are_committed_without_any_draw(play):
    async def scenario() -> None:
        ledger = MemoryLedger()
        bench = Bench(ledger)
        bench.writer.note(ALARM)
        bench.writer.store_health("q1", "old")
        bench.writer.store_health("q1", "new")
        await until(lambda: bench.writer.stats.commits == 1)
        assert ([ALARM], {"q1": "new"}) == (ledger.events(), ledger.health_states())
        await bench.writer.stop()

    play(scenario)


def test_notes_of_a_failed_commit_are_offered_again_in_order(play):
    """Also when only a retry, and no draw, comes after it; a newer health state wins."""

    async def scenario() -> None:
        faulty = FaultyLedger(MemoryLedger())
        faulty.fail_not_written = 2
        ledger = GatedLedger(faulty)
        bench = Bench(ledger)
        bench.writer.note(ALARM)
        bench.writer.store_health("q1", "old")
        bench.writer.store_health("q2", "kept")
        await until(lambda: ledger.batches != [])
        bench.writer.note(RESET)
        bench.writer.store_health("q1", "new")
        ledger.open_door()
        await until(lambda: bench.writer.stats.commits == 1)
        assert [ALARM, RESET] == ledger.events()
        assert {"q1": "new", "q2": "kept"} == ledger.health_states()
        await bench.writer.stop()

    play(scenario)


def test_who_records_an_event_is_told_when_it_is_durable(play):
    """Not before its commit has returned; and no draft is needed."""

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        recorded = bench.writer.record(ALARM)
        await until(lambda: ledger.batches != [])
        await asyncio.sleep(0.01)
        assert not recorded.done()
        ledger.let()
        await recorded
        await bench.writer.stop()
        assert [ALARM] == list(ledger.events())

    play(scenario)


def test_who_records_an_event_is_told_that_the_ledger_failed(play):
    """The event is offered again all the same, as a note is."""

    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_not_written = 1
        bench = Bench(ledger)
        recorded = bench.writer.record(ALARM)
        with pytest.raises(LedgerUnavailableError):
            await recorded
        await until(lambda: [ALARM] == list(ledger.events()))
        await bench.writer.stop()

    play(scenario)


def test_an_event_that_waits_for_the_retry_is_not_told_as_durable_by_a_draw(play):
    """The draw's commit leaves the notes behind, and who waits for one of them with it."""

    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_not_written = 1
        bench = Bench(ledger, retry_s=0.2)
        with pytest.raises(LedgerUnavailableError):
            await bench.submit(make_draft("h-1"))
        recorded = bench.writer.record(ALARM)
        await bench.submit(make_draft("h-2"))
        assert (False, []) == (recorded.done(), list(ledger.events()))
        await recorded
        assert [ALARM] == list(ledger.events())
        await bench.writer.stop()

    play(scenario)


def test_events_that_find_no_room_or_no_writer_are_refused(play, monkeypatch):
    """Nobody waits for what will not be remembered; who waits at a stop is told of it."""
    monkeypatch.setattr(writer, "MAX_WAITING_NOTES", 1)

    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_not_written = 1
        bench = Bench(ledger, retry_s=20)
        with pytest.raises(LedgerUnavailableError):
            await bench.submit(make_draft("h-1"))
        waiting = bench.writer.record(ALARM)
        with pytest.raises(LedgerUnavailableError, match="not remembered"):
            bench.writer.record(RESET)
        await bench.writer.stop()
        with pytest.raises(ShuttingDownError):
            await waiting
        with pytest.raises(ShuttingDownError):
            bench.writer.record(RESET)

    play(scenario)


def test_notes_that_nobody_takes_are_bounded_and_counted(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        for _ in range(MAX_WAITING_NOTES + 3):
            bench.writer.note(ALARM)
        assert 3 == bench.writer.stats.notes_dropped
        ledger.open_door()
        await bench.writer.drain()
        assert MAX_WAITING_NOTES == len(ledger.events())
        await bench.writer.stop()

    play(scenario)


# --- failures ----------------------------------------------------------------------


@pytest.mark.parametrize("written", [False, True], ids=["not-written", "written"])
def test_an_unconfirmed_commit_answers_nobody_and_the_next_one_works(play, written):
    """Paired faults: every draw of the batch fails; after a look-up each hand has one deck."""

    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        bench = Bench(ledger)
        bench.in_flight = 2
        if written:
            ledger.fail_but_written = 1
        else:
            ledger.fail_not_written = 1
        answers = [bench.submit(make_draft(hand, attempt=1)) for hand in ("h1", "h2")]
        errors = await asyncio.gather(*answers, return_exceptions=True)
        assert [LedgerUnavailableError] * 2 == [type(error) for error in errors]
        assert errors[0] is not errors[1]
        for hand in ("h1", "h2"):
            assert written == (ledger.find("room", hand) is not None)
            outcome = await bench.submit(make_draft(hand, attempt=2))
            attempt = 1 if written else 2
            assert make_draft(hand, attempt=attempt).items == record_of(outcome).draft.items
        assert [] == bench.fatal
        await bench.writer.stop()

    play(scenario)


def test_a_ledger_that_failed_is_tried_again_although_nobody_draws(play):
    """While the ledger says no, readiness keeps draws away: the writer must ask by itself."""

    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_not_written = 3
        bench = Bench(ledger)
        with pytest.raises(LedgerUnavailableError):
            await bench.submit(make_draft())
        with pytest.raises(LedgerUnavailableError):
            ledger.probe()
        await until(lambda: bench.writer.stats.commits == 1)
        ledger.probe()
        assert (3, 0) == (bench.writer.stats.failures, bench.writer.stats.rows)
        await bench.writer.stop()

    play(scenario)


def test_draws_do_not_wait_for_the_retry(play):
    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_not_written = 1
        bench = Bench(ledger, retry_s=3600)
        bench.writer.note(ALARM)
        await until(lambda: bench.writer.stats.failures == 1)
        outcome = await bench.submit(make_draft())
        assert isinstance(outcome, Recorded)
        await bench.writer.drain()
        assert [ALARM] == ledger.events()
        await bench.writer.stop()

    play(scenario)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (LedgerDamagedError("ledger: is damaged"), LedgerDamagedError),
        (InternalError("ledger: impossible"), InternalError),
        (ValueError("secret 17"), InternalError),
        (SystemExit(3), InternalError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_something_fatal_ends_the_writer_and_is_reported_once(play, error, expected):
    """Running and waiting draws fail, later ones are refused, the text quotes no foreign error."""

    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        ledger.error = error
        bench = Bench(ledger)
        running = bench.submit(make_draft("h1"))
        await until(lambda: ledger.batches != [])
        bench.in_flight = 2
        waiting = bench.submit(make_draft("h2"))
        ledger.open_door()
        errors = await asyncio.gather(running, waiting, return_exceptions=True)
        assert [expected, expected] == [type(failure) for failure in errors]
        assert [expected] == [type(failure) for failure in bench.fatal]
        assert "secret" not in str(bench.fatal[0])
        with pytest.raises(expected):
            bench.submit(make_draft("h3"))
        await bench.writer.drain()
        await bench.writer.stop()
        assert 1 == len(ledger.batches)

    play(scenario)


def test_a_ledger_that_answers_for_too_few_is_fatal(play):
    class Forgetful(GatedLedger):
        def commit(self, drafts, events=(), health_states=()):
            return super().commit(drafts, events, health_states)[1:]

    async def scenario() -> None:
        ledger = Forgetful(MemoryLedger())
        ledger.open_door()
        bench = Bench(ledger)
        with pytest.raises(InternalError, match="0 outcomes for 1 drafts"):
            await bench.submit(make_draft())
        assert 1 == len(bench.fatal)
        await bench.writer.stop()

    play(scenario)


# --- the end ------------------------------------------------------------------------


def test_drain_waits_for_everything_that_was_handed_over(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        bench.in_flight = 3
        answers = [bench.submit(make_draft("h0"))]
        await until(lambda: ledger.batches != [])
        answers += [bench.submit(make_draft(f"h{number}")) for number in (1, 2)]
        bench.writer.note(ALARM)
        draining = asyncio.create_task(bench.writer.drain())
        await asyncio.sleep(0.01)
        assert not draining.done()
        ledger.open_door()
        await draining
        assert all(answer.done() for answer in answers)
        assert (3, [ALARM]) == (ledger.count(), ledger.events())
        await bench.writer.stop()

    play(scenario)


def test_drain_does_not_wait_for_a_ledger_that_refuses(play):
    async def scenario() -> None:
        ledger = FaultyLedger(MemoryLedger())
        ledger.fail_not_written = 1000
        bench = Bench(ledger, retry_s=3600)
        bench.writer.note(ALARM)
        await bench.writer.drain()
        assert 1 <= bench.writer.stats.failures <= 2
        await bench.writer.stop()

    play(scenario)


def test_stop_ends_the_running_commit_and_refuses_what_waits(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        running = bench.submit(make_draft("h1"))
        await until(lambda: ledger.batches != [])
        bench.in_flight = 2
        waiting = bench.submit(make_draft("h2"))
        stopping = asyncio.create_task(bench.writer.stop())
        await asyncio.sleep(0)
        with pytest.raises(ShuttingDownError):
            bench.submit(make_draft("h3"))
        ledger.open_door()
        await stopping
        assert isinstance(await running, Recorded)
        with pytest.raises(ShuttingDownError, match="nothing was spent"):
            await waiting
        assert 1 == ledger.count()
        await bench.writer.stop()
        assert [] == bench.fatal

    play(scenario)


def test_stats_tell_commits_rows_time_and_a_disk_that_hangs(play):
    async def scenario() -> None:
        ledger = GatedLedger(MemoryLedger())
        bench = Bench(ledger)
        await asyncio.sleep(0.02)
        assert time.monotonic_ns() - bench.writer.stats.last_progress_ns < 10_000_000
        bench.in_flight = 2
        answer = bench.submit(make_draft())
        waiting = bench.writer.stats
        assert (1, []) == (waiting.queued, ledger.batches)
        assert bench.writer.stalled_s == 0
        assert time.monotonic_ns() - waiting.last_progress_ns < 10_000_000, "nothing runs yet"
        await until(lambda: ledger.batches != [])
        before = bench.writer.stats.last_progress_ns
        await asyncio.sleep(0.03)
        assert before == bench.writer.stats.last_progress_ns
        assert bench.writer.stalled_s >= 0.03
        ledger.open_door()
        await answer
        assert bench.writer.stalled_s == 0
        stats = bench.writer.stats
        assert (1, 1, 0, 0) == (stats.commits, stats.rows, stats.failures, stats.queued)
        assert stats.last_commit_s == stats.commit_s_total >= 0.03
        assert stats.last_progress_ns > before
        await bench.writer.stop()

    play(scenario)
