"""The check of a whole deck by whoever holds its secrets: recompute everything, compare, raise.

Runs the code that drew the deck on the revealed seeds. What it is given comes
from a stranger: nothing in it is believed, and whatever is wrong with it ends
in a VerificationError that names what, never in a bool that can be ignored.

It shows that order and commitments follow from S, r and K. Where S came from
it cannot show.

Spec: docs/protocol.md, "What a full check takes".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hmac import compare_digest

from entropyd.draw.keystream import SEED_BYTES
from entropyd.errors import CommitmentMismatchError, OrderMismatchError, RequestError
from entropyd.hands import commitment, rules
from entropyd.hands.binding import hand_binding
from entropyd.hands.rules import Contributions, Rules
from entropyd.hands.whole_deck import BLINDING_BYTES, SALT_KEY_BYTES, CommittedDeck, open_deck


@dataclass(frozen=True, slots=True)
class PresentedDeck:
    """Everything that somebody says of a whole deck. Nothing in it is trusted.

    Attributes:
        tenant, table, hand: ids.
        encoded_rules: the lines of the rules.
        sequence: q.
        commitment, deck_root, seats_root, open_hash: C, D, A, O as they were
            published.
        seeds: S, the seeds of all segments joined.
        blinding: r.
        salt_key: K.
        items: in dealing order, four big-endian bytes each.
    """

    tenant: str
    table: str
    hand: str
    encoded_rules: bytes
    sequence: int
    commitment: bytes
    deck_root: bytes
    seats_root: bytes
    open_hash: bytes
    seeds: bytes = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)
    items: bytes = field(repr=False)


def recompute_whole_deck(presented: PresentedDeck) -> None:
    """Check that order and commitments of a hand without contributions follow from its secrets.

    Args:
        presented: what is to be checked.

    Raises:
        OrderMismatchError: the seeds draw other items; names the first place.
        CommitmentMismatchError: rules, ids, number or secrets have a form that
            no hand has, or C, D, A or O is another; names which.
    """
    hand_rules, binding = _parse(presented)
    deck = open_deck(
        hand_rules,
        binding,
        seeds=_split_seeds(presented.seeds, rules.segments_needed(hand_rules)),
        blinding=_exactly("blinding r", presented.blinding, BLINDING_BYTES),
        salt_key=_exactly("salt key K", presented.salt_key, SALT_KEY_BYTES),
    )
    _compare_order(deck, presented.items)
    _compare("commitment C", deck.commitment, presented.commitment)
    _compare("deck root D", deck.deck_root, presented.deck_root)
    _compare("seats root A", commitment.NO_SEATS_ROOT, presented.seats_root)
    _compare("open hash O", deck.at_sequence(presented.sequence), presented.open_hash)


def _parse(presented: PresentedDeck) -> tuple[Rules, bytes]:
    """Return the rules and X, both from what was presented."""
    try:
        hand_rules = rules.decode(presented.encoded_rules)
        binding = hand_binding(
            presented.tenant,
            presented.table,
            presented.hand,
            rules.rules_hash(presented.encoded_rules),
        )
    except RequestError as error:
        raise CommitmentMismatchError(f"no hand can have been drawn like this: {error}") from error
    if hand_rules.contributions is not Contributions.NONE:
        raise CommitmentMismatchError(
            f"rules say contributions={hand_rules.contributions}; expected none, this check is"
            " of hands that are dealt in the committed order"
        )
    if hand_rules.parent is not None:
        raise CommitmentMismatchError(
            "rules name a parent; expected none, a hand of discards is checked by its hand file"
        )
    if not 1 <= presented.sequence < 1 << 64:
        raise CommitmentMismatchError("sequence number q is below 1 or above 2^64 - 1")
    return hand_rules, binding


def _split_seeds(joined: bytes, segments: int) -> Sequence[bytes]:
    _exactly(f"seeds S of {segments} segments", joined, segments * SEED_BYTES)
    return [joined[start : start + SEED_BYTES] for start in range(0, len(joined), SEED_BYTES)]


def _exactly(name: str, secret: bytes, length: int) -> bytes:
    if len(secret) != length:
        raise CommitmentMismatchError(f"{name}: {len(secret)} bytes; expected {length}")
    return secret


def _compare_order(deck: CommittedDeck, presented: bytes) -> None:
    """Name the first place that differs, but neither of its cards."""
    drawn = deck.encoded_items
    if len(presented) != len(drawn):
        raise OrderMismatchError(
            f"items: {len(presented)} bytes; expected {len(drawn)}, four for each of {deck.size}"
        )
    for place in range(deck.size):
        if drawn[4 * place : 4 * place + 4] != presented[4 * place : 4 * place + 4]:
            raise OrderMismatchError(
                f"place {place} holds an item that the seeds do not draw there"
            )


def _compare(name: str, computed: bytes, presented: bytes) -> None:
    if not compare_digest(computed, presented):
        raise CommitmentMismatchError(f"{name} is not the one presented; computed {computed.hex()}")
