"""A ledger's copy, made while the daemon runs, and its way back.

A backup is one file: the hot ledger as it was at one moment, with every secret encrypted as it lies
there. It holds neither the master key, without which no hand of it can be answered, nor archives,
which never change and are copied once when they are made.

A restored backup ends earlier than the ledger did. Over a newer ledger it is refused; over a lost
one the anchor says what is missing.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from entropyd.errors import LedgerDamagedError, LedgerRefusedError, LedgerUnavailableError
from entropyd.ledger.chain import Position
from entropyd.ledger.secrets import SecretBox
from entropyd.ledger.sqlite_facts import (
    Facts,
    check_master_key,
    facts_of,
    link_at,
    sidecars,
    step_link_at,
)
from entropyd.ledger.sqlite_file import (
    mark_begun,
    open_writer,
    quick_check,
    translated,
)
from entropyd.ledger.sqlite_log import root_at
from entropyd.ledger.state_dir import StateDirectory, sync_directory

RESTORING = "ledger.sqlite3.restoring"


def back_up(path: Path, destination: Path) -> Facts:
    """Copy the ledger as it is at this moment, whole and checked, or not at all.

    May run beside the daemon, which goes on: its log grows until the copy is done. A commit that
    fails meanwhile can recover only after it.

    Args:
        path: the ledger's file.
        destination: of the copy; there is nothing yet.

    Returns:
        What the copy holds.

    Raises:
        LedgerRefusedError: there is something at `destination`.
        LedgerUnavailableError: the ledger cannot be read, or the copy not be written.
        LedgerDamagedError: the copy is damaged, so the ledger is. The copy was removed.
    """
    if destination.exists():
        raise LedgerRefusedError(f"backup {destination}: exists; give each backup its own name")
    unfinished = destination.with_name(destination.name + ".unfinished")
    with translated(path), _removed_on_failure(unfinished):
        _create_private(unfinished)
        _copy_pages(path, unfinished)
        _sync(unfinished)
        with closing(_open_copy(unfinished)) as copy:
            quick_check(unfinished, copy)
            facts = facts_of(copy)
        # If we die before this, no file has the name of a backup.
        unfinished.rename(destination)
        sync_directory(destination.absolute().parent)
    return facts


@dataclass(frozen=True)
class Restored:
    """What a restore did.

    Attributes:
        facts: what the ledger holds now.
        kept: where the ledger that was there lies now, None if there was none.
    """

    facts: Facts
    kept: Path | None


def restore(path: Path, source: Path, secrets: SecretBox, *, directory: StateDirectory) -> Restored:
    """Put a backup in place of the ledger, unless that would lose history.

    The ledger that was there is never removed, only renamed.

    Args:
        path: the ledger's file.
        source: a backup; it is not changed.
        secrets: with the ledger's master key.
        directory: the state directory, held by the caller: the daemon is stopped.

    Raises:
        LedgerRefusedError: the ledger there is newer, or another one. Nothing was changed.
        LedgerDamagedError: the backup is damaged, or has another master key. Nothing was changed.
        LedgerUnavailableError: it cannot be read or copied. Nothing was changed.
        ConfigError: it was written by a newer entropyd.
    """
    candidate = directory.path / RESTORING
    with translated(source):
        _refuse_sidecars(source)
        with _removed_on_failure(candidate):
            _create_private(candidate)
            shutil.copyfile(source, candidate)
            facts = _examine(candidate, path, secrets)
            kept = _move_away(path)
            # If we die before this, there is no ledger: the daemon refuses to begin one, and this
            # command is repeated.
            candidate.rename(path)
            sync_directory(path.parent)
            mark_begun(path)
    return Restored(facts, kept)


def _examine(candidate: Path, path: Path, secrets: SecretBox) -> Facts:
    """Bring the copy up to date, and judge whether it may take the ledger's place."""
    with closing(open_writer(candidate, check=False)) as copy:
        quick_check(candidate, copy)
        check_master_key(copy, secrets)
        facts = facts_of(copy)
        current = _current(path)
        if current is not None:
            here = current.position
            links = link_at(copy, here.hands), step_link_at(copy, here.steps)
            _refuse_loss(path, current, facts, links)
            if root_at(copy, current.log_size) != current.log_root:
                raise LedgerRefusedError(
                    f"ledger {path}: the backup has other receipts among its first"
                    f" {current.log_size}; both went on by themselves from one copy: find out which"
                    " of them dealt, and keep that one"
                )
    _sync(candidate)
    return facts


