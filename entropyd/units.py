"""Numbers with units, as people write them in configuration: exact, or refused.

A duration is a whole number of nanoseconds inside, a size a whole number of
bytes, a claim a whole number of millibits. None of them is ever a float: a
gate that opens at 319.99999 bits cannot be argued about.

Errors are ValueErrors, for wrong types too, whose text says what was expected
and what to write; `entropyd.config` puts the key in front and raises ConfigError.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

KIB = 2**10
MIB = 2**20
GIB = 2**30
TIB = 2**40

# Ascending, because `_largest_unit` takes the last that divides.
_DURATION_UNITS = {
    "us": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
    "d": DAY,
}
_SIZE_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB}

# Nine digits of the largest unit, days, are 8.64e22 ns: Python's integers hold
# that, and every key has a range of its own that refuses it with a better text.
_QUANTITY = re.compile(r"([0-9]{1,9})([A-Za-z]+)", re.ASCII)

# A claim above the width of a byte would credit what a sample cannot carry.
MAX_SAMPLE_BITS = 8


def parse_duration(value: object) -> int:
    """Return a duration such as "50ms", "5s", "15m" or "35d" in nanoseconds.

    Raises:
        ValueError: not text, no unit, a fraction, or a unit that is not known.
    """
    return _parse(value, _DURATION_UNITS, 'a duration such as "50ms", "5s", "15m" or "35d"')


def parse_size(value: object) -> int:
    """Return a size such as "20KiB" or "5GiB" in bytes.

    Decimal units (kB, GB) are refused: people mean different sizes by them.

    Raises:
        ValueError: not text, no unit, a fraction, or a unit that is not known.
    """
    return _parse(value, _SIZE_UNITS, 'a size such as "512B", "20KiB" or "5GiB"')


def parse_millibits(value: object) -> int:
    """Return a number of bits, above 0 and at most 8, in thousandths of a bit.

    Args:
        value: an int or a Decimal with at most three decimals. A float is
            refused, since 6.1 is not a number that a float can hold.

    Raises:
        ValueError: another type, out of range, or finer than a millibit.
    """
    expected = f"a number of bits above 0, at most {MAX_SAMPLE_BITS}, with at most three decimals"
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"is not a number; expected {expected}, such as 6.0")  # noqa: TRY004
    bits = Decimal(value)
    if not bits.is_finite() or not 0 < bits <= MAX_SAMPLE_BITS:
        raise ValueError(f"is {bits}; expected {expected}")
    millibits = bits * 1000
    if millibits != int(millibits):
        raise ValueError(f"is {bits}; expected {expected}: round it down")
    return int(millibits)


def duration_between(low: str, high: str) -> Callable[[object], int]:
    """Return a parser for durations from `low` to `high`, both included."""
    return _between(parse_duration, duration_text, low, high)


def size_between(low: str, high: str) -> Callable[[object], int]:
    """Return a parser for sizes from `low` to `high`, both included."""
    return _between(parse_size, size_text, low, high)


def duration_text(duration_ns: int) -> str:
    """Return `duration_ns` in the largest unit that needs no fraction: 90s, not 1.5m."""
    if duration_ns % MICROSECOND:
        return f"{duration_ns}ns"
    return _largest_unit(duration_ns, _DURATION_UNITS)


def size_text(size_bytes: int) -> str:
    """Return `size_bytes` in the largest unit that needs no fraction."""
    return _largest_unit(size_bytes, _SIZE_UNITS)


def _parse(value: object, units: Mapping[str, int], expected: str) -> int:
    if not isinstance(value, str):
        raise ValueError(f"has no unit; expected {expected}, in quotes")  # noqa: TRY004
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise ValueError(f'is "{value}"; expected {expected}: a whole number, then its unit')
    number, unit = match.groups()
    if unit not in units:
        raise ValueError(f'has the unit "{unit}"; expected one of {", ".join(units)}')
    return int(number) * units[unit]


def _between(
    parse: Callable[[object], int], text: Callable[[int], str], low: str, high: str
) -> Callable[[object], int]:
    lowest, highest = parse(low), parse(high)

    def bounded(value: object) -> int:
        number = parse(value)
        if not lowest <= number <= highest:
            raise ValueError(f"is {text(number)}; expected {low} to {high}")
        return number

    return bounded


def _largest_unit(number: int, units: Mapping[str, int]) -> str:
    best = next(iter(units))
    for name, unit in units.items():
        if number and number % unit == 0:
            best = name
    return f"{number // units[best]}{best}"
