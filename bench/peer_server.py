"""The peer: a small C++ gRPC server that shuffles from getrandom, built when it is needed.

What it is stands in bench/peer/peer.cc. It is built with Debian's gRPC into
build/peer, where make finds it again; without a compiler the bench runs
without it and says what to install.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.daemon import BUILD

SOURCE = Path(__file__).parent / "peer"
PLACE = BUILD / "peer"
# Command -> the Debian package that has it.
TOOLS = {
    "make": "make",
    "g++": "g++",
    "pkg-config": "pkg-config",
    "protoc": "protobuf-compiler",
    "grpc_cpp_plugin": "protobuf-compiler-grpc",
}
# Library as pkg-config knows it -> the Debian package that has it.
LIBRARIES = {"grpc++": "libgrpc++-dev", "protobuf": "libprotobuf-dev"}


class NoPeerError(Exception):
    """There is no peer on this machine; the text says why, and what to do about it."""


@dataclass(frozen=True)
class Peer:
    """One that serves.

    Attributes:
        target: "unix:/path".
        pid: its process id.
    """

    target: str
    pid: int


def build() -> Path:
    """Return the program, built if its sources are newer.

    Raises:
        NoPeerError: what it takes is not installed, or does not build it.
    """
    if lacking := _lacking():
        raise NoPeerError(f"not installed: apt-get install {' '.join(lacking)}")
    PLACE.mkdir(parents=True, exist_ok=True)
    command = ["make", "-C", str(SOURCE), f"OUT={PLACE}"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise NoPeerError(f"{' '.join(command)} failed:\n{made.stderr.strip()}")
    return PLACE / "peer"


@contextmanager
def shuffling(program: Path, sockets: Path) -> Iterator[Peer]:
    """Run the peer, with its socket beside the daemon's.

    Raises:
        NoPeerError: it does not start.
    """
    target = f"unix:{sockets}/peer.sock"
    with subprocess.Popen([program, target], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise NoPeerError(f"{program} does not start; see its error above")
            yield Peer(target, process.pid)
        finally:
            process.terminate()


def _lacking() -> list[str]:
    """Return the Debian packages that have to be installed first."""
    lacking = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if "pkg-config" in lacking:
        return [*lacking, *LIBRARIES.values()]
    return lacking + [
        package
        for library, package in LIBRARIES.items()
        if subprocess.run(["pkg-config", "--exists", library], check=False).returncode
    ]
