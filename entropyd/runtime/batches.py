"""A batch: many hands, all of them or none, in one record.

Its ids are looked up before anything is drawn, and are being drawn until its
commit has ended. So the ledger cannot find one of them spent then: every
earlier draw of it had ended when it was looked up, no other begins meanwhile,
and no other daemon has the ledger.
"""

import asyncio
from collections.abc import Sequence

from entropyd.entropy.gate import HoldReason
from entropyd.errors import EntropydError, RequestError
from entropyd.runtime.orders import Dealt, DrawOrder
from entropyd.runtime.steps import Steps, dealt_of


async def deal_batch(
    steps: Steps, orders: Sequence[DrawOrder], *, answer_by_ns: int
) -> list[Dealt]:
    """Return the records of hands, drawing together those that never were. See `Dealer`."""
    arrived_ns = steps.enter()
    try:
        dealt = await _deal(steps, orders, answer_by_ns)
    except (EntropydError, asyncio.CancelledError) as error:
        steps.note_failure(error, arrived_ns)
        raise
    finally:
        steps.leave()
    steps.note(dealt, arrived_ns)
    return dealt


async def _deal(steps: Steps, orders: Sequence[DrawOrder], answer_by_ns: int) -> list[Dealt]:
    await steps.follow_others(orders, answer_by_ns)
    dealt = _find(steps, orders)
    undrawn = [order for order in orders if order.hand not in dealt]
    if undrawn:
        _refuse_hopeless(steps, undrawn, answer_by_ns)
        waiter = steps.enqueue(undrawn, batch=True)
        steps.draws.pump()
        outcomes = await steps.outcomes(waiter, answer_by_ns)
        for order, outcome in zip(undrawn, outcomes, strict=True):
            dealt[order.hand] = dealt_of(order, outcome)
    return [dealt[order.hand] for order in orders]


def _find(steps: Steps, orders: Sequence[DrawOrder]) -> dict[str, Dealt]:
    """Return the hands of a batch that were drawn before."""
    spent = steps.spent_among(orders)
    found = {order.hand: steps.find(order) for order in orders if order.hand in spent}
    return {hand: dealt for hand, dealt in found.items() if dealt is not None}


def _refuse_hopeless(steps: Steps, orders: Sequence[DrawOrder], answer_by_ns: int) -> None:
    """Let no batch wait that cannot be had in its time: whoever came after waits behind it."""
    if not steps.gate.fits_batch(len(orders)):
        raise RequestError(
            "hands",
            f"{len(orders)} need more entropy at once than the reservoir holds; send fewer in a"
            " batch, or raise gate.reservoir_bytes",
        )
    now_ns = steps.clock_ns()
    hold = steps.gate.check_batch(orders[0].tenant, len(orders), now_ns)
    if hold is None or hold.why is not HoldReason.HARDWARE_SHORT:
        return
    missing = hold.needed_millibits - hold.available_millibits
    if not steps.fill_rate.comes_in(missing, answer_by_ns - now_ns, now_ns):
        raise steps.hold_error(hold.text, hold)
