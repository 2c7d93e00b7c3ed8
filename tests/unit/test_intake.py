"""The intake: nothing of a source in doubt is dealt from, and nothing of it is forgotten."""

import dataclasses
import json

import pytest

from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.entropy_source import FeedResult, HealthAlarm, LatchReason, SourceStatus
from entropyd.entropy.gate import Gate, HoldReason, SourceFacts
from entropyd.entropy.health import Failure, HealthTest, Verdict
from entropyd.entropy.health_history import HealthHistory
from entropyd.entropy.policy import GatePolicy
from entropyd.entropy.rate import Rate, RateChange
from entropyd.entropy.source_state import SourceState
from entropyd.ledger.contract import Event, EventKind
from entropyd.log.receipt import Receipt
from entropyd.rbg.construction import SeedConstruction
from entropyd.runtime.fill_rate import FillRate
from entropyd.runtime.intake import Intake
from entropyd.runtime.reader import Report
from tests.fakes.dealing import MINUTE, QUANTIS, RecordedSystem
from tests.fakes.manual_time import ManualClock
from tests.fakes.noise import noise

INSTANTIATE_SAMPLES = 75
FAILURE = Failure(HealthTest.REPETITION_COUNT, Verdict.PERMANENT, 11, 7)
ALARM = HealthAlarm(
    source_id="quantis",
    test=HealthTest.REPETITION_COUNT,
    severity=Verdict.INTERMITTENT,
    cutoff=8,
    sample_index=4711,
    window_start=4608,
    window=512,
    latch=None,
)


class StirringConstruction(SeedConstruction):
    """Remembers what was stirred in."""

    def __init__(self) -> None:
        super().__init__("test", self_test=lambda: None)
        self.stirred: list[bytes] = []

    def stir(self, stirred) -> None:
        super().stir(stirred)
        self.stirred += [samples for _, samples in stirred.hardware]


