"""The anchor: how far the ledger went, kept where a restored backup does not reach it.

A small file outside the state directory, on another disk. A ledger that ends before its anchor, or
holds other records, was restored from a backup or lost some: it would deal spent hands again.

    entropyd-anchor: v1
    origin: which history, 32 hex digits
    hands: how many
    link: the running hash over them, 64 hex digits (chain.py)
    events: how many
    steps: how many steps of subjects; this line and the next in a v2, which is written if there
    are any: the entropyd before this one still reads the anchor of a ledger without steps
    step-link: the running hash over them, 64 hex digits

    the last checkpoint of the log that was signed, as it was; it and the empty line before it in a
    v3, which is written if there is one, with the lines of a v2 also where there are no steps

A checkpoint is the operator's word to others. A ledger whose log is shorter, or whose tree of that
size has another root, would have to sign a second history: it is refused. `ledger adopt` goes on
with such a ledger and its tree; the log is another one from then on, under another name, whose
first entry says after which it goes on (daemon/log.py). Its checkpoint is then another, too.

Written after a commit was synchronised and never before: the anchor may lag, it never leads. What
was recorded since the last one that survived a crash is not protected by it, at most a second.

GAP: it is not signed. Whoever can write both disks can make any ledger pass.
"""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from entropyd.errors import (
    CheckpointInvalidError,
    ConfigError,
    LedgerBehindAnchorError,
    LedgerRefusedError,
    LedgerUnavailableError,
)
from entropyd.ledger.chain import Position
from entropyd.ledger.state_dir import sync_directory
from entropyd.log.checkpoint import Checkpoint

_FORM = re.compile(
    r"entropyd-anchor: v(?:1|([23]))\norigin: ([0-9a-f]{32})\nhands: (0|[1-9][0-9]{0,18})\n"
    r"link: ([0-9a-f]{64})\nevents: (0|[1-9][0-9]{0,18})\n"
    # The two lines of a v2 and of a v3.
    r"(?(1)steps: (0|[1-9][0-9]{0,18})\nstep-link: ([0-9a-f]{64})\n)",
    re.ASCII,
)
# No text of this form is as long: the longest has 290. A checkpoint with a hundred signatures, as
# many as a signed note has, has 30,000.
MAX_BYTES = 384 + 65_536


@dataclass(frozen=True)
class Anchor:
    """What an anchor file says: which history, and how far it went.

    Attributes:
        origin: of the history, 32 hex digits.
        position: how far it went.
        checkpoint: of its log, the last one that was signed, with its signatures; empty for none.
    """

    origin: str
    position: Position
    checkpoint: bytes = b""

    def head(self) -> Checkpoint | None:
        """Return what the checkpoint says, None without one.

        Raises:
            CheckpointInvalidError: it is none.
        """
        return head_of(self.checkpoint) if self.checkpoint else None

    def encode(self) -> bytes:
        """Return the file's content."""
        position = self.position
        version = 3 if self.checkpoint else 2 if position.steps else 1
        lines = [
            f"entropyd-anchor: v{version}",
            f"origin: {self.origin}",
            f"hands: {position.hands}",
            f"link: {position.link.hex()}",
            f"events: {position.events}",
        ]
        if version > 1:
            lines += [f"steps: {position.steps}", f"step-link: {position.step_link.hex()}"]
        told = "".join(f"{line}\n" for line in lines).encode("ascii")
        return told + b"\n" + self.checkpoint if self.checkpoint else told


def head_of(checkpoint: bytes) -> Checkpoint:
    """Return what a signed checkpoint says. Who signed it is not looked at.

    Raises:
        CheckpointInvalidError: it is none.
    """
    text, separator, _ = checkpoint.partition(b"\n\n")
    if not separator:
        raise CheckpointInvalidError("has no empty line before its signatures")
    return Checkpoint.decode(text + b"\n")


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
    anchor = _decode(raw) if len(raw) <= MAX_BYTES else None
    # What says the same in another spelling was not written here.
    if anchor is None or anchor.encode() != raw:
        raise LedgerRefusedError(
            f"anchor {path}: is no anchor of an entropyd ledger; name another path in"
            " ledger.anchor, or restore the file"
        )
    return anchor


