"""One open Quantis: taking it into use, reading whole blocks, noticing what is wrong.

A block is handed on only after the module, asked since, called itself
functional. Nothing is retried here: a stalled, short, silent or vanished
device is reported, and the reader above opens it again, where that is counted.

Sources: ID Quantique package 20.2.4 (open sequence, status before data);
nicosp/network-rng quantisusb.c (large reads; a configuration that is set is
left alone).
"""

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import usb.core
import usb.util

from entropyd.errors import SourceAbsentError, SourceProtocolError, SourceTimeoutError
from entropyd_drivers import usb_bus
from entropyd_drivers.quantis_requests import MODULE_BIT, QuantisRequests
from entropyd_drivers.quantis_settings import QuantisSettings
from entropyd_drivers.usb_errors import node_of, translated

CONFIGURATION = 1
INTERFACE = 0
ENDPOINT = 0x86

# wMaxPacketSize of the bulk endpoint at full and at high speed.
PACKET_SIZES = (64, 512)


class QuantisDevice:
    """One open Quantis. Used by one thread; thrown away after any fault but a timeout.

    Attributes:
        serial: its serial number, or `usb-BUS-PORTS` where it tells none.
        board_version: as the device reports it.
        rate_bytes_per_s: nominal rate as the device reports it.
    """

    def __init__(self, candidate: usb_bus.Candidate, settings: QuantisSettings) -> None:
        """Take `candidate` into use: configure, check, claim, ask.

        Raises:
            SourceError: it cannot be used; the caller lets go of `candidate`.
        """
        self.serial = candidate.name
        self._device = candidate.device
        self._settings = settings
        self._reads = 0
        self._lost: str | None = None
        self._requests = QuantisRequests(candidate.device)
        self._packet_bytes = self._take_interface()
        self._require_module()
        self.board_version = self._requests.board_version()
        self.rate_bytes_per_s = self._requests.rate_bytes_per_s()
        self._watches_flag = self._arm_flag()

    def read(self) -> bytes:
        """Return the next `read_bytes` samples; see `Device.read` for errors."""
        try:
            block = self._read_block()
        except SourceTimeoutError:
            # A module that failed is a better answer than "nothing came".
            self._check_module()
            raise
        self._reads += 1
        if self._reads % self._settings.status_every_reads == 0:
            self._check_module()
        return block

    def close(self) -> None:
        """Let go of the interface and the device. Never raises."""
        if self._lost is None:
            self._lost = f"Quantis {self.serial} was closed"
        usb_bus.dispose(self._device)

    def _take_interface(self) -> int:
        with translated("opening", self._device, opening=True):
            if self._active_configuration() != CONFIGURATION:
                # Setting what is set already would be a light reset.
                self._device.set_configuration(CONFIGURATION)
            packet_bytes = _check_shape(self._device)
            usb.util.claim_interface(self._device, INTERFACE)
        # Another process may have changed it between our look and our claim.
        configuration = self._requests.configuration()
        if configuration != CONFIGURATION:
            raise SourceProtocolError(
                f"Quantis {self.serial} reports configuration {configuration}; expected"
                f" {CONFIGURATION}"
            )
        return packet_bytes

    def _active_configuration(self) -> int:
        try:
            return int(self._device.get_active_configuration().bConfigurationValue)
        except usb.core.USBError as error:
            # pyusb's "Configuration not set" has neither errno nor libusb code.
            if error.errno is None and error.backend_error_code is None:
                return 0
            raise

    def _require_module(self) -> None:
        for what, modules in (("mask", self._requests.mask()), ("power", self._requests.power())):
            if not modules & MODULE_BIT:
                raise SourceProtocolError(
                    f"Quantis {self.serial}: module {what} is {modules:#04x}; expected bit 0 set,"
                    " the device has no usable module"
                )
        if not self._requests.status() & MODULE_BIT:
            # Another program may have left it disabled; that is no fault yet.
            self._requests.enable()
        self._require_functional()

    def _require_functional(self) -> None:
        status = self._requests.status()
        if not status & MODULE_BIT:
            raise SourceProtocolError(
                f"Quantis {self.serial}: module not functional, status is {status:#04x}; expected"
                " bit 0 set; plug the device in again, and replace it if that does not help"
            )

    def _arm_flag(self) -> bool:
        """Return whether the AIS-31 flag can show that somebody else reset the device.

        The flag asks for start-up tests since power-up. The daemon runs its
        own after every opening, whatever the flag says, so it is cleared here
        and serves as a tripwire. A flag that cannot be cleared tells nothing.
        """
        flag = self._requests.ais31_flag()
        if flag is None:
            return False
        return not flag or (
            self._requests.clear_ais31_flag() and self._requests.ais31_flag() is False
        )

    def _check_module(self) -> None:
        with self._noting_loss():
            self._require_functional()
            if self._watches_flag and self._requests.ais31_flag():
                raise SourceProtocolError(
                    f"Quantis {self.serial}: start-up tests are due again (AIS-31 flag): the device"
                    " was reset or lost power while open; it is opened again"
                )

    def _read_block(self) -> bytes:
        began = time.monotonic()
        with self._noting_loss(), translated("read", self._device):
            block = self._transfer()
        elapsed_ms = (time.monotonic() - began) * 1000
        self._demand_whole(len(block), elapsed_ms)
        return block

    def _transfer(self) -> bytes:
        wanted = self._settings
        try:
            answer = self._device.read(ENDPOINT, wanted.read_bytes, wanted.read_timeout_ms)
        except usb.core.USBError as error:
            if error.errno == errno.EPIPE:
                # Leave the endpoint usable for whoever opens it next.
                self._device.clear_halt(ENDPOINT)
            raise
        return bytes(answer)

    def _demand_whole(self, came: int, elapsed_ms: float) -> None:
        """Refuse a short block, and tell a short packet from a timeout.

        libusb reports both as fewer bytes without an error. A short or empty
        packet ends the transfer at once or leaves part of a packet; a timeout
        does neither.
        """
        settings = self._settings
        if came == settings.read_bytes:
            return
        came_text = f"Quantis {self.serial}: {came} of {settings.read_bytes} bytes came"
        if came % self._packet_bytes or elapsed_ms < settings.read_timeout_ms:
            raise SourceProtocolError(f"{came_text}, ended by a short packet; discarded")
        raise SourceTimeoutError(f"{came_text} in {settings.read_timeout_ms} ms; discarded")

    @contextmanager
    def _noting_loss(self) -> Iterator[None]:
        """Once the device is gone its handle never works again, even if it is back."""
        if self._lost is not None:
            raise SourceAbsentError(f"{self._lost}; open it again")
        try:
            yield
        except SourceAbsentError as error:
            self._lost = str(error)
            raise


