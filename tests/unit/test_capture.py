"""Captures: the format, the true raw path, and what a bad day leaves behind."""

import errno
import hashlib
import io
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.config import check
from entropyd.daemon.capture import capture_samples, write_capture
from entropyd.daemon.sources import plan_sources
from entropyd.entropy.capture import (
    MAGIC,
    TRAILER_BYTES,
    CaptureHeader,
    CaptureSum,
    parse_header,
)
from entropyd.entropy.source import SourceKind
from entropyd.errors import (
    ConfigError,
    LedgerConflictError,
    RequestError,
    SourceAbsentError,
    SourceProtocolError,
)
from entropyd.ledger.state_dir import StateDirectory
from entropyd_drivers import replay
from entropyd_drivers.noise import SeededNoise
from tests.system.small_disk import SmallDisk

HEADER = CaptureHeader("mock", "mock", SourceKind.MOCK, 8, 8192, 6000, "2026-01-31T12:00:00Z")
UTC = HEADER.created
CONFIG = """
[node]
name = "dc1-a"
state_dir = "{directory}/state"
[[source]]
id = "device"
driver = "quantis-emulator"
claim_bits_per_sample = 6.0
[source.options]
seed = "00"
rate = 0
control = "{directory}/faults"
tape = "{directory}/tape"
[[listener]]
address = "unix:{directory}/poker.sock"
tenant = "room"
roles = ["deal_all"]
[mode]
production = false
[keys]
at_rest = ""
"""


def file_of(samples, header=HEADER):
    whole = CaptureSum(header.encode())
    whole.update(samples)
    return header.encode() + samples + whole.trailer()


@pytest.fixture
def config(tmp_path):
    return check(CONFIG.format(directory=tmp_path))


def make(config, tmp_path, samples=20_000, name="out"):
    return capture_samples(config, "device", samples, tmp_path / name, utc=lambda: UTC)


def played(path):
    """Every sample that the replay driver delivers."""
    device = replay.create({"path": str(path), "rate": 0}).open()
    blocks: list[bytes] = []
    with suppress(SourceAbsentError):
        while True:
            blocks.append(device.read())
    return b"".join(blocks)


# --- the format ---


def test_a_file_byte_by_byte():
    """Another program can be written from this test."""
    expected = (
        b"entropyd-capture v1\n"
        b"driver: mock\nserial: mock\nkind: mock\nsample_bits: 8\nblock_bytes: 8192\n"
        b"claimed_millibits: 6000\ncreated: 2026-01-31T12:00:00Z\n\n"
        b"abc\0\0\0\0\0\0\0\3"
    )
    assert expected + hashlib.sha256(expected).digest() == file_of(b"abc")
    assert (HEADER, len(expected) - 11) == parse_header(file_of(b"abc"))


@given(st.binary(max_size=300))
def test_nothing_foreign_parses_as_a_header(start):
    """Arbitrary bytes, also after the magic: a ValueError with a text, or a header that encodes."""
    for text in (start, MAGIC + start):
        with pytest.raises(ValueError, match=r"capture|has "):
            parse_header(text)


@pytest.mark.parametrize(
    ("line", "other", "text"),
    [
        (b"v1", b"v2", "does not begin with"),
        (b"kind: mock", b"kind: dice", "kind 'dice'; expected one of"),
        (b"sample_bits: 8", b"sample_bits: 4", "expected 1 or 8"),
        (b"sample_bits: 8", b"sample_bits: 08", "sample_bits '08'"),
        (b"block_bytes: 8192", b"block_bytes: 0", "block_bytes '0'"),
        (b"claimed_millibits: 6000", b"claimed_millibits: 8001", "1 to 8000"),
        (b"2026-01-31", b"31.01.2026", "such as 2026-01-31T12:00:00Z"),
        (b"serial: mock\n", b"", "expected the lines"),
        (b"serial: mock\n", b"serial: mock\nserial: mock\n", "expected the lines"),
        (b"\n\n", b"\n", "does not end"),
        (b"driver: mock", b"driver: m\xf6ck", "not ASCII"),
    ],
)
def test_a_header_that_is_not_ours_is_refused(line, other, text):
    start = HEADER.encode().replace(line, other)
    with pytest.raises(ValueError, match=text):
        parse_header(start)


