"""Roulette: a wheel with two zeros.

Spec: docs/protocol.md, "Games".
"""

from dataclasses import dataclass

from entropyd.games.round_draws import Below

POCKETS = 38
# The pocket 00, which has no number of its own: 0 to 36 are their own numbers.
DOUBLE_ZERO = 37


@dataclass(frozen=True, slots=True)
class RouletteOutcome:
    """Where the ball fell.

    Attributes:
        pocket: 0 to 37; 37 is the double zero.
    """

    pocket: int

    def as_json(self) -> dict[str, object]:
        """Return the outcome as it stands in a round file."""
        return {"pocket": self.pocket}


def spin(below: Below) -> RouletteOutcome:
    """Return where the ball fell."""
    return RouletteOutcome(below(POCKETS))
