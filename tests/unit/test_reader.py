"""The reader: real threads, devices that play a script, and no waiting by the clock."""

import queue
import threading
import time
from typing import Self

import pytest

from entropyd.entropy.entropy_source import EntropySource, HealthPolicy
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.errors import (
    SourceAbsentError,
    SourceError,
    SourceProtocolError,
    SourceTimeoutError,
)
from entropyd.runtime.reader import Reader, Report
from tests.fakes.devices import SILENCE, Opening, ScriptedDriver
from tests.fakes.manual_time import ManualClock
from tests.fakes.noise import noise

PATIENCE_S = 20
BLOCK = 512
GOOD = noise(12 * BLOCK)
BLOCKS = [GOOD[at : at + BLOCK] for at in range(0, len(GOOD), BLOCK)]
GONE = SourceAbsentError("device went away; plug it in")


def source(sample_bits: int = 8) -> EntropySource:
    """A source that has credit after 2,048 samples."""
    claim = 500 if sample_bits == 1 else 4000
    info = NoiseSourceInfo("s1", "scripted", SourceKind.HARDWARE, sample_bits, claim, "made up")
    return EntropySource(info, HealthPolicy(first_assessment_samples=1024))


class Backoff(threading.Event):
    """Stands in for the reader's stop event: a back-off takes no time and is written down."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_s: list[float] = []

    def wait(self, timeout=None):
        assert timeout is not None, "a reader that waits for ever cannot be watched"
        self.waits_s.append(timeout)
        return self.is_set()


class Desk:
    """A reader at work, and where its reports arrive."""

    def __init__(self, driver: ScriptedDriver, *, fast: bool = True, post=None) -> None:
        self.driver = driver
        self.clock = ManualClock()
        self.reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self.source = source(driver.sample_bits)
        self.reader = Reader(
            self.source, driver, post=post or self.reports.put, clock_ns=self.clock
        )
        self.backoff = Backoff()
        if fast:
            self.reader._stopping = self.backoff

    def __enter__(self) -> Self:
        self.reader.start()
        return self

    def __exit__(self, *_) -> None:
        self.reader.stop()
        self.driver.unplugged.set()
        self.reader.join(PATIENCE_S)
        assert not self.reader.is_alive()
        assert [] == self.driver.sins
        assert all(device.closed for device in self.driver.devices)

    def next(self) -> Report:
        return self.reports.get(timeout=PATIENCE_S)

    def take(self, count: int) -> list[Report]:
        return [self.next() for _ in range(count)]

    def until_dead(self) -> None:
        self.reader.join(PATIENCE_S)
        assert not self.reader.is_alive()


# --- what it reports ------------------------------------------------------------------


def test_every_block_is_tested_and_reported_in_order():
    """Start-up and assessment take the first blocks; from then on samples come with credit."""
    with Desk(ScriptedDriver(BLOCKS)) as desk:
        reports = desk.take(len(BLOCKS))
    assert [BLOCK * n for n in range(1, len(BLOCKS) + 1)] == [
        report.status.samples_total for report in reports
    ]
    assert {("s1", "SCRIPT01", False, "", "", 0)} == {
        (r.source_id, r.serial, r.lost, r.detail, r.fault, r.reopens) for r in reports
    }
    credited = b"".join(
        block.samples for report in reports if report.result for block in report.result.blocks
    )
    assert credited in GOOD
    assert GOOD.endswith(credited)
    assert len(GOOD) - 2048 == len(credited) == reports[-1].status.credited_total
    assert SourceState.HEALTHY == reports[-1].status.state


@pytest.mark.parametrize("fault", [SourceAbsentError, SourceTimeoutError, SourceProtocolError])
def test_a_fault_closes_the_device_reports_lost_and_opens_it_again(fault):
    """Whatever the fault: its reason and text are told, the credit goes, start-up is repeated."""
    with Desk(ScriptedDriver([*BLOCKS, fault("as told")], BLOCKS)) as desk:
        before = desk.take(len(BLOCKS))[-1]
        lost = desk.next()
        again = desk.next()
    assert SourceState.HEALTHY == before.status.state
    assert (True, fault.reason, "as told", None) == (
        lost.lost,
        lost.fault,
        lost.detail,
        lost.result,
    )
    assert (SourceState.LOST, 0) == (lost.status.state, lost.status.current_millibits)
    assert (SourceState.STARTUP, 1, False) == (again.status.state, again.reopens, again.lost)
    assert desk.driver.devices[0].closed


def test_a_missing_device_is_reported_lost_at_every_attempt():
    """With the driver's text, which has the remedy, and no serial number before one was opened."""
    missing = [SourceAbsentError(f"attempt {n}; plug it in") for n in range(3)]
    with Desk(ScriptedDriver(*missing, BLOCKS)) as desk:
        reports = desk.take(4)
    assert [(True, "", f"attempt {n}; plug it in") for n in range(3)] == [
        (r.lost, r.serial, r.detail) for r in reports[:3]
    ]
    assert (False, "SCRIPT01", "") == (reports[3].lost, reports[3].serial, reports[3].detail)


