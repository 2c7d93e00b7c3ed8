"""What one transaction of the SQLite ledger does: drafts, notes and entries of the log together."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from entropyd.ledger.contract import Draft, DraftOutcome, Event, HandDraft
from entropyd.ledger.hand_rows import HandRows, hand_key
from entropyd.ledger.sqlite_batch import HandBatch
from entropyd.ledger.sqlite_facts import set_log_begins
from entropyd.ledger.sqlite_log import LogAppender, log_size
from entropyd.ledger.sqlite_numbers import HandNumbers
from entropyd.ledger.sqlite_steps import StepBatch
from entropyd.ledger.step_rows import StepRows
from entropyd.ledger.subjects import StepDraft

_NOTE = "INSERT INTO events (kind, subject, detail, at_ns) VALUES (?, ?, ?, ?)"
_SET_STATE = """
    INSERT INTO health_states VALUES (?, ?)
    ON CONFLICT (source_id) DO UPDATE SET state = excluded.state
"""


@dataclass(frozen=True)
class Means:
    """What a transaction needs beside its drafts.

    Attributes:
        hands, steps: make rows.
        archives: the directory of the archives.
    """

    hands: HandRows
    steps: StepRows
    archives: Path


class Fate(Protocol):
    """What becomes of a draft."""

    def append(self, log: LogAppender) -> None:
        """Append the draft's entries, and make it whole with their indices."""
        ...

    def outcome(self) -> DraftOutcome:
        """Return what its caller is told, after all was written."""
        ...


def write_all(  # noqa: PLR0917  as a commit has them
    writer: sqlite3.Connection,
    means: Means,
    log: LogAppender,
    drafts: Sequence[Draft],
    events: Sequence[Event],
    health_states: Sequence[tuple[str, str]],
) -> list[DraftOutcome]:
    """Write everything that a commit brings. Call inside a transaction.

    Entries of the log follow each other as the drafts do; those of events come behind them.

    Raises:
        LedgerDamagedError: the ledger contradicts itself.
        SecretsDestroyedError: of a spent hand or a taken step; whoever looked it up first was told.
        InternalError: an entry is no receipt.
        sqlite3.Error: as any statement.
    """
    outcomes = _write_drafts(writer, means, drafts, log) if drafts else []
    write_events(writer, events, log)
    write_states(writer, health_states)
    return outcomes


def _write_drafts(
    writer: sqlite3.Connection, means: Means, drafts: Sequence[Draft], log: LogAppender
) -> list[DraftOutcome]:
    """Decide all drafts in order, then make their entries in order, then write all of it.

    An entry says its index, which depends on how many the drafts before it have, and these on what
    is refused. So all is decided first.
    """
    hands = [draft for draft in drafts if isinstance(draft, HandDraft)]
    steps = [draft for draft in drafts if isinstance(draft, StepDraft)]
    keys = [hand_key(draft.tenant, draft.hand) for draft in hands]
    keys += [hand_key(draft.tenant, draft.name) for draft in steps if draft.table]
    numbers = HandNumbers(writer, keys)
    of_hands = HandBatch(writer, means.hands, numbers, means.archives, len(hands))
    of_steps = StepBatch(writer, means.steps, numbers, steps)
    fates: list[Fate] = [
        of_steps.take(draft) if isinstance(draft, StepDraft) else of_hands.take(draft)
        for draft in drafts
    ]
    for fate in fates:
        fate.append(log)
    of_hands.flush()
    of_steps.flush()
    numbers.flush()
    return [fate.outcome() for fate in fates]


def write_events(writer: sqlite3.Connection, events: Sequence[Event], log: LogAppender) -> None:
    """Append events in order, and with theirs flush all entries of the log."""
    writer.executemany(_NOTE, [(one.kind, one.subject, one.detail, one.at_ns) for one in events])
    for event in events:
        if event.entry is not None:
            log.append("", event.entry(log.next_index))
    log.flush()


def write_states(writer: sqlite3.Connection, states: Sequence[tuple[str, str]]) -> None:
    """Replace the health states of the sources named."""
    writer.executemany(_SET_STATE, states)


def begin_history(writer: sqlite3.Connection, origin: bytes, first: Event) -> None:
    """Give the ledger another origin, and that history its first event, with its entry.

    The log goes on under another name, so each table begins anew there.
    """
    writer.execute("UPDATE meta SET value = ? WHERE name = 'origin'", (origin,))
    set_log_begins(writer, log_size(writer))
    write_events(writer, [first], LogAppender(writer))
