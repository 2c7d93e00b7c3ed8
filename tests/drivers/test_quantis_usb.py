"""quantis-usb against an emulated device: the open sequence, finding, blocks, status."""

import time

import libusb_package
import pytest
import usb.backend.libusb1
import usb.core

from entropyd.errors import (
    ConfigError,
    SourceAbsentError,
    SourceProtocolError,
    SourceTimeoutError,
)
from entropyd_drivers import quantis_usb, usb_bus
from entropyd_drivers.emulated_backend import EmulatedBackend
from entropyd_drivers.emulated_wire import Condition, as_pyusb
from entropyd_drivers.quantis_emulator import QuantisEmulator
from entropyd_drivers.quantis_settings import QuantisSettings
from entropyd_drivers.quantis_usb import QuantisDriver


class WatchedBackend(EmulatedBackend):
    """Keeps what was called, and refuses what it is told to refuse."""

    def __init__(self, units):
        super().__init__(units)
        self.calls = []
        self.open_handles = 0
        self.refusals = {}

    def _note(self, name, *arguments):
        self.calls.append((name, *arguments))
        if name in self.refusals:
            raise as_pyusb(self.refusals[name])

    def enumerate_devices(self):
        self._note("enumerate_devices")
        return super().enumerate_devices()

    def open_device(self, dev):
        self._note("open_device")
        handle = super().open_device(dev)
        self.open_handles += 1
        return handle

    def close_device(self, dev_handle):
        self.open_handles -= 1
        super().close_device(dev_handle)

    def set_configuration(self, dev_handle, config_value):
        self._note("set_configuration", config_value)
        super().set_configuration(dev_handle, config_value)

    def claim_interface(self, dev_handle, intf):
        self._note("claim_interface", intf)
        super().claim_interface(dev_handle, intf)

    def release_interface(self, dev_handle, intf):
        self._note("release_interface", intf)
        super().release_interface(dev_handle, intf)

    def ctrl_transfer(self, dev_handle, *arguments):
        request_type, request, value, index, data, timeout = arguments
        self._note("ctrl_transfer", request_type, request, value, index, len(data), timeout)
        return super().ctrl_transfer(dev_handle, *arguments)

    def bulk_read(self, dev_handle, ep, intf, buff, timeout):
        self._note("bulk_read", ep, intf, len(buff), timeout)
        return super().bulk_read(dev_handle, ep, intf, buff, timeout)

    def clear_halt(self, dev_handle, ep):
        self._note("clear_halt", ep)
        super().clear_halt(dev_handle, ep)

    def named(self, name):
        return [call[1:] for call in self.calls if call[0] == name]


@pytest.fixture
def emulator():
    return QuantisEmulator("A100", rate=0)


@pytest.fixture
def backend(emulator):
    return WatchedBackend([emulator])


@pytest.fixture(autouse=True)
def found(monkeypatch):
    """Keep every pyusb device that was found: letting go must not be left to its finaliser."""
    kept = []
    find = usb.core.find

    def find_and_keep(**arguments):
        devices = list(find(**arguments))
        kept.extend(devices)
        return devices

    monkeypatch.setattr(usb.core, "find", find_and_keep)
    return kept


def driver_for(backend, **settings):
    settings.setdefault("read_timeout_ms", 100)
    return QuantisDriver(QuantisSettings(**settings), backend=lambda: backend)


# --- opening ------------------------------------------------------------------


def test_open_leaves_an_active_configuration_alone(backend):
    """Setting what is set already would be a light reset of the device."""
    driver_for(backend).open().close()
    assert backend.named("set_configuration") == []
    assert backend.named("claim_interface") == [(0,)]
    assert backend.named("release_interface") == [(0,)]


def test_open_configures_a_device_that_is_not(backend, emulator):
    """A device without a configuration gets number 1, before the claim."""
    backend.get_configuration = lambda _handle: 0
    driver_for(backend).open().close()
    assert backend.named("set_configuration") == [(1,)]
    names = [call[0] for call in backend.calls]
    assert names.index("set_configuration") < names.index("claim_interface")


def test_open_asks_what_the_vendor_asks(backend):
    """Each vendor request has the vendor's type, number and length, and a finite timeout."""
    device = driver_for(backend).open()
    vendor = [call for call in backend.named("ctrl_transfer") if call[0] in {0xC1, 0x41}]
    assert all(0 < call[5] <= 1000 and call[2:4] == (0, 0) for call in vendor)
    assert {
        (0xC1, 0x10, 4),
        (0xC1, 0x13, 1),
        (0xC1, 0x14, 1),
        (0xC1, 0x15, 1),
        (0xC1, 0x16, 4),
        (0xC1, 0x17, 1),
        (0x41, 0x18, 0),
    } == {(call[0], call[1], call[4]) for call in vendor}
    assert device.rate_bytes_per_s == 500_000
    assert device.serial == "A100"
    device.close()


