"""The row `lesson`: bad ways counted and caught, ours passing, and the attack of 1999."""

from collections.abc import Callable, Iterable
from functools import partial
from math import factorial, perm
from pathlib import Path
from time import perf_counter

from bench.lesson import poker1999
from bench.lesson.cases import (
    CARDS,
    SORTS,
    SUBTLE,
    WAYS,
    Case,
    bad_cases,
    our_cases,
    our_orders,
    place_samples,
)
from bench.lesson.detector import ALPHA, Finding
from bench.lesson.exact import explore, order_counts, paths
from bench.lesson.ways import Way
from bench.lesson.words import Words, fixed, fresh
from bench.report import Line, Report

QUICK_SIZES = (4, CARDS)
# The hand that is attacked: shuffled at 20:15:42.123, seen from the fourth of nine seats.
SEED = ((20 * 60 + 15) * 60 + 42) * 1000 + 123
SEAT = 3
# A clock that is known to within 100 s on either side.
WINDOW = range(SEED - poker1999.SYNCHRONISED_SEEDS // 2, SEED + poker1999.SYNCHRONISED_SEEDS // 2)
DAY = range(poker1999.CLOCK_SEEDS)
OUR_DECKS = 3
TIMES = "\N{MULTIPLICATION SIGN}"
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

Stream = Callable[[str], Words]


def run(report: Report, *, quick: bool, anew: bool = False, figures: Path | None = None) -> None:
    """Print and keep every table; draw the figures if a directory is given."""
    stream = fresh if anew else fixed
    report.add("lesson, counted", exact_lines((4,) if quick else (3, 4, 7)))
    report.add("lesson, decks of 52 to see it", needed_lines())
    report.add("lesson, judged", *judged(stream, quick=quick))
    if anew:
        print(_budget(quick=quick))
    report.add("lesson, the attack of 1999", *attack(stream, quick=quick))
    if figures:
        # Here alone, because matplotlib takes longer to import than a quick row to run.
        from bench.lesson.figures import draw_all  # noqa: PLC0415

        for path in draw_all(figures):
            print(path)


def exact_lines(sizes: Iterable[int]) -> list[Line]:
    """Return how unevenly the paths of each way are shared among the orders."""
    lines: list[Line] = []
    for size in sizes:
        lines += [_exact_line(name, way, size) for name, way in WAYS.items()]
        for name, sort in SORTS.items():
            shares = explore(partial(sort, size))
            whole = max(share.denominator for share in shares.values())
            counts = [int(share * whole) for share in shares.values()]
            lines.append(_counts_line(name, size, whole, counts))
    return lines


def _exact_line(name: str, way: Way, size: int) -> Line:
    steps = way(size)
    return _counts_line(name, size, paths(steps), list(order_counts(size, steps).values()))


def _counts_line(name: str, size: int, total: int, counts: list[int]) -> Line:
    reached, orders = len(counts), factorial(size)
    least = min(counts) if reached == orders else 0
    return {
        "way": name,
        "n": size,
        "paths": total,
        "orders reached": f"{reached:,} of {orders:,}",
        "likeliest": max(counts),
        "unlikeliest": least,
        "ratio": _ratio_text(max(counts) / least) if least else "",
    }


def _ratio_text(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio < 100 else f"{ratio:,.0f}"


def needed_lines() -> list[Line]:
    """Return how many decks of 52 it takes to catch each way, by exact arithmetic."""
    ways = WAYS | SUBTLE
    return [
        {"way": name, "decks": count_text(place_samples(way))}
        for name, way in sorted(ways.items(), key=lambda item: place_samples(item[1]))
    ]


def count_text(count: int) -> str:
    """Return a number in full, or by its power of ten if nobody would read it."""
    if count < 10**12:
        return f"{count:,}"
    return power_text(count, 1)


def power_text(number: int, digits: int) -> str:
    """Return a large number to some digits, with its power of ten."""
    power = len(str(number)) - 1
    raised = f"10{str(power).translate(SUPERSCRIPT)}"
    leading = f"{number / 10**power:.{digits}f}"
    return raised if leading == "1" else f"{leading} {TIMES} {raised}"


def judged(stream: Stream, *, quick: bool) -> tuple[list[Line], str]:
    """Return the table of findings and its sentence."""
    bad, ours = _cases(quick=quick)
    lines = [bad_line(case, stream) for case in bad] + [our_line(case, stream) for case in ours]
    verdicts = [line["verdict"] for line in lines]
    return lines, (
        f"{verdicts.count('caught')} of {len(bad)} bad rows caught,"
        f" {verdicts.count('passes')} of {len(ours)} of ours pass"
    )


def _cases(*, quick: bool) -> tuple[list[Case], list[Case]]:
    if quick:
        return list(bad_cases(QUICK_SIZES)), list(our_cases((CARDS,), times=1))
    return list(bad_cases()), list(our_cases())


def bad_line(case: Case, stream: Stream) -> Line:
    """Judge a bad way, and try it with the least number of samples."""
    finding = case.judge(stream(case.label), case.samples)
    caught = case.caught_with_least(stream(f"{case.label}, least"))
    least: Line = {"least": case.least, "caught with it": f"{caught} of {case.runs}"}
    return _line(case, finding, least, "caught" if finding.caught else "MISSED")


def our_line(case: Case, stream: Stream) -> Line:
    """Judge one of ours."""
    finding = case.judge(stream(case.label), case.samples)
    least: Line = {"least": "", "caught with it": ""}
    return _line(case, finding, least, "ACCUSED" if finding.caught else "passes")


def _line(case: Case, finding: Finding, least: Line, verdict: str) -> Line:
    return {
        "way": case.way,
        "n": case.size,
        **least,
        "samples": case.samples,
        "chi-square": f"{float(finding.statistic):,.1f}",
        "df": finding.df,
        "p": p_text(finding.p),
        "verdict": verdict,
    }


def p_text(p: float) -> str:
    """Return a probability as it is read: three digits, or a power of ten."""
    if p < 1e-300:
        return "< 1e-300"
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def _budget(*, quick: bool) -> str:
    ours = _cases(quick=quick)[1]
    return (
        f"Randomness was fresh. ACCUSED comes by chance in about {len(ours) * ALPHA:.0e} of such"
        " runs; MISSED is less likely still. `caught with it` differs from run to run."
    )


def attack(stream: Stream, *, quick: bool) -> tuple[list[Line], str]:
    """Search clock seeds for a deck of 1999 and for decks of ours."""
    theirs = poker1999.deck(SEED)
    searches = [("1999, clock known", theirs, WINDOW)]
    if not quick:
        searches.append(("1999, any time of day", theirs, DAY))
        ours = our_orders(stream("decks under attack"), CARDS, OUR_DECKS)
        searches += [(f"ours, deck {number}", cards, DAY) for number, cards in enumerate(ours, 1)]
    lines = [_search_line(*search) for search in searches]
    return lines, f"{lines[-1]['seeds']:,} seeds in {lines[-1]['s']:.1f} s"


def _search_line(name: str, cards: list[int], seeds: range) -> Line:
    """Search with the five cards of the flop, then ask the turn card which candidate is right."""
    known = poker1999.seen(cards, SEAT)
    began = perf_counter()
    fit = poker1999.search(known, seeds)
    took = perf_counter() - began
    turn = 2 * poker1999.SEATS + 1 + 3 + 1
    after_turn = [seed for seed in fit if poker1999.deck(seed)[turn] == cards[turn]]
    return {
        "deck": name,
        "seeds": len(seeds),
        "s": took,
        "fit 5 cards": len(fit),
        "by chance": f"{len(seeds) / perm(CARDS, len(known)):.4f}",
        "fit the turn": len(after_turn),
        "give the deck": sum(poker1999.deck(seed) == cards for seed in fit),
    }
