"""SIGHUP: the configuration is read again while the daemon deals."""

import json
import signal

import pytest

from tests.system.harness import Daemon, send_signal, until
from tests.system.wire import Wire, order, told


def reload(daemon: Daemon, old: str, new: str) -> list[dict[str, object]]:
    """Replace text of the file, ask for a reload, and return what was logged about it."""
    path = daemon.home / "entropyd.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    before = len(daemon.log)
    send_signal(daemon.pid, signal.SIGHUP)

    def lines() -> list[dict[str, object]]:
        parsed = [json.loads(line) for line in daemon.log[before:].splitlines()]
        return [line for line in parsed if str(line["event"]).startswith("configuration")]

    until("the reload is logged", lambda: bool(lines()))
    return lines()


def test_max_hold_is_taken_over(daemon: Daemon):
    """A call that has longer is held no longer than the file says now."""
    daemon.gate = 'max_hold = "30s"'
    daemon.start()
    sha256 = [
        line for line in daemon.http("/metrics")[1].splitlines() if "config_hash_info{" in line
    ]
    (line,) = reload(daemon, 'max_hold = "30s"', 'max_hold = "100ms"\nmax_waiters = 7')
    assert ["gate.max_hold"] == line["in_effect"]
    assert ["gate.max_waiters"] == line["needs_restart"]
    assert sha256[0] not in daemon.http("/metrics")[1]
    daemon.faults("F9")
    with Wire(daemon) as wire:
        until("the device is lost", lambda: wire.source_state() == "lost")
        began = told(wire.shuffle, order("t-reload", "held"), timeout_s=20)
        assert "ENTROPY_HOLD" == began.reason
    assert daemon.terminate() == 0


@pytest.mark.parametrize("wrong", ['level = "loud"', 'levle = "info"', "level = info"])
def test_a_wrong_file_changes_nothing(daemon: Daemon, wrong: str):
    """One line with the error; it goes on dealing, and takes over the file once it is mended."""
    daemon.start()
    with Wire(daemon) as wire:
        drawn = wire.draw("t-reload", "before")
        (line,) = reload(daemon, 'level = "info"', wrong)
        assert ("configuration not in effect", "error") == (line["event"], line["level"])
        assert "entropyd.toml" in str(line["reason"])
        assert drawn == wire.replay("t-reload", "before")
        assert 2 == wire.draw("t-reload", "after").sequence
    (line,) = reload(daemon, wrong, 'level = "debug"')
    assert ["log.level"] == line["in_effect"]
    assert daemon.terminate() == 0
