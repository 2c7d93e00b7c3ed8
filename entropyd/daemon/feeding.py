"""What the service manager's watchdog is fed for: the loop, the writer and the readers go on."""

import os
import time

from entropyd.ops.notify import Notifier, Progress, Watchdog, watchdog_limit_ns
from entropyd.runtime.supervisor import Supervisor
from entropyd.runtime.writer import GroupCommitWriter


class Feeding:
    """Feeds the watchdog, if there is one. Owned by the event loop's thread."""

    def __init__(
        self, notifier: Notifier, supervisor: Supervisor, writer: GroupCommitWriter
    ) -> None:
        """Make it; `feed` feeds."""
        self._notifier = notifier
        self._supervisor = supervisor
        self._writer = writer
        limit_ns = watchdog_limit_ns(os.environ, os.getpid())
        self._watchdog: Watchdog | None = None
        if limit_ns is not None:
            names = ("loop", "writer", *supervisor.progress())
            self._watchdog = Watchdog(names, limit_ns=limit_ns, now_ns=time.monotonic_ns())

    def feed(self, turns: int) -> None:
        """Feed, unless something stands still.

        Args:
            turns: how often the loop has turned.
        """
        if self._watchdog is None:
            return
        stats = self._writer.stats
        progress = {name: Progress(count) for name, count in self._supervisor.progress().items()}
        progress["loop"] = Progress(turns)
        idle = stats.queued == 0
        progress["writer"] = Progress(stats.commits + stats.failures, idle=idle)
        if self._watchdog.should_feed(progress, time.monotonic_ns()):
            self._notifier.feed()
