"""Hand drafts for tests: everything follows from the ids, nothing is random."""

from hashlib import sha256, sha512

from entropyd.encoding import u32
from entropyd.hands.binding import hand_binding
from entropyd.ledger.contract import AlreadySpent, DraftOutcome, HandDraft, HandRecord, Recorded

RULES = b"contributions=none\ndeck=standard52\ndecks=1\nproofs=deck\nreveal=never\nsampler=masked\n"


def record_of(outcome: DraftOutcome) -> HandRecord:
    """Return the record of a hand that was dealt whole, now or before."""
    assert isinstance(outcome, Recorded | AlreadySpent)
    assert outcome.record is not None
    return outcome.record


def make_draft(
    hand: str = "hand-1",
    *,
    table: str = "table-1",
    tenant: str = "room",
    attempt: int = 1,
    size: int = 52,
    seeds: int = 1,
) -> HandDraft:
    """Return a draft; another `attempt` is another deck for the same hand id."""

    def made(label: str) -> bytes:
        return sha256(f"{label}/{tenant}/{table}/{hand}/{attempt}".encode()).digest()

    return HandDraft(
        tenant=tenant,
        table=table,
        hand=hand,
        rules=RULES,
        binding=hand_binding(tenant, table, hand, sha256(RULES).digest()),
        claim_digest=made("claim"),
        size=size,
        commitment=made("commitment"),
        deck_root=made("deck root"),
        seats_root=sha256(b"").digest(),
        provenance=b'{"attempt": %d}' % attempt,
        items=b"".join(u32((item * 7 + attempt) % size) for item in range(size)),
        seeds=b"".join(sha512(made(f"seed {number}")).digest() for number in range(seeds)),
        blinding=made("blinding"),
        salt_key=made("salt key"),
        drawn_at_ns=1_700_000_000_000_000_000 + attempt,
    )
