"""Run the daemon with something altered: what a campaign must find, or what makes it denser.

    altered_daemon.py ALTERATION... serve -c FILE

Further arguments before `serve` are skipped, so that this can stand in front of
the command that starts the unaltered daemon.
"""

import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from entropyd.cli import entropyd
from entropyd.ledger import sqlite_file
from entropyd.runtime.writer import GroupCommitWriter

# How long the answer is ahead of its commit. Without it the mutant would lose
# the race now and then, and be the daemon that it is not.
AHEAD_S = 0.1


class AskingConnection(sqlite3.Connection):
    """A connection that asks before it ends a transaction.

    Attributes:
        before_commit: each is called with the connection; if one returns False,
            the transaction stays open.
    """

    before_commit: ClassVar[list[Callable[["AskingConnection"], bool]]] = []

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        """Execute; see the class for COMMIT."""
        if sql == "COMMIT" and not all(ask(self) for ask in self.before_commit):
            return self.cursor()
        return super().execute(sql, *parameters)

    def end(self) -> None:
        """End the transaction that was kept open."""
        super().execute("COMMIT")

    @classmethod
    def ask(cls, asked: Callable[["AskingConnection"], bool]) -> None:
        """Have `asked` called before each COMMIT of every connection made from now on."""
        cls.before_commit.append(asked)
        sqlite3.connect = partial(sqlite3.connect, factory=cls)  # type: ignore[assignment]


def synchronous_off() -> None:
    """MUTANT: SQLite never synchronises, and nobody notices at the start."""
    _add_pragma("synchronous = OFF")
    sqlite_file._check_synchronous = lambda connection: None


def commit_after_answer() -> None:
    """MUTANT: the writer posts the answers, and then ends the transaction."""
    committing: list[bool] = []
    kept_open: list[AskingConnection] = []

    def keep_open(connection: AskingConnection) -> bool:
        if committing:
            kept_open.append(connection)
        return not committing

    def commit(writer: GroupCommitWriter, batch: Any) -> None:
        committing.append(True)
        commit_as_ever(writer, batch)
        committing.clear()
        time.sleep(AHEAD_S)
        while kept_open:
            kept_open.pop().end()

    commit_as_ever = GroupCommitWriter._commit
    AskingConnection.ask(keep_open)
    GroupCommitWriter._commit = commit  # type: ignore[assignment, method-assign]


def small_log() -> None:
    """Not a mutant: the log is copied into the database every 16 pages and not every 1,000.

    So that a short recording holds checkpoints and a log that is written from its start again.
    """
    _add_pragma("wal_autocheckpoint = 16")


def _add_pragma(pragma: str) -> None:
    pragmas: tuple[str, ...] = (*sqlite_file.PRAGMAS, f"PRAGMA {pragma}")
    sqlite_file.PRAGMAS = pragmas  # type: ignore[assignment]


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


def main(alterations: Sequence[str]) -> None:
    """Alter, and run the daemon with the arguments that begin with `serve`."""
    for alteration in alterations:
        if alteration in ALTERATIONS:
            ALTERATIONS[alteration]()
    sys.argv[1 : sys.argv.index("serve")] = []
    entropyd.main()


if __name__ == "__main__":
    main(sys.argv[1 : sys.argv.index("serve")])
