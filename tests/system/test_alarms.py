"""A device that fails on a real daemon: what it sent when a test fired is kept, and comes out."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from entropyd.config import load
from entropyd.daemon.ledger import open_ledger
from entropyd.ledger.contract import EventKind
from tests.system.harness import running, until


def entropyd(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyd", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_window_of_an_alarm_can_be_examined(tmp_path):
    """Stuck at 0xFF: alarm, stop, and `entropyd alarms` writes out a window that ends in 0xFF."""
    with (
        tempfile.TemporaryDirectory(prefix="ed-") as home,  # a socket's path is short
        running(Path(home)) as daemon,
    ):
        daemon.wait_until_dealing()
        daemon.faults("F16:ones")
        until("the alarm holds dealing", lambda: not daemon.can_deal())
        file = daemon.home / "entropyd.toml"
        assert 75 == entropyd("alarms", "--config", str(file)).returncode  # it runs
        daemon.terminate()
        out = tmp_path / "out"
        out.mkdir()
        told = entropyd("alarms", "--config", str(file), "--out", str(out))
        assert 0 == told.returncode, told.stderr
        lines = told.stdout.splitlines()
        assert lines[0].split(": ")[1].startswith("rct intermittent at sample ")
        files = sorted(out.iterdir())
        assert len(lines) == len(files)
        assert b"\xff" * 8 == files[0].read_bytes()[-8:]
        assert 0o600 == files[0].stat().st_mode & 0o777
        assert 78 == entropyd("alarms", "--config", str(file), "--out", str(out)).returncode
        with open_ledger(load(file)) as ledger:
            alarms = [json.loads(e.detail) for e in ledger.events(EventKind.HEALTH_ALARM)]
        assert len(lines) == len(alarms)
        assert "window" not in alarms[0]
