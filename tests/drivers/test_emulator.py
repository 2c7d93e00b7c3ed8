"""The emulated Quantis as pyusb sees it, without the driver: what real clients do to one."""

import array
import subprocess
import sys
import threading
import time

import pytest
import usb.core
import usb.util

from entropyd.entropy.source import SourceKind
from entropyd.errors import ConfigError, SourceProtocolError
from entropyd_drivers import emulated_descriptors, quantis_emulator
from entropyd_drivers.emulated_faults import describe
from entropyd_drivers.emulated_quantis import FIFO_BYTES
from entropyd_drivers.noise import SeededNoise
from entropyd_drivers.quantis_emulator import QuantisEmulator


@pytest.fixture
def emulator():
    return QuantisEmulator("A100", noise=SeededNoise(b"emulator"), rate=0)


@pytest.fixture
def device(emulator):
    found = usb.core.find(idVendor=0x0ABA, idProduct=0x0102, backend=emulator.backend)
    yield found
    usb.util.dispose_resources(found)


def get_descriptor(device, kind, index=0, length=254, language=0):
    return bytes(device.ctrl_transfer(0x80, 6, kind << 8 | index, language, length))


# --- descriptors and requests -------------------------------------------------


def test_identity(device):
    """What lsusb prints of a real one."""
    assert (
        device.bcdUSB,
        device.bDeviceClass,
        device.bDeviceSubClass,
        device.bDeviceProtocol,
        device.bMaxPacketSize0,
    ) == (0x0200, 0xFF, 0, 0, 64)
    assert device.bcdDevice == 0x0200
    assert (
        device.manufacturer,
        device.product,
        device.serial_number,
    ) == ("id Quantique", "Quantis USB", "A100")
    configuration = device[0]
    assert (
        configuration.bConfigurationValue,
        configuration.bmAttributes,
        configuration.bMaxPower,
    ) == (1, 0x80, 150)
    (endpoint,) = configuration[0, 0]
    assert (
        endpoint.bEndpointAddress,
        endpoint.bmAttributes,
        endpoint.wMaxPacketSize,
        endpoint.bInterval,
    ) == (0x86, 2, 512, 0)


@pytest.mark.parametrize("length", [8, 9, 18, 25, 254])
def test_descriptors_honour_the_length(device, length):
    """A host asks for the beginning first, then for all."""
    assert emulated_descriptors.DEVICE[:length] == get_descriptor(device, 1, length=length)
    assert emulated_descriptors.CONFIGURATION[:length] == get_descriptor(device, 2, length=length)
    assert emulated_descriptors.QUALIFIER[:length] == get_descriptor(device, 6, length=length)


def test_full_speed_has_small_packets():
    """On a USB 1.1 link the same descriptor says 64."""
    emulator = QuantisEmulator(full_speed=True, rate=0)
    device = usb.core.find(backend=emulator.backend)
    assert device[0][0, 0][0].wMaxPacketSize == 64
    assert len(device.read(0x86, 192)) == 192


@pytest.mark.parametrize(
    ("request_type", "request_number", "value", "index", "answer"),
    [
        (0x80, 0x08, 0, 0, b"\1"),
        (0x80, 0x00, 0, 0, b"\0\0"),
        (0x82, 0x00, 0, 0x86, b"\0\0"),
        (0x81, 0x0A, 0, 0, b"\0"),
        (0xC1, 0x13, 0, 0, b"\1"),
        (0xC1, 0x14, 0, 0, b"\1"),
        (0xC1, 0x15, 0, 0, b"\1"),
        (0xC1, 0x16, 0, 0, (4000).to_bytes(4, "little")),
        (0xC1, 0x17, 0, 0, b"\1"),
    ],
)
def test_requests_at_power_up(device, request_type, request_number, value, index, answer):
    """Configured by the host, enabled, functional, start-up tests due."""
    came = device.ctrl_transfer(request_type, request_number, value, index, 64)
    assert answer == bytes(came)


@pytest.mark.parametrize(
    ("request_type", "request_number", "value"),
    [(0xC1, 0x19, 0), (0x41, 0x10, 0), (0x80, 0x06, 0x0304), (0x80, 0x33, 0), (0x00, 0x09, 2)],
)
def test_unknown_requests_stall(device, request_type, request_number, value):
    """Whatever the device does not know is refused with EPIPE."""
    length = 4 if request_type & 0x80 else None
    with pytest.raises(usb.core.USBError, match="Pipe") as caught:
        device.ctrl_transfer(request_type, request_number, value, 0, length)
    assert caught.value.errno == 32


