"""Builds the foreign program, once for all workers and runs."""

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "foreign"
# Where Debian puts the sources of Go packages.
GOCODE = "/usr/share/gocode"


@pytest.fixture(scope="session")
def sumdb():
    """Return a function that asks the program one question."""
    BUILT.mkdir(parents=True, exist_ok=True)
    program = BUILT / f"sumdb.{os.getpid()}"
    environment = {
        **os.environ,
        "GO111MODULE": "off",
        "GOPATH": GOCODE,
        "GOCACHE": str(BUILT / "cache"),
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
    }
    source = ROOT / "tests" / "foreign" / "sumdb" / "main.go"
    built = subprocess.run(
        ["go", "build", "-o", program, source],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        program.unlink()
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout

        def ask(do, **question):
            """Return its answer; bytes go and come as base64."""
            line = json.dumps({"do": do} | {name: sent(each) for name, each in question.items()})
            stdin.write(line.encode() + b"\n")
            stdin.flush()
            return json.loads(stdout.readline())

        yield ask
        stdin.close()
        assert process.wait(10) == 0


def sent(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return [sent(each) for each in value] if isinstance(value, list) else value
