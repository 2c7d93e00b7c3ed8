"""The replay driver: the driver contract on a recording, what it refuses, and where it ends."""

from typing import Any

import pytest

from entropyd.config import check
from entropyd.entropy.capture import CaptureHeader, CaptureSum
from entropyd.entropy.source import SourceKind
from entropyd.errors import ConfigError, SourceAbsentError
from entropyd_drivers import replay
from entropyd_drivers.noise import SeededNoise
from tests.drivers.contract import DriverContract, Rig

SEED = b"replay"
BLOCKS = 64


def write(path, blocks=BLOCKS, **changes):
    fields: dict[str, Any] = {
        "driver": "quantis-usb",
        "serial": "132245A410",
        "kind": SourceKind.HARDWARE,
        "sample_bits": 8,
        "block_bytes": 512,
        "claimed_millibits": 6000,
        "created": "2026-01-31T12:00:00Z",
    }
    header = CaptureHeader(**fields | changes).encode()
    samples = SeededNoise(SEED).take(blocks * 512)
    whole = CaptureSum(header)
    whole.update(samples)
    path.write_bytes(header + samples + whole.trailer())


class ReplayRig(Rig):
    def __init__(self, path):
        write(path)
        self.driver = replay.create({"path": str(path), "rate": 0})

    def flow(self):
        pass

    def sent(self, size):
        return SeededNoise(SEED).take(size)


class TestReplay(DriverContract):
    @pytest.fixture
    def rig(self, tmp_path):
        return ReplayRig(tmp_path / "capture")

    def test_kind(self, rig):
        """A recording of hardware is no hardware."""
        assert SourceKind.REPLAY is rig.driver.kind

    def test_serial_of_the_captured_device(self, rig):
        assert rig.driver.open().serial == "132245A410"

    def test_it_is_played_once(self, rig):
        """Over reopenings each sample comes once; after the last the device is gone for good."""
        blocks = []
        for _ in range(BLOCKS):
            device = rig.driver.open()
            blocks.append(device.read())
            device.close()
        assert rig.sent(BLOCKS * 512) == b"".join(blocks)
        with pytest.raises(SourceAbsentError, match="recording has ended; start again"):
            rig.driver.open()

    def test_the_end_amid_reading(self, rig):
        device = rig.driver.open()
        for _ in range(BLOCKS):
            device.read()
        for _ in range(2):
            with pytest.raises(SourceAbsentError, match="has ended"):
                device.read()
        device.close()


def test_width_of_samples_is_the_captured_one(tmp_path):
    write(tmp_path / "bits", sample_bits=1, claimed_millibits=900)
    assert replay.create({"path": str(tmp_path / "bits")}).sample_bits == 1


def test_paced(tmp_path):
    """The read period is what a block takes at the given rate."""
    write(tmp_path / "capture")
    assert replay.create({"path": str(tmp_path / "capture"), "rate": 1024}).read_period_s == 0.5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "`path` is missing"),
        ({"path": "/nowhere/at/all"}, "cannot be read: No such file"),
        ({"path": "/etc/hostname"}, "is no capture: it does not begin with"),
        ({"path": "/etc", "rate": 1}, "cannot be read: Is a directory"),
        ({"path": "/etc", "speed": 1}, "unknown option `speed`"),
    ],
)
def test_bad_options(options, text):
    """The option, what is wrong with it, and what to do."""
    with pytest.raises(ConfigError, match=text):
        replay.create(options)


def test_too_slow_a_rate(tmp_path):
    write(tmp_path / "capture")
    with pytest.raises(ConfigError, match="more than a second: raise it"):
        replay.create({"path": str(tmp_path / "capture"), "rate": 511})


def test_refused_in_production(tmp_path):
    """By name, before any file is opened."""
    text = """
    [node]
    name = "dc1-a"
    [[source]]
    id = "q"
    driver = "replay"
    claim_bits_per_sample = 6.0
    claim_note = "of the captured device"
    [[listener]]
    address = "unix:/run/entropyd/poker.sock"
    tenant = "room"
    roles = ["deal_all"]
    """
    with pytest.raises(ConfigError, match="is replay, which is not a noise source"):
        check(text)
