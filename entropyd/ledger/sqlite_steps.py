"""Subjects and their steps in the SQLite ledger: what one transaction writes."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from entropyd.errors import InternalError
from entropyd.ledger.chain import EMPTY
from entropyd.ledger.entries import Assigned, Completed
from entropyd.ledger.hand_rows import hand_key
from entropyd.ledger.sqlite_facts import last_step
from entropyd.ledger.sqlite_log import LogAppender
from entropyd.ledger.sqlite_numbers import DEALT_CARD_BY_CARD, HandNumbers, Numbered
from entropyd.ledger.sqlite_statements import Row, ask_many, insert_rows
from entropyd.ledger.sqlite_subjects import STEP_COLUMNS, check_destroyed
from entropyd.ledger.step_rows import (
    StepRows,
    StoredStep,
    SubjectId,
    check_steps,
    subject_id,
)
from entropyd.ledger.stored_row import row_damaged
from entropyd.ledger.subjects import (
    StepConflict,
    StepDraft,
    StepOutcome,
    StepRecord,
    StepRecorded,
    StepSpent,
    StepTaken,
    SubjectKind,
)

# CROSS JOIN: SQLite walks what was asked and finds each in an index, and never the other way round.
_GOING = """
    WITH asked (kind, tenant, name) AS (VALUES {values})
    SELECT a.kind, a.tenant, a.name, s.id, s.steps,
           (SELECT max(number) FROM steps WHERE subject_id = s.id)
    FROM asked a CROSS JOIN subjects s
        ON s.kind = a.kind AND s.tenant = a.tenant AND s.name = a.name
"""
# key != '' twice over: it is what lets the partial index be used.
_TAKEN = f"""
    WITH asked (subject_id, key) AS (VALUES {{values}})
    SELECT a.subject_id, {STEP_COLUMNS}
    FROM asked a CROSS JOIN steps t ON t.subject_id = a.subject_id AND t.key = a.key
    WHERE t.key != ''
"""  # noqa: S608  names of columns alone
_LAST_SUBJECT = "SELECT coalesce(max(id), 0) FROM subjects"
_SET_SUBJECTS = """
    INSERT INTO subjects (id, kind, tenant, name, steps, label, state, secret, proof) VALUES
"""
_OR_REPLACE = """
    ON CONFLICT (id) DO UPDATE SET steps = excluded.steps, label = excluded.label,
        state = excluded.state, secret = excluded.secret, proof = excluded.proof
"""
_INSERT_STEPS = """
    INSERT INTO steps (id, subject_id, number, step, key, at_ns, public, secret, link, proof) VALUES
"""
_INSERT_DEALT = """
    INSERT INTO dealt_hands (subject_id, tenant, table_name, sequence, label) VALUES
