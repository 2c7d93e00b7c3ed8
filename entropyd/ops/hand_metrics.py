"""Hands that are dealt card by card: their steps, how they end, and alarms. Updated by the loop."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from entropyd.ops.series import Tally

# Steps of callers, and the states that time or an end brings about.
STEPS = ("open", "contribute", "deal", "rolled", "sealed", "closed", "void")
# A caller's own reasons are `other`.
VOIDS = ("unopened", "expired", "adopted")


class HandMetrics:
    """Counts what becomes of hands."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Make the series, all of them at 0."""
        self._steps = Tally(
            Counter(
                "entropyd_hand_steps_total",
                "Steps recorded of hands that are dealt card by card.",
                ("step",),
                registry=registry,
            ),
            {"step": STEPS},
        )
        self._voids = Tally(
            Counter(
                "entropyd_hands_voided_total",
                "Hands that are void, by reason.",
                ("reason",),
                registry=registry,
            ),
            {"reason": VOIDS},
        )
        self._alarms = Counter(
            "entropyd_hand_place_alarms_total",
            "Calls for a place that was dealt with another claim or to others.",
            registry=registry,
        )
        self._live = Gauge("entropyd_hands_live", "Hands that have not ended.", registry=registry)
        self._overdue = Gauge(
            "entropyd_hands_overdue_seconds",
            "For how long the oldest window or expiry has been over that is not recorded.",
            registry=registry,
        )

    def stepped(self, step: str) -> None:
        """Count a recorded step, one of STEPS."""
        self._steps.add(step=step)

    def voided(self, reason: str) -> None:
        """Count a hand that is void."""
        self._voids.add(reason=reason)

    def place_alarm(self) -> None:
        """Count a second claim for a place."""
        self._alarms.inc()

    def stood(self, *, live: int, overdue_s: float) -> None:
        """Note how many hands go on, and how late the sweep is."""
        self._live.set(live)
        self._overdue.set(overdue_s)