def _current(path: Path) -> Facts | None:
    """Return what the ledger there holds, None if it is lost or damaged."""
    if not path.exists():
        return None
    try:
        # The log goes into the file: what is renamed below is the whole ledger.
        with translated(path), closing(open_writer(path, check=True)) as ledger:
            return facts_of(ledger)
    except LedgerDamagedError:
        return None


def _refuse_loss(
    path: Path, current: Facts, backup: Facts, links: tuple[bytes | None, bytes | None]
) -> None:
    """Raise unless the backup goes on from all that the ledger holds.

    Args:
        path: the ledger's file, for the text.
        current: what it holds.
        backup: what the backup holds.
        links: the backup's where the ledger's hands end, and where its steps end.
    """
    if current.origin != backup.origin:
        raise LedgerRefusedError(
            f"ledger {path}: is of origin {current.origin}, the backup of origin {backup.origin};"
            " they are two histories: move the ledger away by hand if the backup's is to go on"
        )
    here, there = current.position, backup.position
    if there.hands < here.hands or there.steps < here.steps or there.events < here.events:
        raise LedgerRefusedError(
            f"ledger {path}: ends with {_end(here)}, the backup with {_end(there)}; it is older,"
            " and what lies between would be dealt or drawn again: start the daemon with the ledger"
            " that is there"
        )
    link, step_link = links
    if step_link != here.step_link:
        raise LedgerRefusedError(
            f"ledger {path}: the backup has another step {here.steps}; both went on by themselves"
            " from one copy: find out which of them drew, and keep that one"
        )
    if link != here.link:
        raise LedgerRefusedError(
            f"ledger {path}: the backup has another hand {here.hands}; both went on by themselves"
            " from one copy: find out which of them dealt, and keep that one"
        )


def _end(position: Position) -> str:
    steps = f", step {position.steps}" if position.steps else ""
    return f"hand {position.hands}{steps} and event {position.events}"


def _move_away(path: Path) -> Path | None:
    """Rename the ledger that is there, with its log: a log must never meet another database."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    kept = path.with_name(f"{path.name}.replaced-{stamp}")
    there = path.exists()
    # The database first. If we die between the names, there is no database, and no daemon starts.
    for file, name in zip((path, *sidecars(path)), (kept, *sidecars(kept)), strict=True):
        if file.exists():
            file.rename(name)
    return kept if there else None


def _copy_pages(path: Path, unfinished: Path) -> None:
    """Copy one snapshot. In one step: between two of them, every commit would begin it anew."""
    with (
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as ledger,
        closing(sqlite3.connect(unfinished)) as copy,
    ):
        ledger.backup(copy, pages=-1)


def _open_copy(path: Path) -> sqlite3.Connection:
    """Open a file that nobody writes, without making a log beside it."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _create_private(path: Path) -> None:
    _remove(path)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_sidecars(source: Path) -> None:
    """Refuse a file that is in use, whose last records lie in its log."""
    wal, _ = sidecars(source)
    if wal.exists() and wal.stat().st_size:
        raise LedgerRefusedError(
            f"backup {source}: has a log beside it, so it is a ledger in use or a copy of one; give"
            " a file that `entropyd ledger backup` made"
        )
    if not source.is_file():
        raise LedgerUnavailableError(f"backup {source}: is no file; give one that was backed up")


def _remove(path: Path) -> None:
    for file in (path, *sidecars(path)):
        file.unlink(missing_ok=True)


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _remove(path)
        raise