@pytest.mark.parametrize("form", [(0x41, None), (0xC1, 0)])
def test_disable_and_enable(device, form):
    """In the vendor's form and in qusb's: a disabled module is not functional and sends nothing."""
    request_type, length = form
    device.ctrl_transfer(request_type, 0x11, 0, 0, length)
    assert list(device.ctrl_transfer(0xC1, 0x13, 0, 0, 1)) == [0]
    with pytest.raises(usb.core.USBTimeoutError):
        device.read(0x86, 512, 30)
    device.ctrl_transfer(request_type, 0x12, 0, 0, length)
    assert list(device.ctrl_transfer(0xC1, 0x13, 0, 0, 1)) == [1]
    assert len(device.read(0x86, 512, 30)) == 512


def test_flag_is_cleared_and_comes_back_with_power(emulator, device):
    """The AIS-31 flag shows that the device lost power."""
    device.ctrl_transfer(0x41, 0x18)
    assert list(device.ctrl_transfer(0xC1, 0x17, 0, 0, 1)) == [0]
    emulator.unplug()
    emulator.plug()
    again = usb.core.find(backend=emulator.backend)
    assert list(again.ctrl_transfer(0xC1, 0x17, 0, 0, 1)) == [1]


# --- as other people's clients do ------------------------------------------------


def test_the_vendors_way_of_reading(device):
    """Configure always, claim, then status and one packet, over and over."""
    device.set_configuration(1)
    usb.util.claim_interface(device, 0)
    stream = b""
    for _ in range(10):
        assert device.ctrl_transfer(0xC1, 0x13, 0, 0, 1, 1000)[0] > 0
        stream += bytes(device.read(0x86, 512, 1000))
    assert SeededNoise(b"emulator").take(5120) == stream


def test_streaming_without_any_vendor_request(emulator, device):
    """nicosp/network-rng asks for nothing and reads 16 packets at a time, with no timeout."""
    usb.util.claim_interface(device, 0)
    assert len(device.read(0x86, 8192, 0)) == 8192
    assert sum(emulator.control_requests.values()) == 0


@pytest.mark.parametrize("size", [1, 511, 513, 1000])
def test_less_than_whole_packets_overflows(device, size):
    """F8: the vendor warns that a smaller request fails."""
    with pytest.raises(usb.core.USBError, match="Overflow") as caught:
        device.read(0x86, size)
    assert caught.value.errno == 75


def test_packets_that_are_too_long_overflow_where_their_sizes_sum_up_too(emulator, device):
    """F8: eight of 576 bytes are nine of 512, and babble all the same."""
    emulator.set_faults("F8")
    with pytest.raises(usb.core.USBError, match="Overflow"):
        device.read(0x86, 4608)


def test_halt_is_set_seen_and_cleared(device):
    """SET_FEATURE and CLEAR_FEATURE of the endpoint's halt."""
    device.ctrl_transfer(0x02, 0x03, 0, 0x86)
    assert list(device.ctrl_transfer(0x82, 0x00, 0, 0x86, 2)) == [1, 0]
    with pytest.raises(usb.core.USBError, match="Pipe"):
        device.read(0x86, 512)
    device.clear_halt(0x86)
    assert len(device.read(0x86, 512)) == 512


def test_setting_the_configuration_again_clears_a_halt(device):
    """The light reset that libusb warns of."""
    device.ctrl_transfer(0x02, 0x03, 0, 0x86)
    device.set_configuration(1)
    assert len(device.read(0x86, 512)) == 512


def test_unconfigured_device_sends_nothing(device):
    """Configuration 0 has no endpoint."""
    usb.util.claim_interface(device, 0)
    assert len(device.read(0x86, 512)) == 512
    device.ctrl_transfer(0x00, 0x09, 0, 0)
    with pytest.raises(usb.core.USBError, match="not found"):
        device.read(0x86, 512)


def test_unknown_endpoint(device):
    """There is one endpoint."""
    with pytest.raises(ValueError, match="0x81"):
        device.read(0x81, 512)


