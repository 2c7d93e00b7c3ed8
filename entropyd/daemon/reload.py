"""What a running daemon takes over from a changed configuration file.

The file is read and checked as a whole, with its drivers, before anything of
it counts: a file that is wrong changes nothing. Of a file that is right, only
what no draw, source, listener or key depends on is taken over; the rest waits
for a restart, and is named.
"""

import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from entropyd.config import Config, load
from entropyd.daemon.sources import plan_sources
from entropyd.errors import ConfigError

# What is written to the log, how long a call waits, how many hands go on at once and for how long,
# and who may call: none chooses an outcome.
RELOADABLE = frozenset(
    {
        "log.level",
        "log.format",
        "gate.max_hold",
        "gate.answer_before_deadline",
        "hands.per_table_open",
        "hands.per_table_dealing",
        "hands.expire_after",
        "hands.max_contribute_for",
        "client",
    }
)


@dataclass(frozen=True)
class Reread:
    """A file that was read again and is right.

    Attributes:
        config: the settings in effect from now on.
        taken: keys that changed and are in effect, such as `log.level`.
        waiting: keys that changed and are not, until a restart; a list of tables
            (`source`, `listener`) is one key.
    """

    config: Config
    taken: tuple[str, ...]
    waiting: tuple[str, ...]


def reread(path: Path, running: Config, tenants: Sequence[str] | None = None) -> Reread:
    """Read the file again and return what changes.

    Clients of a tenant that was not there at the start wait for a restart, alone: one that is
    revoked in the same change is out at once.

    Args:
        path: the configuration file.
        running: the settings in effect.
        tenants: those that the daemon was started with; by default those of `running`.

    Raises:
        ConfigError: the file cannot be read or is wrong; nothing changes.
    """
    # A pipe would be waited for, and the daemon with it.
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise ConfigError(f"{path}: is no regular file; write one, and reload again")
    found = load(path)
    plan_sources(found)
    known = running.tenants if tenants is None else tenants
    merged = _merged(running, found, known)
    changed = sorted(_differences(_settings(running), _settings(merged)))
    waiting = sorted(_differences(_settings(merged), _settings(found)))
    return Reread(
        config=merged,
        taken=tuple(key for key in changed if key in RELOADABLE),
        waiting=tuple(waiting),
    )


def _merged(running: Config, found: Config, tenants: Sequence[str]) -> Config:
    # Both limits of the gate come from one file, so they still agree with each other.
    gate = running.gate.model_copy(
        update={
            "max_hold_ns": found.gate.max_hold_ns,
            "answer_before_deadline_ns": found.gate.answer_before_deadline_ns,
        }
    )
    clients = tuple(client for client in found.clients if client.tenant in tenants)
    return running.model_copy(
        update={"log": found.log, "gate": gate, "hands": found.hands, "clients": clients}
    )


def _settings(config: Config) -> Mapping[str, object]:
    return config.model_dump(mode="json", by_alias=True)


def _differences(
    before: Mapping[str, object], after: Mapping[str, object], table: str = ""
) -> Iterator[str]:
    """Yield the dotted keys, as the file spells them, whose values differ."""
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{table}{key}.")
        elif old != new:
            yield f"{table}{key}"
