"""Mines: some of the 20 tiles of a board hide a mine.

Spec: docs/protocol.md, "Games".
"""

from dataclasses import dataclass

from entropyd.errors import InternalError
from entropyd.games.round_draws import Below

TILES = 20
# One tile at least is free, else there is nothing to find.
MAX_MINES = TILES - 1


@dataclass(frozen=True, slots=True)
class MinesOutcome:
    """Where the mines are.

    Attributes:
        tile_index0: tiles in the order drawn, numbered from 0. Boards that people see count
            from 1.
    """

    tile_index0: tuple[int, ...]

    def as_json(self) -> dict[str, object]:
        """Return the outcome as it stands in a round file."""
        return {"mines": list(self.tile_index0)}


def lay(below: Below, count: int) -> MinesOutcome:
    """Return `count` mines: the first steps of a Fisher-Yates shuffle from the front.

    Raises:
        InternalError: `count` is not 1 to 19. Rules do not hold another.
    """
    if not 1 <= count <= MAX_MINES:
        raise InternalError(f"{count} mines; expected 1 to {MAX_MINES}")
    return MinesOutcome(choose(below, TILES, count))


def choose(below: Below, tiles: int, count: int) -> tuple[int, ...]:
    """Return the first `count` of `tiles` tiles after as many steps of the shuffle."""
    order = list(range(tiles))
    for place in range(count):
        chosen = place + below(tiles - place)
        order[place], order[chosen] = order[chosen], order[place]
    return tuple(order[:count])
