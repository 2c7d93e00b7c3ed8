"""A pyusb backend whose bus has emulated devices on it.

pyusb and the driver above it run unchanged: they enumerate, open, claim and
transfer here instead of in libusb. A handle belongs to one plugging-in of one
device and is dead for good once that ends, as libusb's are.
"""

from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import usb.backend

from entropyd_drivers import emulated_descriptors as descriptors
from entropyd_drivers.emulated_quantis import EmulatedQuantis
from entropyd_drivers.emulated_state import BULK_ENDPOINT
from entropyd_drivers.emulated_wire import Condition, ConditionError, Setup, as_pyusb

# libusb's LIBUSB_SPEED_FULL and LIBUSB_SPEED_HIGH.
_FULL_SPEED, _HIGH_SPEED = 2, 3


@dataclass(frozen=True)
class Attached:
    """A device as it was plugged in once: what pyusb passes around to name it."""

    unit: EmulatedQuantis
    generation: int
    address: int
    port: int


class Handle:
    """An open handle. Its identity is what an interface is claimed for."""

    def __init__(self, attached: Attached) -> None:
        self.unit = attached.unit
        self.generation = attached.generation


class EmulatedBackend(usb.backend.IBackend):  # type: ignore[misc]
    """The bus. See usb.backend.IBackend for what each method owes pyusb."""

    def __init__(self, units: Sequence[EmulatedQuantis]) -> None:
        self._units = units

    def enumerate_devices(self) -> list[Attached]:
        """Return what is plugged in now."""
        with _conditions():
            return [
                Attached(unit, unit.generation, unit.address, port)
                for port, unit in enumerate(self._units, start=1)
                if unit.is_present()
            ]

    def get_parent(self, dev: Attached) -> None:
        """Return no parent: the bus has no hub."""
        del dev

    def get_device_descriptor(self, dev: Attached) -> SimpleNamespace:
        """Return the descriptor with the place on the bus."""
        is_high_speed = dev.unit.packet_bytes == descriptors.HIGH_SPEED_PACKET
        return descriptors.device_object(
            bus=1,
            address=dev.address,
            port_number=dev.port,
            port_numbers=(dev.port,),
            speed=_HIGH_SPEED if is_high_speed else _FULL_SPEED,
        )

    def get_configuration_descriptor(self, dev: Attached, config: int) -> SimpleNamespace:
        """Return the only configuration."""
        _only(config)
        return descriptors.configuration_object(dev.unit.packet_bytes)

    def get_interface_descriptor(
        self, dev: Attached, intf: int, alt: int, config: int
    ) -> SimpleNamespace:
        """Return the only interface; IndexError past it, by which pyusb counts."""
        _only(config, intf, alt)
        return descriptors.interface_object(dev.unit.packet_bytes)

    def get_endpoint_descriptor(
        self, dev: Attached, ep: int, intf: int, alt: int, config: int
    ) -> SimpleNamespace:
        """Return the only endpoint."""
        _only(config, intf, alt, ep)
        return descriptors.endpoint_object(dev.unit.packet_bytes)

    def open_device(self, dev: Attached) -> Handle:
        """Open a handle."""
        with _conditions():
            dev.unit.open(dev.generation)
            return Handle(dev)

    def close_device(self, dev_handle: Handle) -> None:
        """Close a handle; works after an unplug, too."""
        dev_handle.unit.disown(dev_handle)

    def get_configuration(self, dev_handle: Handle) -> int:
        """Return the active configuration as the kernel knows it."""
        with _conditions():
            return dev_handle.unit.get_configuration(dev_handle.generation)

    def set_configuration(self, dev_handle: Handle, config_value: int) -> None:
        """Set the configuration."""
        with _conditions():
            dev_handle.unit.set_configuration(dev_handle.generation, config_value)

    def set_interface_altsetting(self, dev_handle: Handle, intf: int, altsetting: int) -> None:
        """Accept the only alternate setting."""
        with _conditions():
            _find(dev_handle, intf, altsetting)

    def claim_interface(self, dev_handle: Handle, intf: int) -> None:
        """Claim the interface for this handle."""
        with _conditions():
            _find(dev_handle, intf)
            dev_handle.unit.claim(dev_handle.generation, dev_handle)

    def release_interface(self, dev_handle: Handle, intf: int) -> None:
        """Release the interface."""
        with _conditions():
            _find(dev_handle, intf)
            dev_handle.unit.release(dev_handle.generation, dev_handle)

    def is_kernel_driver_active(self, dev_handle: Handle, intf: int) -> bool:
        """Return that no kernel driver is bound to the vendor-specific class."""
        del dev_handle, intf
        return False

    def ctrl_transfer(  # noqa: PLR0917 - pyusb passes them by position
        self,
        dev_handle: Handle,
        bmRequestType: int,  # noqa: N803 - pyusb's name
        bRequest: int,  # noqa: N803 - pyusb's name
        wValue: int,  # noqa: N803 - pyusb's name
        wIndex: int,  # noqa: N803 - pyusb's name
        data: "array[int]",
        timeout: int,
    ) -> int:
        """Carry out a control transfer and return how many bytes came."""
        setup = Setup(bmRequestType, bRequest, wValue, wIndex, len(data))
        with _conditions():
            answer = dev_handle.unit.control(dev_handle.generation, setup, timeout)
        return _fill(data, answer)

    def bulk_read(
        self, dev_handle: Handle, ep: int, intf: int, buff: "array[int]", timeout: int
    ) -> int:
        """Carry out a bulk read and return how many bytes came. A timeout of 0 means for ever."""
        with _conditions():
            _find(dev_handle, intf, ep - BULK_ENDPOINT)
            answer = dev_handle.unit.bulk_in(
                dev_handle.generation, dev_handle, len(buff), timeout or 2**31
            )
        return _fill(buff, answer)

    def clear_halt(self, dev_handle: Handle, ep: int) -> None:
        """Clear the halt of an endpoint."""
        with _conditions():
            _find(dev_handle, ep - BULK_ENDPOINT)
            dev_handle.unit.clear_halt(dev_handle.generation)

    def reset_device(self, dev_handle: Handle) -> None:
        """Reset the port."""
        with _conditions():
            dev_handle.unit.reset(dev_handle.generation)


@contextmanager
def _conditions() -> Iterator[None]:
    """Turn what the device did into what pyusb raises."""
    try:
        yield
    except ConditionError as error:
        raise as_pyusb(error.condition) from None


def _only(*indices: int) -> None:
    if any(indices):
        raise IndexError(f"there is one of each; asked for {indices}")


def _find(dev_handle: Handle, *indices: int) -> None:
    """Refuse, as libusb does, an interface or endpoint that is not the only one."""
    del dev_handle
    if any(indices):
        raise ConditionError(Condition.NOT_FOUND)


def _fill(buffer: Any, answer: bytes) -> int:
    buffer[: len(answer)] = array("B", answer)
    return len(answer)