"""
_SET_DEALT_LABEL = "UPDATE dealt_hands SET label = ? WHERE subject_id = ? AND label != ?"


@dataclass(slots=True)
class _Going:
    """A subject in a commit that is under way.

    Attributes:
        row_id: of its row; 0 until it has a step.
        steps: how many it has, those of this commit included.
        taken: steps by their keys: those that the commit asks for, and its own.
        last: its last step, None until this commit writes one.
    """

    row_id: int = 0
    steps: int = 0
    taken: "dict[str, StepRecord | NewStep]" = field(default_factory=dict)
    last: "NewStep | None" = None


class StepBatch:
    """The steps of one transaction, in order: take all, append all, flush, ask for outcomes.

    All is looked up first, then decided, then written: a few statements for many drafts, as for
    hands (sqlite_batch.py). The database has the last word: a number or key that is there already
    ends the transaction.
    """

    def __init__(
        self,
        writer: sqlite3.Connection,
        rows: StepRows,
        numbers: HandNumbers,
        drafts: Sequence[StepDraft],
    ) -> None:
        """Look up what the drafts are about.

        Raises:
            LedgerDamagedError: a subject does not count its steps, or a taken step was changed.
            SecretsDestroyedError: of a taken step; whoever looked it up first was told.
            sqlite3.Error: as any statement.
        """
        self._writer = writer
        self._rows = rows
        self._numbers = numbers
        self._going = _going(writer, drafts)
        _find_taken(writer, rows, drafts, self._going)
        self._subjects, self._row_id, self._link = 0, 0, EMPTY
        if drafts:
            (self._subjects,) = writer.execute(_LAST_SUBJECT).fetchone()
            self._row_id, self._link = last_step(writer)
        self._salts = iter(rows.salts(len(drafts)))
        self._written: list[Row] = []
        self._dealt: list[NewStep] = []

    def take(self, draft: StepDraft) -> "NewStep | RefusedStep":
        """Give a step its number, or say why not."""
        salt = next(self._salts)
        subject = self._going[subject_id(draft)]
        taken = subject.taken.get(draft.key)
        if taken is not None:
            return RefusedStep(taken)
        if draft.expected not in {None, subject.steps}:
            return RefusedStep(StepConflict(subject.steps))
        key = hand_key(draft.tenant, draft.name) if draft.table else b""
        if draft.table and self._is_spent(key):
            return RefusedStep(StepSpent())
        if not subject.row_id:
            self._subjects += 1
            subject.row_id = self._subjects
        subject.steps += 1
        step = subject.last = NewStep(self, draft, subject.row_id, subject.steps, salt)
        if draft.key:
            subject.taken[draft.key] = step
        if draft.table:
            step.numbered = self._numbers.spend(key, DEALT_CARD_BY_CARD, draft.tenant, draft.table)
            self._dealt.append(step)
        return step

    def _is_spent(self, key: bytes) -> bool:
        spent = self._numbers.spent_by(key)
        if spent == DEALT_CARD_BY_CARD:
            # Its subject has no step: it was not found.
            raise row_damaged(f"spent/{key.hex()}", "hand_key", "leads to a hand that is not there")
        return spent is not None

    def write(self, draft: StepDraft, subject: int, number: int, salt: bytes) -> StepRecord:
        """Make the row of a step that is whole; return its record."""
        self._row_id += 1
        record, row = self._rows.write(draft, self._row_id, subject, number, self._link, salt=salt)
        self._link = row[-2]
        self._written.append(row)
        return record

    def flush(self) -> None:
        """Write the rows. The subjects first: what else there is refers to them."""
        changed = [one.last for one in self._going.values() if one.last is not None]
        snapshots = [
            self._rows.write_subject(one.draft, one.subject, one.number, salt)
            for one, salt in zip(changed, self._rows.salts(len(changed)), strict=True)
        ]
        insert_rows(self._writer, _SET_SUBJECTS, snapshots, then=_OR_REPLACE)
        insert_rows(self._writer, _INSERT_STEPS, self._written)
        insert_rows(self._writer, _INSERT_DEALT, [one.dealt_row() for one in self._dealt])
        labels = [
            (one.draft.label, one.subject, one.draft.label)
            for one in changed
            if one.draft.kind is SubjectKind.HAND
        ]
        self._writer.executemany(_SET_DEALT_LABEL, labels)


@dataclass(slots=True)
class NewStep:
    """A step that a transaction writes.

    Attributes:
        batch: which writes it.
        draft: as it came; from `append` on as it is recorded.
        subject: of which row it is a step.
        number: which one.
        salt: for its secret.
        numbered: what a hand that is opened got.
        record: what it becomes; None until `append`.
        completed: what its draft was completed with, if it had to be.
        index: of the first of its entries in the log.
    """

    batch: StepBatch
    draft: StepDraft
    subject: int
    number: int
    salt: bytes = field(repr=False)
    numbered: Numbered | None = None
    record: StepRecord | None = None
    completed: Completed | None = None
    index: int = 0

    def append(self, log: LogAppender) -> None:
        """Complete the step with its numbers, and append its entries to the log."""
        draft, numbered = self.draft, self.numbered
        if draft.complete is not None:
            if numbered is not None:
                numbered.append_table(log, draft.tenant, draft.table)
            index = log.next_index
            sequence = numbered.sequence if numbered else 0
            done = draft.complete(Assigned(sequence, index, self.number))
            for text in done.entries:
                log.append(draft.tenant, text)
            if numbered is not None and done.entries:
                numbered.log_index = index
            self.draft = replace(draft, public=done.public, state=done.state, complete=None)
            self.completed, self.index = done, index
        self.record = self.batch.write(self.draft, self.subject, self.number, self.salt)

    def dealt_row(self) -> Row:
        """Return the row of `dealt_hands` of a hand that is opened."""
        draft = self.draft
        sequence = self.numbered.sequence if self.numbered else 0
        return (self.subject, draft.tenant, draft.table, sequence, draft.label)

    def outcome(self) -> StepRecorded:
        """Return what became of the draft."""
        return StepRecorded(self.recorded(), self.completed, self.index)

    def recorded(self) -> StepRecord:
        """Return the record, after `append`."""
        if self.record is None:
            raise InternalError("ledger: the outcome of a step was asked for before it was written")
        return self.record


@dataclass(frozen=True, slots=True)
class RefusedStep:
    """A step that is not written.

    Attributes:
        why: what its caller is told; the step that has its key, for StepTaken.
    """

    why: StepConflict | StepSpent | StepRecord | NewStep

    def append(self, log: LogAppender) -> None:
        """Append nothing."""

    def outcome(self) -> StepOutcome:
        """Return what became of the draft."""
        if isinstance(self.why, NewStep):
            return StepTaken(self.why.recorded())
        return StepTaken(self.why) if isinstance(self.why, StepRecord) else self.why


def _going(writer: sqlite3.Connection, drafts: Sequence[StepDraft]) -> dict[SubjectId, _Going]:
    """Return the subjects of drafts as they are."""
    going = {subject_id(draft): _Going() for draft in drafts}
    for kind, tenant, name, row_id, steps, last in ask_many(writer, _GOING, list(going)):
        check_steps(f"subjects/{row_id}", steps, last)
        going[SubjectKind(kind), tenant, name] = _Going(row_id, steps)
    return going


def _find_taken(
    writer: sqlite3.Connection,
    rows: StepRows,
    drafts: Sequence[StepDraft],
    going: dict[SubjectId, _Going],
) -> None:
    """Read the steps whose keys drafts would take."""
    owners = {going[owner].row_id: owner for owner in map(subject_id, drafts)}
    asked = {
        (going[subject_id(draft)].row_id, draft.key)
        for draft in drafts
        if draft.key and going[subject_id(draft)].row_id
    }
    for row_id, *columns in ask_many(writer, _TAKEN, list(asked)):
        row = StoredStep(*columns)
        check_destroyed(writer, row.where, row.secret, row.id)
        record = rows.read(row, owners[row_id])
        going[owners[row_id]].taken[record.key] = record
