"""Keeps every reader alive: a dead thread is an alarm, and is replaced.

Runs on the event loop's thread. The daemon never restarts because of a device
or of the code that reads it.
"""

from collections.abc import Callable, Sequence

from entropyd.entropy.entropy_source import EntropySource
from entropyd.entropy.source import Driver
from entropyd.runtime.reader import Reader, Report

# Letting go of a device takes a moment after its last read.
CLOSING_S = 0.2


class Supervisor:
    """Owns the readers, one a source."""

    def __init__(
        self,
        sources: Sequence[tuple[EntropySource, Driver]],
        *,
        post: Callable[[Report], None],
        clock_ns: Callable[[], int],
        on_dead: Callable[[str, BaseException | None], None],
    ) -> None:
        """Make a supervisor; `start` begins reading.

        Args:
            sources: each source with the driver that opens its device.
            post: takes the readers' reports; called on their threads.
            clock_ns: monotonic clock, nanoseconds.
            on_dead: told the source id and the error when a reader died; called
                on the thread that calls `check`.
        """
        self._on_dead = on_dead
        self._clock_ns = clock_ns
        self._stopping = False
        self._readers = {
            source.info.source_id: Reader(source, driver, post=post, clock_ns=clock_ns)
            for source, driver in sources
        }
        self.restarts = dict.fromkeys(self._readers, 0)

    def start(self) -> None:
        """Start every reader."""
        for reader in self._readers.values():
            reader.start()

    def check(self) -> None:
        """Replace every reader that died. Called every half second."""
        if self._stopping:
            return
        for source_id, reader in self._readers.items():
            if reader.is_alive():
                continue
            self.restarts[source_id] += 1
            self._on_dead(source_id, reader.failure)
            self._readers[source_id] = reader.successor()
            self._readers[source_id].start()

    def progress(self) -> dict[str, int]:
        """Return every reader's progress counter, for the watchdog."""
        return {f"reader:{name}": reader.progress for name, reader in self._readers.items()}

    def ask_to_stop(self) -> None:
        """Ask every reader to end, without waiting. None is replaced from now on."""
        self._stopping = True
        for reader in self._readers.values():
            reader.stop()

    def join(self) -> list[str]:
        """Wait for all readers, at most two read periods in all, and return who still runs."""
        started = [reader for reader in self._readers.values() if reader.ident is not None]
        # Twice: a read may have begun just before the stop.
        period_s = max((reader.driver.read_period_s for reader in started), default=0.0)
        ends_ns = self._clock_ns() + int((2 * period_s + CLOSING_S) * 1e9)
        for reader in started:
            reader.join(max(0, ends_ns - self._clock_ns()) / 1e9)
        return [name for name, reader in self._readers.items() if reader.is_alive()]
