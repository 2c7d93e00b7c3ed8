"""A hand as a row of the ledger, and back: what is encrypted, and what is checked.

Pure apart from the salt of each encryption: rows in, records or an error out.

A row has two secrets. `items` seals told || items, so that what stands in
the clear beside them (claim, provenance, time) cannot be exchanged by anybody
without the master key. `opening` seals blinding || salt key || seeds.
"""

from hashlib import sha256

from entropyd.encoding import lp
from entropyd.errors import InternalError
from entropyd.hands.commitment import open_hash
from entropyd.ledger.chain import next_link
from entropyd.ledger.contract import HandDraft, HandRecord
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite_statements import Row
from entropyd.ledger.stored_row import StoredRow, binding_of, row_damaged, told_digest

HASH_BYTES = 32
SEED_BYTES = 64
ITEM_BYTES = 4
# The state in which a hand's secrets are written. A Shuffle has no other.
STATE = b"dealt"


def hand_key(tenant: str, hand: str) -> bytes:
    """Return the 16 bytes under which a spent hand id is remembered for ever.

    Half a SHA-256: two of 2^40 spent ids share a key with probability below
    2^-48, and whoever searches for such a pair needs 2^64 hashes. An id that
    shared another's key would be refused as damage, never answered: the ids
    themselves lie beside the key.
    """
    return sha256(lp(tenant.encode("utf-8")) + lp(hand.encode("utf-8"))).digest()[:16]


def check_draft(draft: HandDraft) -> None:
    """Refuse a draft that could not be read back.

    Raises:
        InternalError: a length is wrong, or X does not follow from the ids and
            rules. Whoever made the draft is broken. Nothing was written.
    """
    hashes = (
        draft.claim_digest,
        draft.commitment,
        draft.deck_root,
        draft.seats_root,
        draft.blinding,
        draft.salt_key,
    )
    if {len(value) for value in hashes} != {HASH_BYTES}:
        raise _broken(draft, f"a digest or key has not {HASH_BYTES} bytes")
    if not draft.seeds or len(draft.seeds) % SEED_BYTES:
        raise _broken(draft, f"the seeds are not one or more of {SEED_BYTES} bytes")
    if draft.size < 1 or len(draft.items) != ITEM_BYTES * draft.size:
        raise _broken(draft, f"the items are not {draft.size} of {ITEM_BYTES} bytes")
    if draft.binding != binding_of(draft.tenant, draft.table, draft.hand, draft.rules):
        raise _broken(draft, "the binding is not that of its ids and rules")


# Of `items` and of `opening`.
Salts = tuple[bytes, bytes]


class HandRows:
    """Makes rows of drafts and records of rows. Stateless; any thread."""

    def __init__(self, secrets: SecretBox) -> None:
        self._secrets = secrets

    def salts(self, rows: int) -> list[Salts]:
        """Return fresh salts of the two secrets of so many rows."""
        drawn = self._secrets.salts(2 * rows)
        return list(zip(drawn[0::2], drawn[1::2], strict=True))

    def write(
        self,
        draft: HandDraft,
        row_id: int,
        table_id: int,
        sequence: int,
        before: bytes,
        *,
        salts: Salts | None = None,
    ) -> tuple[HandRecord, Row]:
        """Return the record that a draft becomes with number `sequence`, and its row of `hands`.

        The last column is the record's link, which follows `before`.

        Args:
            draft: the hand.
            row_id: its number in the ledger.
            table_id: its table's.
            sequence: its number at the table.
            before: the link of the record before.
            salts: fresh ones of its two secrets, from `salts`; drawn here unless given.
        """
        items_salt, opening_salt = salts or self.salts(1)[0]
        digest = _open_hash(draft, sequence)
        told = told_digest(draft.claim_digest, draft.provenance, draft.drawn_at_ns)
        items = self._seal(draft.binding, b"items", told + draft.items, items_salt)
        secrets = draft.blinding + draft.salt_key + draft.seeds
        opening = self._seal(draft.binding, b"opening", secrets, opening_salt)
        row = (
            row_id,
            table_id,
            sequence,
            draft.hand,
            draft.rules,
            draft.claim_digest,
            draft.size,
            draft.commitment,
            draft.deck_root,
            draft.seats_root,
            digest,
            draft.provenance,
            draft.drawn_at_ns,
            items,
            opening,
            next_link(before, row_id, digest, told),
        )
        return HandRecord(sequence, digest, _without_secrets(draft)), row

    def read(self, row: StoredRow, tenant: str, hand: str, *, with_secrets: bool) -> HandRecord:
        """Return the record in a row that was found for `tenant` and `hand`.

        Args:
            row: as it was found.
            tenant: the tenant that was looked for.
            hand: the hand that was looked for.
            with_secrets: decrypt seeds, blinding and salt key too.

        Raises:
            LedgerDamagedError: the row is another hand's, or its parts do not
                follow from each other. Nothing of it is returned.
        """
        if (row.tenant, row.hand) != (tenant, hand):
            raise row_damaged(row.where, "hand", "is not the hand whose key led here")
        binding = row.binding()
        plain = self._open(binding, b"opening", row.opening, row.where) if with_secrets else b""
        items = self._read_items(binding, row)
        row.check_open_hash(binding)
        if len(items) != ITEM_BYTES * row.size:
            raise row_damaged(row.where, "size", "is not the number of items")
        draft = HandDraft(
            tenant=tenant,
            table=row.table,
            hand=hand,
            rules=row.rules,
            binding=binding,
            claim_digest=row.claim_digest,
            size=row.size,
            commitment=row.commitment,
            deck_root=row.deck_root,
            seats_root=row.seats_root,
            provenance=row.provenance,
            items=items,
            blinding=plain[:32],
            salt_key=plain[32:64],
            seeds=plain[64:],
            drawn_at_ns=row.drawn_at_ns,
        )
        return HandRecord(row.sequence, row.open_hash, draft)

    def _read_items(self, binding: bytes, row: StoredRow) -> bytes:
        plain = self._open(binding, b"items", row.items, row.where)
        if plain[:HASH_BYTES] != row.told():
            raise row_damaged(row.where, "claim_digest, provenance or drawn_at_ns", "was changed")
        return plain[HASH_BYTES:]

    def _seal(self, binding: bytes, field: bytes, plaintext: bytes, salt: bytes) -> bytes:
        return self._secrets.seal(plaintext, binding=binding, state=STATE, field=field, salt=salt)

    def _open(self, binding: bytes, field: bytes, sealed: bytes, where: str) -> bytes:
        return self._secrets.open(sealed, binding=binding, state=STATE, field=field, row=where)


def with_log_index(record: HandRecord, index: int | None) -> HandRecord:
    """Return a record that says where its receipt is."""
    return HandRecord(record.sequence, record.open_hash, record.draft, index)


def _open_hash(draft: HandDraft, sequence: int) -> bytes:
    return open_hash(
        draft.binding,
        sequence=sequence,
        size=draft.size,
        commitment=draft.commitment,
        deck_root=draft.deck_root,
        seats_root=draft.seats_root,
    )


def _without_secrets(draft: HandDraft) -> HandDraft:
    # As `dataclasses.replace`, in a fifth of its time: this runs for every hand that is dealt.
    copy = object.__new__(HandDraft)
    copy.__dict__.update(draft.__dict__, seeds=b"", blinding=b"", salt_key=b"", entry=None)
    return copy


def _broken(draft: HandDraft, what: str) -> InternalError:
    return InternalError(f"draft of hand {draft.tenant}/{draft.hand}: {what}; nothing was written")
