"""How many hands of each table are open, and how many of them are being dealt.

Counted once from the ledger, and from then on as hands go on. What is asked for
and not recorded yet takes its room too, so that calls at the same time cannot
pass a limit together.

Owned by the event loop's thread.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from entropyd.errors import TableFullError
from entropyd.hands.hand import ENDED, Hand

# How many hands opened from another's discards may go beyond the limits of their table: one goes on
# with its parent, and takes nothing from the hand that is prepared meanwhile.
CHILDREN = 1
# Of tables at which nothing goes on, the counts of the last ones are kept: most often a hand has
# just ended there and the next is opened. Some 300 bytes each.
MAX_IDLE = 4096


@dataclass(slots=True)
class _Table:
    """What is counted of a table.

    Attributes:
        steps: on their way into the ledger; meanwhile the counts are not read anew.
        opening: hands whose opening is not decided yet.
        open: hands that have not ended.
        children: those of both that are opened from another's discards.
        dealing: open ones that have been dealt from.
        doubtful: a step was not confirmed: they are counted again once nothing is on its way.
    """

    steps: int = 0
    opening: int = 0
    open: int = 0
    children: int = 0
    dealing: int = 0
    doubtful: bool = False

    @property
    def is_idle(self) -> bool:
        return not (self.steps or self.opening) and (self.doubtful or not self.open)


@dataclass(frozen=True, slots=True)
class HandLimits:
    """The policy of hands that are dealt card by card.

    Attributes:
        open: most hands of a table that have not ended, at least 1.
        dealing: most of them that have been dealt from, at least 1.
        expire_after_ns: when a hand that has not ended is void, after it was opened.
        max_window_ns: the longest that seats may be given to contribute.
    """

    open: int
    dealing: int
    expire_after_ns: int
    max_window_ns: int


class HandTables:
    """Counts hands at tables."""

    def __init__(self, live: Callable[[str, str], Iterable[Hand]]) -> None:
        """Begin with no table counted.

        Args:
            live: returns the hands of a tenant and table that have not ended, from the ledger.
        """
        self._live = live
        self._tables: dict[tuple[str, str], _Table] = {}
        self._idle: OrderedDict[tuple[str, str], None] = OrderedDict()

    def reserve(self, tenant: str, table: str, limit: int, *, child: bool = False) -> None:
        """Take room for a hand that is being opened; `release` gives it back.

        Args:
            tenant: whose table.
            table: which.
            limit: most hands of it that may be open, a child aside.
            child: whether it is opened from another's discards.

        Raises:
            TableFullError: there is none.
        """
        counted = self._of(tenant, table)
        taken = counted.open + counted.opening
        if taken >= limit + (CHILDREN if child else min(CHILDREN, counted.children)):
            self._forget_idle(tenant, table)
            raise TableFullError(
                f"table {table!r}: {taken} hands are open, as many as `[hands] per_table_open`"
                " allows; close or void one before the next is opened"
            )
        counted.opening += 1
        counted.children += child

    def release(self, tenant: str, table: str, opened: Hand | None, *, child: bool = False) -> None:
        """Give back the room of a hand whose opening is decided.

        Args:
            tenant: whose table.
            table: which.
            opened: the hand, if this opening was recorded.
            child: as it was reserved.
        """
        counted = self._of(tenant, table)
        counted.opening -= 1
        counted.open += _is_live(opened)
        counted.children -= child and not _is_live(opened)
        self._forget_idle(tenant, table)

    def doubt(self, tenant: str, table: str) -> None:
        """Count a table again: a step was not confirmed, and may be recorded or not."""
        self._of(tenant, table).doubtful = True

    def begin_step(self, before: Hand, after: Hand, limit: int) -> None:
        """Begin a step, which takes room where it deals the first card; `end_step` follows.

        Args:
            before: the hand as it is recorded.
            after: as it will be.
            limit: most hands of the table that may be dealt at the same time.

        Raises:
            TableFullError: as many are. Nothing was begun.
        """
        counted = self._of(before.opened.tenant, before.opened.table)
        begins = _is_dealt(after) and not _is_dealt(before)
        if begins:
            try:
                before.require_room(dealing=counted.dealing, limit=limit)
            except TableFullError:
                self._forget_idle(before.opened.tenant, before.opened.table)
                raise
        counted.steps += 1
        counted.dealing += begins

    def end_step(self, before: Hand, after: Hand, *, recorded: bool) -> None:
        """Count a step that is decided.

        Args:
            before: the hand as it was recorded.
            after: as it was to be.
            recorded: whether it is that now.
        """
        tenant, table = before.opened.tenant, before.opened.table
        counted = self._of(tenant, table)
        counted.steps -= 1
        if not recorded:
            counted.dealing -= _is_dealt(after) and not _is_dealt(before)
        else:
            ended = _is_live(before) and not _is_live(after)
            counted.open -= ended
            counted.children -= ended and _is_child(before)
            counted.dealing -= _is_dealt(before) and not _is_dealt(after)
        self._forget_idle(tenant, table)

    def _of(self, tenant: str, table: str) -> _Table:
        counted = self._tables.get((tenant, table))
        self._idle.pop((tenant, table), None)
        if counted is None:
            counted = self._tables[tenant, table] = _Table()
            for hand in self._live(tenant, table):
                counted.open += 1
                counted.children += _is_child(hand)
                counted.dealing += _is_dealt(hand)
        return counted

    def _forget_idle(self, tenant: str, table: str) -> None:
        """Keep little of tables at which nothing goes on: there may be a million."""
        key = tenant, table
        if not self._tables[key].is_idle:
            return
        if self._tables[key].doubtful:
            del self._tables[key]
            return
        self._idle[key] = None
        if len(self._idle) > MAX_IDLE:
            oldest, _ = self._idle.popitem(last=False)
            del self._tables[oldest]


def _is_live(hand: Hand | None) -> bool:
    return hand is not None and hand.state not in ENDED


def _is_dealt(hand: Hand) -> bool:
    return _is_live(hand) and bool(hand.runs)


def _is_child(hand: Hand) -> bool:
    return hand.opened.rules.parent is not None
