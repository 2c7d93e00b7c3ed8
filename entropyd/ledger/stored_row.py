"""A hand as it lies in the ledger: one row, and what must follow from what in it.

Pure: rows in, hashes or an error out. Secrets are ciphertext here.
"""

from hashlib import sha256
from typing import NamedTuple

from entropyd.encoding import lp
from entropyd.errors import LedgerDamagedError, RequestError
from entropyd.hands.binding import hand_binding
from entropyd.hands.commitment import open_hash
from entropyd.ledger.chain import base


class StoredRow(NamedTuple):
    """Every column of a hand, with the names of its tenant and table.

    Attributes:
        id: the hand's number in the ledger, from 1 without gaps.
        sequence: q, its number at its table.
        items, opening: sealed; empty once they were destroyed.
        link: the running hash, None for a row of schema version 1.
    """

    id: int
    tenant: str
    table: str
    hand: str
    rules: bytes
    sequence: int
    claim_digest: bytes
    size: int
    commitment: bytes
    deck_root: bytes
    seats_root: bytes
    open_hash: bytes
    provenance: bytes
    drawn_at_ns: int
    items: bytes
    opening: bytes
    link: bytes | None

    @property
    def where(self) -> str:
        """What error texts call it."""
        return f"hands/{self.id}"

    def told(self) -> bytes:
        """Return the digest of what stands in the clear and enters neither X nor O."""
        return told_digest(self.claim_digest, self.provenance, self.drawn_at_ns)

    def link_or_base(self) -> bytes:
        """Return the link, or what stands for it."""
        return self.link or base(self.id, self.open_hash, self.told())

    def binding(self) -> bytes:
        """Return X.

        Raises:
            LedgerDamagedError: tenant, table or hand is no id.
        """
        try:
            return binding_of(self.tenant, self.table, self.hand, self.rules)
        except RequestError as error:
            raise row_damaged(self.where, error.field, "is not an id") from error

    def check_open_hash(self, binding: bytes) -> None:
        """Return if O follows from the row.

        Raises:
            LedgerDamagedError: it does not.
        """
        try:
            expected = open_hash(
                binding,
                sequence=self.sequence,
                size=self.size,
                commitment=self.commitment,
                deck_root=self.deck_root,
                seats_root=self.seats_root,
            )
        except OverflowError as error:
            raise row_damaged(self.where, "sequence or size", "is out of range") from error
        if self.open_hash != expected:
            raise row_damaged(self.where, "open_hash", "does not follow from the row")


def told_digest(claim_digest: bytes, provenance: bytes, drawn_at_ns: int) -> bytes:
    """Return the hash of what stands in the clear and enters neither X nor O."""
    drawn_at = str(drawn_at_ns).encode("ascii")
    return sha256(lp(claim_digest) + lp(provenance) + lp(drawn_at)).digest()


def binding_of(tenant: str, table: str, hand: str, rules: bytes) -> bytes:
    """Return X of a hand, from its ids and the text of its rules."""
    return hand_binding(tenant, table, hand, sha256(rules).digest())


def row_damaged(where: str, field: str, what: str) -> LedgerDamagedError:
    """Return the error of a row that contradicts itself; it names the row and not its content."""
    return LedgerDamagedError(
        f"ledger row {where}, field {field}: {what}; stop, keep a copy of the directory, and"
        " restore the last backup"
    )
