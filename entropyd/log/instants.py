"""Times as text: RFC 3339 in UTC, to the millisecond, in one spelling.

A time in a receipt is what the operator's clock said: a claim. The order of
events is that of the log.

Spec: RFC 3339; docs/protocol.md, "Receipts".
"""

import re

from entropyd.errors import RequestError
from entropyd.log.values import BadValueError

_MS_A_DAY = 24 * 60 * 60 * 1000

# 9999-12-31T23:59:59.999Z: four digits hold no later year.
LAST_MS = 253_402_300_799_999

_SHAPE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z"
)


class Time:
    """Milliseconds since 1970 without leap seconds, as `2026-11-30T07:47:00.000Z`."""

    def encode(self, field: str, value: int) -> str:
        """Return the text of a time from 1970 to 9999."""
        if not 0 <= value <= LAST_MS:
            raise RequestError(field, f"is {value} ms; expected 0 to {LAST_MS}, years 1970 to 9999")
        days, ms = divmod(value, _MS_A_DAY)
        year, month, day = _date(days)
        seconds, ms = divmod(ms, 1000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"
        return f"{year:04}-{month:02}-{day:02}T{clock}Z"

    def decode(self, text: str) -> int:
        """Return the milliseconds. A day or hour that no calendar has is refused, 60 s too."""
        match = _SHAPE.fullmatch(text)
        if match is None:
            raise BadValueError("expected a time such as 2026-11-30T07:47:00.000Z")
        year, month, day, hours, minutes, seconds, ms = map(int, match.groups())
        clock = ((hours * 60 + minutes) * 60 + seconds) * 1000 + ms
        value = _days(year, month, day) * _MS_A_DAY + clock
        # Whatever is out of its range (month 13, second 60, 1969) comes back spelt otherwise.
        if not 0 <= value <= LAST_MS or self.encode("time", value) != text:
            raise BadValueError("no such time in the years 1970 to 9999")
        return value


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar.

    Years are counted from March, so that the leap day ends one; the months from
    March have 153 days in five, which the division spreads as the calendar does.
    719,468 are the days from 0000-03-01 to 1970-01-01.
    """
    years = year - (month <= 2)
    months = (month + 9) % 12
    leap_days = years // 4 - years // 100 + years // 400
    return 365 * years + leap_days + (153 * months + 2) // 5 + day - 1 - 719_468


def _date(days: int) -> tuple[int, int, int]:
    """Return year, month and day; the inverse of `_days`."""
    # Never above the year sought by more than one, since no year is longer than 366 days.
    year = 1970 + days // 366
    while _days(year + 1, 1, 1) <= days:
        year += 1
    month = next(month for month in range(12, 0, -1) if _days(year, month, 1) <= days)
    return year, month, days - _days(year, month, 1) + 1
