"""The daemon of the demo: a real process on a temporary directory, with an emulated device."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from entropyd.cli.demo.stage import PATIENCE_S, fail, require, say, title

CONFIG = """\
[node]
name = "demo"
state_dir = "{home}/state"

[mode]
production = false

[[source]]
id = "quantis"
driver = "quantis-emulator"
claim_bits_per_sample = 6.0
claim_note = "default claim for a Quantis USB; here an emulator"
options = {{ serial = "DEMO0001", control = "{home}/faults" }}

[[listener]]
address = "unix:{home}/poker.sock"
tenant = "acme"
roles = ["deal_all", "deal", "reveal", "contribute"]

[http]
address = "127.0.0.1:0"

[ledger]
min_free = "16MiB"

[keys]
at_rest = ""

[log]
level = "error"
format = "text"
"""


def target_of(home: Path) -> str:
    """Return where the game server's listener is."""
    return f"unix:{home}/poker.sock"


@contextmanager
def open_house(home: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Run a daemon for the length of a block."""
    config = home / "entropyd.toml"
    config.write_text(CONFIG.format(home=home))
    command = [sys.executable, "-m", "entropyd.cli.entropyd", "serve", "--config", str(config)]
    daemon = subprocess.Popen(command)
    try:
        yield daemon
    finally:
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()


def stop(daemon: "subprocess.Popen[bytes]") -> None:
    """End it as a service manager does."""
    title("stop: SIGTERM")
    began = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    try:
        code = daemon.wait(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        fail(f"the daemon still runs, {PATIENCE_S:.0f} s after SIGTERM")
    require(code == 0, f"the daemon ended with exit code {code}; expected 0 after SIGTERM")
    say(f"drained and gone in {time.monotonic() - began:.1f} s, exit code 0")
