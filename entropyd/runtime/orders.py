"""What is asked of the dealer, and what it answers with."""

import hmac
from dataclasses import dataclass, field

from entropyd.errors import HandSpentError, InternalError
from entropyd.hands.rules import Rules
from entropyd.ledger.contract import HandRecord


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