def test_old_handle_stays_dead(emulator, device):
    """After a replug the old handle answers ENODEV for ever; disposing of it works."""
    device.read(0x86, 512)
    emulator.unplug()
    emulator.plug()
    for action in (
        lambda: device.read(0x86, 512),
        lambda: device.clear_halt(0x86),
        lambda: device.ctrl_transfer(0xC1, 0x13, 0, 0, 1),
    ):
        with pytest.raises(usb.core.USBError) as caught:
            action()
        assert (caught.value.errno, caught.value.backend_error_code) == (19, -4)
    usb.util.dispose_resources(device)


def test_reset_keeps_the_device(emulator, device):
    """A port reset clears the halt and closes pyusb's handle; the device is found again."""
    device.ctrl_transfer(0x02, 0x03, 0, 0x86)
    device.reset()
    again = usb.core.find(backend=emulator.backend)
    assert len(again.read(0x86, 512)) == 512


# --- pace, accounting, determinism ------------------------------------------------


def test_nominal_rate():
    """Never above 500,000 bytes a second, and near it unless the machine is too busy to read."""
    emulator = QuantisEmulator()
    device = usb.core.find(backend=emulator.backend)
    device.read(0x86, 16384)
    began, size = time.monotonic(), 0
    while time.monotonic() - began < 1.0:
        size += len(device.read(0x86, 8192))
    share = (size - FIFO_BYTES) / (time.monotonic() - began) / 500_000
    assert 0.5 < share <= 1


def test_fifo_holds_no_more_than_its_depth():
    """What nobody reads is not saved up: after a pause, a FIFO full comes at once."""
    now_ns = 0
    emulator = QuantisEmulator(rate=500_000, fifo_bytes=2048, clock_ns=lambda: now_ns)
    device = usb.core.find(backend=emulator.backend)
    usb.util.claim_interface(device, 0)
    now_ns = 60 * 10**9
    assert len(device.read(0x86, 2048, 1)) == 2048
    assert emulator.bytes_sent == 2048


def test_same_seed_same_stream_and_fresh_ones_differ():
    """A seed makes a capture repeatable; without one, each emulator is another."""
    streams = [
        bytes(usb.core.find(backend=QuantisEmulator(noise=noise, rate=0).backend).read(0x86, 4096))
        for noise in (SeededNoise(b"s"), SeededNoise(b"s"), None, None)
    ]
    assert streams[0] == streams[1]
    assert len(set(streams)) == 3


def test_tape_holds_every_byte_sent(tmp_path):
    """Also what the host threw away: partial reads and reads cut off by an unplug."""
    control = tmp_path / "faults"
    driver = quantis_emulator.create(
        {
            "rate": 0,
            "seed": "5eed",
            "read_timeout_ms": 100,
            "tape": str(tmp_path / "tape"),
            "control": str(control),
        }
    )
    device = driver.open()
    blocks = [device.read(), device.read()]
    control.write_text("F5")
    with pytest.raises(Exception, match="4096 of 8192"):
        device.read()
    control.write_text("")
    blocks.append(device.read())
    device.close()
    tape = (tmp_path / "tape").read_bytes()
    assert SeededNoise(b"\x5e\xed").take(8192 * 3 + 4096) == tape
    assert blocks == [tape[:8192], tape[8192:16384], tape[16384 + 4096 :]]


def test_recording_is_played_once(tmp_path):
    """From the start, whole packets only, then silence, also after reopening."""
    recording = SeededNoise(b"recorded").take(3 * 1024 + 100)
    (tmp_path / "capture").write_bytes(recording)
    driver = quantis_emulator.create(
        {
            "recording": str(tmp_path / "capture"),
            "read_bytes": 1024,
            "rate": 0,
            "read_timeout_ms": 100,
        }
    )
    assert SourceKind.REPLAY is driver.kind
    device = driver.open()
    assert recording[:1024] == device.read()
    device.close()
    device = driver.open()
    assert recording[1024 : 3 * 1024] == device.read() + device.read()
    with pytest.raises(Exception, match="no answer in time"):
        device.read()
    device.close()


# --- control ---------------------------------------------------------------------


