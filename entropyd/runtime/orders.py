"""What is asked of the dealer, and what it answers with."""

import hmac
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from entropyd.errors import HandSpentError, InternalError
from entropyd.hands.rules import Rules
from entropyd.ledger.contract import HandRecord
from entropyd.ledger.subjects import StepDraft
from entropyd.rbg.construction import DrawSeeds


@dataclass(frozen=True)
class DrawOrder:
    """A checked request for one hand.

    Attributes:
        tenant, table, hand: ids.
        rules: what it is drawn under.
        encoded_rules: their canonical lines.
        binding: X.
        claim_digest: what the stored one must equal for a replay.
        seeds: how many seeds the draw needs, at least 1.
    """

    tenant: str
    table: str
    hand: str
    rules: Rules
    encoded_rules: bytes
    binding: bytes
    seeds: int
    claim_digest: bytes = field(repr=False)


class MakeSteps(Protocol):
    """Computes what is recorded of a draw. Pure; may be called on another thread."""

    def __call__(
        self, seeds: DrawSeeds, provenance: bytes, drawn_at_ns: int
    ) -> Sequence[StepDraft]:
        """Return the steps, at least one, that are recorded in one commit.

        Args:
            seeds: as many as the order asked for, r and K.
            provenance: where they came from, as it is stored.
            drawn_at_ns: wall clock, nanoseconds since 1970.

        Raises:
            InternalError: a draw was rejected 128 times.
        """
        ...


@dataclass(frozen=True)
class StepOrder:
    """A checked request for a draw that is recorded as steps of a subject.

    Attributes:
        tenant: whose draw; an id.
        place: what decides whether this node draws it: the id of the match, raffle or player.
        key: nobody else draws under it until this draw is decided.
        binding: X.
        seeds: how many it takes, at least 1.
        make: computes what is recorded. It holds what the caller asked for.
        heavy: computing it takes longer than others may wait: it is done on another thread.
        gathers: its seeds come in parts, between which others have their turns, and it goes on
            when nobody waits for it any more.
    """

    tenant: str
    place: str
    key: Hashable
    binding: bytes
    seeds: int
    make: MakeSteps = field(repr=False)
    heavy: bool = False
    gathers: bool = False


@dataclass(frozen=True)
class Dealt:
    """A recorded hand, and whether it was drawn by an earlier call."""

    record: HandRecord
    replayed: bool


def judge(record: HandRecord, binding: bytes, claim_digest: bytes) -> HandRecord:
    """Return `record` if it was drawn with these parameters and this claim.

    Raises:
        HandSpentError: it was not. Which of the two differs is not said.
    """
    draft = record.draft
    if len(draft.claim_digest) != len(claim_digest):
        raise InternalError(f"a stored claim digest has {len(draft.claim_digest)} bytes")
    same_claim = hmac.compare_digest(draft.claim_digest, claim_digest)
    if draft.binding == binding and same_claim:
        return record
    raise HandSpentError(
        f"hand {draft.hand!r} was drawn before with another claim, table or deck; it stays spent:"
        " use a new hand id, and if no other program deals for this tenant, treat it as an alarm"
    )
