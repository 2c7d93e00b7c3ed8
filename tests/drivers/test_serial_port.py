"""The serial driver on pseudo-terminals: the contract, and what a tty does besides."""

import errno
import fcntl
import os
import termios
import threading

import pytest
import serial

from entropyd.entropy.source import SourceKind
from entropyd.errors import ConfigError, SourceAbsentError, SourceTimeoutError
from entropyd_drivers import serial_port
from entropyd_drivers.noise import SeededNoise
from tests.drivers.contract import LossContract, Rig
from tests.drivers.pseudo_terminal import SEED, Line, Sender


class SerialRig(Rig):
    def __init__(self, link):
        self._line = Line(link)
        self._sender = None
        self.driver = serial_port.create({"path": str(link), "read_timeout_ms": 100})

    def flow(self):
        self._hush()
        self._sender = Sender(self._line)

    def _hush(self):
        if self._sender is not None:
            self._sender.stop()
            self._sender = None

    def sent(self, size):
        return SeededNoise(SEED).take(size)

    def silence(self):
        self._hush()
        # What is on its way may still come; drain it as a pulled cable would not.
        termios.tcflush(self._line.master, termios.TCIOFLUSH)
        with_slave = os.open(self._line.link, os.O_RDWR | os.O_NOCTTY)
        termios.tcflush(with_slave, termios.TCIFLUSH)
        os.close(with_slave)

    def remove(self):
        self._hush()
        self._line.unplug()

    def restore(self):
        self._line.plug()

    def end(self):
        self._hush()


class TestSerial(LossContract):
    @pytest.fixture
    def rig(self, tmp_path):
        rig = SerialRig(tmp_path / "ttyTRNG")
        yield rig
        rig.end()

    def test_kind(self, rig):
        """What is at the other end cannot be known."""
        assert SourceKind.HARDWARE is rig.driver.kind


@pytest.fixture
def line(tmp_path):
    return Line(tmp_path / "ttyTRNG")


def open_line(line, **options):
    options.setdefault("read_timeout_ms", 100)
    return serial_port.create({"path": str(line.link), **options}).open()


def test_every_byte_value_passes_unchanged(line):
    """Raw: no byte is a line end, a signal or a flow-control character."""
    device = open_line(line, block_bytes=256)
    line.send(bytes(range(256)))
    assert bytes(range(256)) == device.read()
    device.close()


def test_partial_block_is_discarded(line):
    """What came of a block that timed out is never handed on later."""
    device = open_line(line, block_bytes=16)
    line.send(b"x" * 15)
    with pytest.raises(SourceTimeoutError, match="15 of 16 bytes came in 100 ms; discarded"):
        device.read()
    line.send(b"y" * 16)
    assert device.read() == b"y" * 16
    device.close()


def test_block_is_gathered_from_pieces(line):
    """A block may come in any number of pieces within its time."""
    device = open_line(line, block_bytes=8, read_timeout_ms=1000)
    sender = threading.Thread(target=lambda: [line.send(bytes([i])) for i in range(8)])
    sender.start()
    assert bytes(range(8)) == device.read()
    sender.join()
    device.close()


def test_stale_input_is_thrown_away(line):
    """What a port gathered before it was opened is of unknown age."""
    slave = os.open(line.link, os.O_RDWR | os.O_NOCTTY)
    line.send(b"stale" * 10)
    device = open_line(line, block_bytes=5)
    line.send(b"fresh")
    assert device.read() == b"fresh"
    device.close()
    os.close(slave)


@pytest.mark.parametrize("baud", [300, 115_200, 1_000_000])
def test_speed_is_set(line, baud):
    """The other end of a pseudo-terminal sees the speed."""
    device = open_line(line, baud=baud)
    speed = termios.tcgetattr(line.master)[4]
    assert getattr(termios, f"B{baud}") == speed
    device.close()


def test_second_opener_is_told(line):
    """The port is locked while open, and free afterwards."""
    device = open_line(line)
    with pytest.raises(SourceAbsentError, match="another process has locked it"):
        open_line(line)
    device.close()
    open_line(line).close()


