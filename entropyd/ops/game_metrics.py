"""Draws by their kinds, and rounds by their games. Updated by the loop."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from entropyd.games.draw_kind import Kind
from entropyd.ops.series import Tally

KINDS = tuple(str(kind) for kind in Kind)
GAMES = ("roulette", "slots", "mines", "dice_poker", "blackjack")


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
                "Rounds of seed-pair games played.",
                ("game",),
                registry=registry,
            ),
            {"game": GAMES},
        )
        self._revealed = Counter(
            "entropyd_fair_pairs_expired_total",
            "Seed pairs that were revealed because nobody rotated them in time.",
            registry=registry,
        )
        self._overdue = Gauge(
            "entropyd_fair_pairs_overdue",
            "Seed pairs that should have been revealed at the last look.",
            registry=registry,
        )

    def drew(self, kind: str) -> None:
        """Count a recorded draw by its kind, one of KINDS."""
        self._draws.add(kind=kind)

    def played(self, game: str) -> None:
        """Count a round by its game, one of GAMES."""
        self._rounds.add(game=game)

    def swept(self, *, revealed: int, overdue: int) -> None:
        """Note what a look at all pairs found."""
        self._revealed.inc(revealed)
        self._overdue.set(overdue)
