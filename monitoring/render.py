"""Draws the dashboard from what a Prometheus has: for a manual, or where there is no Grafana.

    python -m monitoring.render http://127.0.0.1:9090 INSTANCE FILE.png [--row TITLE]

It reads entropyd.json and nothing else: the panels' own expressions, titles,
units, texts and steps. What Grafana would show as no data is red here too.
"""

import argparse
import io
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from PIL import Image

from monitoring.dashboard import FILE
from monitoring.query import Prometheus, Series
from monitoring.reading import COLOURS, colour_of, fill_in, name_of, shown, with_unit

# One unit of the dashboard's grid, of which it is 24 wide, in inches: 1,200 pixels in all.
CELL_WIDTH_IN, CELL_HEIGHT_IN = 0.5, 0.34
DPI = 100
PALETTE_COLOURS = 64
GAP = 0.12
LINE_COLOURS = (
    "#1f60c4", "#e0752d", "#37872d", "#8f3bb8", "#c4162a", "#0a8a9e", "#d9a404", "#6b6b6b",
)  # fmt: skip
# What an axis shows at least, by its unit: noise around nothing should look like nothing.
LEAST_SCALE = {"s": 0.01, "percentunit": 0.1}
# A gap of more steps than this is a series that was not there.
GAP_STEPS = 2.5


@dataclass(frozen=True)
class View:
    """What of a daemon is looked at.

    Attributes:
        prometheus: who is asked.
        instance: the daemon.
        end: until which Unix time.
        seconds: for how long before that.
        step_s: time between two points.
    """

    prometheus: Prometheus
    instance: str
    end: float
    seconds: float
    step_s: float

    def series(self, target: Mapping[str, Any]) -> list[tuple[str, Series]]:
        """Return the series of a panel's target, each with what it is called."""
        # Four scrapes, as Grafana takes it.
        rate = f"{max(1, round(4 * self.step_s))}s"
        expr = fill_in(target["expr"], {"instance": self.instance, "__rate_interval": rate})
        if target["instant"]:
            found = self.prometheus.now(expr, self.end)
        else:
            start = self.end - self.seconds
            found = self.prometheus.over(expr, start=start, end=self.end, step_s=self.step_s)
        return [(name_of(target["legendFormat"], one.labels), one) for one in found]


