"""What the runtime tells, turned into series and log lines.

One line for a state that changes, none for a draw. Owned by the event loop's
thread, like everything that calls it.
"""

from collections.abc import Callable, Sequence

from entropyd.entropy.gate import Hold
from entropyd.entropy.rate import Rate, RateChange
from entropyd.ops.logs import RefusalSummary, StateChanges, get_logger
from entropyd.ops.metrics import WAITING_OUTCOMES, Metrics
from entropyd.runtime.reader import Report
from entropyd.runtime.writer import WriterStats

# Refusals that are somebody's mistake or misfortune, and are summed up in the log.
REFUSAL_CODES = frozenset(
    {
        "INVALID_ARGUMENT",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "NOT_FOUND",
        "FAILED_PRECONDITION",
        "RESOURCE_EXHAUSTED",
        "UNAVAILABLE",
        "DATA_LOSS",
        "INTERNAL",
    }
)


class Observer:
    """Counts and logs. Implements what dealer, intake and adapters call.

    Attributes:
        held_since_ns: monotonic time at which the present hold began, or None.
        hold: the present hold, or None.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        clock_ns: Callable[[], int],
        wall_s: Callable[[], float],
    ) -> None:
        """Make an observer.

        Args:
            metrics: gets the series.
            clock_ns: monotonic clock.
            wall_s: wall clock, seconds since 1970.
        """
        self._metrics = metrics
        self._clock_ns = clock_ns
        self._wall_s = wall_s
        self._log = get_logger("daemon")
        self._states = StateChanges(get_logger("state"))
        self._refusals = RefusalSummary()
        self._seen: dict[str, Report] = {}
        self._ledger = WriterStats(0, 0, 0, 0, 0, 0.0, 0.0, 0)
        self.held_since_ns: int | None = None
        self.hold: Hold | None = None

    # --- sources -----------------------------------------------------------

    def reported(self, report: Report) -> None:
        """Note what a reader told."""
        source_id, status = report.source_id, report.status
        series = self._metrics.source(source_id)
        before = self._seen.get(source_id)
        self._seen[source_id] = report
        new_samples = status.samples_total - (before.status.samples_total if before else 0)
        if new_samples:
            series.samples(new_samples, at_unix_s=self._wall_s())
        series.state(str(status.state))
        series.assessed(status.assessed_millibits or 0)
        series.rate(str(status.rate))
        if report.fault:
            series.read_error(report.fault)
        if report.reopens > (before.reopens if before else 0):
            series.reopened()
        if report.result is not None:
            for block in report.result.blocks:
                series.credited(len(block.samples) * block.millibits_per_sample)
            for alarm in report.result.alarms:
                self._alarmed(source_id, str(alarm.test), str(alarm.severity), alarm.sample_index)
            self._note_rate(report.result.rate)
        self._states.note(
            f"source {source_id}",
            str(status.state),
            bad=str(status.state) in {"lost", "failed"},
            serial=report.serial,
            detail=report.detail,
        )

    def _note_rate(self, change: RateChange | None) -> None:
        if change is None:
            return
        is_bad = change.rate in {Rate.SLOW, Rate.FAST}
        if is_bad:
            self._metrics.source(change.source_id).rate_alarm(str(change.rate))
        detail = f"{change.samples_per_s} samples/s of nominal {change.nominal_per_s}"
        self._states.note(
            f"rate of {change.source_id}", str(change.rate), bad=is_bad, detail=detail
        )

    def _alarmed(self, source_id: str, test: str, severity: str, sample_index: int) -> None:
        self._metrics.source(source_id).alarm(test, severity)
        self._log.warning(
            "health test alarm",
            source=source_id,
            test=test,
            severity=severity,
            at_sample=sample_index,
        )

    def reader_died(self, source_id: str, error: BaseException | None) -> None:
        """Note that a reader thread died and was replaced."""
        self._metrics.source(source_id).reader_restarted()
        self._log.error("reader died and is restarted", source=source_id, exc_info=error)

    def instantiated(self) -> None:
        """Note that the DRBG has its first entropy."""
        self._metrics.gate.instantiated(now=True)
        self._log.info("generator instantiated: dealing may begin")

    # --- draws and calls -----------------------------------------------------

    def drawn(self, outcome: str, *, waits_s: Sequence[float], reseeds: int) -> None:
        """Note how draws ended."""
        self._metrics.gate.drew(outcome, waits_s)
        self._metrics.gate.reseeded(reseeds)

    def undrawn(self, outcome: str, *, lasted_s: float) -> None:
        """Note a call for a hand that ended without a draw of its own, and how long it lasted."""
        self._metrics.gate.draw(outcome, waited_s=lasted_s if outcome in WAITING_OUTCOMES else None)

    def drew(self, kind: str) -> None:
        """Note that a draw which is no hand was recorded."""
        self._metrics.games.drew(kind)

    def played(self, game: str) -> None:
        """Note that a round was recorded."""
        self._metrics.games.played(game)

    def swept(self, *, revealed: int, overdue: int) -> None:
        """Note what a look at all seed pairs found."""
        self._metrics.games.swept(revealed=revealed, overdue=overdue)

    def hand_stepped(self, step: str) -> None:
        """Note a recorded step of a hand that is dealt card by card."""
        self._metrics.hands.stepped(step)

    def hand_voided(self, reason: str) -> None:
        """Note that such a hand is void."""
        self._metrics.hands.voided(reason)

    def place_dealt_again(self, tenant: str, table: str, hand: str, place: int) -> None:
        """Note a second claim for a place: somebody deals with a credential that is not his."""
        self._metrics.hands.place_alarm()
        self._log.error(
            "a place was dealt with another claim or to others: is another program dealing?",
            tenant=tenant,
            table=table,
            hand=hand,
            place=place,
        )

    def hands_stood(self, *, live: int, overdue_s: float) -> None:
        """Note how many hands go on, and how late the sweep is."""
        self._metrics.hands.stood(live=live, overdue_s=overdue_s)

    def called(self, method: str, code: str, seconds: float, reason: str) -> None:
        """Note how a call was answered, and why not with OK."""
        self._metrics.requests.answered(method, code, seconds=seconds)
        if code in REFUSAL_CODES:
            self._refusals.add(reason or code, self._clock_ns())

    def contributed(self, tenant: str, outcome: str) -> None:
        """Note what became of user entropy."""
        self._metrics.users.contributed(tenant, outcome)

    def ledger_stood(self, stats: WriterStats, hands: int, free_bytes: int) -> None:
        """Note how the ledger and its writer stand, and what they did since the last time."""
        before, self._ledger = self._ledger, stats
        series = self._metrics.ledger
        commits = stats.commits - before.commits
        if commits:
            mean_s = (stats.commit_s_total - before.commit_s_total) / commits
            rows = stats.rows - before.rows
            for number in range(commits):
                share = rows // commits + (number < rows % commits)
                series.committed(share, seconds=mean_s, at_unix_s=self._wall_s())
        for _ in range(stats.failures - before.failures):
            series.failed()
        stalled_ns = self._clock_ns() - stats.last_progress_ns
        series.waiting(stats.queued, stalled_s=max(0, stalled_ns) / 1e9)
        series.hands(hands)
        series.free(free_bytes)
        # A ledger that fails is tried once a second: only a commit says that it writes again.
        if stats.failures > before.failures:
            self._states.note("ledger", "failing", bad=True)
        elif commits:
            self._states.note("ledger", "writing")

    def log_stood(self, *, size: int, signed: int, unsigned_age_s: float) -> None:
        """Note how far the log of receipts goes, and how far it is signed for."""
        self._metrics.log.stood(size=size, signed=signed, unsigned_age_s=unsigned_age_s)

    # --- the turn of the loop --------------------------------------------------

    def judged(self, hold: Hold | None, waiters: int) -> bool:
        """Note whether dealing is possible now. Return whether that changed."""
        changed = (hold is None) != (self.hold is None)
        self.hold = hold
        self._metrics.gate.waiters(waiters)
        if hold is None:
            self.held_since_ns = None
            self._metrics.gate.released()
            self._states.note("dealing", "possible")
        else:
            self.held_since_ns = self.held_since_ns or self._clock_ns()
            self._metrics.gate.held(str(hold.why))
            self._states.note("dealing", f"held: {hold.why}", bad=True, detail=hold.text)
        refusals = self._refusals.take(self._clock_ns())
        if refusals is not None:
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(refusals.items()))
            self._log.warning("refused in the last ten seconds", reasons=reasons)
        return changed
