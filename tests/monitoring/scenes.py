"""Five daemons and a Prometheus that scrapes them, through half a minute of good and bad days.

    healthy      deals all the time
    unplugged    its device is pulled out amid a read, and more callers wait than may
    biased       a thief deals there; its device gives more ones than zeros, and then ones alone
    stalled      its disk hangs; then another program holds its ledger
    ailing       is killed and started again, claims too much, has a defect in a driver, hangs

All of them live at the same time, each an instance of its own. What is over is
still in Prometheus: a scene is an instance and a moment. A second Prometheus
has lost its targets.
"""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.monitoring.ailing_daemon import LOOP_HANGS, READER_DIES
from tests.monitoring.server import SCRAPE_S, Server
from tests.monitoring.traffic import Games, Traffic, deal_behind_a_thief
from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, until

HEALTHY, UNPLUGGED, BIASED, STALLED, AILING = NAMES = (
    "healthy", "unplugged", "biased", "stalled", "ailing",
)  # fmt: skip
STARTING = {"EntropydAbsent", "EntropydDown", "EntropydHold"}
# Two more scenes: the ailing daemon is dead, and nothing is scraped at all.
DOWN, ABSENT = "down", "absent"
# A fifth of a Quantis: five of them share a small machine with their Prometheus.
SLOW = ", rate = 100000 }"

SECOND_SOURCE = """
[[source]]
id = "spare"
driver = "mock"
required = false
claim_bits_per_sample = 7.95
claim_note = "more than the estimators give to the best of noise"
options = { rate = 50000 }
"""


@dataclass
class World:
    """The server, the daemons, and when what could be seen.

    Attributes:
        server: scrapes all of them.
        blind: scrapes nothing.
        daemons: by the name of their instance.
        moments: Unix time at which a scene was at its height, by its name.
        began: Unix time from which on all daemons dealt.
        told: annotations of alerts, by alert and instance.
    """

    server: Server
    blind: Server
    daemons: dict[str, Daemon]
    moments: dict[str, float] = field(default_factory=dict)
    began: float = 0.0
    told: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def fires(self, instance: str, *alerts: str) -> None:
        """Wait until some alerts fire for a daemon, and keep what they tell."""
        for alert in alerts:
            until(f"{alert} fires for {instance}", partial(self._is_firing, alert, instance))
            self.told[alert, instance] = self.server.annotations(alert, instance)

    def _is_firing(self, alert: str, instance: str) -> bool:
        for daemon in self.daemons.values():
            assert daemon.process is not None
            code = daemon.process.poll()
            assert code in {None, -signal.SIGKILL}, f"ended with {code}: {daemon.log}"
        return (alert, instance) in self.server.firing()

    def height(self, scene: str) -> None:
        """Note that a scene is at its height, once the next scrapes have seen it."""
        time.sleep(3 * SCRAPE_S)
        self.moments[scene] = time.time()

    def ever_fired(self) -> set[tuple[str, str]]:
        """Return every alert that fired during the scenes: name and instance."""
        end = self.moments[DOWN]
        firing = f'max_over_time(ALERTS{{alertstate="firing"}}[{int(end - self.began)}s])'
        found = self.server.now(firing, end)
        return {(one.labels["alertname"], one.labels.get("instance", "")) for one in found}


@contextlib.contextmanager
def played(home: Path) -> Iterator[World]:
    """Play everything, and leave Prometheus to be asked; the daemons are gone by then."""
    homes = {name: home / name for name in (*NAMES, "prometheus", "blind")}
    for path in homes.values():
        path.mkdir()
    daemons = {name: _daemon(name, homes[name]) for name in NAMES}
    targets = {name: daemon.http_port for name, daemon in daemons.items()}
    with contextlib.ExitStack() as stack:
        for daemon in daemons.values():
            stack.callback(_end, daemon)
            daemon.start(wait=False)
        server = stack.enter_context(Server(homes["prometheus"], targets))
        blind = stack.enter_context(Server(homes["blind"], {}))
        for daemon in daemons.values():
            daemon.wait_until_dealing()
        # Prometheus begins to scrape within some seconds of its start.
        until("all are scraped", lambda: len(server.now("up == 1")) == len(NAMES))
        # What fired while they were starting is no part of the scenes.
        until("nothing of it fires", lambda: not STARTING & {one for one, _ in server.firing()})
        world = World(server, blind, daemons, began=time.time())
        _play(world)
        for daemon in daemons.values():
            _end(daemon)
        yield world


