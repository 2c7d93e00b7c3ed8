"""Steps of lines as the ledger takes them, and as it tells of them. Pure."""

from dataclasses import dataclass

from entropyd.errors import InternalError
from entropyd.games.pair_snapshot import encode_line, encode_seeds
from entropyd.games.pair_steps import LineOwner, Step, seed_binding
from entropyd.games.seed_pair import Profile
from entropyd.ledger.subjects import (
    StepConflict,
    StepDraft,
    StepOutcome,
    StepRecord,
    StepRecorded,
    StepTaken,
    SubjectKind,
)
from entropyd.runtime.orders import MakeSteps, StepOrder

# What every line is found by; it has no other state worth a label.
LABEL = "present"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A step as it is recorded, and whether an earlier call made it."""

    record: StepRecord
    replayed: bool


def made_now(outcome: StepOutcome) -> Recorded | None:
    """Return what was recorded; None if another node of the same ledger was first."""
    match outcome:
        case StepRecorded(record):
            return Recorded(record, replayed=False)
        case StepTaken() | StepConflict():
            return None
    raise InternalError("the ledger took the step of a line for something else")


def order_of(
    owner: LineOwner, profile: Profile, *, pair: int, seeds: int, make: MakeSteps
) -> StepOrder:
    """Return the order of a draw of server seeds, under X of a pair's number."""
    return StepOrder(
        tenant=owner.tenant,
        place=owner.player,
        key=(SubjectKind.PAIRS, owner),
        binding=seed_binding(profile, owner, pair),
        seeds=seeds,
        make=make,
    )


def draft_of(owner: LineOwner, step: Step, expected: int, at_ns: int) -> StepDraft:
    """Return the draft of a step that is made of the snapshot after `expected` steps."""
    return StepDraft(
        kind=SubjectKind.PAIRS,
        tenant=owner.tenant,
        name=owner.player,
        expected=expected,
        step=step.kind,
        key=step.key,
        public=step.public,
        secret=step.secret,
        state=encode_line(step.after.line),
        state_secret=encode_seeds(step.after.seeds),
        label=LABEL,
        at_ns=at_ns,
    )