def draw(view: View, *, rows: Sequence[str] = ()) -> bytes:
    """Return the dashboard, or some of its rows by title, as a PNG."""
    panels = list(_chosen(json.loads(FILE.read_text())["panels"], rows))
    height = max(top + panel["gridPos"]["h"] for top, panel in panels)
    with mpl.rc_context({"font.size": 8, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(24 * CELL_WIDTH_IN, height * CELL_HEIGHT_IN), dpi=DPI)
        for top, panel in panels:
            _PANELS[panel["type"]](_frame(figure, panel, top, height), panel, view)
        return _encoded(figure)


def _chosen(
    panels: Sequence[Mapping[str, Any]], rows: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each panel of the chosen rows with its distance from the top."""
    top = row_top = 0
    chosen = True
    for index, panel in enumerate(panels):
        place = panel["gridPos"]
        if panel["type"] == "row":
            chosen = not rows or panel["title"] in rows
            row_top = place["y"]
            if chosen:
                yield top, panel
        elif chosen:
            yield top + place["y"] - row_top, panel
        ends = index + 1 == len(panels) or panels[index + 1]["type"] == "row"
        if ends and chosen:
            top += place["y"] + place["h"] - row_top


def _frame(figure: Figure, panel: Mapping[str, Any], top: int, height: int) -> Axes:
    """Return axes over the whole of a panel, in units of the grid."""
    place = panel["gridPos"]
    bottom = 1 - (top + place["h"]) / height
    axes = figure.add_axes((place["x"] / 24, bottom, place["w"] / 24, place["h"] / height))
    axes.set_xlim(0, place["w"])
    axes.set_ylim(place["h"], 0)
    axes.axis("off")
    return axes


def _row(axes: Axes, panel: Mapping[str, Any], view: View) -> None:
    text = panel["title"]
    if panel["id"] == 1:
        until = datetime.fromtimestamp(view.end, UTC)
        text += f"  ({view.instance}, {view.seconds:.0f} s until {until:%H:%M:%S} UTC)"
    axes.text(GAP, 0.55, text, fontsize=10, fontweight="bold", va="center")


def _box(axes: Axes, panel: Mapping[str, Any], colour: str = "white") -> tuple[float, float]:
    """Draw a panel's box with its title; return its inner width and height."""
    width, height = panel["gridPos"]["w"], panel["gridPos"]["h"]
    box = mpl.patches.Rectangle(
        (GAP / 2, GAP / 2), width - GAP, height - GAP, facecolor=colour, edgecolor="#b0b0b0", lw=0.8
    )
    axes.add_patch(box)
    ink = "black" if colour == "white" else "white"
    axes.text(0.25, 0.5, panel["title"], fontsize=8.5, fontweight="bold", va="center", color=ink)
    return width, height


def _number(axes: Axes, panel: Mapping[str, Any], view: View) -> None:
    found = [one for target in panel["targets"] for one in view.series(target)]
    named = panel["options"]["textMode"] == "name"
    texts = []
    for name, series in found:
        text, colour = shown(panel, series.value)
        label = name.removeprefix(view.instance).strip()
        texts.append((name if named else text, "" if named else label, colour))
    texts = texts or [(*shown(panel, None)[:1], "", shown(panel, None)[1])]
    width, height = _box(axes, panel, texts[0][2])
    part = (height - 1) / len(texts)
    for index, (text, label, colour) in enumerate(texts):
        middle = 0.8 + part * (index + 0.5)
        if index:
            corner = (GAP / 2, 0.8 + part * index)
            size = (width - GAP, part - GAP)
            axes.add_patch(mpl.patches.Rectangle(corner, *size, facecolor=colour))
        # As large as fits: a letter is about 0.6 of its height wide.
        points = min(30.0, part * 72 * CELL_HEIGHT_IN * 0.6, (width - 0.5) * 47 / max(4, len(text)))
        axes.text(
            width / 2, middle, text, fontsize=points, fontweight="bold", color="white",
            ha="center", va="center",
        )  # fmt: skip
        if label:
            axes.text(width - 0.25, middle + part / 2 - 0.5, label, color="white", ha="right")


def _plot(axes: Axes, *, left: float, top: float, right: float, bottom: float) -> Axes:
    """Return axes of their own inside a panel's box; the sides are in cells from its corner."""
    box = axes.get_position()
    width, height = axes.get_xlim()[1], axes.get_ylim()[0]
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("a panel belongs to a figure")
    return figure.add_axes(
        (
            box.x0 + box.width * left / width,
            box.y1 - box.height * bottom / height,
            box.width * (right - left) / width,
            box.height * (bottom - top) / height,
        )
    )


def _graph(axes: Axes, panel: Mapping[str, Any], view: View) -> None:
    found = [one for target in panel["targets"] for one in view.series(target)]
    if not found:
        _no_data(axes, panel)
        return
    width, height = _box(axes, panel)
    unit = panel["fieldConfig"]["defaults"]["unit"]
    legend = _legend(panel, found, view)
    below = 0.92 + 0.52 * len(legend)
    plot = _plot(axes, left=1.6, top=1.0, right=width - 0.4, bottom=height - below)
    _curves(plot, panel, found, view)
    plot.set_xlim(view.end - view.seconds, view.end)
    plot.set_ylim(bottom=0, top=max(1.05 * plot.get_ylim()[1], LEAST_SCALE.get(unit, 1.0)))
    plot.yaxis.set_major_locator(MaxNLocator(4))
    plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: with_unit(value, unit)))
    plot.xaxis.set_major_locator(MaxNLocator(3 if width < 8 else 4, prune="both"))
    plot.xaxis.set_major_formatter(FuncFormatter(_clock))
    plot.tick_params(labelsize=6.5, length=2)
    plot.grid(visible=True, lw=0.4, color="#dddddd")
    for line, entries in enumerate(reversed(legend)):
        _write_legend(axes, entries, height - 0.4 - 0.52 * line)


def _curves(
    plot: Axes, panel: Mapping[str, Any], found: Sequence[tuple[str, Series]], view: View
) -> None:
    custom = panel["fieldConfig"]["defaults"]["custom"]
    if custom.get("stacking", {}).get("mode") == "normal":
        _stack(plot, panel, found)
    else:
        for index, (name, series) in enumerate(found):
            at, values = _with_gaps(series, view.step_s)
            plot.plot(at, values, color=_colour(panel, index, name), lw=1.3)
    if custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1:]:
            plot.axhline(step["value"], color=COLOURS[step["color"]], lw=1, ls="--")


def _stack(plot: Axes, panel: Mapping[str, Any], found: Sequence[tuple[str, Series]]) -> None:
    times = sorted({at for _, series in found for at, _ in series.points})
    values = [[dict(series.points).get(at, 0.0) for at in times] for _, series in found]
    colours = [_colour(panel, index, name) for index, (name, _) in enumerate(found)]
    plot.stackplot(times, values, colors=colours, alpha=0.75, lw=0)


def _with_gaps(series: Series, step_s: float) -> tuple[list[float], list[float]]:
    """Return times and values, with nothing in between where a series was not there."""
    times: list[float] = []
    values: list[float] = []
    for at, value in series.points:
        if times and at - times[-1] > GAP_STEPS * step_s:
            times.append(at - step_s)
            values.append(math.nan)
        times.append(at)
        values.append(value)
    return times, values


def _colour(panel: Mapping[str, Any], index: int, name: str) -> str:
    return colour_of(panel, name) or LINE_COLOURS[index % len(LINE_COLOURS)]


