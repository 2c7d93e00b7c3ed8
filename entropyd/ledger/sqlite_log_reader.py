"""The log in the SQLite ledger: what is read of it, by any thread."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from entropyd.ledger.entries import LogEntry
from entropyd.ledger.sqlite_log import log_size, read_entries, read_nodes, root_at
from entropyd.log.frontier import Node

T = TypeVar("T")


class LogReader(ABC):
    """The part of a SQLite ledger that reads the log."""

    @abstractmethod
    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Return what a question to the reading connection finds, under its lock."""

    def log_size(self) -> int:
        """Return how many entries the log has."""
        return self._ask(log_size)

    def log_entries(self, first: int, limit: int) -> list[LogEntry]:
        """Return entries in order of the log. See `Ledger.log_entries`."""
        return self._ask(lambda reader: read_entries(reader, first, limit))

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        """Return the hashes of complete nodes of the tree. See `Ledger.log_nodes`."""
        return self._ask(lambda reader: read_nodes(reader, nodes))

    def log_root(self, size: int) -> bytes | None:
        """Return the root of the log's first `size` entries, None if it has fewer. Any thread."""
        return self._ask(lambda reader: root_at(reader, size))
