"""What the daemon shows of itself to Prometheus: every series, from the first scrape on.

One `Metrics` holds one registry. All label values are known when it is built
and every series exists from then on, so that an alert on a series that is
not there means that the daemon is not there. A value that was not announced is
counted as `other`: labels stay bounded, and no label is a player, a hand or
anything else that a caller chooses.

Seconds and bytes; `_total` on counters alone. The methods are safe to call
from any thread and never block on anything but prometheus_client's own locks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector

from entropyd.entropy.source import MILLIBITS_PER_BIT
from entropyd.errors import InternalError
from entropyd.ops.game_metrics import GameMetrics
from entropyd.ops.hand_metrics import HandMetrics
from entropyd.ops.log_metrics import LogMetrics
from entropyd.ops.series import States, Tally
from entropyd.ops.source_metrics import SourceMetrics, make_source_metrics

NANOSECONDS = 1_000_000_000

DRAW_OUTCOMES = (
    "recorded",  # a new hand, in the ledger
    "replayed",  # answered from the ledger, nothing drawn
    "spent",  # drawn, and its id was taken meanwhile: thrown away unseen
    "unrecorded",  # the ledger cannot record: not drawn, or drawn and thrown away unseen
    "held",  # answered with UNAVAILABLE at the end of its time
    "overloaded",  # refused at once, the queue was full
    "refused",  # no draw: bad request, spent id, no permission
    "cancelled",  # the caller went away
)
# Those that waited in vain: their time counts as a wait. All others were told at once.
WAITING_OUTCOMES = frozenset({"held", "cancelled"})
USER_ENTROPY_OUTCOMES = ("accepted", "replayed", "limited", "refused")
GRPC_CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)

# From an answer out of memory (0.5 ms) over a synced write (some ms) to the longest hold (5 s, and
# one bucket above it); three a decade resolve a doubling of a percentile.
LATENCY_BUCKETS_S = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip


@dataclass(frozen=True)
class Vocabulary:
    """Every value that a label can have, known at start.

    Attributes:
        sources: claimed min-entropy of a sample of each source, in millibits, by source id.
        tenants: the configured tenants.
        health_tests: names of the health tests.
        hold_reasons: what the gate can wait for, UPPER_SNAKE.
        methods: RPC methods as `Service/Method`.
    """

    sources: Mapping[str, int]
    tenants: tuple[str, ...]
    health_tests: tuple[str, ...]
    hold_reasons: tuple[str, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Constants:
    """What stays as it is while the daemon runs.

    Attributes:
        start_unix_s: when it started, Unix time.
        version: the release.
        config_hash: fingerprint of the settings in effect at first.
        simulated: a source is an emulator, a mock or a recording.
        production: the mode that refuses such sources and a lowered gate.
        seed_millibits: hardware credit that a seed costs when users gave nothing.
        min_free_bytes: with less room for the ledger, draws are refused.
    """

    start_unix_s: float
    version: str
    config_hash: str
    simulated: bool
    production: bool
    seed_millibits: int
    min_free_bytes: int


class GateMetrics:
    """Holds, waiters, draws and the DRBG. Updated by the loop."""

    def __init__(
        self, registry: CollectorRegistry, vocabulary: Vocabulary, clock_ns: Callable[[], int]
    ) -> None:
        self._clock_ns = clock_ns
        self._held_since_ns: int | None = None
        self._can_deal = Gauge(
            "entropyd_can_deal",
            "1 while a draw asked for now could be dealt, as /readyz says.",
            registry=registry,
        )
        self._held = States(
            Gauge(
                "entropyd_gate_held", "1 for what the gate waits for.", ("why",), registry=registry
            ),
            "why",
            vocabulary.hold_reasons,
        )
        Gauge(
            "entropyd_hold_seconds", "How long draws have been waiting now.", registry=registry
        ).set_function(self._hold_s)
        self._waiters = Gauge("entropyd_waiters", "Draws that wait for a seed.", registry=registry)
        self._draws = Tally(
            Counter("entropyd_draws_total", "Draws asked for.", ("outcome",), registry=registry),
            {"outcome": DRAW_OUTCOMES},
        )
        self._wait = Histogram(
            "entropyd_draw_wait_seconds",
            "From the request to the record of a draw, or to the end of a wait without one.",
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        )
        self._reseeds = Counter(
            "entropyd_drbg_reseeds_total", "Reseeds of the DRBG.", registry=registry
        )
        self._instantiated = Gauge(
            "entropyd_drbg_instantiated", "1 while the DRBG can be drawn from.", registry=registry
        )

    def ask_can_deal(self, can_deal: Callable[[], bool]) -> None:
        """Have every scrape ask, on its own thread: an event loop that hangs must show too."""
        self._can_deal.set_function(lambda: float(can_deal()))

    def held(self, why: str) -> None:
        """Note that draws wait, and for what. The time counts from the first of such calls."""
        if self._held_since_ns is None:
            self._held_since_ns = self._clock_ns()
        self._held.set(why)

    def released(self) -> None:
        """Note that nothing waits any more."""
        self._held_since_ns = None
        self._held.clear()

    def waiters(self, count: int) -> None:
        """Note how many draws wait."""
        self._waiters.set(count)

    def draw(self, outcome: str, *, waited_s: float | None = None) -> None:
        """Count a draw by its outcome, one of DRAW_OUTCOMES, with the time it waited."""
        self._draws.add(outcome=outcome)
        if waited_s is not None:
            self._wait.observe(waited_s)

    def drew(self, outcome: str, waits_s: Sequence[float]) -> None:
        """Count draws that ended together, with the time that each waited."""
        self._draws.add(len(waits_s), outcome=outcome)
        for wait_s in waits_s:
            self._wait.observe(wait_s)

    def reseeded(self, count: int = 1) -> None:
        """Count reseeds of the DRBG."""
        self._reseeds.inc(count)

    def instantiated(self, *, now: bool) -> None:
        """Note whether the DRBG can be drawn from."""
        self._instantiated.set(int(now))

    def _hold_s(self) -> float:
        since_ns = self._held_since_ns
        return 0.0 if since_ns is None else (self._clock_ns() - since_ns) / NANOSECONDS


class LedgerMetrics:
    """The record. Updated by the writer thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._commits = Counter(
            "entropyd_ledger_commits_total", "Synced commits.", registry=registry
        )
        self._rows = Counter("entropyd_ledger_rows_total", "Rows recorded.", registry=registry)
        self._failures = Counter(
            "entropyd_ledger_failures_total", "Commits that were not confirmed.", registry=registry
        )
        self._seconds = Histogram(
            "entropyd_ledger_commit_seconds",
            "Duration of a commit with its sync.",
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        )
        self._hands = Gauge("entropyd_ledger_hands", "Hands recorded.", registry=registry)
        self._free = Gauge(
            "entropyd_ledger_free_bytes", "Room left where the ledger is.", registry=registry
        )
        self._queued = Gauge(
            "entropyd_ledger_queued", "Draws that wait for a commit.", registry=registry
        )
        self._stalled = Gauge(
            "entropyd_ledger_stalled_seconds",
            "How long the commit that runs has been running; 0 if none does.",
            registry=registry,
        )
        self._last = Gauge(
            "entropyd_ledger_last_success_timestamp_seconds",
            "When a commit last succeeded, Unix time; 0 for never.",
            registry=registry,
        )

        self._anchor = Gauge(
            "entropyd_ledger_anchor_age_seconds",
            "Since when the anchor has not been as far as the ledger; 0 without an anchor.",
            registry=registry,
        )

    def anchor(self, age_s: float) -> None:
        """Note the age of the anchor: a second or two, or it cannot be written."""
        self._anchor.set(age_s)

    def committed(self, rows: int, *, seconds: float, at_unix_s: float) -> None:
        """Count a synced commit of `rows` rows."""
        self._commits.inc()
        self._rows.inc(rows)
        self._seconds.observe(seconds)
        self._last.set(at_unix_s)

    def failed(self) -> None:
        """Count a commit that the store did not confirm."""
        self._failures.inc()

    def waiting(self, queued: int, *, stalled_s: float) -> None:
        """Note how many draws wait for a commit, and since when the one that runs does."""
        self._queued.set(queued)
        self._stalled.set(stalled_s)

    def hands(self, count: int) -> None:
        """Note how many hands are recorded."""
        self._hands.set(count)

    def free(self, free_bytes: int) -> None:
        """Note the room left in the state directory."""
        self._free.set(free_bytes)


