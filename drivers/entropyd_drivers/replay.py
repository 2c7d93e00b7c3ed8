"""replay: plays a capture file once, as the driver that it was captured with delivered it.

For finding out what happened on a bad day and for trying out what is made of
it: `entropyd capture` writes such files. The samples were seen by whoever has
the file, so the kind is `replay`, and nothing dealt from it is for play.

The file is read whole once when the driver is made, and a truncated, changed
or foreign one is refused there. It is played once, over reopenings: what was
delivered does not come again. Where it ends, the device is gone.

Options:
    path  the capture file
    rate  bytes a second, 0 for as fast as it is read (500000)
"""

import time
from collections.abc import Mapping
from pathlib import Path

from entropyd.entropy.capture import (
    MAX_HEADER_BYTES,
    TRAILER_BYTES,
    CaptureHeader,
    CaptureSum,
    parse_header,
)
from entropyd.entropy.source import SourceKind
from entropyd.errors import SourceAbsentError
from entropyd_drivers.options import Options
from entropyd_drivers.pace import NANOSECONDS, Pace

NAME = "replay"
KNOWN_OPTIONS = ("path", "rate")

DEFAULT_RATE = 500_000
MAX_RATE = 1_000_000_000
# A block of a slow recording must still end within the read period of a reader.
MAX_READ_S = 1

_PIECE_BYTES = 1 << 20


class Recording:
    """An open capture file that was found whole.

    Attributes:
        header: what was captured.
        left: samples that were not taken yet.
    """

    def __init__(self, path: Path) -> None:
        """Open and check the file.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no capture, or not a whole one.
        """
        self._file = path.open("rb")
        try:
            self.header, self.left = self._check()
        except BaseException:
            self._file.close()
            raise

    def take(self, size: int) -> bytes:
        """Return the next `size` samples, or nothing where fewer are left."""
        if size > self.left:
            return b""
        self.left -= size
        return self._file.read(size)

    def _check(self) -> tuple[CaptureHeader, int]:
        header, length = parse_header(self._file.read(MAX_HEADER_BYTES))
        samples = self._file.seek(0, 2) - length - TRAILER_BYTES
        self._file.seek(0)
        whole = CaptureSum(self._file.read(length))
        for offset in range(0, samples, _PIECE_BYTES):
            whole.update(self._file.read(min(_PIECE_BYTES, samples - offset)))
        if samples < 0 or whole.trailer() != self._file.read(TRAILER_BYTES):
            raise ValueError("is cut off or changed: its samples do not have the hash at its end")
        self._file.seek(length)
        return header, samples


class ReplayDevice:
    """One open recording. Used by one thread."""

    def __init__(self, recording: Recording, rate: int) -> None:
        self.serial = recording.header.serial
        self._recording = recording
        self._pace = Pace(rate, recording.header.block_bytes, time.monotonic_ns())
        self._lost = ""

    def read(self) -> bytes:
        """Return the next block when it is due.

        Raises:
            SourceAbsentError: the recording has ended, or the device was closed.
        """
        if self._lost:
            raise SourceAbsentError(self._lost)
        size = self._recording.header.block_bytes
        wait_ns = self._pace.wait_ns(size, time.monotonic_ns())
        if wait_ns:
            time.sleep(wait_ns / NANOSECONDS)
        self._pace.ready(time.monotonic_ns())
        self._pace.take(size)
        block = self._recording.take(size)
        if not block:
            self._lost = "the recording has ended; start again to play it again"
            raise SourceAbsentError(self._lost)
        return block

    def close(self) -> None:
        """End the use of this device. Never raises."""
        self._lost = self._lost or "the recording was closed; open it again"


class ReplayDriver:
    """Opens the recording where it was left. See `Driver` for the attributes."""

    name = NAME
    kind = SourceKind.REPLAY

    def __init__(self, recording: Recording, rate: int) -> None:
        self.sample_bits = recording.header.sample_bits
        self.read_period_s = recording.header.block_bytes / rate if rate else float(0)
        self.nominal_rate = rate
        self._recording = recording
        self._rate = rate

    def open(self) -> ReplayDevice:
        """Go on with the recording.

        Raises:
            SourceAbsentError: it has ended.
        """
        if self._recording.left < self._recording.header.block_bytes:
            raise SourceAbsentError("the recording has ended; start again to play it again")
        return ReplayDevice(self._recording, self._rate)


def create(options: Mapping[str, object]) -> ReplayDriver:
    """Return the driver for an options table; see the module docstring.

    Raises:
        ConfigError: an option is unknown or wrong, or the file is no whole capture.
    """
    table = Options(NAME, options, KNOWN_OPTIONS)
    path = table.text("path")
    if path is None:
        raise table.refuse("path", 'is missing; set path = "/var/tmp/quantis.capture"')
    rate = table.whole("rate", DEFAULT_RATE, low=0, high=MAX_RATE)
    try:
        recording = Recording(Path(path))
    except OSError as error:
        raise table.refuse("path", f"is {path}, which cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise table.refuse("path", f"is {path}, which {error}; capture it again") from error
    if rate and recording.header.block_bytes > rate * MAX_READ_S:
        raise table.refuse(
            "rate",
            f"is {rate}; a block of {recording.header.block_bytes} bytes would take more than a"
            " second: raise it",
        )
    return ReplayDriver(recording, rate)
