"""The mock driver: the contract, its pace, its seeds."""

import time

import pytest

from entropyd.entropy.source import SourceKind
from entropyd.errors import ConfigError
from entropyd_drivers import mock
from entropyd_drivers.noise import SeededNoise
from tests.drivers.contract import DriverContract, Rig


class MockRig(Rig):
    def __init__(self):
        self.driver = mock.create({"seed": "5eed", "rate": 0, "block_bytes": 100})

    def flow(self):
        pass

    def sent(self, size):
        return SeededNoise(b"\x5e\xed").take(size)


class TestMock(DriverContract):
    @pytest.fixture
    def rig(self):
        return MockRig()

    def test_kind(self, rig):
        """Nothing dealt from it is for play."""
        assert SourceKind.MOCK is rig.driver.kind


def test_stream_goes_on_after_reopening():
    """No byte is given out twice."""
    driver = mock.create({"seed": "00", "rate": 0, "block_bytes": 64})
    blocks = []
    for _ in range(3):
        device = driver.open()
        blocks.append(device.read())
        device.close()
    assert SeededNoise(b"\0").take(192) == b"".join(blocks)


def test_fresh_without_a_seed():
    """Two mocks without a seed send different streams."""
    first, second = (mock.create({"rate": 0}).open().read() for _ in range(2))
    assert first != second


def test_rate():
    """A block comes when it is due."""
    device = mock.create({"rate": 100_000, "block_bytes": 2_000}).open()
    began = time.monotonic()
    for _ in range(25):
        device.read()
    assert time.monotonic() - began == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rates": 1}, "unknown option `rates`; expected one of `seed`, `rate`, `block_bytes`"),
        ({"rate": 100, "block_bytes": 101}, "more than a second at 100 bytes a second"),
        ({"block_bytes": 0}, "`block_bytes` is 0; expected 1 to 131072"),
        ({"seed": "f"}, "`seed` is not hexadecimal"),
    ],
)
def test_bad_options(options, text):
    """The option, its value and what was expected are in the text."""
    with pytest.raises(ConfigError) as caught:
        mock.create(options)
    assert text in str(caught.value)
