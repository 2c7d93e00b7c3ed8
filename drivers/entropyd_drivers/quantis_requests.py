"""The vendor requests of a Quantis USB, as ID Quantique's library sends them.

Each answer's length is checked: the vendor's own library does not, and then
works with whatever the missing bytes happened to be.

Sources: ID Quantique package 20.2.4, QuantisUsb_Commands.h and
QuantisUsb_Unix.c (all numbers); qusb (2022) agrees on 0x10 to 0x16.
"""

import errno
from typing import Any

import usb.core

from entropyd.errors import SourceProtocolError
from entropyd_drivers.usb_errors import translated

# bmRequestType: vendor request to the interface, from and to the device.
VENDOR_IN = 0xC1
VENDOR_OUT = 0x41
STANDARD_IN = 0x80

GET_BOARD_VERSION = 0x10
ENABLE_MODULE = 0x12
GET_STATUS = 0x13
GET_POWER = 0x14
GET_MASK = 0x15
GET_RATE = 0x16
GET_AIS31_FLAG = 0x17
CLEAR_AIS31_FLAG = 0x18
GET_CONFIGURATION = 0x08

# The vendor allows 1,000 ms. Answers take milliseconds, and a read may have to
# wait for its own timeout and two of these within the daemon's 2 s for a loss.
CONTROL_TIMEOUT_MS = 400

# A Quantis USB holds exactly one module, which is bit 0 of every module mask.
MODULE_BIT = 0x01


class QuantisRequests:
    """Asks one open Quantis. Every method raises the SourceError of what went wrong."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def configuration(self) -> int:
        """Return the configuration value that the device itself reports, 0 for none."""
        return self._number("active configuration", STANDARD_IN, GET_CONFIGURATION, 1)

    def status(self) -> int:
        """Return the modules that are enabled and functional, one bit each."""
        return self._number("module status", VENDOR_IN, GET_STATUS, 1)

    def power(self) -> int:
        """Return the modules that have power, one bit each."""
        return self._number("module power", VENDOR_IN, GET_POWER, 1)

    def mask(self) -> int:
        """Return the modules that are present, one bit each."""
        return self._number("module mask", VENDOR_IN, GET_MASK, 1)

    def board_version(self) -> int:
        """Return the version of the board; what real boards say is not published."""
        return self._number("board version", VENDOR_IN, GET_BOARD_VERSION, 4)

    def rate_bytes_per_s(self) -> int:
        """Return the nominal rate of the module in bytes a second (asked in kbit/s)."""
        return self._number("data rate", VENDOR_IN, GET_RATE, 4) * 1000 // 8

    def enable(self) -> None:
        """Switch the module on."""
        self._order("enabling the module", ENABLE_MODULE)

    def ais31_flag(self) -> bool | None:
        """Return whether start-up tests are due since power-up; None where unsupported.

        Only the vendor's newest library knows this request: old firmware may
        stall it, and that is no fault.
        """
        try:
            return bool(self._number("AIS-31 flag", VENDOR_IN, GET_AIS31_FLAG, 1))
        except SourceProtocolError as error:
            if _is_stall(error):
                return None
            raise

    def clear_ais31_flag(self) -> bool:
        """Clear the flag, so that the next power-up shows. False where unsupported."""
        try:
            self._order("clearing the AIS-31 flag", CLEAR_AIS31_FLAG)
        except SourceProtocolError as error:
            if _is_stall(error):
                return False
            raise
        return True

    def _number(self, what: str, request_type: int, request: int, size: int) -> int:
        with translated(f"asking for the {what} (request {request:#04x})", self._device):
            answer = self._device.ctrl_transfer(
                request_type, request, 0, 0, size, CONTROL_TIMEOUT_MS
            )
        if len(answer) != size:
            raise SourceProtocolError(
                f"the {what} (request {request:#04x}) came as {len(answer)} of {size} bytes"
            )
        return int.from_bytes(answer, "little")

    def _order(self, doing: str, request: int) -> None:
        with translated(f"{doing} (request {request:#04x})", self._device):
            self._device.ctrl_transfer(VENDOR_OUT, request, 0, 0, None, CONTROL_TIMEOUT_MS)


def _is_stall(error: SourceProtocolError) -> bool:
    cause = error.__cause__
    return isinstance(cause, usb.core.USBError) and cause.errno == errno.EPIPE
