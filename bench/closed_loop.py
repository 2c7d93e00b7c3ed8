"""Durable Shuffle beside the empty RPC of the same server, in turns.

The ratio of their rates says how much of grpcio's own speed is left when each
answer is drawn from tested entropy and synced to disk. One caller alone waits
for its own sync, so for it the yardstick is the empty call plus two fdatasyncs
of the same file system, measured between the rounds.
"""

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from bench.daemon import BenchDaemon, dealing
from bench.generator import Generator
from bench.process import idle_cores, placements
from bench.report import Figure, Line, Report, middle

LEVELS = (1, 16, 64)
AIMS = {1: "p50 <= empty + 2 fdatasync", 16: 0.6, 64: 0.75}
SYNC_BYTES = 4096
SYNCS_A_ROUND = 50

Round = Mapping[str, float]


def run(report: Report, *, quick: bool) -> None:
    """Measure, with server and generator on a core each, and where the scheduler puts them."""
    rounds, seconds = (2, 0.5) if quick else (7, 2.0)
    lines: list[Line] = []
    with dealing() as daemon, Generator(daemon) as generator:
        for cores in placements(daemon.pid, generator.pid):
            idle = idle_cores(daemon.pid, seconds)
            lines += [
                {
                    "in flight": level,
                    "cores": cores,
                    **_level(daemon, generator, level, rounds, seconds, idle),
                }
                for level in LEVELS
            ]
    report.add("closed loop", lines, *map(_sentence, lines))


def _level(
    daemon: BenchDaemon,
    generator: Generator,
    level: int,
    rounds: int,
    seconds: float,
    idle: float,
) -> Line:
    for method in ("empty", "shuffle"):
        generator.run("closed", method, seconds / 4, in_flight=level)
    empty: list[Round] = []
    durable: list[Round] = []
    syncs_ms: list[float] = []
    before = Counter(daemon.batches())
    for _ in range(rounds):
        empty.append(generator.run("closed", "empty", seconds, in_flight=level))
        durable.append(generator.run("closed", "shuffle", seconds, in_flight=level))
        syncs_ms += fdatasyncs_ms(daemon.home / "synced", SYNCS_A_ROUND)
    batches = Counter(daemon.batches()) - before
    batches.pop(0, None)  # notes alone
    return {
        **_compared(empty, durable, idle),
        "fdatasync ms": middle(syncs_ms),
        "rows/commit": sum(n * c for n, c in batches.items()) / max(1, batches.total()),
        "rows 10/50/90 %": _spread(batches),
        "refused": round(sum(one["refused"] for one in durable)),
    }


def _compared(empty: list[Round], durable: list[Round], idle: float) -> dict[str, Figure]:
    """Return the medians of both, and of the ratio of each two rounds that ran together.

    What the daemon takes while nobody calls is not counted to the calls.
    """
    ratios = [ours["rate"] / theirs["rate"] for ours, theirs in zip(durable, empty, strict=True)]
    figures: dict[str, Figure] = {
        "ratio": middle(ratios),
        "ratio min": min(ratios),
        "ratio max": max(ratios),
    }
    for name, all_rounds in (("empty", empty), ("shuffle", durable)):
        for key in ("rate", "p50", "p99", "client_cores"):
            figures[f"{name} {key}"] = middle(one[key] for one in all_rounds)
        figures[f"{name} us"] = middle(
            (one["server_cpu_s"] - idle * one["seconds"]) / max(1, one["answered"]) * 1e6
            for one in all_rounds
        )
    return figures


def _spread(batches: Counter[int]) -> str:
    """Return how many rows the commit has in which the 10th, 50th and 90th of 100 rows is."""
    rows = sorted(size for size, commits in batches.items() for _ in range(size * commits))
    return "/".join(str(rows[len(rows) * tenth // 10]) for tenth in (1, 5, 9)) if rows else ""


def fdatasyncs_ms(path: Path, count: int) -> list[float]:
    """Return how long appending 4 KiB and syncing them took, each time, in milliseconds."""
    block, took = bytes(SYNC_BYTES), []
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for _ in range(count):
            began = time.monotonic()
            os.write(descriptor, block)
            os.fdatasync(descriptor)
            took.append((time.monotonic() - began) * 1e3)
    finally:
        os.close(descriptor)
    return took


def _sentence(line: Line) -> str:
    level = line["in flight"]
    said = (
        f"{level} in flight, {line['cores']}: {line['shuffle rate']:,.0f}/s durable against"
        f" {line['empty rate']:,.0f}/s empty, ratio {line['ratio']:.2f}"
        f" ({line['shuffle us']:.0f} and {line['empty us']:.0f} us of server CPU,"
        f" {line['rows/commit']:.1f} rows a commit)"
    )
    if level == 1:
        allowed = float(line["empty p50"]) + 2 * float(line["fdatasync ms"])
        return f"{said}; p50 {line['shuffle p50']:.2f} ms, aim {allowed:.2f} ms"
    return f"{said}; aim {AIMS[int(level)]}"
