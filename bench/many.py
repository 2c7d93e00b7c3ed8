"""BatchShuffle and StreamShuffles: decks a second, CPU a deck, and the device's share of them.

Beside them a loop of `random.SystemRandom().shuffle` in a process that does
nothing else, which is what a deck costs whoever records and proves nothing:
the ratio of CPU times says what the whole way costs in such decks. At 320 bits
a deck and 6 bits a byte the emulated Quantis permits 9,375 a second; what was
sent is read from its tape.
"""

import random
import time
from collections.abc import Mapping, Sequence

from bench.daemon import BenchDaemon, dealing
from bench.generator import Generator
from bench.process import idle_cores, placements
from bench.report import Line, Report

MILLIBITS_PER_BYTE = 6000
DECK_MILLIBITS = 320_000
AIM = 0.95
# A batch's thousand hands wait for a ninth of a second of the device's output: with one batch
# alone the daemon is idle meanwhile, and with more the device is not.
FORMS: Sequence[Mapping[str, int | str]] = (
    {"kind": "batch", "hands": 1000, "in_flight": 2},
    {"kind": "batch", "hands": 100, "in_flight": 8},
    {"kind": "stream", "hands": 100, "in_flight": 1000, "connections": 1},
    {"kind": "stream", "hands": 100, "in_flight": 500, "connections": 4},
    {"kind": "stream", "hands": 1, "in_flight": 250, "connections": 4},
)
YARDSTICK_DECKS = 5_000


def run(report: Report, *, quick: bool) -> None:
    """Saturate the daemon in each form."""
    seconds = 2 if quick else 15
    lines: list[Line] = []
    with dealing(gate='max_hold = "30s"') as daemon, Generator(daemon) as generator:
        for cores in placements(daemon.pid, generator.pid):
            idle = idle_cores(daemon.pid, seconds / 2)
            lines += [
                {"cores": cores, **_measure(daemon, generator, form, seconds, idle)}
                for form in FORMS
            ]
    report.add("many", lines, *map(_sentence, lines))


def _measure(
    daemon: BenchDaemon,
    generator: Generator,
    form: Mapping[str, int | str],
    seconds: float,
    idle: float,
) -> Line:
    kind = str(form["kind"])
    settings = {name: int(value) for name, value in form.items() if name != "kind"}
    generator.run(kind, "shuffle", seconds / 4, timeout_s=30, **settings)
    system_us = _system_random_us()
    sent = daemon.sent_bytes()
    got = generator.run(kind, "shuffle", seconds, timeout_s=30, **settings)
    sent = daemon.sent_bytes() - sent
    permitted = sent * MILLIBITS_PER_BYTE / DECK_MILLIBITS
    share = got["answered"] / permitted
    deck_us = (got["server_cpu_s"] - idle * got["seconds"]) / max(1, got["answered"]) * 1e6
    return {
        "form": kind,
        **settings,
        "decks/s": got["rate"],
        "% of permitted": share * 100,
        "us/deck": deck_us,
        "SystemRandom us": system_us,
        "ratio": deck_us / system_us,
        "server cores": got["server_cpu_s"] / got["seconds"],
        "idle cores": idle,
        "client cores": got["client_cores"],
        "refused": round(got["refused"]),
        "limited by": "device" if share > AIM else "CPU",
    }


def _system_random_us() -> float:
    """Return the CPU time of a deck of SystemRandom, in microseconds."""
    generator, deck = random.SystemRandom(), list(range(52))
    began = time.thread_time()
    for _ in range(YARDSTICK_DECKS):
        generator.shuffle(deck)
    return (time.thread_time() - began) / YARDSTICK_DECKS * 1e6


def _sentence(line: Line) -> str:
    return (
        f"{line['form']} of {line['hands']}, {line['in_flight']} in flight, {line['cores']}:"
        f" {line['decks/s']:,.0f} decks/s, {line['% of permitted']:.0f} % of what the device"
        f" permits; {line['us/deck']:.0f} us of server CPU a deck, {line['ratio']:.1f}"
        f" times SystemRandom's {line['SystemRandom us']:.0f}; the limit is the"
        f" {line['limited by']}"
    )
