"""Runs the daemon as it is, but for getrandom, which a file stands in for.

    device_daemon.py CONFIG FILE

Every request of the daemon for bytes of the operating system's generator takes the next ones
of FILE, as many as it asks for. The ledger's own salts, which no seed depends on, stay random.
"""

import sys
from pathlib import Path

from entropyd.config import load
from entropyd.daemon import run


class RecordedRandom:
    """A file that is read once, from its start, and is never short."""

    def __init__(self, path: Path) -> None:
        self._rest = path.read_bytes()

    def __call__(self, size: int) -> bytes:
        if size > len(self._rest):
            raise RuntimeError(f"{size} bytes asked for, {len(self._rest)} left in the recording")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


if __name__ == "__main__":
    run(load(Path(sys.argv[1])), os_random=RecordedRandom(Path(sys.argv[2])))
