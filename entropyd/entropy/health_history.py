"""What a source's health tests did so far, and what follows from it.

The history outlives device connections and, through the ledger, the process:
neither reopening a device nor restarting the daemon washes an alarm. It is a
value; every event makes a new one.

Who owns it: the entropy source holds the present history, the ledger the
last stored one. Only an operator's reset takes a latch away.

Spec: SP 800-90B, section 4.3 (intermittent and persistent failures).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from entropyd.entropy.cutoffs import MAX_ALPHA_LOG2, MIN_ALPHA_LOG2
from entropyd.entropy.health import Failure, HealthTest, Verdict
from entropyd.errors import ConfigError, LedgerDamagedError, RequestError

# SPEC: SP 800-90B 4.3: start-up tests run over at least 1,024 consecutive samples.
MIN_STARTUP_SAMPLES = 1024

# Fewer samples assess ideal bytes at 5.4 bits, which is of no use to anybody.
MIN_ASSESSMENT_SAMPLES = 1024

_HOUR_NS = 3600 * 10**9

MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True)
class HealthPolicy:
    """How strict the health machine of one source is.

    The default limit of five intermittent failures an hour: a healthy source
    at 30 MB/s (the 240 Mbit/s card) meets the repetition cutoff at 2**-40 a
    sample, 0.098 times an hour. That a fifth one follows four within the hour
    before happens 0.098**5 / 4! = 3.8e-7 times an hour, once in 300 years; at
    the 500,000 B/s of a Quantis practically never. A device that fails one
    start-up after another reaches it within milliseconds.

    Attributes:
        intermittent_alpha_log2: log2 of the false alarm probability that costs
            a window and a start-up test, -100 to -20.
        permanent_alpha_log2: log2 of the one that latches the source off, below
            the other, at least -100.
        startup_samples: length of the start-up test, at least 1,024; rounded up
            to whole proportion windows.
        intermittent_limit: this many windows with an intermittent failure
            within `intermittent_window_ns` latch the source off, at least 2.
        intermittent_window_ns: nanoseconds of the monotonic clock, above 0.
        first_assessment_samples: samples after start-up before the first
            credit, at least 1,024.
        assessment_window_samples: most samples assessed at once, at least
            `first_assessment_samples`.
    """

    intermittent_alpha_log2: int = -40
    permanent_alpha_log2: int = -60
    startup_samples: int = MIN_STARTUP_SAMPLES
    intermittent_limit: int = 5
    intermittent_window_ns: int = _HOUR_NS
    first_assessment_samples: int = 65_536
    assessment_window_samples: int = 1_000_000

    def __post_init__(self) -> None:
        """Refuse a policy that the machine cannot keep. Raises ConfigError."""
        low, high = self.permanent_alpha_log2, self.intermittent_alpha_log2
        if not MIN_ALPHA_LOG2 <= low < high <= MAX_ALPHA_LOG2:
            raise ConfigError(
                f"alpha is 2**{high} for intermittent and 2**{low} for permanent failures;"
                f" expected {MIN_ALPHA_LOG2} <= permanent < intermittent <= {MAX_ALPHA_LOG2}"
            )
        first = self.first_assessment_samples
        for name, value, least in (
            ("startup_samples", self.startup_samples, MIN_STARTUP_SAMPLES),
            ("intermittent_limit", self.intermittent_limit, 2),
            ("intermittent_window_ns", self.intermittent_window_ns, 1),
            ("first_assessment_samples", first, MIN_ASSESSMENT_SAMPLES),
            ("assessment_window_samples", self.assessment_window_samples, first),
        ):
            if value < least:
                raise ConfigError(f"{name} is {value}; expected at least {least}: raise it")


class LatchReason(StrEnum):
    """Why a source is off until an operator resets it."""

    PERMANENT_FAILURE = "permanent-failure"
    TOO_MANY_INTERMITTENT_FAILURES = "too-many-intermittent-failures"


AlarmKind = tuple[HealthTest, Verdict]

_KINDS: dict[str, AlarmKind] = {f"{t}-{v}": (t, v) for t in HealthTest for v in Verdict}
# Every version writes these: a history without them is no history.
_ALWAYS_THERE = frozenset(f"{t}-{v}" for t in ("rct", "apt", "lag") for v in Verdict)
_NO_ALARMS: Mapping[AlarmKind, int] = MappingProxyType(dict.fromkeys(_KINDS.values(), 0))


@dataclass(frozen=True)
class HealthHistory:
    """Counts, latch and resets of one source since its first day.

    Attributes:
        alarms: how often each cutoff of each test was reached; every kind is there.
        startup_failures: start-up tests that failed.
        resets: resets by an operator.
        reset_reason: what the operator said at the last one; empty if never.
        latch: why the source is off; None while it is not.
        recent_ns: times of the failures that count against the limit, oldest
            first, nanoseconds of this process's monotonic clock.
    """

    alarms: Mapping[AlarmKind, int] = field(default_factory=lambda: _NO_ALARMS)
    startup_failures: int = 0
    resets: int = 0
    reset_reason: str = ""
    latch: LatchReason | None = None
    recent_ns: tuple[int, ...] = ()

    def with_alarm(self, failure: Failure) -> "HealthHistory":
        """Return the history after a test reached a cutoff. A permanent failure latches."""
        kind = (failure.test, failure.verdict)
        alarms = MappingProxyType({**self.alarms, kind: self.alarms[kind] + 1})
        if failure.verdict is Verdict.PERMANENT:
            return replace(self, alarms=alarms, latch=LatchReason.PERMANENT_FAILURE)
        return replace(self, alarms=alarms)

    def with_failed_window(
        self, now_ns: int, policy: HealthPolicy, *, during_startup: bool
    ) -> "HealthHistory":
        """Return the history after a window failed for the first time.

        What counts against the limit is the window: a second test that fires
        in a window already lost to the first sees the same fault.
        """
        oldest_ns = now_ns - policy.intermittent_window_ns
        recent_ns = (*(t for t in self.recent_ns if t > oldest_ns), now_ns)
        latch = self.latch
        if latch is None and len(recent_ns) >= policy.intermittent_limit:
            latch = LatchReason.TOO_MANY_INTERMITTENT_FAILURES
        failures = self.startup_failures + during_startup
        return replace(self, startup_failures=failures, latch=latch, recent_ns=recent_ns)

    def with_reset(self, reason: str) -> "HealthHistory":
        """Return the history after an operator's reset: no latch, nothing against the limit.

        Counts of alarms and failures stay: a reset forgives, it does not forget.

        Raises:
            RequestError: the reason is empty, too long or not one line of text. Nothing changed.
        """
        if not 1 <= len(reason) <= MAX_REASON_CHARACTERS or not reason.isprintable():
            raise RequestError(
                "reason",
                f"expected 1 to {MAX_REASON_CHARACTERS} printable characters that say why the"
                " source may be trusted again",
            )
        return replace(self, latch=None, recent_ns=(), resets=self.resets + 1, reset_reason=reason)

    def to_json(self) -> dict[str, object]:
        """Return the history for the ledger, as values that JSON knows.

        Times are kept as ages at the last failure, for a monotonic clock does
        not survive a restart.
        """
        return {
            "version": 1,
            "alarms": {name: self.alarms[kind] for name, kind in _KINDS.items()},
            "startup_failures": self.startup_failures,
            "resets": self.resets,
            "reset_reason": self.reset_reason,
            "latch": None if self.latch is None else str(self.latch),
            "recent_ages_ns": [max(0, self.recent_ns[-1] - t) for t in self.recent_ns],
        }

    @staticmethod
    def from_json(stored: object, now_ns: int) -> "HealthHistory":
        """Return the history that `to_json` gave, in a process whose clock reads `now_ns`.

        The last failure counts as if it happened now. How long the process
        was down is not known here, and taking it for nothing errs on the
        strict side.

        Raises:
            LedgerDamagedError: it is not what `to_json` writes. A history that
                cannot be read may hide a latch, so the source must not be used.
        """
        fields = _fields(stored, set(HealthHistory().to_json()))
        if fields["version"] != 1:
            raise _damaged(f"version {fields['version']!r}; expected 1")
        return HealthHistory(
            alarms=_alarms(fields["alarms"]),
            startup_failures=_count(fields["startup_failures"], "startup_failures"),
            resets=_count(fields["resets"], "resets"),
            reset_reason=_text(fields["reset_reason"]),
            latch=_latch(fields["latch"]),
            recent_ns=tuple(now_ns - age for age in _ages(fields["recent_ages_ns"])),
        )


def _damaged(what: str) -> LedgerDamagedError:
    return LedgerDamagedError(f"stored health history: {what}; restore the ledger from a backup")


def _fields(stored: object, expected: set[str]) -> dict[str, object]:
    if not isinstance(stored, dict) or set(stored) != expected:
        raise _damaged(f"expected exactly the fields {sorted(expected)}")
    return stored


def _alarms(stored: object) -> Mapping[AlarmKind, int]:
    """Return the counts. An older entropyd had fewer tests: theirs never fired.

    A newer one had more; after a rollback its counts are left out, and come back as 0.
    """
    if not isinstance(stored, dict) or not set(stored) >= _ALWAYS_THERE:
        raise _damaged(f"expected counts of at least {sorted(_ALWAYS_THERE)}")
    counts = {name: _count(count, str(name)) for name, count in stored.items()}
    return MappingProxyType({kind: counts.get(name, 0) for name, kind in _KINDS.items()})


def _count(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _damaged(f"{name} is not a count")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_REASON_CHARACTERS:
        raise _damaged("reset_reason is not a short text")
    return value


def _latch(value: object) -> LatchReason | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in set(LatchReason):
        raise _damaged("unknown latch")
    return LatchReason(value)


def _ages(value: object) -> list[int]:
    if not isinstance(value, list):
        raise _damaged("recent_ages_ns is not a list")
    ages = [_count(age, "recent_ages_ns") for age in value]
    if ages != sorted(ages, reverse=True):
        raise _damaged("recent_ages_ns is not in order")
    return ages