def _check_shape(device: Any) -> int:
    """Return the packet size of a device that is built as a Quantis is.

    Raises:
        SourceProtocolError: other configurations, interfaces or endpoints than
            the one of each that every known Quantis USB has.
    """
    configuration = device.get_active_configuration()
    settings = list(configuration)
    endpoints = [endpoint for setting in settings for endpoint in setting]
    shape = (device.bNumConfigurations, configuration.bNumInterfaces, len(settings), len(endpoints))
    if shape != (1, 1, 1, 1):
        raise SourceProtocolError(
            f"{node_of(device)} has (configurations, interfaces, settings, endpoints) {shape};"
            " expected one of each, this is no Quantis USB-4M"
        )
    return _check_endpoint(device, endpoints[0])


def _check_endpoint(device: Any, endpoint: Any) -> int:
    packet_bytes = int(endpoint.wMaxPacketSize)
    is_bulk = usb.util.endpoint_type(endpoint.bmAttributes) == usb.util.ENDPOINT_TYPE_BULK
    if endpoint.bEndpointAddress != ENDPOINT or not is_bulk or packet_bytes not in PACKET_SIZES:
        raise SourceProtocolError(
            f"{node_of(device)} has endpoint {endpoint.bEndpointAddress:#04x} with attributes"
            f" {endpoint.bmAttributes:#04x} and packets of {packet_bytes} bytes; expected bulk"
            f" endpoint {ENDPOINT:#04x} with packets of 64 or 512 bytes"
        )
    return packet_bytes
