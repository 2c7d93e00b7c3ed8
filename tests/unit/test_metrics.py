"""Every series exists from the first scrape, with bounded labels and honest names."""

import re
import threading

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from entropyd.entropy.source_state import SourceState
from entropyd.errors import InternalError, SourceError
from entropyd.ops.hand_metrics import STEPS, VOIDS
from entropyd.ops.metrics import DRAW_OUTCOMES, GRPC_CODES, Constants, Metrics, Vocabulary
from entropyd.ops.observer import Observer
from entropyd.ops.series import Tally
from entropyd.ops.source_metrics import RATE_ALARMS, RATES, READ_FAULTS, SEVERITIES, SOURCE_STATES

VOCABULARY = Vocabulary(
    sources={"q1": 6000, "q2": 4500},
    tenants=("acme",),
    health_tests=("repetition-count", "adaptive-proportion"),
    hold_reasons=("SOURCE_LOST", "HARDWARE_SHORT"),
    methods=("ShuffleService/Shuffle", "ShuffleService/GetShuffle"),
)


CONSTANTS = Constants(
    start_unix_s=1_700_000_000.0,
    version="0.1.0",
    config_hash="ab" * 32,
    simulated=True,
    production=False,
    seed_millibits=569_000,
    min_free_bytes=5 << 30,
)


class Clock:
    """A monotonic clock that moves when told to."""

    def __init__(self):
        self.now_ns = 1_000

    def __call__(self):
        return self.now_ns


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def metrics(clock):
    return Metrics(VOCABULARY, CONSTANTS, clock_ns=clock)


def series(metrics):
    """Return what a scrape gives of ours: {(name, sorted labels): value}."""
    text = generate_latest(metrics.registry).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("entropyd_")
    }


def value(metrics, name, **labels):
    return series(metrics)[f"entropyd_{name}", tuple(sorted(labels.items()))]


def use_everything(metrics):
    for source_id in VOCABULARY.sources:
        source = metrics.source(source_id)
        for state in (*SOURCE_STATES, "melted"):
            source.state(state)
        source.samples(512, at_unix_s=1.0)
        source.credited(6000)
        source.assessed(5500)
        source.alarm("repetition-count", "permanent")
        source.alarm("a test of tomorrow", "permanent")
        for rate in (*RATES, "of light"):
            source.rate(rate)
        source.rate_alarm("slow")
        source.rate_alarm("anything else")
        source.reopened()
        source.read_error("SOURCE_ABSENT")
        source.read_error("anything else")
        source.reader_restarted()
        source.reservoir(123_456)
    metrics.gate.held("SOURCE_LOST")
    metrics.gate.held("A_REASON_OF_TOMORROW")
    metrics.gate.waiters(7)
    metrics.gate.released()
    for outcome in (*DRAW_OUTCOMES, "lost in the post"):
        metrics.gate.draw(outcome, waited_s=0.1)
    metrics.gate.reseeded()
    metrics.gate.instantiated(now=True)
    metrics.ledger.committed(3, seconds=0.01, at_unix_s=2.0)
    metrics.ledger.failed()
    metrics.ledger.waiting(2, stalled_s=1.5)
    metrics.ledger.hands(3)
    metrics.ledger.free(10**9)
    metrics.ledger.anchor(0.5)
    for method in (*VOCABULARY.methods, "table-9/hand-77"):
        for code in (*GRPC_CODES, "player-4711"):
            metrics.requests.answered(method, code, seconds=0.2)
    for step in (*STEPS, "hand-77"):
        metrics.hands.stepped(step)
    for reason in (*VOIDS, "player-4711 left"):
        metrics.hands.voided(reason)
    metrics.hands.place_alarm()
    metrics.hands.stood(live=3, overdue_s=0.5)
    metrics.users.contributed("acme", "accepted")
    metrics.users.contributed("a tenant that is not configured", "player-4711")
    metrics.users.pool("acme", 249_000)
    metrics.users.pool("a tenant that is not configured", 1)
    metrics.degraded(now=True)
    metrics.heartbeat(at_unix_s=3.0)


def test_use_adds_no_series(metrics):
    """What the first scrape shows is all there will ever be, whatever callers send."""
    first = set(series(metrics))
    use_everything(metrics)
    assert first == set(series(metrics))


