"""The rate test at its limits; what it reports, and that it takes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropyd.entropy.rate import SPAN_NS, Rate, RateChange, RateWatch

SECOND = 10**9


def watch(nominal=1000):
    found = RateWatch("q", nominal)
    found.begin(0)
    return found


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (0, Rate.SLOW),
        (4999, Rate.SLOW),
        (5000, Rate.STEADY),
        (12_500, Rate.STEADY),
        (12_510, Rate.FAST),
    ],
)
def test_limits_of_a_thousand_samples_a_second(samples, expected):
    """Below a half is slow, above five quarters fast, over ten seconds."""
    found = watch()
    assert found.note(samples, SECOND) is None
    assert RateChange("q", expected, samples // 10, 1000) == found.note(1, SPAN_NS)
    assert expected is found.rate


def test_nothing_is_known_before_a_span_has_passed():
    found = watch()
    assert found.note(10**6, SPAN_NS - 1) is None
    assert Rate.UNKNOWN is found.rate


def test_a_rate_that_goes_on_is_told_once():
    found = watch()
    told = [found.note(10_000, second * SECOND) for second in range(0, 60, 10)]
    assert [None, RateChange("q", Rate.STEADY, 1000, 1000), None, None, None, None] == told


def test_a_device_that_is_gone_is_not_slow():
    """The time without a device is in no span; with the next one a new span begins."""
    found = watch()
    found.note(10_000, 0)
    found.stop()
    assert found.note(5, 50 * SECOND) is None
    found.begin(100 * SECOND)
    found.note(10_000, 101 * SECOND)
    change = found.note(0, 110 * SECOND)
    assert RateChange("q", Rate.STEADY, 1000, 1000) == change


def test_a_source_without_a_nominal_rate_is_not_watched():
    found = watch(nominal=0)
    assert [None, None] == [found.note(1, 0), found.note(1, 100 * SECOND)]
    assert Rate.UNKNOWN is found.rate


@given(
    samples=st.lists(st.integers(0, 500), min_size=1, max_size=20),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=20),
)
def test_it_does_not_depend_on_how_samples_are_cut(samples, cuts):
    """Ten seconds a list entry: in one call, or in as many as you like at the same time."""
    one, many = watch(nominal=20), watch(nominal=20)
    for number, count in enumerate(samples):
        now_ns = number * SPAN_NS
        whole = one.note(count, now_ns)
        parts = cuts[number % len(cuts)]
        pieces = [count // parts] * (parts - 1)
        pieces.append(count - sum(pieces))
        changes = [many.note(piece, now_ns) for piece in pieces]
        assert [whole] + [None] * (parts - 1) == changes
