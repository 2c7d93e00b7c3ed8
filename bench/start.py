"""From exec to SERVING, and how much memory the daemon takes: idle, used, and beset."""

import os
import socket
import time
from collections.abc import Callable

from bench.daemon import BenchDaemon, dealing, home
from bench.generator import Generator
from bench.process import memory_bytes
from bench.report import Line, Report, middle

HANDS = 10_000
WAITERS = 4_096
MIB = 1 << 20


def run(report: Report, *, quick: bool) -> None:
    """Start again and again on a ledger of its own each; then look at memory."""
    starts = [_start() for _ in range(2 if quick else 10)]
    line: Line = {what: middle(one[what] for one in starts) for what in starts[0]}
    report.add("start", [line], _start_sentence(line))
    memory = _memory(HANDS // 10 if quick else HANDS)
    report.add("memory", memory, *map(_memory_sentence, memory))


def _start() -> dict[str, float]:
    """Return seconds from exec to READY, to SERVING as a process, and to SERVING for draws."""
    with home() as daemon, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        address = str(daemon.sockets / "notify.sock")
        manager.bind(address)
        manager.settimeout(0)
        began = time.monotonic()
        daemon.start({"NOTIFY_SOCKET": address})

        def after(condition: Callable[[], bool]) -> float:
            daemon.wait(condition)
            return time.monotonic() - began

        figures = {
            "process SERVING s": after(daemon.is_serving),
            "READY s": after(lambda: _said_ready(manager)),
            "dealing SERVING s": after(lambda: daemon.is_serving("")),
        }
        daemon.stop()
        return figures


def _said_ready(manager: socket.socket) -> bool:
    try:
        return b"READY=1" in manager.recv(4096)
    except BlockingIOError:
        return False


def _memory(hands: int) -> list[Line]:
    with dealing(gate='max_hold = "30s"') as daemon, Generator(daemon) as generator:
        lines = [_line(daemon, "idle")]
        dealt = 0.0
        while dealt < hands:
            dealt += generator.run("closed", "shuffle", 1, in_flight=64)["answered"]
        lines.append(_line(daemon, f"after {round(dealt):,} hands"))
        # Silent: the reservoir runs dry, and nobody is answered until the device speaks again.
        daemon.faults("F1:nak")
        generator.start("closed", "shuffle", 12, in_flight=WAITERS, connections=8, timeout_s=25)
        # The ones before the reservoir is dry are answered, and ask again.
        daemon.wait(lambda: daemon.metric("entropyd_waiters") >= WAITERS)
        lines.append(_line(daemon, f"{WAITERS:,} waiting"))
        daemon.faults()
        generator.wait()
        lines.append(_line(daemon, "after them"))
    return lines


def _line(daemon: BenchDaemon, when: str) -> Line:
    now, highest = memory_bytes(daemon.pid)
    return {"when": when, "VmRSS MiB": now / MIB, "VmHWM MiB": highest / MIB}


def _start_sentence(line: Line) -> str:
    return (
        f"SERVING after {line['process SERVING s']:.2f} s, READY=1 after {line['READY s']:.2f} s,"
        f" SERVING for draws (tested and assessed entropy there) after"
        f" {line['dealing SERVING s']:.2f} s; {os.cpu_count()} cores"
    )


def _memory_sentence(line: Line) -> str:
    return f"{line['when']}: {line['VmRSS MiB']:.0f} MiB, at most {line['VmHWM MiB']:.0f} MiB"
