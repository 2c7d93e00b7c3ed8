"""Reveals pairs that nobody rotated in time.

The daemon calls `reveal` with the time every so often. One run looks at all
lines, a page at a time, so that calls have their turns in between.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from entropyd.errors import (
    EntropydError,
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
# The line went on meanwhile: there is nothing to reveal, or another run finds it.
_WENT_ON = (PairNotFoundError, WrongStateError)
# No run reveals it until an operator acts: the player is another node's, or its seed is destroyed.
_STUCK = (SecretsDestroyedError, WrongNodeError)


@dataclass(frozen=True, slots=True)
class Stuck:
    """Overdue pairs that no run reveals until an operator acts, all for one reason.

    Attributes:
        first: the refusal of the first one; names the player.
        pairs: how many the run met, at least 1.
    """

    first: EntropydError
    pairs: int


@dataclass(frozen=True, slots=True)
class Swept:
    """What one run did.

    Attributes:
        revealed: pairs that were revealed.
        overdue: pairs that are overdue still: the number that an operator watches.
        stuck: those of them that no run reveals, one for each reason. A run that ended early met
            some of them, or none.
        lines: at how many it looked.
    """

    revealed: int
    overdue: int
    lines: int
    stuck: tuple[Stuck, ...] = ()


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
        lines = 0
        for tenant in tenants:
            lines += await self._look(tenant, now_ns, found)
        revealed = 0
        refusals: list[EntropydError] = []
        try:
            for owner, line in found:
                revealed += await self._reveal(owner, line.pair, refusals)
        except _LATER:
            # What held this one would hold the others as well.
            pass
        return Swept(revealed, len(found) - revealed, lines, _stuck(refusals))

    def is_overdue(self, owner: LineOwner, line: PairLine, now_ns: int) -> bool:
        """Tell whether a line's present pair should have been revealed, under the limits now."""
        limits = self._lines.limits
        return self._lines.is_given_up(owner, line) or line.is_overdue(
            now_ns, reveal_after_ns=limits.reveal_after_ns, max_rounds=limits.max_rounds
        )

    async def _look(self, tenant: str, now_ns: int, found: list[tuple[LineOwner, PairLine]]) -> int:
        """Add a tenant's overdue lines to `found`; return how many lines it has."""
        after, lines = "", 0
        while page := list(self._records.lines(tenant, after, ROWS_A_TURN)):
            for player, line in page:
                owner = LineOwner(tenant, player)
                if self.is_overdue(owner, line, now_ns):
                    found.append((owner, line))
            after = page[-1][0]
            lines += len(page)
            await asyncio.sleep(0)
        return lines

    async def _reveal(self, owner: LineOwner, pair: int, refusals: list[EntropydError]) -> bool:
        """Return whether the pair is revealed now; add to `refusals` why no run will do it."""
        try:
            await self._lines.rotate(owner, pair, EXPIRED, self._clock_ns() + PATIENCE_NS)
        except _WENT_ON:
            return False
        except _STUCK as error:
            refusals.append(error)
            return False
        return True


def _stuck(refusals: Iterable[EntropydError]) -> tuple[Stuck, ...]:
    by_reason: dict[str, list[EntropydError]] = {}
    for error in refusals:
        by_reason.setdefault(error.reason, []).append(error)
    return tuple(Stuck(errors[0], len(errors)) for errors in by_reason.values())
