"""mock: made-up bytes at a steady rate, for trying things out without a device.

The stream goes on over reopenings and never repeats itself. Its kind is
`mock`: nothing dealt from it is for play.

Options:
    seed         hexadecimal; the same seed gives the same stream (fresh)
    rate         bytes a second, 0 for as fast as it is read (500000)
    block_bytes  bytes a read, 1 to 131072 (8192)
"""

import time
from collections.abc import Mapping

from entropyd.entropy.source import SourceKind
from entropyd.errors import SourceAbsentError
from entropyd_drivers.noise import Noise, SeededNoise
from entropyd_drivers.options import Options
from entropyd_drivers.pace import NANOSECONDS, Pace

NAME = "mock"
KNOWN_OPTIONS = ("seed", "rate", "block_bytes")

DEFAULT_RATE = 500_000
MAX_RATE = 1_000_000_000
DEFAULT_BLOCK_BYTES = 8192
MAX_BLOCK_BYTES = 128 * 1024
# A reader must be able to stop within this.
MAX_READ_S = 1


class MockDevice:
    """One open mock. Used by one thread."""

    serial = NAME

    def __init__(self, noise: Noise, rate: int, block_bytes: int) -> None:
        self._noise = noise
        self._block_bytes = block_bytes
        self._pace = Pace(rate, block_bytes, time.monotonic_ns())
        self._is_open = True

    def read(self) -> bytes:
        """Return the next block when it is due.

        Raises:
            SourceAbsentError: it was closed.
        """
        if not self._is_open:
            raise SourceAbsentError("the mock was closed; open it again")
        wait_ns = self._pace.wait_ns(self._block_bytes, time.monotonic_ns())
        if wait_ns:
            time.sleep(wait_ns / NANOSECONDS)
        # Forget how late we are by more than one block, as a full buffer would.
        self._pace.ready(time.monotonic_ns())
        self._pace.take(self._block_bytes)
        return self._noise.take(self._block_bytes)

    def close(self) -> None:
        """End the use of this device. Never raises."""
        self._is_open = False


class MockDriver:
    """Opens mocks that share one stream. See `Driver` for the attributes."""

    name = NAME
    kind = SourceKind.MOCK
    sample_bits = 8

    def __init__(self, noise: Noise, *, rate: int, block_bytes: int) -> None:
        self.read_period_s = block_bytes / rate if rate else float(0)
        self.nominal_rate = rate
        self._noise = noise
        self._rate = rate
        self._block_bytes = block_bytes

    def open(self) -> MockDevice:
        """Open the mock. Never fails."""
        return MockDevice(self._noise, self._rate, self._block_bytes)


def create(options: Mapping[str, object]) -> MockDriver:
    """Return the driver for an options table; see the module docstring.

    Raises:
        ConfigError: an option is unknown or its value is out of range, or one
            block takes longer than a second.
    """
    table = Options(NAME, options, KNOWN_OPTIONS)
    rate = table.whole("rate", DEFAULT_RATE, low=0, high=MAX_RATE)
    block_bytes = table.whole("block_bytes", DEFAULT_BLOCK_BYTES, low=1, high=MAX_BLOCK_BYTES)
    if rate and block_bytes > rate * MAX_READ_S:
        raise table.refuse(
            "block_bytes",
            f"is {block_bytes}, more than a second at {rate} bytes a second; lower it",
        )
    return MockDriver(SeededNoise(table.hexadecimal("seed")), rate=rate, block_bytes=block_bytes)
