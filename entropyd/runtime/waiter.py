"""Whoever waits for a draw: for hands, or for one that is recorded as steps of a subject.

Owned by the event loop's thread.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from entropyd.entropy.gate import GatedSeed, SourceUse
from entropyd.ledger.contract import Outcome
from entropyd.ledger.subjects import StepOutcome
from entropyd.rbg.construction import GrowingSeeds
from entropyd.runtime.orders import DrawOrder, StepOrder

R = TypeVar("R")


class AnyWaiter(Generic[R]):
    """What all of them share.

    Attributes:
        tenant: whose draw.
        places: how many places it takes in the queue.
        seeds: how many seeds it takes.
        lacking: how many of them were not released yet.
        arrived_ns: since when it waits.
        drawn: the samples are spent. From here on nothing but the ledger ends
            it: what was drawn is on its way to being spent.
        decided: it was recorded, or failed.
    """

    __slots__ = (
        "_error",
        "_listeners",
        "_outcomes",
        "arrived_ns",
        "decided",
        "drawn",
        "lacking",
        "places",
        "seeds",
        "tenant",
    )

    def __init__(self, tenant: str, *, places: int, seeds: int, arrived_ns: int) -> None:
        self.tenant = tenant
        self.places = places
        self.seeds = self.lacking = seeds
        self.arrived_ns = arrived_ns
        self.drawn = False
        self.decided = False
        self._outcomes: Sequence[R] = ()
        self._error: BaseException | None = None
        self._listeners: list[Callable[[Any], None]] = []

    @property
    def gathers(self) -> bool:
        """Whether its seeds come in parts, also when nobody waits for it any more."""
        return False

    def outcomes(self) -> Sequence[R]:
        """Return an outcome for each of its drafts, once it is decided.

        Raises:
            EntropydError: it failed.
        """
        if self._error is not None:
            raise self._error
        return self._outcomes

    def listen(self, listener: Callable[[Any], None]) -> None:
        """Have `listener` called when it is decided: at that moment, in the order of listening."""
        self._listeners.append(listener)

    def ignore(self, listener: Callable[[Any], None]) -> None:
        """Have `listener` not called any more."""
        with contextlib.suppress(ValueError):
            self._listeners.remove(listener)

    def decide(self, outcomes: Sequence[R], error: BaseException | None = None) -> None:
        """Tell everybody who listens what became of it. Called once."""
        self.decided, self._outcomes, self._error = True, outcomes, error
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(self)


class Waiter(AnyWaiter[Outcome]):
    """Whoever asked first for undrawn hands, and whoever else asks for them meanwhile.

    Attributes:
        orders: the hands, at least one.
        batch: whether they share a reseed, which costs a seed, and are one record.
    """

    __slots__ = ("batch", "orders")

    def __init__(self, orders: Sequence[DrawOrder], *, batch: bool, arrived_ns: int) -> None:
        super().__init__(
            orders[0].tenant,
            places=len(orders),
            seeds=sum([order.seeds for order in orders]) + batch,
            arrived_ns=arrived_ns,
        )
        self.orders = orders
        self.batch = batch


class StepWaiter(AnyWaiter[StepOutcome]):
    """Whoever asked first for a draw that is recorded as steps.

    Attributes:
        order: what to draw.
        growing: its seeds, as far as they are made.
    """

    __slots__ = ("_uses", "growing", "order")

    def __init__(self, order: StepOrder, *, arrived_ns: int) -> None:
        super().__init__(order.tenant, places=1, seeds=order.seeds, arrived_ns=arrived_ns)
        self.order = order
        self.growing = GrowingSeeds(order.binding, order.seeds)
        self._uses: dict[tuple[str, str], SourceUse] = {}

    def note(self, released: Sequence[GatedSeed]) -> None:
        """Remember where seeds came from, added up by source and class. Their samples are not kept.

        A large draw waits for thousands of seeds: adding them up at its end would take a turn.
        """
        for seed in released:
            for use in seed.uses:
                key = use.entropy_class, use.source_id
                before = self._uses.get(key)
                self._uses[key] = use if before is None else before.plus(use)

    @property
    def released(self) -> list[GatedSeed]:
        """What the provenance is made of: as many as it has seeds, all that they took in the first.

        No samples.
        """
        first = GatedSeed((), (), (), tuple(self._uses.values()))
        return [first] + [GatedSeed((), (), (), ())] * (self.seeds - 1)

    @property
    def gathers(self) -> bool:
        """Whether its seeds come in parts."""
        return self.order.gathers


class StepRecording(AnyWaiter[StepOutcome]):
    """Steps that nothing is drawn for, on their way into the ledger."""

    __slots__ = ()

    def __init__(self, tenant: str, *, arrived_ns: int) -> None:
        super().__init__(tenant, places=0, seeds=0, arrived_ns=arrived_ns)
        self.drawn = True


# Whose seeds are awaited.
Queued = Waiter | StepWaiter
Waiting = AnyWaiter[Any]
