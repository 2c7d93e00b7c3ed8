"""Hands dealt card by card beside as many empty RPCs of the same server, in turns; and Shuffle.

A hand takes five calls (bench/hand_load.py), so its yardstick is five empty
ones: the ratio says how much of grpcio's own rate of calls is left. A table
waits for each of its answers, each of which was synchronised to disk: at few
tables the ratio says how long that takes, and the CPU time what a call costs.

Last, what a hand takes in the ledger, and how much of that is the log: with 64
callers, whose receipts share the rows of the log.
"""

from collections.abc import Mapping, Sequence

from bench.daemon import BenchDaemon, dealing
from bench.file_size import file_bytes, log_bytes
from bench.generator import Generator
from bench.hand_load import CALLS, STYLES
from bench.process import idle_cores, placements
from bench.report import Figure, Line, Report, middle

LEVELS = (64, 16, 1)
SHUFFLES = ("shuffle", "shuffle, card proofs")
TIMEOUT_S = 30
# So many hands a page of 4 KiB has little to say.
SIZED_HANDS, QUICK_HANDS = 2000, 100
SIZED_AT_ONCE = 64

Round = Mapping[str, float]


def run(report: Report, *, quick: bool) -> None:
    """Measure, with server and generator on a core each where there are two."""
    rounds, seconds = (1, 1.0) if quick else (3, 3.0)
    with dealing() as daemon, Generator(daemon) as generator:
        cores = next(iter(placements(daemon.pid, generator.pid)))
        idle = idle_cores(daemon.pid, seconds)
        lines = [
            {"in flight": level, "cores": cores, **line}
            for level in LEVELS
            for line in _level(generator, level, rounds, seconds, idle)
        ]
        report.add("hands", lines, *map(_sentence, lines))
    sizes = [
        _size(method, QUICK_HANDS if quick else SIZED_HANDS) for method in (*STYLES, *SHUFFLES)
    ]
    report.add("hand sizes", sizes, *map(_size_sentence, sizes))


def _run(generator: Generator, method: str, seconds: float, level: int) -> Round:
    kind = "hands" if method in STYLES else "closed"
    return generator.run(kind, method, seconds, in_flight=level, timeout_s=TIMEOUT_S)


def _level(
    generator: Generator, level: int, rounds: int, seconds: float, idle: float
) -> list[Line]:
    """Return a line for each way to be dealt a hand, with so many under way."""
    measured: dict[str, list[Round]] = {method: [] for method in ("empty", *SHUFFLES, *STYLES)}
    for method in measured:
        _run(generator, method, seconds / 4, level)
    for _ in range(rounds):
        for method, got in measured.items():
            got.append(_run(generator, method, seconds, level))
    empty = measured.pop("empty")
    return [_line(method, got, empty, idle) for method, got in measured.items()]


def _line(method: str, ours: Sequence[Round], empty: Sequence[Round], idle: float) -> Line:
    """Return the medians; what the daemon takes while nobody calls is not counted to the calls."""
    calls = CALLS if method in STYLES else 1
    figures: dict[str, Figure] = {
        "hand": method,
        "calls": calls,
        "ratio": middle(
            calls * one["rate"] / beside["rate"] for one, beside in zip(ours, empty, strict=True)
        ),
    }
    for key in ("rate", "p50", "p99"):
        figures[key] = middle(one[key] for one in ours)
    hand_us, empty_us = _us(ours, idle), _us(empty, idle)
    return {
        **figures,
        "us/hand": hand_us,
        "us/call": hand_us / calls,
        "empty rate": middle(one["rate"] for one in empty),
        "empty p50": middle(one["p50"] for one in empty),
        "empty us": empty_us,
        "CPU ratio": hand_us / calls / max(1.0, empty_us),
        "client cores": middle(one["client_cores"] for one in ours),
        "refused": round(sum(one["refused"] for one in ours)),
    }


def _us(got: Sequence[Round], idle: float) -> float:
    """Return the server's CPU time of a turn, in microseconds."""
    return middle(
        (one["server_cpu_s"] - idle * one["seconds"]) / max(0.2, one["answered"]) * 1e6
        for one in got
    )


# --- bytes -------------------------------------------------------------------------------


def _size(method: str, hands: int) -> Line:
    """Return what a hand takes, in a ledger that has all of its tables."""
    with dealing() as daemon, Generator(daemon) as generator:
        _run(generator, method, 1.0, SIZED_AT_ONCE)
        before, dealt = _bytes(daemon), 0
        while dealt < hands:
            got = _run(generator, method, 2.0, SIZED_AT_ONCE)
            # A closed loop answers those that were under way at its end, too.
            dealt += round(got.get("played", got["answered"] + SIZED_AT_ONCE))
        grown = [(now - then) / dealt for now, then in zip(_bytes(daemon), before, strict=True)]
    return {
        "hand": method,
        "hands": dealt,
        "bytes": round(grown[0]),
        "of them log": round(grown[1]),
    }


def _bytes(daemon: BenchDaemon) -> tuple[int, int]:
    return file_bytes(daemon.home), log_bytes(daemon.home)


# --- told --------------------------------------------------------------------------------


def _sentence(line: Line) -> str:
    return (
        f"{line['hand']}, {line['in flight']} in flight: {line['rate']:,.1f} hands/s,"
        f" p50 {line['p50']:.1f} ms, p99 {line['p99']:.1f} ms; {line['calls']} calls of"
        f" {line['us/call']:.0f} us of server CPU, {line['CPU ratio']:.1f} times an empty one's"
        f" {line['empty us']:.0f}; ratio {line['ratio']:.2f} to {line['empty rate']:,.0f} empty"
        " calls/s"
    )


def _size_sentence(line: Line) -> str:
    return f"{line['hand']}: {line['bytes']:,} bytes a hand, {line['of them log']:,} of them log"
