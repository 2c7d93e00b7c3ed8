"""How a Quantis is read: sizes, times and their limits."""

from dataclasses import dataclass
from typing import Self

from entropyd_drivers.options import Options

# A read that is not a multiple of the packet size can overflow, and then its
# length is undefined; 512 is a multiple of 64, the packet size at full speed.
READ_MULTIPLE = 512

# Chunks that the vendor suggests end at 128 KiB; its library refuses 16 MiB.
MAX_READ_BYTES = 128 * 1024
# 16.4 ms of data: short enough to notice a loss, long enough to cost nothing.
DEFAULT_READ_BYTES = 8192
# 4 Mbit/s, the nominal rate of the vendor's library.
NOMINAL_BYTES_PER_S = 500_000

KNOWN_OPTIONS = ("serial", "read_bytes", "read_timeout_ms", "status_every_reads")


@dataclass(frozen=True)
class QuantisSettings:
    """How to read a Quantis. Units, ranges and defaults: see `quantis_usb`."""

    serial: str | None = None
    read_bytes: int = DEFAULT_READ_BYTES
    read_timeout_ms: int = 1000
    status_every_reads: int = 1

    @classmethod
    def from_options(cls, options: Options) -> Self:
        """Return the settings of an options table.

        Raises:
            ConfigError: a value is out of range, or a read of that size takes
                longer than half of its timeout.
        """
        settings = cls(
            serial=options.text("serial"),
            read_bytes=options.whole(
                "read_bytes", DEFAULT_READ_BYTES, low=READ_MULTIPLE, high=MAX_READ_BYTES
            ),
            read_timeout_ms=options.whole("read_timeout_ms", 1000, low=100, high=1500),
            status_every_reads=options.whole("status_every_reads", 1, low=1, high=1000),
        )
        if settings.read_bytes % READ_MULTIPLE:
            raise options.refuse(
                "read_bytes", f"is {settings.read_bytes}; expected a multiple of {READ_MULTIPLE}"
            )
        nominal_ms = settings.read_bytes * 1000 // NOMINAL_BYTES_PER_S
        if 2 * nominal_ms > settings.read_timeout_ms:
            raise options.refuse(
                "read_timeout_ms",
                f"is {settings.read_timeout_ms}; {settings.read_bytes} bytes take {nominal_ms} ms,"
                f" expected at least {2 * nominal_ms} or a smaller `read_bytes`",
            )
        return settings
