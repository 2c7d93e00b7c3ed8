"""Whoever watches the status is woken when it changed, and by nothing else.

The daemon's loop asks a few times a second. A status is computed once for all
watchers of a tenant, and for a tenant that nobody watches not at all. Owned by
the event loop's thread.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager

from entropyd.v1 import entropy_service_pb2

Status = entropy_service_pb2.GetStatusResponse

# Levels, counts and texts that hold such: they change all the time and wake nobody.
_VOLATILE = ("hold_text", "held_for", "waiters", "hands", "user_pooled_millibits")
_VOLATILE_OF_SOURCES = (
    "samples",
    "credited_samples",
    "assessed_millibits",
    "reservoir_millibits",
    "last_good_age",
)


class StatusFeed:
    """The status of each tenant that is watched, as it was when it last changed."""

    def __init__(self, ask: Callable[[str], Status], over: asyncio.Event) -> None:
        """Make a feed.

        Args:
            ask: tells a tenant's status now.
            over: set when nobody is told any more.
        """
        self._ask = ask
        self._over = over
        self._watchers: Counter[str] = Counter()
        self._known: dict[str, bytes] = {}
        self._changed: dict[str, asyncio.Event] = {}

    def poll(self) -> None:
        """Look at every watched tenant, and wake its watchers if its status changed."""
        for tenant in self._watchers:
            state = what_matters(self._ask(tenant))
            if state != self._known.get(tenant):
                self._known[tenant] = state
                changed, self._changed[tenant] = self._changed[tenant], asyncio.Event()
                changed.set()

    async def watch(self, tenant: str) -> AsyncGenerator[Status, None]:
        """Yield the status now, and again when it changed, until all is over."""
        with self._watcher(tenant):
            told = None
            while not self._over.is_set():
                changed = self._changed[tenant]
                status = self._ask(tenant)
                state = what_matters(status)
                if state != told:
                    told = state
                    yield status
                await either(changed, self._over)

    @contextmanager
    def _watcher(self, tenant: str) -> Iterator[None]:
        self._watchers[tenant] += 1
        self._changed.setdefault(tenant, asyncio.Event())
        try:
            yield
        finally:
            self._watchers[tenant] -= 1
            if not self._watchers[tenant]:
                del self._watchers[tenant], self._changed[tenant]
                self._known.pop(tenant, None)


async def either(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def what_matters(status: Status) -> bytes:
    """Return what two statuses must differ in for a watcher to be told."""
    copy = Status()
    copy.CopyFrom(status)
    for name in _VOLATILE:
        copy.ClearField(name)  # type: ignore[arg-type]
    for source in copy.sources:
        for name in _VOLATILE_OF_SOURCES:
            source.ClearField(name)  # type: ignore[arg-type]
    return copy.SerializeToString(deterministic=True)
