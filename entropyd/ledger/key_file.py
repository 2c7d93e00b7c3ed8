"""Files with keys: for the daemon alone, whole or not there, also after a crash."""

import os
import stat
from pathlib import Path

from entropyd.errors import ConfigError
from entropyd.ledger.state_dir import sync_directory


def read_key_file(what: str, path: Path, most: int) -> bytes:
    """Return what is in a key file, at most `most` bytes and one.

    Args:
        what: which key, for the error text, such as `master key`.
        path: of the file, which may be a systemd credential.
        most: the most bytes that it may have.

    Raises:
        ConfigError: the file is missing, unreadable, or others may read it. The text has the
            remedy.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise ConfigError(
            f"{what} {path}: {error.strerror}; expected a file of 32 random bytes, readable by the"
            " daemon alone"
        ) from error
    with open(descriptor, "rb") as file:
        _check_privacy(what, path, os.fstat(descriptor))
        return file.read(most + 1)


def write_key_file(path: Path, content: bytes) -> None:
    """Write a key file with mode 0600, in place of one that is there.

    It has its name only when it is on the disk, directory and all: nothing can be encrypted or
    signed with a key that a power loss takes away.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    unfinished.rename(path)
    sync_directory(path.parent)


def _check_privacy(what: str, path: Path, status: os.stat_result) -> None:
    """Refuse a key file that anybody but its owner may read."""
    mode = stat.S_IMODE(status.st_mode)
    # systemd gives a credential to a service user by an access control entry on
    # a file of root with mode 0400. Such an entry makes the group bits show the
    # entry's mask: 0440 there lets no group read.
    forbidden = 0o037 if _is_systemd_credential(path) else 0o077
    if mode & forbidden:
        raise ConfigError(
            f"{what} {path}: has mode {mode:04o}, others may read it; run chmod 600 {path}"
        )
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigError(
            f"{what} {path}: belongs to uid {status.st_uid}; expected uid {os.geteuid()}: run"
            f" chown {os.geteuid()} {path}"
        )


def _is_systemd_credential(path: Path) -> bool:
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    return bool(directory) and path.parent == Path(str(directory))
