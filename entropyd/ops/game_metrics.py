"""Draws by their kinds, and rounds of games by what became of them. Updated by the loop."""

from prometheus_client import CollectorRegistry, Counter

from entropyd.games.draw_kind import Kind
from entropyd.ops.series import Tally

KINDS = tuple(str(kind) for kind in Kind)
GAMES = ("roulette", "slots", "mines", "dice_poker", "blackjack")
# An instant game is opened and closed at once, and is counted as closed.
ROUND_OUTCOMES = ("opened", "closed", "voided")


class GameMetrics:
    """Counts what is drawn besides hands."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Make the series, all of them at 0."""
        self._draws = Tally(
            Counter(
                "entropyd_draws_by_kind_total",
                "Draws recorded that are no hands.",
                ("kind",),
                registry=registry,
            ),
            {"kind": KINDS},
        )
        self._rounds = Tally(
            Counter(
                "entropyd_rounds_total",
                "Rounds of seed-pair games.",
                ("game", "outcome"),
                registry=registry,
            ),
            {"game": GAMES, "outcome": ROUND_OUTCOMES},
        )

    def drew(self, kind: str) -> None:
        """Count a recorded draw by its kind, one of KINDS."""
        self._draws.add(kind=kind)

    def round(self, game: str, outcome: str) -> None:
        """Count a round by its game, one of GAMES, and by its outcome, one of ROUND_OUTCOMES."""
        self._rounds.add(game=game, outcome=outcome)
