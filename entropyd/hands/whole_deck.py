"""Opening a hand: from seeds to an order of cards and the hashes that fix it.

A `Shuffle` is a hand that is opened, sealed without contributions and dealt
whole in one step. Its number q at the table is given by the ledger when it is
recorded, so O is computed there, from what is committed here.

Spec: docs/protocol.md, "Commitments" and "A Shuffle".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.draw.shuffle import shuffle
from entropyd.errors import InternalError
from entropyd.hands import commitment
from entropyd.hands.rules import Rules

BLINDING_BYTES = 32
SALT_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class CommittedDeck:
    """A drawn and committed order that has no number yet. Show it to nobody before it is recorded.

    Attributes:
        rules: what it was drawn under.
        binding: X.
        commitment: C, 32 bytes.
        deck_root: D, 32 bytes.
        seats_root: A, 32 bytes.
        items: the committed order a; with no contributions, the dealing order.
        seeds: S_0, S_1, ...: 64 bytes a segment.
        blinding: r, 32 bytes.
        salt_key: K, 32 bytes.
    """

    rules: Rules
    binding: bytes
    commitment: bytes
    deck_root: bytes
    seats_root: bytes
    items: tuple[int, ...] = field(repr=False)
    seeds: tuple[bytes, ...] = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)

    @property
    def size(self) -> int:
        """Number n of items."""
        return len(self.items)

    @property
    def encoded_items(self) -> bytes:
        """The items in dealing order, four big-endian bytes each. Secret like them."""
        return commitment.encode_items(self.items)

    @property
    def cards(self) -> bytes:
        """The card ids in dealing order, one byte each. Secret like the items."""
        return self.rules.deck.cards(self.items)

    def at_sequence(self, sequence: int) -> bytes:
        """Return O of this deck as the hand number `sequence`, from 1, of its table.

        Raises:
            InternalError: the number is below 1 or needs more than 64 bits.
        """
        if not 1 <= sequence < 1 << 64:
            raise InternalError(f"hand number {sequence}; expected 1 to 2^64 - 1")
        return commitment.open_hash(
            self.binding,
            sequence=sequence,
            size=self.size,
            commitment=self.commitment,
            deck_root=self.deck_root,
            seats_root=self.seats_root,
        )


def open_deck(
    hand_rules: Rules,
    binding: bytes,
    *,
    seeds: Sequence[bytes],
    blinding: bytes,
    salt_key: bytes,
    seats_root: bytes = commitment.NO_SEATS_ROOT,
    discards: Sequence[int] | None = None,
) -> CommittedDeck:
    """Draw the order of a hand and commit it.

    D takes the form that the rules name: of the whole deck, or card by card.

    Args:
        hand_rules: rules of the hand.
        binding: X of the hand, over the lines of those rules.
        seeds: as many as `rules.segments_needed`, 64 bytes each. Secret.
        blinding: r, 32 bytes. Secret.
        salt_key: K, 32 bytes. Secret.
        seats_root: A; that of no seats unless given.
        discards: the parent's items at the discarded places, where the rules name a parent. Secret.

    Returns:
        The committed deck, not recorded anywhere.

    Raises:
        InternalError: a secret has another length or number; there are other discards than the
            rules say; or a draw was rejected 128 times, and the hand is void.
    """
    if len(blinding) != BLINDING_BYTES or len(salt_key) != SALT_KEY_BYTES:
        raise InternalError(
            f"blinding of {len(blinding)} and salt key of {len(salt_key)} bytes;"
            f" expected {BLINDING_BYTES} and {SALT_KEY_BYTES}"
        )
    items = shuffle(hand_rules.size, seeds, binding, hand_rules.sampler)
    if hand_rules.parent is not None:
        items = _of_discards(items, discards)
    root = commitment.card_by_card_root
    if hand_rules.whole_deck_proof:
        root = commitment.whole_deck_root
    return CommittedDeck(
        rules=hand_rules,
        binding=binding,
        commitment=commitment.seed_commitment(binding, seeds, blinding),
        deck_root=root(binding, salt_key, items),
        seats_root=seats_root,
        items=tuple(items),
        seeds=tuple(seeds),
        blinding=blinding,
        salt_key=salt_key,
    )


def _of_discards(order: Sequence[int], discards: Sequence[int] | None) -> list[int]:
    """Return the discards in the order drawn."""
    if discards is None or len(discards) != len(order):
        raise InternalError("a hand of discards without them, or with others than its rules say")
    return [discards[place] for place in order]
