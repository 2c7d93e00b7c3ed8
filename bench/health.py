"""The health tests at the rate of the fastest card: how much of a core they take.

Thread CPU time over honest noise, as blocks of the sizes that drivers deliver.
"""

import os
import time
from collections.abc import Callable

from bench.report import Line, Report, middle
from entropyd.entropy.cutoffs import cutoffs_for
from entropyd.entropy.entropy_source import EntropySource, HealthPolicy
from entropyd.entropy.health import HealthTests
from entropyd.entropy.source import NoiseSourceInfo, SourceKind

# 240 Mbit/s, the newest PCIe card.
BYTES_PER_SECOND = 30_000_000
BLOCKS = (8 * 1024, 64 * 1024)
MILLIBITS = 6000

Feed = Callable[[bytes, int], object]


def run(report: Report, *, quick: bool) -> None:
    """Measure the two tests alone, and everything that a reader does with a block."""
    total, rounds = (2_000_000, 3) if quick else (BYTES_PER_SECOND, 5)
    noise = os.urandom(1 << 20)
    lines: list[Line] = []
    for block in BLOCKS:
        for what, make in (("RCT and APT", _tests), ("EntropySource.feed", _source)):
            shares = [_share(make(), noise, block, total) for _ in range(rounds)]
            share = middle(shares)
            lines.append(
                {
                    "what": what,
                    "block": block,
                    "% of a core at 30 MB/s": share * 100,
                    "MB/s on a core": BYTES_PER_SECOND / share / 1e6,
                }
            )
    report.add("health tests", lines, *map(_sentence, lines))


def _tests() -> Feed:
    cutoffs = cutoffs_for(
        MILLIBITS,
        sample_bits=8,
        intermittent_alpha_log2=HealthPolicy().intermittent_alpha_log2,
        permanent_alpha_log2=HealthPolicy().permanent_alpha_log2,
    )
    tests = HealthTests(cutoffs)
    return lambda block, _now_ns: tests.feed(block)


def _source() -> Feed:
    info = NoiseSourceInfo("bench", "bench", SourceKind.MOCK, 8, MILLIBITS, "")
    source = EntropySource(info)
    source.on_opened(0)
    return source.feed


def _share(feed: Feed, noise: bytes, block: int, total: int) -> float:
    """Return CPU seconds a second of samples at BYTES_PER_SECOND."""
    pieces = [noise[at : at + block] for at in range(0, len(noise), block)]
    blocks = total // block
    began = time.thread_time()
    for number in range(blocks):
        feed(pieces[number % len(pieces)], number)
    took = time.thread_time() - began
    return took / (blocks * block / BYTES_PER_SECOND)


def _sentence(line: Line) -> str:
    return (
        f"{line['what']}, blocks of {line['block']}: {line['% of a core at 30 MB/s']:.1f} % of a"
        " core at 30 MB/s"
    )
