"""Finding one USB device among all: libusb, candidates, serial numbers, letting go.

A serial number is a string that the device is asked for, and asking can fail:
no permission, no language table, a stall, an unplug in the middle. None of
that may hide the other candidates, so an unreadable serial number is a finding
about one candidate and never an error of the search.
"""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libusb_package
import usb.backend.libusb1
import usb.core
import usb.util

from entropyd.errors import SourceAbsentError, SourceError
from entropyd_drivers.usb_errors import node_of, translated

# Standard requests are answered in milliseconds; pyusb would wait 1,000.
STRING_TIMEOUT_MS = 400

# pyusb keeps the loaded library in module variables; two readers start at once.
_LOADING = threading.Lock()


def load_libusb() -> Any:
    """Return pyusb's libusb-1.0 backend: the system's library, else the packaged one.

    Raises:
        SourceAbsentError: neither loads, or neither starts (libusb_init fails
            with OTHER in containers without usbfs). May be tried again.
    """
    with _LOADING:
        for find_library in (None, libusb_package.find_library):
            backend = usb.backend.libusb1.get_backend(find_library=find_library)
            if backend is not None:
                return backend
    raise SourceAbsentError(
        "libusb did not load or start; install libusb-1.0-0, and see that /dev/bus/usb exists and"
        " that the service may use AF_NETLINK"
    )


@dataclass(frozen=True)
class Candidate:
    """A device with the right ids. Its serial number, or why that could not be read."""

    device: Any
    serial: str | None
    unreadable: str = ""

    @property
    def label(self) -> str:
        """The serial number, or the node with the reason why there is none."""
        return self.serial or f"{node_of(self.device)} ({self.unreadable})"

    @property
    def name(self) -> str:
        """The serial number, or where it is plugged in: stable as long as it stays there."""
        ports = ".".join(str(port) for port in self.device.port_numbers or (0,))
        return self.serial or f"usb-{self.device.bus}-{ports}"


def find(backend: Any, vendor: int, product: int, serial: str | None) -> Candidate:
    """Return the one device meant; every other candidate has been let go.

    Args:
        backend: a pyusb backend.
        vendor: USB vendor id.
        product: USB product id.
        serial: serial number wanted, or None for "the only one there".

    Raises:
        SourceAbsentError: none there, none with that serial number, or more
            than one; the text lists what was found.
    """
    found = _candidates(backend, vendor, product)
    meant = [each for each in found if serial in {None, each.serial}]
    chosen = meant[0] if len(meant) == 1 else None
    for each in found:
        if each is not chosen:
            dispose(each.device)
    if chosen is None:
        raise SourceAbsentError(_why_none(f"{vendor:04x}:{product:04x}", serial, found, meant))
    return chosen


def dispose(device: Any) -> None:
    """Release the interfaces and the handle of a pyusb device. Never raises.

    After an unplug each of these calls may complain again; there is nothing
    left to do about it.
    """
    with contextlib.suppress(OSError, ValueError, NotImplementedError):
        usb.util.dispose_resources(device)


def _candidates(backend: Any, vendor: int, product: int) -> list[Candidate]:
    with translated("looking for USB devices", opening=True):
        devices = list(
            usb.core.find(find_all=True, backend=backend, idVendor=vendor, idProduct=product)
        )
    return [_identify(device) for device in devices]


def _identify(device: Any) -> Candidate:
    device.default_timeout = STRING_TIMEOUT_MS
    try:
        with translated("reading the serial number", device, opening=True):
            serial = device.serial_number
    except SourceError as error:
        return Candidate(device, None, _reason(device, str(error)))
    if serial and all(0x21 <= ord(character) <= 0x7E for character in serial):
        return Candidate(device, serial)
    return Candidate(device, None, "it has no serial number of printable ASCII")


def _reason(device: Any, complaint: str) -> str:
    """Return why a device tells no serial number: better, why it cannot be opened.

    pyusb turns a refused opening into "no langid" when it is asked for a string.
    """
    try:
        with translated("opening", device, opening=True):
            device.get_active_configuration()
    except SourceError as error:
        return str(error)
    return complaint


def _why_none(
    ids: str, serial: str | None, found: Sequence[Candidate], meant: Sequence[Candidate]
) -> str:
    wanted = f"USB device {ids}" + (f" with serial number {serial}" if serial else "")
    if not found:
        return f"no {wanted} found; plug it in, or look for {ids} in lsusb"
    labels = "; ".join(each.label for each in found)
    if len(meant) > 1 and serial is None:
        return f"{len(found)} devices {ids} found: {labels}; set option `serial` to one of them"
    if len(meant) > 1:
        return f"{len(meant)} devices call themselves {serial}; unplug all but one"
    return f"no {wanted} found, but {labels}; correct option `serial`, or plug it in"
