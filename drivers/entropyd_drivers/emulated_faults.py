# ruff: noqa: D102 - what a hook does is said once, in `Fault`
"""Faults of a Quantis by name: each a small class that says what is not healthy.

The names are those of the project's fault list; each is tied to a report about
this or a comparable device. `FAULTS` is the registry: another fault is another
class with a name, and appears in the control file, the tests and the help by
that alone. `F1:nak` is variant `nak` of fault F1; without one, the first counts.
"""

from collections.abc import Callable
from typing import ClassVar

from entropyd_drivers.emulated_state import DeviceState
from entropyd_drivers.emulated_wire import Condition, ConditionError, Progress, Setup

_VENDOR_TYPES = (0xC1, 0x41)
_MILLISECOND_NS = 1_000_000


class Fault:
    """Healthy in every respect; each subclass changes one.

    Attributes:
        variants: names of its variants, the default first.
        absent: the device is off the bus.
        sticky_halt: clearing the halt does not help.
    """

    name: ClassVar[str] = ""
    variants: ClassVar[tuple[str, ...]] = ("",)
    sticky_halt = False

    def __init__(self, variant: str) -> None:
        self.variant = variant
        self.absent = False

    def begins(self, state: DeviceState) -> None:
        """Act once, when the fault comes into force."""

    def opens(self) -> None:
        """Refuse, by raising, that a handle is opened."""

    def configures(self) -> None:
        """Refuse, by raising, that a configuration is set."""

    def claims(self) -> None:
        """Refuse, by raising, that the interface is claimed."""

    def configuration(self, value: int) -> int:
        """Return the active configuration as the host believes it."""
        return value

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        """Change, or refuse by raising, the answer to a control request."""
        del setup
        return answer

    def sends(self, progress: Progress) -> bool:
        """Say whether another packet may go out now; otherwise the endpoint answers NAK."""
        del progress
        return True

    def alters(self, packet: bytes) -> bytes:
        """Change a packet on its way out."""
        return packet

    def rate(self, nominal: int) -> int:
        """Return the rate in bytes a second."""
        return nominal


FAULTS: dict[str, type[Fault]] = {}


def _registered(name: str, *variants: str) -> Callable[[type[Fault]], type[Fault]]:
    def register(fault: type[Fault]) -> type[Fault]:
        fault.name = name
        fault.variants = variants or ("",)
        FAULTS[name] = fault
        return fault

    return register


def make_fault(spec: str) -> Fault:
    """Return a new fault from `NAME` or `NAME:variant`.

    Raises:
        ValueError: no such fault or variant; the text lists what there is.
    """
    name, _, variant = spec.partition(":")
    if name not in FAULTS:
        raise ValueError(f"unknown fault {spec!r}; expected one of " + ", ".join(FAULTS))
    kind = FAULTS[name]
    if variant and variant not in kind.variants:
        raise ValueError(
            f"unknown variant in {spec!r}; expected one of " + ", ".join(kind.variants)
        )
    return kind(variant or kind.variants[0])


def describe() -> str:
    """Return one line a fault: name, variants, meaning."""
    return "\n".join(
        f"{name:<4} {'|'.join(kind.variants):<22} {(kind.__doc__ or '').splitlines()[0]}"
        for name, kind in FAULTS.items()
    )


def _asks(setup: Setup, *requests: int) -> bool:
    return setup.request_type in _VENDOR_TYPES and setup.request in requests


@_registered("F1", "continue", "nak", "repeat")
class ModuleFailure(Fault):
    """The module or its optics failed: status 0; data goes on, stops or repeats."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._last: bytes | None = None

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        return b"\0" if _asks(setup, 0x13) else answer

    def sends(self, progress: Progress) -> bool:
        del progress
        return self.variant != "nak"

    def alters(self, packet: bytes) -> bytes:
        if self.variant != "repeat":
            return packet
        self._last = self._last or packet
        return self._last


@_registered("F2", "mask", "power")
class NoModule(Fault):
    """No module is present, or it has no power."""

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        return b"\0" if _asks(setup, 0x15 if self.variant == "mask" else 0x14) else answer


@_registered("F3", "short", "empty")
class ShortPacket(Fault):
    """Packets are shorter than the endpoint's size, or empty, and end the transfer."""

    def alters(self, packet: bytes) -> bytes:
        return packet[:-64] if self.variant == "short" else b""