class RequestMetrics:
    """Calls by method and code. Updated by the service."""

    def __init__(self, registry: CollectorRegistry, methods: tuple[str, ...]) -> None:
        self._requests = Tally(
            Counter(
                "entropyd_requests_total", "Calls answered.", ("method", "code"), registry=registry
            ),
            {"method": methods, "code": GRPC_CODES},
        )
        seconds = Histogram(
            "entropyd_request_seconds",
            "From the call to its answer.",
            ("method",),
            buckets=LATENCY_BUCKETS_S,
            registry=registry,
        )
        self._seconds = {method: seconds.labels(method=method) for method in (*methods, "other")}

    def answered(self, method: str, code: str, *, seconds: float) -> None:
        """Count a call by its method and gRPC code name, with its duration."""
        self._requests.add(method=method, code=code)
        self._seconds.get(method, self._seconds["other"]).observe(seconds)


class UserMetrics:
    """User entropy by tenant. Updated by the loop."""

    def __init__(self, registry: CollectorRegistry, tenants: tuple[str, ...]) -> None:
        pool = Gauge(
            "entropyd_user_pool_bits",
            "Estimate of a tenant's pool.",
            ("tenant",),
            registry=registry,
        )
        self._pools = {tenant: pool.labels(tenant=tenant) for tenant in tenants}
        self._contributions = Tally(
            Counter(
                "entropyd_user_contributions_total",
                "User entropy received.",
                ("tenant", "outcome"),
                registry=registry,
            ),
            {"tenant": tenants, "outcome": USER_ENTROPY_OUTCOMES},
        )

    def contributed(self, tenant: str, outcome: str) -> None:
        """Count a contribution by its outcome, one of USER_ENTROPY_OUTCOMES."""
        self._contributions.add(tenant=tenant, outcome=outcome)

    def pool(self, tenant: str, millibits: int) -> None:
        """Note the estimate of a configured tenant's pool, in millibits."""
        if tenant in self._pools:
            self._pools[tenant].set(millibits / MILLIBITS_PER_BIT)


