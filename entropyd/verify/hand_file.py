"""A hand file, read: everything that somebody says of a hand dealt card by card.

Only its form was looked at. Nothing is trusted.

Spec: docs/protocol.md, "The hand file".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from entropyd.draw.keystream import SEED_BYTES
from entropyd.hands.card_proof import CardProof
from entropyd.hands.commitment import SALT_BYTES, SEAT_KEY_BYTES
from entropyd.hands.seats import Seat
from entropyd.hands.whole_deck import BLINDING_BYTES, SALT_KEY_BYTES
from entropyd.log.keys import VerifierKey
from entropyd.log.merkle import HASH_BYTES
from entropyd.verify.document import MAX_INTEGER
from entropyd.verify.fields import Fields
from entropyd.verify.keyring import read_keys

# In the order in which they are made.
STEPS = ("open", "roll", "seal", "close", "void")
# Sixteen for each of the seats that a hand can have.
MAX_NOTES = 1024


@dataclass(frozen=True, slots=True)
class PresentedCard:
    """A card as it is shown.

    Attributes:
        path: where it stands in the file.
        recipient: whom it went to; empty if it was never dealt.
        proof: the rest.
    """

    path: str
    recipient: str
    proof: CardProof


@dataclass(frozen=True, slots=True)
class PresentedReveal:
    """The secrets of a hand, after its end.

    Attributes:
        seeds, blinding, salt_key: S, r, K.
        discards: the parent's items at the discarded places; None if there are none.
    """

    seeds: tuple[bytes, ...] = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)
    discards: tuple[int, ...] | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class PresentedParent:
    """What the rule `parent` of a child hand is said to be made of."""

    open_hash: bytes
    places: tuple[int, ...]
    salt: bytes


@dataclass(frozen=True, slots=True)
class PresentedInclusion:
    """Where in the log a receipt is said to be."""

    index: int
    path: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class PresentedHand:
    """A hand file. What it does not have is None or empty.

    Attributes:
        tenant, table, hand: ids.
        rules: the lines, not read.
        seats: in the order of the file.
        keys: that the file names.
        receipts: name of the step -> signed note.
        leaves, leaf_hashes: the contributions and their hashes.
        cards: in the order of the file.
        recipients: of places 0, 1, ....
        reveal, parent: see there.
        notes: signed notes to seats.
        checkpoint: a signed note.
        inclusion: name of the step -> where it is.
    """

    tenant: str
    table: str
    hand: str
    rules: bytes
    seats: tuple[Seat, ...]
    keys: tuple[VerifierKey, ...]
    receipts: Mapping[str, bytes]
    leaves: tuple[bytes, ...]
    cards: tuple[PresentedCard, ...]
    leaf_hashes: tuple[bytes, ...] | None
    recipients: tuple[str, ...] | None
    reveal: PresentedReveal | None
    parent: PresentedParent | None
    notes: tuple[bytes, ...]
    checkpoint: bytes | None
    inclusion: Mapping[str, PresentedInclusion]


def read_hand(fields: Fields) -> PresentedHand:
    """Return what a hand file says.

    Raises:
        ProofMalformedError: a member is missing, unknown, or has another form; names which.
    """
    presented = PresentedHand(
        tenant=fields.id("tenant"),
        table=fields.id("table"),
        hand=fields.id("hand"),
        rules=fields.text("rules").encode("utf-8"),
        seats=tuple(map(_seat, fields.nested_list("seats"))),
        keys=read_keys(fields),
        receipts=_receipts(fields.nested("receipts")),
        leaves=fields.blobs("leaves"),
        cards=tuple(map(_card, fields.nested_list("cards"))),
        leaf_hashes=(
            fields.hexes("leaf_hashes", HASH_BYTES) if fields.has("leaf_hashes") else None
        ),
        recipients=fields.texts("recipients") if fields.has("recipients") else None,
        reveal=_reveal(fields.nested("reveal")) if fields.has("reveal") else None,
        parent=_parent(fields.nested("parent")) if fields.has("parent") else None,
        notes=_notes(fields) if fields.has("notes") else (),
        checkpoint=_note(fields, "checkpoint") if fields.has("checkpoint") else None,
        inclusion=_inclusion(fields.nested("inclusion")) if fields.has("inclusion") else {},
    )
    fields.finish()
    return presented


def _note(fields: Fields, name: str) -> bytes:
    return fields.text(name).encode("utf-8")


def _notes(fields: Fields) -> tuple[bytes, ...]:
    texts = fields.texts("notes")
    if len(texts) > MAX_NOTES:
        fields.refuse("notes", f"are {len(texts)}; expected at most {MAX_NOTES}")
    return tuple(text.encode("utf-8") for text in texts)


def _seat(fields: Fields) -> Seat:
    has_key = fields.text("key") != ""
    seat = Seat(fields.id("seat"), fields.hex("key", SEAT_KEY_BYTES) if has_key else b"")
    fields.finish()
    return seat


def _receipts(fields: Fields) -> dict[str, bytes]:
    receipts = {name: _note(fields, name) for name in STEPS if name == "open" or fields.has(name)}
    fields.finish()
    return receipts


def _card(fields: Fields) -> PresentedCard:
    recipient = fields.text("recipient")
    card = PresentedCard(
        path=fields.path,
        recipient=fields.id("recipient") if recipient else "",
        proof=CardProof(
            place=fields.number("place", 0, MAX_INTEGER),
            leaf_index=fields.number("leaf_index", 0, MAX_INTEGER),
            item=fields.number("item", 0, MAX_INTEGER),
            salt=fields.hex("salt", SALT_BYTES),
            path=fields.hexes("path", HASH_BYTES),
        ),
    )
    fields.finish()
    return card


def _reveal(fields: Fields) -> PresentedReveal:
    reveal = PresentedReveal(
        seeds=fields.hexes("seeds", SEED_BYTES),
        blinding=fields.hex("blinding", BLINDING_BYTES),
        salt_key=fields.hex("salt_key", SALT_KEY_BYTES),
        discards=fields.numbers("discards", MAX_INTEGER) if fields.has("discards") else None,
    )
    fields.finish()
    return reveal


def _parent(fields: Fields) -> PresentedParent:
    parent = PresentedParent(
        open_hash=fields.hex("O", HASH_BYTES),
        # A place is hashed as four bytes.
        places=fields.numbers("places", (1 << 32) - 1),
        salt=fields.hex("salt", SALT_BYTES),
    )
    fields.finish()
    return parent


def _inclusion(fields: Fields) -> dict[str, PresentedInclusion]:
    found = {name: _included(fields.nested(name)) for name in STEPS if fields.has(name)}
    fields.finish()
    return found


def _included(fields: Fields) -> PresentedInclusion:
    included = PresentedInclusion(
        fields.number("index", 0, MAX_INTEGER), fields.hexes("path", HASH_BYTES)
    )
    fields.finish()
    return included