def test_hang_up_amid_a_read(line):
    """Noticed at once, not after the timeout."""
    device = open_line(line, read_timeout_ms=1500)
    threading.Timer(0.1, os.close, (line.master,)).start()
    with pytest.raises(SourceAbsentError, match="is gone"):
        device.read()
    device.close()


@pytest.mark.parametrize("dtr", [True, False])
def test_dtr_is_set_as_the_port_opens(line, monkeypatch, dtr):
    """A pseudo-terminal has no DTR and is forgiven; the line state asked for is the configured."""
    asked = []

    def no_lines(port):
        asked.append(port.dtr)
        raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")

    monkeypatch.setattr(serial.Serial, "_update_dtr_state", no_lines)
    open_line(line, dtr=dtr).close()
    assert [dtr] == asked


def test_no_such_port(tmp_path):
    """The text names the path and the option."""
    driver = serial_port.create({"path": str(tmp_path / "none")})
    with pytest.raises(SourceAbsentError, match="no such port; plug the device in, or correct"):
        driver.open()


def test_something_that_is_no_port(tmp_path):
    """A regular file is absent as a port, with the system's reason."""
    (tmp_path / "file").write_bytes(b"")
    driver = serial_port.create({"path": str(tmp_path / "file")})
    with pytest.raises(SourceAbsentError, match="not usable as a port"):
        driver.open()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EACCES, "60-entropyd.rules"),
        (errno.EBUSY, "to itself"),
        (errno.EIO, "not usable as a port"),
    ],
)
def test_errors_of_opening(line, monkeypatch, number, text):
    """Each errno becomes absence with a remedy."""

    def refuse(_port):
        raise serial.SerialException(number, os.strerror(number))

    monkeypatch.setattr(serial.Serial, "open", refuse)
    with pytest.raises(SourceAbsentError, match=text):
        open_line(line)


def test_terminal_error_while_opening(line, monkeypatch):
    """termios.error is no OSError; it does not leave the driver either."""

    def refuse(_port):
        raise termios.error(errno.EIO, "Input/output error")

    monkeypatch.setattr(serial.Serial, "open", refuse)
    with pytest.raises(SourceAbsentError, match="Input/output error"):
        open_line(line)


def test_serial_number_is_the_name_by_id(line, tmp_path, monkeypatch):
    """Udev's name for the port stands in for the serial number, whichever path is configured."""
    by_id = tmp_path / "by-id"
    by_id.mkdir()
    (by_id / "usb-ubld.it_TrueRNG-if00").symlink_to(line.link)
    monkeypatch.setattr(serial_port, "BY_ID", by_id)
    device = open_line(line)
    assert device.serial == "usb-ubld.it_TrueRNG-if00"
    device.close()
    driver = serial_port.create({"path": str(by_id / "usb-ubld.it_TrueRNG-if00")})
    device = driver.open()
    assert device.serial == "usb-ubld.it_TrueRNG-if00"
    device.close()


def test_serial_number_without_udev(line, tmp_path, monkeypatch):
    """The path stands in where there is no such name."""
    monkeypatch.setattr(serial_port, "BY_ID", tmp_path / "none")
    device = open_line(line)
    assert str(line.link) == device.serial
    device.close()


def test_lock_goes_with_the_device(line):
    """After closing, anybody may lock the port."""
    open_line(line).close()
    descriptor = os.open(line.link, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "`path` is missing; set path ="),
        ({"path": "/dev/tty S0"}, "without spaces"),
        ({"path": "/dev/ttyS0", "baud": 0}, "`baud` is 0; expected 50 to"),
        ({"path": "/dev/ttyS0", "dtr": 1}, "`dtr` is 1; expected true or false"),
        ({"path": "/dev/ttyS0", "block_bytes": 0}, "`block_bytes` is 0"),
        ({"path": "/dev/ttyS0", "parity": "even"}, "unknown option `parity`"),
    ],
)
def test_bad_options(options, text):
    """The option, its value and what was expected are in the text."""
    with pytest.raises(ConfigError) as caught:
        serial_port.create(options)
    assert text in str(caught.value)
