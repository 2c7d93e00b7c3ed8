"""`entropyctl keys` on files: what an operator types and reads."""

import subprocess
import sys
from pathlib import Path


def keys(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyctl", "keys", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_keys_are_made_once_and_then_changed(tmp_path):
    made = keys("generate", tmp_path)
    assert (0, "") == (made.returncode, made.stderr)
    assert f"{tmp_path}/receipts.key: made\n{tmp_path}/checkpoints.key: made\n" == made.stdout
    again = keys("generate", tmp_path)
    assert 2 == again.returncode
    assert f"entropyctl: {tmp_path}/receipts.key: is there already" in again.stderr
    rotated = keys("rotate", tmp_path / "receipts.key")
    assert f"{tmp_path}/receipts.key: holds 2 keys; restart the daemon" in rotated.stdout
    assert 64 == (tmp_path / "receipts.key").stat().st_size


def test_no_command_prints_a_key(tmp_path):
    told = keys("generate", tmp_path)
    told_later = keys("rotate", tmp_path / "checkpoints.key")
    printed = told.stdout + told.stderr + told_later.stdout + told_later.stderr
    for path in tmp_path.iterdir():
        assert path.read_bytes()[:32].hex() not in printed


def test_a_file_that_is_not_there_is_refused_with_the_remedy(tmp_path):
    done = keys("rotate", tmp_path / "receipts.key")
    assert (2, "") == (done.returncode, done.stdout)
    assert "No such file or directory; expected a file of 32 random bytes" in done.stderr
    assert [] == list(tmp_path.iterdir())
