"""BatchShuffle and StreamShuffles: decks a second, CPU a deck, and the device's share of them.

Beside them, in turns, what a deck costs whoever records and proves nothing: a
loop of `random.SystemRandom().shuffle` in a process that does nothing else,
and a small C++ gRPC server that shuffles from getrandom and is asked in the
same forms (bench/peer). The ratios of CPU times say what the whole way costs in
such decks. Where the peer took less than its core, the generator was its limit.

At 320 bits a deck and 6 bits a byte the emulated Quantis permits 9,375 a
second; what was sent is read from its tape, and what the reservoir held before
is permitted as well.
"""

import os
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.daemon import BenchDaemon, dealing
from bench.generator import Generator
from bench.peer_server import NoPeerError, Peer, build, shuffling
from bench.process import idle_cores, pin, placements
from bench.report import Line, Report, middle

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
RESERVOIR = 'entropyd_reservoir_bits{source="quantis"}'
# The daemon shows what the reservoir holds twice a second, and fills it in as long.
REST_S = 1.1

Round = Mapping[str, float]


@dataclass(frozen=True)
class _Bench:
    """Who takes part.

    Attributes:
        daemon: the one that is measured.
        peer: the one beside it, or None where it cannot be built.
        generator: calls both.
        rounds: how often each has its turn.
        seconds: of the daemon's turn.
    """

    daemon: BenchDaemon
    peer: Peer | None
    generator: Generator
    rounds: int
    seconds: float


def run(report: Report, *, quick: bool) -> None:
    """Saturate the daemon in each form, and its peer."""
    rounds, seconds = (1, 2) if quick else (3, 10)
    lines: list[Line] = []
    with ExitStack() as stack:
        daemon = stack.enter_context(dealing(gate='max_hold = "30s"'))
        peer, trouble = _peer(daemon, stack)
        generator = stack.enter_context(Generator(daemon))
        bench = _Bench(daemon, peer, generator, rounds, seconds)
        for cores in placements(daemon.pid, generator.pid):
            if peer is not None:
                pin(peer.pid, os.sched_getaffinity(daemon.pid))
            idle = idle_cores(daemon.pid, seconds / 2)
            lines += [{"cores": cores, **_measure(bench, form, idle)} for form in FORMS]
    report.add("many", lines, *map(_sentence, lines), *trouble)


def _peer(daemon: BenchDaemon, stack: ExitStack) -> tuple[Peer | None, list[str]]:
    """Return the peer, or None and why there is none."""
    try:
        return stack.enter_context(shuffling(build(), daemon.sockets)), []
    except NoPeerError as error:
        said = f"without the C++ peer: {error}"
        print(f"many: {said}", flush=True)
        return None, [said]


def _measure(bench: _Bench, form: Mapping[str, int | str], idle: float) -> Line:
    kind = str(form["kind"])
    settings = {name: int(value) for name, value in form.items() if name != "kind"}
    bench.generator.run(
        kind, "shuffle", bench.seconds / 4, server=bench.daemon, timeout_s=30, **settings
    )
    system_us: list[float] = []
    ours: list[Round] = []
    theirs: list[Round] = []
    for _ in range(bench.rounds):
        system_us.append(_system_random_us())
        if bench.peer is not None:
            theirs.append(_peer_round(bench, bench.peer, kind, settings))
        ours.append(_round(bench, kind, settings, idle))
    share, deck_us = middle(one["share"] for one in ours), middle(one["deck_us"] for one in ours)
    return {
        "form": kind,
        **settings,
        "decks/s": middle(one["rate"] for one in ours),
        "% of permitted": share * 100,
        "us/deck": deck_us,
        "SystemRandom us": middle(system_us),
        "ratio": deck_us / middle(system_us),
        **_beside(theirs, deck_us),
        "server cores": middle(one["server_cores"] for one in ours),
        "idle cores": idle,
        "client cores": middle(one["client_cores"] for one in ours),
        "refused": round(sum(one["refused"] for one in ours)),
        "limited by": "device" if share > AIM else "CPU",
    }


def _round(bench: _Bench, kind: str, settings: Mapping[str, int], idle: float) -> Round:
    """Saturate the daemon, from a full reservoir on."""
    daemon, generator = bench.daemon, bench.generator
    time.sleep(REST_S)
    sent, stock_bits = daemon.sent_bytes(), daemon.metric(RESERVOIR)
    generator.start(kind, "shuffle", bench.seconds, server=daemon, timeout_s=30, **settings)
    # While it still works: a moment later it is full again.
    time.sleep(bench.seconds * 0.95)
    stock_bits -= daemon.metric(RESERVOIR)
    got = generator.wait()
    sent = daemon.sent_bytes() - sent
    permitted = (sent * MILLIBITS_PER_BYTE + stock_bits * 1000) / DECK_MILLIBITS
    return {**_costs(got, idle), "share": got["answered"] / permitted}


def _peer_round(bench: _Bench, peer: Peer, kind: str, settings: Mapping[str, int]) -> Round:
    """Saturate the peer; it draws nothing but what it is asked, so a short turn will do."""
    got = bench.generator.run(
        kind, "shuffle", bench.seconds / 5, server=peer, again=True, timeout_s=30, **settings
    )
    return _costs(got, idle=0.0)


def _costs(got: Round, idle: float) -> Round:
    """Return a turn's figures and what a deck took of the server's CPU, in microseconds."""
    deck_us = (got["server_cpu_s"] - idle * got["seconds"]) / max(1, got["answered"]) * 1e6
    return {**got, "deck_us": deck_us, "server_cores": got["server_cpu_s"] / got["seconds"]}


def _beside(theirs: Sequence[Round], deck_us: float) -> Line:
    """Return the peer's figures, none if there was no peer."""
    if not theirs:
        return {}
    peer_us = middle(one["deck_us"] for one in theirs)
    return {
        "peer decks/s": middle(one["rate"] for one in theirs),
        "peer us": peer_us,
        "ratio to peer": deck_us / peer_us,
        "peer cores": middle(one["server_cores"] for one in theirs),
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
        f" times SystemRandom's {line['SystemRandom us']:.0f}{_peer_clause(line)}; the limit is the"
        f" {line['limited by']}"
    )


def _peer_clause(line: Line) -> str:
    if "peer us" not in line:
        return ""
    return (
        f" and {line['ratio to peer']:.0f} times the C++ peer's {line['peer us']:.1f}"
        f" ({line['peer decks/s']:,.0f} decks/s on {line['peer cores']:.2f} cores)"
    )
