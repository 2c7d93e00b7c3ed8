"""What a host sees of a USB device that does not simply answer.

The emulated device raises a `Condition` and knows nothing of errnos; here the
conditions become what pyusb raises on Linux.

Sources: pyusb 1.3.1 usb/backend/libusb1.py (codes and errnos); observed with
libusb 1.0.26 against an emulated device over USB/IP (texts).
"""

import errno
from dataclasses import dataclass
from enum import Enum

import usb.core


class Condition(Enum):
    """Why a transfer has no answer: libusb code, errno, libusb's text."""

    IO = (-1, errno.EIO, "Input/Output Error")
    INVALID = (-2, errno.EINVAL, "Invalid parameter")
    DENIED = (-3, errno.EACCES, "Access denied (insufficient permissions)")
    GONE = (-4, errno.ENODEV, "No such device (it may have been disconnected)")
    NOT_FOUND = (-5, errno.ENOENT, "Entity not found")
    BUSY = (-6, errno.EBUSY, "Resource busy")
    SILENT = (-7, errno.ETIMEDOUT, "Operation timed out")
    OVERFLOW = (-8, errno.EOVERFLOW, "Overflow")
    STALL = (-9, errno.EPIPE, "Pipe error")
    INTERRUPTED = (-10, errno.EINTR, "System call interrupted (perhaps due to signal)")
    NO_MEMORY = (-11, errno.ENOMEM, "Insufficient memory")
    NOT_SUPPORTED = (
        -12,
        errno.EOPNOTSUPP,
        "Operation not supported or unimplemented on this platform",
    )
    OTHER = (-99, None, "Other error")
    NO_BACKEND = (None, None, "No backend available")


class ConditionError(Exception):
    """Raised within the emulator only; the backend turns it into pyusb's error."""

    def __init__(self, condition: Condition) -> None:
        super().__init__(condition.name)
        self.condition = condition


def as_pyusb(condition: Condition) -> Exception:
    """Return the exception that pyusb raises for `condition`."""
    code, number, text = condition.value
    if condition is Condition.NOT_SUPPORTED:
        return NotImplementedError(text)
    if condition is Condition.NO_BACKEND:
        missing: Exception = usb.core.NoBackendError(text)
        return missing
    kind = usb.core.USBTimeoutError if condition is Condition.SILENT else usb.core.USBError
    error: Exception = kind(text, code, number)
    return error


@dataclass(frozen=True)
class Setup:
    """The eight bytes that begin a control transfer."""

    request_type: int
    request: int
    value: int
    index: int
    length: int


@dataclass(frozen=True)
class Progress:
    """How far a bulk read has come.

    Attributes:
        sent: bytes sent in answer to it so far.
        wanted: bytes that it asks for.
        now_ns: the time, nanoseconds of the emulator's clock.
    """

    sent: int
    wanted: int
    now_ns: int