def _decode(raw: bytes) -> Anchor | None:
    told, separator, checkpoint = raw.partition(b"\n\n")
    found = _FORM.fullmatch((told + separator[:1]).decode("ascii", "replace"))
    if found is None:
        return None
    _, origin, hands, link, events, steps, step_link = found.groups()
    position = Position(int(hands), bytes.fromhex(link), int(events))
    if steps is not None:
        position = replace(position, steps=int(steps), step_link=bytes.fromhex(step_link))
    anchor = Anchor(origin, position, checkpoint)
    try:
        anchor.head()
    except CheckpointInvalidError:
        return None
    return anchor


def write_anchor(path: Path, anchor: Anchor) -> None:
    """Replace the anchor: the old one or the new one is there, whenever we die.

    Raises:
        LedgerUnavailableError: it could not be written; the old one is still there.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        with unfinished.open("wb") as file:
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


def gap(
    anchor: Anchor,
    *,
    origin: str,
    position: Position,
    link: bytes | None,
    step_link: bytes | None,
    log_root: bytes | None,
) -> str | None:
    """Return how a ledger is not the one that the anchor saw, None if it is.

    Args:
        anchor: what was kept.
        origin: of the ledger.
        position: of the ledger, now.
        link: the ledger's link at the anchor's number of hands, None if it has none there.
        step_link: likewise of steps.
        log_root: of the first entries of the ledger's log, as many as the anchor's checkpoint has;
            None if it has fewer. Without a checkpoint it is not looked at.
    """
    seen = anchor.position
    if origin != anchor.origin:
        return f"is of origin {origin}, its anchor saw origin {anchor.origin}"
    missing = _missing(position, seen)
    if missing is not None:
        return missing
    if link != seen.link:
        return f"has another hand {seen.hands} than its anchor saw"
    if step_link != seen.step_link:
        return f"has another step {seen.steps} than its anchor saw"
    return _forked(anchor.head(), log_root)


def _forked(signed: Checkpoint | None, root: bytes | None) -> str | None:
    """Return how a log contradicts a checkpoint that was signed, None if it does not."""
    if signed is None or root == signed.root:
        return None
    if root is None:
        return f"has fewer receipts in its log than the {signed.size} that were signed for"
    return f"has another log of {signed.size} receipts than the one that was signed for"


def _missing(position: Position, seen: Position) -> str | None:
    """Return what a ledger lacks of what its anchor saw, None if nothing."""
    if position.hands < seen.hands:
        return (
            f"ends with hand {position.hands}, its anchor saw hand {seen.hands}:"
            f" {seen.hands - position.hands} hand(s) are missing"
        )
    if position.steps < seen.steps:
        return (
            f"ends with step {position.steps} of its draws, its anchor saw step {seen.steps}:"
            f" {seen.steps - position.steps} step(s) are missing"
        )
    if position.events < seen.events:
        return f"ends with event {position.events}, its anchor saw event {seen.events}"
    return None


def refuse_gap(ledger: Path, path: Path, found: str) -> LedgerBehindAnchorError:
    """Return the error of a ledger that is not the one that its anchor saw."""
    return LedgerBehindAnchorError(
        f"ledger {ledger}: {found} (anchor {path}). What is missing would be dealt or drawn again:"
        " restore the newest ledger there is; if it is lost, `entropyd ledger adopt --reason TEXT`"
        " goes on with this one under a new origin"
    )


def _unusable(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"anchor {path}: {what}; mount its disk, or name a directory that the daemon's user may"
        " write in ledger.anchor"
    )
