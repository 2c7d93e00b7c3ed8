"""The vectorised health tests say what plain loops say, however samples are cut."""

from dataclasses import replace
from operator import or_

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from entropyd.entropy.cutoffs import HealthCutoffs, LevelCutoffs, cutoffs_for
from entropyd.entropy.health import Failure, HealthTest, HealthTests, Verdict
from tests.fakes.noise import noise

RCT, APT = HealthTest.REPETITION_COUNT, HealthTest.ADAPTIVE_PROPORTION
LAG = HealthTest.LAG_CORRELATION
# More than a window holds: for tests of the standard's two, whose samples repeat on purpose.
NEVER = LevelCutoffs(1025, 1025)
SMALL = HealthCutoffs(
    window=16,
    repetition_count=LevelCutoffs(3, 5),
    adaptive_proportion=LevelCutoffs(6, 9),
    lag_correlation=LevelCutoffs(7, 10),
    repeated_block=LevelCutoffs(1, 2),
    bias_drift=LevelCutoffs(10, 20),
    drift_block=48,
)
EQUAL_LEVELS = HealthCutoffs(
    window=16,
    repetition_count=LevelCutoffs(4, 4),
    adaptive_proportion=LevelCutoffs(16, 16),
    lag_correlation=LevelCutoffs(16, 16),
    repeated_block=LevelCutoffs(3, 3),
    bias_drift=LevelCutoffs(15, 15),
    drift_block=33,
)
REAL = cutoffs_for(6000, sample_bits=8, intermittent_alpha_log2=-40, permanent_alpha_log2=-60)
QUANTIS = replace(REAL, lag_correlation=NEVER, repeated_block=NEVER)


def plain_lag(samples, cutoffs):
    """The lag test one lag and one sample at a time, in the order in which one call lists them."""
    found = []
    for lag in (1, 2, 64, 512, 8192):
        hits = 0
        for index, sample in enumerate(samples):
            if index % cutoffs.window == 0:
                hits = 0
            if index >= lag and sample == samples[index - lag]:
                hits += 1
                for verdict in ("intermittent", "permanent"):
                    if hits == getattr(cutoffs.lag_correlation, verdict):
                        found.append((index, "lag", verdict, hits))
    return found


def reached(count, cutoffs):
    return [
        verdict for verdict in ("intermittent", "permanent") if count == getattr(cutoffs, verdict)
    ]


def plain_repeats(samples, cutoffs):
    """The repeated-block test, on whole windows; as many as are remembered at least."""
    found, seen, repeats = [], [], 0
    for end in range(cutoffs.window, len(samples) + 1, cutoffs.window):
        window = samples[end - cutoffs.window : end]
        repeats = repeats + 1 if window in seen else 0
        seen.append(window)
        found += [
            (end - 1, "repeated-block", verdict, repeats)
            for verdict in reached(repeats, cutoffs.repeated_block)
        ]
    return found


def plain_drift(samples, cutoffs):
    """The drift test, block by block; an alarm makes its block the reference."""
    found, reference = [], None
    for end in range(cutoffs.drift_block, len(samples) + 1, cutoffs.drift_block):
        ones = sum(sample.bit_count() for sample in samples[end - cutoffs.drift_block : end])
        departure = 0 if reference is None else abs(ones - reference)
        levels = cutoffs.bias_drift
        alarms = [
            (end - 1, "drift", verdict, getattr(levels, verdict))
            for verdict in ("intermittent", "permanent")
            if departure >= getattr(levels, verdict)
        ]
        if reference is None or alarms:
            reference = ones
        found += alarms
    return found


def plain(samples, cutoffs):
    """Section 4.4 of the standard, one sample at a time, with two cutoffs a test; then our own."""
    found = []
    a, b = -1, 0
    reference = occurrences = 0
    for index, sample in enumerate(samples):
        if sample == a:
            b += 1
        else:
            a, b = sample, 1
        if b == cutoffs.repetition_count.intermittent:
            found.append((index, "rct", "intermittent", b))
        if b == cutoffs.repetition_count.permanent:
            found.append((index, "rct", "permanent", b))
        if index % cutoffs.window == 0:
            reference, occurrences = sample, 0
        if sample == reference:
            occurrences += 1
            if occurrences == cutoffs.adaptive_proportion.intermittent:
                found.append((index, "apt", "intermittent", occurrences))
            if occurrences == cutoffs.adaptive_proportion.permanent:
                found.append((index, "apt", "permanent", occurrences))
    for own in (plain_lag, plain_repeats, plain_drift):
        found += own(samples, cutoffs)
    # The sort is stable: at one sample the standard's tests come first.
    return sorted(found, key=lambda failure: failure[0])


def ours(pieces, cutoffs):
    tests = HealthTests(cutoffs)
    return [
        (failure.sample_index, str(failure.test), str(failure.verdict), failure.cutoff)
        for piece in pieces
        for failure in tests.feed(piece)
    ]


