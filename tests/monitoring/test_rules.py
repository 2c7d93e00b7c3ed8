"""Alerts say what to do, have a paragraph in the manual, and pass promtool's tests."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.monitoring.server import LONGEST_WAIT_S, MONITORING, hasten

ALERTS = (MONITORING / "alerts.yml").read_text()
MANUAL = (MONITORING.parent / "docs" / "operations.md").read_text()
# Each alert with the text of its block.
BLOCKS = dict(
    re.findall(r"(?ms)^      - alert: (\w+)\n(.*?)(?=^      - alert|^  - name|\Z)", ALERTS)
)


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_the_configuration_and_all_rules():
    promtool("check", "config", MONITORING / "prometheus.yml")
    promtool("check", "rules", MONITORING / "recording.yml", MONITORING / "alerts.yml")


@pytest.mark.parametrize("name", ["alerts_test.yml", "alerts_days_test.yml"])
def test_promtool_passes(name):
    promtool("test", "rules", MONITORING / name)


def test_every_alert_is_in_promtools_tests():
    tests = "".join(path.read_text() for path in MONITORING.glob("alerts*_test.yml"))
    assert [
        alert for alert in BLOCKS if f'"{alert}"' not in tests and f": {alert}\n" not in tests
    ] == []


@pytest.mark.parametrize("alert", BLOCKS)
def test_an_alert_says_what_to_do(alert):
    block = BLOCKS[alert]
    assert re.search(r"labels: \{severity: (page|ticket)\}", block)
    assert re.search(r"summary: ", block)
    description = re.search(r"(?s)description: >-\n(.*?)\n +runbook_url", block)
    assert description is not None
    assert len(description[1].split()) >= 15
    assert f"runbook_url: docs/operations.md#{alert.lower()}\n" in block


@pytest.mark.parametrize("alert", BLOCKS)
def test_the_manual_has_a_paragraph(alert):
    """With the severity of the rule, what it means, and a remedy."""
    found = re.search(rf"(?ms)^### {alert}$\n(.*?)(?=^###? |\Z)", MANUAL)
    assert found is not None
    severity = re.search(r"severity: (\w+)", BLOCKS[alert])
    assert severity is not None
    assert found[1].strip().startswith(f"*{severity[1].capitalize()}.* **Symptom:**")
    assert re.search(r"\*\*(Remedy|Meaning and remedy)", found[1])


def test_the_manual_has_no_alert_that_is_not_there():
    assert set(re.findall(r"(?m)^### (Entropyd\w+)$", MANUAL)) == set(BLOCKS)
    assert set(re.findall(r"\(#(entropyd\w+)\)", MANUAL)) <= {alert.lower() for alert in BLOCKS}


def test_the_copy_for_the_scenes_waits_for_less_and_is_the_same_otherwise():
    copy = hasten(ALERTS)
    waits = [int(wait) for wait in re.findall(r"(?m)^ +for: (\d+)s$", copy)]
    assert len(waits) == len(re.findall(r"(?m)^ +for: ", ALERTS))
    assert max(waits) == LONGEST_WAIT_S

    def rest(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.lstrip().startswith("for: ")]

    assert rest(copy) == rest(ALERTS)
