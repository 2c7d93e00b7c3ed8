"""What docs/why-fair.md says in numbers: its phrases and tables, computed.

The test of the document finds every phrase in it, and no number that is not in a phrase, in a
table or in PUBLISHED.

    python -m bench.lesson.facts docs/why-fair.md    writes the tables anew
"""

import sys
from collections.abc import Iterator
from fractions import Fraction
from math import erfc, factorial, log2, sqrt
from pathlib import Path

from bench.lesson import poker1999
from bench.lesson.cases import CARDS, bad_cases, our_cases, place_samples
from bench.lesson.chi_square import WANTED
from bench.lesson.exact import explore, order_counts, paths, place_counts
from bench.lesson.row import (
    TIMES,
    bad_line,
    count_text,
    exact_lines,
    needed_lines,
    our_line,
    power_text,
)
from bench.lesson.ways import (
    BYTE,
    byte_remainder,
    insertion_sort,
    planet_poker,
    swap_with_anything,
)
from bench.lesson.words import WORDS, fixed
from bench.report import Line
from entropyd.draw.keystream import SEED_BYTES
from entropyd.entropy.policy import HARDWARE_BITS

# Written by others, or a name, not a result; each with where it stands.
PUBLISHED = (
    "1999",  # the year of "How We Learned to Cheat at Online Poker"
    "200,000",  # the same: seeds that are left with the clock known
    "1964",  # Durstenfeld, Algorithm 235, Communications of the ACM
    "235",
    "SHA-256",
    "SHA-512",
    "32 bits",
    "16 bits",
    "1 to 52",  # Arkin et al. count cards and places from 1
    "1 to 51",
)
DECKS = 1_000_000
TRIES_A_SECOND = 10**18
YEAR_S = 31_557_600
# Enough for the table of the document; the row of the bench judges more.
DOCUMENT_SIZES = (4, 7, CARDS)


def phrases() -> Iterator[str]:
    """Yield every phrase that carries a number."""
    yield from _remainder_phrases()
    yield from _shuffle_phrases()
    yield from _sort_phrases()
    yield from _seed_phrases()
    yield from _attack_phrases()
    yield from _simulation_phrases()


def _remainder_phrases() -> Iterator[str]:
    share, left = divmod(BYTE, 100)
    yield f"{BYTE} = {share} {TIMES} 100 + {left}"
    yield f"1 to {left} come from {share + 1} bytes each and {left + 1} to 100 from {share}"
    yield f"{Fraction(share + 1, share) * 1.0} times as likely"
    yield f"{left} times in {BYTE}, {left / BYTE:.1%}".replace("%", " %")
    width = (CARDS - 1).bit_length()
    wasted = (1 << width) - CARDS
    yield f"{width} bits have {1 << width} values"
    yield f"for {CARDS} places it throws {wasted} of them away"


def _shuffle_phrases() -> Iterator[str]:
    yield f"{CARDS}! = {power_text(factorial(CARDS), 2)} orders"
    yield f"{paths(swap_with_anything(3))} equally likely paths to {factorial(3)} orders"
    for size in (4, 7):
        counts = order_counts(size, swap_with_anything(size)).values()
        yield f"{max(counts)} to {min(counts)}"
    reached = len(order_counts(4, planet_poker(4)))
    yield f"{reached} of the {factorial(4)} orders"
    steps = swap_with_anything(CARDS)
    ratios = [Fraction(CARDS * n, paths(steps)) for row in place_counts(CARDS, steps) for n in row]
    yield f"between {float(min(ratios)):.2f} and {float(max(ratios)):.2f} times as likely"
    yield f"after {place_samples(byte_remainder):,} decks"
    yield f"{1000 * WANTED:.0f} times in a thousand"


def _sort_phrases() -> Iterator[str]:
    shares = explore(lambda source: insertion_sort(3, source))
    yield f"{max(shares.values())} each, the other four {min(shares.values())} each"
    yield f"{Fraction(1, factorial(3))} is not"


def _seed_phrases() -> Iterator[str]:
    bits = log2(factorial(CARDS))
    yield f"{poker1999.CLOCK_SEEDS:,} milliseconds"
    yield f"{WORDS:,} decks"
    yield f"one in {power_text(factorial(CARDS) // WORDS, 1)}"
    yield f"{bits:.1f} bits"
    yield f"{8 * SEED_BYTES} bits"
    yield f"{HARDWARE_BITS} bits of min-entropy"
    years = 2**HARDWARE_BITS // (TRIES_A_SECOND * YEAR_S)
    yield f"at {power_text(TRIES_A_SECOND, 0)} tries a second it takes {power_text(years, 0)} years"


def _attack_phrases() -> Iterator[str]:
    five = CARDS * 51 * 50 * 49 * 48
    yield f"{five:,} ways"
    yield f"{poker1999.CLOCK_SEEDS / five:.2f} seeds fit by chance"


def _simulation_phrases() -> Iterator[str]:
    p = 1 / CARDS
    yield f"{DECKS:,} decks"
    yield f"{DECKS * p:,.0f} times, give or take {sqrt(DECKS * p * (1 - p)):.0f}"
    yield f"{CARDS**2:,} pairs"
    yield f"some {CARDS**2 * erfc(3 / sqrt(2)):.0f} of them are off by more than 3"
    yield f"worst is off by {_median_of_worst(CARDS**2):.1f} or more"


def _median_of_worst(cells: int) -> float:
    """Return the deviation that the worst of many normal ones exceeds half of the time."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        if (1 - erfc(middle / sqrt(2))) ** cells < 0.5:
            low = middle
        else:
            high = middle
    return high


def tables() -> dict[str, str]:
    """Return each table of the document by its name."""
    return {
        "counted": _markdown(exact_lines((4, 7))),
        "needed": _markdown(needed_lines()),
        "judged": _markdown(_judged()),
    }


def _judged() -> list[Line]:
    bad = [bad_line(case, fixed) for case in bad_cases(DOCUMENT_SIZES)]
    return bad + [our_line(case, fixed) for case in our_cases((CARDS,))]


def _markdown(lines: list[Line]) -> str:
    names = list(lines[0])
    rows = [[_cell(line[name]) for name in names] for line in lines]
    head = [names, ["---" if name == "way" else "---:" for name in names]]
    return "\n".join("| " + " | ".join(row) + " |" for row in [*head, *rows])


def _cell(figure: float | str) -> str:
    return count_text(figure) if isinstance(figure, int) else str(figure)


def with_tables(document: str) -> str:
    """Return the document with every table between its marks computed anew."""
    for name, table in tables().items():
        before, mark, rest = document.partition(f"<!-- table {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not end:
            raise ValueError(f"no table {name} to fill in; expected its marks")
        document = f"{before}{mark}{table}\n{end}{after}"
    return document


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text("utf-8")), "utf-8")
