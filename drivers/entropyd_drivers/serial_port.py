"""serial: raw bytes from a serial port, as TrueRNG and many others send them.

pyserial opens the port (raw mode, speed, lock, DTR); the bytes are then read
from its descriptor directly, because its own `read` costs seven times as much
and, when the port hangs up, loses what it had gathered. There is no framing:
every byte is a sample. The driver cannot know what is at the other end, so its
kind is hardware and the claim is the owner's.

Options:
    path             the port, best /dev/serial/by-id/..., which survives re-plugging
    baud             speed, 50 to 12000000 (115200; USB devices ignore it)
    dtr              raise DTR while open (true); many devices send only then
    block_bytes      bytes a read, 1 to 65536 (512)
    read_timeout_ms  longest wait for a whole block, 100 to 1500 (1000)
    nominal_rate     bytes a second of a healthy device, 0 where not known (0)

Serial ports have no serial number of their own. The stand-in is the name under
/dev/serial/by-id that leads to the port, which udev makes from the USB serial
number, and the path itself where there is none.

Sources: pyserial 3.5 serialposix.py; euler357/TrueRNG (open, DTR on, flush, read).
"""

import contextlib
import errno
import os
import select
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import serial

from entropyd.entropy.source import SourceKind
from entropyd.errors import SourceAbsentError, SourceTimeoutError
from entropyd_drivers import permissions
from entropyd_drivers.options import Options

NAME = "serial"
KNOWN_OPTIONS = ("path", "baud", "dtr", "block_bytes", "read_timeout_ms", "nominal_rate")

BY_ID = Path("/dev/serial/by-id")
MAX_BAUD = 12_000_000
MAX_BLOCK_BYTES = 65_536


@dataclass(frozen=True)
class SerialSettings:
    """Which port, and how to read it. The module docstring names units and ranges."""

    path: str
    baud: int = 115_200
    dtr: bool = True
    block_bytes: int = 512
    read_timeout_ms: int = 1000
    nominal_rate: int = 0


class SerialDevice:
    """One open port. Used by one thread; thrown away after any fault but a timeout."""

    def __init__(self, port: serial.Serial, settings: SerialSettings) -> None:
        self.serial = _stand_in(settings.path)
        self._port = port
        self._settings = settings
        self._poll = select.poll()
        self._poll.register(port.fileno(), select.POLLIN)
        self._lost: str | None = None

    def read(self) -> bytes:
        """Return the next `block_bytes` samples; see `Device.read` for errors."""
        if self._lost is not None:
            raise SourceAbsentError(f"{self._lost}; open it again")
        wanted = self._settings.block_bytes
        deadline_s = time.monotonic() + self._settings.read_timeout_ms / 1000
        block = bytearray()
        while len(block) < wanted:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not self._poll.poll(left_s * 1000):
                raise SourceTimeoutError(
                    f"{self._settings.path}: {len(block)} of {wanted} bytes came in"
                    f" {self._settings.read_timeout_ms} ms; discarded"
                )
            block += self._available(wanted - len(block))
        return bytes(block)

    def close(self) -> None:
        """Let go of the port and its lock. Never raises."""
        if self._lost is None:
            self._lost = f"{self._settings.path} was closed"
        with contextlib.suppress(OSError):
            self._port.close()

    def _available(self, most: int) -> bytes:
        """Return what has come, at most `most` bytes.

        Raises:
            SourceAbsentError: the other end hung up: an end of file, or EIO.
        """
        try:
            came = os.read(self._port.fileno(), most)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._gone(error.strerror or str(error)) from error
        if not came:
            raise self._gone("it hung up")
        return came

    def _gone(self, complaint: str) -> SourceAbsentError:
        self._lost = f"{self._settings.path}: the device is gone ({complaint})"
        return SourceAbsentError(self._lost + "; plug it in again")


class SerialDriver:
    """Opens one serial port, again and again. See `Driver` for the attributes."""

    name = NAME
    kind = SourceKind.HARDWARE
    sample_bits = 8

    def __init__(self, settings: SerialSettings) -> None:
        self.read_period_s = settings.read_timeout_ms / 1000
        self.nominal_rate = settings.nominal_rate
        self._settings = settings

    def open(self) -> SerialDevice:
        """Open and lock the port, throwing away what it had buffered.

        Raises:
            SourceAbsentError: no such port, not permitted, locked by another
                process, or not a serial port; the text says which.
        """
        port = serial.Serial(
            baudrate=self._settings.baud, timeout=0, exclusive=True, write_timeout=0
        )
        # Before opening, so that pyserial sets the line as it opens and forgives
        # a pseudo-terminal, which has no lines.
        port.dtr = self._settings.dtr
        port.port = self._settings.path
        try:
            port.open()
        except (OSError, termios.error, ValueError) as error:
            raise _cannot_open(self._settings.path, error) from error
        return SerialDevice(port, self._settings)


def create(options: Mapping[str, object]) -> SerialDriver:
    """Return the driver for an options table; see the module docstring.

    Raises:
        ConfigError: `path` is missing, or an option is unknown or out of range.
    """
    table = Options(NAME, options, KNOWN_OPTIONS)
    path = table.text("path")
    if path is None:
        raise table.refuse("path", 'is missing; set path = "/dev/serial/by-id/..."')
    return SerialDriver(
        SerialSettings(
            path=path,
            baud=table.whole("baud", 115_200, low=50, high=MAX_BAUD),
            dtr=table.flag("dtr", default=True),
            block_bytes=table.whole("block_bytes", 512, low=1, high=MAX_BLOCK_BYTES),
            read_timeout_ms=table.whole("read_timeout_ms", 1000, low=100, high=1500),
            nominal_rate=table.whole("nominal_rate", 0, low=0, high=MAX_BAUD),
        )
    )


def _cannot_open(path: str, error: Exception) -> SourceAbsentError:
    code: object = error.args[0] if error.args else None
    if code == errno.EACCES:
        return SourceAbsentError(permissions.denied(path))
    meanings: dict[object, str] = {
        errno.ENOENT: "there is no such port; plug the device in, or correct option `path`",
        errno.EAGAIN: "another process has locked it; stop it (fuser -v shows which)",
        errno.EBUSY: "another process has it to itself; stop it (fuser -v shows which)",
    }
    return SourceAbsentError(f"{path}: " + meanings.get(code, f"not usable as a port: {error}"))


def _stand_in(path: str) -> str:
    """Return the by-id name that leads to `path`, or `path` itself."""
    given = Path(path)
    if given.parent == BY_ID:
        return given.name
    try:
        names = [each.name for each in sorted(BY_ID.iterdir()) if each.samefile(given)]
    except OSError:
        names = []
    return names[0] if names else path
