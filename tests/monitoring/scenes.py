"""Five daemons and one Prometheus that scrapes them, through half a minute of good and bad days.

    healthy      deals all the time
    unplugged    its device is pulled out amid a read, and more callers wait than may
    biased       its device gives more ones than zeros, and then ones alone
    stalled      its disk hangs; then another program holds its ledger
    ailing       is killed and started again, its driver has a defect, its event loop hangs

All of them live at the same time, each an instance of its own. What is over is
still in Prometheus: a scene is an instance and a moment.
"""

import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.monitoring.ailing_daemon import LOOP_HANGS, READER_DIES
from tests.monitoring.server import SCRAPE_S, Server
from tests.monitoring.traffic import Traffic
from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, until

HEALTHY, UNPLUGGED, BIASED, STALLED, AILING = NAMES = (
    "healthy", "unplugged", "biased", "stalled", "ailing",
)  # fmt: skip
# A good while before anything happens, so that pictures show what it was like.
BEFORE_S = 4.0
# A fifth of a Quantis: five of them share a small machine with their Prometheus.
SLOW = ", rate = 100000 }"

SECOND_SOURCE = """
[[source]]
id = "spare"
driver = "mock"
required = false
claim_bits_per_sample = 6.0
claim_note = "made up"
options = { rate = 50000 }
"""


@dataclass
class World:
    """The server, the daemons, and when what could be seen.

    Attributes:
        server: scrapes all of them.
        daemons: by the name of their instance.
        moments: Unix time at which a scene was at its height, by its name.
        began: Unix time from which on all daemons dealt.
        told: annotations of alerts, by alert and instance.
    """

    server: Server
    daemons: dict[str, Daemon]
    moments: dict[str, float] = field(default_factory=dict)
    began: float = 0.0
    told: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def fires(self, alert: str, instance: str = "", *, patience_s: float = 25.0) -> None:
        """Wait until an alert fires, and keep what it tells."""
        until(
            f"{alert} fires for {instance or 'all'}; firing: {sorted(self.server.firing())}",
            lambda: (alert, instance) in self.server.firing(),
            patience_s=patience_s,
        )
        self.told[alert, instance] = self.server.annotations(alert, instance)

    def height(self, scene: str) -> None:
        """Note that a scene is at its height, once the next scrapes have seen it."""
        time.sleep(3 * SCRAPE_S)
        self.moments[scene] = time.time()

    def ever_fired(self) -> set[tuple[str, str]]:
        """Return every alert that fired at any time: name and instance."""
        found = self.server.now('max_over_time(ALERTS{alertstate="firing"}[10m])')
        return {(one.labels["alertname"], one.labels.get("instance", "")) for one in found}


@contextlib.contextmanager
def played(home: Path) -> Iterator[World]:
    """Play everything, and leave Prometheus to be asked; the daemons are gone afterwards."""
    homes = {name: home / name for name in (*NAMES, "prometheus")}
    for path in homes.values():
        path.mkdir()
    daemons = {name: _daemon(name, homes[name]) for name in NAMES}
    targets = {name: daemon.http_port for name, daemon in daemons.items()}
    with contextlib.ExitStack() as stack:
        for daemon in daemons.values():
            stack.callback(_end, daemon)
            daemon.start(wait=False)
        world = World(stack.enter_context(Server(homes["prometheus"], targets)), daemons)
        for daemon in daemons.values():
            daemon.wait_until_dealing()
        world.began = time.time()
        _play(world)
        yield world


def _daemon(name: str, home: Path) -> Daemon:
    slow = {f'control = "{home}/faults" }}': f'control = "{home}/faults"{SLOW}'}
    match name:
        case "unplugged":
            return custom_daemon(home, slow | {"[gate]": "[gate]\nmax_waiters = 6"})
        case "biased":
            # Bias shows within a second, and not only after ten.
            window = "first_assessment_samples = 32768\nassess_window_samples = 65536\n\n[gate]"
            return custom_daemon(home, slow | {"[gate]": window})
        case "stalled":
            room = os.statvfs(home)
            least = room.f_bavail * room.f_frsize * 2 // 3 >> 20
            return custom_daemon(home, slow | {'min_free = "16MiB"': f'min_free = "{least}MiB"'})
        case "ailing":
            ailing = Path(__file__).with_name("ailing_daemon.py")
            prefix = (sys.executable, str(ailing), str(home))
            return custom_daemon(home, slow, append=SECOND_SOURCE, prefix=prefix)
        case _:
            return custom_daemon(home)


