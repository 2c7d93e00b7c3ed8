"""Reveals pairs that nobody rotated in time.

The daemon calls `reveal` with the time every so often. One run looks at all
lines, a page at a time, so that calls have their turns in between.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from entropyd.errors import (
    EntropyHoldError,
    LedgerUnavailableError,
    OverloadError,
    PairNotFoundError,
    SecretsDestroyedError,
    ShuttingDownError,
    WrongNodeError,
    WrongStateError,
)
from entropyd.games.pair_line import PairLine
from entropyd.games.pair_records import EXPIRED
from entropyd.games.pair_steps import LineOwner
from entropyd.runtime.fair import FairLines
from entropyd.runtime.line_records import ROWS_A_TURN, LineRecords

# How long one rotation waits for the gate: callers come first.
PATIENCE_NS = 5_000_000_000

# Another run finds the pair again.
_LATER = (EntropyHoldError, OverloadError, LedgerUnavailableError, ShuttingDownError)
# The line is another node's, went on meanwhile, or can never be rotated again.
_NOT_THIS_ONE = (PairNotFoundError, SecretsDestroyedError, WrongNodeError, WrongStateError)


@dataclass(frozen=True, slots=True)
class Swept:
    """What one run did.

    Attributes:
        revealed: pairs that were revealed.
        overdue: pairs that are overdue still: the number that an operator watches.
    """

    revealed: int
    overdue: int


class FairSweep:
    """Reveals overdue pairs."""

    def __init__(
        self, lines: FairLines, records: LineRecords, *, clock_ns: Callable[[], int]
    ) -> None:
        """Make it.

        Args:
            lines: rotates.
            records: finds lines.
            clock_ns: monotonic clock.
        """
        self._lines = lines
        self._records = records
        self._clock_ns = clock_ns

    async def reveal(self, tenants: Iterable[str], now_ns: int) -> Swept:
        """Reveal what is overdue.

        Args:
            tenants: whose lines.
            now_ns: wall clock, nanoseconds since 1970.

        Raises:
            EntropydError: the ledger cannot be read, is damaged, or a defect; what was revealed
                until then is recorded.
        """
        found: list[tuple[LineOwner, PairLine]] = []
        for tenant in tenants:
            found += await self._overdue(tenant, now_ns)
        revealed = 0
        try:
            for owner, line in found:
                revealed += await self._reveal(owner, line.pair)
        except _LATER:
            # What held this one would hold the others as well.
            pass
        return Swept(revealed, len(found) - revealed)

    def is_overdue(self, line: PairLine, now_ns: int) -> bool:
        """Tell whether a line's present pair should have been revealed, under the limits now."""
        limits = self._lines.limits
        return line.is_overdue(
            now_ns, reveal_after_ns=limits.reveal_after_ns, max_rounds=limits.max_rounds
        )

    async def _overdue(self, tenant: str, now_ns: int) -> list[tuple[LineOwner, PairLine]]:
        found: list[tuple[LineOwner, PairLine]] = []
        after = ""
        while page := list(self._records.lines(tenant, after, ROWS_A_TURN)):
            for player, line in page:
                if self.is_overdue(line, now_ns):
                    found.append((LineOwner(tenant, player), line))
            after = page[-1][0]
            await asyncio.sleep(0)
        return found

    async def _reveal(self, owner: LineOwner, pair: int) -> bool:
        """Return whether the pair is revealed now."""
        try:
            await self._lines.rotate(owner, pair, EXPIRED, self._clock_ns() + PATIENCE_NS)
        except _NOT_THIS_ONE:
            return False
        return True
