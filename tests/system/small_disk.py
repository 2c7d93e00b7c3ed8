"""A small file system of its own for one daemon, without leaving a mount behind.

It is mounted in a mount namespace that one process of ours holds open; the
daemon joins it through `prefix`. When that process ends the mount is gone. As
root that takes nothing more, as another user a user namespace.
"""

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self


class SmallDisk:
    """A tmpfs on `path`, seen by the commands that begin with `prefix`.

    Attributes:
        prefix: command that runs another inside.
    """

    def __init__(self, path: Path, *, mebibytes: int) -> None:
        self._path = path
        path.mkdir(mode=0o700, exist_ok=True)
        options = f"size={mebibytes}m,mode=0700"
        mount = f'mount -t tmpfs -o {options} entropyd "{path}" && echo mounted && exec sleep 600'
        as_root = os.geteuid() == 0
        unshare = ["unshare", "--mount"] if as_root else ["unshare", "--mount", "--map-root-user"]
        self._anchor = subprocess.Popen(
            [*unshare, "sh", "-c", mount], stdout=subprocess.PIPE, text=True
        )
        user = () if as_root else ("--user", "--preserve-credentials")
        self.prefix = ("nsenter", f"--target={self._anchor.pid}", "--mount", *user)

    def run(self, *command: str) -> str:
        """Run a command inside and return what it prints."""
        return subprocess.run(
            [*self.prefix, *command], check=True, capture_output=True, text=True, timeout=30
        ).stdout

    def free_bytes(self) -> int:
        """Return how much room is left."""
        blocks, size = self.run("stat", "-f", "-c", "%a %S", str(self._path)).split()
        return int(blocks) * int(size)

    def fill(self, *, leave_bytes: int = 0) -> None:
        """Fill it up but for so many bytes, or to the last one whoever else writes."""
        filler = str(self._path / "filler")
        if not leave_bytes:
            self.run("sh", "-c", f'cat /dev/zero >> "{filler}" 2> /dev/null || true')
            return
        count = self.free_bytes() - leave_bytes
        self.run("sh", "-c", f'head -c {count} /dev/zero >> "{filler}"')

    def empty(self) -> None:
        """Take away what filled it."""
        self.run("rm", str(self._path / "filler"))

    def __enter__(self) -> Self:
        assert self._anchor.stdout is not None
        assert self._anchor.stdout.readline() == "mounted\n", "cannot mount a tmpfs"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._anchor.terminate()
        self._anchor.wait()
        assert self._anchor.stdout is not None
        self._anchor.stdout.close()
