"""Which tables this node deals for.

Nodes without a shared ledger serve disjoint tables: a hand id that two of them drew would have two
decks. Pure: patterns in, an error out.
"""

from collections.abc import Sequence

from entropyd.errors import WrongNodeError

ALL = "*"


class ServedTables:
    """The tables of one node, by name or by the beginning of a name. Immutable; any thread."""

    def __init__(self, patterns: Sequence[str] = (ALL,)) -> None:
        """Serve the tables that any of `patterns` names.

        Args:
            patterns: a table's id, or the beginning of ids and then `*`.
        """
        self._names = frozenset(name for name in patterns if not name.endswith(ALL))
        self._prefixes = tuple(name.removesuffix(ALL) for name in patterns if name.endswith(ALL))

    def require(self, table: str) -> None:
        """Return if this node deals for a table, or draws for a match, a raffle or a player.

        Raises:
            WrongNodeError: another node does. Nothing was drawn here.
        """
        if not (table.startswith(self._prefixes) or table in self._names):
            raise WrongNodeError(
                f"{table!r} is not served by this node; ask the node that serves it, and let no two"
                " serve the same"
            )
