"""What a hand is played under, as the lines that are hashed.

One set of rules has one spelling, so one hash: encoding is canonical, and
decoding refuses every other spelling instead of repairing it.

Spec: docs/protocol.md, "Rules".
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TypeVar

from entropyd.draw.cards import Deck
from entropyd.draw.samplers import Sampler
from entropyd.draw.segments import split_shuffle
from entropyd.errors import RequestError

_LINE = re.compile(rb"([a-z0-9_]{1,32})=([\x20-\x7E]{1,1024})\n")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,8}")

_REQUIRED = frozenset({"contributions", "deck", "decks", "reveal", "sampler"})
_OPTIONAL = frozenset({"proofs", "removed"})
PROOFS_OF_DECK = "deck"

_Choice = TypeVar("_Choice", bound=StrEnum)


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
class Rules:
    """The rules of a hand. The defaults are those of a `Shuffle` of one 52-card deck.

    Attributes:
        deck: what is shuffled.
        contributions: whether and how seats contribute.
        reveal: whether everything may be revealed after close.
        sampler: how the order is drawn from bits.
        whole_deck_proof: no card is proved alone; only a hand that is dealt
            whole, which takes no contributions, may have it.

    Raises:
        RequestError: on construction, if `whole_deck_proof` meets contributions;
            names `rules.proofs`.
    """

    deck: Deck = Deck()  # noqa: RUF009 - a frozen value
    contributions: Contributions = Contributions.NONE
    reveal: Reveal = Reveal.NEVER
    sampler: Sampler = Sampler.MASKED
    whole_deck_proof: bool = True

    def __post_init__(self) -> None:
        """Refuse rules that contradict themselves."""
        if self.whole_deck_proof and self.contributions is not Contributions.NONE:
            raise RequestError(
                "rules.proofs",
                f"is {PROOFS_OF_DECK} beside contributions={self.contributions}; expected it"
                " only where nobody contributes, leave one of them out",
            )

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
        return "".join(f"{name}={lines[name]}\n" for name in sorted(lines)).encode("ascii")


def rules_hash(encoded: bytes) -> bytes:
    """Return the 32 bytes that bind a draw to its rules: SHA-256 of their lines."""
    return sha256(encoded).digest()


def segments_needed(rules: Rules) -> int:
    """Return how many seeds a hand under `rules` takes, which is known before any is made."""
    return len(split_shuffle(rules.deck.size))


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
    lines = _parse_lines(encoded)
    deck = Deck(
        name=lines["deck"],
        decks=_decimal("decks", lines["decks"]),
        removed=_removed(lines.get("removed")),
    )
    return Rules(
        deck=deck,
        contributions=_choice(Contributions, "contributions", lines),
        reveal=_choice(Reveal, "reveal", lines),
        sampler=_choice(Sampler, "sampler", lines),
        whole_deck_proof=_whole_deck_proof(lines.get("proofs")),
    )


def _parse_lines(encoded: bytes) -> dict[str, str]:
    """Return name -> value, of lines in the one permitted order."""
    if not encoded:
        raise RequestError("rules", "are empty; expected lines name=value")
    lines: dict[str, str] = {}
    position, previous = 0, ""
    while position < len(encoded):
        match = _LINE.match(encoded, position)
        if match is None:
            raise RequestError("rules", f"byte {position} does not begin a line name=value")
        name, value = match[1].decode("ascii"), match[2].decode("ascii")
        if name <= previous:
            raise RequestError(
                "rules", f"{name} stands after {previous}; expected byte order, each name once"
            )
        lines[name] = value
        position, previous = match.end(), name
    _check_names(lines.keys())
    return lines


def _check_names(names: Iterable[str]) -> None:
    unknown = sorted(set(names) - _REQUIRED - _OPTIONAL)
    if unknown:
        known = ", ".join(sorted(_REQUIRED | _OPTIONAL))
        raise RequestError(f"rules.{unknown[0]}", f"is not a rule; expected {known}")
    missing = sorted(_REQUIRED - set(names))
    if missing:
        raise RequestError(f"rules.{missing[0]}", "is missing; a hand's rules always name it")


def _choice(choices: type[_Choice], name: str, lines: Mapping[str, str]) -> _Choice:
    try:
        return choices(lines[name])
    except ValueError:
        raise RequestError(
            f"rules.{name}", f"expected one of {', '.join(choice.value for choice in choices)}"
        ) from None


def _decimal(name: str, text: str) -> int:
    if not _DECIMAL.fullmatch(text):
        raise RequestError(f"rules.{name}", "expected a decimal number without leading zeros")
    return int(text)


def _removed(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    return tuple(_decimal("removed", part) for part in text.split(","))


def _whole_deck_proof(text: str | None) -> bool:
    if text not in {None, PROOFS_OF_DECK}:
        raise RequestError("rules.proofs", f"expected {PROOFS_OF_DECK}, or no such line")
    return text is not None
