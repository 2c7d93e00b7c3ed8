"""`python -m bench [ROW...]`: measure, print, and keep the figures."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import (
    closed_loop,
    decks,
    draw_sizes,
    draws,
    hands,
    health,
    kernels,
    ledger_size,
    many,
    open_loop,
    rejections,
    start,
    verify,
)
from bench.lesson import row as lesson
from bench.report import Report

ROWS: dict[str, Callable[..., None]] = {
    "kernels": kernels.run,
    "health": health.run,
    "ledger-size": ledger_size.run,
    "start": start.run,
    "closed": closed_loop.run,
    "decks": decks.run,
    "draw-sizes": draw_sizes.run,
    "draws": draws.run,
    "hands": hands.run,
    "many": many.run,
    "open": open_loop.run,
    "rejections": rejections.run,
    "verify": verify.run,
    "lesson": lesson.run,
}


def main() -> None:
    """Run the rows that were named, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="only to see that everything runs")
    parser.add_argument(
        "--minutes", type=int, metavar="N", help="of each rate of row open, pinned (default: 1)"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="row lesson on the operating system's randomness"
    )
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="row lesson draws those of docs/why-fair.md"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; expected some of {', '.join(ROWS)}")
    names = arguments.rows or list(ROWS)
    if arguments.minutes is not None and (arguments.minutes < 1 or arguments.quick):
        parser.error("--minutes takes 1 or more, and goes without --quick")
    rows = ROWS | {
        "open": partial(open_loop.run, minutes=arguments.minutes),
        "lesson": partial(lesson.run, anew=arguments.fresh, figures=arguments.figures),
    }
    report = Report("quick" if arguments.quick else "-".join(names))
    for name in names:
        rows[name](report, quick=arguments.quick)
    print(f"\nkept in {report.finish()}")


if __name__ == "__main__":
    main()