def _end(daemon: Daemon) -> None:
    if daemon.process is not None and daemon.process.poll() is None:
        daemon.kill()


def _play(world: World) -> None:
    daemons = world.daemons
    with (
        Traffic(daemons[HEALTHY], callers=4, pause_s=0.03),
        Traffic(daemons[UNPLUGGED], callers=12, pause_s=0.1),
        Traffic(daemons[BIASED], callers=1, pause_s=0.1),
        Traffic(daemons[STALLED], callers=3, pause_s=0.1, timeout_s=1.5),
    ):
        time.sleep(BEFORE_S)
        with _hanging_disk(daemons[STALLED]):
            daemons[UNPLUGGED].faults("F9:read")
            daemons[BIASED].faults("F17:large")
            _restart_twice(daemons[AILING])
            world.fires("EntropydSourceCreditLow", BIASED)
            world.fires("EntropydLedgerStalled", STALLED)
        (daemons[AILING].home / READER_DIES).touch()
        daemons[BIASED].faults("F16:ones")
        with _held_by_another_program(daemons[STALLED]):
            _watch_them_ail(world)
        world.height(HEALTHY)
    _watch_them_go(world)


def _watch_them_ail(world: World) -> None:
    for alert in ("EntropydLedgerFailing", "EntropydHoldLedger", "EntropydDrawsUnrecorded"):
        world.fires(alert, STALLED)
    world.fires("EntropydHold", STALLED)
    world.height(STALLED)
    for alert in ("EntropydSourceFailed", "EntropydHealthAlarm", "EntropydHold"):
        world.fires(alert, BIASED)
    world.height(BIASED)
    for alert in ("EntropydReaderRestarts", "EntropydDegraded", "EntropydRestarts"):
        world.fires(alert, AILING)
    (world.daemons[AILING].home / LOOP_HANGS).touch()
    for alert in ("EntropydHold", "EntropydSourceLost", "EntropydSourceSilent"):
        world.fires(alert, UNPLUGGED)
    for alert in ("EntropydOverloaded", "EntropydDrawsSlow"):
        world.fires(alert, UNPLUGGED)
    world.height(UNPLUGGED)
    world.fires("EntropydLoopStalled", AILING)
    world.height(AILING)


def _watch_them_go(world: World) -> None:
    """The daemon is gone, and then the whole job."""
    for name in (HEALTHY, AILING):
        world.fires("EntropydSimulated", name)
    world.daemons[AILING].kill()
    world.fires("EntropydDown", AILING)
    world.height("down")
    world.server.watch({})
    world.fires("EntropydAbsent")
    world.height("absent")


def _restart_twice(daemon: Daemon) -> None:
    for _ in range(2):
        daemon.kill()
        daemon.start(wait=False)
        until("it answers again", lambda: daemon.http("/metrics")[0] == 200)
        time.sleep(2 * SCRAPE_S)


@contextlib.contextmanager
def _hanging_disk(daemon: Daemon) -> Iterator[None]:
    """Let every sync of the ledger take longer than anybody waits."""
    paths = [f"--trace-path={daemon.home}/state/ledger.sqlite3{suffix}" for suffix in ("", "-wal")]
    inject = "--inject=fdatasync,fsync:delay_enter=60000000"
    attach = f"--attach={daemon.pid}"
    strace = subprocess.Popen(["strace", "-f", "-q", "-o", "/dev/null", *paths, inject, attach])
    try:
        yield
    finally:
        strace.terminate()
        strace.wait()


@contextlib.contextmanager
def _held_by_another_program(daemon: Daemon) -> Iterator[None]:
    stranger = sqlite3.connect(daemon.home / "state" / "ledger.sqlite3", isolation_level=None)
    with contextlib.closing(stranger):
        # The last commit of the disk that hung may still hold it.
        stranger.execute("PRAGMA busy_timeout = 10000")
        stranger.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            stranger.execute("ROLLBACK")
