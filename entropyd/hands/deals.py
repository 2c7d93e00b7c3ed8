"""Who gets which place of the deal, written down before a card leaves.

Spec: docs/protocol.md, "Hands dealt card by card".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.encoding import check_id, lp, u32
from entropyd.errors import RequestError
from entropyd.log import merkle

DEAL_LABEL = lp(b"entropyd/deal/v1")
# Its card is dealt and leaves for nobody.
BURN = "burn"


@dataclass(frozen=True, slots=True)
class DealRun:
    """The places of one call.

    Attributes:
        first_place: the first of them, from 0.
        recipients: whom each place went to, in order; at least one.
        claim_digest: 32 bytes; what the caller must show to get the same cards again.
    """

    first_place: int
    recipients: tuple[str, ...]
    claim_digest: bytes = field(repr=False)

    @property
    def end(self) -> int:
        """The place after the last."""
        return self.first_place + len(self.recipients)


def check_recipients(recipients: Sequence[str]) -> tuple[str, ...]:
    """Return the recipients of a run.

    Raises:
        RequestError: there is none, or one is no id; names `deals`.
    """
    if not recipients:
        raise RequestError("deals", "are empty; expected at least one card for somebody")
    for recipient in set(recipients):
        check_id("deals", recipient)
    return tuple(recipients)


def deal_leaf(open_hash: bytes, place: int, recipient: str) -> bytes:
    """Return the leaf that says whom a place went to."""
    return DEAL_LABEL + lp(open_hash) + u32(place) + lp(recipient.encode("ascii"))


def deals_root(open_hash: bytes, recipients: Sequence[str]) -> bytes:
    """Return the root over the recipients of places 0, 1, ..., as the last receipt has it."""
    return merkle.root(deal_leaf(open_hash, place, to) for place, to in enumerate(recipients))
