"""Raffles: a list that is fixed and published first, and who won.

The list has one canonical form, so that everybody who reads the published one
computes the same E. E is in the rules, the rules are in X: other entries are
another draw.

Spec: docs/protocol.md, "Raffles".
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import ClassVar

from entropyd.draw.rule_lines import sha256_digest
from entropyd.draw.segments import sample_bounds
from entropyd.draw.shuffle import choose
from entropyd.encoding import check_id, lp, u32
from entropyd.errors import RequestError
from entropyd.games.draw_kind import MAX_ITEMS, Common, DrawRules, Kind, check_range, number
from entropyd.hands.binding import draw_binding
from entropyd.hands.rules import rules_hash

MAX_ENTRY_BYTES = 256
# All entries of a raffle, without their length prefixes.
MAX_ENTRIES_BYTES = 1 << 20

ENTRIES_LABEL = lp(b"entropyd/raffle-entries/v1")
# The draw id of every raffle, whose own id takes the place of a match's.
RAFFLE_DRAW = "raffle"

# Unicode's property White_Space, written out: str.strip takes four control characters more.
_WHITE_SPACE = "".join(
    map(
        chr,
        (
            *range(0x09, 0x0E),
            *(0x20, 0x85, 0xA0, 0x1680),
            *range(0x2000, 0x200B),
            *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
        ),
    )
)
# Control, surrogate, private use, unassigned: nobody sees what they are, or whether two are equal.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cs", "Co", "Cn"})
_LINE_ENDS = "\u2028\u2029"


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a raffle in canonical form and order.

    Attributes:
        texts: entry 0 to n - 1. They may be people's names.
        digest: E, 32 bytes.
    """

    texts: tuple[str, ...] = field(repr=False)
    digest: bytes

    def __len__(self) -> int:
        """Return n."""
        return len(self.texts)


def canonical_entries(given: Sequence[str]) -> Entries:
    """Return a list of entries in its one form.

    Args:
        given: one text an entry, in any order.

    Raises:
        RequestError: there is none or there are too many; an entry is empty,
            too long or has a code point that nobody can read; or two of them
            are equal. Names `entries`; the text names the lines, from 1.
    """
    check_range("entries", len(given), 1, MAX_ITEMS, "entries of one raffle")
    encoded = [_canonical(line, text).encode("utf-8") for line, text in enumerate(given, 1)]
    total = sum(map(len, encoded))
    if total > MAX_ENTRIES_BYTES:
        raise RequestError(
            "entries", f"have {total} bytes; expected at most {MAX_ENTRIES_BYTES}, shorten them"
        )
    _check_distinct(encoded)
    encoded.sort()
    digest = sha256(ENTRIES_LABEL + u32(len(encoded)) + b"".join(map(lp, encoded))).digest()
    return Entries(tuple(entry.decode("utf-8") for entry in encoded), digest)


def published_entries(texts: Sequence[str]) -> Entries:
    """Return the entries of a list that somebody published, if it is canonical as it stands.

    Raises:
        RequestError: as `canonical_entries`; or the list is another than its
            canonical form; names `entries`.
    """
    entries = canonical_entries(texts)
    for line, (text, canonical) in enumerate(zip(texts, entries.texts, strict=True), 1):
        if text != canonical:
            raise RequestError(
                "entries", f"line {line} is not the entry that stands there in canonical form"
            )
    return entries


@dataclass(frozen=True, slots=True, kw_only=True)
class RaffleRules(DrawRules):
    """Winners and alternates of a sealed list.

    Attributes:
        entries: E, 32 bytes.
        n: how many entries, 1 to 100,000.
        winners: how many win, 1 to n.
        alternates: how many stand by, in their order; 0 to n - winners.
    """

    entries: bytes
    n: int
    winners: int
    alternates: int = 0

    kind: ClassVar[Kind] = Kind.RAFFLE

    def check(self) -> None:
        """Refuse a raffle without entries or winners, or with more winners than entries."""
        check_range("n", self.n, 1, MAX_ITEMS, "entries of one raffle")
        check_range("winners", self.winners, 1, self.n, f"there are {self.n} entries")
        left = self.n - self.winners
        check_range("alternates", self.alternates, 0, left, "winners and alternates are entries")

    def own_lines(self) -> dict[str, str]:
        """Return the lines of this kind."""
        return {
            "alternates": str(self.alternates),
            "entries": self.entries.hex(),
            "n": str(self.n),
            "winners": str(self.winners),
        }

    def bounds(self) -> Sequence[int]:
        """Return the bounds of a sample."""
        return sample_bounds(self.n, self.winners + self.alternates)

    def result(self, values: Iterable[int]) -> list[int]:
        """Return the numbers of the entries: first the winners, then the alternates."""
        return choose(self.n, self.winners + self.alternates, values)

    @classmethod
    def read(cls, lines: Mapping[str, str], common: Common) -> "RaffleRules":
        """Return the rules that the lines of this kind spell; errors as of `draw_rules.decode`."""
        return cls(
            entries=sha256_digest("entries", lines["entries"]),
            n=number(lines, "n"),
            winners=number(lines, "winners"),
            alternates=number(lines, "alternates"),
            **common,
        )


def raffle_binding(tenant: str, raffle: str, rules: RaffleRules) -> bytes:
    """Return X of a raffle; RequestError names `tenant` or `raffle`."""
    check_id("raffle", raffle)
    return draw_binding(tenant, raffle, RAFFLE_DRAW, rules_hash(rules.encode()))


def _canonical(line: int, text: str) -> str:
    entry = unicodedata.normalize("NFC", text).strip(_WHITE_SPACE)
    # Most entries are plain: ASCII that prints has no code point that is refused.
    if not (entry.isascii() and entry.isprintable()):
        _check_characters(line, entry)
    size = len(entry.encode("utf-8"))
    if not 1 <= size <= MAX_ENTRY_BYTES:
        raise RequestError(
            "entries",
            f"line {line} has {size} bytes without white space at its ends;"
            f" expected 1 to {MAX_ENTRY_BYTES} of UTF-8",
        )
    return entry


def _check_characters(line: int, entry: str) -> None:
    for character in entry:
        if unicodedata.category(character) in _REFUSED_CATEGORIES or character in _LINE_ENDS:
            raise RequestError(
                "entries",
                f"line {line} has U+{ord(character):04X}, which is a control character, a line end"
                f" or not a character of Unicode {unicodedata.unidata_version}; leave it out",
            )


def _check_distinct(encoded: Sequence[bytes]) -> None:
    if len(set(encoded)) == len(encoded):
        return
    first: dict[bytes, int] = {}
    for line, entry in enumerate(encoded, 1):
        if entry in first:
            raise RequestError(
                "entries",
                f"lines {first[entry]} and {line} are equal in canonical form; expected each entry"
                " once, add a ticket number to both",
            )
        first[entry] = line
