"""Months, days, and clocks that jump: nothing is archived or destroyed before its time."""

from datetime import UTC, datetime

import pytest

from entropyd import units
from entropyd.errors import LedgerRefusedError, RequestError
from entropyd.ledger.retention import day_of, latest_boundary, month_of, parse_day, parse_month

NOW = int(datetime(2026, 7, 15, tzinfo=UTC).timestamp()) * units.SECOND


def test_months_and_days_begin_in_utc():
    assert 1_777_593_600 * units.SECOND == parse_month("2026-05")
    assert parse_month("2026-05") == parse_day("2026-05-01")
    assert ("2026-04", "2026-04-30") == (
        month_of(parse_month("2026-05") - 1),
        day_of(parse_month("2026-05") - 1),
    )
    assert "2024-02-29" == day_of(parse_day("2024-02-29"))
    assert 0 == parse_month("1970-01")


@pytest.mark.parametrize(
    "text", ["", "2026", "2026-5", "2026-13", "26-05", "2026-05-01", " 2026-05"]
)
def test_what_is_no_month_is_refused(text):
    with pytest.raises(RequestError, match="expected a month such as 2026-05"):
        parse_month(text)


@pytest.mark.parametrize("text", ["2026-05", "2026-02-30", "2026-5-1", "yesterday"])
def test_what_is_no_day_is_refused(text):
    with pytest.raises(RequestError, match="expected a day such as 2026-05-31"):
        parse_day(text)


@pytest.mark.parametrize(
    ("now", "last", "boundary"),
    [
        (NOW, NOW, NOW - units.DAY),
        (NOW, NOW - units.HOUR, NOW - units.HOUR - units.DAY),
        (NOW + 3650 * units.DAY, NOW, NOW - units.DAY),
        (NOW - units.MINUTE, NOW, NOW - units.MINUTE - units.DAY),
        (NOW, 0, -units.DAY),
    ],
    ids=["level", "an hour idle", "clock ten years ahead", "a minute behind", "hand dated 1970"],
)
def test_the_earlier_of_both_clocks_counts(now, last, boundary):
    assert boundary == latest_boundary(now, last, units.DAY)


def test_a_clock_before_the_last_hand_is_refused_with_both_days():
    with pytest.raises(LedgerRefusedError, match=r"says 2000-01-01 .* drawn on 2026-07-15: set"):
        latest_boundary(parse_month("2000-01"), NOW, units.DAY)
