"""A real daemon process in a home of its own, and what tests do to it from outside."""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError

from entropyd.client import Client, Refusal
from entropyd.v1 import entropy_service_pb2

CONFIG = """\
[node]
name = "test"
state_dir = "{home}/state"

[mode]
production = false

[[source]]
id = "quantis"
driver = "quantis-emulator"
options = {{ serial = "TEST0001", control = "{home}/faults"{options} }}
{source_extra}

[gate]
{gate}

[[listener]]
address = "unix:{home}/poker.sock"
tenant = "acme"
roles = ["deal_all", "draw", "contribute"]

[[listener]]
address = "unix:{home}/dealer.sock"
tenant = "acme"
roles = ["deal", "reveal", "void"]

[[listener]]
address = "unix:{home}/audit.sock"
tenant = "acme"
roles = ["audit"]

[[listener]]
address = "unix:{home}/other.sock"
tenant = "globex"
roles = ["deal_all", "draw", "contribute"]

[http]
address = "127.0.0.1:{http_port}"

[ledger]
min_free = "16MiB"

[keys]
at_rest = ""

[log]
level = "info"
format = "json"
"""

PATIENCE_S = 30.0


# Below what the kernel gives to outgoing connections (32768 and up): a port that was free a moment
# ago stays free while a daemon starts. Workers begin far from each other, and go on in steps.
_PORTS = itertools.count(os.getpid() * 7919)


def free_port() -> int:
    """Return a port that nobody listens on now, another one each time."""
    while True:
        port = 10_000 + next(_PORTS) % 22_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def until(what: str, condition: Callable[[], bool], *, patience_s: float = PATIENCE_S) -> float:
    """Wait until `condition` holds, fail with `what` if it does not; return the seconds it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < patience_s, f"not within {patience_s} s: {what}"
        time.sleep(0.01)
    return time.monotonic() - began


@dataclass
class Daemon:
    """One daemon and its home; start it as often as you like.

    Attributes:
        home: its directory; state, sockets, faults file and log are below.
        options: further driver options, as TOML that begins with a comma.
        source_extra: further keys of the source's table.
        gate: keys of the table [gate].
        prefix: command that runs it, such as strace.
        config: a whole configuration instead of the harness's own.
    """

    home: Path
    options: str = ""
    source_extra: str = ""
    gate: str = ""
    prefix: Sequence[str] = ()
    config: str = ""
    http_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def target(self) -> str:
        """Where the poker server's listener is."""
        return f"unix:{self.home}/poker.sock"

    @property
    def log(self) -> str:
        """Everything that all runs logged."""
        return (self.home / "log").read_text()

    @property
    def pid(self) -> int:
        """Process id of the present run (of the prefix, if there is one)."""
        assert self.process is not None
        return self.process.pid

    def write_config(self) -> Path:
        """Write the configuration file and return its path."""
        text = self.config or CONFIG.format(
            home=self.home,
            options=self.options,
            source_extra=self.source_extra,
            gate=self.gate,
            http_port=self.http_port,
        )
        path = self.home / "entropyd.toml"
        path.write_text(text)
        return path

    def start(self, *, wait: bool = True) -> "Daemon":
        """Start it, and unless told otherwise wait until it can deal."""
        command = [sys.executable, "-m", "entropyd.cli.entropyd", "serve", "-c"]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *command, str(self.write_config())], stdout=log, stderr=log
            )
        if wait:
            self.wait_until_dealing()
        return self

    def wait_until_dealing(self, *, patience_s: float = PATIENCE_S) -> float:
        """Wait until a draw could be dealt; return the seconds it took."""
        return until("the daemon can deal", self.can_deal, patience_s=patience_s)

    def can_deal(self) -> bool:
        """Whether /readyz says so. A process that ended fails the test at once."""
        assert self.process is not None
        assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.log}"
        return self.http("/readyz")[0] == 200

    def http(self, path: str) -> tuple[int, str]:
        """Return status and body of a page; (0, "") while nobody listens."""
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.http_port}{path}", timeout=5
            ) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metric(self, series: str) -> float:
        """Return the value of one series, written as in the exposition format."""
        for line in self.http("/metrics")[1].splitlines():
            if line.startswith(series + " "):
                return float(line.rpartition(" ")[2])
        raise AssertionError(f"no series {series}")

    def client(self, *, socket_name: str = "poker.sock") -> Client:
        """Return a client with the harness's claim key."""
        return Client(f"unix:{self.home}/{socket_name}", claim_key_file=self.home / "claim.key")

    def status(self) -> entropy_service_pb2.GetStatusResponse:
        """Return the daemon's status."""
        with self.client() as client:
            return client.status()

    def faults(self, *names: str) -> None:
        """Put faults of the emulated device in force; none makes it healthy again."""
        scratch = self.home / "faults.new"
        scratch.write_text("".join(f"{name}\n" for name in names))
        scratch.rename(self.home / "faults")

    def terminate(self, *, patience_s: float = 10.0) -> int:
        """Ask it to stop and return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience_s)

    def kill(self) -> None:
        """Kill -9, and wait until it is gone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def ended(self, *, patience_s: float = 10.0) -> int:
        """Wait for it to end by itself and return its exit code."""
        assert self.process is not None
        return self.process.wait(patience_s)


@contextlib.contextmanager
def running(home: Path, **settings: object) -> Iterator[Daemon]:
    """Run a daemon for the length of a block; nothing of it is left afterwards."""
    with started(Daemon(home, **settings)) as daemon:  # type: ignore[arg-type]
        yield daemon


@contextlib.contextmanager
def started(daemon: Daemon) -> Iterator[Daemon]:
    """Run `daemon` for the length of a block; nothing of it is left afterwards."""
    try:
        yield daemon.start()
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.kill()


def refused(call: Callable[[], object]) -> Refusal:
    """Return how a call was refused; a call that was answered fails the test."""
    try:
        answer = call()
    except Refusal as refusal:
        return refusal
    raise AssertionError(f"was answered: {answer}")


def send_signal(pid: int, number: int) -> None:
    """Send a signal to a process that a test started."""
    os.kill(pid, number)
