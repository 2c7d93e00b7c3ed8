"""The dashboard is what the code builds, loads, and never shows nothing as something good."""

import itertools
import json

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from monitoring import dashboard
from monitoring.reading import COLOURS, colour_of, fill_in, name_of, shown, with_unit

BOARD = json.loads(dashboard.FILE.read_text())
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
NUMBERS = [panel for panel in PANELS if panel["type"] == "stat"]


def by_title(panels):
    return {"argvalues": panels, "ids": [panel["title"] for panel in panels]}


def test_the_file_is_what_the_code_builds():
    """Otherwise: `python -m monitoring.dashboard`, and commit both."""
    assert dashboard.encode() == dashboard.FILE.read_text()


def test_the_sdk_reads_it_as_it_was_written():
    again = json.loads(json.dumps(Dashboard.from_json(BOARD), cls=JSONEncoder))
    assert again == BOARD


def test_the_first_row_answers_first():
    """Can we deal, why not, for how long: left to right, at the top."""
    first = sorted(
        (panel["gridPos"]["y"], panel["gridPos"]["x"], panel["title"]) for panel in PANELS
    )
    assert ["Can we deal?", "Why not?", "Held for"] == [title for _, _, title in first[:3]]


def test_rows_follow_the_way_of_the_entropy():
    rows = [panel["title"] for panel in BOARD["panels"] if panel["type"] == "row"]
    assert rows == [
        "Can we deal?", "Sources", "Levels and fill", "Waits", "Draws and rounds",
        "Hands dealt card by card", "Ledger", "Requests", "Process",
    ]  # fmt: skip


def test_panels_neither_overlap_nor_leave_the_page():
    cells = [
        (x, y)
        for panel in BOARD["panels"]
        for place in [panel["gridPos"]]
        for x, y in itertools.product(
            range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        )
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert ids == list(range(1, len(ids) + 1))


@pytest.mark.parametrize("panel", **by_title(PANELS))
def test_a_panel_says_what_it_means(panel):
    assert len(panel["description"]) >= 20
    assert panel["fieldConfig"]["defaults"]["noValue"] == "NO DATA"
    assert panel["targets"] != []
    for target in panel["targets"]:
        assert target["legendFormat"]
        assert target["datasource"]["uid"] == "${datasource}"
        assert 'instance=~"$instance"' in target["expr"]
        assert "vector(" not in target["expr"], "nothing must not become a number"


@pytest.mark.parametrize("panel", **by_title(NUMBERS))
def test_no_data_is_red(panel):
    """By text, by scale, and because a number is asked for as it is now."""
    assert (shown(panel, None), shown(panel, float("nan"))) == (("NO DATA", COLOURS["red"]),) * 2
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert (steps[0]["value"], steps[0]["color"]) == (None, "red")
    assert all(target["instant"] and not target["range"] for target in panel["targets"])
    assert panel["options"]["reduceOptions"]["calcs"] == ["last"]


def test_variables():
    """The instance list knows a daemon for as long as it is scraped, also one that is down."""
    variables = {one["name"]: one for one in BOARD["templating"]["list"]}
    assert variables.keys() == {"datasource", "instance"}
    assert variables["instance"]["query"] == 'label_values(up{job="entropyd"}, instance)'
    assert variables["instance"]["allValue"] == ".+"


# --- how it is read where there is no Grafana --------------------------------------------


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "s", "0 s"),
        (0.0131, "s", "13.1 ms"),
        (13.24, "s", "13.2 s"),
        (90.0, "s", "1.5 min"),
        (5 * 2**30, "bytes", "5 GiB"),
        (0.0, "bytes", "0 B"),
        (360_000.0, "cps", "360k/s"),
        (0.25, "percentunit", "25 %"),
        (1662.0, "none", "1662"),
        (2760.0, "short", "2.76 k"),
        (0.0, "short", "0"),
    ],
)
def test_units(value, unit, text):
    assert with_unit(value, unit) == text


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="unit 'parsec'"):
        with_unit(1.0, "parsec")


def test_names_and_variables():
    assert name_of("{{source}} of {{ instance }}", {"source": "q"}) == "q of"
    assert (
        fill_in("rate(x[$__rate_interval]) $other", {"__rate_interval": "2s"})
        == "rate(x[2s]) $other"
    )


def test_a_series_keeps_its_colour():
    """By the end of its name: it may begin with the daemon's."""
    ends, commits = (
        next(panel for panel in PANELS if panel["title"] == title)
        for title in ("How draws end", "Commits")
    )
    assert colour_of(ends, "recorded") == COLOURS["green"]
    assert colour_of(ends, "unrecorded") == COLOURS["purple"]
    assert colour_of(commits, "dc1-a failed") == COLOURS["red"]
    assert colour_of(commits, "failed otherwise") is None


@pytest.mark.parametrize(
    ("value", "colour"),
    [(0.0, "green"), (0.99, "green"), (1.0, "orange"), (9.9, "orange"), (10.0, "red")],
)
def test_a_hold_gets_redder(value, colour):
    held = next(panel for panel in PANELS if panel["title"] == "Held for")
    assert shown(held, value)[1] == COLOURS[colour]
