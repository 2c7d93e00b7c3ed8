"""When hands leave the hot ledger and when their secrets are destroyed: months, days and clocks.

What is kept how long is told in wall time, and wall clocks jump. A boundary is therefore measured
from the earlier of two clocks, now's and the last record's: one that jumped ahead alone archives
and destroys nothing too early. A clock that stands before the last record is refused.

Pure: no files, no clock.
"""

from datetime import UTC, datetime, timedelta

from entropyd import units
from entropyd.errors import LedgerRefusedError, RequestError

# Leap seconds, time servers and hands that were drawn while somebody types move clocks by less.
CLOCK_TOLERANCE_NS = units.HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_month(text: str) -> int:
    """Return when a month such as 2026-05 begins, UTC, in nanoseconds since 1970.

    Raises:
        RequestError: it is none.
    """
    return _parse(text, "%Y-%m", "a month such as 2026-05")


def parse_day(text: str) -> int:
    """Return when a day such as 2026-05-31 begins, UTC, in nanoseconds since 1970.

    Raises:
        RequestError: it is none.
    """
    return _parse(text, "%Y-%m-%d", "a day such as 2026-05-31")


def month_of(at_ns: int) -> str:
    """Return the month of a time, such as 2026-05."""
    return day_of(at_ns)[:7]


def day_of(at_ns: int) -> str:
    """Return the day of a time, such as 2026-05-31."""
    return (_EPOCH + timedelta(microseconds=at_ns // 1000)).strftime("%Y-%m-%d")


def latest_boundary(now_ns: int, last_drawn_ns: int, kept_for_ns: int) -> int:
    """Return the time before which hands have been kept as long as they have to be.

    Args:
        now_ns: wall clock.
        last_drawn_ns: when the last hand, or the last step, says it was drawn.
        kept_for_ns: how long hands are kept.

    Raises:
        LedgerRefusedError: the clock stands before it.
    """
    if now_ns + CLOCK_TOLERANCE_NS < last_drawn_ns:
        raise LedgerRefusedError(
            f"the clock says {day_of(now_ns)} and the last hand was drawn on"
            f" {day_of(last_drawn_ns)}: set the clock, or wait until a hand is drawn with the right"
            " one; nothing was changed"
        )
    return min(now_ns, last_drawn_ns) - kept_for_ns


def _parse(text: str, form: str, expected: str) -> int:
    try:
        moment = datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError as error:
        raise RequestError("before", f"is {text!r}; expected {expected}") from error
    # strptime takes 2026-5 too, and one way of writing is enough.
    if moment.strftime(form) != text:
        raise RequestError("before", f"is {text!r}; expected {expected}")
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
