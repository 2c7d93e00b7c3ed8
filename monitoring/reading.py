"""Reads panels of a dashboard's JSON as Grafana does: names, units, texts and colours."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Grafana's palette, the light theme's reading of each name.
COLOURS = {
    "red": "#c4162a",
    "orange": "#e0752d",
    "yellow": "#d9a404",
    "green": "#37872d",
    "blue": "#1f60c4",
    "purple": "#8f3bb8",
    "transparent": "none",
}
DEFAULT_NO_VALUE = "No data"

_SECONDS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_COUNTS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_BYTES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def fill_in(text: str, variables: Mapping[str, str]) -> str:
    """Return an expression with the dashboard's variables, `$name`, replaced."""
    return re.sub(r"\$(\w+)", lambda found: variables.get(found[1], found[0]), text)


def name_of(legend: str, labels: Mapping[str, str]) -> str:
    """Return what a series is called: `{{label}}` stands for a label's value."""
    return re.sub(r"{{\s*(\w+)\s*}}", lambda found: labels.get(found[1], ""), legend).strip()


def shown(panel: Mapping[str, Any], value: float | None) -> tuple[str, str]:
    """Return the text and the colour of a value; None stands for no data."""
    defaults = panel["fieldConfig"]["defaults"]
    text, colour = _mapped(defaults.get("mappings", ()), value)
    if text is None:
        missing = value is None or math.isnan(value)
        text = (
            defaults.get("noValue", DEFAULT_NO_VALUE)
            if missing
            else with_unit(value or 0.0, defaults.get("unit", "short"))
        )
    return text, COLOURS[colour or _step(defaults["thresholds"]["steps"], value)]


def with_unit(value: float, unit: str) -> str:
    """Return a number for people, in a unit by Grafana's name of it."""
    match unit:
        case "s":
            return _scaled(value, _SECONDS)
        case "bytes":
            return _scaled(value, _BYTES)
        case "percentunit":
            return f"{value * 100:.3g} %"
        case "cps":
            return f"{_scaled(value, _COUNTS, gap='')}/s"
        case "short":
            return _scaled(value, _COUNTS)
        case "none":
            return f"{value:.0f}"
    raise ValueError(f"unit {unit!r} is not known here")


def _scaled(value: float, scales: Sequence[tuple[float, str]], gap: str = " ") -> str:
    for least, name in scales:
        if abs(value) >= least:
            return f"{_digits(value / least)}{gap}{name}"
    if scales is _COUNTS:
        return _digits(value)
    return "0 s" if scales is _SECONDS else f"{_digits(value)} {scales[-1][1]}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def colour_of(panel: Mapping[str, Any], name: str) -> str | None:
    """Return the colour that a panel fixes for a series of this name, or None."""
    for override in panel["fieldConfig"]["overrides"]:
        if re.search(override["matcher"]["options"].strip("/"), name):
            return COLOURS[override["properties"][0]["value"]["fixedColor"]]
    return None


def _mapped(
    mappings: Sequence[Mapping[str, Any]], value: float | None
) -> tuple[str | None, str | None]:
    """Return text and colour by the first mapping that fits, or None twice."""
    for mapping in mappings:
        options = mapping["options"]
        missing = value is None or math.isnan(value)
        match mapping["type"]:
            case "special":
                result = options["result"] if missing else None
            case "range":
                fits = value is not None and options["from"] <= value <= options["to"]
                result = options["result"] if fits else None
            case _:
                result = None if value is None or missing else options.get(f"{value:g}")
        if result is not None:
            return result.get("text"), result.get("color")
    return None, None


def _step(steps: Sequence[Mapping[str, Any]], value: float | None) -> str:
    """Return the colour of the highest step that a value reaches; the lowest for no data."""
    reached = steps[0]["color"]
    for step in steps[1:]:
        if value is not None and value >= step["value"]:
            reached = step["color"]
    return str(reached)
