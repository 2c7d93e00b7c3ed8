"""Reads of what was drawn, which are recorded as draws are.

Who shows the claim is shown its own again, also while the ledger fails: a
game goes on with it. The read of an auditor, or of who shows cards to others,
waits for its record: what was secret leaves, and there must be no time at
which nobody can tell to whom.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Protocol

from entropyd.ledger.contract import Event, EventKind


class EventStore(Protocol):
    """What is needed of the ledger's writer."""

    def note(self, event: Event) -> None:
        """Remember an event with the next commit; see `GroupCommitWriter.note`."""
        ...

    def record(self, event: Event) -> "asyncio.Future[None]":
        """Remember an event; see `GroupCommitWriter.record`."""
        ...


async def keep_read(
    events: EventStore,
    kind: EventKind,
    subject: str,
    detail: Mapping[str, object],
    *,
    at_ns: int,
    durable: bool,
) -> None:
    """Remember a read before it is answered.

    Args:
        events: where.
        kind: of what.
        subject: `<tenant>/<id>`.
        detail: who read how much; stands in the ledger as JSON.
        at_ns: wall clock.
        durable: whether to return only when the ledger has it.

    Raises:
        LedgerUnavailableError: the ledger fails, and the read is to be durable; show nothing.
        ShuttingDownError, LedgerError: the same, for good.
    """
    event = Event(kind=kind, subject=subject, detail=json.dumps(detail), at_ns=at_ns)
    if durable:
        await events.record(event)
    else:
        events.note(event)
