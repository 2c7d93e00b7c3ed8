"""Makes the steps that time brings about, also of hands that nobody asks for.

Windows end, sealed contributions stay unopened, hands expire: at the moment at
which each is due, and after a restart at once. The daemon ticks; a tick does a
bounded amount of work, so that calls have their turns in between.

Owned by the event loop's thread.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from entropyd.errors import (
    EntropyHoldError,
    HandNotFoundError,
    LedgerUnavailableError,
    OverloadError,
    ShuttingDownError,
)
from entropyd.hands.hand import Hand
from entropyd.runtime.hand_store import LIVE
from entropyd.runtime.hand_turns import HandName
from entropyd.runtime.hands import Hands
from entropyd.runtime.kept_hands import KeptHand

# Steps that wait for the ledger at the same time. One commit takes them all; callers go first.
MAX_AT_ONCE = 64
# At a start 32 hands are read in one go, in 5 ms, and 1,280 in a second: the hands of a room in the
# first one, 100,000 of a pool in little more than a minute.
ROWS_A_PAGE = 32
PAGES_A_TICK = 4
# How long one waits for callers of the same hand.
PATIENCE_NS = 5_000_000_000
# When one that failed is tried again: as soon as callers are told to ask again.
RETRY_NS = 1_000_000_000
# The queue is made anew when it holds twice as many entries as hands, and at least so many.
MIN_STALE = 1024

# Another try finds the hand as it is.
_LATER = (EntropyHoldError, OverloadError, LedgerUnavailableError, ShuttingDownError)


class HandSweep:
    """Advances hands that are due.

    Attributes:
        overdue_ns: for how long the oldest one has been due that was not advanced yet.
    """

    def __init__(
        self,
        hands: Hands,
        tenants: Sequence[str],
        *,
        clock_ns: Callable[[], int],
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        """Begin with what the ledger holds; `tick` reads it, a page at a time.

        Args:
            hands: advances them.
            tenants: whose.
            clock_ns: monotonic clock.
            on_fatal: told of what must never happen; the daemon then ends.
        """
        self._hands = hands
        self._tenants = tenants
        self._clock_ns = clock_ns
        self._on_fatal = on_fatal
        self._due: dict[HandName, int] = {}
        self._queue: list[tuple[int, str, str, str]] = []
        self._running: dict[HandName, asyncio.Task[None]] = {}
        self._scan: Iterator[None] | None = self._pages()
        self._stopped = False
        self.overdue_ns = 0

    def __len__(self) -> int:
        """Return how many hands it knows that have not ended."""
        return len(self._due)

    def rescan(self) -> None:
        """Look at all hands again: the limits changed."""
        self._scan = self._pages()

    def stop(self) -> None:
        """Begin nothing more. What runs is a call in flight, and ends as one."""
        self._stopped = True

    def note(self, hand: Hand) -> None:
        """Take in when a hand is due that was opened, or went on."""
        opened = hand.opened
        name = HandName(opened.tenant, opened.table, opened.hand)
        due_ns = self._hands.due_ns(hand)
        if due_ns is None:
            self._due.pop(name, None)
        elif self._due.get(name) != due_ns:
            self._put(name, due_ns)
        if len(self._queue) > 2 * len(self._due) + MIN_STALE:
            self._queue = [(due, *_texts(name)) for name, due in self._due.items()]
            heapify(self._queue)

    def look_at(self, name: HandName) -> None:
        """Look soon at a hand that may have been opened: its commit was not confirmed."""
        if name not in self._due:
            self._put(name, self._clock_ns() + RETRY_NS)

    def tick(self) -> None:
        """Read some pages, if any are left, and begin to advance what is due.

        Raises:
            LedgerDamagedError: a hand cannot be read. Fatal.
        """
        if self._stopped:
            return
        self._read_some()
        now_ns = self._clock_ns()
        while self._queue and len(self._running) < MAX_AT_ONCE:
            due_ns, *texts = self._queue[0]
            if due_ns > now_ns:
                break
            heappop(self._queue)
            name = HandName(*texts)
            if self._due.get(name) == due_ns and name not in self._running:
                self._begin(name)
        self.overdue_ns = max(0, now_ns - self._queue[0][0]) if self._queue else 0

    def _read_some(self) -> None:
        for _ in range(PAGES_A_TICK):
            if self._scan is None:
                return
            try:
                next(self._scan)
            except StopIteration:
                self._scan = None
            except LedgerUnavailableError:
                self.rescan()
                return

    def _pages(self) -> Iterator[None]:
        """Take in the hands of all pages, one page a turn."""
        for tenant in self._tenants:
            for state in LIVE:
                after = ("", 0)
                while page := self._hands.store.page(tenant, "", state, after, ROWS_A_PAGE):
                    for kept in page:
                        self._take(kept)
                    last = page[-1].hand.opened
                    after = last.table, last.sequence
                    yield

    def _take(self, kept: KeptHand) -> None:
        if self._hands.is_given_up(kept):
            opened = kept.hand.opened
            name = HandName(opened.tenant, opened.table, opened.hand)
            self._put(name, self._clock_ns())
        else:
            self.note(kept.hand)

    def _put(self, name: HandName, due_ns: int) -> None:
        self._due[name] = due_ns
        heappush(self._queue, (due_ns, *_texts(name)))

    def _begin(self, name: HandName) -> None:
        task = asyncio.get_running_loop().create_task(self._advance(name))
        self._running[name] = task
        task.add_done_callback(lambda done: self._end(name, done))

    async def _advance(self, name: HandName) -> None:
        kept, due_ns = None, None
        try:
            kept = await self._hands.advance(name, self._clock_ns() + PATIENCE_NS)
        except _LATER:
            due_ns = self._clock_ns() + RETRY_NS
        except HandNotFoundError:
            pass
        # It does not run any more when it is put: a tick would let one that does drop for good.
        del self._running[name]
        # Its limit may be another one by now, or its step another call's.
        self._due.pop(name, None)
        if kept is not None:
            self.note(kept.hand)
        elif due_ns is not None:
            self._put(name, due_ns)

    def _end(self, name: HandName, task: asyncio.Task[None]) -> None:
        if self._running.get(name) is task:
            del self._running[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_fatal(error)


def _texts(name: HandName) -> tuple[str, str, str]:
    return name.tenant, name.table, name.hand
