"""The log of receipts: how far it goes and how far it is signed for."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge

NANOSECONDS = 1_000_000_000


class LogMetrics:
    """Shows the log of receipts. Told by the loop; its age goes on if the loop does not."""

    def __init__(self, registry: CollectorRegistry, clock_ns: Callable[[], int]) -> None:
        """Make the series: nothing is in the log, and nothing has been signed for since now."""
        self._clock_ns = clock_ns
        self._level_ns = clock_ns()
        self._size = Gauge("entropyd_log_size", "Receipts in the log.", registry=registry)
        self._signed = Gauge(
            "entropyd_log_signed_size",
            "Receipts that the newest signed checkpoint covers.",
            registry=registry,
        )
        Gauge(
            "entropyd_log_unsigned_age_seconds",
            "For how long there may have been receipts that no checkpoint covers.",
            registry=registry,
        ).set_function(self._unsigned_s)

    def stood(self, *, size: int, signed: int, unsigned_age_s: float) -> None:
        """Note how the log stands."""
        self._size.set(size)
        self._signed.set(signed)
        self._level_ns = self._clock_ns() - int(unsigned_age_s * NANOSECONDS)

    def _unsigned_s(self) -> float:
        return (self._clock_ns() - self._level_ns) / NANOSECONDS
