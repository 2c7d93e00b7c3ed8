"""Kinds of panels, and the one rule that all of them keep: no data is red.

Three things make it so. A number is asked for as it is *now*, so that a daemon
that is gone leaves nothing to show instead of its last good value. Nothing to
show is mapped to a text in red. And the lowest step of every scale, the one
that Grafana takes for a number that is not there, is red as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, statetimeline
from grafana_foundation_sdk.builders import timeseries as lines
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    BigValueTextMode,
    GraphThresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    StackingMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardRangeMapOptions,
    DashboardSpecialValueMapOptions,
    DataSourceRef,
    DynamicConfigValue,
    GridPos,
    RangeMap,
    SpecialValueMap,
    SpecialValueMatch,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)

RED, ORANGE, YELLOW, GREEN, BLUE, PURPLE = "red", "orange", "yellow", "green", "blue", "purple"
NO_DATA = "NO DATA"

DATASOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")

Panel = stat.Panel | lines.Panel | statetimeline.Panel
Text = ValueMap | RangeMap | SpecialValueMap


@dataclass(frozen=True)
class Query:
    """An expression, and what its series are called: `{{label}}` stands for a label's value."""

    expr: str
    legend: str


@dataclass(frozen=True)
class Place:
    """Where a panel is: the dashboard is 24 wide, y counts from the top of its row."""

    x: int
    y: int
    width: int
    height: int


def number(
    title: str,
    text: str,
    place: Place,
    queries: Sequence[Query],
    *,
    steps: Sequence[tuple[float, str]],
    texts: Sequence[Text] = (),
    unit: str = "short",
    names: bool = False,
) -> stat.Panel:
    """Return a panel that shows what is now, in large type on the colour of its step.

    Args:
        title: a question or a noun, short.
        text: what it means and what to do, for whoever points at it.
        place: where it is.
        queries: what is asked, as it is now.
        steps: from which value on which colour holds; below the first it is red.
        texts: texts in place of values.
        unit: Grafana's name of the unit.
        names: show what the series are called, and not their values.
    """
    mode = BigValueTextMode.NAME if names else BigValueTextMode.AUTO
    panel = (
        stat.Panel()
        .title(title)
        .description(text)
        .datasource(DATASOURCE)
        .grid_pos(_grid(place))
        .unit(unit)
        .no_value(NO_DATA)
        .mappings([*texts, _nothing()])
        .thresholds(_scale(steps))
        .color_mode(BigValueColorMode.BACKGROUND)
        .graph_mode(BigValueGraphMode.NONE)
        .text_mode(mode)
        .reduce_options(common.ReduceDataOptions().calcs(["last"]).values(values=False))
    )
    for index, query in enumerate(queries):
        panel.with_target(_target(query, index).instant())
    return panel


def graph(
    title: str,
    text: str,
    place: Place,
    queries: Sequence[Query],
    *,
    unit: str = "short",
    limit: float | None = None,
    stacked: bool = False,
    colours: Mapping[str, str] | None = None,
) -> lines.Panel:
    """Return a panel that shows how numbers went.

    Args:
        title: a noun, short.
        text: what it means and what to do.
        place: where it is.
        queries: what is asked, over the time that the dashboard shows.
        unit: Grafana's name of the unit.
        limit: a dashed red line from which on it is bad.
        stacked: the lines add up.
        colours: of series by the end of what they are called.
    """
    panel = (
        lines.Panel()
        .title(title)
        .description(text)
        .datasource(DATASOURCE)
        .grid_pos(_grid(place))
        .unit(unit)
        .no_value(NO_DATA)
        .min(0)
        .fill_opacity(40 if stacked else 5)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
            .calcs(["lastNotNull"])
        )
    )
    if stacked:
        panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL))
    if limit is not None:
        style = common.GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)
        panel.thresholds_style(style)
        panel.thresholds(_thresholds([(None, "transparent"), (limit, RED)]))
    for name, colour in (colours or {}).items():
        fixed = {"mode": "fixed", "fixedColor": colour}
        properties = [DynamicConfigValue(id_val="color", value=fixed)]
        panel.override_by_regexp(rf"/\b{name}$/", properties)
    for index, query in enumerate(queries):
        panel.with_target(_target(query, index).range())
    return panel


def timeline(
    title: str, text: str, place: Place, queries: Sequence[Query], *, texts: Sequence[Text]
) -> statetimeline.Panel:
    """Return a panel with a bar for each series, coloured by the state that it was in.

    Args:
        title: a noun, short.
        text: what it means and what to do.
        place: where it is.
        queries: what is asked, over the time that the dashboard shows.
        texts: name and colour of each state.
    """
    panel = (
        statetimeline.Panel()
        .title(title)
        .description(text)
        .datasource(DATASOURCE)
        .grid_pos(_grid(place))
        .no_value(NO_DATA)
        .mappings([*texts, _nothing()])
        .thresholds(_scale([]))
        .show_value(VisibilityMode.AUTO)
        .merge_values(merge_values=True)
        .row_height(0.8)
    )
    for index, query in enumerate(queries):
        panel.with_target(_target(query, index).range())
    return panel


def value(text: str, number: int, colour: str) -> ValueMap:
    """Return the text and colour that stand for a value."""
    return ValueMap(options={str(number): ValueMappingResult(text=text, color=colour)})


def above(text: str, least: float, colour: str) -> RangeMap:
    """Return the text and colour that stand for every value from `least` on."""
    result = ValueMappingResult(text=text, color=colour)
    return RangeMap(options=DashboardRangeMapOptions(from_val=least, to=1e300, result=result))


def _nothing() -> SpecialValueMap:
    return SpecialValueMap(
        options=DashboardSpecialValueMapOptions(
            match=SpecialValueMatch.NULL_AND_NAN,
            result=ValueMappingResult(text=NO_DATA, color=RED),
        )
    )


def _scale(steps: Sequence[tuple[float, str]]) -> dashboard.ThresholdsConfig:
    return _thresholds([(None, RED), *steps])


def _thresholds(steps: Sequence[tuple[float | None, str]]) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=least, color=colour) for least, colour in steps])
    )


def _target(query: Query, index: int) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .ref_id(chr(ord("A") + index))
        .expr(query.expr)
        .legend_format(query.legend)
    )


def _grid(place: Place) -> GridPos:
    return GridPos(x=place.x, y=place.y, w=place.width, h=place.height)
