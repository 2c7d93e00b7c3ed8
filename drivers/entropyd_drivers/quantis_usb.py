"""quantis-usb: ID Quantique's Quantis USB-4M (0aba:0102), read through libusb.

The USB output is processed inside the device (EPJ Quantum Technology 9:17,
2022), and no certified entropy figure was found: what a sample is worth is the
owner's claim in the configuration, never a default of this driver.

Options:
    serial              serial number; required as soon as two are plugged in
    read_bytes          bytes a read, a multiple of 512, 512 to 131072 (8192)
    read_timeout_ms     longest wait for one read, 100 to 1500 (1000)
    status_every_reads  reads per question after the module's status (1)
"""

from collections.abc import Callable, Mapping
from typing import Any

from entropyd.entropy.source import SourceKind
from entropyd_drivers import usb_bus
from entropyd_drivers.options import Options
from entropyd_drivers.quantis_device import QuantisDevice
from entropyd_drivers.quantis_requests import CONTROL_TIMEOUT_MS
from entropyd_drivers.quantis_settings import (
    KNOWN_OPTIONS,
    NOMINAL_BYTES_PER_S,
    QuantisSettings,
)

NAME = "quantis-usb"

VENDOR_ID = 0x0ABA
PRODUCT_ID = 0x0102


class QuantisDriver:
    """Opens one Quantis, again and again. See `Driver` for the attributes."""

    sample_bits = 8

    def __init__(
        self,
        settings: QuantisSettings,
        *,
        backend: Callable[[], Any] = usb_bus.load_libusb,
        name: str = NAME,
        kind: SourceKind = SourceKind.HARDWARE,
        nominal_rate: int = NOMINAL_BYTES_PER_S,
    ) -> None:
        """Keep what to open and how.

        Args:
            settings: which device, and how to read it.
            backend: gives the pyusb backend; an emulator brings its own.
            name: entry-point name.
            kind: what stands behind that backend.
            nominal_rate: bytes a second that it gives; 0 where it is not paced.
        """
        self.name = name
        self.kind = kind
        self.nominal_rate = nominal_rate
        # Silence costs the read's timeout and then the status question's; the
        # flag is asked only when the status came in time.
        self.read_period_s = (settings.read_timeout_ms + 2 * CONTROL_TIMEOUT_MS) / 1000
        self._settings = settings
        self._backend = backend

    def open(self) -> QuantisDevice:
        """Find the device by its serial number and take it; see `Driver.open` for errors.

        Ends at the first request that is not answered in time.
        """
        candidate = usb_bus.find(self._backend(), VENDOR_ID, PRODUCT_ID, self._settings.serial)
        try:
            return QuantisDevice(candidate, self._settings)
        except BaseException:
            usb_bus.dispose(candidate.device)
            raise


def create(options: Mapping[str, object]) -> QuantisDriver:
    """Return the driver for an options table; see the module docstring.

    Raises:
        ConfigError: an option is unknown or its value is out of range.
    """
    return QuantisDriver(QuantisSettings.from_options(Options(NAME, options, KNOWN_OPTIONS)))
