"""One noise source with its health tests: raw samples in, credited samples and alarms out.

    LOST -> STARTUP -> ASSESSING -> HEALTHY        any, by a latch -> FAILED
               ^__________alarm________|            FAILED, by a reset -> STARTUP or LOST

The unit of judgement is the proportion window: 512 bytes or 1024 bits, one
after the other since the first sample. A window that ends without an alarm is
clean and goes to `Release`, which knows what start-up and assessment ask for
and gives it credit. A window with an alarm, or with a loss of the device in
it, is thrown away whole, and start-up and assessment begin again.

The object outlives devices. Opening one again repeats the start-up test and
forgets nothing: the history, the running repetition count and the open
proportion window go on, so that a source that is reopened in time cannot
evade them.

No clock, no thread, no device: time comes in as `now_ns`, a monotonic clock
in nanoseconds. One thread at a time owns the object, the reader of its
device; what it returns may go anywhere.

Spec: SP 800-90B, sections 4.2 to 4.4.
"""

from collections.abc import Iterable
from enum import Enum, auto
from itertools import groupby

from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.cutoffs import cutoffs_for
from entropyd.entropy.health import Failure, HealthTests
from entropyd.entropy.health_history import HealthHistory, HealthPolicy, LatchReason
from entropyd.entropy.rate import RateWatch
from entropyd.entropy.release import Release
from entropyd.entropy.source import NoiseSourceInfo
from entropyd.entropy.source_state import SourceState
from entropyd.entropy.source_status import FeedResult, HealthAlarm, SourceStatus
from entropyd.errors import (
    EntropyHoldError,
    IntermittentFailureError,
    InternalError,
    PermanentFailureError,
    SourceAbsentError,
    SourceProtocolError,
)

__all__ = [
    "CreditedBlock",
    "EntropySource",
    "FeedResult",
    "HealthAlarm",
    "HealthHistory",
    "HealthPolicy",
    "LatchReason",
    "SourceState",
    "SourceStatus",
]

# A Quantis (500,000 B/s) has passed start-up and first assessment 0.14 s after it was opened; a
# serial generator at 11,520 B/s after 6 s. Asking again after a second suits both.
STARTUP_RETRY_S = 1.0


class _Fate(Enum):
    """What the open window is good for."""

    CLEAN = auto()
    INTERRUPTED = auto()  # by a loss, or by an on-demand test
    FAILED = auto()  # a test fired in it


