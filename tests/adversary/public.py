# ruff: noqa: E741 - names are the document's letters
"""Everything public about a hand, as an attacker holds it, and hands made so that it tells more.

Built by the project's own code: this is what is attacked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from entropyd.draw.cards import Deck
from entropyd.draw.samplers import Sampler
from entropyd.draw.shuffle import shuffle
from entropyd.hands import commitment
from entropyd.hands.binding import hand_binding
from entropyd.hands.cut import contribution_leaf, contributions_root, cut, sort_leaves
from entropyd.hands.deals import deals_root
from entropyd.hands.rules import Contributions, Rules, rules_hash
from entropyd.log import merkle
from entropyd.log.proofs import inclusion_proof, nodes_of
from tests.fakes.opened_hands import OPENED_AT, made

SEATS = ("seat-1", "seat-2")
TIME_MS = OPENED_AT // 1_000_000
# What "the salt key is known" means.
KNOWN_KEY = bytes(32)

# X, salt key, items -> leaves
Leaves = Callable[[bytes, bytes, Sequence[int]], list[bytes]]


def without_salt(binding, salt_key, items):
    """The leaves as they would be if nobody had thought of salts."""
    salted = commitment.card_leaves(binding, salt_key, items)
    return [leaf[: -commitment.SALT_BYTES] for leaf in salted]


def under_a_known_key(binding, salt_key, items):
    return commitment.card_leaves(binding, KNOWN_KEY, items)


def one_salt_a_pair(binding, salt_key, items):
    """The leaves as they would be if two siblings shared a salt."""
    salts = commitment.card_salts(binding, salt_key, len(items))
    leaves = commitment.card_leaves(binding, salt_key, items)
    return [leaf[: -commitment.SALT_BYTES] + salts[i & ~1] for i, leaf in enumerate(leaves)]


@dataclass(frozen=True)
class Shown:
    """A card that was proved to everybody."""

    place: int
    leaf_index: int
    item: int
    salt: bytes
    path: tuple[bytes, ...]


@dataclass(frozen=True)
class Public:
    """What receipts, notes, the log and shown cards tell. `whole` is D where a Shuffle dealt it."""

    X: bytes
    n: int
    C: bytes
    D: bytes
    A: bytes
    O: bytes
    R: bytes
    deals: bytes
    rules_hash: bytes
    whole: bytes
    values: tuple[bytes, ...]
    leaf_hashes: tuple[bytes, ...]
    cut: tuple[int, ...]
    shown: tuple[Shown, ...]
    time_ms: int = TIME_MS

    @property
    def left(self) -> list[int]:
        """The items that were not shown."""
        gone = {card.item for card in self.shown}
        return [item for item in range(self.n) if item not in gone]

    def strings(self) -> list[bytes]:
        """Every string of 32 bytes that is public."""
        of_cards = [string for card in self.shown for string in (card.salt, *card.path)]
        fixed = [self.C, self.D, self.A, self.O, self.R, self.deals, self.rules_hash, self.whole]
        return [*fixed, *self.values, *self.leaf_hashes, *of_cards]


@dataclass(frozen=True)
class Played:
    """A hand: what everybody sees, and what nobody may."""

    public: Public
    items: tuple[int, ...] = field(repr=False)


def play(
    number: int,
    size: int,
    show: Callable[[int], bool],
    *,
    leaves_of: Leaves = commitment.card_leaves,
    seed: bytes | None = None,
    blinding: bytes | None = None,
    in_order: bool = False,
) -> Played:
    """Play a hand.

    Args:
        number: another one is another hand.
        size: how many cards of the deck are left.
        show: of a leaf, whether it is shown.
        leaves_of: what is committed; the real thing unless given.
        seed: 64 bytes; fresh unless given.
        blinding: r; fresh unless given.
        in_order: the deck is never shuffled.
    """
    rules = Rules(
        deck=Deck(removed=tuple(range(size, 52))),
        contributions=Contributions.OPEN,
        whole_deck_proof=False,
    )
    digest = rules_hash(rules.encode())
    X = hand_binding("acme", "table-7", f"hand-{number}", digest)
    S, r, K = (
        made(f"{number} {name}", length) for name, length in (("S", 64), ("r", 32), ("K", 32))
    )
    S, r = S if seed is None else seed, r if blinding is None else blinding
    items = list(range(size)) if in_order else shuffle(size, [S], X, Sampler.MASKED)
    leaves = leaves_of(X, K, items)
    C, D = commitment.seed_commitment(X, [S], r), merkle.root(leaves)
    A = commitment.seats_root(dict.fromkeys(SEATS, b""))
    O = commitment.open_hash(
        X, sequence=number + 1, size=size, commitment=C, deck_root=D, seats_root=A
    )
    values = tuple(made(f"{number} value of {seat}", 32) for seat in SEATS)
    spoken = [contribution_leaf(O, seat, value) for seat, value in zip(SEATS, values, strict=True)]
    order = cut(O, size, spoken, Sampler.MASKED)
    hashes = [merkle.leaf_hash(leaf) for leaf in leaves]
    shown = tuple(
        Shown(
            order.index(i),
            i,
            items[i],
            leaves[i][len(commitment.CARD_LABEL) + 4 + len(X) + 8 :],
            tuple(inclusion_proof(nodes_of(hashes), i, size)),
        )
        for i in range(size)
        if show(i)
    )
    public = Public(
        X=X,
        n=size,
        C=C,
        D=D,
        A=A,
        O=O,
        R=contributions_root(spoken),
        deals=deals_root(O, ["seat-1"] * size),
        rules_hash=digest,
        whole=commitment.whole_deck_root(
            X, KNOWN_KEY if leaves_of is under_a_known_key else K, items
        ),
        values=values,
        leaf_hashes=tuple(map(merkle.leaf_hash, sort_leaves(spoken))),
        cut=tuple(order),
        shown=shown,
    )
    return Played(public, tuple(items))
