"""The Grafana dashboard, as code: `python -m monitoring.dashboard` writes entropyd.json.

Its first row answers what somebody asks who was woken up: can we deal, why not,
for how long. Then follow the rows in the order in which entropy becomes an
answer: sources, levels and fill, waits, draws and rounds, hands dealt card by card,
ledger, requests, process.

It needs no recording rule, and two variables: a Prometheus, and the instances
that it scrapes under the job `entropyd`.
"""

import json
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.dashboard import VariableRefresh, VariableSort

from monitoring import rows
from monitoring.panels import DATASOURCE

FILE = Path(__file__).with_name("entropyd.json")


def build() -> model.Dashboard:
    """Return the dashboard."""
    board = (
        dashboard.Dashboard("entropyd")
        .uid("entropyd")
        .description("Can we deal, why not, for how long. Remedies: docs/operations.md, Alerts.")
        .tags(["entropyd"])
        .time("now-1h", "now")
        .refresh("10s")
        .timezone("utc")
        .editable()
        .with_variable(
            dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
        )
        .with_variable(
            dashboard.QueryVariable("instance")
            .label("Instance")
            .datasource(DATASOURCE)
            # Known for as long as it is scraped, also while it does not answer.
            .query('label_values(up{job="entropyd"}, instance)')
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .sort(VariableSort.ALPHABETICAL_ASC)
            .multi(multi=True)
            .include_all(include_all=True)
            .all_value(".+")
        )
    )
    for title, panels in (
        ("Can we deal?", rows.dealing()),
        ("Sources", rows.sources()),
        ("Levels and fill", rows.levels()),
        ("Waits", rows.waits()),
        ("Draws and rounds", rows.games()),
        ("Hands dealt card by card", rows.hands()),
        ("Ledger", rows.ledger()),
        ("Requests", rows.requests()),
        ("Process", rows.process()),
    ):
        board.with_row(dashboard.Row(title))
        for panel in panels:
            board.with_panel(panel)
    return _lay_out(board.build())


def _lay_out(board: model.Dashboard) -> model.Dashboard:
    """Put each row below the one before, and number the panels."""
    top = bottom = 0
    for index, panel in enumerate(board.panels or [], start=1):
        panel.id_val = index
        place = panel.grid_pos
        if place is None:
            raise ValueError(f"panel {panel.title!r} has no place")
        if isinstance(panel, model.RowPanel):
            place.y = top = bottom
        else:
            place.y += top
        bottom = max(bottom, place.y + place.h)
    return board


def encode() -> str:
    """Return the dashboard as the text of its file."""
    return json.dumps(build(), cls=JSONEncoder, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(encode())
