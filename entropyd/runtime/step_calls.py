"""Calls for what is recorded as steps of a subject: a draw of a match, a raffle, a seed pair.

They wait in the same fair queue as hands, and take the same steps; what is
found, judged and answered is their caller's affair:

    in_progress   somebody draws it already: `follow`, and look it up
    enqueue       what was never drawn waits for the gate, if the ledger could record it
    record        steps that nothing is drawn for go to the ledger at once
    outcomes      recorded, or the time is over, or the caller hung up

Owned by the event loop's thread.
"""

import asyncio
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from entropyd.errors import EntropydError, OverloadError
from entropyd.ledger.subjects import StepDraft, StepOutcome
from entropyd.runtime.fill_rate import MAX_RETRY_S
from entropyd.runtime.orders import StepOrder
from entropyd.runtime.steps import Steps
from entropyd.runtime.waiter import AnyWaiter, StepRecording, StepWaiter

# A sample of 100,000 of 2^32 items, of which seven fill a segment: no draw takes more seeds.
MOST_SEEDS = 14_286
# Of one tenant's draws that gather at the same time: each may hold a list of 1 MiB, which takes ten
# times that while it waits; and a seed and where it came from take 0.5 KiB. 100 MiB in all.
MAX_GATHERING = 8
MAX_GATHERING_SEEDS = 2 * MOST_SEEDS


class StepCalls:
    """What calls for such draws do."""

    def __init__(self, steps: Steps) -> None:
        """Make it.

        Args:
            steps: what they share with calls for hands.
        """
        self._steps = steps

    @contextmanager
    def call(self) -> Iterator[int]:
        """Count a call until the block ends; yield when it began. One that fails is noted."""
        arrived_ns = self._steps.enter()
        try:
            yield arrived_ns
        except (EntropydError, asyncio.CancelledError) as error:
            self._steps.note_failure(error, arrived_ns)
            raise
        finally:
            self._steps.leave()

    def note_replayed(self, arrived_ns: int) -> None:
        """Tell the observer of a call that was answered from the ledger."""
        self._steps.note_replayed(arrived_ns)

    def in_progress(self, key: Hashable) -> StepWaiter | None:
        """Return who draws under a key now, or waits to."""
        return self._steps.draws.of_step(key)

    def require_served(self, place: str) -> None:
        """Refuse what another node draws.

        Raises:
            WrongNodeError: the match, raffle or player is not this node's.
        """
        self._steps.require_served(place)

    def enqueue(self, order: StepOrder) -> StepWaiter:
        """Let a draw wait that is not in progress, and draw if the gate lets it.

        Raises:
            ShuttingDownError: nothing new is drawn any more.
            WrongNodeError: another node draws for its place.
            OverloadError: too many wait, or too many draws of the tenant gather seeds.
            LedgerError: what would be drawn could not be recorded.
        """
        steps = self._steps
        steps.require_open()
        steps.require_served(order.place)
        if not steps.draws.has_room(order.tenant, 1):
            raise steps.overload_error(len(steps.draws), order.tenant)
        if order.gathers:
            self._require_room_to_gather(order)
        waiter = steps.draws.add_step(order)
        steps.draws.pump()
        return waiter

    def record(self, tenant: str, place: str | None, drafts: Sequence[StepDraft]) -> StepRecording:
        """Have steps recorded that nothing is drawn for, together.

        Args:
            tenant: whose.
            place: what decides whether this node records them; None: they go on with what is
                recorded here, and so nowhere else.
            drafts: at least one.

        Raises:
            ShuttingDownError: nothing new is recorded any more.
            WrongNodeError: another node does.
            LedgerError: they could not be recorded.
        """
        self._steps.require_open()
        if place is not None:
            self._steps.require_served(place)
        return self._steps.draws.record(tenant, drafts)

    async def follow(self, other: StepWaiter, answer_by_ns: int) -> None:
        """Wait until what another call asked for is decided; then look it up.

        Raises:
            EntropydError: this call's time is over, or too many wait for others' draws.
        """
        await self._steps.follow(other, answer_by_ns)

    async def outcomes(
        self, waiter: AnyWaiter[StepOutcome], answer_by_ns: int
    ) -> Sequence[StepOutcome]:
        """Wait for what this call asked for.

        Raises:
            EntropydError: it failed, or the time is over. Unless it was drawn, or gathers, it was
                given up, and nothing was spent.
        """
        return await self._steps.outcomes(waiter, answer_by_ns)

    def busy(self, text: str) -> EntropydError:
        """Return what a caller is told whose time was over before its turn at something came."""
        return self._steps.hold_error(text, None)

    def _require_room_to_gather(self, order: StepOrder) -> None:
        going_on = self._steps.draws.gathering(order.tenant)
        seeds = sum(waiter.seeds for waiter in going_on)
        if going_on and (
            len(going_on) >= MAX_GATHERING or seeds + order.seeds > MAX_GATHERING_SEEDS
        ):
            raise OverloadError(
                f"{len(going_on)} large draws of tenant {order.tenant!r} go on and take"
                f" {seeds} seeds; expected at most {MAX_GATHERING} draws and"
                f" {MAX_GATHERING_SEEDS} seeds with this one, which takes {order.seeds}; nothing"
                " was spent, ask again later",
                retry_after_s=MAX_RETRY_S,
            )
