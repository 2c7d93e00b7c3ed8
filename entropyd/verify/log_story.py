"""What entries of a log tell one after the other, and whether it can have happened so.

Spec: docs/protocol.md, "The log file", 3.
"""

from dataclasses import dataclass, field

from entropyd.errors import ProofMismatchError
from entropyd.log.events import Event
from entropyd.log.receipt import Receipt

_ORDER = (Event.OPEN, Event.ROLL, Event.SEAL, Event.CLOSE, Event.VOID)
_GAP = "an entry is left out of the range, or a hand is not shown"
_DRAWN_AGAIN = "the raffle was drawn again, or its list was exchanged: keep this file, it shows it"


@dataclass
class Story:
    """What was told so far.

    Attributes:
        from_beginning: the range begins with entry 0, so that nothing came before it.
        tables: whose `table` was seen -> how many hands it says that they had before this log.
        hands: (tenant, hand) -> its first and its last entry.
        sequences: (tenant, table) -> number of its last hand.
        draws: (tenant, match) -> number of its last draw.
        raffles: (tenant, raffle) -> its entries, the seal before the draw.
    """

    from_beginning: bool
    tables: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    hands: dict[tuple[str | None, str | None], tuple[Receipt, Receipt]] = field(
        default_factory=dict
    )
    sequences: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    draws: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    raffles: dict[tuple[str | None, str | None], list[Receipt]] = field(default_factory=dict)

    @property
    def unsealed(self) -> int:
        """How many raffles were drawn whose seal was not seen."""
        return sum(told[0].event is Event.DRAW for told in self.raffles.values())

    def goes_on(self, part: str, entry: Receipt) -> None:
        """Take the next entry.

        Args:
            part: where it stands in its file.
            entry: what it says.

        Raises:
            ProofMismatchError: it cannot follow what was told.
        """
        fault = self._fault(entry)
        if fault:
            cause = _GAP if entry.raffle is None else _DRAWN_AGAIN
            raise ProofMismatchError(fault, field=part, causes=(cause,))

    def _fault(self, entry: Receipt) -> str:
        if entry.event is Event.TABLE:
            return self._table(entry)
        if entry.event is Event.DRAW and entry.match is not None:
            match = (entry.tenant, entry.match)
            before = 0 if self.from_beginning else None
            return _counts(self.draws, match, entry.number or 0, before)
        if entry.raffle is not None:
            return self._raffle(entry)
        if entry.hand is not None:
            return self._hand(entry)
        return ""

    def _raffle(self, entry: Receipt) -> str:
        told = self.raffles.setdefault((entry.tenant, entry.raffle), [])
        if told and (entry.event is Event.SEAL or told[-1].event is Event.DRAW):
            return "is of a raffle that was sealed or drawn before"
        same = ("rules_hash", "entries")
        if any(getattr(entry, name) != getattr(seal, name) for seal in told for name in same):
            return "draws another list, or under other rules, than was sealed"
        told.append(entry)
        return ""

    def _table(self, entry: Receipt) -> str:
        table = (entry.tenant, entry.table)
        if table in self.tables or table in self.sequences:
            return "is the second of its table, or stands after a hand of it"
        self.tables[table] = entry.hands_before
        return ""

    def _hand(self, entry: Receipt) -> str:
        hand = (entry.tenant, entry.hand)
        known = self.hands.get(hand)
        if entry.event is Event.OPEN or entry.delivery is not None:
            fault = "opens a hand a second time" if known else self._opens(entry)
        elif known is None:
            unopened = entry.event is Event.VOID and entry.open_hash is None
            fault = "" if unopened or not self.from_beginning else "is of a hand without an open"
        else:
            fault = _step_fault(entry, *known)
        if not fault:
            self.hands[hand] = (known[0] if known else entry, entry)
        return fault

    def _opens(self, entry: Receipt) -> str:
        table = (entry.tenant, entry.table)
        if self.from_beginning and table not in self.tables:
            return "is of a hand before the table of it"
        return _counts(self.sequences, table, entry.sequence or 0, self.tables.get(table))


def _counts(
    numbers: dict[tuple[str | None, str | None], int],
    name: tuple[str | None, str | None],
    number: int,
    before: int | None,
) -> str:
    """Take the next number, the first one after `before`; None: that one may be any."""
    last = numbers.get(name, before)
    if last is not None and number != last + 1:
        return f"has number {number}; expected {last + 1}"
    numbers[name] = number
    return ""


def _step_fault(entry: Receipt, first: Receipt, last: Receipt) -> str:
    same = ("table", "sequence", "open_hash")
    roll = (last.contributions, last.contributions_root)
    faults = (
        (entry.open_hash is None, "is void before it was opened, and has entries"),
        (
            any(getattr(entry, name) != getattr(first, name) for name in same),
            "has another table, number or O than the hand",
        ),
        (last.event in {Event.CLOSE, Event.VOID}, "follows the end of its hand"),
        (
            entry.event not in _ORDER or _ORDER.index(entry.event) <= _ORDER.index(last.event),
            f"follows a {last.event} of its hand",
        ),
        (
            entry.event is Event.CLOSE and last.event is not Event.SEAL,
            "closes a hand without a seal",
        ),
        (
            entry.event is Event.SEAL
            and last.event is Event.ROLL
            and roll != (entry.contributions, entry.contributions_root),
            "has other contributions or another R than the roll",
        ),
    )
    return next((fault for holds, fault in faults if holds), "")
