"""README.md does what it says: its commands and its Python run, in order, against a real daemon."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from entropyd.cli import entropyctl
from entropyd.client import Client, Refusal
from tests.system.harness import until

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")
STEP = re.compile(r"^    (entropyctl [^\n]+)$|^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGET = "unix:.dev/poker.sock"
# Speaks to another machine.
ELSEWHERE = "entropyd.example"


def can_deal() -> bool:
    """Whether the daemon that was started deals by now."""
    try:
        with Client(TARGET, claim_key_file="other.key") as client:
            return client.status(timeout_s=1).can_deal
    except Refusal:
        return False


def covered(index: int) -> bool:
    """Whether the newest checkpoint covers an entry."""
    with Client(TARGET, claim_key_file="other.key") as client:
        return index < int(client.log().head().checkpoint.splitlines()[1])


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a daemon as `make run` starts it, but on ports of its own."""
    config = (ROOT / "docs/examples/development.toml").read_text("utf-8")
    config = config.replace("127.0.0.1:7443", "127.0.0.1:0")
    config += '\n[http]\naddress = "127.0.0.1:0"\n'
    (tmp_path / "development.toml").write_text(config, "utf-8")
    (tmp_path / "entries.txt").write_text("Ann\nBob\nEve\nDan\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ENTROPYCTL_TARGET", TARGET)
    monkeypatch.setenv("ENTROPYCTL_CLAIM_KEY", str(tmp_path / "config" / "claim.key"))
    command = [sys.executable, "-m", "entropyd.cli.entropyd", "serve", "--config"]
    log = (tmp_path / "log").open("w")
    with log, subprocess.Popen([*command, "development.toml"], stderr=log, stdout=log) as daemon:
        try:
            until("the daemon can deal", can_deal)
            yield tmp_path
        finally:
            daemon.kill()


def test_every_command_and_every_block_of_the_readme_runs(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """From the first deck on, in one go, as somebody does who copies them all."""
    keys: list[str] = []
    for step in STEP.finditer(TEXT):
        command, code = step.groups()
        if code is not None:
            if ELSEWHERE not in code:
                exec(compile(code, "README.md", "exec"), {})
            continue
        given = iter(keys)
        words = [next(given) if word == "KEY" else word for word in shlex.split(command, True)]
        if words[1:3] == ["log", "export"]:
            # People type no faster than it signs.
            until("entries are signed for", partial(covered, int(words[4])))
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            entropyctl.main()
        out, err = capsys.readouterr()
        assert (command, 0) == (command, ended.value.code or 0), err
        if words[1:] == ["keys", "show"]:
            keys = out.split()
    (fresh / ".dev" / "faults").write_text("F9\n", "ascii")
    until("it is unplugged, as the guide says", lambda: not can_deal())
    assert {"roll.json", "night-1.json", "log.json"} <= {path.name for path in fresh.iterdir()}
    assert 2 == len(keys)