def test_open_enables_a_module_left_disabled(backend, emulator):
    """A module that another program switched off is switched on, once."""
    emulator._state.is_enabled = False
    driver_for(backend).open().close()
    assert emulator.control_requests[0x12] == 1


def test_configuration_changed_before_the_claim(backend, emulator):
    """The device's own word on its configuration is asked after the claim."""
    emulator._state.configuration = 0
    backend.get_configuration = lambda _handle: 1
    with pytest.raises(SourceProtocolError, match="configuration 0; expected 1"):
        driver_for(backend).open()


@pytest.mark.parametrize(
    ("method", "field", "value"),
    [
        ("get_device_descriptor", "bNumConfigurations", 2),
        ("get_endpoint_descriptor", "bEndpointAddress", 0x81),
        ("get_endpoint_descriptor", "bmAttributes", 3),
        ("get_endpoint_descriptor", "wMaxPacketSize", 1024),
    ],
)
def test_open_refuses_another_build(backend, method, field, value):
    """A device that is not built as every known Quantis USB is refused and let go."""
    original = getattr(backend, method)

    def changed(*arguments):
        descriptor = original(*arguments)
        setattr(descriptor, field, value)
        return descriptor

    setattr(backend, method, changed)
    with pytest.raises(SourceProtocolError, match=r"expected (one of each|bulk)"):
        driver_for(backend).open()
    assert backend.open_handles == 0


# --- finding ------------------------------------------------------------------


def test_found_by_serial_number_among_several():
    """The configured one is opened; the others are let go."""
    units = [QuantisEmulator(serial, rate=0) for serial in ("A1", "A2", "A3")]
    backend = WatchedBackend(units)
    device = driver_for(backend, serial="A2").open()
    assert device.serial == "A2"
    assert backend.open_handles == 1
    device.close()
    assert backend.open_handles == 0


def test_several_and_none_configured():
    """The serial numbers found are named, with the option to set."""
    backend = WatchedBackend([QuantisEmulator(serial, rate=0) for serial in ("A1", "A2")])
    with pytest.raises(SourceAbsentError, match=r"A1; A2; set option `serial`"):
        driver_for(backend).open()
    assert backend.open_handles == 0


def test_another_serial_number_than_configured(backend):
    """The text names what is there."""
    with pytest.raises(SourceAbsentError, match="serial number B7 found, but A100"):
        driver_for(backend, serial="B7").open()
    assert backend.open_handles == 0


def test_two_devices_with_one_serial_number():
    """Unprogrammed devices share a number; which one is meant cannot be known."""
    backend = WatchedBackend([QuantisEmulator("FFFFFFFFFF", rate=0) for _ in range(2)])
    with pytest.raises(SourceAbsentError, match="2 devices call themselves FFFFFFFFFF"):
        driver_for(backend, serial="FFFFFFFFFF").open()


def test_unreadable_serial_number_hides_no_other_device():
    """One device whose strings fail does not keep the configured one from being found."""
    broken, wanted = QuantisEmulator("A1", rate=0), QuantisEmulator("A2", rate=0)
    broken.set_faults("F11:strings")
    device = driver_for(WatchedBackend([broken, wanted]), serial="A2").open()
    assert device.serial == "A2"
    device.close()


def test_unreadable_serial_number_of_the_only_device(backend, emulator):
    """Without a configured number it is opened under the name of its port."""
    emulator.set_faults("F11:strings")
    device = driver_for(backend).open()
    assert device.serial == "usb-1-1"
    device.close()


def test_unreadable_serial_number_of_the_configured_device(backend, emulator):
    """The reason why it cannot be recognised is in the text."""
    emulator.set_faults("F11:strings")
    with pytest.raises(SourceAbsentError, match="no langid"):
        driver_for(backend, serial="A100").open()


def test_serial_number_that_is_no_id(backend):
    """A number that could not travel in a receipt is replaced by the port's name."""
    odd = WatchedBackend([QuantisEmulator("A 1\u00e9", rate=0)])
    device = driver_for(odd).open()
    assert device.serial == "usb-1-1"
    device.close()