def test_the_serial_number_is_still_told_while_the_device_is_gone():
    with Desk(ScriptedDriver([BLOCKS[0], GONE], GONE)) as desk:
        reports = desk.take(3)
    assert ["SCRIPT01"] * 3 == [report.serial for report in reports]


def test_a_silent_device_is_lost_after_one_read_period():
    """By the driver's own timeout, within the two seconds that credit may outlive the last byte."""
    began = time.monotonic()
    with Desk(ScriptedDriver([*BLOCKS, SILENCE], read_period_s=0.1)) as desk:
        desk.take(len(BLOCKS))
        lost = desk.next()
    assert (True, "SOURCE_TIMEOUT", SourceState.LOST) == (lost.lost, lost.fault, lost.status.state)
    assert 0.1 <= time.monotonic() - began


def test_a_device_that_opens_and_says_nothing_stays_lost():
    """Opening it again and again must not look like a source that is coming."""
    with Desk(ScriptedDriver([SILENCE], [SILENCE], [BLOCKS[0]], read_period_s=0.01)) as desk:
        reports = desk.take(3)
    assert [SourceState.LOST, SourceState.LOST, SourceState.STARTUP] == [
        report.status.state for report in reports
    ]


def test_an_alarm_is_in_the_report_of_its_block():
    """A stuck device latches, and stays latched over a loss."""
    with Desk(ScriptedDriver([bytes(BLOCK), GONE], BLOCKS)) as desk:
        alarmed, lost, again = desk.take(3)
    assert alarmed.result is not None
    assert alarmed.result.alarms
    assert [SourceState.FAILED] * 3 == [r.status.state for r in (alarmed, lost, again)]
    assert again.result is not None
    assert () == again.result.blocks


def test_samples_of_a_wrong_width_are_a_fault_of_the_device():
    """A one-bit source that delivers a two: lost, and the thread lives."""
    with Desk(ScriptedDriver([b"\0\1\2"], [b"\0\1"], sample_bits=1)) as desk:
        wrong, right = desk.take(2)
    assert (True, "SOURCE_PROTOCOL") == (wrong.lost, wrong.fault)
    assert 2 == right.status.samples_total


# --- when it tries again --------------------------------------------------------------


def test_the_back_off_doubles_from_a_tenth_of_a_second_to_3_2_and_never_beyond():
    with Desk(ScriptedDriver(*[GONE] * 8, [SILENCE])) as desk:
        desk.take(8)
        assert desk.driver.silent.wait(PATIENCE_S)
        waits = list(desk.backoff.waits_s)
    assert pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 3.2, 3.2]) == waits


def test_the_back_off_starts_again_only_after_a_block_came():
    """A device that opens and dies at once is as bad as one that is not there."""
    script: list[Opening] = [GONE, [GONE], [GONE], [BLOCKS[0], GONE], GONE, [SILENCE]]
    with Desk(ScriptedDriver(*script)) as desk:
        desk.take(6)
        assert desk.driver.silent.wait(PATIENCE_S)
        waits = list(desk.backoff.waits_s)
    assert pytest.approx([0.1, 0.2, 0.4, 0.1, 0.2]) == waits