def test_no_label_comes_from_a_caller(metrics):
    use_everything(metrics)
    values = {value for _, labels in series(metrics) for _, value in labels}
    assert [
        text for text in values if re.search(r"player|hand-|table-|tomorrow|not conf", text)
    ] == []
    names = {name for _, labels in series(metrics) for name, _ in labels}
    expected = {
        "source", "state", "test", "severity", "kind", "why", "outcome", "method", "code", "tenant",
        "le", "version", "sha256", "game", "step", "reason",
    }  # fmt: skip
    assert names == expected


def test_every_series_is_there_from_the_first_scrape(metrics):
    found = series(metrics)
    expected = []
    for source in VOCABULARY.sources:
        expected += [("source_state", {"source": source, "state": s}) for s in SOURCE_STATES]
        expected += [("source_rate_state", {"source": source, "state": rate}) for rate in RATES]
        expected += [
            ("rate_alarms_total", {"source": source, "kind": kind}) for kind in RATE_ALARMS
        ]
        expected += [
            ("health_alarms_total", {"source": source, "test": test, "severity": severity})
            for test in VOCABULARY.health_tests
            for severity in SEVERITIES
        ]
        expected += [
            ("source_read_errors_total", {"source": source, "kind": kind}) for kind in READ_FAULTS
        ]
        expected += [
            (name, {"source": source})
            for name in (
                "source_last_good_timestamp_seconds", "source_samples_total",
                "source_credited_bits_total", "source_claimed_min_entropy_bits",
                "source_assessed_min_entropy_bits", "source_reopens_total",
                "reader_restarts_total", "reservoir_bits",
            )
        ]  # fmt: skip
    expected += [("gate_held", {"why": why}) for why in VOCABULARY.hold_reasons]
    expected += [("draws_total", {"outcome": outcome}) for outcome in DRAW_OUTCOMES]
    expected += [
        ("requests_total", {"method": method, "code": code})
        for method in VOCABULARY.methods
        for code in GRPC_CODES
    ]
    expected += [("request_seconds_count", {"method": method}) for method in VOCABULARY.methods]
    expected += [
        (name, {})
        for name in (
            "hold_seconds", "draw_wait_seconds_count", "waiters", "ledger_commits_total",
            "ledger_rows_total", "ledger_commit_seconds_count", "ledger_failures_total",
            "ledger_hands", "ledger_free_bytes", "ledger_last_success_timestamp_seconds",
            "ledger_queued", "ledger_stalled_seconds", "ledger_min_free_bytes",
            "ledger_anchor_age_seconds",
            "drbg_reseeds_total", "drbg_instantiated", "degraded", "simulated", "production",
            "start_time_seconds", "loop_heartbeat_timestamp_seconds", "can_deal",
            "seed_cost_bits",
        )
    ]  # fmt: skip
    keys = [(f"entropyd_{name}", tuple(sorted(labels.items()))) for name, labels in expected]
    assert [key for key in keys if key not in found] == []


def test_the_states_and_faults_are_those_of_the_sources():
    """A state or fault that is added to the machine must get its series."""
    assert set(SOURCE_STATES) == {str(state) for state in SourceState}
    assert set(READ_FAULTS) == {error.reason for error in SourceError.__subclasses__()}


def test_names_follow_the_conventions(metrics):
    """Counters end in _total and nothing else does; no _created doubles a scrape."""
    use_everything(metrics)
    text = generate_latest(metrics.registry).decode()
    kinds = dict(re.findall(r"(?m)^# TYPE (entropyd_\S+) (\S+)$", text))
    assert [n for n, kind in kinds.items() if (kind == "counter") != n.endswith("_total")] == []
    assert [n for n in kinds if re.search(r"_created|_ms$|_milli|_kib|_ns$", n)] == []


def test_a_source_is_lost_until_it_says_otherwise(metrics):
    assert value(metrics, "source_state", source="q1", state="lost") == 1
    assert value(metrics, "source_last_good_timestamp_seconds", source="q1") == 0
    assert value(metrics, "source_claimed_min_entropy_bits", source="q2") == 4.5


@pytest.mark.parametrize("state", [*SOURCE_STATES, "melted"])
def test_a_source_is_in_exactly_one_state(metrics, state):
    source = metrics.source("q1")
    source.state("healthy")
    source.state(state)
    present = {
        dict(labels)["state"]
        for (name, labels), number in series(metrics).items()
        if name == "entropyd_source_state" and ("source", "q1") in labels and number == 1
    }
    expected = {state if state in SOURCE_STATES else "other"}
    assert expected == present


