"""Every expression and every alert on a real Prometheus that scrapes real daemons, in every scene.

The rules are those of monitoring/, but an alert waits for two seconds at most (`server.hasten`).
"""

import json
import math
import struct

import pytest

from monitoring import dashboard
from monitoring.query import Series
from monitoring.reading import COLOURS, shown
from monitoring.render import View
from tests.monitoring import figures
from tests.monitoring.scenes import (
    ABSENT,
    AILING,
    BIASED,
    DOWN,
    HEALTHY,
    STALLED,
    UNPLUGGED,
    World,
)
from tests.monitoring.server import MONITORING, SCRAPE_S
from tests.monitoring.test_rules import BLOCKS
from tests.system.harness import until

# Under xdist, one process plays the scenes for all.
pytestmark = pytest.mark.xdist_group("monitoring")

PANELS = {
    panel["title"]: panel
    for panel in json.loads(dashboard.FILE.read_text())["panels"]
    if panel["type"] != "row"
}
NUMBERS = [title for title, panel in PANELS.items() if panel["type"] == "stat"]
SCENES = (HEALTHY, UNPLUGGED, BIASED, STALLED, AILING)
SPAN_S = 6.0
# As long as all scenes together may take.
SCENES_S = 120.0
MAX_PICTURE_BYTES = 150_000

# What the first row says in each scene: can we deal, why not.
FIRST_ROW = {
    HEALTHY: ("DEALING", "nothing: dealing"),
    UNPLUGGED: ("NOT DEALING", "SOURCE_LOST"),
    BIASED: ("NOT DEALING", "SOURCE_FAILED"),
    STALLED: ("NOT DEALING", "LEDGER_UNAVAILABLE"),
    AILING: ("NOT DEALING", "EVENT LOOP STALLED"),
    DOWN: ("NOT DEALING", "DAEMON NOT REACHED"),
}
# Asked for what is not there on a good day.
MAY_BE_EMPTY = {
    *((scene, "Dealing, and what it waited for", "B") for scene in (HEALTHY, AILING)),
    (AILING, "Time to answer", "A"),
}

# Alerts by the instances for which they fire, at least. Each fires once for real.
FIRED = {
    "EntropydDown": {AILING},
    "EntropydHold": {UNPLUGGED, BIASED, STALLED, AILING},
    "EntropydHoldLedger": {STALLED},
    "EntropydLoopStalled": {AILING},
    "EntropydRestarts": {AILING},
    "EntropydSimulated": set(SCENES),
    "EntropydDegraded": {UNPLUGGED, BIASED, AILING},
    "EntropydSourceLost": {UNPLUGGED},
    "EntropydSourceSilent": {UNPLUGGED},
    "EntropydSourceFailed": {BIASED},
    "EntropydHealthAlarm": {BIASED},
    "EntropydSourceCreditLow": {AILING},
    "EntropydReaderRestarts": {AILING},
    "EntropydLedgerFailing": {STALLED},
    "EntropydLedgerStalled": {STALLED},
    "EntropydDrawsUnrecorded": {STALLED},
    "EntropydLedgerSpaceLow": {STALLED},
    "EntropydOverloaded": {UNPLUGGED},
    "EntropydDrawsSlow": {UNPLUGGED},
    "EntropydPlaceDealt": {BIASED},
}
# The first two compare with hours and days ago (alerts_days_test.yml). A pair is overdue after a
# minute at the earliest, and the daemon looks every half: longer than all scenes together. The log
# is late only where a receipt was given just before a daemon hung, and no hand here has a window.
ONLY_PROMTOOL = {
    "EntropydSourceSlow",
    "EntropydLedgerSpaceSoonLow",
    "EntropydPairsOverdue",
    "EntropydLogProofOverdue",
    "EntropydHandsOverdue",
}
# A trend of seconds, and a machine that is busy with the tests, say nothing about the daemon.
ACCIDENTS = {"EntropydLedgerSpaceSoonLow", "EntropydDrawsSlow"}


def view(world: World, scene: str) -> View:
    instance = AILING if scene in {DOWN, ABSENT} else scene
    server = world.blind if scene == ABSENT else world.server
    return View(server, instance, world.moments[scene], SPAN_S, SCRAPE_S)


def asked(world: World, scene: str, title: str, target: int = 0) -> list[tuple[str, Series]]:
    return view(world, scene).series(PANELS[title]["targets"][target])


