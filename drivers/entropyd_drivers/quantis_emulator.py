"""quantis-emulator: the quantis-usb driver, on a bus with one emulated Quantis.

The driver code is the same to the last line; only the pyusb backend below it
is another. The daemon knows that the device is not there, so the source is
`mock` (`replay` with a recording), whatever else the configuration says.

Options, beside those of quantis-usb:
    serial     serial number of the emulated device (EMULATED01)
    rate       bytes a second, 0 for as fast as it is read (500000)
    seed       hexadecimal; fresh from the operating system where absent
    recording  path: play this file once, from the start, then fall silent
    tape       path: append every byte sent in answer to bulk reads
    control    path: the faults in force, one a line, read again as it changes

The control file names faults of `emulated_faults` (`F9`, `F1:nak`); blank
lines and lines that begin with # are skipped; absent or empty means healthy.
Replace it by renaming: a file half written is read as it stands.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from entropyd.entropy.source import SourceKind
from entropyd.errors import SourceProtocolError
from entropyd_drivers.emulated_backend import EmulatedBackend
from entropyd_drivers.emulated_quantis import FIFO_BYTES, EmulatedQuantis
from entropyd_drivers.noise import Noise, RecordedNoise, SeededNoise
from entropyd_drivers.options import Options
from entropyd_drivers.quantis_settings import KNOWN_OPTIONS as QUANTIS_OPTIONS
from entropyd_drivers.quantis_settings import QuantisSettings
from entropyd_drivers.quantis_usb import QuantisDriver

NAME = "quantis-emulator"
KNOWN_OPTIONS = (*QUANTIS_OPTIONS, "rate", "seed", "recording", "tape", "control")

DEFAULT_SERIAL = "EMULATED01"
# 4 Mbit/s, the nominal rate of a USB-4M.
DEFAULT_RATE = 500_000
MAX_RATE = 100_000_000


class ControlFile:
    """The faults that somebody outside wants to see, in a small text file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text: str | None = ""

    def changed(self) -> list[str] | None:
        """Return the faults now in force if the file changed since the last call.

        The file is read each time: a change within one tick of the file
        system's clock and of the same length would not show otherwise.

        Raises:
            SourceProtocolError: it is there but cannot be read.
        """
        try:
            text = self._path.read_text("utf-8", errors="replace")
        except FileNotFoundError:
            text = ""
        except OSError as error:
            raise SourceProtocolError(f"control file of the emulator: {error}") from error
        if text == self._text:
            return None
        self._text = text
        lines = (line.strip() for line in text.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    def forget(self) -> None:
        """Let what the file says count as a change again: nobody could obey it."""
        self._text = None


class QuantisEmulator(EmulatedQuantis):
    """An emulated Quantis with a bus of its own.

    Attributes:
        backend: the pyusb backend whose only device it is.
    """

    def __init__(
        self,
        serial: str = DEFAULT_SERIAL,
        *,
        noise: Noise | None = None,
        rate: int = DEFAULT_RATE,
        fifo_bytes: int = FIFO_BYTES,
        full_speed: bool = False,
        tape: BinaryIO | None = None,
        control: Path | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Make the device and plug it in.

        Args:
            serial: its serial number.
            noise: what it sends; from a fresh seed where absent.
            rate: bytes a second, 0 for as fast as it is read.
            fifo_bytes: what it holds while nobody reads.
            full_speed: on a USB 1.1 link, with packets of 64 bytes.
            tape: gets every byte sent in answer to a bulk read.
            control: control file.
            clock_ns: monotonic time.
        """
        self._control = None if control is None else ControlFile(control)
        super().__init__(
            serial,
            noise or SeededNoise(),
            rate=rate,
            fifo_bytes=fifo_bytes,
            full_speed=full_speed,
            tape=tape,
            clock_ns=clock_ns,
            look=self._obey,
        )
        self.backend = EmulatedBackend([self])

    def _obey(self) -> None:
        """Put the faults of the control file in force.

        Raises:
            SourceProtocolError: it names a fault that there is not. A typing
                error must not pass for health.
        """
        if self._control is None:
            return
        specs = self._control.changed()
        if specs is None:
            return
        try:
            self.set_faults(*specs)
        except ValueError as error:
            self._control.forget()
            raise SourceProtocolError(f"control file of the emulator: {error}") from error


def create(options: Mapping[str, object]) -> QuantisDriver:
    """Return the driver for an options table; see the module docstring.

    Raises:
        ConfigError: an option is unknown or wrong, or a file cannot be opened.
    """
    return _create(Options(NAME, options, KNOWN_OPTIONS))


def _create(options: Options) -> QuantisDriver:
    settings = QuantisSettings.from_options(options)
    control = options.text("control")
    rate = options.whole("rate", DEFAULT_RATE, low=0, high=MAX_RATE)
    emulator = QuantisEmulator(
        settings.serial or DEFAULT_SERIAL,
        noise=_noise(options),
        rate=rate,
        tape=_tape(options),
        control=None if control is None else Path(control),
    )
    is_replay = options.text("recording") is not None
    return QuantisDriver(
        settings,
        backend=lambda: emulator.backend,
        name=NAME,
        kind=SourceKind.REPLAY if is_replay else SourceKind.MOCK,
        nominal_rate=rate,
    )


def _noise(options: Options) -> Noise:
    seed = options.hexadecimal("seed")
    recording = options.text("recording")
    if recording is None:
        return SeededNoise(seed)
    if seed is not None:
        raise options.refuse("seed", "and `recording` exclude each other; leave one of them out")
    try:
        return RecordedNoise(Path(recording))
    except OSError as error:
        raise options.refuse("recording", f"cannot be read: {error}") from error


def _tape(options: Options) -> BinaryIO | None:
    path = options.text("tape")
    if path is None:
        return None
    try:
        # Unbuffered: what was sent must be on the tape when the process is killed.
        return Path(path).open("ab", buffering=0)
    except OSError as error:
        raise options.refuse("tape", f"cannot be written: {error}") from error
