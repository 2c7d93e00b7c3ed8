"""Who is next: first come first served within a tenant, tenants in turn.

A tenant that sends a thousand calls at once delays its own, and each of the
others by one draw a turn. The queue is bounded as a whole, and no tenant can
fill more than its share of it, so that a flood of one is refused at its own
door. A waiter takes as many places as it waits for hands. Owned by the event
loop's thread.
"""

from collections import Counter, OrderedDict
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")


class WaiterQueue(Generic[T]):
    """A bounded fair queue of waiters."""

    def __init__(self, *, capacity: int, share: int) -> None:
        """Make an empty queue.

        Args:
            capacity: most places in all, at least 1.
            share: most places of one tenant, 1 to `capacity`.
        """
        if not 1 <= share <= capacity:
            raise ValueError(f"share {share} is outside 1..{capacity}")
        self._capacity = capacity
        self._share = share
        # A dict keeps order and lets a waiter whose deadline came leave in O(1). The first tenant
        # is the one whose turn it is.
        self._tenants: OrderedDict[str, dict[T, int]] = OrderedDict()
        self._taken: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return how many places are taken."""
        return self._taken.total()

    @property
    def share(self) -> int:
        """Most places of one tenant."""
        return self._share

    def has_room(self, tenant: str, places: int = 1) -> bool:
        """Return whether `tenant` may add a waiter of so many places now.

        One that is larger than the share has room while nobody of its tenant
        waits: else it would never have any.
        """
        taken = self._taken[tenant]
        if not taken:
            return len(self) < self._capacity
        return len(self) + places <= self._capacity and taken + places <= self._share

    def add(self, tenant: str, waiter: T, places: int = 1) -> None:
        """Put `waiter` behind the others of its tenant. Ask `has_room` first."""
        self._tenants.setdefault(tenant, {})[waiter] = places
        self._taken[tenant] += places

    def first(self) -> T | None:
        """Return whose turn it is, or None, and leave it in its place.

        It stays first until it is removed: a draw of many seeds is not
        overtaken for ever by draws of one.
        """
        for mine in self._tenants.values():
            return next(iter(mine))
        return None

    def firsts(self) -> list[T]:
        """Return the first waiter of every tenant, in the order of their turns."""
        return [next(iter(mine)) for mine in self._tenants.values()]

    def row(self, tenant: str, most: int) -> list[T]:
        """Return the first waiters of a tenant, at most so many, and leave them there."""
        return list(islice(self._tenants.get(tenant, ()), most))

    def serve(self, tenant: str, waiter: T) -> None:
        """Take out a tenant's first waiter, and let the other tenants go before its next one."""
        self.discard(tenant, waiter)
        if tenant in self._tenants:
            self._tenants.move_to_end(tenant)

    def postpone(self, tenant: str, waiter: T) -> None:
        """Put a tenant's first waiter behind its others, and the tenant behind the others.

        For one that was served a part: each of its parts is paid with one turn of everybody else
        who waits now.
        """
        mine = self._tenants[tenant]
        mine[waiter] = mine.pop(waiter)
        self._tenants.move_to_end(tenant)

    def discard(self, tenant: str, waiter: T) -> bool:
        """Take out a waiter that gave up. Return whether it was still waiting."""
        mine = self._tenants.get(tenant)
        if mine is None or waiter not in mine:
            return False
        self._taken[tenant] -= mine.pop(waiter)
        if not mine:
            del self._tenants[tenant], self._taken[tenant]
        return True
