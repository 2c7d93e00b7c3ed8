"""A real Prometheus on a port of its own, with the project's rules, for the length of a block."""

import json
import re
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from monitoring.query import Prometheus
from tests.system.harness import free_port, until

MONITORING = Path(__file__).parents[2] / "monitoring"
SCRAPE_S = 0.5
# An alert of these tests waits for at most this long, whatever its `for` says.
LONGEST_WAIT_S = 2

CONFIG = """\
global:
  scrape_interval: {scrape_ms}ms
  scrape_timeout: {scrape_ms}ms
  evaluation_interval: {scrape_ms}ms
rule_files: [recording.yml, alerts.yml]
scrape_configs:
  - job_name: entropyd
    static_configs:
{targets}
"""
TARGET = """\
      - targets: ["127.0.0.1:{port}"]
        labels: {{instance: {name}}}
"""


def hasten(rules: str) -> str:
    """Return rules whose alerts wait for two seconds at most; nothing else is changed."""

    def shorter(found: re.Match[str]) -> str:
        seconds = int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]
        return f"for: {min(seconds, LONGEST_WAIT_S)}s"

    return re.sub(r"(?m)\bfor: (\d+)([smh])$", shorter, rules)


class Server(Prometheus):
    """A Prometheus process in a directory of its own."""

    def __init__(self, home: Path, targets: Mapping[str, int]) -> None:
        """Prepare it; entering the block starts it.

        Args:
            home: its directory, empty.
            targets: port of each daemon by the name of its instance.
        """
        self._port = free_port()
        super().__init__(f"http://127.0.0.1:{self._port}")
        self._home = home
        (home / "recording.yml").write_text((MONITORING / "recording.yml").read_text())
        (home / "alerts.yml").write_text(hasten((MONITORING / "alerts.yml").read_text()))
        self._write(targets)

    def firing(self) -> set[tuple[str, str]]:
        """Return the alerts that fire now: name and instance, empty where it has none."""
        with urllib.request.urlopen(f"{self.address}/api/v1/alerts", timeout=10) as answer:
            alerts = json.load(answer)["data"]["alerts"]
        return {
            (alert["labels"]["alertname"], alert["labels"].get("instance", ""))
            for alert in alerts
            if alert["state"] == "firing"
        }

    def annotations(self, alert: str, instance: str) -> dict[str, str]:
        """Return what a firing alert tells."""
        with urllib.request.urlopen(f"{self.address}/api/v1/alerts", timeout=10) as answer:
            alerts = json.load(answer)["data"]["alerts"]
        return next(
            one["annotations"]
            for one in alerts
            if one["state"] == "firing"
            and one["labels"]["alertname"] == alert
            and one["labels"].get("instance", "") == instance
        )

    def _write(self, targets: Mapping[str, int]) -> None:
        text = "".join(TARGET.format(port=port, name=name) for name, port in targets.items())
        config = CONFIG.format(targets=text or "      []", scrape_ms=round(SCRAPE_S * 1000))
        (self._home / "prometheus.yml").write_text(config)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, (self._home / "log").read_text()
        try:
            with urllib.request.urlopen(f"{self.address}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def __enter__(self) -> Self:
        with (self._home / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={self._home}/prometheus.yml",
                    f"--storage.tsdb.path={self._home}/data",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                    "--log.level=warn",
                ],
                stdout=log,
                stderr=log,
            )
        until("Prometheus is ready", self._is_ready)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait()