@_registered("F4")
class Silent(Fault):
    """No data at all: the endpoint answers NAK for ever."""

    def sends(self, progress: Progress) -> bool:
        del progress
        return False


@_registered("F5")
class PartialData(Fault):
    """Half of what a read asks for comes, then nothing; reads of one packet are whole."""

    def sends(self, progress: Progress) -> bool:
        return progress.sent < progress.wanted // 2


@_registered("F6")
class Stall(Fault):
    """The bulk endpoint halts once; clearing the halt repairs it."""

    def begins(self, state: DeviceState) -> None:
        state.is_halted = True


@_registered("F7")
class StickyStall(Stall):
    """The bulk endpoint halts, and clearing the halt does not help."""

    sticky_halt = True


@_registered("F9", "idle", "read", "control")
class Unplug(Fault):
    """Unplugged: at once, amid the next bulk read, or amid the next vendor request.

    Taking the fault away plugs the device in again, at a new address.
    """

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self.absent = variant == "idle"
        self._has_sent = False

    def sends(self, progress: Progress) -> bool:
        del progress
        self.absent = self.absent or (self.variant == "read" and self._has_sent)
        self._has_sent = True
        return not self.absent

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        if self.variant == "control" and setup.request_type in _VENDOR_TYPES:
            self.absent = True
        return answer


@_registered("F10", "claim", "configuration")
class Busy(Fault):
    """Another process owns the interface, or keeps the configuration from being set."""

    def claims(self) -> None:
        if self.variant == "claim":
            raise ConditionError(Condition.BUSY)

    def configuration(self, value: int) -> int:
        return 0 if self.variant == "configuration" else value

    def configures(self) -> None:
        if self.variant == "configuration":
            raise ConditionError(Condition.BUSY)


@_registered("F11", "open", "strings")
class Denied(Fault):
    """The node may not be opened, or the strings cannot be read."""

    def opens(self) -> None:
        if self.variant == "open":
            raise ConditionError(Condition.DENIED)

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        if self.variant == "strings" and (setup.request_type, setup.value >> 8) == (0x80, 3):
            raise ConditionError(Condition.STALL)
        return answer


@_registered("F12", "stall", "timeout", "flag")
class RequestRefused(Fault):
    """The status request is stalled or not answered, or old firmware lacks the AIS-31 flag."""

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        if self.variant == "flag" and _asks(setup, 0x17, 0x18):
            raise ConditionError(Condition.STALL)
        if self.variant != "flag" and _asks(setup, 0x13):
            raise ConditionError(Condition.STALL if self.variant == "stall" else Condition.SILENT)
        return answer


@_registered("F13")
class ShortAnswer(Fault):
    """Vendor requests are answered with half of their bytes."""

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        return answer[: len(answer) // 2] if setup.request_type == 0xC1 else answer


@_registered("F15")
class ForeignReset(Fault):
    """The device was reset or power-cycled under us: start-up tests are due again."""

    def begins(self, state: DeviceState) -> None:
        state.start_up_tests_due = True


@_registered("F16", "zeros", "ones", "packet", "lag")
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


@_registered("F18")
class StatusBytes(Fault):
    """Two status bytes of another chip begin each packet, as FTDI bridges leave them."""

    def alters(self, packet: bytes) -> bytes:
        return b"\x31\x60" + packet[2:]


@_registered("F19", "drop", "burst")
class RateChange(Fault):
    """The rate drops to a tenth, or all data comes within a tenth of the time."""

    _PERIOD_NS = 500 * _MILLISECOND_NS

    def rate(self, nominal: int) -> int:
        # Not to 0, which would mean unpaced.
        return -(-nominal // 10) if self.variant == "drop" else nominal * 10

    def sends(self, progress: Progress) -> bool:
        in_burst = progress.now_ns % self._PERIOD_NS < self._PERIOD_NS // 10
        return self.variant == "drop" or in_burst