def test_control_file_from_another_process(tmp_path):
    """Somebody outside pulls the plug under a waiting read: noticed within 0.2 s."""
    control = tmp_path / "faults"
    control.write_text("F4\n")
    emulator = QuantisEmulator(rate=0, control=control)
    device = usb.core.find(backend=emulator.backend)
    write = "import pathlib, sys, time; time.sleep(0.2); pathlib.Path(sys.argv[1]).write_text('F9')"
    with subprocess.Popen([sys.executable, "-c", write, str(control)]) as writer:
        with pytest.raises(usb.core.USBError, match="No such device"):
            device.read(0x86, 512, 20_000)
        noticed = time.time()
        writer.wait()
    assert noticed - control.stat().st_mtime < 0.2
    assert list(usb.core.find(find_all=True, backend=emulator.backend)) == []
    control.unlink()
    assert len(list(usb.core.find(find_all=True, backend=emulator.backend))) == 1


def test_unknown_fault_in_the_control_file(tmp_path):
    """A typing error must not pass for health: every transfer says so until it is corrected."""
    control = tmp_path / "faults"
    emulator = QuantisEmulator(rate=0, control=control)
    device = usb.core.find(backend=emulator.backend)
    device.read(0x86, 512)
    control.write_text("F99")
    for _ in range(2):
        with pytest.raises(SourceProtocolError, match=r"unknown fault 'F99'; expected one of F1"):
            device.read(0x86, 512)
    control.write_text("F1:loud")
    with pytest.raises(SourceProtocolError, match="expected one of continue, nak, repeat"):
        device.read(0x86, 512)
    control.write_text("")
    assert len(device.read(0x86, 512)) == 512


def test_faults_combine(emulator, device):
    """Several faults are in force at once, and one that goes on does not begin again."""
    emulator.set_faults("F16:ones", "F6")
    with pytest.raises(usb.core.USBError, match="Pipe"):
        device.read(0x86, 512)
    device.clear_halt(0x86)
    emulator.set_faults("F6", "F16:ones", "F18")
    assert bytes(device.read(0x86, 512)) == b"\x31\x60" + b"\xff" * 510


def test_unknown_fault_changes_nothing(emulator, device):
    """All or nothing."""
    with pytest.raises(ValueError, match="unknown fault"):
        emulator.set_faults("F4", "F0")
    assert len(device.read(0x86, 512, 50)) == 512


def test_faults_are_described():
    """Each fault has a line of its own for the help."""
    assert all(f"F{number} " in describe() for number in (1, 3, 4, 5, 6, 9, 10, 16, 19))


def test_plugging_from_another_thread(emulator, device):
    """Unplugs without end while another thread reads: each read ends in data or ENODEV."""
    stop = threading.Event()

    def hand():
        while not stop.is_set():
            emulator.unplug()
            emulator.plug()

    thread = threading.Thread(target=hand)
    thread.start()
    codes, found = set(), None
    try:
        for _ in range(300):
            try:
                found = usb.core.find(backend=emulator.backend)
                if found is not None:
                    codes.add(len(found.read(0x86, 512, 100)))
            except usb.core.USBError as error:
                codes.add(error.errno)
            if found is not None:
                # pyusb's objects refer to each other; a claim would outlive this turn.
                usb.util.dispose_resources(found)
    finally:
        stop.set()
        thread.join()
    assert codes <= {512, 19}


# --- options -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"speed": 1}, "unknown option `speed`; expected one of `serial`"),
        ({"rate": -1}, "`rate` is -1; expected 0 to"),
        ({"seed": "xyz"}, "`seed` is not hexadecimal"),
        ({"recording": "/nonexistent/capture"}, "`recording` cannot be read"),
        ({"recording": "/dev/null", "seed": "00"}, "exclude each other"),
        ({"tape": "/nonexistent/tape"}, "`tape` cannot be written"),
        ({"read_bytes": 100}, "`read_bytes` is 100"),
    ],
)
def test_bad_options(options, text):
    """The option and what was expected are in the text."""
    with pytest.raises(ConfigError) as caught:
        quantis_emulator.create(options)
    assert text in str(caught.value)
    assert "quantis-emulator" in str(caught.value)


def test_pyusb_gets_plain_arrays(device):
    """A transfer fills the caller's buffer, as libusb does."""
    buffer = array.array("B", bytes(1024))
    assert device.read(0x86, buffer) == 1024
    assert SeededNoise(b"emulator").take(1024) == bytes(buffer)