def the_value(world: World, scene: str, title: str, target: int = 0) -> float:
    [(_, series)] = asked(world, scene, title, target)
    return series.value


@pytest.mark.parametrize("scene", SCENES)
def test_every_expression_has_series(world: World, scene: str):
    """A panel may show zero, and a percentile of nothing, but there is something to show."""
    empty = [
        (scene, title, target["refId"])
        for title, panel in PANELS.items()
        for index, target in enumerate(panel["targets"])
        if not asked(world, scene, title, index)
    ]
    assert set(empty) <= MAY_BE_EMPTY


@pytest.mark.parametrize("scene", FIRST_ROW)
def test_the_first_row(world: World, scene: str):
    """Can we deal, and why not, in text and colour."""
    can_deal, why = FIRST_ROW[scene]
    colour = COLOURS["green" if scene == HEALTHY else "red"]
    deal = PANELS["Can we deal?"]
    assert shown(deal, the_value(world, scene, "Can we deal?")) == (can_deal, colour)
    [(name, series)] = asked(world, scene, "Why not?")
    assert (name, shown(PANELS["Why not?"], series.value)[1]) == (why, colour)


def test_for_how_long(world: World):
    assert the_value(world, HEALTHY, "Held for") == 0
    # It was pulled out before the others failed, and was seen at the end.
    assert 8 < the_value(world, UNPLUGGED, "Held for") < 60
    assert 1 < the_value(world, STALLED, "Held for") < 60


@pytest.mark.parametrize("scene", [DOWN, ABSENT])
def test_a_daemon_that_is_gone_leaves_no_number(world: World, scene: str):
    """Its last good values are still in Prometheus, and in no panel of what is now."""
    answers = {title for title in NUMBERS if asked(world, scene, title)}
    assert answers == ({"Can we deal?", "Why not?"} if scene == DOWN else set())


def test_sources(world: World):
    states = {
        (scene, name): series.value
        for scene in (HEALTHY, UNPLUGGED, BIASED)
        for name, series in asked(world, scene, "State of each source")
    }
    assert states == {
        (HEALTHY, "healthy quantis"): 5,
        (UNPLUGGED, "unplugged quantis"): 2,
        (BIASED, "biased quantis"): 1,
    }
    assert the_value(world, HEALTHY, "Last samples") < 2
    assert the_value(world, UNPLUGGED, "Last samples") > 8
    assert the_value(world, HEALTHY, "Samples") > 10_000
    assert the_value(world, UNPLUGGED, "Samples") == 0
    assessed, claimed = (the_value(world, HEALTHY, "Min-entropy of a sample", n) for n in (0, 1))
    assert 6 == claimed < assessed < 8
    whole = View(world.server, BIASED, world.moments[BIASED], SCENES_S, SCRAPE_S)
    [(_, alarms)] = whole.series(PANELS["Alarms and faults"]["targets"][0])
    assert max(value for _, value in alarms.points) > 0


def test_levels_and_waits(world: World):
    assert the_value(world, HEALTHY, "Seeds ready") > 100
    assert the_value(world, UNPLUGGED, "Seeds ready") == 0
    filled, used = (the_value(world, HEALTHY, "Fill and use", target) for target in (0, 1))
    assert filled > used > 1
    ends = {name: series.value for name, series in asked(world, HEALTHY, "How draws end")}
    assert ends["recorded"] > 1
    assert ends["held"] == ends["unrecorded"] == ends["overloaded"] == 0
    ends = {name: series.value for name, series in asked(world, UNPLUGGED, "How draws end")}
    assert ends["overloaded"] > 1
    assert ends["recorded"] == 0
    waits = [series.points for _, series in asked(world, UNPLUGGED, "Wait of a draw", 1)]
    longest = max(value for _, value in waits[0] if not math.isnan(value))
    assert 1 < longest <= 5, "who waits in vain is in the percentiles"
    assert the_value(world, UNPLUGGED, "Draws that wait") > 0


def test_draws_and_rounds(world: World):
    """What the healthy one's caller plays is there by kind and by game, and nothing else is."""
    assert 0 == the_value(world, HEALTHY, "Overdue pairs")
    assert 0 == the_value(world, HEALTHY, "Revealed by the daemon")
    kinds = {name: series.value for name, series in asked(world, HEALTHY, "Draws by kind")}
    games = {name: series.value for name, series in asked(world, HEALTHY, "Rounds by game")}
    assert {"dice", "sample", "bag"} == {kind for kind, rate in kinds.items() if rate > 0}
    assert {"roulette", "slots"} == {game for game, rate in games.items() if rate > 0}


