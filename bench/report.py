"""Figures on their way out: a table on the terminal, JSON in bench/results/ (not committed)."""

import json
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.process import load

RESULTS = Path(__file__).parent / "results"

Figure = float | int | str
Line = Mapping[str, Figure]


@dataclass
class Report:
    """Everything that one run measured.

    Attributes:
        name: names the file.
        rows: lines of figures by row of the bench.
        summary: one line for each row, for a closing note.
    """

    name: str
    rows: dict[str, list[Line]] = field(default_factory=dict)
    summary: list[str] = field(default_factory=list)
    load_before: str = field(default_factory=load)

    def add(self, row: str, lines: Sequence[Line], *summary: str) -> None:
        """Print a row's table and keep it."""
        self.rows[row] = list(lines)
        self.summary += [f"{row}: {text}" for text in summary]
        print(f"\n== {row} (load {load()})")
        print_table(lines)

    def finish(self) -> Path:
        """Print the summary, write the JSON, and return where."""
        print(f"\n== summary (load before {self.load_before}, after {load()})")
        for line in self.summary:
            print(line)
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}-{self.name}.json"
        machine = f"{platform.machine()} {platform.release()} python {platform.python_version()}"
        document = {
            "machine": machine,
            "load": [self.load_before, load()],
            "rows": self.rows,
            "summary": self.summary,
        }
        path.write_text(json.dumps(document, indent=2) + "\n")
        return path


def print_table(lines: Sequence[Line]) -> None:
    """Print lines with the same keys, each column as wide as it has to be."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    texts = [[_text(line.get(name, "")) for name in names] for line in lines]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    for row in (names, *texts):
        print("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)))


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that `share` (0 to 1) of all do not exceed; 0 of none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    rank = -(-len(ordered) * round(share * 10_000) // 10_000)
    return ordered[max(0, rank - 1)]


def middle(values: Iterable[float]) -> float:
    """Return the median, 0 of none."""
    known = list(values)
    return median(known) if known else 0.0


def _text(figure: Figure) -> str:
    if isinstance(figure, float):
        return f"{figure:.3f}" if abs(figure) < 10 else f"{figure:,.1f}"
    return f"{figure:,}" if isinstance(figure, int) else figure
