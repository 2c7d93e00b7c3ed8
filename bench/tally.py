"""What a load generator counts while its clock runs."""

import time

from bench.process import cpu_s
from bench.report import percentile


class Tally:
    """Answers as they come: their latencies while the clock runs, and how many were refused."""

    def __init__(self, pid: int) -> None:
        """Start the clock; `pid` is the server, whose CPU time is taken at both ends."""
        self.latencies_s: list[float] = []
        self.refused = 0
        self.lateness_s: list[float] = []
        self._pid = pid
        self._began = (time.monotonic(), cpu_s(pid), time.process_time())

    def result(self) -> dict[str, float]:
        """Stop the clock and return the figures."""
        began, server_s, own_s = self._began
        seconds = time.monotonic() - began
        answered = len(self.latencies_s)
        server_s = cpu_s(self._pid) - server_s
        figures = {f"p{share}": self._ms(share) for share in (50, 99, 99.9)}
        return figures | {
            "answered": answered,
            "refused": self.refused,
            "seconds": seconds,
            "rate": answered / seconds,
            "server_cpu_s": server_s,
            "server_us": server_s / max(1, answered) * 1e6,
            "client_cores": (time.process_time() - own_s) / seconds,
            "late_p99": percentile(self.lateness_s, 0.99) * 1e3,
        }

    def _ms(self, percent: float) -> float:
        return percentile(self.latencies_s, percent / 100) * 1e3
