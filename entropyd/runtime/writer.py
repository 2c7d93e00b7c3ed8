"""The group-commit writer: one thread that owns the ledger, fed from the event loop.

Every commit costs a flush of the disk, whatever it holds, so calls that are in
flight together share one. The quiet rule (quiet_rule.py) says when a batch is
complete. While a commit runs, the next batch gathers.

    loop thread     submit, note, record, store_health -> queue -> batch ... answers
    writer thread                                 batch -> ledger.commit -> post

Everything in `GroupCommitWriter` belongs to the loop thread, apart from what the
docstring of a method says is the writer thread's. A draw is answered only after
the ledger's commit returned: the answer is made of what it returned.

Spec: DESIGN, section 10; promise 2.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import Any, overload

from entropyd.errors import (
    EntropydError,
    InternalError,
    LedgerError,
    LedgerUnavailableError,
    ShuttingDownError,
)
from entropyd.ledger.contract import Draft, DraftOutcome, Event, HandDraft, Ledger, Outcome
from entropyd.ledger.subjects import StepDraft, StepOutcome
from entropyd.runtime.quiet_rule import QUIET_NS, QuietRule

# How soon the ledger is tried again after it failed, with or without a draw to record.
RETRY_S = 1.0
# Notes that wait for a ledger that fails. At one alarm a second from each of
# ten sources that is seven minutes; more than that repeats what is known.
MAX_WAITING_NOTES = 4096


@dataclass(frozen=True, slots=True)
class WriterStats:
    """What the writer has done so far.

    Attributes:
        commits: transactions that the ledger confirmed.
        rows: drafts in them.
        failures: transactions that it did not confirm.
        notes_dropped: events that found MAX_WAITING_NOTES others waiting.
        queued: drafts that wait for a commit now.
        commit_s_total: time spent in `Ledger.commit`, seconds.
        last_commit_s: duration of the last one, seconds.
        last_progress_ns: monotonic time at which the thread was given the
            commit that it works at, or now if it has none. Standing still
            means that the disk hangs.
    """

    commits: int
    rows: int
    failures: int
    notes_dropped: int
    queued: int
    commit_s_total: float
    last_commit_s: float
    last_progress_ns: int


# The outcomes of hands, and of steps, that were handed over together.
Answer = asyncio.Future[list[Outcome]]
StepAnswer = asyncio.Future[list[StepOutcome]]


@dataclass(slots=True)
class _Batch:
    drafts: list[Draft]
    # Either kind of answer, and how many of the drafts are its: a ledger gives hands the outcomes
    # of hands and steps those of steps, so each future gets what `submit` promised.
    answers: list[tuple[asyncio.Future[Any], int]]
    events: list[Event] = field(default_factory=list)
    health_states: dict[str, str] = field(default_factory=dict)
    # Who waits for events among `events`; they go where these go.
    recorded: list[tuple[asyncio.Future[None], int]] = field(default_factory=list)


class GroupCommitWriter:
    """Records drafts in shared commits and answers each when its record is durable."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        in_flight: Callable[[], int],
        on_fatal: Callable[[EntropydError], None],
        retry_s: float = RETRY_S,
    ) -> None:
        """Prepare the writer; `start` starts it.

        Args:
            ledger: owned by the writer thread from `start` until `stop` returned.
            in_flight: how many draw calls were accepted and not answered yet,
                those that submit included; a call for a batch is one. Called on
                the loop thread.
            on_fatal: called once, on the loop thread, when the writer ended
                because the ledger is damaged or something impossible happened.
                The process must end.
            retry_s: seconds until a ledger that failed is tried again.
        """
        self._ledger = ledger
        self._in_flight = in_flight
        self._on_fatal = on_fatal
        self._retry_s = retry_s
        self._thread = Thread(target=self._run, name="ledger-writer", daemon=True)
        self._inbox: SimpleQueue[_Batch | None] = SimpleQueue()
        self._queue = _Batch([], [])
        self._running: _Batch | None = None
        # The queue is due: it goes as soon as the running commit has ended.
        self._due = False
        self._timer: asyncio.TimerHandle | None = None
        self._looks_at_ns = 0
        self._retry_timer: asyncio.TimerHandle | None = None
        self._rule = QuietRule()
        self._changed: list[asyncio.Future[None]] = []
        self._ended: EntropydError | None = None
        self._commits = self._rows = self._failures = self._notes_dropped = 0
        self._commit_ns_total = self._last_commit_ns = self._last_progress_ns = 0

    def start(self) -> None:
        """Start the thread. Call on the running loop that will call everything else."""
        self._loop = asyncio.get_running_loop()
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._last_progress_ns = time.monotonic_ns()
        self._thread.start()

    # --- what the loop asks ----------------------------------------------------

    @overload
    def submit(self, drafts: Sequence[HandDraft]) -> Answer: ...

    @overload
    def submit(self, drafts: Sequence[StepDraft]) -> StepAnswer: ...

    def submit(self, drafts: Sequence[Draft]) -> asyncio.Future[Any]:
        """Hand over hands that were drawn together; they are recorded in one commit, or none is.

        Steps likewise. Hands and steps that are handed over by several calls share commits.

        Cancelling the future does not recall the drafts: the hands are spent, the steps taken.

        Args:
            drafts: at least one.

        Raises:
            ShuttingDownError: the writer was stopped. Nothing was spent.
            LedgerError: the writer ended fatally. Nothing was spent.

        Returns:
            A future that resolves to an outcome for each draft when the ledger has confirmed them,
            and fails with LedgerUnavailableError if the commit was not confirmed (discard the
            drafts, look the hands and subjects up before retrying), or with a fatal error.
        """
        if self._ended is not None:
            raise _copy(self._ended)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._queue.drafts += drafts
        self._queue.answers.append((answer, len(drafts)))
        alone, queued = self._in_flight() <= len(drafts), len(self._queue.drafts)
        if self._rule.arrived(time.monotonic_ns(), queued, came=len(drafts), alone=alone):
            self._commit_now()
        else:
            self._wait_for_quiet()
        return answer

    def note(self, event: Event) -> None:
        """Remember an event with the next commit.

        An event of a commit that was not confirmed is offered again, so it may
        be remembered twice, and is lost only if the process ends before.
        """
        if len(self._queue.events) >= MAX_WAITING_NOTES:
            self._notes_dropped += 1
            return
        self._queue.events.append(event)
        self._wait_for_quiet()

    def record(self, event: Event) -> asyncio.Future[None]:
        """Remember an event, and return a future that is done when it is durable.

        For what may only be told once there is a record of it. A future that fails
        says that there may be none; the event may be remembered all the same.

        Raises:
            LedgerUnavailableError: the ledger fails, and as many events wait as may.
            ShuttingDownError, LedgerError: as `submit`.
        """
        if self._ended is not None:
            raise _copy(self._ended)
        if len(self._queue.events) >= MAX_WAITING_NOTES:
            raise LedgerUnavailableError(
                f"{MAX_WAITING_NOTES} events wait for the ledger, and this one was not remembered"
            )
        recorded: asyncio.Future[None] = self._loop.create_future()
        self._queue.events.append(event)
        self._queue.recorded.append((recorded, 0))
        self._wait_for_quiet()
        return recorded

    def store_health(self, source_id: str, state: str) -> None:
        """Replace the stored health state of a source, JSON text, with the next commit."""
        self._queue.health_states[source_id] = state
        self._wait_for_quiet()

    async def drain(self) -> None:
        """Wait until everything handed over so far, or during this call, was committed or failed.

        Notes that the ledger refuses are tried once and left.
        """
        self._cancel_retry()
        while self._ended is None and (self._running is not None or self._has_work()):
            self._commit_now()
            changed: asyncio.Future[None] = self._loop.create_future()
            self._changed.append(changed)
            await changed

    async def stop(self) -> None:
        """End the thread after the commit that is running. Idempotent.

        Drafts that wait for a commit fail with ShuttingDownError: `drain` first.
        The ledger is the caller's again.
        """
        if self._ended is None:
            self._ended = ShuttingDownError(
                "the ledger writer has stopped; nothing was spent, ask again when the daemon is"
                " back"
            )
        self._inbox.put(None)
        await asyncio.shield(self._stopped)
        self._thread.join()
        self._give_up(self._ended)

    @property
    def stalled_s(self) -> float:
        """How long a commit has been running, in seconds; 0 for none. Loop thread."""
        if self._running is None:
            return 0.0
        return (time.monotonic_ns() - self._last_progress_ns) / 1e9

    @property
    def stats(self) -> WriterStats:
        """A snapshot. Loop thread."""
        idle = self._running is None and self._ended is None
        return WriterStats(
            commits=self._commits,
            rows=self._rows,
            failures=self._failures,
            notes_dropped=self._notes_dropped,
            queued=len(self._queue.drafts),
            commit_s_total=self._commit_ns_total / 1e9,
            last_commit_s=self._last_commit_ns / 1e9,
            last_progress_ns=time.monotonic_ns() if idle else self._last_progress_ns,
        )

    # --- batches ---------------------------------------------------------------

    def _wait_for_quiet(self) -> None:
        """Arm the timer, once for a whole burst: arrivals move the time that it looks at."""
        if self._timer is None:
            self._looks_at_ns = time.monotonic_ns() + QUIET_NS
            self._timer = self._loop.call_later(QUIET_NS / 1e9, self._look_for_quiet)

    def _look_for_quiet(self) -> None:
        self._timer = None
        if not self._has_work():
            return
        now_ns = time.monotonic_ns()
        if self._rule.is_complete(now_ns, late_ns=now_ns - self._looks_at_ns):
            self._commit_now()
        else:
            self._wait_for_quiet()

    def _has_work(self) -> bool:
        queue = self._queue
        if self._retry_timer is not None:
            # Notes wait for the retry; drafts show at once whether it works again.
            return bool(queue.drafts)
        return bool(queue.drafts or queue.events or queue.health_states)

    def _commit_now(self) -> None:
        """Give the queue to the thread, or as soon as it is free."""
        if self._ended is not None:
            return
        if self._running is not None:
            self._due = True
            return
        self._due = False
        if self._has_work():
            self._give(self._take_batch())

    def _take_batch(self) -> _Batch:
        """Return what the next commit holds, and begin a new queue."""
        batch = self._queue
        self._queue = _Batch([], [])
        if self._retry_timer is not None:
            # Drafts alone: a ledger that has room for notes and not for draws
            # must not lose the notes with the draws.
            self._queue.events, batch.events = batch.events, []
            self._queue.health_states, batch.health_states = batch.health_states, {}
            self._queue.recorded, batch.recorded = batch.recorded, []
        return batch

    def _give(self, batch: _Batch) -> None:
        # From here until the answer is posted, a crash leaves the drafts of this
        # batch recorded or not, all or none, and answered to nobody.
        self._running = batch
        self._last_progress_ns = time.monotonic_ns()
        self._inbox.put(batch)

    # --- after a commit, on the loop -------------------------------------------

    def _confirmed(self, batch: _Batch, outcomes: Sequence[DraftOutcome], took_ns: int) -> None:
        self._commits += 1
        self._rows += len(batch.drafts)
        first = 0
        for answer, count in batch.answers:
            # Done already: the caller went away. Its hands are recorded all the same.
            if not answer.done():
                answer.set_result(list(outcomes[first : first + count]))
            first += count
        for recorded, _ in batch.recorded:
            if not recorded.done():
                recorded.set_result(None)
        self._go_on(took_ns)

    def _failed(self, batch: _Batch, error: LedgerUnavailableError, took_ns: int) -> None:
        self._failures += 1
        _fail(batch.answers, error)
        _fail(batch.recorded, error)
        self._queue.events = (batch.events + self._queue.events)[:MAX_WAITING_NOTES]
        self._queue.health_states = batch.health_states | self._queue.health_states
        if self._retry_timer is None:
            self._retry_timer = self._loop.call_later(self._retry_s, self._retry)
        self._go_on(took_ns)

    def _go_on(self, took_ns: int) -> None:
        self._running = None
        self._commit_ns_total += took_ns
        self._last_commit_ns = took_ns
        self._last_progress_ns = time.monotonic_ns()
        if self._due:
            self._commit_now()
        self._wake()

    def _retry(self) -> None:
        """Try the ledger with the notes that wait, or with nothing, and no draft.

        An empty commit too makes the ledger find out whether it works again;
        nobody draws while it says that it does not.
        """
        self._retry_timer = None
        if self._running is not None:
            self._retry_timer = self._loop.call_later(self._retry_s, self._retry)
            return
        queue = self._queue
        self._queue = _Batch(queue.drafts, queue.answers)
        self._due = bool(queue.drafts)
        self._give(_Batch([], [], queue.events, queue.health_states, queue.recorded))

    def _cancel_retry(self) -> None:
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None

    def _die(self, error: EntropydError) -> None:
        """End for good: the ledger, or this program, is not what it was taken for."""
        self._ended = error
        self._give_up(error)
        self._on_fatal(error)

    def _give_up(self, error: EntropydError) -> None:
        """Fail whatever still waits."""
        for timer in (self._timer, self._retry_timer):
            if timer is not None:
                timer.cancel()
        if self._running is not None:
            _fail(self._running.answers, error)
            _fail(self._running.recorded, error)
            self._running = None
        _fail(self._queue.answers, error)
        _fail(self._queue.recorded, error)
        self._queue = _Batch([], [])
        self._wake()

    def _wake(self) -> None:
        for changed in self._changed:
            if not changed.done():
                changed.set_result(None)
        self._changed.clear()

    # --- the writer thread -----------------------------------------------------

    def _run(self) -> None:
        """Commit batch after batch until `stop`, or until something fatal. Writer thread."""
        try:
            while (batch := self._inbox.get()) is not None:
                self._commit(batch)
        except BaseException as error:  # noqa: BLE001 - the one of this thread: it ends it
            fatal = error if isinstance(error, LedgerError | InternalError) else _defect(error)
            self._loop.call_soon_threadsafe(self._die, fatal)
        finally:
            self._loop.call_soon_threadsafe(self._stopped.set_result, None)

    def _commit(self, batch: _Batch) -> None:
        """Commit one batch and post all of its answers in one call. Writer thread."""
        began_ns = time.monotonic_ns()
        try:
            outcomes = self._ledger.commit(
                batch.drafts, batch.events, tuple(batch.health_states.items())
            )
        except LedgerUnavailableError as error:
            took_ns = time.monotonic_ns() - began_ns
            self._loop.call_soon_threadsafe(self._failed, batch, error, took_ns)
            return
        if len(outcomes) != len(batch.drafts):
            raise InternalError(
                f"ledger: {len(outcomes)} outcomes for {len(batch.drafts)} drafts; whether they are"
                " recorded is not known"
            )
        # The records are durable. If we die before this is posted, nobody was
        # answered, and whoever asks again gets what was recorded.
        took_ns = time.monotonic_ns() - began_ns
        self._loop.call_soon_threadsafe(self._confirmed, batch, outcomes, took_ns)


def _fail(answers: Sequence[tuple[asyncio.Future[Any], int]], error: EntropydError) -> None:
    """Fail every answer with an error of its own: a shared one would collect all tracebacks."""
    for answer, _ in answers:
        if not answer.done():
            answer.set_exception(_copy(error))


def _copy(error: EntropydError) -> EntropydError:
    copy = type(error)(str(error))
    copy.__cause__ = error
    return copy


def _defect(error: BaseException) -> InternalError:
    defect = InternalError(f"ledger writer: ended by {type(error).__name__}")
    defect.__cause__ = error
    return defect
