"""Draws, raffles and rounds beside the empty RPC of the same server, in turns; and Shuffle.

The ratio says how much of grpcio's own rate of calls is left; a turn of two
calls counts as two. Matches and players are many, so that nobody waits for the
turn of another, but for the row of one match, whose draws take theirs together.

Then the largest draws, 100,000 items: alone, and under 16 callers of dice, whose
latencies are told with and without them. With LARGE_WAIT each of its 6,555
seeds has its own entropy; a computational draw is expanded from one.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from bench.daemon import BenchDaemon, dealing
from bench.draw_load import ASKED, PLAYERS, player
from bench.generator import Generator
from bench.process import cpu_s, idle_cores, placements
from bench.report import Figure, Line, Report, middle
from entropyd.client import Client, Large

LEVELS = (1, 16, 64)
BESIDE = "RollDice 2d6"
CALLERS = 16
LARGEST = 100_000
LARGE_TIMEOUT_S = 60.0

Round = Mapping[str, float]


def run(report: Report, *, quick: bool) -> None:
    """Measure, with server and generator on a core each where there are two."""
    rounds, seconds = (1, 0.5) if quick else (3, 1.5)
    with dealing() as daemon, Generator(daemon) as generator:
        _begin_lines(daemon)
        cores = next(iter(placements(daemon.pid, generator.pid)))
        idle = idle_cores(daemon.pid, seconds)
        lines = [
            {"in flight": level, "cores": cores, **line}
            for level in LEVELS
            for line in _level(generator, level, rounds, seconds, idle)
        ]
        report.add("draws", lines, *map(_sentence, lines))
        with _client(daemon) as client:
            larges = [
                _large(daemon, generator, client, large, rounds)
                for large in (Large.WAIT, Large.COMPUTATIONAL)
            ]
        report.add("large draws", larges, *map(_large_sentence, larges))


def _client(daemon: BenchDaemon) -> Client:
    return Client(daemon.target, claim_key_file=daemon.home / "claim.key")


def _begin_lines(daemon: BenchDaemon) -> None:
    """Open a line of pairs for every player, with a client seed."""
    with _client(daemon) as client:
        fair = client.fair()
        for number in range(PLAYERS):
            pair = fair.open_pair(player(number))
            fair.set_client_seed(player(number), "bench", server_hash=pair.server_hash)


def _level(
    generator: Generator, level: int, rounds: int, seconds: float, idle: float
) -> list[Line]:
    """Return a line for each kind of turn with so many under way."""
    measured: dict[str, list[Round]] = {method: [] for method in ("empty", "shuffle", *ASKED)}
    for method in measured:
        generator.run("closed", method, seconds / 4, in_flight=level)
    for _ in range(rounds):
        for method, got in measured.items():
            got.append(generator.run("closed", method, seconds, in_flight=level))
    empty = measured.pop("empty")
    return [_line(method, got, empty, idle) for method, got in measured.items()]


def _line(method: str, ours: Sequence[Round], empty: Sequence[Round], idle: float) -> Line:
    """Return the medians; what the daemon takes while nobody calls is not counted to the calls."""
    calls = len(ASKED[method].paths) if method in ASKED else 1
    figures: dict[str, Figure] = {
        "turn": method,
        "calls": calls,
        "ratio": middle(
            calls * one["rate"] / beside["rate"] for one, beside in zip(ours, empty, strict=True)
        ),
    }
    for key in ("rate", "p50", "p99"):
        figures[key] = middle(one[key] for one in ours)
    figures["us/call"] = _call_us(ours, calls, idle)
    figures["empty rate"] = middle(one["rate"] for one in empty)
    figures["empty us"] = _call_us(empty, 1, idle)
    figures["client cores"] = middle(one["client_cores"] for one in ours)
    figures["refused"] = round(sum(one["refused"] for one in ours))
    return figures


def _call_us(got: Sequence[Round], calls: int, idle: float) -> float:
    """Return the server's CPU time of a call, in microseconds."""
    return middle(
        (one["server_cpu_s"] - idle * one["seconds"]) / max(1, one["answered"]) / calls * 1e6
        for one in got
    )


# --- the largest -----------------------------------------------------------------


def _large(
    daemon: BenchDaemon, generator: Generator, client: Client, large: Large, rounds: int
) -> Line:
    """Draw the longest list alone, then again and again while others roll dice."""
    draws = client.draws(large=large, timeout_s=LARGE_TIMEOUT_S)
    numbers = count()

    def draw() -> float:
        began = time.monotonic()
        draws.shuffle_items(f"large-{large}", f"draw-{next(numbers)}", size=LARGEST)
        return time.monotonic() - began

    before_s = cpu_s(daemon.pid)
    alone_s = [draw() for _ in range(rounds)]
    cpu_ms = (cpu_s(daemon.pid) - before_s) / rounds * 1e3
    # Others are measured for as long as several of these draws take.
    seconds = max(1.0, 4 * middle(alone_s))
    without: list[Round] = []
    beside: list[Round] = []
    under_load_s: list[float] = []
    for _ in range(rounds):
        without.append(generator.run("closed", BESIDE, seconds, in_flight=CALLERS))
        beside.append(_while(generator, seconds, lambda: under_load_s.append(draw())))
    return {
        "items": LARGEST,
        "large": str(large),
        "alone s": middle(alone_s),
        "alone CPU ms": cpu_ms,
        "under load s": middle(under_load_s),
        "draws under load": len(under_load_s),
        **_others("without", without),
        **_others("beside", beside),
        "p99 ratio": middle(
            with_it["p99"] / alone["p99"] for with_it, alone in zip(beside, without, strict=True)
        ),
    }


def _while(generator: Generator, seconds: float, act: Callable[[], None]) -> Round:
    """Act again and again while the dice roll, and no longer."""
    generator.start("closed", BESIDE, seconds, in_flight=CALLERS)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        act()
    return generator.wait()


def _others(when: str, got: Sequence[Round]) -> Line:
    return {
        f"dice/s {when}": middle(one["rate"] for one in got),
        f"p50 {when}": middle(one["p50"] for one in got),
        f"p99 {when}": middle(one["p99"] for one in got),
        f"refused {when}": round(sum(one["refused"] for one in got)),
    }


# --- told --------------------------------------------------------------------------


def _sentence(line: Line) -> str:
    return (
        f"{line['turn']}, {line['in flight']} in flight: {line['rate']:,.0f}/s,"
        f" p50 {line['p50']:.2f} ms, p99 {line['p99']:.2f} ms, ratio {line['ratio']:.2f} to"
        f" {line['empty rate']:,.0f}/s empty ({line['us/call']:.0f} and {line['empty us']:.0f} us"
        " of server CPU a call)"
    )


def _large_sentence(line: Line) -> str:
    return (
        f"{line['items']:,} items, {line['large']}: {line['alone s']:.2f} s alone"
        f" ({line['alone CPU ms']:.0f} ms of CPU), {line['under load s']:.2f} s under"
        f" {CALLERS} callers of dice, whose p99 is {line['p99 beside']:.1f} ms beside it and"
        f" {line['p99 without']:.1f} ms without"
    )
