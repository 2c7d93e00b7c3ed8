"""The files of a log's two keys: one of receipts, one of checkpoints.

A file holds a key in 32 bytes, and behind it each one that followed: the last one signs. The
others stay, since a receipt is signed by the key that was in force for its index whenever somebody
asks for it.

Spec: docs/protocol.md, "The two keys of a log".
"""

import os
from pathlib import Path

from entropyd.errors import ConfigError
from entropyd.ledger.key_file import read_key_file, write_key_file
from entropyd.log.keys import SEED_BYTES

RECEIPTS_NAME = "receipts.key"
CHECKPOINTS_NAME = "checkpoints.key"
# A key a month for a lifetime.
MAX_KEYS = 1024


def generate_keys(directory: Path) -> list[Path]:
    """Make both key files of a new log. Return their paths.

    Raises:
        ConfigError: one is there already, or cannot be written. No file was replaced.
    """
    paths = [directory / name for name in (RECEIPTS_NAME, CHECKPOINTS_NAME)]
    for path in paths:
        if path.exists():
            raise ConfigError(
                f"{path}: is there already, and a new key would be another log's; to go on with a"
                f" new key run `entropyctl keys rotate {path}`"
            )
    for path in paths:
        _write(path, os.urandom(SEED_BYTES))
    return paths


def rotate_key(path: Path) -> int:
    """Put a new key behind those of a file. Return how many it holds now.

    The daemon takes it at its next start, with an entry in the log.

    Raises:
        ConfigError: the file holds no keys, or too many, or cannot be written. It is as it was.
    """
    seeds = read_seeds(path)
    if len(seeds) == MAX_KEYS:
        raise ConfigError(f"{path}: holds {MAX_KEYS} keys, as many as it can; begin a new log")
    _write(path, b"".join((*seeds, os.urandom(SEED_BYTES))))
    return len(seeds) + 1


def read_seeds(path: Path) -> tuple[bytes, ...]:
    """Return the private keys in a file, the oldest first.

    Raises:
        ConfigError: it cannot be read, others may read it, or it holds something else.
    """
    content = read_key_file("log key", path, MAX_KEYS * SEED_BYTES)
    if not content or len(content) > MAX_KEYS * SEED_BYTES or len(content) % SEED_BYTES:
        raise ConfigError(
            f"log key {path}: is not of 1 to {MAX_KEYS} keys of {SEED_BYTES} bytes; restore the"
            " file from its backup: without it the log cannot go on"
        )
    seeds = [content[at : at + SEED_BYTES] for at in range(0, len(content), SEED_BYTES)]
    if len(set(seeds)) < len(seeds):
        raise ConfigError(f"log key {path}: holds a key twice; restore it from its backup")
    return tuple(seeds)


def read_or_make_seeds(path: Path) -> tuple[bytes, ...]:
    """Return the private keys in a file, and make the first one if there is no file.

    For development: the caller holds the directory. See `read_seeds` for errors.
    """
    if not path.exists():
        # If we die before it has its name, the next start makes another one, which nobody saw.
        _write(path, os.urandom(SEED_BYTES))
    return read_seeds(path)


def _write(path: Path, content: bytes) -> None:
    try:
        write_key_file(path, content)
    except OSError as error:
        raise ConfigError(
            f"log key {path}: cannot be written ({error.strerror}); name a directory that you may"
            " write"
        ) from error