@pytest.mark.parametrize(("low_digits", "factor"), [(0, 1), (500_000, 7 / 8), (999_999, 3 / 4)])
def test_readers_do_not_march_in_step(low_digits, factor):
    """The clock's low digits take up to a quarter off; nothing is ever added."""
    desk = Desk(ScriptedDriver(GONE, [SILENCE]))
    desk.clock.now_ns += low_digits
    with desk:
        desk.next()
        assert desk.driver.silent.wait(PATIENCE_S)
        [wait_s] = desk.backoff.waits_s
    assert pytest.approx(0.1 * factor, rel=1e-5) == wait_s
    assert wait_s <= 0.1


# --- when it stops --------------------------------------------------------------------


def test_a_reader_stops_within_one_read_period_of_a_silent_device():
    """It is told nothing, and reports nothing that would look like a loss of its own making."""
    with Desk(ScriptedDriver([SILENCE], read_period_s=0.2), fast=False) as desk:
        assert desk.driver.silent.wait(PATIENCE_S)
        desk.reader.stop()
        desk.until_dead()
    assert desk.reader.failure is None


def test_a_reader_that_backs_off_stops_at_once():
    """Its longest back-off is 3.2 s; it is woken out of it."""
    with Desk(ScriptedDriver(*[GONE] * 100), fast=False) as desk:
        desk.next()
        desk.reader.stop()
        desk.until_dead()
    assert desk.reader.failure is None


def test_a_reader_stops_between_two_blocks_of_a_device_that_never_pauses():
    def endless():
        while True:
            yield BLOCKS[0]

    with Desk(ScriptedDriver(endless())) as desk:
        desk.take(3)
        desk.reader.stop()
        desk.until_dead()


def test_progress_goes_on_while_the_device_is_missing():
    """The watchdog sees a reader that tries, and one that is stuck in a driver it does not."""
    with Desk(ScriptedDriver(GONE, GONE, GONE, [SILENCE], read_period_s=PATIENCE_S)) as desk:
        desk.take(3)
        assert desk.driver.silent.wait(PATIENCE_S)
        stuck = desk.reader.progress
        assert 5 == stuck == desk.reader.progress


# --- when it dies ---------------------------------------------------------------------


@pytest.mark.parametrize("surprise", [ValueError("bug"), SystemExit(3), MemoryError()])
def test_any_surprise_ends_the_thread_and_closes_the_device(surprise):
    """Nothing escapes into threading's hook; the supervisor finds what it was."""
    with Desk(ScriptedDriver([BLOCKS[0], surprise])) as desk:
        desk.until_dead()
    assert surprise is desk.reader.failure
    assert desk.driver.devices[0].closed


def test_a_surprise_while_opening_ends_the_thread_too():
    surprise = OSError("libusb is gone")
    with Desk(ScriptedDriver(surprise)) as desk:
        desk.until_dead()
    assert surprise is desk.reader.failure


def test_the_successor_reports_the_loss_and_inherits_source_serial_and_counts():
    """A crash must not wash an alarm, nor let samples that nobody vouches for be dealt from."""
    with Desk(ScriptedDriver([bytes(BLOCK), ValueError("bug")], BLOCKS)) as desk:
        alarmed = desk.next()
        desk.until_dead()
        heir = desk.reader.successor()
        lost = desk.next()
        heir.start()
        again = desk.next()
        heir.stop()
        desk.driver.unplugged.set()
        heir.join(PATIENCE_S)
    assert heir.source is desk.source
    assert heir.progress > desk.reader.progress
    assert (True, "SOURCE_ABSENT", "SCRIPT01") == (lost.lost, lost.fault, lost.serial)
    assert "ValueError" in lost.detail
    assert "bug" not in lost.detail
    assert alarmed.status.history == again.status.history
    assert (SourceState.FAILED, 1) == (again.status.state, again.reopens)


def test_a_report_that_cannot_be_posted_is_a_surprise_like_any_other():
    def post(report):
        raise RuntimeError("nobody listens")

    with Desk(ScriptedDriver(BLOCKS), post=post) as desk:
        desk.until_dead()
    assert "nobody listens" == str(desk.reader.failure)


def test_the_fake_device_notices_what_it_forbids():
    """The fake itself: a use after closing, and a second opening beside an open device."""
    driver = ScriptedDriver([b"x"], [], read_period_s=0)
    device = driver.open()
    device.close()
    assert b"x" == device.read()
    other = driver.open()
    with pytest.raises(SourceError):
        other.read()
    driver.open()
    assert ["read after close", "opened while another device was open"] == driver.sins
