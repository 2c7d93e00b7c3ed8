"""The fill rate, and the hints that callers get from it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.runtime.fill_rate import MAX_RETRY_S, MIN_RETRY_S, WINDOW_NS, FillRate

SECOND = 10**9


def fed(*deliveries):
    rate = FillRate()
    for at_ns, millibits in deliveries:
        rate.add(millibits, at_ns)
    return rate


def test_nothing_seen_is_no_rate_and_the_longest_hint():
    """Division by nothing is the longest wait, not an error."""
    rate = FillRate()
    assert 0 == rate.millibits_per_second(7 * SECOND)
    assert MAX_RETRY_S == rate.seconds_for(1, 7 * SECOND)


def test_the_rate_is_that_of_the_last_five_seconds():
    """50,000 millibits in the window are 10,000 a second."""
    rate = fed((SECOND, 20_000), (2 * SECOND, 30_000))
    assert 10_000 == rate.millibits_per_second(2 * SECOND)
    assert 2.0 == rate.seconds_for(20_000, 2 * SECOND)


def test_a_delivery_counts_until_the_window_has_passed_it():
    """It is in at its last nanosecond and out at the next."""
    rate = fed((SECOND, 5000))
    assert 1000 == rate.millibits_per_second(SECOND + WINDOW_NS - 1)
    assert 0 == rate.millibits_per_second(SECOND + WINDOW_NS)
    assert MAX_RETRY_S == rate.seconds_for(1, SECOND + WINDOW_NS)


def test_what_comes_in_is_judged_by_the_time_in_which_it_came():
    """10,000 in half a second just now are 20,000 a second, whatever the window is."""
    rate = fed((SECOND, 5_000), (SECOND + SECOND // 2, 5_000))
    now_ns = SECOND + SECOND // 2
    assert rate.comes_in(20_000, SECOND, now_ns)
    assert not rate.comes_in(20_001, SECOND, now_ns)
    assert not FillRate().comes_in(1, SECOND, now_ns)
    assert not rate.comes_in(1, SECOND, now_ns + WINDOW_NS)


def test_hints_stay_between_as_soon_as_you_can_and_come_back_later():
    """A client never hammers and never sleeps through a recovery."""
    rate = fed((0, 5_000_000))
    assert MIN_RETRY_S == rate.seconds_for(1, 1)
    assert MAX_RETRY_S == rate.seconds_for(10**12, 1)


@given(st.lists(st.tuples(st.integers(0, 2 * SECOND), st.integers(0, 10**9)), max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_sliding_sum_is_the_sum_of_what_is_in_the_window(gaps):
    """Whatever came when, the rate is what a count of the last five seconds gives."""
    rate, now_ns, seen = FillRate(), 0, []
    for gap_ns, millibits in gaps:
        now_ns += gap_ns
        rate.add(millibits, now_ns)
        seen.append((now_ns, millibits))
        inside = sum(amount for at_ns, amount in seen if at_ns > now_ns - WINDOW_NS)
        assert inside // 5 == rate.millibits_per_second(now_ns)
