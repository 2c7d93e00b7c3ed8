"""Few statements for many rows: what inserts them, and what asks for them.

A statement lets other threads of the interpreter run, and then waits for its turn: with a row each,
a commit beside a busy event loop waits as often as it has rows.
"""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

# What SQLite returns or takes: columns of a STRICT table.
Row = tuple[Any, ...]

# 32 rows of a hand are 512 variables, of the 32,766 that SQLite has by default. 64 hands have 128
# nodes of the log, of two columns each.
ROWS_A_STATEMENT = 32
SHORT_ROWS_A_STATEMENT = 128
# Columns of a short row, at most.
_SHORT = 4
# 3 variables each, far below that limit.
QUESTIONS_A_STATEMENT = 64


def insert_rows(
    writer: sqlite3.Connection, statement: str, rows: Sequence[Row], *, then: str = ""
) -> None:
    """Insert rows of the same form, many a statement.

    Args:
        writer: the writing connection.
        statement: up to VALUES.
        rows: columns in the order of the statement.
        then: the statement after the values, such as ON CONFLICT.
    """
    short = bool(rows) and len(rows[0]) <= _SHORT
    most = SHORT_ROWS_A_STATEMENT if short else ROWS_A_STATEMENT
    for first in range(0, len(rows), most):
        some = rows[first : first + most]
        values = _values(len(some[0]), len(some))
        writer.execute(f"{statement} {values} {then}", tuple(chain.from_iterable(some)))


def ask_many(connection: sqlite3.Connection, query: str, asked: Sequence[Row]) -> list[Row]:
    """Return what a query finds for many tuples, some at a time.

    Args:
        connection: the writing one or a reading one.
        query: with `{values}` where the tuples stand.
        asked: of the same length each.
    """
    found: list[Row] = []
    for first in range(0, len(asked), QUESTIONS_A_STATEMENT):
        some = asked[first : first + QUESTIONS_A_STATEMENT]
        question = query.format(values=_values(len(some[0]), len(some)))
        found += connection.execute(question, tuple(chain.from_iterable(some))).fetchall()
    return found


@lru_cache(maxsize=1024)
def _values(columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return ", ".join([row] * rows)
