"""Dice poker: five dice against five.

Spec: docs/protocol.md, "Games".
"""

from dataclasses import dataclass

from entropyd.games.round_draws import Below

FACES = 6
DICE = 5


@dataclass(frozen=True, slots=True)
class DicePokerOutcome:
    """Two hands of dice, each die 1 to 6.

    Attributes:
        bot: the five dice that are rolled first.
        player: the five that follow.
    """

    bot: tuple[int, ...]
    player: tuple[int, ...]

    def as_json(self) -> dict[str, object]:
        """Return the outcome as it stands in a round file."""
        return {"bot": list(self.bot), "player": list(self.player)}


def roll(below: Below) -> DicePokerOutcome:
    """Return both hands; the bot's dice are rolled first."""
    dice = tuple(below(FACES) + 1 for _ in range(2 * DICE))
    return DicePokerOutcome(bot=dice[:DICE], player=dice[DICE:])
