"""A driver that plays a script, and writes down what a reader must not do to it.

Each opening takes the next entry of the script: an error that it raises, or the
list of what the device's reads do. A read returns bytes, raises an error, or is
silent for a read period. What comes after the end of the script is silence.
"""

import threading
from collections.abc import Iterable, Mapping

from entropyd.entropy.source import Device, SourceKind
from entropyd.errors import SourceTimeoutError

SILENCE = None
Read = bytes | BaseException | None
Opening = BaseException | Iterable[Read]


class ScriptedDevice:
    """One open device of a script."""

    def __init__(self, driver: "ScriptedDriver", reads: Iterable[Read]) -> None:
        self.serial = driver.serial
        self.closed = False
        self._driver = driver
        self._reads = iter(reads)
        self._thread = threading.get_ident()

    def read(self) -> bytes:
        if self.closed:
            self._driver.sins.append("read after close")
        if self._thread != threading.get_ident():
            self._driver.sins.append("read by another thread than the one that opened")
        step = next(self._reads, SILENCE)
        if isinstance(step, bytes):
            return step
        if step is not SILENCE:
            raise step
        self._driver.silent.set()
        self._driver.unplugged.wait(self._driver.read_period_s)
        raise SourceTimeoutError(f"nothing came in {self._driver.read_period_s} s; is it plugged?")

    def close(self) -> None:
        self.closed = True


class ScriptedDriver:
    """Opens what the script says.

    Attributes:
        sins: what a reader did that the contract of devices forbids.
        silent: set when a device begins to be silent.
        unplugged: setting it ends every silence.
    """

    name = "scripted"
    kind = SourceKind.HARDWARE

    def __init__(
        self,
        *script: Opening,
        serial: str = "SCRIPT01",
        read_period_s: float = 20,
        sample_bits: int = 8,
    ) -> None:
        self.serial = serial
        self.read_period_s = read_period_s
        self.nominal_rate = 0
        self.sample_bits = sample_bits
        self.sins: list[str] = []
        self.silent = threading.Event()
        self.unplugged = threading.Event()
        self.devices: list[ScriptedDevice] = []
        self._script = iter(script)

    def open(self) -> Device:
        if not all(device.closed for device in self.devices):
            self.sins.append("opened while another device was open")
        step = next(self._script, ())
        if isinstance(step, BaseException):
            raise step
        device = ScriptedDevice(self, step)
        self.devices.append(device)
        return device


class SystemDriver(ScriptedDriver):
    """Says that it reads the operating system's generator."""

    name = "urandom"
    kind = SourceKind.OS


def create_system_driver(options: Mapping[str, object]) -> SystemDriver:
    return SystemDriver()