class Bench:
    """An intake whose neighbours write down what they were told, and how the gate stood then."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.gate = Gate(GatePolicy())
        self.gate.set_source("quantis", QUANTIS)
        self.construction = StirringConstruction()
        self.fill_rate = FillRate()
        self.os_random = RecordedSystem()
        self.told: list[tuple[str, int]] = []
        self.events: list[Event] = []
        self.health: list[tuple[str, str]] = []
        self.intake = Intake(
            log="dc1",
            gate=self.gate,
            construction=self.construction,
            infos={"quantis": QUANTIS.info},
            required={"quantis": True},
            store=self,
            observer=self,
            fill_rate=self.fill_rate,
            wake=lambda: self._tell("wake"),
            os_random=self.os_random,
            clock_ns=self.clock,
            wall_ns=self.clock.wall_ns,
        )

    @property
    def level(self) -> int:
        return self.gate.level_millibits(self.clock())

    def _tell(self, what: str) -> None:
        self.told.append((what, self.level))

    def note(self, event: Event) -> None:
        self.events.append(event)
        self._tell("note")

    def store_health(self, source_id: str, state: str) -> None:
        self.health.append((source_id, state))
        self._tell("store")

    def reported(self, report: Report) -> None:
        self._tell("reported")

    def instantiated(self) -> None:
        self._tell("instantiated")

    def block(self, samples: int) -> CreditedBlock:
        return CreditedBlock("quantis", noise(samples, str(len(self.told))), 6000, self.clock())

    def take(self, *, blocks=(), alarms=(), result=True, **report) -> None:
        self.intake.take(
            dataclasses.replace(
                REPORT,
                result=FeedResult(tuple(blocks), tuple(alarms)) if result else None,
                **report,
            )
        )

    def take_result(self, result: FeedResult) -> None:
        self.intake.take(dataclasses.replace(REPORT, result=result))

    def filled(self, samples: int = 200) -> "Bench":
        """Return the bench instantiated, with so many samples waiting and nothing noted."""
        self.take(blocks=[self.block(INSTANTIATE_SAMPLES)])
        self.take(blocks=[self.block(samples)])
        assert 6000 * samples == self.level
        self.told.clear()
        return self


STATUS = SourceStatus(
    source_id="quantis",
    state=SourceState.HEALTHY,
    since_ns=0,
    samples_total=100_000,
    credited_total=30_000,
    discarded_total=70_000,
    claimed_millibits=6000,
    assessed_millibits=7600,
    current_millibits=6000,
    samples_assessed=65_536,
    last_good_ns=0,
    history=HealthHistory(),
)
REPORT = Report("quantis", "132244A410", STATUS, None, lost=False, detail="", fault="", reopens=0)


def status(**changes) -> SourceStatus:
    return dataclasses.replace(STATUS, **changes)


# --- doubt comes first ----------------------------------------------------------------


def test_an_alarm_takes_the_credit_before_anybody_is_told():
    """Whoever is called while the report is taken in already finds no credit."""
    bench = Bench().filled()
    bench.take(alarms=[ALARM], status=status(state=SourceState.STARTUP, current_millibits=0))
    assert [("note", 0), ("store", 0), ("reported", 0)] == bench.told
    assert 0 == bench.level


def test_an_alarm_takes_the_credit_even_if_the_source_is_healthy_again():
    """One read may hold the alarm, the repeated start-up and new credit: the old credit is gone."""
    bench = Bench().filled()
    bench.take(alarms=[ALARM], blocks=[bench.block(10)])
    assert [("note", 0), ("store", 0), ("reported", 0), ("wake", 60_000)] == bench.told


def test_a_loss_takes_the_credit_before_anybody_is_told():
    bench = Bench().filled()
    lost = status(state=SourceState.LOST, current_millibits=0)
    bench.take(result=False, lost=True, status=lost, detail="the cable is out", fault="ABSENT")
    assert [("reported", 0)] == bench.told
    hold = bench.gate.check("room", 1, bench.clock())
    assert hold is not None
    assert HoldReason.SOURCE_LOST == hold.why
    assert "the cable is out" in hold.text


def test_a_loss_takes_the_credit_whatever_the_status_says():
    """A loss that was over before it was reported still was one."""
    bench = Bench().filled()
    bench.take(result=False, lost=True)
    assert 0 == bench.level


def test_credit_that_was_taken_does_not_come_back_with_the_source():
    bench = Bench().filled()
    bench.take(result=False, lost=True, status=status(state=SourceState.LOST, current_millibits=0))
    bench.take()
    assert 0 == bench.level


def test_the_gate_knows_how_a_source_stands_before_its_blocks_come():
    """The first block of a source that just became healthy counts."""
    bench = Bench()
    bench.gate.set_source("quantis", dataclasses.replace(QUANTIS, state=SourceState.ASSESSING))
    bench.take(blocks=[bench.block(50)])
    assert 300_000 == bench.level


def test_credit_counts_at_the_lower_of_then_and_now():
    """A report with less credit a sample devalues what waits."""
    bench = Bench().filled()
    bench.take(status=status(current_millibits=3000))
    assert 200 * 3000 == bench.level


def test_the_gate_gets_serial_state_and_whether_it_is_required():
    bench = Bench()
    told: list[SourceFacts] = []

    def set_source(source_id: str, facts: SourceFacts) -> None:
        told.append(facts)

    bench.gate.set_source = set_source  # type: ignore[method-assign]
    bench.take(serial="S2", detail="odd", status=status(state=SourceState.FAILED))
    assert [
        SourceFacts(QUANTIS.info, "S2", SourceState.FAILED, 6000, required=True, detail="odd")
    ] == told


# --- credit comes in ------------------------------------------------------------------


def test_blocks_are_delivered_counted_and_wake_the_waiters():
    """Once for a report, after everything of it is there."""
    bench = Bench().filled(100)
    bench.take(blocks=[bench.block(10), bench.block(20)])
    assert [("reported", 600_000), ("wake", 780_000)] == bench.told
    assert (75 + 100 + 30) * 6000 // 5 == bench.fill_rate.millibits_per_second(bench.clock())


@pytest.mark.parametrize("result", [True, False])
def test_a_report_without_blocks_wakes_nobody(result):
    bench = Bench().filled()
    bench.take(result=result)
    assert ["reported"] == [what for what, _ in bench.told]


def test_the_generator_is_instantiated_once_and_with_all_its_samples():
    """448 bits are 75 samples: not with 74, at the 75th, and never again."""
    bench = Bench()
    instantiated = []
    for samples in (74, 1):
        instantiated.append((bench.construction.instantiated, bench.gate.instantiated))
        bench.take(blocks=[bench.block(samples)])
    instantiated.append((bench.construction.instantiated, bench.gate.instantiated))
    assert [(False, False), (False, False), (True, True)] == instantiated
    assert [64, 32] == bench.os_random.asked
    assert 0 == bench.level
    bench.take(blocks=[bench.block(500)])
    assert 1 == [what for what, _ in bench.told].count("instantiated")
    assert [64, 32] == bench.os_random.asked


def test_waiters_are_woken_after_the_instantiation():
    """So that the block that instantiates can also deal."""
    bench = Bench()
    bench.take(blocks=[bench.block(INSTANTIATE_SAMPLES + 96)])
    assert [("instantiated", 576_000), ("wake", 576_000)] == bench.told[-2:]


def test_a_required_source_that_is_lost_keeps_the_generator_uninstantiated():
    bench = Bench()
    bench.take(blocks=[bench.block(75)], status=status(state=SourceState.STARTUP))
    assert not bench.construction.instantiated


# --- cycling --------------------------------------------------------------------------


def test_what_grew_old_is_stirred_into_the_generator_once():
    bench = Bench().filled(96)
    bench.intake.cycle()
    assert [] == bench.construction.stirred
    bench.clock.now_ns += MINUTE
    bench.intake.cycle()
    bench.intake.cycle()
    assert [96] == [len(samples) for samples in bench.construction.stirred]
    assert 0 == bench.level


def test_what_lost_its_credit_is_stirred_in_too():
    bench = Bench().filled(40)
    bench.take(alarms=[ALARM])
    bench.intake.cycle()
    assert 40 == sum(map(len, bench.construction.stirred))


def test_nothing_is_stirred_into_a_generator_that_is_not_there_yet():
    """It would refuse; the samples are gone all the same, and deal nothing."""
    bench = Bench()
    bench.take(blocks=[bench.block(20)])
    bench.clock.now_ns += MINUTE
    bench.intake.cycle()
    assert [] == bench.construction.stirred
    assert 0 == bench.level


# --- what is kept ---------------------------------------------------------------------


def test_an_alarm_is_an_event_with_test_severity_and_place():
    bench = Bench()
    bench.take(alarms=[ALARM])
    [event] = bench.events
    assert (EventKind.HEALTH_ALARM, "quantis", bench.clock.wall_ns()) == (
        event.kind,
        event.subject,
        event.at_ns,
    )
    expected = {
        "test": str(HealthTest.REPETITION_COUNT),
        "severity": str(Verdict.INTERMITTENT),
        "count": 8,
        "cutoff": 8,
        "sample_index": 4711,
        "serial": "132244A410",
    }
    assert expected == json.loads(event.detail)


def test_a_latch_is_an_event_of_its_own():
    """Kept beside the alarm that made it fall, in this order."""
    bench = Bench()
    latch = LatchReason.PERMANENT_FAILURE
    bench.take(alarms=[ALARM, dataclasses.replace(ALARM, latch=latch)])
    alarm, other = EventKind.HEALTH_ALARM, EventKind.HEALTH_LATCH
    assert [alarm, alarm, other] == [event.kind for event in bench.events]
    assert {"latch": str(latch), "serial": "132244A410"} == json.loads(bench.events[2].detail)


def test_alarms_and_latches_have_entries_in_the_log():
    """Without the samples of their window; the rate of a source too."""
    bench = Bench()
    latch = LatchReason.PERMANENT_FAILURE
    bench.take(alarms=[dataclasses.replace(ALARM, latch=latch, samples=b"stuck")])
    texts = [event.entry(index) for index, event in enumerate(bench.events, 7) if event.entry]
    alarmed, latched = [Receipt.decode(text) for text in texts]
    assert (7, 8) == (alarmed.index, latched.index)
    assert f"health-latch latch={latch}" == latched.reason
    assert f"health-alarm test={ALARM.test} severity={ALARM.severity} count=8" in str(
        alarmed.reason
    )
    assert ["132244A410"] == [line.serial for line in alarmed.sources]
    assert bench.clock.wall_ns() // 10**6 == alarmed.time_ms
    assert b"stuck" not in texts[0]


@pytest.mark.parametrize("rate", [Rate.SLOW, Rate.FAST])
def test_an_odd_rate_is_an_event_and_takes_no_credit(rate):
    """Each sample is as good as before: how fast they come is the operator's to judge."""
    bench = Bench().filled()
    level = bench.level
    change = RateChange("quantis", rate, 1000, 500_000)
    bench.take_result(FeedResult(rate=change))
    (event,) = bench.events
    assert EventKind.HEALTH_ALARM is event.kind
    assert {
        "test": "rate",
        "severity": str(rate),
        "samples_per_s": 1000,
        "nominal_per_s": 500_000,
        "serial": "132244A410",
    } == json.loads(event.detail)
    assert level == bench.level


