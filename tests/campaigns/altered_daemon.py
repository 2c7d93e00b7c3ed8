"""Run the daemon with something altered: what a campaign must find, or what makes it denser.

    altered_daemon.py ALTERATION... serve -c FILE

Further arguments before `serve` are skipped, so that this can stand in front of
the command that starts the unaltered daemon.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from entropyd.cli import entropyd
from entropyd.ledger import sqlite, sqlite_file
from entropyd.ledger.contract import Outcome
from entropyd.ledger.sqlite_batch import Batch, write_notes
from entropyd.runtime.writer import GroupCommitWriter

# How long the answer is ahead of its commit. Without it the mutant would lose
# the race now and then, and be the daemon that it is not.
AHEAD_S = 0.01


def synchronous_off() -> None:
    """MUTANT: SQLite never synchronises, and nobody notices at the start."""
    sqlite_file.PRAGMAS = (*sqlite_file.PRAGMAS, "PRAGMA synchronous = OFF")  # type: ignore[assignment]
    sqlite_file._check_synchronous = lambda connection: None


def commit_after_answer() -> None:
    """MUTANT: the writer posts the answers, and then ends the transaction."""

    def transact(ledger: Any, writer: Any, drafts: Any, events: Any, health: Any) -> list[Outcome]:
        writer.execute("BEGIN IMMEDIATE")
        batch = Batch(writer, ledger._rows)
        outcomes = [batch.take(draft) for draft in drafts]
        batch.write()
        write_notes(writer, events, health)
        return outcomes

    def commit(self: GroupCommitWriter, batch: Any) -> None:
        answer(self, batch)
        time.sleep(AHEAD_S)
        writer = self._ledger._writer  # type: ignore[attr-defined]
        if writer.in_transaction:
            writer.execute("COMMIT")

    answer = GroupCommitWriter._commit
    sqlite.SqliteLedger._transact = transact  # type: ignore[assignment, method-assign]
    GroupCommitWriter._commit = commit  # type: ignore[method-assign]


def small_log() -> None:
    """Not a mutant: the log is copied into the database every 16 pages and not every 1,000.

    So that a short recording holds checkpoints and a log that is written from its start again.
    """
    sqlite_file.PRAGMAS = (*sqlite_file.PRAGMAS, "PRAGMA wal_autocheckpoint = 16")  # type: ignore[assignment]


ALTERATIONS: dict[str, Callable[[], None]] = {
    "synchronous-off": synchronous_off,
    "commit-after-answer": commit_after_answer,
    "small-log": small_log,
}


def altered(*alterations: str) -> Sequence[str]:
    """Return the command to put in front of the daemon's."""
    unknown = set(alterations) - set(ALTERATIONS)
    assert not unknown, f"no such alteration: {unknown}"
    return (sys.executable, __file__, *alterations)


if __name__ == "__main__":
    at = sys.argv.index("serve")
    for alteration in sys.argv[1:at]:
        if alteration in ALTERATIONS:
            ALTERATIONS[alteration]()
    sys.argv[1:at] = []
    entropyd.main()
