"""A card room: hands begin when they begin, whatever the last answer does.

Poisson arrivals at a room's average and at its bursts. Latency counts from when
a call was due, so a stall is paid for by every call that was due in it.
"""

from itertools import islice

from bench.daemon import BenchDaemon, dealing
from bench.generator import Generator
from bench.process import idle_cores, placements
from bench.report import Line, Report

# A mid-size room deals 50 hands a second, and 500 in a burst.
RATES = (50, 500)
SEED = 20_250_101
CONNECTIONS = 8


SECONDS = 60
IDLE_S = 5


def run(report: Report, *, quick: bool, minutes: int | None = None) -> None:
    """Measure both rates, fsync on.

    Args:
        report: takes the figures.
        quick: 5 s of each.
        minutes: of each, and then with server and generator on a core each alone; by default a
            minute, and where the scheduler puts them too.
    """
    seconds = minutes * 60 if minutes else 5 if quick else SECONDS
    with dealing() as daemon, Generator(daemon) as generator:
        # Reading, testing, and the emulator, which no real daemon has.
        idle = idle_cores(daemon.pid, min(IDLE_S, seconds / 12))
        all_cores = islice(placements(daemon.pid, generator.pid), 1 if minutes else None)
        lines = [
            {"cores": cores, **_rate(daemon, generator, rate, seconds, idle)}
            for cores in all_cores
            for rate in RATES
        ]
    report.add("open loop", lines, *map(_sentence, lines))


def _rate(
    daemon: BenchDaemon, generator: Generator, rate: int, seconds: float, idle: float
) -> Line:
    held = daemon.metric('entropyd_draws_total{outcome="held"}')
    got = generator.run(
        "open", "shuffle", seconds, rate=rate, seed=SEED + rate, connections=CONNECTIONS
    )
    return {
        "per second": rate,
        "seconds": seconds,
        "answered": round(got["answered"]),
        "held": round(daemon.metric('entropyd_draws_total{outcome="held"}') - held),
        "refused": round(got["refused"]),
        "p50 ms": got["p50"],
        "p99 ms": got["p99"],
        "p99.9 ms": got["p99.9"],
        "sent late p99 ms": got["late_p99"],
        "server us": got["server_us"],
        "less idle us": (got["server_cpu_s"] - idle * got["seconds"]) / got["answered"] * 1e6,
        "idle cores": idle,
    }


def _sentence(line: Line) -> str:
    return (
        f"{line['per second']}/s for {line['seconds']} s, {line['cores']}:"
        f" p50 {line['p50 ms']:.2f}, p99 {line['p99 ms']:.2f}, p99.9 {line['p99.9 ms']:.2f} ms"
        " from when it was due;"
        f" {line['held']} held, {line['refused']} refused of {line['answered']};"
        f" {line['less idle us']:.0f} us of server CPU a call"
    )
