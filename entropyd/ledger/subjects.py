"""What a ledger keeps beside hands: subjects, each with numbered steps and a snapshot.

A subject is a match, a raffle, the seed pairs of a player: something that goes on. Each step of it
is recorded once, gets the next number, and replaces the snapshot, from which the next step is made.
So whoever goes on reads one row and not the whole history, and a step that was made of a snapshot
that is not the last one any more is refused (`expected`).

Pure: no files, no clock.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class SubjectKind(StrEnum):
    """What can have steps. One name is another subject in each kind."""

    MATCH = "match"
    RAFFLE = "raffle"
    # All raffles of a tenant, which numbers them.
    RAFFLES = "raffles"
    PAIRS = "pairs"


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
    """The draft was written by this commit. It may be shown now."""

    record: StepRecord


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


StepOutcome = StepRecorded | StepTaken | StepConflict