def test_replugged_device_has_another_address(backend, emulator):
    """It is found by its serial number wherever it is."""
    driver = driver_for(backend, serial="A100")
    driver.open().close()
    address = emulator.address
    emulator.unplug()
    emulator.plug()
    assert address != emulator.address
    device = driver.open()
    assert len(device.read()) == 8192
    device.close()


def test_permission_denied(backend, emulator):
    """The text names the node, who we are and the udev rule."""
    emulator.set_faults("F11:open")
    with pytest.raises(SourceAbsentError) as caught:
        driver_for(backend, serial="A100").open()
    assert f"/dev/bus/usb/001/{emulator.address:03d}" in str(caught.value)
    assert "60-entropyd.rules" in str(caught.value)
    assert "group entropyd" in str(caught.value)


def test_second_reader_of_one_device(backend):
    """The interface is exclusive: the second is told, and gets it after the first."""
    first, second = driver_for(backend), driver_for(backend)
    device = first.open()
    with pytest.raises(SourceAbsentError, match="another process owns"):
        second.open()
    device.read()
    device.close()
    second.open().close()
    assert backend.open_handles == 0


# --- reading ------------------------------------------------------------------


def test_every_read_is_finite_and_whole_packets(backend):
    """Reads name the endpoint, the configured size and timeout, and nothing else."""
    device = driver_for(backend, read_bytes=1536, read_timeout_ms=777).open()
    for _ in range(5):
        assert len(device.read()) == 1536
    assert {(0x86, 0, 1536, 777)} == set(backend.named("bulk_read"))
    device.close()


@pytest.mark.parametrize("every", [1, 3, 10])
def test_status_is_asked_every_so_many_reads(backend, emulator, every):
    """The status question comes after each `status_every_reads` reads."""
    device = driver_for(backend, status_every_reads=every).open()
    before = emulator.control_requests[0x13]
    for _ in range(30):
        device.read()
    assert 30 // every == emulator.control_requests[0x13] - before
    device.close()


def test_block_of_a_failed_module_is_not_handed_on(backend, emulator):
    """A module that fails during a read takes that block with it."""
    device = driver_for(backend).open()
    original = backend.bulk_read

    def failing(*arguments):
        came = original(*arguments)
        emulator.set_faults("F1")
        return came

    backend.bulk_read = failing
    with pytest.raises(SourceProtocolError, match="module not functional"):
        device.read()
    device.close()


def test_stall_is_cleared_but_not_retried(backend, emulator):
    """The halt is cleared for whoever opens next; the read itself has failed."""
    device = driver_for(backend).open()
    emulator.set_faults("F6")
    with pytest.raises(SourceProtocolError, match="STALL"):
        device.read()
    assert len(backend.named("bulk_read")) == 1
    assert backend.named("clear_halt") == [(0x86,)]
    device.close()
    reopened = driver_for(backend).open()
    assert len(reopened.read()) == 8192
    reopened.close()


@pytest.mark.parametrize(
    ("came", "pause_s", "expected"),
    [
        (0, 0, SourceProtocolError),
        (448, 0, SourceProtocolError),
        (1024, 0, SourceProtocolError),
        (448, 0.12, SourceProtocolError),
        (1024, 0.12, SourceTimeoutError),
    ],
)
def test_short_packet_and_timeout_are_told_apart(backend, came, pause_s, expected):
    """Early, or part of a packet: a short packet. Whole packets after the timeout: a timeout."""
    device = driver_for(backend).open()

    def short(*_):
        time.sleep(pause_s)
        return came

    backend.bulk_read = short
    with pytest.raises(expected, match=f"{came} of 8192 bytes came"):
        device.read()
    device.close()


def test_gone_is_gone_for_good(backend):
    """After ENODEV the bus is not asked again, whatever it would answer now."""
    device = driver_for(backend).open()
    backend.refusals["bulk_read"] = Condition.GONE
    with pytest.raises(SourceAbsentError, match="the device is gone"):
        device.read()
    backend.refusals.clear()
    calls = len(backend.calls)
    with pytest.raises(SourceAbsentError, match="open it again"):
        device.read()
    assert calls == len(backend.calls)
    device.close()
    assert backend.open_handles == 0


def test_old_firmware_without_the_flag(backend, emulator):
    """A stalled AIS-31 request means unsupported, and is not asked again."""
    emulator.set_faults("F12:flag")
    device = driver_for(backend).open()
    asked = emulator.control_requests[0x17]
    device.read()
    assert asked == emulator.control_requests[0x17] == 1
    device.close()


