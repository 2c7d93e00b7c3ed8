"""The supervisor: every source has a living reader, and one that died is told and replaced."""

import queue
import threading
from dataclasses import replace
from typing import Self

import pytest

from entropyd.entropy.source_state import SourceState
from entropyd.runtime.reader import Reader, Report
from entropyd.runtime.supervisor import CLOSING_S, Supervisor
from tests.fakes.devices import SILENCE, ScriptedDriver
from tests.fakes.manual_time import ManualClock
from tests.fakes.noise import noise
from tests.unit.test_reader import PATIENCE_S, source

BLOCK = noise(2048)


class Desk:
    """A supervisor, and what it was told and tells."""

    def __init__(self, *drivers: ScriptedDriver) -> None:
        self.drivers = drivers
        self.reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self.dead: list[tuple[str, BaseException | None]] = []
        self.clock = ManualClock()
        sources = []
        for number, driver in enumerate(drivers):
            machine = source()
            machine.info = replace(machine.info, source_id=f"s{number}")
            sources.append((machine, driver))
        self.supervisor = Supervisor(
            sources,
            post=self.reports.put,
            clock_ns=self.clock,
            on_dead=lambda source_id, error: self.dead.append((source_id, error)),
        )

    def __enter__(self) -> Self:
        self.supervisor.start()
        return self

    def __exit__(self, *_) -> None:
        self.supervisor.ask_to_stop()
        for driver in self.drivers:
            driver.unplugged.set()
        for reader in self.supervisor._readers.values():
            reader.join(PATIENCE_S)
            assert not reader.is_alive()

    def reader(self, source_id: str = "s0") -> Reader:
        return self.supervisor._readers[source_id]

    def next(self) -> Report:
        return self.reports.get(timeout=PATIENCE_S)

    def until_dead(self, source_id: str = "s0") -> None:
        self.reader(source_id).join(PATIENCE_S)
        assert not self.reader(source_id).is_alive()


def test_every_source_has_one_reader_and_living_ones_are_left_alone():
    with Desk(ScriptedDriver([BLOCK]), ScriptedDriver([BLOCK])) as desk:
        readers = [desk.reader("s0"), desk.reader("s1")]
        assert {"s0", "s1"} == {desk.next().source_id, desk.next().source_id}
        desk.supervisor.check()
        assert readers == [desk.reader("s0"), desk.reader("s1")]
        names = [thread.name for thread in threading.enumerate()]
        assert (1, 1) == (names.count("reader-s0"), names.count("reader-s1"))
    assert [] == desk.dead
    assert {"s0": 0, "s1": 0} == desk.supervisor.restarts


def test_a_dead_reader_is_told_and_replaced_with_its_history():
    """The alarm it had reported is still there; the other source notices nothing."""
    bug = ValueError("bug")
    with Desk(ScriptedDriver([bytes(2048), bug], [BLOCK]), ScriptedDriver([BLOCK])) as desk:
        desk.until_dead()
        other = desk.reader("s1")
        before = desk.supervisor.progress()["reader:s0"]
        desk.supervisor.check()
        assert [("s0", bug)] == desk.dead
        assert {"s0": 1, "s1": 0} == desk.supervisor.restarts
        assert other is desk.reader("s1")
        reports = [report for report in (desk.next() for _ in range(4)) if report.source_id == "s0"]
        after = desk.supervisor.progress()["reader:s0"]
    alarmed, lost, again = reports
    assert (True, "SOURCE_ABSENT") == (lost.lost, lost.fault)
    assert SourceState.FAILED == again.status.state
    assert alarmed.status.history == again.status.history
    assert after > before


def test_a_reader_that_dies_again_and_again_is_replaced_once_a_check():
    """A defect of a driver costs a restart each half second and never the daemon."""
    with Desk(ScriptedDriver(*[OSError(n) for n in range(3)], [SILENCE])) as desk:
        for _ in range(3):
            desk.until_dead()
            desk.supervisor.check()
        assert desk.drivers[0].silent.wait(PATIENCE_S)
        desk.supervisor.check()
    assert [("s0", n) for n in range(3)] == [
        (name, error.args[0]) for name, error in desk.dead if error is not None
    ]
    assert {"s0": 3} == desk.supervisor.restarts


def test_progress_is_told_for_every_reader_by_name():
    with Desk(ScriptedDriver([SILENCE]), ScriptedDriver([SILENCE])) as desk:
        assert all(driver.silent.wait(PATIENCE_S) for driver in desk.drivers)
        assert {"reader:s0", "reader:s1"} == set(desk.supervisor.progress())
        assert all(count > 0 for count in desk.supervisor.progress().values())


def test_a_reader_that_was_asked_to_stop_is_not_taken_for_a_dead_one():
    with Desk(ScriptedDriver([SILENCE])) as desk:
        assert desk.drivers[0].silent.wait(PATIENCE_S)
        desk.supervisor.ask_to_stop()
        desk.drivers[0].unplugged.set()
        assert [] == desk.supervisor.join()
        stopped = desk.reader()
        desk.supervisor.check()
        assert stopped is desk.reader()
    assert [] == desk.dead


def test_joining_before_the_start_waits_for_nobody():
    assert [] == Desk(ScriptedDriver()).supervisor.join()


@pytest.mark.parametrize(("readers", "period_s"), [(1, 0.5), (3, 0.5), (1, 0)])
def test_all_readers_together_get_two_read_periods_to_end(readers, period_s, monkeypatch):
    """Ten stuck devices must not take ten times as long as one; who is stuck is told by name.

    A driver that never blocks (a mock at full speed) is waited for all the same.
    """
    drivers = [ScriptedDriver([SILENCE]) for _ in range(readers)]
    with Desk(*drivers) as desk:
        assert all(driver.silent.wait(PATIENCE_S) for driver in drivers)
        waited: list[float] = []

        def join(self, timeout):
            waited.append(timeout)
            desk.clock.advance(timeout)

        with monkeypatch.context() as patch:
            patch.setattr(Reader, "join", join)
            for driver in drivers:
                patch.setattr(driver, "read_period_s", period_s)
            running = desk.supervisor.join()
    assert [f"s{n}" for n in range(readers)] == running
    assert pytest.approx(2 * period_s + CLOSING_S) == sum(waited)
