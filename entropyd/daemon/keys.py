"""The two keys of the log, from where the configuration says they are."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from entropyd.config import Config
from entropyd.errors import ConfigError
from entropyd.ledger.log_key_files import (
    CHECKPOINTS_NAME,
    RECEIPTS_NAME,
    read_or_make_seeds,
    read_seeds,
)
from entropyd.log.keys import SigningKey
from entropyd.log.receipt import key_names


@dataclass(frozen=True, slots=True)
class LogKeys:
    """The keys of a log, each list in the order in which they come into force.

    Attributes:
        origin: name of the log.
        checkpoints, receipts: at least one each; the last one signs.
    """

    origin: str
    checkpoints: tuple[SigningKey, ...] = field(repr=False)
    receipts: tuple[SigningKey, ...] = field(repr=False)


def load_log_keys(config: Config, origin: str, *, begun: bool = False) -> LogKeys:
    """Return the keys of the log. Only who holds the state directory may make one in it.

    Args:
        config: says where they are.
        origin: name of the log.
        begun: the log has entries, so that its keys were there: one that is missing is lost, and
            a new one in its place would only look like it.

    Raises:
        ConfigError: a key cannot be used, or both are the same; the text has the remedy.
    """
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    state = config.node.state_dir
    of_checkpoints = config.keys.checkpoints_path(directory)
    of_receipts = config.keys.receipts_path(directory)
    checkpoints = (
        _own_seeds(state / CHECKPOINTS_NAME, begun=begun)
        if of_checkpoints is None
        else read_seeds(of_checkpoints)
    )
    receipts = (
        _own_seeds(state / RECEIPTS_NAME, begun=begun)
        if of_receipts is None
        else read_seeds(of_receipts)
    )
    if set(checkpoints) & set(receipts):
        raise ConfigError(
            "keys.receipts and keys.checkpoints hold the same key; make one of them anew:"
            " `entropyctl keys generate DIRECTORY`"
        )
    names = key_names(origin)
    return LogKeys(
        origin,
        checkpoints=tuple(SigningKey.from_seed(names[0], seed) for seed in checkpoints),
        receipts=tuple(SigningKey.from_seed(names[1], seed) for seed in receipts),
    )


def _own_seeds(path: Path, *, begun: bool) -> tuple[bytes, ...]:
    if begun and not path.exists():
        raise ConfigError(
            f"log key {path}: is not there, and what the log has is signed with it; restore the"
            " file from its copy: without it the log cannot go on"
        )
    return read_or_make_seeds(path)
