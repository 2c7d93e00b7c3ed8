"""The driver contract on quantis-usb, on its emulator, and at full speed."""

import os

import pytest

from entropyd.entropy.source import SourceKind
from entropyd_drivers import quantis_emulator
from entropyd_drivers.noise import SeededNoise
from entropyd_drivers.quantis_emulator import QuantisEmulator
from entropyd_drivers.quantis_settings import QuantisSettings
from entropyd_drivers.quantis_usb import QuantisDriver
from tests.drivers.contract import LossContract, Rig

SEED = bytes(range(32))


class QuantisRig(Rig):
    def __init__(self, settings, **emulator):
        self.emulator = QuantisEmulator(noise=SeededNoise(SEED), rate=0, **emulator)
        self.driver = QuantisDriver(settings, backend=lambda: self.emulator.backend)

    def flow(self):
        pass

    def sent(self, size):
        return SeededNoise(SEED).take(size)

    def silence(self):
        self.emulator.set_faults("F4")

    def remove(self):
        self.emulator.unplug()

    def restore(self):
        self.emulator.plug()


class ControlledRig(QuantisRig):
    """The emulator as the daemon gets it: by its options, faults through a file."""

    def __init__(self, directory):
        self._control = directory / "faults"
        self.driver = quantis_emulator.create(
            {
                "seed": SEED.hex(),
                "rate": 0,
                "read_timeout_ms": 100,
                "control": str(self._control),
            }
        )

    def _say(self, text):
        draft = self._control.with_suffix(".new")
        draft.write_text(text)
        os.replace(draft, self._control)

    def silence(self):
        self._say("# nothing comes\n\nF4\n")

    def remove(self):
        self._say("F9\n")

    def restore(self):
        self._control.unlink()


class TestQuantisUsb(LossContract):
    @pytest.fixture
    def rig(self):
        return QuantisRig(QuantisSettings(read_timeout_ms=100))

    def test_kind(self, rig):
        """What is found through libusb cannot be told from hardware."""
        assert rig.driver.kind is SourceKind.HARDWARE


class TestQuantisUsbAtFullSpeed(LossContract):
    @pytest.fixture
    def rig(self):
        return QuantisRig(QuantisSettings(read_timeout_ms=100, read_bytes=512), full_speed=True)


class TestQuantisEmulator(LossContract):
    @pytest.fixture
    def rig(self, tmp_path):
        return ControlledRig(tmp_path)

    def test_kind(self, rig):
        """An emulator that the daemon can recognise is a mock."""
        assert rig.driver.kind is SourceKind.MOCK
