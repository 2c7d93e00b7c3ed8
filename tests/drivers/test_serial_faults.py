"""Every fault that a serial port with raw bytes can have, and what the driver makes of it."""

import errno
import fcntl
import os

import pytest
import serial

from entropyd.errors import SourceAbsentError, SourceError
from entropyd_drivers import serial_port
from entropyd_drivers.emulated_stream_faults import Bias, StatusBytes, StuckStream
from tests.drivers.expected import DELIVERED, SERIAL
from tests.drivers.pseudo_terminal import Line, Sender

BLOCK = 64
# A pseudo-terminal holds 4 KiB, and the kernel some more on the way: these blocks may be good ones.
BUFFERED_READS = 65_536 // BLOCK


def as_text(data):
    """The supply voltage in millivolts, a line each, as a TrueRNG Pro at 1,200 baud tells it."""
    return b"".join(b"%d\r\n" % (8900 + byte % 50) for byte in data[: len(data) // 6])


def as_samples(data):
    """Frames of four bytes whose top bits count, as a TrueRNG Pro at 19,200 baud sends."""
    return bytes(index % 4 << 6 | byte & 0x3F for index, byte in enumerate(data))


ALTERED = {
    "F16:zeros": StuckStream("zeros").alters,
    "F16:lag": StuckStream("lag").alters,
    "F17:small": Bias("small").alters,
    "F17:large": Bias("large").alters,
    "F18": StatusBytes("").alters,
    "F21:text": as_text,
    "F21:samples": as_samples,
}
# Who else holds the port, or may not open it, shows while opening only.
OPENING_ONLY = {"F10", "F11"}
HUNG_UP = {"F9:idle", "F9:read", "F21:hangup"}


class Port:
    """A serial device in the test's hands."""

    def __init__(self, link, monkeypatch):
        self.line = Line(link)
        self.driver = serial_port.create(
            {"path": str(link), "read_timeout_ms": 100, "block_bytes": BLOCK}
        )
        self._monkeypatch = monkeypatch
        self._sender = None
        self._locked = None

    def flow(self, alter=bytes, pause_s=0.0):
        self.hush()
        self._sender = Sender(self.line, alter, pause_s)

    def hush(self):
        if self._sender is not None:
            self._sender.stop()
            self._sender = None

    def begin(self, name):
        """Let the fault begin."""
        if name in ALTERED:
            self.flow(ALTERED[name])
        elif name == "F19:drop":
            self.flow(lambda data: data[:1], pause_s=0.01)
        elif name == "F10":
            self._lock()
        elif name == "F11":
            self._deny()
        else:
            self.hush()
        if name in HUNG_UP:
            self.line.unplug()
        if name == "F5":
            self.line.send(bytes(BLOCK // 2))

    def _lock(self):
        self._locked = os.open(self.line.link, os.O_RDWR | os.O_NOCTTY)
        fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _deny(self):
        def refuse(_port):
            raise serial.SerialException(errno.EACCES, os.strerror(errno.EACCES))

        self._monkeypatch.setattr(serial.Serial, "open", refuse)

    def end(self):
        self.hush()
        if self._locked is not None:
            os.close(self._locked)


@pytest.fixture
def port(tmp_path, monkeypatch):
    port = Port(tmp_path / "ttyTRNG", monkeypatch)
    yield port
    port.end()


def read_on(device):
    """Read what was on its way, and what comes after it: the class of the error, or None."""
    try:
        for _ in range(BUFFERED_READS):
            device.read()
    except SourceError as error:
        return type(error)
    return DELIVERED


@pytest.mark.parametrize("name", sorted(set(SERIAL) - OPENING_ONLY))
def test_fault_while_open(port, name):
    """The fault begins between two reads."""
    device = port.driver.open()
    port.flow()
    device.read()
    port.begin(name)
    assert SERIAL[name][0] is read_on(device)
    device.close()


@pytest.mark.parametrize("name", sorted(OPENING_ONLY))
def test_an_open_port_stays_ours(port, name):
    """We hold its lock: whoever comes later is refused, and reads go on."""
    device = port.driver.open()
    if name == "F10":
        with pytest.raises(BlockingIOError):
            port.begin(name)
    else:
        port.begin(name)
    port.flow()
    assert SERIAL[name][0] is read_on(device)
    device.close()


@pytest.mark.parametrize("name", sorted(SERIAL))
def test_fault_while_opening(port, name):
    """The fault is there before the port is opened."""
    port.begin(name)
    outcome: type[SourceError] | None = DELIVERED
    try:
        port.driver.open().close()
    except SourceError as error:
        outcome = type(error)
    assert SERIAL[name][1] is outcome


def test_a_device_that_waits_for_dtr_is_silent_without_it(tmp_path, monkeypatch):
    """F21: with `dtr = false` such a device times out; with the default it sends.

    A pseudo-terminal has no DTR: what the driver asks of the line is what the far end obeys.
    """
    line = Line(tmp_path / "ttyACM0")
    asked = []
    monkeypatch.setattr(serial.Serial, "_update_dtr_state", lambda port: asked.append(port.dtr))
    for dtr in (False, True):
        device = serial_port.create(
            {"path": str(line.link), "read_timeout_ms": 100, "block_bytes": BLOCK, "dtr": dtr}
        ).open()
        sender = Sender(line) if asked[-1] else None
        outcome = read_on(device)
        if sender is not None:
            sender.stop()
        assert (DELIVERED if dtr else SERIAL["F21:dtr"][0]) is outcome
        device.close()


def test_a_port_that_hung_up_is_opened_again_when_it_is_back(port):
    """F21: the old device is dead for good; a new opening reads."""
    device = port.driver.open()
    port.begin("F21:hangup")
    assert SourceAbsentError is read_on(device)
    device.close()
    port.line.plug()
    device = port.driver.open()
    port.flow()
    assert BLOCK == len(device.read())
    port.hush()
    device.close()
