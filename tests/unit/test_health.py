"""The vectorised health tests say what plain loops say, however samples are cut."""

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from entropyd.entropy.cutoffs import HealthCutoffs, LevelCutoffs, cutoffs_for
from entropyd.entropy.health import Failure, HealthTest, HealthTests, Verdict
from tests.fakes.noise import noise

RCT, APT = HealthTest.REPETITION_COUNT, HealthTest.ADAPTIVE_PROPORTION
LAG = HealthTest.LAG_CORRELATION
# More than a window holds: for tests of the other two, whose samples repeat on purpose.
NO_LAG = LevelCutoffs(1025, 1025)
SMALL = HealthCutoffs(16, LevelCutoffs(3, 5), LevelCutoffs(6, 9), LevelCutoffs(7, 10))
EQUAL_LEVELS = HealthCutoffs(16, LevelCutoffs(4, 4), LevelCutoffs(16, 16), LevelCutoffs(16, 16))
REAL = cutoffs_for(6000, sample_bits=8, intermittent_alpha_log2=-40, permanent_alpha_log2=-60)
QUANTIS = replace(REAL, lag_correlation=NO_LAG)


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


def plain(samples, cutoffs):
    """Section 4.4 of the standard, one sample at a time, with two cutoffs a test; then the lags."""
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
    # The sort is stable: at one sample the standard's tests come first.
    return sorted(found + plain_lag(samples, cutoffs), key=lambda failure: failure[0])


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
    tests = HealthTests(replace(cutoffs, lag_correlation=NO_LAG))
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
    cutoffs = replace(SMALL, lag_correlation=NO_LAG)
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


def test_a_repeated_packet_is_seen_by_the_lag_test_alone():
    """A packet of 512 different-enough samples again and again: every sample is the one before."""
    packet = noise(512, "a packet")
    assert ours([packet], REAL) == []
    found = ours([packet * 2], REAL)
    assert [(512 + 34, "lag", "intermittent", 35), (512 + 43, "lag", "permanent", 44)] == found


def test_a_repeated_transfer_is_seen_by_the_lag_test_alone():
    """The same 8,192 samples again, as from a driver that hands out one buffer twice."""
    transfer = noise(8192, "a transfer")
    found = ours([transfer, transfer], REAL)
    assert (8192 + 34, "lag", "intermittent", 35) == found[0]
    assert {"lag"} == {test for _, test, *_ in found}


def test_the_lag_test_is_silent_on_noise():
    """A million samples of SHA-512 over a counter: a fixed stream, so a fixed answer."""
    assert ours([noise(1 << 20, "silence")], REAL) == []


def test_nothing_is_nothing():
    """An empty read observes nothing and changes nothing."""
    tests = HealthTests(QUANTIS)
    tests.feed(b"\xaa" * 7)
    assert tests.feed(b"") == []
    assert [Failure(RCT, Verdict.INTERMITTENT, 8, 7)] == tests.feed(b"\xaa")