Entry = tuple[str, str]


def _legend(
    panel: Mapping[str, Any], found: Sequence[tuple[str, Series]], view: View
) -> list[list[Entry]]:
    """Return the legend in lines that fit: colour, and name with last value."""
    width, unit = panel["gridPos"]["w"], panel["fieldConfig"]["defaults"]["unit"]
    lines: list[list[Entry]] = [[]]
    used = 0.0
    for index, (name, series) in enumerate(found):
        known = [value for _, value in series.points if not math.isnan(value)]
        last = with_unit(known[-1], unit) if known else "-"
        text = f"{name.removeprefix(view.instance).strip() or name}: {last}"
        needs = 0.7 + 0.125 * len(text)
        if lines[-1] and used + needs > width - 0.5:
            lines.append([])
            used = 0.0
        lines[-1].append((_colour(panel, index, name), text))
        used += needs
    return lines


def _write_legend(axes: Axes, entries: Sequence[Entry], y: float) -> None:
    x = 0.3
    for colour, text in entries:
        axes.plot([x, x + 0.3], [y, y], color=colour, lw=2)
        axes.text(x + 0.4, y, text, fontsize=6.8, va="center")
        x += 0.7 + 0.125 * len(text)


def _timeline(axes: Axes, panel: Mapping[str, Any], view: View) -> None:
    found = [one for target in panel["targets"] for one in view.series(target)]
    if not found:
        _no_data(axes, panel)
        return
    width, height = _box(axes, panel)
    names = [name.removeprefix(view.instance).strip() or name for name, _ in found]
    # A letter takes about 0.16 cells.
    left = 0.6 + 0.16 * max(len(name) for name in names)
    plot = _plot(axes, left=left, top=1.0, right=width - 0.4, bottom=height - 0.8)
    for index, (_, series) in enumerate(found):
        for begin, end, value in _stretches(series, view.step_s):
            text, colour = shown(panel, value)
            plot.broken_barh([(begin, end - begin)], (index - 0.4, 0.8), facecolors=colour)
            room = (end - begin) / view.seconds * (width - left - 0.4) / 0.16
            text = text if len(text) < room else text.partition(":")[0]
            if len(text) < room:
                middle = ((begin + end) / 2, index)
                plot.text(*middle, text, color="white", ha="center", va="center", fontsize=7)
    plot.set_xlim(view.end - view.seconds, view.end)
    plot.set_ylim(max(len(found), 2) - 0.5, -0.5)
    plot.set_yticks(range(len(found)), names)
    plot.xaxis.set_major_locator(MaxNLocator(8, prune="both"))
    plot.xaxis.set_major_formatter(FuncFormatter(_clock))
    plot.tick_params(labelsize=7, length=2)


def _stretches(series: Series, step_s: float) -> Iterator[tuple[float, float, float]]:
    """Yield beginning, end and value of each stretch of equal values without a gap."""
    begin, last, value = series.points[0][0], series.points[0][0], series.points[0][1]
    for at, now in series.points[1:]:
        if now != value or at - last > GAP_STEPS * step_s:
            # A sample stands for the time until the next was due.
            yield begin, min(at, last + step_s), value
            begin, value = at, now
        last = at
    yield begin, last + step_s, value


def _no_data(axes: Axes, panel: Mapping[str, Any]) -> None:
    width, height = _box(axes, panel, COLOURS["red"])
    text = panel["fieldConfig"]["defaults"]["noValue"]
    axes.text(
        width / 2, height / 2, text, fontsize=20, fontweight="bold", color="white", ha="center",
        va="center",
    )  # fmt: skip


def _clock(at: float, _position: int) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"


def _encoded(figure: Figure) -> bytes:
    """Return a figure as a PNG of few colours, a third as large as with all of them."""
    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    picture = Image.open(drawn).convert("RGB").quantize(PALETTE_COLOURS)
    picture.save(packed, format="png", optimize=True)
    return packed.getvalue()


_PANELS = {
    "row": _row,
    "stat": _number,
    "timeseries": _graph,
    "state-timeline": _timeline,
}


def main() -> None:
    """Draw what the command line says."""
    parser = argparse.ArgumentParser(prog="monitoring.render", description="Draw the dashboard.")
    parser.add_argument("prometheus", help="address of the server")
    parser.add_argument("instance", help="as Prometheus calls it")
    parser.add_argument("file", type=Path, help="the PNG to write")
    parser.add_argument("--row", action="append", default=[], help="only rows of this title")
    parser.add_argument("--minutes", type=float, default=60.0, help="how far back")
    given = parser.parse_args()
    seconds = 60 * given.minutes
    view = View(Prometheus(given.prometheus), given.instance, time.time(), seconds, seconds / 240)
    given.file.write_bytes(draw(view, rows=given.row))


if __name__ == "__main__":
    main()
