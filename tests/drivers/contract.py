"""What every driver owes the reader above it: the same tests for all of them.

A test module gives a `rig` fixture: the driver with the far end of its device
in the test's hands. `DriverContract` holds for anything that calls itself a
driver, `LossContract` for devices that can fall silent or be pulled out.
"""

import time
from abc import ABC, abstractmethod

import pytest

from entropyd.encoding import check_id
from entropyd.entropy.source import Device, Driver, SourceKind
from entropyd.errors import SourceAbsentError, SourceError, SourceTimeoutError

# What a scheduler of a busy machine may add to a wait.
SLACK_S = 0.5


class Rig(ABC):
    """A driver, and the hand at the other end of the cable."""

    driver: Driver

    @abstractmethod
    def flow(self) -> None:
        """Let the far end send; called once the device is open."""

    @abstractmethod
    def sent(self, size: int) -> bytes:
        """The first `size` bytes that the far end sends."""

    def silence(self) -> None:
        """Let the far end send nothing more."""
        raise NotImplementedError

    def remove(self) -> None:
        """Pull the device out."""
        raise NotImplementedError

    def restore(self) -> None:
        """Plug it in again."""
        raise NotImplementedError


def read_on(device: Device, reads: int) -> None:
    """Read on: what was on its way still comes, the error after it."""
    for _ in range(reads):
        device.read()


class DriverContract:
    """For every driver."""

    def open(self, rig: Rig) -> Device:
        device = rig.driver.open()
        rig.flow()
        return device

    def test_describes_itself(self, rig: Rig):
        """Name, kind and sample width are what the daemon can work with."""
        check_id("name", rig.driver.name)
        assert rig.driver.kind in set(SourceKind)
        assert rig.driver.sample_bits in {1, 8}
        assert 0 <= rig.driver.read_period_s < 2, "a loss must show within 2 s"
        assert rig.driver.nominal_rate >= 0

    def test_serial_is_an_id(self, rig: Rig):
        """The serial number travels in receipts: printable ASCII, at most 128."""
        device = self.open(rig)
        check_id("serial", device.serial)
        device.close()

    def test_samples_come_in_order_and_once(self, rig: Rig):
        """What is read is what was sent: nothing lost, doubled or swapped, blocks of one size."""
        device = self.open(rig)
        blocks = [device.read() for _ in range(9)]
        device.close()
        assert {len(blocks[0])} == {len(block) for block in blocks}
        assert rig.sent(sum(map(len, blocks))) == b"".join(blocks)

    def test_close_twice(self, rig: Rig):
        """Closing is harmless however often it is done."""
        device = self.open(rig)
        device.close()
        device.close()

    def test_use_after_close(self, rig: Rig):
        """A closed device is absent, and says so each time."""
        device = self.open(rig)
        device.close()
        for _ in range(2):
            with pytest.raises(SourceAbsentError, match="closed"):
                device.read()

    def test_opens_again_and_again(self, rig: Rig):
        """Each opening gives a device that reads; serial number and block size stay."""
        seen = set()
        for _ in range(5):
            device = self.open(rig)
            seen.add((device.serial, len(device.read())))
            device.close()
        assert len(seen) == 1


class LossContract(DriverContract):
    """For drivers whose device can fall silent or be pulled out."""

    def test_silence_ends_in_a_timeout(self, rig: Rig):
        """A silent device costs at most the read period, and may be read again."""
        device = self.open(rig)
        device.read()
        rig.silence()
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(SourceTimeoutError):
                read_on(device, 3)
            assert time.monotonic() - began < rig.driver.read_period_s + SLACK_S
        device.close()

    def test_removal_is_absence_for_good(self, rig: Rig):
        """Once gone, a device never works again, even when it is back."""
        device = self.open(rig)
        device.read()
        rig.remove()
        with pytest.raises(SourceAbsentError):
            read_on(device, 1000)
        rig.restore()
        with pytest.raises(SourceAbsentError):
            device.read()
        device.close()

    def test_close_after_removal(self, rig: Rig):
        """Closing a device that is gone is as harmless as any closing."""
        device = self.open(rig)
        rig.remove()
        device.close()
        device.close()

    def test_opening_what_is_not_there(self, rig: Rig):
        """No device is absence, with a text that says what to do."""
        rig.remove()
        with pytest.raises(SourceAbsentError, match="plug"):
            rig.driver.open()

    def test_a_hundred_plug_cycles(self, rig: Rig):
        """The same driver opens its device after each of a hundred plugs."""
        for _ in range(100):
            device = self.open(rig)
            device.read()
            rig.remove()
            with pytest.raises(SourceError):
                read_on(device, 1000)
            device.close()
            rig.restore()
