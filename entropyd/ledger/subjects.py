"""What a ledger keeps beside hands: subjects, each with numbered steps and a snapshot.

A subject is a match, a raffle, the seed pairs of a player: something that goes on. Each step of it
is recorded once, gets the next number, and replaces the snapshot, from which the next step is made.
So whoever goes on reads one row and not the whole history, and a step that was made of a snapshot
that is not the last one any more is refused (`expected`).

Pure: no files, no clock.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from entropyd.ledger.entries import Complete, Completed


class SubjectKind(StrEnum):
    """What can have steps. One name is another subject in each kind.

    A HAND is one that is dealt card by card; its name is its id, unique in the tenant among all
    hands.
    """

    MATCH = "match"
    RAFFLE = "raffle"
    # All raffles of a tenant, which numbers them.
    RAFFLES = "raffles"
    PAIRS = "pairs"
    HAND = "hand"


@dataclass(frozen=True)
class StepDraft:
    """A step that is not recorded yet. It must not be shown to anyone.

    Attributes:
        kind, tenant, name: which subject; tenant and name are ids.
        expected: how many steps the subject must have so far; 0: it must be new; None: append,
            whatever there are.
        step: what kind of step it is, not empty, such as `draw`.
        key: unique among the subject's steps, for whoever asks again; "" for none.
        public: what may be shown; opaque, kept as given.
        secret: what is kept encrypted; empty for none.
        state: what the snapshot says from now on; opaque, kept in the clear.
        state_secret: what belongs to the snapshot and is kept encrypted; empty for none.
        label: what the subject can be found by, such as `open`; "" for none.
        at_ns: wall clock, nanoseconds since 1970; a claim, never an order.
        table: of a HAND that is opened: it takes the table's next number, which it shares with the
            hands that are dealt whole, and spends the id that is its name, as theirs are spent.
            "" for every other step. So it stands with the first step of a HAND (`expected` 0) and
            nowhere else, and a later step of a HAND says what it expects.
        complete: makes `public`, `state` and the entries of the log, which name numbers that are
            given in the transaction. None: the step is as it stands, and has no entry.
    """

    kind: SubjectKind
    tenant: str
    name: str
    expected: int | None
    step: str
    key: str
    public: bytes
    secret: bytes = field(repr=False)
    state: bytes
    state_secret: bytes = field(repr=False)
    label: str
    at_ns: int
    table: str = ""
    complete: Complete | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class StepRecord:
    """A recorded step, as stored. The same bytes for every caller, for ever.

    Attributes:
        number: among the subject's steps, from 1 without gaps.
        step, key, public, secret, at_ns: of the draft.
    """

    number: int
    step: str
    key: str
    public: bytes
    secret: bytes = field(repr=False)
    at_ns: int


@dataclass(frozen=True)
class Subject:
    """A subject after its last step.

    Attributes:
        kind, tenant, name: which.
        steps: how many it has, which is the number of the last; at least 1.
        state, state_secret, label: of the draft of the last step.
    """

    kind: SubjectKind
    tenant: str
    name: str
    steps: int
    state: bytes
    state_secret: bytes = field(repr=False)
    label: str


@dataclass(frozen=True)
class StepRecorded:
    """The draft was written by this commit. It may be shown now.

    Attributes:
        record: the step.
        completed: what `StepDraft.complete` made, as it was written; None of a draft without.
        index: of the first of its entries in the log.
    """

    record: StepRecord
    completed: Completed | None = field(default=None, compare=False, repr=False)
    index: int = field(default=0, compare=False)


@dataclass(frozen=True)
class StepTaken:
    """The subject has a step with this key. The draft was thrown away, unseen.

    Told before any StepConflict: whoever asks again finds what was recorded, however far the
    subject has gone on.
    """

    record: StepRecord


@dataclass(frozen=True)
class StepConflict:
    """The subject has another number of steps than was expected. The draft was thrown away.

    Attributes:
        steps: how many it has; 0: there is no such subject.
    """

    steps: int


@dataclass(frozen=True)
class StepSpent:
    """The id of the hand was spent before, by one that was dealt whole. Nothing was written."""


StepOutcome = StepRecorded | StepTaken | StepConflict | StepSpent
