# ruff: noqa: D102 - what a hook does is said once, in `Fault`
"""Faults of an emulated Quantis on its way to the host: halts, refusals, losses, busy, denied."""

from entropyd_drivers.emulated_fault import Fault, registered
from entropyd_drivers.emulated_state import DeviceState
from entropyd_drivers.emulated_wire import Condition, ConditionError, Progress, Setup

_VENDOR_TYPES = (0xC1, 0x41)


def _asks(setup: Setup, *requests: int) -> bool:
    return setup.request_type in _VENDOR_TYPES and setup.request in requests


@registered("F1", "continue", "nak", "repeat")
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


@registered("F2", "mask", "power")
class NoModule(Fault):
    """No module is present, or it has no power."""

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        return b"\0" if _asks(setup, 0x15 if self.variant == "mask" else 0x14) else answer


@registered("F3", "short", "empty")
class ShortPacket(Fault):
    """Packets are shorter than the endpoint's size, or empty, and end the transfer."""

    def alters(self, packet: bytes) -> bytes:
        return packet[:-64] if self.variant == "short" else b""


@registered("F4")
class Silent(Fault):
    """No data at all: the endpoint answers NAK for ever."""

    def sends(self, progress: Progress) -> bool:
        del progress
        return False


@registered("F5")
class PartialData(Fault):
    """Half of what a read asks for comes, then nothing; reads of one packet are whole."""

    def sends(self, progress: Progress) -> bool:
        return progress.sent < progress.wanted // 2


@registered("F6")
class Stall(Fault):
    """The bulk endpoint halts once; clearing the halt repairs it."""

    def begins(self, state: DeviceState) -> None:
        state.is_halted = True


@registered("F7")
class StickyStall(Stall):
    """The bulk endpoint halts, and clearing the halt does not help."""

    sticky_halt = True


@registered("F8")
class Overflow(Fault):
    """Packets are longer than the endpoint's size, so that a read ends in an overflow."""

    def alters(self, packet: bytes) -> bytes:
        return packet + packet[:64]


@registered("F9", "idle", "read", "control")
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


@registered("F10", "claim", "configuration")
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


@registered("F11", "open", "strings")
class Denied(Fault):
    """The node may not be opened, or the strings cannot be read."""

    def opens(self) -> None:
        if self.variant == "open":
            raise ConditionError(Condition.DENIED)

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        if self.variant == "strings" and (setup.request_type, setup.value >> 8) == (0x80, 3):
            raise ConditionError(Condition.STALL)
        return answer


@registered("F12", "stall", "timeout", "flag")
class RequestRefused(Fault):
    """The status request is stalled or not answered, or old firmware lacks the AIS-31 flag."""

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        if self.variant == "flag" and _asks(setup, 0x17, 0x18):
            raise ConditionError(Condition.STALL)
        if self.variant != "flag" and _asks(setup, 0x13):
            raise ConditionError(Condition.STALL if self.variant == "stall" else Condition.SILENT)
        return answer


@registered("F13")
class ShortAnswer(Fault):
    """Vendor requests are answered with half of their bytes."""

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        return answer[: len(answer) // 2] if setup.request_type == 0xC1 else answer


@registered("F14", "stall", "io")
class Awakening(Fault):
    """The first transfer after an idle time fails: the device was suspended. The next one works."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._is_asleep = True

    def answers(self, setup: Setup, answer: bytes) -> bytes:
        del setup
        self._awake()
        return answer

    def sends(self, progress: Progress) -> bool:
        del progress
        self._awake()
        return True

    def _awake(self) -> None:
        if self._is_asleep:
            self._is_asleep = False
            raise ConditionError(Condition.STALL if self.variant == "stall" else Condition.IO)


@registered("F15")
class ForeignReset(Fault):
    """The device was reset or power-cycled under us: start-up tests are due again."""

    def begins(self, state: DeviceState) -> None:
        state.start_up_tests_due = True


@registered("F20", "unsupported", "library", "init")
class HostRefuses(Fault):
    """The host's libusb does not support claiming, is not there, or does not start."""

    def lists(self) -> None:
        if self.variant != "unsupported":
            missing = self.variant == "library"
            raise ConditionError(Condition.NO_BACKEND if missing else Condition.OTHER)

    def claims(self) -> None:
        if self.variant == "unsupported":
            raise ConditionError(Condition.NOT_SUPPORTED)
