"""Where reports arrive: credit goes to the gate, alarms to the ledger, old samples to the DRBG.

Owned by the event loop's thread. Reports come in the order in which they
happened on the reader's thread, so a block never overtakes the alarm or the
loss that takes its credit.
"""

import json
from collections.abc import Callable, Mapping
from typing import Protocol

from entropyd.entropy.entropy_source import HealthAlarm
from entropyd.entropy.gate import Gate, Hold, SourceFacts
from entropyd.entropy.rate import Rate, RateChange
from entropyd.entropy.source import NoiseSourceInfo
from entropyd.hands.receipts import NS_A_MS
from entropyd.ledger.contract import Event, EventKind
from entropyd.log.own_entries import health_entry
from entropyd.log.source_line import ReceiptHealth, ReceiptSourceKind, SourceClass, SourceLine
from entropyd.rbg.construction import (
    NONCE_BYTES,
    OS_SAMPLE_BYTES,
    SeedConstruction,
)
from entropyd.runtime.fill_rate import FillRate
from entropyd.runtime.reader import Report


class EventStore(Protocol):
    """What the intake needs of the ledger's writer."""

    def note(self, event: Event) -> None:
        """Remember an event; see `GroupCommitWriter.note`."""
        ...

    def store_health(self, source_id: str, state: str) -> None:
        """Remember a source's health history; see `GroupCommitWriter.store_health`."""
        ...


class IntakeObserver(Protocol):
    """Who counts and logs. Called on the loop's thread; must not block."""

    def reported(self, report: Report) -> None:
        """A reader told something."""
        ...

    def instantiated(self) -> None:
        """The DRBG has its first entropy: dealing may begin."""
        ...


class Intake:
    """Takes reports in, keeps the gate's picture of the sources, and cycles the DRBG."""

    def __init__(
        self,
        *,
        gate: Gate,
        construction: SeedConstruction,
        infos: Mapping[str, NoiseSourceInfo],
        required: Mapping[str, bool],
        log: str,
        store: EventStore,
        observer: IntakeObserver,
        fill_rate: FillRate,
        wake: Callable[[], None],
        os_random: Callable[[int], bytes],
        clock_ns: Callable[[], int],
        wall_ns: Callable[[], int],
    ) -> None:
        """Make an intake.

        Args:
            gate: gets blocks and facts.
            construction: is instantiated and stirred.
            infos: every configured source by id.
            required: whether dealing holds without it.
            log: origin of the log, which gets an entry of each alarm and latch.
            store: keeps alarms and health histories.
            observer: counts and logs.
            fill_rate: told what credit came in.
            wake: called when a waiter may be served.
            os_random: the operating system's generator.
            clock_ns: monotonic clock.
            wall_ns: wall clock, for claims only.
        """
        self._gate = gate
        self._construction = construction
        self._infos = infos
        self._required = required
        self._log = log
        self._store = store
        self._observer = observer
        self._fill_rate = fill_rate
        self._wake = wake
        self._os_random = os_random
        self._clock_ns = clock_ns
        self._wall_ns = wall_ns
        self.last_reports: dict[str, Report] = {}

    def take(self, report: Report) -> None:
        """Take in one report."""
        previous = self.last_reports.get(report.source_id)
        self.last_reports[report.source_id] = report
        alarms = report.result.alarms if report.result is not None else ()
        if alarms or report.lost:
            # Before anything else: nothing of a source in doubt is dealt from.
            self._gate.withdraw(report.source_id)
        self._gate.set_source(report.source_id, self._facts(report))
        for alarm in alarms:
            self._note_alarm(report, alarm)
        if report.result is not None:
            self._note_rate(report, report.result.rate)
        if alarms or previous is None or previous.status.history != report.status.history:
            self._store.store_health(report.source_id, json.dumps(report.status.history.to_json()))
        self._observer.reported(report)
        if report.result is not None and report.result.blocks:
            for block in report.result.blocks:
                self._gate.deliver(block)
                self._fill_rate.add(
                    len(block.samples) * block.millibits_per_sample, self._clock_ns()
                )
            self._instantiate()
            self._wake()

    def cycle(self) -> None:
        """Stir what grew old or was pushed out into the DRBG. Called ten times a second.

        Collection never stops, so the state moves on between draws too.
        """
        self._gate.expire(self._clock_ns())
        stirred = self._gate.take_stir()
        if stirred and self._construction.instantiated:
            self._construction.stir(stirred)

    def _facts(self, report: Report) -> SourceFacts:
        return SourceFacts(
            info=self._infos[report.source_id],
            serial=report.serial,
            state=report.status.state,
            current_millibits=report.status.current_millibits,
            required=self._required[report.source_id],
            detail=report.detail,
        )

    def _instantiate(self) -> None:
        if self._gate.instantiated:
            return
        gated = self._gate.try_instantiate(self._clock_ns())
        if isinstance(gated, Hold):
            return
        self._construction.instantiate(
            gated, self._os_random(OS_SAMPLE_BYTES), self._os_random(NONCE_BYTES)
        )
        self._observer.instantiated()

    def _note_alarm(self, report: Report, alarm: HealthAlarm) -> None:
        self._note(
            EventKind.HEALTH_ALARM,
            report,
            test=str(alarm.test),
            severity=str(alarm.severity),
            count=alarm.count,
            cutoff=alarm.cutoff,
            sample_index=alarm.sample_index,
            window=alarm.samples,
        )
        if alarm.latch is not None:
            self._note(EventKind.HEALTH_LATCH, report, latch=str(alarm.latch))

    def _note_rate(self, report: Report, change: RateChange | None) -> None:
        """Remember that samples came too slowly or too fast; it takes no credit."""
        if change is None or change.rate not in {Rate.SLOW, Rate.FAST}:
            return
        self._note(
            EventKind.HEALTH_ALARM,
            report,
            test="rate",
            severity=str(change.rate),
            samples_per_s=change.samples_per_s,
            nominal_per_s=change.nominal_per_s,
        )

    def _note(
        self, kind: EventKind, report: Report, *, window: bytes = b"", **detail: str | int
    ) -> None:
        text = json.dumps({**detail, "serial": report.serial})
        wall_ns = self._wall_ns()
        reason = " ".join(f"{name}={value}" for name, value in detail.items())
        entry = health_entry(
            self._log,
            source=_source_line(self._infos[report.source_id], report),
            reason=f"{kind} {reason}",
            ms=wall_ns // NS_A_MS,
        )
        self._store.note(Event(kind, report.source_id, text, wall_ns, window, entry))


def _source_line(info: NoiseSourceInfo, report: Report) -> SourceLine:
    """Return where a source stands, as a receipt says it. None of its samples are used for it."""
    return SourceLine(
        SourceClass.HARDWARE,
        ReceiptSourceKind(str(info.kind)),
        info.driver,
        report.serial,
        health=ReceiptHealth(str(report.status.state)),
    )
