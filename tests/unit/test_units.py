"""Units are parsed exactly or refused with the text that says what to write."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd import units


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("0s", 0),
        ("250us", 250_000),
        ("50ms", 50_000_000),
        ("5s", 5_000_000_000),
        ("15m", 900_000_000_000),
        ("2h", 7_200_000_000_000),
        ("35d", 3_024_000_000_000_000),
    ],
)
def test_a_duration_is_a_whole_number_of_nanoseconds(text, expected_ns):
    assert expected_ns == units.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected_bytes"),
    [("512B", 512), ("20KiB", 20_480), ("256MiB", 2**28), ("5GiB", 5 * 2**30), ("1TiB", 2**40)],
)
def test_a_size_is_a_whole_number_of_bytes(text, expected_bytes):
    assert expected_bytes == units.parse_size(text)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (5, "in quotes"),
        (Decimal("5.0"), "in quotes"),
        (True, "in quotes"),
        (None, "in quotes"),
        ("5", "then its unit"),
        ("", "then its unit"),
        ("0.5s", "a whole number"),
        ("-5s", "a whole number"),
        ("5 s", "then its unit"),
        ("5s ", "then its unit"),
        ("5s\n", "then its unit"),
        ("\u0665s", "then its unit"),
        ("9999999999s", "a whole number"),
        ("5sec", "expected one of us, ms, s, m, h, d"),
        ("5MS", "expected one of us, ms, s, m, h, d"),
    ],
)
def test_a_bad_duration_is_refused_with_its_remedy(value, remedy):
    with pytest.raises(ValueError, match=remedy):
        units.parse_duration(value)


@pytest.mark.parametrize("value", ["5GB", "5kib", "5G", "5", "1.5GiB", 5, b"5GiB"])
def test_a_bad_size_is_refused(value):
    with pytest.raises(ValueError, match="expected"):
        units.parse_size(value)


@pytest.mark.parametrize(
    ("value", "expected_millibits"),
    [(Decimal("6.0"), 6000), (Decimal("0.001"), 1), (Decimal("7.125"), 7125), (8, 8000), (1, 1000)],
)
def test_a_claim_is_a_whole_number_of_millibits(value, expected_millibits):
    assert expected_millibits == units.parse_millibits(value)


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        9,
        True,
        6.0,
        "6.0",
        Decimal("8.001"),
        Decimal("6.0001"),
        Decimal("nan"),
        Decimal("inf"),
        Decimal("-0.5"),
    ],
)
def test_a_claim_that_is_no_exact_number_of_millibits_is_refused(value):
    with pytest.raises(ValueError, match="expected a number of bits"):
        units.parse_millibits(value)


def test_a_range_names_its_ends_and_the_value():
    parse = units.duration_between("100ms", "60s")
    lowest, highest = 100 * units.MILLISECOND, units.MINUTE
    assert lowest == parse("100ms")
    assert highest == parse("1m")
    with pytest.raises(ValueError, match=r"is 99ms; expected 100ms to 60s"):
        parse("99ms")
    with pytest.raises(ValueError, match=r"is 61s; expected 100ms to 60s"):
        parse("61s")


def test_a_size_range_names_its_ends_and_the_value():
    with pytest.raises(ValueError, match=r"is 1KiB; expected 16KiB to 64MiB"):
        units.size_between("16KiB", "64MiB")("1024B")


@given(number=st.integers(0, 10**9 - 1), unit=st.sampled_from(["us", "ms", "s", "m", "h", "d"]))
@settings(max_examples=200, deadline=None)
def test_a_written_duration_reads_back_as_itself(number, unit):
    """Text made from a duration names the same duration, whenever it is short enough to read."""
    duration_ns = units.parse_duration(f"{number}{unit}")
    text = units.duration_text(duration_ns)
    assert duration_ns == units.parse_duration(text)


@pytest.mark.parametrize(
    ("duration_ns", "expected"),
    [(90 * units.SECOND, "90s"), (2 * units.MINUTE, "2m"), (0, "0us"), (1, "1ns")],
)
def test_a_duration_text_uses_the_largest_unit_without_a_fraction(duration_ns, expected):
    assert expected == units.duration_text(duration_ns)


@pytest.mark.parametrize(
    ("size_bytes", "expected"), [(1025, "1025B"), (5 * units.GIB, "5GiB"), (0, "0B")]
)
def test_a_size_text_uses_the_largest_unit_without_a_fraction(size_bytes, expected):
    assert expected == units.size_text(size_bytes)