def _daemon(name: str, home: Path) -> Daemon:
    slow = {f'control = "{home}/faults" }}': f'control = "{home}/faults"{SLOW}'}
    match name:
        case "unplugged":
            return custom_daemon(home, slow | {"[gate]": "[gate]\nmax_waiters = 6"})
        case "stalled":
            room = os.statvfs(home)
            least = room.f_bavail * room.f_frsize * 2 // 3 >> 20
            return custom_daemon(home, slow | {'min_free = "16MiB"': f'min_free = "{least}MiB"'})
        case "ailing":
            ailing = Path(__file__).with_name("ailing_daemon.py")
            prefix = (sys.executable, str(ailing), str(home))
            return custom_daemon(home, slow, append=SECOND_SOURCE, prefix=prefix)
        case "healthy":
            return custom_daemon(home)
        case _:
            return custom_daemon(home, slow)


def _end(daemon: Daemon) -> None:
    if daemon.process is not None and daemon.process.poll() is None:
        daemon.kill()


def _play(world: World) -> None:
    daemons = world.daemons
    with (
        Traffic(daemons[HEALTHY], callers=4, pause_s=0.03),
        Games(daemons[HEALTHY], pause_s=0.2),
        Traffic(daemons[UNPLUGGED], callers=12, pause_s=0.1),
        Traffic(daemons[BIASED], callers=1, pause_s=0.1),
        Traffic(daemons[STALLED], callers=3, pause_s=0.1, timeout_s=1.5),
    ):
        # Meanwhile the others show what it was like before anything happened.
        _restart_twice(daemons[AILING])
        deal_behind_a_thief(daemons[BIASED])
        with _hanging_disk(daemons[STALLED]):
            daemons[UNPLUGGED].faults("F9:read")
            daemons[BIASED].faults("F17:large")
            world.fires(AILING, "EntropydSourceCreditLow", "EntropydRestarts")
            world.fires(STALLED, "EntropydLedgerStalled")
        (daemons[AILING].home / READER_DIES).touch()
        daemons[BIASED].faults("F16:ones")
        with _held_by_another_program(daemons[STALLED]):
            _watch_them_ail(world)
        world.height(HEALTHY)
    _watch_it_go(world)


def _watch_them_ail(world: World) -> None:
    world.fires(AILING, "EntropydReaderRestarts", "EntropydDegraded")
    (world.daemons[AILING].home / LOOP_HANGS).touch()
    world.fires(STALLED, "EntropydLedgerFailing", "EntropydHoldLedger", "EntropydDrawsUnrecorded")
    world.fires(STALLED, "EntropydLedgerSpaceLow", "EntropydHold")
    world.height(STALLED)
    world.fires(BIASED, "EntropydPlaceDealt", "EntropydSourceFailed", "EntropydHealthAlarm")
    world.fires(BIASED, "EntropydHold")
    world.height(BIASED)
    world.fires(UNPLUGGED, "EntropydHold", "EntropydSourceLost", "EntropydSourceSilent")
    world.fires(UNPLUGGED, "EntropydOverloaded", "EntropydDrawsSlow")
    world.height(UNPLUGGED)
    world.fires(AILING, "EntropydLoopStalled", "EntropydSimulated")
    world.height(AILING)


def _watch_it_go(world: World) -> None:
    world.daemons[AILING].kill()
    world.fires(AILING, "EntropydDown")
    world.height(DOWN)
    world.moments[ABSENT] = world.moments[DOWN]


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
