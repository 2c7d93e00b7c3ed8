"""The claim key: made once, whole, for its owner alone; the same claim on every retry."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from entropyd.client import ClaimKey, claims
from entropyd.errors import ConfigError, RequestError
from entropyd.hands.claim import derive_claim

ROOT = Path(__file__).parents[2]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- the file -------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_key_is_made_for_its_owner_alone_whatever_the_umask(tmp_path, umask):
    """Mode 0600 (or less) from the first moment: a umask can only take away."""
    path = tmp_path / "claim.key"
    before = os.umask(umask)
    try:
        claims._create(path)
    finally:
        os.umask(before)
    assert 0 == mode(path) & 0o077
    path.chmod(0o600)
    assert 32 == len(ClaimKey.load_or_create(path).key)


def test_a_key_is_made_once_and_then_loaded(tmp_path):
    path = tmp_path / "claim.key"
    first = ClaimKey.load_or_create(path)
    assert first == ClaimKey.load_or_create(path)
    assert path.read_bytes() == first.key
    assert [path] == list(tmp_path.iterdir())
    assert first != ClaimKey.load_or_create(tmp_path / "other.key")


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o666, 0o611])
def test_a_key_that_others_can_read_is_refused_with_the_remedy(tmp_path, bits):
    path = tmp_path / "claim.key"
    path.write_bytes(bytes(32))
    path.chmod(bits)
    with pytest.raises(ConfigError, match=f"mode {bits:04o}.* chmod 600 {path}"):
        ClaimKey.load_or_create(path)
    assert bits == mode(path)


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_key_of_another_length_is_refused_and_left_as_it_is(tmp_path, length):
    """It may be somebody's only key: it is never repaired or replaced."""
    path = tmp_path / "claim.key"
    path.write_bytes(bytes(length))
    path.chmod(0o600)
    with pytest.raises(ConfigError, match=f"has {length} bytes"):
        ClaimKey.load_or_create(path)
    assert bytes(length) == path.read_bytes()


def test_a_directory_that_is_not_there_is_not_made(tmp_path):
    """Where a secret goes is the owner's decision."""
    with pytest.raises(FileNotFoundError):
        ClaimKey.load_or_create(tmp_path / "no" / "claim.key")
    assert [] == list(tmp_path.iterdir())


# --- creators that meet ---------------------------------------------------------------


def test_a_creator_that_comes_second_keeps_the_first_ones_key(tmp_path):
    """Both had seen that there is none; the link decides, and nothing is left lying about."""
    path = tmp_path / "claim.key"
    claims._create(path)
    first = path.read_bytes()
    claims._create(path)
    assert first == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_threads_that_start_at_once_agree(tmp_path):
    path = tmp_path / "claim.key"
    barrier = threading.Barrier(8)
    found: list[bytes] = []

    def start() -> None:
        barrier.wait(20)
        found.append(ClaimKey.load_or_create(path).key)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [path.read_bytes()] * 8 == found


def test_processes_that_start_at_once_agree(tmp_path):
    path = tmp_path / "claim.key"
    program = (
        "import sys; from pathlib import Path; from entropyd.client.claims import ClaimKey;"
        " sys.stdin.read(1); print(ClaimKey.load_or_create(Path(sys.argv[1])).key.hex())"
    )
    command = [sys.executable, "-c", program, str(path)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        for _ in range(3)
    ]
    # All of them wait at the same line until the last one is there.
    found = {process.communicate(b"g")[0].decode().strip() for process in started}
    assert {path.read_bytes().hex()} == found


@pytest.mark.parametrize("step", ["getrandom", "fsync", "link"])
def test_a_crash_while_creating_leaves_no_key_or_a_whole_one(tmp_path, monkeypatch, step):
    """Whatever step fails, the name never stands for half a key; the next start makes one."""
    path = tmp_path / "claim.key"

    def crash(*_):
        raise OSError(f"{step}: the machine went down")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, crash)
        with pytest.raises(OSError, match="went down"):
            ClaimKey.load_or_create(path)
    assert not path.exists()
    assert 32 == len(ClaimKey.load_or_create(path).key)


def test_the_key_is_on_the_disk_before_its_name_is(tmp_path, monkeypatch):
    """The file is synced, then linked, then the directory is synced."""
    order: list[str] = []
    real_fsync, real_link = os.fsync, os.link

    def fsync(descriptor):
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        order.append(f"sync {kind}")
        real_fsync(descriptor)

    def link(source, target):
        order.append("link")
        real_link(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", link)
    ClaimKey.load_or_create(tmp_path / "claim.key")
    assert ["sync file", "link", "sync directory"] == order


def test_what_a_crash_left_behind_is_in_nobodys_way(tmp_path):
    """A scratch file with this very process id, as the first versions named theirs."""
    (tmp_path / f".claim.key.{os.getpid()}").write_bytes(b"half")
    assert 32 == len(ClaimKey.load_or_create(tmp_path / "claim.key").key)


# --- claims ---------------------------------------------------------------------------


def test_a_claim_follows_from_key_table_hand_and_place():
    """The same every time, another one for every other of the four, as docs/protocol.md says."""
    key = ClaimKey(bytes(range(32)))
    assert derive_claim(key.key, "t", "h", 0) == key.claim("t", "h") == key.claim("t", "h", 0)
    others = {
        key.claim("t", "h"),
        key.claim("t2", "h"),
        key.claim("t", "h2"),
        key.claim("t", "h", 1),
        ClaimKey(bytes(32)).claim("t", "h"),
    }
    assert {16} == {len(claim) for claim in others}
    assert 5 == len(others)


def test_a_claim_for_what_is_no_id_is_refused():
    with pytest.raises(RequestError, match=r"key\.hand"):
        ClaimKey(bytes(32)).claim("t", "")


def test_a_key_shows_itself_in_no_text():
    key = ClaimKey(b"\x5a" * 32)
    assert "5a" not in repr(key)
    assert "Z" not in str(key)
