"""Keeps the anchor behind the ledger, by a second at most.

A thread of its own: the anchor's disk may be slow, full or gone, and no draw waits for it. While it
cannot be written the ledger goes on, its owner is told, and the last anchor still protects what was
recorded before it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

from entropyd.errors import EntropydError
from entropyd.ledger.anchor import Anchor, head_of, write_anchor

INTERVAL_S = 1.0
# A write that hangs (a network file system) is not waited for longer when we stop.
STOP_S = 2.0


class AnchorKeeper:
    """Writes the anchor when the ledger moved. Start it, stop it; its thread owns the file."""

    def __init__(
        self,
        path: Path,
        current: Callable[[], Anchor],
        *,
        report: Callable[[str | None], None],
        clock_ns: Callable[[], int],
        interval_s: float = INTERVAL_S,
        checkpoint: bytes = b"",
    ) -> None:
        """Make a keeper.

        Args:
            path: the anchor file.
            current: returns how far the ledger goes, synchronised; called on this thread.
            report: told on this thread why the anchor cannot be kept, None when it can again.
            clock_ns: monotonic clock.
            interval_s: seconds between two looks.
            checkpoint: of the log, signed, that is kept until another is given; empty for none.
        """
        self._path = path
        self._current = current
        self._report = report
        self._clock_ns = clock_ns
        self._level_ns = clock_ns()
        self._interval_s = interval_s
        self._checkpoint = checkpoint
        self._written: Anchor | None = None
        self._trouble: str | None = None
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="anchor", daemon=True)

    @property
    def age_s(self) -> float:
        """Seconds since the anchor was last known to be as far as the ledger. Any thread."""
        return (self._clock_ns() - self._level_ns) / 1e9

    def keep_checkpoint(self, checkpoint: bytes) -> None:
        """Keep another checkpoint of the log from the next look on. Any thread.

        Args:
            checkpoint: signed, and of entries that the ledger confirmed.

        Raises:
            CheckpointInvalidError: it is none; the one before it is kept.
        """
        head_of(checkpoint)
        self._checkpoint = checkpoint

    def start(self) -> None:
        """Start keeping."""
        self._thread.start()

    def stop(self) -> None:
        """Write where the ledger stands, and end. The ledger must still be open."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def _run(self) -> None:
        stopping = False
        while not stopping:
            stopping = self._stopping.wait(self._interval_s)
            self._keep()

    def _keep(self) -> None:
        try:
            # Read from the ledger after its commit was synchronised. If we die before the anchor
            # is written, it is older than the ledger, which is what it may be.
            looked_ns = self._clock_ns()
            anchor = replace(self._current(), checkpoint=self._checkpoint)
            if anchor != self._written:
                write_anchor(self._path, anchor)
            self._written = anchor
        except EntropydError as error:
            # Whatever it is, it moves no anchor. A ledger that contradicts itself ends the daemon
            # where it is written.
            self._tell(str(error))
        else:
            self._level_ns = looked_ns
            self._tell(None)

    def _tell(self, trouble: str | None) -> None:
        if (trouble is None) != (self._trouble is None):
            self._report(trouble)
        self._trouble = trouble
