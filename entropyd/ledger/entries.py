"""Entries of the log that a commit appends, and what they are made of.

A receipt states its own index, and that of a hand its number at the table. Both
are given in the transaction that records what the receipt is about, so drafts
bring functions: pure ones, called by the writer's thread, inside the transaction.

Spec: DESIGN, section 8; docs/protocol.md, "Receipts".
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assigned:
    """What a transaction gives to a draft.

    Attributes:
        sequence: q, the next number at the draft's table, from 1; 0 if it asks for none.
        index: of the draft's first entry in the log, from 0.
        number: of the step among its subject's, from 1.
    """

    sequence: int
    index: int
    number: int = 0


@dataclass(frozen=True, slots=True)
class Completed:
    """What a step becomes with its numbers.

    Attributes:
        public, state: in place of those of the draft.
        entries: texts of receipts in the order of their indices, each with its last newline.
    """

    public: bytes
    state: bytes
    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry as it was appended.

    Attributes:
        index: of its leaf, from 0.
        tenant: whose it is; "" for the daemon's own.
        text: of the receipt, with its last newline.
    """

    index: int
    tenant: str
    text: bytes


Complete = Callable[[Assigned], Completed]
"""Makes the step of its numbers."""

TableEntry = Callable[[str, str, int, int], bytes]
"""Makes the receipt of a table that has its first hand in this log, of tenant, table, index and how
many hands it had before."""

HandEntry = Callable[[int, int, bytes], bytes]
"""Makes the receipt of a hand that is dealt whole, of index, number and open hash."""

EventEntry = Callable[[int], bytes]
"""Makes the receipt of an event, of its index."""
