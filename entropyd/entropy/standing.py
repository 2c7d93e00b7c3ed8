"""How the sources stand: which of them count, what for, and what is wrong with the others.

A source counts if it is hardware (an emulator or recording only where the
policy allows it), healthy, and has credit.
"""

from collections.abc import Iterable, Mapping

from entropyd.entropy.gated import HoldReason, SourceFacts
from entropyd.entropy.source import SourceKind
from entropyd.entropy.source_state import SourceState

SIMULATED = frozenset({SourceKind.MOCK, SourceKind.REPLAY})

# Why a source does not count, and what is awaited then.
Fault = tuple[HoldReason, str]

_STATE_FAULTS: dict[SourceState, Fault] = {
    SourceState.FAILED: (
        HoldReason.SOURCE_FAILED,
        "failed its health tests for good; awaited: an operator who replaces or resets it",
    ),
    SourceState.LOST: (
        HoldReason.SOURCE_LOST,
        "is lost; awaited: the device, to be opened and tested again",
    ),
    SourceState.STARTUP: (
        HoldReason.SOURCE_STARTUP,
        "is in its start-up test; awaited: that it passes",
    ),
    SourceState.ASSESSING: (
        HoldReason.SOURCE_ASSESSING,
        "has not been assessed yet; awaited: enough samples to assess",
    ),
}
_NO_CREDIT: Fault = (
    HoldReason.SOURCE_ASSESSING,
    "has no credit now; awaited: an assessment above 0",
)
# `HoldReason` lists its members gravest first.
_GRAVITY = {reason: rank for rank, reason in enumerate(HoldReason)}


class Standings:
    """The facts of every known source. Owned by the gate.

    Attributes:
        credit: millibits a sample of each source that counts; read-only outside.
    """

    def __init__(self, *, allow_simulated: bool) -> None:
        self._allow_simulated = allow_simulated
        self._facts: dict[str, SourceFacts] = {}
        self._faults: dict[str, Fault] = {}
        self.credit: dict[str, int] = {}

    @property
    def faulty(self) -> bool:
        """Whether a known source does not count."""
        return bool(self._faults)

    @property
    def facts(self) -> Mapping[str, SourceFacts]:
        """The facts of every known source by its id."""
        return self._facts

    def set(self, source_id: str, facts: SourceFacts) -> bool:
        """Note how a source stands; return whether it counts."""
        self._facts[source_id] = facts
        self._faults.pop(source_id, None)
        self.credit.pop(source_id, None)
        fault = self._fault(facts)
        if fault is None:
            self.credit[source_id] = facts.current_millibits
        else:
            self._faults[source_id] = fault
        return fault is None

    def required_fault(self) -> Fault | None:
        """Return the gravest fault of a required source, its text naming the source."""
        return self._gravest(name for name in self._faults if self._facts[name].required)

    def fault_of_too_few(self, needed: int) -> Fault | None:
        """Return the gravest fault of any source, if fewer than `needed` count."""
        return None if len(self.credit) >= needed else self._gravest(self._faults)

    def _gravest(self, names: Iterable[str]) -> Fault | None:
        name = min(names, key=lambda name: _GRAVITY[self._faults[name][0]], default=None)
        if name is None:
            return None
        why, text = self._faults[name]
        detail = self._facts[name].detail
        return why, f"source {name!r} {text}" + (f" ({detail})" if detail else "")

    def _fault(self, facts: SourceFacts) -> Fault | None:
        """Return why a source does not count, or None if it does."""
        kind = facts.info.kind
        if kind is not SourceKind.HARDWARE and not (kind in SIMULATED and self._allow_simulated):
            text = (
                f"is of kind {kind}, which the policy does not let count; awaited: another source"
            )
            return HoldReason.SOURCE_NOT_ALLOWED, text
        if facts.state is not SourceState.HEALTHY:
            return _STATE_FAULTS[facts.state]
        return None if facts.current_millibits > 0 else _NO_CREDIT
