"""The anchor: how far the ledger went, kept where a restored backup does not reach it.

A small file outside the state directory, on another disk. A ledger that ends before its anchor, or
holds other records, was restored from a backup or lost some: it would deal spent hands again.

    entropyd-anchor: v1
    origin: which history, 32 hex digits
    hands: how many
    link: the running hash over them, 64 hex digits (chain.py)
    events: how many

Written after a commit was synchronised and never before: the anchor may lag, it never leads. What
was recorded since the last one that survived a crash is not protected by it, at most a second.

GAP: it is not signed. Whoever can write both disks can make any ledger pass.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from entropyd.errors import (
    ConfigError,
    LedgerBehindAnchorError,
    LedgerRefusedError,
    LedgerUnavailableError,
)
from entropyd.ledger.chain import Position
from entropyd.ledger.state_dir import sync_directory

_FORM = re.compile(
    r"entropyd-anchor: v1\norigin: ([0-9a-f]{32})\nhands: (0|[1-9][0-9]{0,18})\n"
    r"link: ([0-9a-f]{64})\nevents: (0|[1-9][0-9]{0,18})\n",
    re.ASCII,
)
# The longest text that has this form.
MAX_BYTES = 256


@dataclass(frozen=True)
class Anchor:
    """What an anchor file says: which history, and how far it went."""

    origin: str
    position: Position

    def encode(self) -> str:
        """Return the file's text."""
        position = self.position
        return (
            f"entropyd-anchor: v1\norigin: {self.origin}\nhands: {position.hands}\n"
            f"link: {position.link.hex()}\nevents: {position.events}\n"
        )


def read_anchor(path: Path) -> Anchor | None:
    """Return the anchor in `path`, None if there is none.

    Raises:
        ConfigError: its directory is missing or it cannot be read; the text has the remedy.
        LedgerRefusedError: the file is something else.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        if path.parent.is_dir():
            return None
        raise _unusable(path, "its directory is missing") from error
    except OSError as error:
        raise _unusable(path, str(error.strerror)) from error
    found = _FORM.fullmatch(raw.decode("ascii", "replace"))
    if found is None:
        raise LedgerRefusedError(
            f"anchor {path}: is no anchor of an entropyd ledger; name another path in"
            " ledger.anchor, or restore the file"
        )
    origin, hands, link, events = found.groups()
    return Anchor(origin, Position(int(hands), bytes.fromhex(link), int(events)))


def write_anchor(path: Path, anchor: Anchor) -> None:
    """Replace the anchor: the old one or the new one is there, whenever we die.

    Raises:
        LedgerUnavailableError: it could not be written; the old one is still there.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with unfinished.open("w", encoding="ascii") as file:
            file.write(anchor.encode())
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
        sync_directory(path.parent)
    except OSError as error:
        raise LedgerUnavailableError(
            f"anchor {path}: cannot be written ({error.strerror}); mount its disk, make room, and"
            " let the daemon's user write there (ReadWritePaths= in the unit)"
        ) from error


def gap(anchor: Anchor, *, origin: str, position: Position, link: bytes | None) -> str | None:
    """Return how a ledger is not the one that the anchor saw, None if it is.

    Args:
        anchor: what was kept.
        origin: of the ledger.
        position: of the ledger, now.
        link: the ledger's link at the anchor's number of hands, None if it has none there.
    """
    seen = anchor.position
    if origin != anchor.origin:
        return f"is of origin {origin}, its anchor saw origin {anchor.origin}"
    if position.hands < seen.hands:
        return (
            f"ends with hand {position.hands}, its anchor saw hand {seen.hands}:"
            f" {seen.hands - position.hands} hand(s) are missing"
        )
    if position.events < seen.events:
        return f"ends with event {position.events}, its anchor saw event {seen.events}"
    if link != seen.link:
        return f"has another hand {seen.hands} than its anchor saw"
    return None


def refuse_gap(ledger: Path, path: Path, found: str) -> LedgerBehindAnchorError:
    """Return the error of a ledger that is not the one that its anchor saw."""
    return LedgerBehindAnchorError(
        f"ledger {ledger}: {found} (anchor {path}). Hands that are missing would be dealt again:"
        " restore the newest ledger there is; if it is lost, `entropyd ledger adopt --reason TEXT`"
        " goes on with this one under a new origin"
    )


def _unusable(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"anchor {path}: {what}; mount its disk, or name a directory that the daemon's user may"
        " write in ledger.anchor"
    )
