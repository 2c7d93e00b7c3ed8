"""The state directory, held by one daemon at a time.

Two daemons on one directory would be two histories of one set of hand ids. So
whoever holds the lock may write in the directory, and nobody else.
"""

import fcntl
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from entropyd.errors import ConfigError, LedgerConflictError

LOCK_NAME = "lock"


class StateDirectory:
    """A locked state directory. Make one with `hold`.

    The kernel lets go of the lock when the process ends, however it ends, so a
    lock is never stale and the file is never removed: removing it would let two
    daemons lock two files of one name.

    Attributes:
        path: the directory.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def hold(cls, path: Path) -> Self:
        """Lock the directory; create it, not its parents, if it does not exist.

        Raises:
            LedgerConflictError: another process holds it. Nothing was written.
            ConfigError: it cannot be created or locked, or others than the
                daemon's user may enter it. The text has the remedy.
        """
        try:
            _create(path)
            _check_privacy(path)
            descriptor = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(
                f"state directory {path}: {error.strerror}; expected a directory on a local,"
                " writable file system that belongs to the daemon's user"
            ) from error
        try:
            _lock(path, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def release(self) -> None:
        """Let go of the directory. May be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def sync_directory(path: Path) -> None:
    """Make names created in `path` survive power loss.

    Raises:
        OSError: the directory could not be opened or synchronised.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(path: Path) -> None:
    """Create the directory where it does not exist."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return
    # Without this a power loss could take the directory away, and with it
    # records whose own files were synchronised.
    sync_directory(path.parent)


def _check_privacy(path: Path) -> None:
    """Refuse a directory that others may enter: its files would be theirs to read."""
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid != os.geteuid():
        raise ConfigError(
            f"state directory {path}: belongs to uid {status.st_uid}; run"
            f" chown {os.geteuid()} {path}"
        )
    if mode & 0o077:
        raise ConfigError(
            f"state directory {path}: has mode {mode:04o}, others may enter it; run"
            f" chmod 700 {path}"
        )


def _lock(path: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise LedgerConflictError(
            f"state directory {path}: is held by pid {_holder(descriptor)}; stop that daemon, or"
            " give this one a state directory of its own"
        ) from error
    # The pid is for people. The lock is what holds, so a pid that was not
    # written (a full disk) keeps nobody out and lets nobody in.
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
    except OSError:
        pass


def _holder(descriptor: int) -> str:
    """Return the pid in the lock file; the holder may not have written it yet."""
    return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
