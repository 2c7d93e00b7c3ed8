"""The noise-source contract: what a driver is, what a device owes, and what it must not do.

A driver reports bytes and faults and nothing else. It never tests, whitens,
credits or silently retries: health tests, credit and reopening belong to the
machinery above it, where they are counted and seen.

A `Driver` is a description that can be opened; a `Device` is one open
connection, and is thrown away after any fault other than a timeout.

Spec: SP 800-90B, section 2.2 (noise source); DESIGN 5.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

# Credit is counted in thousandths of a bit, so that sums are exact integers.
MILLIBITS_PER_BIT = 1000


class SourceKind(StrEnum):
    """What stands behind a source. Only `HARDWARE` may be dealt from for money."""

    HARDWARE = "hardware"
    OS = "os"
    MOCK = "mock"
    REPLAY = "replay"


@dataclass(frozen=True)
class NoiseSourceInfo:
    """Who a noise source is and what its owner claims for it.

    Attributes:
        source_id: name in configuration, receipts and metrics; an id.
        driver: entry-point name of its driver.
        kind: what stands behind it, as far as the daemon can recognise.
        sample_bits: width of a sample, 1 or 8. A sample is always one byte of
            raw data; a one-bit sample is the byte 0 or 1.
        claimed_millibits: claimed min-entropy of one sample in thousandths of
            a bit, above 0 and at most 1000 * sample_bits. Configuration, never
            a measurement.
        claim_note: where the claim comes from, for auditors.
        nominal_rate: samples a second that a healthy device gives, as its
            driver knows; 0 where it does not.
    """

    source_id: str
    driver: str
    kind: SourceKind
    sample_bits: int
    claimed_millibits: int
    claim_note: str
    nominal_rate: int = 0


class Device(Protocol):
    """One open connection to a noise source. Used by one thread.

    Attributes:
        serial: serial number as the device tells it, or a stable stand-in
            where devices of its kind have none (said in the driver).
    """

    serial: str

    def read(self) -> bytes:
        """Return the next block of raw samples, one byte each, in order.

        Blocks for at most the driver's read period. The length is the
        driver's own block size, always the same for one device.

        Raises:
            SourceTimeoutError: nothing, or not all, came in time. The device
                may be read again; what came is discarded.
            SourceProtocolError: the device delivered what it must not. Close it.
            SourceAbsentError: the device is gone. Close it.
        """
        ...

    def close(self) -> None:
        """Let go of the device. Never raises, and may be called twice."""
        ...


class Driver(Protocol):
    """A noise source that can be opened, again and again.

    Attributes:
        name: entry-point name.
        kind: what stands behind the devices it opens, as far as it can tell.
        sample_bits: width of their samples.
        read_period_s: the longest that `Device.read` and `open` block, in
            seconds; stopping a reader takes at most this long.
        nominal_rate: samples a second that a healthy device gives; 0 where that
            is not known. Only watched, never enforced.
    """

    name: str
    kind: SourceKind
    sample_bits: int
    read_period_s: float
    nominal_rate: int

    def open(self) -> Device:
        """Find the device (by serial number where one is configured) and open it.

        Raises:
            SourceAbsentError: none there, or not permitted, or held by another
                process; the text says which, with the remedy.
            SourceProtocolError: it is there but not functional.
        """
        ...


# An entry point of the group `entropyd.drivers` is one of these. The mapping
# is the source's `options` table of the configuration file; an unknown or bad
# option raises ConfigError, naming the option and the remedy.
DriverFactory = Callable[[Mapping[str, object]], Driver]
DRIVER_ENTRY_POINTS = "entropyd.drivers"
