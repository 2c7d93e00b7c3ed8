"""The log: how far it goes and how far it is signed for. Updated by the loop."""

from prometheus_client import CollectorRegistry, Gauge


class LogMetrics:
    """Shows the log of receipts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Make the series, all of them at 0."""
        self._size = Gauge("entropyd_log_size", "Receipts in the log.", registry=registry)
        self._signed = Gauge(
            "entropyd_log_signed_size",
            "Receipts that the newest signed checkpoint covers.",
            registry=registry,
        )
        self._unsigned = Gauge(
            "entropyd_log_unsigned_age_seconds",
            "For how long there may have been receipts that no checkpoint covers.",
            registry=registry,
        )

    def stood(self, *, size: int, signed: int, unsigned_age_s: float) -> None:
        """Note how the log stood at the last look."""
        self._size.set(size)
        self._signed.set(signed)
        self._unsigned.set(unsigned_age_s)
