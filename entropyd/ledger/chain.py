"""The running hash over a ledger's records: one value that says what was recorded so far.

Link i hashes link i - 1, the number i of the record in the ledger, its open hash O and the digest
of what O does not cover. It is written with the record, in the same transaction, so that two
ledgers with one link at one number hold the same records up to there. Who keeps a position
elsewhere (`anchor`) can tell a ledger that lost records, or has others, from one that went on.

Records of schema version 1 have no link. One that follows such a record starts from `base` of it:
the chain then says nothing of earlier ones than that.

The steps of subjects have a chain of their own beside it, numbered through the whole ledger.

Pure: no files, no clock.
"""

from dataclasses import dataclass
from hashlib import sha256

from entropyd.encoding import lp, u64

LINK_BYTES = 32
# The link before the first record.
EMPTY = bytes(LINK_BYTES)

_LINK = lp(b"entropyd/ledger-chain/v1")
_BASE = lp(b"entropyd/ledger-chain-base/v1")
_STEP_LINK = lp(b"entropyd/ledger-steps/v1")


@dataclass(frozen=True)
class Position:
    """How far a ledger goes.

    Attributes:
        hands: how many hands are recorded, which is the number of the last.
        link: the running hash over all of them.
        events: the number of the last event.
        steps: how many steps of subjects are recorded, which is the number of the last.
        step_link: the running hash over all of them.
    """

    hands: int
    link: bytes
    events: int
    steps: int = 0
    step_link: bytes = EMPTY


def next_link(before: bytes, number: int, open_hash: bytes, told: bytes) -> bytes:
    """Return the link of record `number`.

    Args:
        before: the link of record `number` - 1, or `EMPTY`.
        number: of the record in the ledger, from 1.
        open_hash: O, 32 bytes.
        told: 32 bytes over claim, provenance and time, which O does not cover.
    """
    return sha256(_LINK + lp(before) + u64(number) + lp(open_hash) + lp(told)).digest()


def next_step_link(before: bytes, subject: bytes, told: bytes) -> bytes:
    """Return the link of a step.

    Args:
        before: the link of the step before it in the ledger, or `EMPTY`.
        subject: what names its subject.
        told: 32 bytes over its number in the ledger and all that stands in the clear.
    """
    return sha256(_STEP_LINK + lp(before) + lp(subject) + lp(told)).digest()


def base(number: int, open_hash: bytes, told: bytes) -> bytes:
    """Return what stands for the link of a record that was written without one."""
    return sha256(_BASE + u64(number) + lp(open_hash) + lp(told)).digest()