class EntropySource:
    """The health machine of one source.

    Attributes:
        info: who the source is and what is claimed for it.
        policy: how strict the machine is.
        history: counts, latch and resets; store it when it changed.
    """

    def __init__(
        self,
        info: NoiseSourceInfo,
        policy: HealthPolicy | None = None,
        history: HealthHistory | None = None,
    ) -> None:
        """Make a source that no device was opened for.

        Args:
            info: sample width and claim decide the cutoffs.
            policy: by default as `HealthPolicy` says.
            history: as the ledger kept it; a new one for a source never seen.

        Raises:
            ConfigError: the claim is outside of what the tests can watch.
        """
        self.info = info
        self.policy = HealthPolicy() if policy is None else policy
        self.history = HealthHistory() if history is None else history
        self._cutoffs = cutoffs_for(
            info.claimed_millibits,
            sample_bits=info.sample_bits,
            intermittent_alpha_log2=self.policy.intermittent_alpha_log2,
            permanent_alpha_log2=self.policy.permanent_alpha_log2,
        )
        self._window = self._cutoffs.window
        self._is_open = False
        self._last_state = SourceState.LOST
        self._since_ns: int | None = None
        self._samples_total = 0
        self._credited_total = 0
        self._last_good_ns: int | None = None
        self._release = Release(info, self.policy, self._cutoffs)
        self._rate = RateWatch(info.source_id, info.nominal_rate)
        self._begin_stream()

    # --- what the owner tells it ---

    def on_opened(self, now_ns: int) -> None:
        """Note that a device is open: the next samples are its first.

        An opening without a loss before it implies the loss.
        """
        if self._is_open:
            self._interrupt()
        self._is_open = True
        self._rate.begin(now_ns)
        self._note_state(now_ns)

    def on_lost(self, now_ns: int) -> None:
        """Note that the device is gone, or could not be opened.

        The caller takes the credit from every sample of this source still
        held. The open window is lost with it; its counts go on.
        """
        self._is_open = False
        self._rate.stop()
        self._interrupt()
        self._note_state(now_ns)

    def on_demand_test(self, now_ns: int) -> None:
        """Repeat the start-up test now. There is no credit until it has passed.

        Spec: SP 800-90B, section 4.2 (on-demand tests).
        """
        self._interrupt()
        self._note_state(now_ns)

    def reset(self, now_ns: int, reason: str) -> None:
        """Take the latch away, on an operator's word, and start as if new.

        The tests start before the first sample of a stream, so that a device
        that is still stuck is found stuck again. Counts in the history stay.

        Args:
            now_ns: time.
            reason: why the source may be trusted again, 1 to 200 characters; recorded.

        Raises:
            RequestError: no such reason was given. Nothing changed.
        """
        self.history = self.history.with_reset(reason)
        self._begin_stream()
        self._release.restart()
        self._note_state(now_ns)

    def feed(self, raw: bytes, now_ns: int) -> FeedResult:
        """Test the next samples and release what they complete.

        However samples are cut into calls, the same ones are tested, alarm
        and get the same credit.

        Args:
            raw: the next samples as the device delivered them, one byte each.
            now_ns: when they came.

        Returns:
            Credited blocks and alarms; see `FeedResult` for how to apply it.

        Raises:
            SourceProtocolError: a one-bit source delivered something other
                than 0 and 1. Nothing was taken; close the device.
            InternalError: no device is open.
        """
        self._check(raw)
        self._samples_total += len(raw)
        rate = self._rate.note(len(raw), now_ns)
        if self.history.latch is not None:
            return FeedResult(rate=rate)
        if not self._pending:
            self._pending_since_ns = now_ns
        blocks, alarms = self._judge(raw, now_ns)
        self._note_state(now_ns)
        return FeedResult(blocks, alarms, rate)

    # --- what others ask ---

    @property
    def state(self) -> SourceState:
        """Where the source is. A latch outranks a missing device."""
        if self.history.latch is not None:
            return SourceState.FAILED
        if not self._is_open:
            return SourceState.LOST
        return self._release.phase

    @property
    def current_millibits(self) -> int:
        """Credit of one sample now: the lower of claim and assessment, 0 unless healthy."""
        return self._release.millibits if self.state is SourceState.HEALTHY else 0

    def require_output(self) -> None:
        """Return if the source has output, raise what keeps it from having any.

        Raises:
            PermanentFailureError: latched off; an operator must act.
            SourceAbsentError: no device is open.
            IntermittentFailureError: it alarmed and has not recovered yet.
            EntropyHoldError: it was opened lately and has not finished its start-up.
        """
        name, state = self.info.source_id, self.state
        if state is SourceState.FAILED:
            raise PermanentFailureError(
                f"source {name} is latched off ({self.history.latch}); find out why, then reset it"
            )
        if state is SourceState.LOST:
            raise SourceAbsentError(f"source {name} has no open device; connect it")
        if state is SourceState.HEALTHY:
            return
        if self._recovering:
            raise IntermittentFailureError(f"source {name} alarmed and is {state}; ask again later")
        raise EntropyHoldError(
            f"source {name} was opened and is {state}; ask again later",
            why="SOURCE_STARTUP",
            retry_after_s=STARTUP_RETRY_S,
        )

    def status(self) -> SourceStatus:
        """Return the source as it is now."""
        undecided = len(self._pending) if self._fate is _Fate.CLEAN else 0
        return SourceStatus(
            source_id=self.info.source_id,
            state=self.state,
            since_ns=self._since_ns,
            samples_total=self._samples_total,
            credited_total=self._credited_total,
            discarded_total=self._samples_total - self._credited_total - undecided,
            claimed_millibits=self.info.claimed_millibits,
            assessed_millibits=self._release.assessed_millibits,
            current_millibits=self.current_millibits,
            samples_assessed=self._release.samples_assessed,
            last_good_ns=self._last_good_ns,
            history=self.history,
            rate=self._rate.rate,
        )

    # --- beginnings ---

    def _begin_stream(self) -> None:
        self._tests = HealthTests(self._cutoffs)
        self._first_index = self._samples_total
        self._pending = b""  # the open window so far; as long as the tests' open window
        self._pending_since_ns = 0
        self._fate = _Fate.CLEAN
        self._recovering = False

    def _interrupt(self) -> None:
        if self._pending and self._fate is _Fate.CLEAN:
            self._fate = _Fate.INTERRUPTED
        self._release.restart()

    def _note_state(self, now_ns: int) -> None:
        if self.state is not self._last_state or self._since_ns is None:
            self._last_state, self._since_ns = self.state, now_ns

    # --- judging windows ---

    def _check(self, raw: bytes) -> None:
        if not self._is_open:
            raise InternalError(f"source {self.info.source_id} was fed while no device is open")
        if self.info.sample_bits == 1 and raw.translate(None, b"\0\1"):
            raise SourceProtocolError(
                f"source {self.info.source_id} delivered a sample wider than one bit;"
                " expected 0 or 1: check sample_bits of its driver"
            )

    def _judge(
        self, raw: bytes, now_ns: int
    ) -> tuple[tuple[CreditedBlock, ...], tuple[HealthAlarm, ...]]:
        """Walk through windows and failures in the order of samples."""
        offset = self._tests.samples - len(self._pending)  # of data[0], as the tests count
        data = self._pending + raw
        released: list[tuple[int, bytes]] = []
        alarms: list[HealthAlarm] = []
        done = 0
        for failure in self._tests.feed(raw):
            fired = failure.sample_index - offset
            start = fired // self._window * self._window
            self._pass_windows(data[done:start], released)
            done = start
            released.clear()  # an alarm takes all credit of this source, here as in the reservoir
            alarms.append(self._alarm(failure, data[start : fired + 1], now_ns))
            if self.history.latch is not None:
                self._pending = b""
                return (), tuple(alarms)
        end = len(data) // self._window * self._window
        self._pass_windows(data[done:end], released)
        blocks = self._blocks(released, now_ns)
        if end:
            self._pending_since_ns = now_ns
        self._pending = data[end:]
        return blocks, tuple(alarms)

    def _alarm(self, failure: Failure, samples: bytes, now_ns: int) -> HealthAlarm:
        during_startup = self._release.phase is SourceState.STARTUP
        self.history = self.history.with_alarm(failure)
        if self._fate is not _Fate.FAILED:
            self.history = self.history.with_failed_window(
                now_ns, self.policy, during_startup=during_startup
            )
        self._fate = _Fate.FAILED
        self._recovering = True
        self._release.restart()
        in_window = failure.sample_index % self._window
        return HealthAlarm(
            source_id=self.info.source_id,
            test=failure.test,
            severity=failure.verdict,
            cutoff=failure.cutoff,
            sample_index=self._first_index + failure.sample_index,
            window_start=self._first_index + failure.sample_index - in_window,
            window=self._window,
            latch=self.history.latch,
            samples=samples,
        )

    def _pass_windows(self, samples: bytes, released: list[tuple[int, bytes]]) -> None:
        """Take whole windows that have ended, of which only the first may be spoilt."""
        if samples and self._fate is not _Fate.CLEAN:
            self._fate = _Fate.CLEAN
            samples = samples[self._window :]
        released.extend(self._release.take(samples))

    def _blocks(
        self, released: Iterable[tuple[int, bytes]], now_ns: int
    ) -> tuple[CreditedBlock, ...]:
        """Join what has the same credit. Blocks are as old as the oldest sample in them."""
        blocks = tuple(
            CreditedBlock(
                source_id=self.info.source_id,
                samples=b"".join(part for _, part in parts),
                millibits_per_sample=millibits,
                arrived_ns=self._pending_since_ns,
            )
            for millibits, parts in groupby(released, key=lambda release: release[0])
        )
        if blocks:
            self._credited_total += sum(len(block.samples) for block in blocks)
            self._last_good_ns = now_ns
            self._recovering = False
        return blocks