class Metrics:
    """All series of one daemon.

    Attributes:
        registry: what /metrics serves.
        gate, ledger, requests, users, games, hands, log: the parts, each for the one who updates
            it.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        constants: Constants,
        *,
        clock_ns: Callable[[], int],
    ) -> None:
        # Off for the whole process: a `_created` gauge beside each counter doubles a scrape.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._sources = make_source_metrics(
            self.registry, vocabulary.sources, vocabulary.health_tests
        )
        self.gate = GateMetrics(self.registry, vocabulary, clock_ns)
        self.ledger = LedgerMetrics(self.registry)
        self.requests = RequestMetrics(self.registry, vocabulary.methods)
        self.users = UserMetrics(self.registry, vocabulary.tenants)
        self.games = GameMetrics(self.registry)
        self.hands = HandMetrics(self.registry)
        self.log = LogMetrics(self.registry, clock_ns)
        self._degraded = self._gauge("degraded", "1 while a source is missing or out of credit.")
        self._heartbeat = self._gauge(
            "loop_heartbeat_timestamp_seconds", "When the event loop last turned, Unix time."
        )
        self._certificate_ends = Gauge(
            "entropyd_certificate_not_after_timestamp_seconds",
            "When the certificate that a listener shows expires, Unix time.",
            ("listener",),
            registry=self.registry,
        )
        self._certificate_stale = Gauge(
            "entropyd_certificate_stale",
            "1 while a certificate's files cannot be used and the one before is shown.",
            ("listener",),
            registry=self.registry,
        )
        self._config_hash = Info(
            "entropyd_config_hash", "Settings in effect.", registry=self.registry
        )
        self._show(constants)
        ProcessCollector(registry=self.registry)

    def source(self, source_id: str) -> SourceMetrics:
        """Return the series of a configured source.

        Raises:
            InternalError: no such source was configured.
        """
        if source_id not in self._sources:
            raise InternalError(f"source {source_id} has no metrics; announce it at start")
        return self._sources[source_id]

    def degraded(self, *, now: bool) -> None:
        """Note whether draws are answered with less than what is configured."""
        self._degraded.set(int(now))

    def configured(self, config_hash: str) -> None:
        """Note the fingerprint of the settings in effect."""
        self._config_hash.info({"sha256": config_hash})

    def certificate(self, listener: str, *, not_after_unix_s: float, stale: bool) -> None:
        """Note what a TLS listener shows, from its start on."""
        self._certificate_ends.labels(listener=listener).set(not_after_unix_s)
        self._certificate_stale.labels(listener=listener).set(int(stale))

    def heartbeat(self, *, at_unix_s: float) -> None:
        """Note that the event loop turned."""
        self._heartbeat.set(at_unix_s)

    def _show(self, constants: Constants) -> None:
        for name, text, value in (
            ("simulated", "1 if a source is no noise source.", constants.simulated),
            ("production", "1 in the mode that refuses such a source.", constants.production),
            ("start_time_seconds", "When the daemon started, Unix time.", constants.start_unix_s),
            (
                "seed_cost_bits",
                "Hardware credit that a seed costs when users gave nothing.",
                constants.seed_millibits / MILLIBITS_PER_BIT,
            ),
            (
                "ledger_min_free_bytes",
                "With less room draws are refused.",
                constants.min_free_bytes,
            ),
        ):
            self._gauge(name, text).set(value)
        Info("entropyd_build", "The release.", registry=self.registry).info(
            {"version": constants.version}
        )
        self.configured(constants.config_hash)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"entropyd_{name}", text, registry=self.registry)
