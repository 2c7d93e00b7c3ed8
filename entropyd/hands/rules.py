"""What a hand is played under, as the lines that are hashed.

One set of rules has one spelling, so one hash: encoding is canonical, and
decoding refuses every other spelling instead of repairing it.

Spec: docs/protocol.md, "Rules".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from entropyd.draw.cards import Deck
from entropyd.draw.rule_lines import (
    MAX_VALUE_BYTES,
    check_names,
    choice,
    decimal,
    encode_lines,
    parse_lines,
    sha256_digest,
)
from entropyd.draw.samplers import Sampler
from entropyd.draw.segments import split_shuffle
from entropyd.encoding import check_id
from entropyd.errors import RequestError

_REQUIRED = frozenset({"contributions", "deck", "decks", "reveal", "sampler"})
_OPTIONAL = frozenset({"cards", "parent", "plan", "proofs", "removed", "replaces"})
PROOFS_OF_DECK = "deck"
# The items of eight decks of 54.
MAX_ITEMS = 432


class Contributions(StrEnum):
    """Whether seats may move the committed cards, and how they say it."""

    NONE = "none"
    OPEN = "open"
    SEALED = "sealed"


class Reveal(StrEnum):
    """Whether seed and salt key are ever shown."""

    NEVER = "never"
    AFTER_CLOSE = "after_close"


@dataclass(frozen=True, slots=True)
class Parent:
    """Whose discards a hand is dealt from.

    Attributes:
        digest: 32 bytes over the parent's open hash and the discarded places (`child.digest`).
        cards: how many were discarded, 2 to 432.

    Raises:
        RequestError: on construction, if there are too few or too many; names `rules.cards`.
    """

    digest: bytes
    cards: int

    def __post_init__(self) -> None:
        """Refuse what decides nothing, or is no shoe's."""
        if not 2 <= self.cards <= MAX_ITEMS:
            raise RequestError(
                "rules.cards", f"is {self.cards}; expected 2 to {MAX_ITEMS} discarded places"
            )


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a hand. The defaults are those of a `Shuffle` of one 52-card deck.

    Attributes:
        deck: what is shuffled.
        contributions: whether and how seats contribute.
        reveal: whether everything may be revealed after close.
        sampler: how the order is drawn from bits.
        whole_deck_proof: no card is proved alone; only a hand that is dealt
            whole, which takes no contributions, may have it.
        parent: whose discards are dealt; None for a whole deck.
        plan: whom place 0, 1, ... must go to; may end before the deck does.
        replaces: open hash of a void hand of the table, 32 bytes; empty for none.

    Raises:
        RequestError: on construction, if `whole_deck_proof` meets contributions;
            names `rules.proofs`.
    """

    deck: Deck = Deck()  # noqa: RUF009 - a frozen value
    contributions: Contributions = Contributions.NONE
    reveal: Reveal = Reveal.NEVER
    sampler: Sampler = Sampler.MASKED
    whole_deck_proof: bool = True
    parent: Parent | None = None
    plan: tuple[str, ...] = ()
    replaces: bytes = b""

    def __post_init__(self) -> None:
        """Refuse rules that contradict themselves."""
        _check_plan(self.plan, self.size)
        if self.whole_deck_proof and (self.parent or self.plan or self.replaces):
            raise RequestError(
                "rules.proofs",
                f"is {PROOFS_OF_DECK} beside parent, plan or replaces; expected it only where the"
                " whole deck is dealt at once",
            )
        if self.whole_deck_proof and self.contributions is not Contributions.NONE:
            raise RequestError(
                "rules.proofs",
                f"is {PROOFS_OF_DECK} beside contributions={self.contributions}; expected it"
                " only where nobody contributes, leave one of them out",
            )

    @property
    def size(self) -> int:
        """Number n of items that are shuffled."""
        return self.deck.size if self.parent is None else self.parent.cards

    def encode(self) -> bytes:
        """Return the canonical lines."""
        lines = {
            "contributions": self.contributions.value,
            "deck": self.deck.name,
            "decks": str(self.deck.decks),
            "reveal": self.reveal.value,
            "sampler": self.sampler.value,
        }
        if self.deck.removed:
            lines["removed"] = ",".join(map(str, self.deck.removed))
        if self.whole_deck_proof:
            lines["proofs"] = PROOFS_OF_DECK
        if self.parent is not None:
            lines["parent"] = self.parent.digest.hex()
            lines["cards"] = str(self.parent.cards)
        if self.plan:
            lines["plan"] = ",".join(self.plan)
        if self.replaces:
            lines["replaces"] = self.replaces.hex()
        return encode_lines(lines)


def rules_hash(encoded: bytes) -> bytes:
    """Return the 32 bytes that bind a draw to its rules: SHA-256 of their lines."""
    return sha256(encoded).digest()


def segments_needed(rules: Rules) -> int:
    """Return how many seeds a hand under `rules` takes, which is known before any is made."""
    return len(split_shuffle(rules.size))


def decode(encoded: bytes) -> Rules:
    """Return the rules that the lines spell.

    Args:
        encoded: bytes from a record or from a stranger.

    Returns:
        Rules whose `encode` gives exactly `encoded`.

    Raises:
        RequestError: the lines are not canonical, a name or value is unknown or
            missing, or the deck cannot be dealt. Names `rules`, `rules.NAME` or,
            for the deck, `deck.NAME`.
    """
    lines = parse_lines(encoded)
    check_names(lines, required=_REQUIRED, optional=_OPTIONAL, whose="a hand")
    deck = Deck(
        name=lines["deck"],
        decks=decimal("decks", lines["decks"]),
        removed=_removed(lines.get("removed")),
    )
    return Rules(
        deck=deck,
        contributions=choice(Contributions, "contributions", lines),
        reveal=choice(Reveal, "reveal", lines),
        sampler=choice(Sampler, "sampler", lines),
        whole_deck_proof=_whole_deck_proof(lines.get("proofs")),
        parent=_parent(lines),
        plan=tuple(lines["plan"].split(",")) if "plan" in lines else (),
        replaces=sha256_digest("replaces", lines["replaces"]) if "replaces" in lines else b"",
    )


def _removed(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    return tuple(decimal("removed", part) for part in text.split(","))


def _whole_deck_proof(text: str | None) -> bool:
    if text not in {None, PROOFS_OF_DECK}:
        raise RequestError("rules.proofs", f"expected {PROOFS_OF_DECK}, or no such line")
    return text is not None


def _parent(lines: Mapping[str, str]) -> Parent | None:
    if "parent" not in lines and "cards" not in lines:
        return None
    for name in ("cards", "parent"):
        if name not in lines:
            raise RequestError(f"rules.{name}", "is missing; cards and parent stand together")
    return Parent(sha256_digest("parent", lines["parent"]), decimal("cards", lines["cards"]))


def _check_plan(plan: tuple[str, ...], size: int) -> None:
    """Refuse a plan that has no spelling of its own, or goes beyond the deck."""
    if len(plan) > size:
        raise RequestError("rules.plan", f"names {len(plan)} places of a deck of {size}")
    for recipient in plan:
        check_id("rules.plan", recipient)
        if "," in recipient:
            raise RequestError("rules.plan", f"{recipient!r} has a comma; expected ids without")
    if len(",".join(plan)) > MAX_VALUE_BYTES:
        raise RequestError(
            "rules.plan",
            f"takes more than {MAX_VALUE_BYTES} characters; expected shorter ids or fewer places",
        )