def test_what_is_counted_is_shown_in_bits_and_seconds(metrics):
    use_everything(metrics)
    assert value(metrics, "source_samples_total", source="q1") == 512
    assert value(metrics, "source_last_good_timestamp_seconds", source="q1") == 1.0
    assert value(metrics, "source_credited_bits_total", source="q1") == 6.0
    assert value(metrics, "source_assessed_min_entropy_bits", source="q1") == 5.5
    assert value(metrics, "reservoir_bits", source="q1") == 123.456
    assert value(metrics, "user_pool_bits", tenant="acme") == 249.0
    assert value(metrics, "draws_total", outcome="other") == 1
    assert value(metrics, "requests_total", method="other", code="OK") == 1
    assert value(metrics, "requests_total", method="other", code="other") == 1
    assert value(metrics, "request_seconds_count", method="other") == len(GRPC_CODES) + 1
    assert value(metrics, "ledger_rows_total") == 3
    assert value(metrics, "ledger_queued") == 2
    assert value(metrics, "ledger_stalled_seconds") == 1.5
    assert value(metrics, "ledger_anchor_age_seconds") == 0.5
    assert value(metrics, "ledger_min_free_bytes") == 5 << 30
    assert value(metrics, "seed_cost_bits") == 569.0
    assert value(metrics, "simulated") == 1
    assert value(metrics, "production") == 0
    assert value(metrics, "start_time_seconds") == 1_700_000_000
    assert value(metrics, "build_info", version="0.1.0") == 1
    assert value(metrics, "config_hash_info", sha256="ab" * 32) == 1


def test_a_hold_lasts_from_its_first_report_to_its_release(metrics, clock):
    """The reason may change on the way; the time is read when somebody looks."""
    assert value(metrics, "hold_seconds") == 0
    metrics.gate.held("SOURCE_LOST")
    clock.now_ns += 2_000_000_000
    metrics.gate.held("HARDWARE_SHORT")
    clock.now_ns += 500_000_000
    assert value(metrics, "hold_seconds") == 2.5
    assert value(metrics, "gate_held", why="SOURCE_LOST") == 0
    assert value(metrics, "gate_held", why="HARDWARE_SHORT") == 1
    metrics.gate.released()
    assert value(metrics, "hold_seconds") == 0
    assert value(metrics, "gate_held", why="HARDWARE_SHORT") == 0


def test_whether_dealing_is_possible_is_asked_at_each_scrape(metrics):
    """Nobody has to tell: an event loop that hangs could not."""
    assert value(metrics, "can_deal") == 0
    answers = [True, False]
    metrics.gate.ask_can_deal(lambda: answers.pop(0))
    assert value(metrics, "can_deal") == 1
    assert value(metrics, "can_deal") == 0


@pytest.mark.parametrize("outcome", ["replayed", "refused", "overloaded", "held", "cancelled"])
def test_who_waited_in_vain_counts_as_a_wait(metrics, clock, outcome):
    """Otherwise the longest waits of a hold would be in no percentile."""
    observer = Observer(metrics, clock_ns=clock, wall_s=lambda: 0.0)
    observer.undrawn(outcome, lasted_s=4.95)
    waited = outcome in {"held", "cancelled"}
    assert value(metrics, "draw_wait_seconds_count") == waited
    assert value(metrics, "draw_wait_seconds_sum") == 4.95 * waited
    assert value(metrics, "draws_total", outcome=outcome) == 1


def test_a_source_that_was_not_announced_is_a_defect(metrics):
    with pytest.raises(InternalError, match="source q3 has no metrics"):
        metrics.source("q3")


def test_two_daemons_in_one_process_share_nothing(metrics, clock):
    other = Metrics(VOCABULARY, CONSTANTS, clock_ns=clock)
    metrics.gate.reseeded()
    assert value(metrics, "drbg_reseeds_total") == 1
    assert value(other, "drbg_reseeds_total") == 0


def test_counting_from_many_threads_loses_nothing():
    registry = CollectorRegistry()
    counter = Counter("entropyd_x", "text", ("a", "b"), registry=registry)
    tally = Tally(counter, {"a": ("1", "2")}, b="fixed")

    def count():
        for _ in range(2_000):
            tally.add(a="2")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.get_sample_value("entropyd_x_total", {"a": "2", "b": "fixed"}) == 8_000
