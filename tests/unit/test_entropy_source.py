"""The health machine of a source: what is credited, what alarms cost, what is never forgotten."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.entropy_source import (
    EntropySource,
    HealthHistory,
    HealthPolicy,
    LatchReason,
    SourceState,
)
from entropyd.entropy.health import Failure, HealthTest, Verdict
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.errors import (
    ConfigError,
    EntropyHoldError,
    IntermittentFailureError,
    InternalError,
    LedgerDamagedError,
    PermanentFailureError,
    RequestError,
    SourceAbsentError,
    SourceProtocolError,
)
from tests.fakes.noise import noise

RCT, APT = HealthTest.REPETITION_COUNT, HealthTest.ADAPTIVE_PROPORTION
INTERMITTENT, PERMANENT = Verdict.INTERMITTENT, Verdict.PERMANENT
WINDOW = 512
STARTUP = 1024
FIRST = 2048
# Assesses early, so that a test needs thousands of samples instead of a hundred thousand.
POLICY = HealthPolicy(first_assessment_samples=FIRST, assessment_window_samples=8192)
BYTES = NoiseSourceInfo("quantis-1", "quantis-usb", SourceKind.HARDWARE, 8, 6000, "a test's")
BITS = replace(BYTES, source_id="bits-1", sample_bits=1, claimed_millibits=900)
HOUR_NS = 3600 * 10**9


def run(number: int) -> bytes:
    """Return a window that fails by a run of 8 equal samples at its end, and differs by number.

    The same window twice would fail the lag test too.
    """
    return noise(WINDOW - 9, f"run {number}") + b"\xa5" + b"\x5a" * 8


RUN = run(0)
assert len(RUN) == WINDOW


class Bench:
    """A source and everything of it that a reservoir would hold."""

    def __init__(self, info=BYTES, policy=POLICY, history=None, *, opened=True):
        self.source = EntropySource(info, policy, history)
        self.held = []
        self.alarms = []
        if opened:
            self.source.on_opened(0)

    def feed(self, *pieces, now_ns=0):
        for piece in pieces:
            result = self.source.feed(piece, now_ns)
            if result.alarms:
                self.held.clear()
            self.held += result.blocks
            self.alarms += result.alarms
        return self

    def feed_bytewise(self, samples):
        return self.feed(*(bytes([sample]) for sample in samples))

    def lose(self):
        self.source.on_lost(0)
        self.held.clear()

    def state(self):
        return self.source.state

    @property
    def credited(self):
        return b"".join(block.samples for block in self.held)

    @property
    def fired(self):
        return [(str(a.test), str(a.severity), a.sample_index) for a in self.alarms]


def healthy(info=BYTES, policy=POLICY, history=None):
    """Return a source that has passed start-up and first assessment, and released nothing yet."""
    bench = Bench(info, policy, history).feed(noise(STARTUP + FIRST, "before"))
    assert bench.state() is SourceState.HEALTHY
    assert bench.held == []
    return bench


def test_startup_and_first_assessment_are_thrown_away():
    """States change at exact samples, and the first credited sample is the one after both."""
    samples = noise(8192)
    bench = Bench(opened=False)
    assert bench.state() is SourceState.LOST
    bench.source.on_opened(0)
    assert bench.state() is SourceState.STARTUP
    bench.feed(samples[: STARTUP - 1])
    assert bench.state() is SourceState.STARTUP
    bench.feed(samples[STARTUP - 1 : STARTUP])
    assert bench.state() is SourceState.ASSESSING
    bench.feed(samples[STARTUP : STARTUP + FIRST - 1])
    assert bench.state() is SourceState.ASSESSING
    assert bench.source.current_millibits == 0
    bench.feed(samples[STARTUP + FIRST - 1 : STARTUP + FIRST])
    assert bench.state() is SourceState.HEALTHY
    assert bench.held == []
    bench.feed(samples[STARTUP + FIRST :])
    assert bench.credited == samples[STARTUP + FIRST :]


def test_by_default_the_first_credit_comes_after_65_536_assessed_samples():
    """Start-up of 1,024 and 65,536 assessed; the next window is the first with credit."""
    samples = noise(STARTUP + 65_536 + 2 * WINDOW)
    bench = Bench(policy=HealthPolicy())
    bench.feed(samples[: STARTUP + 65_536 - 1])
    assert bench.state() is SourceState.ASSESSING
    bench.feed(samples[STARTUP + 65_536 - 1 :])
    assert bench.credited == samples[STARTUP + 65_536 :]
    assert [block.millibits_per_sample for block in bench.held] == [6000]
    assert bench.source.status().samples_assessed == 65_536


def test_a_window_is_credited_only_when_it_has_ended():
    """511 samples are held back; the 512th releases them all, with the age of the oldest."""
    bench = healthy()
    samples = noise(WINDOW, "window")
    bench.feed(samples[:100], now_ns=5)
    bench.feed(samples[100:511], now_ns=6)
    assert bench.held == []
    bench.feed(samples[511:], now_ns=7)
    assert bench.credited == samples
    assert [block.arrived_ns for block in bench.held] == [5]
    bench.feed(noise(WINDOW, "next"), now_ns=8)
    assert [block.arrived_ns for block in bench.held] == [5, 8]
    assert bench.source.status().last_good_ns == 8


def test_credit_is_the_claim_where_the_assessment_is_higher():
    bench = healthy(replace(BYTES, claimed_millibits=2500))
    bench.feed(noise(WINDOW))
    assert [block.millibits_per_sample for block in bench.held] == [2500]
    assert (bench.source.status().assessed_millibits or 0) > 2500


def test_credit_is_the_assessment_where_the_claim_is_higher():
    """Sixteen values, equally often: at most four bits, and taken apart into bits still less."""
    bench = Bench(replace(BYTES, claimed_millibits=4500))
    bench.feed(bytes(sample & 15 for sample in noise(20_000)))
    assert bench.alarms == []
    assert 2000 < bench.source.current_millibits < 4000
    assert bench.source.current_millibits == bench.source.status().assessed_millibits


def test_credit_falls_when_the_samples_get_worse():
    """Later blocks have less credit; no block has more than the claim."""
    bench = healthy(replace(BYTES, claimed_millibits=4500))
    bench.feed(noise(8192), bytes(sample & 15 for sample in noise(8192)))
    credits_ = [block.millibits_per_sample for block in bench.held]
    assert credits_[0] == 4500
    assert sorted(credits_, reverse=True) == credits_
    assert credits_[-1] < 4000


def test_a_source_assessed_at_nothing_releases_nothing():
    """Six ones in 1,024 bits, where the cutoffs allow for it: assessed at 0, so no credit."""
    lax = replace(
        POLICY,
        intermittent_alpha_log2=-60,
        permanent_alpha_log2=-80,
        first_assessment_samples=1024,
        assessment_window_samples=1024,
    )
    bench = Bench(replace(BITS, claimed_millibits=100), lax)
    ones = {100, 250, 403, 577, 800}  # no two of them a lag of the lag test apart
    for later in range(4):  # no window twice
        bench.feed(bytes(place == 0 or place - 3 * later in ones for place in range(1024)))
    assert bench.alarms == []
    assert bench.state() is SourceState.HEALTHY
    assert (bench.source.status().assessed_millibits, bench.held) == (0, [])


def test_alarm_discards_its_block():
    """Of the block in which a test fires nothing is credited: neither before nor behind it."""
    bench = healthy()
    block = noise(2 * WINDOW, "ahead") + RUN + noise(2 * WINDOW, "behind")
    result = bench.source.feed(block, 0)
    assert [(a.test, a.severity, a.cutoff) for a in result.alarms] == [(RCT, INTERMITTENT, 8)]
    assert result.blocks == ()
    assert bench.source.current_millibits == 0


def test_alarm_discards_its_window_also_when_it_fires_in_a_later_call():
    """Samples of the window that came in an earlier call are lost with it; so are those after."""
    bench = healthy()
    good, good_again = noise(WINDOW, "good"), noise(STARTUP + FIRST + WINDOW, "again")
    bench.feed(good, RUN[:300], RUN[300:])
    assert bench.held == []
    bench.feed(good_again)
    assert bench.credited == good_again[STARTUP + FIRST :]


def test_startup_after_an_alarm_begins_behind_the_window_that_failed():
    """The failed window is no part of the start-up test: 1,024 clean samples must follow it."""
    bench = healthy()
    bench.feed(noise(100, "a"), b"\x5a" * 8, noise(WINDOW - 108, "b"))
    assert len(bench.alarms) == 1
    bench.feed(noise(STARTUP - 1))
    assert bench.state() is SourceState.STARTUP
    bench.feed(b"\0")
    assert bench.state() is SourceState.ASSESSING


def test_alarm_says_where_it_fired():
    """Index, window and severity are those of the stream, not of the call."""
    bench = healthy()
    bench.feed(noise(WINDOW), RUN[:200], RUN[200:])
    (alarm,) = bench.alarms
    begin = STARTUP + FIRST + WINDOW
    assert (alarm.source_id, alarm.test, alarm.severity) == ("quantis-1", RCT, INTERMITTENT)
    assert (alarm.count, alarm.cutoff) == (8, 8)
    assert (begin + 511, begin, WINDOW) == (alarm.sample_index, alarm.window_start, alarm.window)
    assert alarm.latch is None


def test_a_stuck_stream_reaches_the_permanent_level():
    """The intermittent alarm does not end the run: eight equal samples, then eleven."""
    bench = healthy()
    bench.feed_bytewise(b"\x5a" * 30)
    begin = STARTUP + FIRST
    assert [("rct", "intermittent", begin + 7), ("rct", "permanent", begin + 10)] == bench.fired
    assert bench.state() is SourceState.FAILED
    assert bench.source.history.latch is LatchReason.PERMANENT_FAILURE


def test_a_latched_source_gives_nothing_until_it_is_reset():
    """Good samples, reopening and an on-demand test leave it latched; a reset does not."""
    bench = healthy()
    bench.feed(b"\x5a" * 11)
    bench.feed(noise(10_000))
    bench.lose()
    bench.source.on_opened(0)
    bench.source.on_demand_test(0)
    bench.feed(noise(10_000))
    assert (bench.state(), bench.held) == (SourceState.FAILED, [])
    bench.source.reset(0, "cable replaced")
    assert bench.state() is SourceState.STARTUP
    bench.feed(noise(STARTUP + FIRST + WINDOW))
    assert len(bench.credited) == WINDOW


@pytest.mark.parametrize("bytewise", [False, True])
def test_an_alarm_brings_the_samples_of_its_window_up_to_the_one_that_fired(bytewise):
    """However they were cut into calls; and no text shows them."""
    bench = healthy()
    window = noise(200, "before the run") + b"\xa5" + b"\x5a" * 11
    samples = noise(WINDOW, "a good window") + window
    if bytewise:
        bench.feed_bytewise(samples)
    else:
        bench.feed(samples)
    first, second = bench.alarms
    assert (window[:209], window[:212]) == (first.samples, second.samples)
    assert first.sample_index - first.window_start + 1 == len(first.samples)
    assert repr(first.samples)[2:-1] not in repr(first)


def test_a_stuck_source_is_found_stuck_again_after_a_reset():
    """The latch is gone, not the tests."""
    bench = healthy()
    bench.feed(b"\x5a" * 100)
    bench.source.reset(0, "an operator's hope")
    bench.alarms.clear()
    bench.feed(b"\x5a" * 100)
    assert [severity for _, severity, _ in bench.fired] == ["intermittent", "permanent"]
    assert bench.state() is SourceState.FAILED
    assert bench.source.history.alarms[RCT, PERMANENT] == 2


def test_too_many_intermittent_failures_latch():
    """The fifth failed window within an hour is one too many."""
    bench = healthy()
    for number in range(4):
        bench.feed(run(number), noise(STARTUP, f"start {number}"), now_ns=number)
    assert bench.source.history.latch is None
    bench.feed(run(4), now_ns=HOUR_NS - 1)
    assert bench.alarms[-1].severity is INTERMITTENT
    assert bench.alarms[-1].latch is LatchReason.TOO_MANY_INTERMITTENT_FAILURES
    assert bench.state() is SourceState.FAILED


def test_intermittent_failures_are_forgiven_after_their_window():
    """Four failures, an hour, and four more: no latch."""
    bench = healthy()
    for now_ns in [0, 1, 2, 3, *range(HOUR_NS + 3, HOUR_NS + 7)]:
        bench.feed(run(now_ns), noise(STARTUP, f"start {now_ns}"), now_ns=now_ns)
    assert bench.source.history.latch is None
    assert bench.source.history.alarms[RCT, INTERMITTENT] == 8


def test_failed_startups_count_as_intermittent_failures():
    """A source that never gets through its start-up test is latched off."""
    bench = Bench()
    bench.feed(*map(run, range(5)))
    assert bench.source.history.startup_failures == 5
    assert bench.source.history.latch is LatchReason.TOO_MANY_INTERMITTENT_FAILURES


def test_an_alarm_of_a_healthy_source_is_no_failed_startup():
    assert healthy().feed(RUN).source.history.startup_failures == 0


def test_several_alarms_in_one_window_are_one_failure():
    """Five runs in one window cost one window; all five are counted as alarms."""
    bench = healthy()
    bench.feed((b"\x5a" * 8 + b"\xa5") * 5 + noise(WINDOW - 45))
    assert bench.source.history.alarms[RCT, INTERMITTENT] == 5
    assert len(bench.source.history.recent_ns) == 1
    assert bench.state() is SourceState.STARTUP


def test_reopening_keeps_the_history():
    """Four failures before a reopening and one after it are five."""
    bench = healthy()
    for number in range(4):
        bench.feed(run(number))
        bench.lose()
        bench.source.on_opened(0)
    assert bench.source.history.alarms[RCT, INTERMITTENT] == 4
    bench.feed(run(4))
    assert bench.source.history.latch is LatchReason.TOO_MANY_INTERMITTENT_FAILURES


def test_reopening_keeps_the_running_repetition_count():
    """Five equal samples before, three after: the eighth of the run alarms."""
    bench = healthy()
    bench.feed(b"\x5a" * 5)
    bench.lose()
    bench.source.on_opened(0)
    bench.feed(b"\x5a" * 2)
    assert bench.fired == []
    bench.feed(b"\x5a")
    assert bench.fired == [("rct", "intermittent", STARTUP + FIRST + 7)]


def test_reopening_keeps_the_running_proportion_count():
    """Thirty of a value before, six after in the same window: the 36th alarms."""
    bench = healthy()
    fourteen = b"\x5a" + bytes(range(1, 14))  # divides no lag of the lag test
    bench.feed(fourteen * 30)
    bench.lose()
    bench.source.on_opened(0)
    bench.feed(fourteen * 6)
    assert bench.fired == [("apt", "intermittent", STARTUP + FIRST + 35 * 14)]


def test_reopening_keeps_the_latch():
    bench = healthy()
    bench.feed(b"\x5a" * 11)
    bench.lose()
    assert bench.state() is SourceState.FAILED
    bench.source.on_opened(0)
    assert bench.state() is SourceState.FAILED


def test_reopening_repeats_startup_and_assessment():
    """The open window is lost; 1,024 and the assessment follow before there is credit again."""
    bench = healthy()
    bench.feed(noise(WINDOW + 100, "before the loss"))
    bench.lose()
    assert (bench.state(), bench.source.current_millibits) == (SourceState.LOST, 0)
    bench.source.on_opened(0)
    samples = noise(WINDOW - 100 + STARTUP + FIRST + WINDOW, "after the loss")
    bench.feed(samples)
    assert bench.credited == samples[-WINDOW:]


def test_an_opening_without_a_loss_implies_the_loss():
    bench = healthy()
    bench.feed(noise(100))
    bench.source.on_opened(0)
    assert bench.state() is SourceState.STARTUP


def test_an_on_demand_test_repeats_the_startup_test():
    """Credit stops at once and comes back by itself."""
    bench = healthy()
    bench.source.on_demand_test(0)
    assert (bench.state(), bench.source.current_millibits) == (SourceState.STARTUP, 0)
    bench.feed(noise(STARTUP + FIRST + WINDOW))
    assert len(bench.credited) == WINDOW


def test_a_restart_keeps_the_history():
    """Through JSON text into a process with another clock: counts, and the four failures."""
    bench = healthy()
    for number in range(4):
        bench.feed(run(number), noise(STARTUP, f"start {number}"), now_ns=number)
    stored = json.dumps(bench.source.history.to_json())
    history = HealthHistory.from_json(json.loads(stored), now_ns=10**6)
    assert history.alarms == bench.source.history.alarms
    assert history.recent_ns == (10**6 - 3, 10**6 - 2, 10**6 - 1, 10**6)
    again = Bench(history=history)
    again.feed(RUN, now_ns=10**6)
    assert again.source.history.latch is LatchReason.TOO_MANY_INTERMITTENT_FAILURES


def test_a_restart_keeps_the_latch():
    bench = healthy()
    bench.feed(b"\x5a" * 11)
    stored = json.loads(json.dumps(bench.source.history.to_json()))
    again = Bench(history=HealthHistory.from_json(stored, now_ns=0))
    assert again.state() is SourceState.FAILED
    assert again.feed(noise(10_000)).held == []


def test_a_history_survives_storage_unchanged():
    """What was stored is what was loaded, at the same clock."""
    bench = healthy()
    bench.feed(RUN, now_ns=7)
    bench.source.reset(8, "tested")
    bench.feed(noise(STARTUP), RUN, now_ns=9)
    history = bench.source.history
    assert HealthHistory.from_json(history.to_json(), now_ns=9) == history


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 2},
        {"version": None},
        {"alarms": {}},
        {"alarms": {"rct-intermittent": 1}},
        {"alarms": []},
        {"startup_failures": -1},
        {"startup_failures": True},
        {"resets": 1.0},
        {"resets": "1"},
        {"reset_reason": None},
        {"reset_reason": "x" * 201},
        {"latch": "unlatched"},
        {"latch": False},
        {"latch": []},
        {"recent_ages_ns": None},
        {"recent_ages_ns": [-1]},
        {"recent_ages_ns": [1, 2]},
        {"recent_ages_ns": ["1"]},
        {"more": 1},
    ],
)
def test_a_damaged_history_is_refused(damage):
    """It may hide a latch, so nothing of it is guessed."""
    with pytest.raises(LedgerDamagedError, match="stored health history"):
        HealthHistory.from_json({**HealthHistory().to_json(), **damage}, now_ns=0)


def test_a_history_of_a_version_with_fewer_or_more_tests_is_read():
    """After an upgrade the new tests never fired; after a rollback unknown ones are left out."""
    stored = HealthHistory().with_alarm(Failure(RCT, PERMANENT, 11, 10)).to_json()
    alarms = stored["alarms"]
    assert isinstance(alarms, dict)
    alarms = {name: count for name, count in alarms.items() if not name.startswith("drift")}
    for other in (alarms, {**alarms, "spectrum-permanent": 3}):
        history = HealthHistory.from_json({**stored, "alarms": other}, now_ns=0)
        assert (1, 0) == (
            history.alarms[RCT, PERMANENT],
            history.alarms[HealthTest.BIAS_DRIFT, PERMANENT],
        )
        assert LatchReason.PERMANENT_FAILURE is history.latch
    bad = {**alarms, "spectrum-permanent": -3}
    with pytest.raises(LedgerDamagedError, match="spectrum-permanent is not a count"):
        HealthHistory.from_json({**stored, "alarms": bad}, now_ns=0)


@pytest.mark.parametrize("stored", [None, [], {}, "history"])
def test_what_is_no_history_is_refused(stored):
    with pytest.raises(LedgerDamagedError, match="expected exactly the fields"):
        HealthHistory.from_json(stored, now_ns=0)


@pytest.mark.parametrize("reason", ["", "x" * 201, "two\nlines"])
def test_a_reset_without_a_reason_is_refused(reason):
    """And changes nothing."""
    bench = healthy()
    bench.feed(b"\x5a" * 11)
    with pytest.raises(RequestError, match="reason"):
        bench.source.reset(0, reason)
    assert bench.state() is SourceState.FAILED
    assert bench.source.history.resets == 0


def test_resets_are_counted_and_forget_nothing():
    bench = healthy()
    bench.feed(b"\x5a" * 11)
    bench.source.reset(0, "first")
    bench.source.reset(0, "second")
    history = bench.source.history
    assert (history.resets, history.reset_reason, history.recent_ns) == (2, "second", ())
    assert history.alarms[RCT, PERMANENT] == 1


def test_a_failed_source_that_is_asked_for_output_raises():
    """One error for each thing that somebody must do."""
    bench = Bench(opened=False)
    with pytest.raises(SourceAbsentError, match="quantis-1"):
        bench.source.require_output()
    bench.source.on_opened(0)
    with pytest.raises(EntropyHoldError) as hold:
        bench.source.require_output()
    assert hold.value.why == "SOURCE_STARTUP"
    bench = healthy()
    bench.source.require_output()
    bench.feed(RUN)
    with pytest.raises(IntermittentFailureError, match="startup"):
        bench.source.require_output()
    bench.feed(noise(STARTUP, "start again"))
    with pytest.raises(IntermittentFailureError, match="assessing"):
        bench.source.require_output()
    bench.feed(noise(FIRST + WINDOW, "first again"))
    bench.source.require_output()
    bench.feed(b"\x5a" * 11)
    with pytest.raises(PermanentFailureError, match="permanent-failure"):
        bench.source.require_output()


def test_a_bit_source_takes_bits_only():
    """A wider sample is a fault of the device or its driver; nothing of that read is taken."""
    bench = Bench(BITS).feed(b"\0\1" * 10)
    with pytest.raises(SourceProtocolError, match="bits-1"):
        bench.source.feed(b"\0\1\2", 0)
    assert bench.source.status().samples_total == 20


def test_a_source_without_a_device_cannot_be_fed():
    bench = healthy()
    bench.lose()
    with pytest.raises(InternalError, match="no device is open"):
        bench.source.feed(b"\0", 0)


def test_every_sample_is_credited_discarded_or_undecided():
    """The totals add up at every moment."""
    bench = healthy()
    bench.feed(noise(3 * WINDOW + 7))
    status = bench.source.status()
    assert status.credited_total == 3 * WINDOW
    assert status.samples_total == status.credited_total + status.discarded_total + 7
    bench.lose()
    status = bench.source.status()
    assert status.samples_total == status.credited_total + status.discarded_total


def test_status_tells_since_when():
    bench = Bench(opened=False)
    assert bench.source.status().since_ns is None
    bench.source.on_opened(3)
    bench.feed(noise(STARTUP - 1), now_ns=4)
    assert (bench.source.status().state, bench.source.status().since_ns) == ("startup", 3)
    bench.feed(b"\0", now_ns=5)
    assert (bench.source.status().state, bench.source.status().since_ns) == ("assessing", 5)
    bench.source.on_lost(6)
    assert (bench.source.status().state, bench.source.status().since_ns) == ("lost", 6)


def test_no_text_shows_a_sample():
    """Neither results nor alarms nor status print what decides cards."""
    bench = healthy()
    samples = b"SECRET" + noise(WINDOW - 6)
    result = bench.source.feed(samples, 0)
    assert b"".join(block.samples for block in result.blocks) == samples
    assert "SECRET" not in repr(result) + repr(bench.source.status()) + repr(bench.source)


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("intermittent_alpha_log2", -19, "alpha"),
        ("intermittent_alpha_log2", -60, "alpha"),
        ("permanent_alpha_log2", -40, "alpha"),
        ("permanent_alpha_log2", -101, "alpha"),
        ("startup_samples", 1023, "startup_samples is 1023; expected at least 1024"),
        ("intermittent_limit", 1, "intermittent_limit is 1; expected at least 2"),
        ("intermittent_window_ns", 0, "intermittent_window_ns is 0; expected at least 1"),
        ("first_assessment_samples", 1023, "first_assessment_samples is 1023"),
        ("assessment_window_samples", 65_535, "assessment_window_samples is 65535"),
    ],
)
def test_a_policy_that_cannot_be_kept_is_refused(field, value, text):
    with pytest.raises(ConfigError, match=text):
        replace(HealthPolicy(), **{field: value})


def test_a_longer_startup_test_is_rounded_up_to_windows():
    """1,025 samples take three windows of 512."""
    bench = Bench(policy=replace(POLICY, startup_samples=1025)).feed(noise(1535))
    assert bench.state() is SourceState.STARTUP
    assert bench.feed(b"\0").state() is SourceState.ASSESSING


pieces_of_streams = st.one_of(
    st.integers(1, 3000).map(lambda n: noise(n, str(n))),
    st.integers(2, 12).map(lambda n: b"\x5a" * n),
    st.integers(20, 50).map(lambda n: b"\x5a\xa5" * n),
    st.just(RUN),
)


@settings(max_examples=15, deadline=None)
@given(
    stream=st.lists(pieces_of_streams, min_size=1, max_size=8).map(b"".join),
    lengths=st.lists(st.integers(0, 2000), max_size=12),
)
def test_whole_split_and_byte_by_byte_end_the_same(stream, lengths):
    """Same alarms, same state, and the same samples with the same credit left in the reservoir."""

    def outcome(feed):
        bench = healthy()
        feed(bench)
        left = [(s, b.millibits_per_sample) for b in bench.held for s in b.samples]
        return bench.alarms, left, bench.source.history, bench.state()

    def feed_split(bench):
        position = 0
        for length in lengths:
            bench.feed(stream[position : position + length])
            position += length
        bench.feed(stream[position:])

    whole = outcome(lambda bench: bench.feed(stream))
    assert whole == outcome(feed_split)
    assert whole == outcome(lambda bench: bench.feed_bytewise(stream))


@settings(max_examples=40, deadline=None)
@given(events=st.lists(st.sampled_from(["good", "run", "stuck", "lose", "open", "demand"])))
def test_a_latch_is_never_withdrawn_and_counts_never_fall(events):
    """Whatever happens short of a reset."""
    bench = healthy()
    before = bench.source.history
    for event in events:
        if event == "lose":
            bench.lose()
        elif event == "open":
            bench.source.on_opened(0)
        elif event == "demand":
            bench.source.on_demand_test(0)
        else:
            bench.source.on_opened(0)
            bench.feed({"good": noise(WINDOW), "run": RUN, "stuck": b"\x5a" * 11}[event])
        after = bench.source.history
        assert before.latch is None or after.latch is before.latch
        assert all(after.alarms[kind] >= before.alarms[kind] for kind in before.alarms)
        assert (after.latch is None) == (bench.state() is not SourceState.FAILED)
        before = after
