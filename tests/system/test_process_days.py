"""Bad days of the process: two of them, signals, configurations that cannot be, and exit codes."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, free_port, started, until
from tests.system.load import TABLE, Load
from tests.system.wire import Told, Wire, assert_numbers_have_no_gaps, order, question

Code = grpc.StatusCode
EX_LOCKED, EX_CONFIG = 75, 78
GONE_WITHIN_S = 5.0
STARTS_WITHIN_S = 60.0


@pytest.fixture
def second_home() -> Iterator[Path]:
    """Another short directory."""
    with tempfile.TemporaryDirectory(prefix="ed-") as path:
        yield Path(path)


def run_to_its_end(daemon: Daemon) -> tuple[int, str]:
    """Run a daemon that must end by itself; return its exit code and what it said."""
    daemon.start(wait=False)
    try:
        return daemon.ended(patience_s=STARTS_WITHIN_S), daemon.log
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()


# --- two daemons -----------------------------------------------------------


def test_two_daemons_on_one_state_directory(dealing: Daemon, wire: Wire, second_home: Path):
    """The second ends with 75 and names the first, which goes on dealing."""
    wire.draw("t-two", "before-state")
    state = f"{dealing.home}/state"
    second = custom_daemon(second_home, {"{home}/state": state})
    code, log = run_to_its_end(second)
    assert code == EX_LOCKED
    last = log.splitlines()[-1]
    assert f"state directory {state}: is held by pid {dealing.pid}" in last
    assert "stop that daemon, or give this one a state directory of its own" in last
    assert not list(second_home.glob("*.sock"))
    wire.draw("t-two", "after-state")


def test_two_daemons_on_one_unix_socket(dealing: Daemon, wire: Wire, second_home: Path):
    """The second ends with 78 and does not take the socket from the first."""
    wire.draw("t-two", "before-unix")
    socket = dealing.home / "poker.sock"
    inode = socket.stat().st_ino
    second = custom_daemon(second_home, {"unix:{home}/poker.sock": f"unix:{socket}"})
    code, log = run_to_its_end(second)
    assert code == EX_CONFIG
    assert f"cannot listen on unix:{socket}: it is taken" in log.splitlines()[-1]
    assert "is another entropyd running?" in log.splitlines()[-1]
    assert socket.stat().st_ino == inode
    with Wire(dealing) as another:
        another.draw("t-two", "after-unix")


def test_two_daemons_on_one_http_port(dealing: Daemon, wire: Wire, second_home: Path):
    """The second ends with 78; the first goes on serving its pages and its calls."""
    address = f"127.0.0.1:{dealing.http_port}"
    second = custom_daemon(second_home)
    second.config = second.config.replace(f"127.0.0.1:{second.http_port}", address)
    code, log = run_to_its_end(second)
    assert code == EX_CONFIG
    assert address in log.splitlines()[-1]
    assert dealing.http("/readyz")[0] == 200
    wire.draw("t-two", "after-http")


TCP_LISTENER = """
[[listener]]
address = "127.0.0.1:{port}"
tenant = "acme"
roles = ["deal_all"]
"""


def test_two_daemons_on_one_tcp_port(home: Path, second_home: Path):
    """No port is shared: the second ends with 78, and every call reaches the first."""
    port = free_port()
    listener = TCP_LISTENER.format(port=port)
    first = custom_daemon(home, append=listener)
    with started(first):
        code, log = run_to_its_end(custom_daemon(second_home, append=listener))
        assert code == EX_CONFIG
        assert f"cannot listen on 127.0.0.1:{port}: it is taken" in log.splitlines()[-1]
        numbers = []
        for number in range(20):
            with Wire(first, f"127.0.0.1:{port}") as wire:
                numbers.append(wire.draw("t-tcp", f"tcp-{number}").sequence)
        assert numbers == list(range(1, 21))
        assert first.terminate() == 0


# --- configurations that cannot be -----------------------------------------

BAD_CONFIGS = {
    "plaintext elsewhere": ("unix:{home}/other.sock", "192.0.2.7:7443", "TLS is required"),
    "all interfaces": ("unix:{home}/other.sock", "0.0.0.0:7443", "not on the loopback"),
    "http elsewhere": ('[http]\naddress = "127.0.0.1', '[http]\naddress = "0.0.0.0', "loopback"),
    "unknown key": ("[ledger]", "[ledger]\nfsync = false", "ledger.fsync"),
    "unknown driver": (
        'driver = "quantis-emulator"',
        'driver = "dice"\nclaim_bits_per_sample = 2.0\nclaim_note = "six faces"',
        "no driver 'dice' is installed; expected one of mock, quantis-emulator",
    ),
    "mock in production": ("production = false", "production = true", "quantis-emulator"),
    "state nowhere": ('state_dir = "{home}/state"', 'state_dir = "{home}/a/b"', "state directory"),
    "no toml": ("[node]", "[node", "is not TOML"),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_configuration_that_cannot_be(home: Path, name: str):
    """Refused at start with 78 and the remedy, before anything listens."""
    old, new, words = BAD_CONFIGS[name]
    code, log = run_to_its_end(custom_daemon(home, {old: new}))
    assert code == EX_CONFIG
    assert words in log
    assert "Traceback" not in log
    assert not list(home.glob("*.sock"))


def test_missing_configuration(home: Path):
    """A file that is not there is 78 too, with its name."""
    command = [sys.executable, "-m", "entropyd.cli.entropyd", "serve", "-c", f"{home}/none.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == EX_CONFIG
    assert f"{home}/none.toml: cannot be read" in done.stderr


# --- being asked to stop ---------------------------------------------------


def assert_gone_in_time(daemon: Daemon, number: signal.Signals) -> None:
    """Ask it to stop: it ends with 0, in less than five seconds."""
    began = time.monotonic()
    os.kill(daemon.pid, number)
    assert daemon.ended(patience_s=30) == 0
    assert time.monotonic() - began < GONE_WITHIN_S
    assert not list(daemon.home.glob("*.sock")), "its sockets are gone"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle_daemon_stops(daemon: Daemon, number: signal.Signals):
    """SIGTERM and SIGINT are how it is asked to stop: exit code 0."""
    daemon.start()
    assert_gone_in_time(daemon, number)


def test_stop_under_load(daemon: Daemon):
    """64 callers in flight: a deck that is in the ledger, or SHUTTING_DOWN; nothing in between."""
    daemon.start()
    with Load(daemon, callers=64, prefix="stop") as load:
        until("the load runs", lambda: load.answered > 200)
        assert_gone_in_time(daemon, signal.SIGTERM)
    ours = [refusal for refusal in load.refused if refusal.reason]
    assert {refusal.reason for refusal in ours} <= {"SHUTTING_DOWN"}
    assert all(refusal.pushback_ms == 1000 for refusal in ours)
    assert load.refused_otherwise == []
    daemon.start()
    with Wire(daemon) as wire:
        load.assert_all_replayed(wire)
        sequences = sorted(answer.sequence for answer in load.answers.values())
        assert len(set(sequences)) == len(sequences)
        for hand in list(load.answers)[:10]:
            assert wire.shuffle(order(TABLE, hand)).replayed
    assert_numbers_have_no_gaps(daemon)
    assert daemon.terminate() == 0


def wait_in_vain(wire: Wire, calls: int) -> "list[concurrent.futures.Future[Told | None]]":
    """Begin calls that wait for entropy; each comes to a refusal, or None if it was dealt to."""

    def call(number: int) -> Told | None:
        try:
            wire.shuffle(order("t-vain", f"vain-{number}"))
        except grpc.RpcError as error:
            return Told.by(error)
        return None

    pool = concurrent.futures.ThreadPoolExecutor(calls)
    waiting = [pool.submit(call, number) for number in range(calls)]
    pool.shutdown(wait=False)
    until("all of them wait", lambda: wire.status().waiters == calls)
    return waiting


@pytest.mark.parametrize("fault", ["F4", "F9"])
def test_stop_while_holding(daemon: Daemon, fault: str):
    """64 calls that wait for a silent or missing device: all told, gone in time, none drawn."""
    daemon.gate = 'max_hold = "30s"'
    daemon.start()
    with Wire(daemon) as wire:
        drawn = wire.draw("t-vain", "before")
        daemon.faults(fault)
        until("the device is lost", lambda: wire.source_state() == "lost")
        waiting = wait_in_vain(wire, 64)
        assert_gone_in_time(daemon, signal.SIGTERM)
        refusals = [future.result(timeout=30) for future in waiting]
    for refusal in refusals:
        assert refusal is not None
        assert (refusal.code, refusal.reason) == (Code.UNAVAILABLE, "SHUTTING_DOWN")
        assert refusal.pushback_ms == 1000
    daemon.faults()
    daemon.start()
    with Wire(daemon) as wire:
        assert wire.get(question("t-vain", "before")) == drawn
        assert wire.draw("t-vain", "vain-0").sequence == 2
    assert daemon.terminate() == 0


def test_replays_are_answered_during_the_drain(daemon: Daemon):
    """While it stops, a drawn hand is still answered and an undrawn one is not begun."""
    daemon.gate = 'max_hold = "30s"'
    daemon.start()
    with Wire(daemon) as wire:
        drawn = wire.draw("t-vain", "before")
        daemon.faults("F9")
        until("the device is lost", lambda: wire.source_state() == "lost")
        waiting = wait_in_vain(wire, 8)
        os.kill(daemon.pid, signal.SIGTERM)
        until("it drains", lambda: daemon.http("/readyz") == (503, "stopping\n"))
        assert wire.replay("t-vain", "before") == drawn
        assert wire.get(question("t-vain", "before")) == drawn
        assert wire.check() == "NOT_SERVING"
        for future in waiting:
            refusal = future.result(timeout=30)
            assert refusal is not None
            assert refusal.reason == "SHUTTING_DOWN"
    assert daemon.ended() == 0


def test_killed_daemon_leaves_nothing_in_the_way(daemon: Daemon):
    """After kill -9 its lock and its sockets do not keep the next one from starting."""
    daemon.start()
    with Wire(daemon) as wire:
        drawn = wire.draw("t-kill", "before")
    daemon.kill()
    assert (daemon.home / "poker.sock").exists()
    daemon.start()
    with Wire(daemon) as wire:
        assert wire.replay("t-kill", "before") == drawn
        assert wire.draw("t-kill", "after").sequence == 2
    assert daemon.terminate() == 0