def test_the_samples_of_an_alarm_go_with_its_event_and_nowhere_else():
    bench = Bench()
    bench.take(alarms=[dataclasses.replace(ALARM, samples=b"stuck")])
    assert [b"stuck"] == [event.window for event in bench.events if event.window]
    assert "stuck" not in bench.events[0].detail + repr(bench.events[0])


def test_a_steady_rate_is_no_event():
    bench = Bench().filled()
    bench.take_result(FeedResult(rate=RateChange("quantis", Rate.STEADY, 500_000, 500_000)))
    assert [] == bench.events


def test_a_history_is_stored_when_it_is_new_and_when_it_changed():
    """And not with every block: a Quantis sends sixty a second."""
    bench = Bench()
    changed = HealthHistory().with_alarm(FAILURE)
    for history in (HealthHistory(), HealthHistory(), changed, changed):
        bench.take(status=status(history=history))
    assert [
        ("quantis", HealthHistory().to_json()),
        ("quantis", changed.to_json()),
    ] == [(source_id, json.loads(text)) for source_id, text in bench.health]


def test_a_history_is_stored_with_every_alarm():
    """Also if the report before had the same one."""
    bench = Bench()
    bench.take()
    bench.take(alarms=[ALARM])
    assert 2 == len(bench.health)


def test_the_last_report_of_each_source_is_kept_for_status():
    bench = Bench()
    bench.take(serial="first")
    bench.take(serial="second")
    assert {"quantis": "second"} == {
        name: report.serial for name, report in bench.intake.last_reports.items()
    }
