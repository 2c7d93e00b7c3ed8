"""A raffle as steps, and back: the sealed list, then the draw, and the list of a tenant's raffles.

The entries may be people's names: they are kept encrypted, and their hash in
the clear, which is there to be published.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.encoding import u64
from entropyd.errors import EntropydError, LedgerDamagedError
from entropyd.games import draw_rules
from entropyd.games.raffle import RAFFLE_DRAW, RaffleRules
from entropyd.ledger.packed import pack, unpack, unpack_texts
from entropyd.ledger.subjects import StepDraft, StepRecord, SubjectKind
from entropyd.service.draw_records import DRAW_STEP, DrawRecord, pack_index, unpack_index

SEAL_STEP = "seal"
# The subject that numbers the raffles of a tenant, and is one for all of them.
ALL_RAFFLES = "all"
SEALED, DRAWN = "sealed", "drawn"


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed raffle.

    Attributes:
        raffle: its id.
        number: among the tenant's, from 1.
        rules: what it is drawn under.
        packed_entries: in canonical form and order. There may be 100,000: whoever needs them reads
            `entries`.
        at_ns: when it was sealed; a claim.
        log_index: of the receipt that it was sealed; None of a raffle that has none.
    """

    raffle: str
    number: int
    rules: RaffleRules
    packed_entries: bytes = field(repr=False)
    at_ns: int
    log_index: int | None = None

    @property
    def public(self) -> bytes:
        """What is kept in the clear."""
        told = pack(u64(self.number), self.rules.encode())
        return told + pack_index(self.log_index)

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries as texts; LedgerDamagedError if they are none."""
        return unpack_texts(self.packed_entries, f"raffle {self.raffle!r}")


def seal_steps(tenant: str, sealed: Sealed, claim_digest: bytes) -> Sequence[StepDraft]:
    """Return the steps that seal a raffle: one of the tenant's list, one of its own."""
    listed = StepDraft(
        kind=SubjectKind.RAFFLES,
        tenant=tenant,
        name=ALL_RAFFLES,
        expected=sealed.number - 1,
        step=SEAL_STEP,
        key=sealed.raffle,
        public=sealed.rules.entries,
        secret=b"",
        state=b"",
        state_secret=b"",
        label="",
        at_ns=sealed.at_ns,
    )
    own = StepDraft(
        kind=SubjectKind.RAFFLE,
        tenant=tenant,
        name=sealed.raffle,
        expected=0,
        step=SEAL_STEP,
        key=SEAL_STEP,
        public=sealed.public,
        secret=sealed.packed_entries,
        state=claim_digest,
        state_secret=b"",
        label=SEALED,
        at_ns=sealed.at_ns,
    )
    return listed, own


def read_sealed(raffle: str, step: StepRecord) -> Sealed:
    """Return what the first step of a raffle kept.

    Raises:
        LedgerDamagedError: it kept something else.
    """
    what = f"raffle {raffle!r}"
    try:
        number, encoded, *index = unpack(step.public, what)
        rules = draw_rules.decode(encoded)
    except (ValueError, EntropydError) as error:
        raise LedgerDamagedError(f"{what}: has other fields than a sealed list") from error
    if not isinstance(rules, RaffleRules):
        raise LedgerDamagedError(f"{what}: its rules are of kind {rules.kind}")
    return Sealed(
        raffle=raffle,
        number=int.from_bytes(number, "big"),
        rules=rules,
        packed_entries=step.secret,
        at_ns=step.at_ns,
        log_index=unpack_index(index, what),
    )


def drawn_steps(
    tenant: str, raffle: str, claim_digest: bytes, record: DrawRecord, at_ns: int
) -> Sequence[StepDraft]:
    """Return the step that records the draw of a raffle, its second and last."""
    return (
        StepDraft(
            kind=SubjectKind.RAFFLE,
            tenant=tenant,
            name=raffle,
            expected=1,
            step=DRAW_STEP,
            key=RAFFLE_DRAW,
            public=record.public,
            secret=record.secret,
            state=claim_digest,
            state_secret=b"",
            label=DRAWN,
            at_ns=at_ns,
        ),
    )
