"""Bit sources with opinions, for tests that choose the bits."""


class OutOfBitsError(Exception):
    """The finite string has ended inside a draw."""


class FiniteBits:
    """Deals a string of "0" and "1" and counts what was taken."""

    def __init__(self, bits: str) -> None:
        self.bits = bits
        self.taken = 0

    def take(self, count: int) -> int:
        if self.taken + count > len(self.bits):
            raise OutOfBitsError
        self.taken += count
        return int(self.bits[self.taken - count : self.taken], 2)


class Values:
    """Gives prepared values, each of which must fit, and remembers the widths asked for."""

    def __init__(self, *values: int) -> None:
        self.values = list(values)
        self.widths: list[int] = []

    def take(self, count: int) -> int:
        value = self.values.pop(0)
        assert 0 <= value < 2**count
        self.widths.append(count)
        return value
