"""The series of the noise sources: state, samples, credit, alarms and faults of each."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge

from entropyd.entropy.source import MILLIBITS_PER_BIT
from entropyd.ops.series import States, Tally

SOURCE_STATES = ("lost", "startup", "assessing", "healthy", "failed")
SEVERITIES = ("intermittent", "permanent")
RATES = ("unknown", "steady", "slow", "fast")
RATE_ALARMS = ("slow", "fast")
READ_FAULTS = ("SOURCE_ABSENT", "SOURCE_PROTOCOL", "SOURCE_TIMEOUT")


class SourceMetrics:
    """The series of one source. Updated by its reader, or by the loop on its behalf."""

    def __init__(self, family: "_SourceFamily", source: str, tests: tuple[str, ...]) -> None:
        self._state = States(family.state, "state", SOURCE_STATES, source=source)
        self._last_good = family.last_good.labels(source=source)
        self._samples = family.samples.labels(source=source)
        self._credited = family.credited.labels(source=source)
        self._assessed = family.assessed.labels(source=source)
        self._alarms = Tally(family.alarms, {"test": tests, "severity": SEVERITIES}, source=source)
        self._rate = States(family.rate, "state", RATES, source=source)
        self._rate_alarms = Tally(family.rate_alarms, {"kind": RATE_ALARMS}, source=source)
        self._reopens = family.reopens.labels(source=source)
        self._faults = Tally(family.faults, {"kind": READ_FAULTS}, source=source)
        self._restarts = family.restarts.labels(source=source)
        self._reservoir = family.reservoir.labels(source=source)

    def state(self, state: str) -> None:
        """Note the state that the source is in, one of SOURCE_STATES."""
        self._state.set(state)

    def samples(self, count: int, *, at_unix_s: float) -> None:
        """Count raw samples that the device delivered, good or not yet judged."""
        self._samples.inc(count)
        self._last_good.set(at_unix_s)

    def credited(self, millibits: int) -> None:
        """Count credit that went into the reservoir, in millibits."""
        self._credited.inc(millibits / MILLIBITS_PER_BIT)

    def assessed(self, millibits_per_sample: int) -> None:
        """Note the assessed min-entropy of a sample, 0 before the first assessment."""
        self._assessed.set(millibits_per_sample / MILLIBITS_PER_BIT)

    def alarm(self, test: str, severity: str) -> None:
        """Count a health alarm."""
        self._alarms.add(test=test, severity=severity)

    def rate(self, rate: str) -> None:
        """Note how fast samples come, one of RATES."""
        self._rate.set(rate)

    def rate_alarm(self, rate: str) -> None:
        """Count that samples began to come too slowly or too fast, one of RATE_ALARMS."""
        self._rate_alarms.add(kind=rate)

    def reopened(self) -> None:
        """Count a device that was opened again after a loss."""
        self._reopens.inc()

    def read_error(self, kind: str) -> None:
        """Count a failed open or read, by the reason code of its error."""
        self._faults.add(kind=kind)

    def reader_restarted(self) -> None:
        """Count a reader thread that died and was replaced."""
        self._restarts.inc()

    def reservoir(self, millibits: int) -> None:
        """Note the credit of this source that is ready to be dealt from, in millibits."""
        self._reservoir.set(millibits / MILLIBITS_PER_BIT)


class _SourceFamily:
    """The metrics that have a label `source`, before it has a value."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"entropyd_{name}", text, ("source", *labels), registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"entropyd_{name}", text, ("source", *labels), registry=registry)

        self.state = gauge("source_state", "1 for the state that the source is in.", "state")
        self.last_good = gauge(
            "source_last_good_timestamp_seconds", "When samples last came, Unix time; 0 for never."
        )
        self.samples = counter("source_samples_total", "Raw samples delivered.")
        self.credited = counter("source_credited_bits_total", "Credit given, in bits.")
        self.claimed = gauge("source_claimed_min_entropy_bits", "Claimed bits a sample.")
        self.assessed = gauge(
            "source_assessed_min_entropy_bits", "Assessed bits a sample; 0 before the first."
        )
        self.alarms = counter("health_alarms_total", "Health test alarms.", "test", "severity")
        self.rate = gauge(
            "source_rate_state", "1 for how fast samples come, beside the nominal rate.", "state"
        )
        self.rate_alarms = counter(
            "rate_alarms_total", "Samples began to come too slowly or too fast.", "kind"
        )
        self.reopens = counter("source_reopens_total", "Devices opened again after a loss.")
        self.faults = counter("source_read_errors_total", "Failed opens and reads.", "kind")
        self.restarts = counter("reader_restarts_total", "Reader threads that were replaced.")
        self.reservoir = gauge("reservoir_bits", "Credit ready to be dealt from, in bits.")


def make_source_metrics(
    registry: CollectorRegistry, claims: Mapping[str, int], tests: tuple[str, ...]
) -> dict[str, SourceMetrics]:
    """Create the series of all sources, each lost until its reader says otherwise.

    Args:
        registry: where they are registered.
        claims: claimed min-entropy of a sample in millibits, by source id.
        tests: names of the health tests.
    """
    family = _SourceFamily(registry)
    sources = {}
    for source, claimed_millibits in claims.items():
        family.claimed.labels(source=source).set(claimed_millibits / MILLIBITS_PER_BIT)
        sources[source] = SourceMetrics(family, source, tests)
        sources[source].state("lost")
        sources[source].rate("unknown")
    return sources
