"""How many calls may run at the same time: for each identity, and for each listener.

What is beyond is refused at once, before anything is read of it. The queue of
draws has a bound of its own (`gate.max_waiters`), which tells when to come
back; this one bounds what all calls together can take of the daemon.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from entropyd.errors import OverloadError
from entropyd.service.identity import Identity

# Calls that do not wait take milliseconds: a quarter of a second later some have ended.
RETRY_AFTER_S = 0.25


class Admission:
    """Counts running calls of all listeners. Owned by the event loop's thread."""

    def __init__(self) -> None:
        """Start with none."""
        self._running: Counter[str] = Counter()

    @contextmanager
    def one(self, identity: Identity) -> Iterator[None]:
        """Let one call of `identity` run until the block ends.

        Raises:
            OverloadError: it has as many as it may; nothing was spent.
        """
        with self.within(f"client {identity.name}", identity.max_calls):
            yield

    @contextmanager
    def within(self, name: str, limit: int) -> Iterator[None]:
        """Let one of at most `limit` calls under `name` run until the block ends.

        Raises:
            OverloadError: there are as many; nothing was spent.
        """
        if self._running[name] >= limit:
            raise OverloadError(
                f"{limit} calls are running for {name}, as many as `max_calls` allows; expected"
                " fewer at the same time",
                retry_after_s=RETRY_AFTER_S,
            )
        self._running[name] += 1
        try:
            yield
        finally:
            self._running[name] -= 1
            if not self._running[name]:
                del self._running[name]
