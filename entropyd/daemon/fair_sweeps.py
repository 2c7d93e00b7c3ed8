"""When overdue seed pairs are looked for: one run at a time, a while after the one before."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from entropyd.errors import EntropydError
from entropyd.ops.logs import get_logger
from entropyd.runtime.fair_sweep import FairSweep, Stuck

# A pair may live a minute at least (`fair.reveal_after`), thirty days by default: half a minute
# late is early enough.
PAUSE_NS = 30_000_000_000
# Lines are never forgotten, and a run looks at all of them, each for 25 us: of a million it takes
# 25 s. So many nanoseconds more for each line leave a run a twentieth of the time.
PAUSE_A_LINE_NS = 20 * 25_000
# What an operator alone can end is told when it is first met and then once a day: a run meets it
# every half minute, for as long as it lasts.
TELL_AGAIN_NS = 86_400_000_000_000


class SweepObserver(Protocol):
    """Who counts pairs that are revealed."""

    def swept(self, *, revealed: int, overdue: int) -> None:
        """Note what a run did, and how many pairs are overdue still."""
        ...


class FairSweeps:
    """Runs the sweep of a daemon. Owned by the event loop's thread."""

    def __init__(
        self,
        sweep: FairSweep,
        tenants: Sequence[str],
        *,
        observer: SweepObserver,
        clock_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        """Make it; nothing runs yet."""
        self._sweep = sweep
        self._tenants = tenants
        self._observer = observer
        self._clock_ns = clock_ns
        self._wall_ns = wall_ns
        self._on_fatal = on_fatal
        self._log = get_logger("fair")
        # By reason.
        self._told_ns: dict[str, int] = {}
        self._next_ns: int | None = None
        self._running: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin a run if none is running and the last one is a while ago. Cheap."""
        if self._running is not None:
            return
        if self._next_ns is not None and self._clock_ns() < self._next_ns:
            return
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        pause_ns = PAUSE_NS
        try:
            swept = await self._sweep.reveal(self._tenants, self._wall_ns())
            pause_ns = max(PAUSE_NS, PAUSE_A_LINE_NS * swept.lines)
            self._observer.swept(revealed=swept.revealed, overdue=swept.overdue)
            for stuck in swept.stuck:
                self._tell(stuck)
        except EntropydError as error:
            if error.fatal:
                self._on_fatal(error)
            else:
                self._log.warning("overdue pairs could not be revealed", reason=str(error))
        except Exception as error:  # noqa: BLE001  the one catch-all of a run, and it ends the daemon
            self._on_fatal(error)
        finally:
            self._next_ns = self._clock_ns() + pause_ns
            self._running = None

    def _tell(self, stuck: Stuck) -> None:
        now_ns, reason = self._clock_ns(), stuck.first.reason
        told_ns = self._told_ns.get(reason)
        if told_ns is not None and now_ns - told_ns < TELL_AGAIN_NS:
            return
        self._told_ns[reason] = now_ns
        self._log.warning(
            "overdue pairs could not be revealed", pairs=stuck.pairs, reason=str(stuck.first)
        )
