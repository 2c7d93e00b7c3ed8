"""What a process costs: CPU time, memory, and the core that it may use. Linux only."""

import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path

KIB = 1024
# CPUCLOCK_SCHED, and how far a complemented process id stands above it: linux/posix-timers.h.
PROCESS_CPU_CLOCK = 2
CLOCK_BITS = 3


def threads(pid: int) -> list[int]:
    """Return the ids of a process's threads."""
    return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process, ended threads included, in seconds.

    From the kernel's clock of the process, which counts nanoseconds: `stat` counts ticks of 10 ms,
    and in /proc a thread's time is gone when the thread is. The number of that clock is what
    clock_getcpuclockid(3) returns, which Python does not have.
    """
    return time.clock_gettime(~pid << CLOCK_BITS | PROCESS_CPU_CLOCK)


def idle_cores(pid: int, seconds: float) -> float:
    """Return the share of a core that a process takes while nobody calls it."""
    before = cpu_s(pid)
    time.sleep(seconds)
    return (cpu_s(pid) - before) / seconds


def pin(pid: int, cores: Collection[int]) -> None:
    """Let every thread of a process run on these cores alone; later threads inherit it."""
    for thread in threads(pid):
        try:
            os.sched_setaffinity(thread, cores)
        except ProcessLookupError:
            continue


def placements(server: int, client: int) -> Iterator[str]:
    """Put server and client on a core each, then leave them to the scheduler; yield which.

    Threads of one interpreter that hand its lock over across cores pay for it.
    """
    everywhere = os.sched_getaffinity(0)
    if len(everywhere) > 1:
        first, *others = sorted(everywhere)
        pin(server, {first})
        pin(client, others)
        yield "pinned"
    pin(server, everywhere)
    pin(client, everywhere)
    yield "free"


def memory_bytes(pid: int) -> tuple[int, int]:
    """Return resident memory now and at its highest, VmRSS and VmHWM."""
    fields = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return _kib(fields["VmRSS"]), _kib(fields["VmHWM"])


def load() -> str:
    """Return how busy the machine is: runnable processes over 1, 5 and 15 minutes."""
    return " ".join(Path("/proc/loadavg").read_text().split()[:3])


def _kib(text: str) -> int:
    return int(text.split(maxsplit=1)[0]) * KIB