# Few values and long repetitions, so that runs and proportions reach both cutoffs often.
streams = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 7)).map(lambda run: bytes([run[0]]) * run[1]),
    max_size=60,
).map(b"".join)
cuttings = st.lists(st.integers(0, 40), max_size=30)


def cut(samples, lengths):
    pieces, position = [], 0
    for length in lengths:
        pieces.append(samples[position : position + length])
        position += length
    return [*pieces, samples[position:]]


@settings(max_examples=300, deadline=None)
@given(samples=streams, lengths=cuttings, cutoffs=st.sampled_from([SMALL, EQUAL_LEVELS]))
@example(samples=b"\0" * 40, lengths=[2, 1, 1, 1], cutoffs=SMALL)
@example(samples=b"\0" * 40, lengths=[16, 16], cutoffs=EQUAL_LEVELS)
def test_whole_split_and_byte_by_byte_equal_the_plain_loop(samples, lengths, cutoffs):
    """Same test, same cutoff, same sample, same order."""
    expected = plain(samples, cutoffs)
    assert expected == ours([samples], cutoffs)
    assert expected == ours(cut(samples, lengths), cutoffs)
    assert expected == ours([bytes([sample]) for sample in samples], cutoffs)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), claim=st.sampled_from([500, 1000, 2500, 6000]))
def test_real_windows_equal_the_plain_loop(data, claim):
    """Windows of 512 with cutoffs as configured, on streams biased enough to reach them."""
    cutoffs = cutoffs_for(
        claim, sample_bits=8, intermittent_alpha_log2=-20, permanent_alpha_log2=-40
    )
    weight = data.draw(st.integers(0, 12))
    noise = data.draw(st.binary(min_size=64, max_size=64)) * 40
    samples = bytes(0 if byte % 13 < weight else byte for byte in noise)
    lengths = data.draw(st.lists(st.integers(0, 1500), max_size=4))
    expected = plain(samples, cutoffs)
    assert expected == ours([samples], cutoffs)
    assert expected == ours(cut(samples, lengths), cutoffs)


def test_bits_use_a_window_of_1024():
    """Alternating bits hold 512 of the reference in each window; all-equal ones fail both tests."""
    cutoffs = cutoffs_for(
        1000, sample_bits=1, intermittent_alpha_log2=-40, permanent_alpha_log2=-60
    )
    tests = HealthTests(replace(cutoffs, lag_correlation=NEVER, repeated_block=NEVER))
    assert tests.feed(b"\0\1" * 2048) == []
    assert tests.window_filled == 0
    assert tests.feed(b"\0\1" * 500) == []
    assert tests.window_filled == 1000
    assert plain(b"\1" * 4096, cutoffs) == ours([b"\1" * 4096], cutoffs)


def test_the_first_sample_of_a_window_is_new():
    """Neither the count nor the reference of one window is taken over into the next."""
    first = b"\x2a\1" * 5 + b"\2\3\4\5\6\7"
    second = b"\7" + b"\x2a\1" * 7 + b"\2"
    assert (len(first), len(second)) == (16, 16)
    cutoffs = replace(SMALL, lag_correlation=NEVER)
    assert ours([first + second], cutoffs) == []
    assert ours([second[1:] + b"\2"], cutoffs) == [(10, "apt", "intermittent", 6)]


def test_a_run_goes_on_through_the_intermittent_cutoff():
    """The same run that alarmed at 8 is permanent at 11, also when an alarm lies between calls."""
    tests = HealthTests(QUANTIS)
    assert tests.feed(b"\xaa" * 7) == []
    assert [Failure(RCT, Verdict.INTERMITTENT, 8, 7)] == tests.feed(b"\xaa")
    assert tests.feed(b"\xaa" * 2) == []
    assert [Failure(RCT, Verdict.PERMANENT, 11, 10)] == tests.feed(b"\xaa")


def test_a_count_goes_on_through_the_intermittent_cutoff():
    """The same window that alarmed at 36 is permanent at 45."""
    tests = HealthTests(QUANTIS)
    assert [Failure(APT, Verdict.INTERMITTENT, 36, 70)] == tests.feed(b"\xaa\xbb" * 36)
    assert [Failure(APT, Verdict.PERMANENT, 45, 88)] == tests.feed(b"\xaa\xbb" * 9)


def test_the_repetition_count_is_alive_after_an_alarm():
    """Two runs, two alarms; and after the permanent level as well."""
    run, other = b"\xaa" * 11, b"\xbb"
    assert [index for index, *_ in ours([run + other + run], QUANTIS)] == [7, 10, 19, 22]


def test_the_proportion_test_is_alive_after_an_alarm():
    """Two bad windows, two alarms at the same place of each."""
    window = b"\xaa\xbb" * 36 + bytes(range(220)) * 2
    assert len(window) == 512
    assert [index for index, *_ in ours([window * 2], QUANTIS)] == [70, 512 + 70]


