"""Whoever watches a hand is woken when a step of it was recorded, and by nothing else.

Nothing is kept for a watcher: one that is slow is told the newest, and not what
it missed. Owned by the event loop's thread.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager

from entropyd.errors import OverloadError
from entropyd.hands.hand import ENDED, Hand
from entropyd.runtime.hand_turns import HandName
from entropyd.runtime.kept_hands import KeptHand
from entropyd.service.admission import RETRY_AFTER_S
from entropyd.service.status_feed import either

# Of one tenant: ten at each of 400 tables. Each takes an HTTP/2 stream and some 10 KiB.
MAX_WATCHERS = 4096

_Key = tuple[str, str]


class HandFeed:
    """Every hand that is watched, as long as it is."""

    def __init__(self, over: asyncio.Event) -> None:
        """Make a feed.

        Args:
            over: set when nobody is told any more.
        """
        self._over = over
        self._watchers: Counter[_Key] = Counter()
        self._of_tenants: Counter[str] = Counter()
        self._changed: dict[_Key, asyncio.Event] = {}

    def changed(self, hand: Hand) -> None:
        """Wake whoever watches a hand."""
        key = hand.opened.tenant, hand.opened.hand
        if key in self._changed:
            changed, self._changed[key] = self._changed[key], asyncio.Event()
            changed.set()

    async def watch(
        self, name: HandName, ask: Callable[[], KeptHand]
    ) -> AsyncGenerator[KeptHand, None]:
        """Yield the hand as it is, and whenever it went on, until it has ended or all is over.

        Args:
            name: which.
            ask: returns it as it is recorded.

        Raises:
            OverloadError: the tenant watches as many hands as it may.
            EntropydError: what `ask` raises.
        """
        key = name.tenant, name.hand
        with self._watcher(key):
            told = 0
            while not self._over.is_set():
                changed = self._changed[key]
                kept = ask()
                if kept.steps != told:
                    told = kept.steps
                    yield kept
                if kept.hand.state in ENDED:
                    return
                await either(changed, self._over)

    @contextmanager
    def _watcher(self, key: _Key) -> Iterator[None]:
        tenant, _ = key
        if self._of_tenants[tenant] >= MAX_WATCHERS:
            raise OverloadError(
                f"tenant {tenant!r} watches {MAX_WATCHERS} hands, as many as it may; end one of"
                " these calls, or ask GetHand",
                retry_after_s=RETRY_AFTER_S,
            )
        self._of_tenants[tenant] += 1
        self._watchers[key] += 1
        self._changed.setdefault(key, asyncio.Event())
        try:
            yield
        finally:
            self._of_tenants[tenant] -= 1
            self._watchers[key] -= 1
            if not self._watchers[key]:
                del self._watchers[key], self._changed[key]
