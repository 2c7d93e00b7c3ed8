# ruff: noqa: D102 - what a hook does is said once, in `Fault`
"""Faults in what an emulated Quantis sends: stuck, biased, mixed with other bytes, too slow."""

from entropyd_drivers.emulated_fault import Fault, registered
from entropyd_drivers.emulated_wire import Progress

_MILLISECOND_NS = 1_000_000


@registered("F16", "zeros", "ones", "packet", "lag")
class StuckStream(Fault):
    """Only 0x00, only 0xFF, the same packet for ever, or each byte twice."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._first: bytes | None = None

    def alters(self, packet: bytes) -> bytes:
        if self.variant in {"zeros", "ones"}:
            return (b"\0" if self.variant == "zeros" else b"\xff") * len(packet)
        if self.variant == "packet":
            self._first = self._first or packet
            return self._first
        lagged = bytearray(packet)
        lagged[1::2] = packet[0::2]
        return bytes(lagged)


@registered("F17", "small", "large")
class Bias(Fault):
    """More ones than zeros: P(1) = 0.5005, which no claim of 7.9 bits contradicts, or 0.6."""

    _SMALL, _LARGE = 1000, 5

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        # Of fair bits each n-th set to 1 leaves P(1) = 1/2 + 1/(2n).
        self._every = self._SMALL if variant == "small" else self._LARGE
        self._next = 0  # bit of the next packet that is set first

    def alters(self, packet: bytes) -> bytes:
        bits = 8 * len(packet)
        mask = sum(1 << bit for bit in range(self._next, bits, self._every))
        self._next = (self._next - bits) % self._every
        return (int.from_bytes(packet, "little") | mask).to_bytes(len(packet), "little")


@registered("F18")
class StatusBytes(Fault):
    """Two status bytes of another chip begin each packet, as FTDI bridges leave them."""

    def alters(self, packet: bytes) -> bytes:
        return b"\x31\x60" + packet[2:]


@registered("F19", "drop", "burst")
class RateChange(Fault):
    """The rate drops to a tenth, or all data comes within a tenth of the time."""

    _PERIOD_NS = 500 * _MILLISECOND_NS

    def rate(self, nominal: int) -> int:
        # Not to 0, which would mean unpaced.
        return -(-nominal // 10) if self.variant == "drop" else nominal * 10

    def sends(self, progress: Progress) -> bool:
        in_burst = progress.now_ns % self._PERIOD_NS < self._PERIOD_NS // 10
        return self.variant == "drop" or in_burst