def test_a_doubled_sample_is_seen_by_the_lag_test_alone():
    """Each sample twice: as frequent as ever, and every second one equals the one before."""
    doubled = bytes(value for byte in range(256) for value in (byte, byte))
    assert ours([doubled], REAL)[0] == (69, "lag", "intermittent", 35)
    assert {"lag"} == {test for _, test, *_ in ours([doubled], REAL)}


def test_a_repeated_packet_is_not_seen_by_the_tests_of_the_standard():
    """A packet of 512 different-enough samples again: every sample is the one before."""
    packet = noise(512, "a packet")
    assert ours([packet], REAL) == []
    lag = [(512 + 34, "lag", "intermittent", 35), (512 + 43, "lag", "permanent", 44)]
    assert [*lag, (1023, "repeated-block", "intermittent", 1)] == ours([packet * 2], REAL)


def test_a_repeated_transfer_is_not_seen_by_the_tests_of_the_standard():
    """The same 8,192 samples again, as from a driver that hands out one buffer twice."""
    transfer = noise(8192, "a transfer")
    found = ours([transfer, transfer], REAL)
    assert (8192 + 34, "lag", "intermittent", 35) == found[0]
    assert {"lag", "repeated-block"} == {test for _, test, *_ in found}


def test_a_window_that_comes_again_later_is_seen_by_the_repeated_block_test_alone():
    """Three windows between them, no lag: once is intermittent, twice running permanent."""
    windows = [noise(512, f"window {number}") for number in range(6)]
    told = [windows[i] for i in (0, 1, 2, 3, 0, 4, 1, 2, 5, 3)]
    assert ours([b"".join(told)], REAL) == [
        (5 * 512 - 1, "repeated-block", "intermittent", 1),
        (7 * 512 - 1, "repeated-block", "intermittent", 1),
        (8 * 512 - 1, "repeated-block", "permanent", 2),
        (10 * 512 - 1, "repeated-block", "intermittent", 1),
    ]


@pytest.mark.parametrize(("between", "is_seen"), [(1022, True), (2100, False)])
def test_how_long_a_window_is_remembered(between, is_seen):
    """At least 1,024 windows, at most 2,048."""
    first = noise(512, "remembered")
    stream = first + noise(512 * between, "between") + first
    assert is_seen == any(test == "repeated-block" for _, test, *_ in ours([stream], REAL))


def biased(length, every, label):
    """Noise of which each so-many-th bit is one: its share of ones is 1/2 + 1/(2 every)."""
    pattern = sum(1 << bit for bit in range(0, 8 * every, every)).to_bytes(every, "little")
    mask = pattern * (length // every + 1)
    return bytes(map(or_, noise(length, label), mask))


@pytest.mark.parametrize(
    ("every", "levels"),
    [(1000, []), (22, ["intermittent"]), (5, ["intermittent", "permanent"])],
)
def test_drift_is_seen_where_the_share_of_ones_moves(every, levels):
    """From a half by 0.0005: silent, and no claim contradicts it; by 0.023; by 0.1."""
    stream = noise(65_536, "fair") + biased(65_536, every, "biased")
    expected = [(131_071, "drift", level, getattr(REAL.bias_drift, level)) for level in levels]
    assert expected == ours([stream], REAL)


def test_what_a_source_became_is_what_drift_is_measured_from():
    """The new share goes on without an alarm; the way back is one again. So the test is alive."""
    fair, other = noise(65_536, "fair"), biased(65_536, 10, "biased")
    stream = fair + other + other + fair + fair
    found = [index for index, test, level, _ in ours([stream], REAL) if level == "intermittent"]
    assert [2 * 65_536 - 1, 4 * 65_536 - 1] == [
        index for index in found if (index + 1) % 65_536 == 0 and index > 65_536
    ][:2]


def test_slow_drift_adds_up():
    """Each block differs little from the one before it, and in the end too much from the first."""
    everies = [1000, 100, 60, 45, 36, 30, 26, 23, 20]
    blocks = [biased(65_536, every, f"slow {every}") for every in everies]
    found = [failure for failure in ours([b"".join(blocks)], REAL) if failure[1] == "drift"]
    assert [(8 * 65_536 - 1, "drift", "intermittent", 10_918)] == found


def test_all_tests_are_silent_on_noise():
    """A million samples of SHA-512 over a counter: a fixed stream, so a fixed answer."""
    assert ours([noise(1 << 20, "silence")], REAL) == []


def test_nothing_is_nothing():
    """An empty read observes nothing and changes nothing."""
    tests = HealthTests(QUANTIS)
    tests.feed(b"\xaa" * 7)
    assert tests.feed(b"") == []
    assert [Failure(RCT, Verdict.INTERMITTENT, 8, 7)] == tests.feed(b"\xaa")
