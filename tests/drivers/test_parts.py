"""The small parts under the drivers: pace, noise, entry points, texts of permissions."""

import os
from importlib.metadata import entry_points

from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.source import DRIVER_ENTRY_POINTS
from entropyd_drivers import permissions
from entropyd_drivers.noise import CHUNK_BYTES, RecordedNoise, SeededNoise
from entropyd_drivers.pace import Pace


def test_entry_points_make_drivers():
    """Each driver of this package is found by its entry point and bears its name."""
    minimal = {"serial": {"path": "/dev/ttyTRNG"}}
    found = {entry.name: entry for entry in entry_points(group=DRIVER_ENTRY_POINTS)}
    assert {"quantis-usb", "quantis-emulator", "serial", "mock", "replay"} <= set(found)
    for name in ("quantis-usb", "quantis-emulator", "serial", "mock"):
        assert name == found[name].load()(minimal.get(name, {})).name


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 3 * CHUNK_BYTES), max_size=6))
def test_noise_does_not_depend_on_the_sizes_taken(sizes):
    """The stream is one stream, however it is cut."""
    noise = SeededNoise(b"cut")
    pieces = b"".join(noise.take(size) for size in sizes)
    assert SeededNoise(b"cut").take(sum(sizes)) == pieces


def test_recording_never_gives_a_part(tmp_path):
    """A rest that is too short is not given out, and neither is anything after it."""
    (tmp_path / "capture").write_bytes(bytes(range(10)))
    noise = RecordedNoise(tmp_path / "capture")
    assert [bytes(range(4)), b"", b"\4\5\6\7", b""] == [noise.take(n) for n in (4, 7, 4, 4)]


@settings(deadline=None, max_examples=200)
@given(
    rate=st.integers(1, 10**9),
    depth=st.integers(1, 10**6),
    pauses=st.lists(st.integers(0, 10**9), min_size=1, max_size=20),
)
def test_pace_never_exceeds_its_rate(rate, depth, pauses):
    """Never more than rate times time in all, and never more than its depth at once."""
    pace, now_ns, taken = Pace(rate, depth, 0), 0, 0
    for pause in pauses:
        now_ns += pause
        ready = pace.ready(now_ns)
        assert 0 <= ready <= depth
        pace.take(ready)
        taken += ready
        assert taken * 10**9 <= rate * now_ns


@settings(deadline=None, max_examples=200)
@given(rate=st.integers(1, 10**9), size=st.integers(1, 10**5), start=st.integers(0, 10**12))
def test_pace_waits_exactly_long_enough(rate, size, start):
    """After the wait the bytes are there, and a nanosecond earlier they are not."""
    pace = Pace(rate, size, start)
    wait_ns = pace.wait_ns(size, start)
    assert pace.ready(start + wait_ns - 1) < size
    assert size == pace.ready(start + wait_ns)


def test_pace_keeps_what_is_there_when_the_rate_changes():
    """A slower rate takes nothing out of the buffer."""
    pace = Pace(1_000, 500, 0)
    assert pace.ready(100_000_000) == 100
    pace.change(10, 100_000_000)
    assert pace.ready(100_000_000) == 100
    assert pace.ready(200_000_000) == 101


def test_unpaced_is_always_full():
    """Rate 0 means as fast as it is read."""
    pace = Pace(0, 512, 0)
    pace.take(512)
    assert (pace.ready(0), pace.wait_ns(512, 0)) == (512, 0)


def test_permission_text_names_everybody(tmp_path):
    """Node, group, mode, who we are, and the remedy."""
    node = tmp_path / "004"
    node.touch()
    node.chmod(0o640)
    text = permissions.denied(str(node))
    for part in (str(node), "mode 0640", f"user id {os.geteuid()}", "60-entropyd.rules"):
        assert part in text


def test_permission_text_without_the_node():
    """A node that vanished meanwhile does not spoil the text."""
    assert "group and mode unknown" in permissions.denied("/nonexistent/004")