@settings(max_examples=60, deadline=None)
@given(samples=st.binary(max_size=2000), data=st.data())
def test_any_cut_and_any_flipped_bit_is_refused(tmp_path_factory, samples, data):
    """A truncated or changed file is never played, wherever it was cut or changed."""
    whole = file_of(samples)
    path = tmp_path_factory.mktemp("capture") / "file"
    cut = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:cut])
    with pytest.raises(ConfigError, match="capture it again"):
        replay.create({"path": str(path)})
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    changed = bytearray(whole)
    changed[bit // 8] ^= 1 << bit % 8
    path.write_bytes(changed)
    with pytest.raises(ConfigError, match="option `path`"):
        replay.create({"path": str(path)})
    path.write_bytes(whole + b"\0")
    with pytest.raises(ConfigError, match="cut off or changed"):
        replay.create({"path": str(path)})


# --- the true raw path ---


def test_what_the_device_sent_is_what_is_played(config, tmp_path):
    """The tape beside the emulated device, the capture and the replay hold the same bytes."""
    told = make(config, tmp_path)
    sent = (tmp_path / "tape").read_bytes()
    assert 24_576 == len(sent)  # three reads of 8,192
    assert "24576 samples of device, serial EMULATED01" in told
    assert sent == SeededNoise(b"\0").take(24_576)
    assert sent == played(tmp_path / "out")


def test_the_header_says_who_was_captured(config, tmp_path):
    make(config, tmp_path)
    header, _ = parse_header((tmp_path / "out").read_bytes())
    expected = replace(HEADER, driver="quantis-emulator", serial="EMULATED01")
    assert expected == header
    assert 0o600 == (tmp_path / "out").stat().st_mode & 0o777


def test_a_bare_capture_is_what_the_device_sent(config, tmp_path):
    """For assessment tools; the replay driver takes no such file."""
    capture_samples(config, "device", 20_000, tmp_path / "bare", utc=lambda: UTC, bare=True)
    assert (tmp_path / "tape").read_bytes() == (tmp_path / "bare").read_bytes()
    with pytest.raises(ConfigError, match="is no capture"):
        replay.create({"path": str(tmp_path / "bare")})


def test_the_daemon_must_be_stopped(config, tmp_path):
    """Whoever holds the state directory deals; nothing is captured beside it."""
    with StateDirectory.hold(config.node.state_dir), pytest.raises(LedgerConflictError):
        make(config, tmp_path)
    assert not (tmp_path / "out").exists()


# --- bad days ---


def names(directory):
    return {path.name for path in directory.iterdir()} - {"state", "tape", "faults"}


def test_a_fault_leaves_no_file(config, tmp_path):
    """A gap is not papered over: samples on either side of it are not consecutive."""
    (tmp_path / "faults").write_text("F3:short\n")
    with pytest.raises(SourceProtocolError, match="short packet"):
        make(config, tmp_path)
    assert set() == names(tmp_path)


def test_a_file_is_never_overwritten(config, tmp_path):
    (tmp_path / "out").write_bytes(b"mine")
    with pytest.raises(ConfigError, match="it exists already; name another file"):
        make(config, tmp_path)
    assert b"mine" == (tmp_path / "out").read_bytes()
    assert {"out"} == names(tmp_path)


def test_no_such_source_and_no_such_number(config, tmp_path):
    with pytest.raises(ConfigError, match="no source 'other'; expected one of device"):
        capture_samples(config, "other", 1, tmp_path / "out", utc=lambda: UTC)
    with pytest.raises(RequestError, match="expected 1 to"):
        make(config, tmp_path, samples=0)


class FullFile(io.BytesIO):
    """A file on a disk that is full after so many bytes: what fits is written."""

    def __init__(self, room):
        super().__init__()
        self._room = room

    def write(self, data):
        super().write(data[: max(0, self._room - self.tell())])
        if self.tell() >= self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(data)


def test_wherever_the_disk_is_full_no_half_file_is_a_capture(config, tmp_path):
    """In the header, in the samples, anywhere in the trailer: what was written is refused."""
    plan = plan_sources(config)[0]
    device = plan.driver.open()
    whole = io.BytesIO()
    write_capture(plan, device, 20_000, whole, UTC)
    end = len(whole.getvalue())
    for room in (1, 100, 9000, end - 41, end - 40, end - 32, end - 1):
        file = FullFile(room)
        with pytest.raises(OSError, match="No space left"):
            write_capture(plan, device, 20_000, file, UTC)
        (tmp_path / "half").write_bytes(file.getvalue())
        with pytest.raises(ConfigError, match="option `path`"):
            replay.create({"path": str(tmp_path / "half")})
    device.close()


def test_a_full_disk_is_said_and_leaves_nothing(config, tmp_path):
    """The command on a real file system of 1 MiB: exit code 78, a text, and no file."""
    file = tmp_path / "entropyd.toml"
    file.write_text(CONFIG.format(directory=tmp_path))
    with SmallDisk(tmp_path / "disk", mebibytes=1) as disk:
        command = [
            *disk.prefix,
            *(sys.executable, "-m", "entropyd.cli.entropyd", "capture", "--config", str(file)),
            *("--source", "device", "--samples", "4000000", "--out", str(tmp_path / "disk/out")),
        ]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        left = disk.run("ls", str(tmp_path / "disk"))
    assert 78 == ran.returncode, ran.stderr
    assert "cannot be written (No space left on device), and no file is left" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "" == left


def test_interrupted_it_leaves_nothing(tmp_path):
    """Ctrl-C amid a capture of a slow device."""
    file = tmp_path / "entropyd.toml"
    file.write_text(CONFIG.format(directory=tmp_path).replace("rate = 0", "rate = 100000"))
    command = [
        *(sys.executable, "-m", "entropyd.cli.entropyd", "capture", "--config", str(file)),
        *("--source", "device", "--samples", "40000000", "--out", str(tmp_path / "out")),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        unfinished = tmp_path / "out.unfinished"
        deadline = time.monotonic() + 30
        while not unfinished.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert 0 != process.returncode
    assert {"entropyd.toml"} == names(tmp_path)


def test_the_trailer_is_as_long_as_it_says():
    assert TRAILER_BYTES == len(CaptureSum(b"").trailer())
