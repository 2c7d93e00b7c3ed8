"""Every way in which pyusb complains, turned into the three errors a driver may raise.

pyusb raises `USBError` with an errno from libusb's code, `USBTimeoutError`,
`NotImplementedError` for "not supported", and `ValueError` (with its child
`NoBackendError`) for a missing library, an unknown endpoint or a device without
readable strings. None of them leaves a driver. The same errno can mean two
things: before a device is open it says why there is none to read (absent),
afterwards what it did wrong (protocol).
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import usb.core

from entropyd.errors import (
    SourceAbsentError,
    SourceError,
    SourceProtocolError,
    SourceTimeoutError,
)
from entropyd_drivers import permissions

# What an errno means whenever it comes.
_ALWAYS: dict[int, tuple[type[SourceError], str]] = {
    errno.ENODEV: (
        SourceAbsentError,
        "the device is gone: unplugged, or reset by another process; plug it in again",
    ),
    errno.ETIMEDOUT: (SourceTimeoutError, "no answer in time"),
    errno.EINTR: (SourceTimeoutError, "interrupted; what came is discarded"),
    errno.EBUSY: (
        SourceAbsentError,
        "another process owns the interface; stop it (fuser -v shows which), one reader per device",
    ),
    errno.EPIPE: (SourceProtocolError, "the device refused the transfer (STALL)"),
    errno.EOVERFLOW: (SourceProtocolError, "the device sent more than was asked for"),
    errno.ENOENT: (SourceProtocolError, "the device has no such interface or endpoint"),
    errno.EINVAL: (SourceProtocolError, "libusb calls the request invalid"),
    errno.ENOMEM: (
        SourceProtocolError,
        "no memory for the transfer; lower read_bytes or raise usbcore.usbfs_memory_mb",
    ),
}
_SANDBOX = (
    "see that /dev/bus/usb exists and that the sandbox leaves AF_NETLINK and"
    " DeviceAllow=char-usb_device rw"
)


def node_of(device: Any) -> str:
    """Return the path of the usbfs node of a pyusb `device`."""
    return f"/dev/bus/usb/{device.bus or 0:03d}/{device.address or 0:03d}"


@contextmanager
def translated(doing: str, device: Any = None, *, opening: bool = False) -> Iterator[None]:
    """Let nothing of pyusb out of the block: raise the SourceError that it means.

    Args:
        doing: what was tried, for the text, such as "read".
        device: the pyusb device concerned, where there is one.
        opening: no device is open yet, so that an unclear error means absent.

    Raises:
        SourceAbsentError: gone, not permitted, owned elsewhere, no libusb.
        SourceTimeoutError: nothing came in time, or the call was interrupted.
        SourceProtocolError: anything else that an open device did.
    """
    try:
        yield
    except usb.core.USBError as error:
        raise _from_usb_error(doing, device, error, opening=opening) from error
    except NotImplementedError as error:
        raise SourceAbsentError(
            f"{doing}: libusb does not support it on this system ({error}); use Linux with usbfs"
        ) from error
    except usb.core.NoBackendError as error:
        raise SourceAbsentError(f"{doing}: no libusb found; install libusb-1.0-0") from error
    except ValueError as error:
        raise _unclear(doing, str(error), opening=opening) from error


def _from_usb_error(
    doing: str, device: Any, error: usb.core.USBError, *, opening: bool
) -> SourceError:
    code = errno.ETIMEDOUT if isinstance(error, usb.core.USBTimeoutError) else error.errno
    if code == errno.EACCES:
        return SourceAbsentError(
            f"{doing}: " + permissions.denied("/dev/bus/usb" if device is None else node_of(device))
        )
    if code in _ALWAYS:
        kind, meaning = _ALWAYS[code]
        return kind(f"{doing}: {meaning} (errno {code})")
    return _unclear(doing, f"{error.strerror} (errno {code})", opening=opening)


def _unclear(doing: str, complaint: str, *, opening: bool) -> SourceError:
    """Return the error for EIO, libusb's OTHER (-99) and whatever has no errno.

    EIO while opening is what a service without DeviceAllow gets; OTHER is what
    libusb_init says in a container without usbfs (pyusb issue 532).
    """
    if opening:
        return SourceAbsentError(f"{doing}: {complaint}; {_SANDBOX}")
    return SourceProtocolError(f"{doing}: {complaint}; the device is closed and opened again")
