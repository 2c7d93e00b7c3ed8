"""What a fault of an emulated Quantis is: a small class that says what is not healthy."""

from collections.abc import Callable
from typing import ClassVar

from entropyd_drivers.emulated_state import DeviceState
from entropyd_drivers.emulated_wire import Progress, Setup


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

    def lists(self) -> None:
        """Refuse, by raising, that the devices on the bus are listed."""

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
        """Say whether another packet may go out now (else NAK), or end the read by raising."""
        del progress
        return True

    def alters(self, packet: bytes) -> bytes:
        """Change a packet on its way out."""
        return packet

    def rate(self, nominal: int) -> int:
        """Return the rate in bytes a second."""
        return nominal


# By name, as the modules that define them are imported; `emulated_faults` imports all.
REGISTERED: dict[str, type[Fault]] = {}


def registered(name: str, *variants: str) -> Callable[[type[Fault]], type[Fault]]:
    """Enter a fault in the registry under its name in the list, with its variants."""

    def register(fault: type[Fault]) -> type[Fault]:
        fault.name = name
        fault.variants = variants or ("",)
        REGISTERED[name] = fault
        return fault

    return register
