"""The real daemon as a bench runs it: production code, an emulated Quantis, fsync on."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from entropyd.service.grpc_server import ENTROPY_SERVICE

# The ledger lies where the working copy lies: /tmp may be memory, where a sync costs nothing.
BUILD = Path(__file__).parent.parent / "build"

# A Quantis USB-4M: 4 Mbit/s nominal.
QUANTIS_BYTES_PER_SECOND = 500_000

BATCHES = "/entropyd.bench.v1.BenchService/Batches"

CONFIG = """\
[node]
name = "bench"
state_dir = "{home}/state"

[mode]
production = false

[[source]]
id = "quantis"
driver = "quantis-emulator"
options = {{ rate = {rate}, tape = "{home}/tape", control = "{home}/faults" }}

[gate]
user_shortfall = "{shortfall}"
{gate}

[[listener]]
address = "{target}"
tenant = "bench"
roles = ["deal_all", "deal", "draw", "contribute", "audit"]

[http]
address = "127.0.0.1:{http_port}"

[ledger]
min_free = "64MiB"

[keys]
at_rest = ""
"""


@dataclass
class BenchDaemon:
    """One daemon and its home.

    Attributes:
        home: state, tape, faults file and log.
        sockets: a directory with a short name, as socket addresses demand.
        shortfall: `cover` (569 bits a seed, no users here) or `ignore` (320 bits).
        gate: further keys of [gate].
    """

    home: Path
    sockets: Path
    shortfall: str = "ignore"
    gate: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None)
    http_port: int = 0

    @property
    def target(self) -> str:
        return f"unix:{self.sockets}/bench.sock"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Execute it; it is not ready when this returns."""
        self.http_port = _free_port()
        config = self.home / "entropyd.toml"
        config.write_text(
            CONFIG.format(
                home=self.home,
                rate=QUANTIS_BYTES_PER_SECOND,
                shortfall=self.shortfall,
                gate=self.gate,
                target=self.target,
                http_port=self.http_port,
            )
        )
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bench.daemon_with_empty", str(config)],
                stdout=log,
                stderr=log,
                env=os.environ | dict(environment or {}),
            )

    def stop(self) -> None:
        """Ask it to stop, and wait until it has."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(10)

    def wait_until_dealing(self) -> None:
        """Wait until a draw could be dealt."""
        self.wait(lambda: self.page("/readyz")[0] == 200)

    def wait(self, condition: Callable[[], bool], patience_s: float = 30) -> None:
        """Wait until `condition` holds."""
        end = time.monotonic() + patience_s
        while not condition():
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the daemon does not do it: {(self.home / 'log').read_text()}")
            time.sleep(0.002)

    def page(self, path: str) -> tuple[int, str]:
        """Return status and body of a page; (0, "") while nobody listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}") as answer:
                return answer.status, answer.read().decode()
        except OSError as error:
            return int(getattr(error, "code", 0)), ""

    def metric(self, series: str) -> float:
        """Return the value of one series."""
        for line in self.page("/metrics")[1].splitlines():
            name, _, value = line.rpartition(" ")
            if name == series:
                return float(value)
        raise RuntimeError(f"no series {series}")

    def batches(self) -> dict[int, int]:
        """Return how many commits had how many rows, since the start."""
        with grpc.insecure_channel(self.target) as channel:
            call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(BATCHES)
            answer = call(b"", timeout=10)
        return {int(rows): commits for rows, commits in json.loads(answer).items()}

    def is_serving(self, service: str = ENTROPY_SERVICE) -> bool:
        """Ask grpc.health.v1."""
        if not Path(self.target.removeprefix("unix:")).exists():
            return False
        with grpc.insecure_channel(self.target) as channel:
            try:
                answer = health_pb2_grpc.HealthStub(channel).Check(  # type: ignore[attr-defined]
                    health_pb2.HealthCheckRequest(service=service), timeout=5
                )
            except grpc.RpcError:
                return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def sent_bytes(self) -> int:
        """Return how many bytes the emulated device has sent so far."""
        return (self.home / "tape").stat().st_size

    def faults(self, *names: str) -> None:
        """Put faults of the emulated device in force; none makes it healthy again."""
        scratch = self.home / "faults.new"
        scratch.write_text("".join(f"{name}\n" for name in names))
        scratch.rename(self.home / "faults")


@contextmanager
def home(*, shortfall: str = "ignore", gate: str = "") -> Iterator[BenchDaemon]:
    """Give a daemon a home; it is stopped and all of it removed afterwards."""
    BUILD.mkdir(exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="bench-", dir=BUILD))
    sockets = Path(tempfile.mkdtemp(prefix="bench-"))
    daemon = BenchDaemon(place, sockets, shortfall, gate)
    try:
        yield daemon
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()
        shutil.rmtree(place)
        shutil.rmtree(sockets)


@contextmanager
def dealing(*, shortfall: str = "ignore", gate: str = "") -> Iterator[BenchDaemon]:
    """Run a daemon that can deal."""
    with home(shortfall=shortfall, gate=gate) as daemon:
        daemon.start()
        daemon.wait_until_dealing()
        yield daemon
        daemon.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
