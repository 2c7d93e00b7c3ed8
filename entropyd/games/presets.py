"""Sets of tiles that games are sold with: kinds in order, and how many of each.

A preset never changes, because rules name it: another set takes another name.
The letters are those of the game's editions in these languages, as listed at
https://en.wikipedia.org/wiki/Scrabble_letter_distributions and, for the Polish
one, at https://scrabble123.pl/slownik-scrabble; the Ukrainian ones were compared
with another program's copy of that list and with no box (docs/protocol.md says
which). Dominoes are the 28 pairs of 0 to 6.

Spec: docs/protocol.md, "Presets".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

BLANK = "blank"


@dataclass(frozen=True, slots=True)
class Preset:
    """A set of tiles.

    Attributes:
        labels: what each kind shows, for people.
        counts: how many tiles of each kind a full bag holds.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]


def _letters(letters: str, counts: str) -> Preset:
    """Return letters with their counts, and two blanks behind them."""
    return Preset((*letters, BLANK), (*map(int, counts.split()), 2))


_DOMINOES = tuple(f"{low}-{high}" for low in range(7) for high in range(low, 7))

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "english": _letters(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "9 2 2 4 12 2 3 2 9 1 1 4 2 6 8 2 1 6 4 6 4 2 2 1 2 1",
        ),
        "polish": _letters(
            "AĄBCĆDEĘFGHIJKLŁMNŃOÓPRSŚTUWYZŹŻ",
            "9 1 2 3 1 3 7 1 1 2 2 8 2 3 3 2 3 5 1 6 1 3 4 4 1 3 2 4 4 5 1 1",
        ),
        "ukrainian": _letters(
            "АБВГҐДЕЄЖЗИІЇЙКЛМНОПРСТУФХЦЧШЩЬЮЯʼ",
            "8 2 4 2 1 3 5 1 1 2 7 5 1 1 4 3 4 7 10 3 5 4 5 3 1 1 1 1 1 1 1 1 2 1",
        ),
        "dominoes": Preset(_DOMINOES, (1,) * len(_DOMINOES)),
    }
)