def test_flag_that_cannot_be_cleared_tells_nothing(backend, emulator):
    """Firmware that keeps the flag set must not send us round in circles."""
    device = None
    original = emulator._state.answer

    def keeping(setup):
        answer = original(setup)
        emulator._state.start_up_tests_due = True
        return answer

    emulator._state.answer = keeping
    device = driver_for(backend).open()
    assert len(device.read()) == 8192
    device.close()


# --- errors of libusb ---------------------------------------------------------

OPENING = ["enumerate_devices", "open_device", "claim_interface"]


@pytest.mark.parametrize("step", OPENING)
@pytest.mark.parametrize("condition", list(Condition))
def test_every_error_while_opening(backend, condition, step):
    """Whatever libusb says while opening, the reader gets a SourceError with its cause."""
    backend.refusals[step] = condition
    with pytest.raises((SourceAbsentError, SourceProtocolError, SourceTimeoutError)) as caught:
        driver_for(backend).open()
    assert caught.value.__cause__ is not None
    assert backend.open_handles == 0


READING = {
    Condition.IO: SourceProtocolError,
    Condition.INVALID: SourceProtocolError,
    Condition.DENIED: SourceAbsentError,
    Condition.GONE: SourceAbsentError,
    Condition.NOT_FOUND: SourceProtocolError,
    Condition.BUSY: SourceAbsentError,
    Condition.SILENT: SourceTimeoutError,
    Condition.OVERFLOW: SourceProtocolError,
    Condition.STALL: SourceProtocolError,
    Condition.INTERRUPTED: SourceTimeoutError,
    Condition.NO_MEMORY: SourceProtocolError,
    Condition.NOT_SUPPORTED: SourceAbsentError,
    Condition.OTHER: SourceProtocolError,
    Condition.NO_BACKEND: SourceAbsentError,
}


@pytest.mark.parametrize("step", ["bulk_read", "ctrl_transfer"])
@pytest.mark.parametrize("condition", list(Condition))
def test_every_error_while_reading(backend, condition, step):
    """Each condition of a transfer means one error, in the bulk read and in the status question."""
    device = driver_for(backend).open()
    backend.refusals[step] = condition
    with pytest.raises(READING[condition]) as caught:
        device.read()
    assert type(caught.value) is READING[condition]
    assert caught.value.__cause__ is not None
    device.close()


def test_no_libusb_at_all(monkeypatch):
    """Neither the system's libusb nor the packaged one: absent, with the package to install."""
    monkeypatch.setattr(usb.backend.libusb1, "get_backend", lambda **_: None)
    with pytest.raises(SourceAbsentError, match="install libusb-1"):
        quantis_usb.create({}).open()


def test_packaged_libusb_is_the_fall_back(monkeypatch):
    """The system's libusb is asked for first."""
    asked = []

    def get_backend(*, find_library):
        asked.append(find_library)
        return None if find_library is None else "packaged"

    monkeypatch.setattr(usb.backend.libusb1, "get_backend", get_backend)
    assert usb_bus.load_libusb() == "packaged"
    assert [None, libusb_package.find_library] == asked


def test_real_libusb_finds_nothing():
    """Through the real libusb a serial number nobody has is absent, in a container, too."""
    driver = quantis_usb.create({"serial": "no-such-serial-number"})
    with pytest.raises(SourceAbsentError, match=r"plug it in|/dev/bus/usb"):
        driver.open()


# --- options --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seriel": "A"}, "unknown option `seriel`; expected one of `serial`, `read_bytes`"),
        ({"read_bytes": 1000}, "`read_bytes` is 1000; expected a multiple of 512"),
        ({"read_bytes": 256}, "`read_bytes` is 256; expected 512 to 131072"),
        ({"read_bytes": 16 * 2**20}, "expected 512 to 131072"),
        ({"read_bytes": "8192"}, "is '8192'; expected a whole number"),
        ({"read_bytes": True}, "is True; expected a whole number"),
        ({"read_timeout_ms": 0}, "`read_timeout_ms` is 0; expected 100 to 1500"),
        ({"read_bytes": 131072, "read_timeout_ms": 300}, "expected at least 524 or a smaller"),
        ({"status_every_reads": 0}, "`status_every_reads` is 0"),
        ({"serial": ""}, "`serial` is ''"),
        ({"serial": "A 1"}, "without spaces"),
        ({"serial": 7}, 'expected a text such as serial = "..."'),
    ],
)
def test_bad_options(options, text):
    """The option, its value and what was expected are in the text."""
    with pytest.raises(ConfigError) as caught:
        quantis_usb.create(options)
    assert text in str(caught.value)
    assert "quantis-usb" in str(caught.value)
