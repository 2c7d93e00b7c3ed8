"""One thread, one device: open, read, test, report; and on any fault close, back off, open again.

The thread owns the driver's device and the `EntropySource` with its health
tests. Everything it learns leaves as a `Report`, in order, through one
callable that posts to the event loop; nothing else of it is shared but a few
counters that only it writes. What must survive a reopening (health history,
running repetition count, totals) lives in the `EntropySource`, which outlives
devices and, after a crash of the thread, is handed to its successor.

A device that says nothing for one read period counts as lost. The Quantis
fills a block in 16 ms, so a whole second of silence is not slowness; and
credit must go within two seconds of the last byte.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from entropyd.entropy.entropy_source import EntropySource, FeedResult, SourceStatus
from entropyd.entropy.source import Device, Driver
from entropyd.errors import SourceAbsentError, SourceError

# 0.1 s, doubled at each failed attempt, at most 3.2 s: a re-plugged device is dealt from again
# within seconds, and a missing one costs a bus scan every three seconds.
FIRST_BACKOFF_S = 0.1
MAX_BACKOFF_DOUBLINGS = 5


@dataclass(frozen=True)
class Report:
    """What a reader tells the event loop, in the order in which it happened.

    Attributes:
        source_id: which source.
        serial: serial number of the device; empty until one was opened.
        status: the source after this.
        result: blocks and alarms of one read; None when no samples came.
        lost: True when the device was closed: its credit must go.
        detail: the fault, for people; empty when all is well.
        fault: the reason code of the fault, for metrics; empty when all is well.
        reopens: times the device was opened again after a loss.
    """

    source_id: str
    serial: str
    status: SourceStatus
    result: FeedResult | None
    lost: bool
    detail: str
    fault: str
    reopens: int


class Reader(threading.Thread):
    """Reads one source until it is told to stop.

    Attributes:
        progress: counts up at every turn of the loop, also while the device is
            absent; the watchdog compares it.
    """

    def __init__(
        self,
        source: EntropySource,
        driver: Driver,
        *,
        post: Callable[[Report], None],
        clock_ns: Callable[[], int],
    ) -> None:
        """Make a reader; `start` begins.

        Args:
            source: health tests and credit of this source; owned by the thread from `start` on.
            driver: opens the device.
            post: takes reports; called on the reader's thread, must not block.
            clock_ns: monotonic clock, nanoseconds.
        """
        super().__init__(name=f"reader-{source.info.source_id}", daemon=True)
        self.source = source
        self.driver = driver
        self.progress = 0
        self.failure: BaseException | None = None
        self._post = post
        self._clock_ns = clock_ns
        self._stopping = threading.Event()
        self._serial = ""
        self._opened = 0

    def run(self) -> None:
        """Read until stopped. Any surprise ends the thread; the supervisor sees to the rest."""
        try:
            self._run()
        except BaseException as error:  # noqa: BLE001  the one catch-all of this thread
            self.failure = error

    def stop(self) -> None:
        """Ask the thread to end. It does so within one read period of the driver."""
        self._stopping.set()

    def successor(self) -> "Reader":
        """Return an unstarted reader that takes over from this one, which has died.

        Called by the supervisor after the thread ended, so it owns the source
        now. Credit is withdrawn and the history kept: a crash must not wash an
        alarm, nor let samples that nobody vouches for be dealt from.
        """
        self.source.on_lost(self._clock_ns())
        fault = SourceAbsentError(f"the reader died: {type(self.failure).__name__}; restarting it")
        self._post(self._make_report(None, fault))
        heir = Reader(self.source, self.driver, post=self._post, clock_ns=self._clock_ns)
        heir._serial, heir._opened, heir.progress = self._serial, self._opened, self.progress + 1
        return heir

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            self.progress += 1
            try:
                device = self.driver.open()
            except SourceError as error:
                self._report_fault(error)
                failures += 1
                self._stopping.wait(self._backoff_s(failures))
                continue
            if self._read(device):
                failures = 0
            failures += 1
            self._stopping.wait(self._backoff_s(failures))

    def _read(self, device: Device) -> bool:
        """Read an open device until a fault or a stop. Return whether any block came."""
        came = False
        try:
            self._serial = device.serial
            self._opened += 1
            self.source.on_opened(self._clock_ns())
            # Reported with its first block: until then it is as lost as before. A device that is
            # opened again and again and says nothing must not look like one that is coming.
            while not self._stopping.is_set():
                self.progress += 1
                raw = device.read()
                came = True
                self._report(self.source.feed(raw, self._clock_ns()))
        except SourceError as error:
            self._report_fault(error)
        finally:
            device.close()
        return came

    def _report(self, result: FeedResult) -> None:
        self._post(self._make_report(result, None))

    def _report_fault(self, error: SourceError) -> None:
        self.source.on_lost(self._clock_ns())
        self._post(self._make_report(None, error))

    def _make_report(self, result: FeedResult | None, error: SourceError | None) -> Report:
        return Report(
            source_id=self.source.info.source_id,
            serial=self._serial,
            status=self.source.status(),
            result=result,
            lost=error is not None,
            detail="" if error is None else str(error),
            fault="" if error is None else error.reason,
            reopens=max(0, self._opened - 1),
        )

    def _backoff_s(self, failures: int) -> float:
        """Seconds to wait before the next attempt, spread so that readers do not march in step.

        At most a quarter less than the full back-off, and never more.
        """
        doublings = min(failures - 1, MAX_BACKOFF_DOUBLINGS)
        jitter = (self._clock_ns() % 1_000_000) / 1_000_000  # 0 to 1, from the clock's low digits
        return FIRST_BACKOFF_S * (1 << doublings) * (1 - jitter / 4)
