"""What an operator does to a ledger on a bad day, one function a command of `entropyd ledger`.

Each but `back_up` holds the state directory, so none runs beside the daemon, and returns what it
did, for people.
"""

import json
import os
import time
from pathlib import Path

from entropyd.config import Config
from entropyd.daemon.ledger import (
    anchor_gap,
    ledger_path,
    open_secrets,
    open_unanchored,
    set_anchor,
)
from entropyd.errors import ConfigError, LedgerRefusedError, RequestError
from entropyd.ledger import archives, backup
from entropyd.ledger.anchor import read_anchor
from entropyd.ledger.chain import Position
from entropyd.ledger.contract import Event, EventKind
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.ledger.sqlite_file import take_back_file
from entropyd.ledger.state_dir import StateDirectory

# As the reason of a source's reset.
MAX_REASON_CHARACTERS = 200


def back_up(config: Config, destination: Path) -> str:
    """Copy the ledger, beside a daemon that runs or not.

    Raises:
        LedgerRefusedError: there is something at `destination`.
        LedgerUnavailableError: it cannot be read, or the copy not be written.
        LedgerDamagedError: the ledger is damaged; no copy was kept.
    """
    position = backup.back_up(ledger_path(config), destination).position
    return (
        f"{destination}: {_extent(position)}, read back and"
        " sound. The master key is not in it, and without that no hand of it can be answered: keep"
        " a copy of the key elsewhere, and of archives, which are not in it either"
    )


def restore(config: Config, source: Path) -> str:
    """Put a backup in place of the ledger, unless that would lose history.

    Raises:
        LedgerRefusedError: the ledger there is newer, or another one. Nothing was changed.
        LedgerDamagedError: the backup is damaged, or has another master key. Nothing was changed.
        LedgerConflictError: the daemon runs.
    """
    path = ledger_path(config)
    with StateDirectory.hold(config.node.state_dir) as directory:
        done = backup.restore(path, source, open_secrets(config), directory=directory)
    position = done.facts.position
    lines = [f"{path}: restored, {_extent(position)}"]
    if done.kept is not None:
        lines.append(f"the ledger that was there is {done.kept} now; remove it when all is well")
    with open_unanchored(config) as ledger:
        found = anchor_gap(config, ledger)
        missing = ledger.maintain(archives.missing_archives)
    lines += [
        f"archive {name} is missing in {config.node.state_dir / archives.DIRECTORY_NAME}: copy it"
        " there, until then its hands are not answered"
        for name in missing
    ]
    if found is not None:
        lines.append(
            f"but it {found}: restore a newer backup, or go on with this one by `entropyd ledger"
            " adopt --reason TEXT`; the daemon does not start before"
        )
    return "\n".join(lines)


def adopt(config: Config, reason: str) -> str:
    """Go on with a ledger that is not the one its anchor saw, under a new origin.

    Hands and steps that are missing can be drawn again from now on. The first event of the new
    history says how many there are, and why it was gone on without them.

    Raises:
        ConfigError: no anchor is configured, or it cannot be read.
        RequestError: no such reason was given.
        LedgerRefusedError: the ledger is the one that its anchor saw.
        LedgerConflictError: the daemon runs.
    """
    path = config.ledger.anchor
    if path is None:
        raise ConfigError("ledger.anchor is not set; without an anchor there is nothing to adopt")
    if not reason.strip() or len(reason) > MAX_REASON_CHARACTERS:
        raise RequestError("reason", f"expected 1 to {MAX_REASON_CHARACTERS} characters")
    with open_unanchored(config) as ledger:
        found = anchor_gap(config, ledger)
        if found is None:
            raise LedgerRefusedError(
                f"ledger {ledger_path(config)}: is the one that its anchor {path} saw; there is"
                " nothing to adopt, start the daemon"
            )
        seen, before, position = read_anchor(path), ledger.origin(), ledger.position()
        origin = os.urandom(16).hex()
        gap = {
            "reason": reason,
            "found": found,
            "origin": {"before": before, "now": origin},
            "ledger": _told(position),
            "anchor": seen and {"origin": seen.origin, **_told(seen.position)},
        }
        # If we die before the anchor is written, it names an origin that the ledger has not: the
        # daemon refuses to start, and this is done again.
        event = Event(EventKind.LEDGER_ADOPTED, config.node.name, json.dumps(gap), time.time_ns())
        ledger.adopt(origin, event)
        set_anchor(config, ledger)
    return (
        f"adopted: the ledger {found}. It goes on after hand {position.hands} and step"
        f" {position.steps} as origin {origin}; what is missing can be dealt and drawn again."
        " The daemon voids hands that are open in it, and reveals the seeds of pairs"
    )


def adopted_at_ns(ledger: SqliteLedger) -> int:
    """Return when a ledger was adopted last, wall clock; 0 for never."""
    return max((event.at_ns for event in ledger.events(EventKind.LEDGER_ADOPTED)), default=0)


def _told(position: Position) -> dict[str, int | str]:
    """Return what an event says of a position."""
    return {
        "hands": position.hands,
        "link": position.link.hex(),
        "steps": position.steps,
        "step_link": position.step_link.hex(),
    }


def _extent(position: Position) -> str:
    return f"{position.hands} hand(s), {position.steps} step(s) and {position.events} event(s)"


def downgrade(config: Config) -> str:
    """Bring the ledger's schema back by one version, for the entropyd before this one.

    Raises:
        LedgerRefusedError: it cannot go back. Nothing was changed.
        LedgerConflictError: the daemon runs.
    """
    with StateDirectory.hold(config.node.state_dir):
        version = take_back_file(ledger_path(config))
    return (
        f"ledger {ledger_path(config)}: has schema version {version} now; start only the entropyd"
        " before this one, for this one brings it up again"
    )
