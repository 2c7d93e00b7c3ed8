"""The cascade: winning symbols vanish, what stood above them falls, new ones come.

Spec: docs/protocol.md, "Games".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from entropyd.errors import InternalError, RequestError
from entropyd.games.round_draws import Below

ROWS = 3
COLUMNS = 5
# The bands of the weights share out the values of one draw.
BANDS = 100

Grid = tuple[str, ...]
Win = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CascadeMachine:
    """A machine that is filled cell by cell.

    Attributes:
        weights: symbol and weight of each band, in order.
        cluster: how many cells a symbol must stand on to win, at least 1.
        refills: how often the grid is refilled at most.

    Raises:
        RequestError: on construction: a weight is below 1, a symbol has two bands, or the weights
            do not sum to 100; names `data.weights`. Anything less would leave values of a draw
            without a symbol, anything more a symbol out of reach.
    """

    weights: tuple[Win, ...]
    cluster: int
    refills: int

    def __post_init__(self) -> None:
        """Refuse bands that do not share out a draw."""
        total = sum(weight for _, weight in self.weights)
        if total != BANDS:
            raise RequestError("data.weights", f"sum to {total}; expected {BANDS}")
        if any(weight < 1 for _, weight in self.weights):
            raise RequestError("data.weights", "have one below 1; leave that symbol out")
        if len({symbol for symbol, _ in self.weights}) != len(self.weights):
            raise RequestError("data.weights", "name a symbol twice; expected one band each")

    def symbol(self, value: int) -> str:
        """Return the symbol whose band holds a value of 0 to 99."""
        for symbol, weight in self.weights:
            if value < weight:
                return symbol
            value -= weight
        raise InternalError(f"{value} beyond the last band; expected 0 to {BANDS - 1}")


@dataclass(frozen=True, slots=True)
class CascadeOutcome:
    """Every grid of a round and what won on it.

    Attributes:
        grids: 15 symbols each, row by row from the top; the first as it was filled, each other
            as it stood after a refill.
        wins: for each grid its winning symbols, with the number of their cells.
    """

    grids: tuple[Grid, ...]
    wins: tuple[tuple[Win, ...], ...]

    def as_json(self) -> dict[str, object]:
        """Return the outcome as it stands in a round file."""
        return {
            "grids": [list(grid) for grid in self.grids],
            "wins": [[list(win) for win in wins] for wins in self.wins],
        }


def fall(below: Below, machine: CascadeMachine) -> CascadeOutcome:
    """Fill the grid and refill it until nothing wins or the bound of refills is met.

    The bound ends every round; what wins on the last grid is recorded as any other win.
    """
    grid = tuple(machine.symbol(below(BANDS)) for _ in range(ROWS * COLUMNS))
    grids, wins = [grid], [winning(grid, machine)]
    while wins[-1] and len(grids) <= machine.refills:
        grid = refill(grid, {symbol for symbol, _ in wins[-1]}, below, machine)
        grids.append(grid)
        wins.append(winning(grid, machine))
    return CascadeOutcome(tuple(grids), tuple(wins))


def winning(grid: Grid, machine: CascadeMachine) -> tuple[Win, ...]:
    """Return the symbols that stand on enough cells, and on how many, in the order of the bands."""
    counts = ((symbol, grid.count(symbol)) for symbol, _ in machine.weights)
    return tuple((symbol, count) for symbol, count in counts if count >= machine.cluster)


def refill(grid: Grid, removed: set[str], below: Below, machine: CascadeMachine) -> Grid:
    """Return the grid after the removed symbols are gone, the others fell, and new ones came.

    New cells are drawn row by row from the top, left to right: the order of the stream.
    """
    return tuple(
        machine.symbol(below(BANDS)) if kept is None else kept for kept in _fallen(grid, removed)
    )


def _fallen(grid: Grid, removed: set[str]) -> Iterator[str | None]:
    """Yield the cells in order, None where a new symbol has to come."""
    columns: list[list[str | None]] = []
    for column in range(COLUMNS):
        kept = [symbol for symbol in grid[column::COLUMNS] if symbol not in removed]
        columns.append([*[None] * (ROWS - len(kept)), *kept])
    for row in range(ROWS):
        for column in range(COLUMNS):
            yield columns[column][row]