def test_hands_dealt_card_by_card(world: World):
    """Each turn of the healthy one's caller closes a hand and voids one; the thief is elsewhere."""
    steps = {name: series.value for name, series in asked(world, HEALTHY, "Steps by kind")}
    voids = {name: series.value for name, series in asked(world, HEALTHY, "Voids by reason")}
    assert {"open", "deal", "closed", "void"} <= {step for step, rate in steps.items() if rate > 0}
    assert 0 == steps["contribute"] == steps["rolled"]
    assert {"other"} == {reason for reason, rate in voids.items() if rate > 0}
    alarms = [the_value(world, scene, "Place alarms") for scene in (HEALTHY, BIASED)]
    assert [0, 1] == alarms
    assert the_value(world, HEALTHY, "Hands that go on") <= 2
    assert 1 == the_value(world, BIASED, "Hands that go on")
    assert the_value(world, HEALTHY, "Windows late by") < 5


def test_ledger_and_requests(world: World):
    assert the_value(world, HEALTHY, "Commits") > 1
    assert the_value(world, HEALTHY, "Hands recorded") > 10
    assert the_value(world, HEALTHY, "Answers") > 1
    assert the_value(world, STALLED, "Commits") == 0
    assert the_value(world, STALLED, "Answers", 1) > 0, "told to come back"
    free, limit = (the_value(world, STALLED, "Room for the ledger", target) for target in (0, 1))
    assert 1 < free / limit < 2
    stalled = world.server.now(
        'max_over_time(entropyd_ledger_stalled_seconds{instance="stalled"}[10m])'
    )
    assert stalled[0].value > 2


# --- rules -----------------------------------------------------------------


def test_every_alert_is_fired_or_has_its_reason():
    assert set(FIRED) | {"EntropydAbsent"} | ONLY_PROMTOOL == set(BLOCKS)


def test_the_absence_of_everything_fires(world: World):
    """A Prometheus that lost its targets has nothing to evaluate, and this alert alone."""
    until("it fires", lambda: world.blind.firing() == {("EntropydAbsent", "")})


@pytest.mark.parametrize("alert", FIRED)
def test_alert_fired(world: World, alert: str):
    instances = {instance for name, instance in world.ever_fired() if name == alert}
    assert instances >= FIRED[alert]


def test_a_healthy_daemon_fires_nothing_else(world: World):
    """It is an emulator, which is what fires."""
    fired = {alert for alert, instance in world.ever_fired() if instance == HEALTHY}
    assert fired - ACCIDENTS == {"EntropydSimulated"}


@pytest.mark.parametrize(
    ("scene", "why"),
    [(UNPLUGGED, "SOURCE_LOST"), (BIASED, "SOURCE_FAILED"), (STALLED, "LEDGER_UNAVAILABLE")],
)
def test_the_page_says_why(world: World, scene: str, why: str):
    told = world.told["EntropydHold", scene]
    assert told["summary"] == f"{scene} does not deal: {why}"
    assert told["runbook_url"] == "docs/operations.md#entropydhold"


def test_recording_rules(world: World):
    """Each gives a series for every daemon."""
    lines = (MONITORING / "recording.yml").read_text().splitlines()
    names = [line.split()[-1] for line in lines if "- record:" in line]
    assert len(names) == 6
    for name in names:
        found = world.server.now(name, world.moments[UNPLUGGED])
        assert {series.labels["instance"] for series in found} >= {HEALTHY, UNPLUGGED, STALLED}, (
            name
        )


# --- pictures --------------------------------------------------------------


@pytest.mark.parametrize("scene", figures.ROWS)
def test_picture(world: World, scene: str):
    """Each scene can be drawn; the one in the manual is of the same shape, and small."""
    drawn = figures.picture(world, scene)
    stored = (figures.PICTURES / f"dashboard-{scene}.png").read_bytes()
    assert size(drawn) == size(stored)
    assert len(drawn) < MAX_PICTURE_BYTES
    assert len(stored) < MAX_PICTURE_BYTES


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height
