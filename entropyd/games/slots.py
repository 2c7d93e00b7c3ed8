"""Slots with reels: classic, mini, high roller.

Spec: docs/protocol.md, "Games".
"""

from dataclasses import dataclass

from entropyd.games.round_draws import Below


@dataclass(frozen=True, slots=True)
class ReelMachine:
    """A machine whose every draw stops the same reel.

    Attributes:
        draws: how many symbols show, row by row from the top, each from left to right.
        reel: the symbols of the reel, at least one.
    """

    draws: int
    reel: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReelOutcome:
    """What shows.

    Attributes:
        stops: places of the reel, from 0, one a draw.
        symbols: what stands there.
    """

    stops: tuple[int, ...]
    symbols: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """Return the outcome as it stands in a round file."""
        return {"stops": list(self.stops), "symbols": list(self.symbols)}


def spin(below: Below, machine: ReelMachine) -> ReelOutcome:
    """Return where the reel stopped, once for each symbol that shows."""
    stops = tuple(below(len(machine.reel)) for _ in range(machine.draws))
    return ReelOutcome(stops, tuple(machine.reel[stop] for stop in stops))
