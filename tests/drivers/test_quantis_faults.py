"""Every fault of the emulator by name, and what quantis-usb makes of it."""

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import (
    SourceAbsentError,
    SourceError,
    SourceProtocolError,
    SourceTimeoutError,
)
from entropyd_drivers.emulated_quantis import FIFO_BYTES
from entropyd_drivers.noise import SeededNoise
from entropyd_drivers.quantis_emulator import QuantisEmulator
from entropyd_drivers.quantis_settings import QuantisSettings
from entropyd_drivers.quantis_usb import QuantisDriver
from tests.drivers.expected import DELIVERED, QUANTIS

SEED = b"faults"


@pytest.fixture
def emulator():
    return QuantisEmulator("A100", noise=SeededNoise(SEED), rate=2_000_000)


@pytest.fixture
def driver(emulator):
    return QuantisDriver(
        QuantisSettings(serial=None, read_timeout_ms=600), backend=lambda: emulator.backend
    )


def outcome(action):
    """The exact class of the error, or None for success; any other error fails the test."""
    try:
        action()
    except SourceError as error:
        return type(error)
    return DELIVERED


def heal(driver):
    """Open and read as the reader thread does, and return the size of a block.

    A halt that outlived its fault is found, and cleared, by the first read.
    """
    device = driver.open()
    try:
        return len(device.read())
    except SourceProtocolError:
        device.close()
        device = driver.open()
        return len(device.read())
    finally:
        device.close()


@pytest.mark.parametrize("name", sorted(QUANTIS))
def test_fault_while_open(emulator, driver, name):
    """The fault begins between two reads; after it has gone, reopening repairs everything."""
    device = driver.open()
    device.read()
    emulator.set_faults(name)
    assert QUANTIS[name][0] == outcome(device.read)
    emulator.set_faults()
    device.close()
    assert heal(driver) == 8192


@pytest.mark.parametrize("name", sorted(QUANTIS))
def test_fault_while_opening(emulator, driver, name):
    """The fault is there before the device is opened."""
    emulator.set_faults(name)
    opened = []
    assert QUANTIS[name][1] == outcome(lambda: opened.append(driver.open()))
    for device in opened:
        device.close()


def test_unplug_ends_a_waiting_read_at_once(emulator, driver):
    """F9 amid a read that waits for data: noticed in far less than its timeout."""
    device = driver.open()
    emulator.set_faults("F4")
    threading.Timer(0.1, emulator.unplug).start()
    began = time.monotonic()
    with pytest.raises(SourceAbsentError, match="gone"):
        device.read()
    assert time.monotonic() - began < 0.4
    device.close()


def test_partial_data_is_discarded(emulator, driver):
    """F5: what came of a block that timed out is never handed on later."""
    device = driver.open()
    first = device.read()
    emulator.set_faults("F5")
    with pytest.raises(SourceTimeoutError, match="4096 of 8192 bytes came in 600 ms; discarded"):
        device.read()
    emulator.set_faults()
    after = device.read()
    stream = SeededNoise(SEED).take(8192 + 4096 + 8192)
    assert stream[:8192] == first
    assert stream[8192 + 4096 :] == after
    device.close()


def test_module_failure_explains_silence(emulator, driver):
    """F1:nak: the status is asked after a timeout, and is the better answer."""
    device = driver.open()
    emulator.set_faults("F1:nak")
    with pytest.raises(SourceProtocolError, match="module not functional, status is 0x00"):
        device.read()
    device.close()


def test_sticky_stall_needs_more_than_reopening(emulator, driver):
    """F7: reopening does not help, and each attempt says so."""
    emulator.set_faults("F7")
    for _ in range(3):
        device = driver.open()
        assert SourceProtocolError is outcome(device.read)
        device.close()


def test_stuck_streams_look_as_they_should(emulator, driver):
    """F16: the four ways to be stuck, as the health tests will see them."""
    device = driver.open()
    emulator.set_faults("F16:zeros")
    assert {0} == set(device.read())
    emulator.set_faults("F16:ones")
    assert {0xFF} == set(device.read())
    emulator.set_faults("F16:packet")
    block = device.read()
    assert block[:512] * 16 == block
    emulator.set_faults("F16:lag")
    block = device.read()
    assert block[0::2] == block[1::2]
    device.close()


@pytest.mark.parametrize("name", ["F14:stall", "F14:io"])
def test_a_suspended_device_works_from_the_second_transfer_on(emulator, driver, name):
    """F14: one failed read, and the next opening reads."""
    device = driver.open()
    emulator.set_faults(name)
    assert SourceProtocolError is outcome(device.read)
    device.close()
    assert heal(driver) == 8192


def test_a_suspended_device_is_found_at_the_second_look(emulator):
    """F14 with a configured serial number, which the first transfer asks for."""
    emulator.set_faults("F14:io")
    driver = QuantisDriver(QuantisSettings(serial="A100"), backend=lambda: emulator.backend)
    assert SourceAbsentError is outcome(driver.open)
    assert heal(driver) == 8192


@pytest.mark.parametrize(("name", "share"), [("F17:small", 0.5005), ("F17:large", 0.6)])
def test_bias_is_as_large_as_it_says(emulator, driver, name, share):
    """F17: P(1) over 800 kB, whose standard deviation is 0.0002."""
    device = driver.open()
    emulator.set_faults(name)
    ones = sum(int.from_bytes(device.read(), "big").bit_count() for _ in range(100))
    assert share == pytest.approx(ones / (100 * 8192 * 8), abs=0.001)
    device.close()


@pytest.mark.parametrize(("name", "low", "high"), [("F19:drop", 0.05, 0.2), ("F19:burst", 0.3, 2)])
def test_rates(name, low, high):
    """F19: a tenth of the nominal rate, or the nominal rate in lumps."""
    emulator = QuantisEmulator(rate=200_000)
    driver = QuantisDriver(QuantisSettings(read_bytes=1024), backend=lambda: emulator.backend)
    device = driver.open()
    emulator.set_faults(name)
    for _ in range(FIFO_BYTES // 1024):
        device.read()
    began, size = time.monotonic(), 0
    while time.monotonic() - began < 1.0:
        size += len(device.read())
    share = size / (time.monotonic() - began) / 200_000
    device.close()
    assert low < share < high


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.lists(st.sampled_from(sorted(QUANTIS)), max_size=3, unique=True),
            st.sampled_from(["read", "read", "open", "close", "plug", "unplug"]),
        ),
        max_size=15,
    )
)
def test_nothing_but_source_errors_comes_out(steps):
    """Whatever happens in whatever order: whole blocks or a SourceError, and it heals."""
    emulator = QuantisEmulator(rate=0)
    driver = QuantisDriver(
        QuantisSettings(read_timeout_ms=20, read_bytes=2048), backend=lambda: emulator.backend
    )
    device = None
    for step in steps:
        if isinstance(step, list):
            # The status question that is never answered costs 0.4 s each time.
            emulator.set_faults(*(name for name in step if name != "F12:timeout"))
        elif step in {"plug", "unplug"}:
            getattr(emulator, step)()
        elif step == "close" and device is not None:
            device.close()
        else:
            try:
                device = driver.open() if step == "open" or device is None else device
                assert len(device.read()) == 2048
            except SourceError:
                pass
    emulator.set_faults()
    emulator.plug()
    if device is not None:
        device.close()
    assert heal(driver) == 2048
