"""One Quantis USB at the far end of the cable: plugged in or not, its faults, its bulk pipe.

One condition guards everything here, so that a test or a control file may
change the device while a read waits: an unplug ends that read at once.
"""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import BinaryIO

from entropyd_drivers import emulated_descriptors as descriptors
from entropyd_drivers.emulated_fault import Fault
from entropyd_drivers.emulated_faults import make_fault
from entropyd_drivers.emulated_state import DeviceState
from entropyd_drivers.emulated_wire import Condition, ConditionError, Progress, Setup
from entropyd_drivers.noise import Noise
from entropyd_drivers.pace import NANOSECONDS, Pace

_MILLISECOND_NS = 1_000_000
# A waiting read looks this often whether the world has changed.
LOOK_AGAIN_NS = 20 * _MILLISECOND_NS

# Unknown on real hardware: 33 ms of data at the nominal rate.
FIFO_BYTES = 16_384

# Addresses are unique on the one emulated bus, and new after every plug, as on Linux.
_ADDRESSES = itertools.count()
_MAX_ADDRESS = 127

_VENDOR_TYPES = {0xC1, 0x41}


class EmulatedQuantis:
    """A device that can be plugged in, asked, read from, broken and pulled out.

    Attributes:
        serial: its serial number.
        packet_bytes: size of a bulk packet, 512 at high speed and 64 at full speed.
        address: its address on the bus, new after every plug.
        generation: how often it was plugged in; a handle belongs to one.
        bytes_sent: bytes sent in answer to bulk reads.
        control_requests: vendor requests received, by number.
    """

    def __init__(
        self,
        serial: str,
        noise: Noise,
        *,
        rate: int,
        fifo_bytes: int = FIFO_BYTES,
        full_speed: bool = False,
        tape: BinaryIO | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the device and plug it in.

        Args:
            serial: its serial number, ASCII.
            noise: what it sends.
            rate: bytes a second, 0 for as fast as it is read.
            fifo_bytes: what it holds while nobody reads; at least one packet.
            full_speed: on a USB 1.1 link.
            tape: gets every byte that is sent in answer to a bulk read.
            clock_ns: monotonic time.
            look: called before each transfer and every 20 ms of a waiting one;
                may call `set_faults`.
        """
        self.serial = serial
        self.packet_bytes = (
            descriptors.FULL_SPEED_PACKET if full_speed else descriptors.HIGH_SPEED_PACKET
        )
        self.address = 0
        self.generation = 0
        self.bytes_sent = 0
        self.control_requests: Counter[int] = Counter()
        self._noise = noise
        self._rate = rate
        self._fifo_bytes = fifo_bytes
        self._tape = tape
        self._clock_ns = clock_ns
        self._look = look
        self._changed = threading.Condition(threading.RLock())
        self._faults: dict[str, Fault] = {}
        self._owner: object = None
        self._is_plugged = False
        self._is_present = False
        self.plug()

    # --- the hand on the cable ---------------------------------------------

    def plug(self) -> None:
        """Plug the device in; it powers up unless a fault keeps it off the bus."""
        with self._changed:
            self._is_plugged = True
            self._settle()

    def unplug(self) -> None:
        """Pull the device out, also from under a waiting read."""
        with self._changed:
            self._is_plugged = False
            self._settle()

    def set_faults(self, *specs: str) -> None:
        """Let exactly these faults be in force, each `NAME` or `NAME:variant`.

        A fault already in force goes on; one that is new begins.

        Raises:
            ValueError: a fault or variant is unknown; nothing has changed.
        """
        with self._changed:
            faults = {spec: self._faults.get(spec) or make_fault(spec) for spec in specs}
            fresh = [fault for spec, fault in faults.items() if spec not in self._faults]
            self._faults = faults
            self._settle()
            for fault in fresh:
                fault.begins(self._state)
            self._pace.change(self._current_rate(), self._clock_ns())
            self._changed.notify_all()

    # --- what the bus sees ---------------------------------------------------

    def is_present(self) -> bool:
        """Return whether the device is on the bus now, as a list of its devices shows it."""
        with self._changed:
            self._look()
            self._settle()
            for fault in self._faults.values():
                fault.lists()
            return self._is_present

    def open(self, generation: int) -> None:
        """Let a handle be opened."""
        with self._changed:
            self._begin(generation)
            for fault in self._faults.values():
                fault.opens()

    def get_configuration(self, generation: int) -> int:
        """Return the active configuration as the host believes it, 0 for none."""
        with self._changed:
            self._begin(generation)
            value = self._state.configuration
            for fault in self._faults.values():
                value = fault.configuration(value)
            return value

    def set_configuration(self, generation: int, value: int) -> None:
        """Set the configuration."""
        with self._changed:
            self._begin(generation)
            for fault in self._faults.values():
                fault.configures()
            self._state.configure(value)

    def claim(self, generation: int, owner: object) -> None:
        """Give the only interface to `owner`, who alone may then read."""
        with self._changed:
            self._begin(generation)
            for fault in self._faults.values():
                fault.claims()
            if self._owner is not None and self._owner is not owner:
                raise ConditionError(Condition.BUSY)
            self._owner = owner

    def release(self, generation: int, owner: object) -> None:
        """Take the interface back from `owner`."""
        with self._changed:
            self._begin(generation)
            self.disown(owner)

    def disown(self, owner: object) -> None:
        """Forget `owner`. Closing a handle works on a device that is gone, too."""
        with self._changed:
            if self._owner is owner:
                self._owner = None

    def clear_halt(self, generation: int) -> None:
        """Clear the halt of the bulk endpoint."""
        with self._changed:
            self._begin(generation)
            self._state.is_halted = any(fault.sticky_halt for fault in self._faults.values())

    def reset(self, generation: int) -> None:
        """Reset the port: the halt goes, configuration and module stay."""
        with self._changed:
            self._begin(generation)
            self._state.is_halted = False

    def control(self, generation: int, setup: Setup, timeout_ms: int) -> bytes:
        """Answer a control request, at most `setup.length` bytes.

        Raises:
            ConditionError: refused, not answered in time, or gone.
        """
        with self._changed:
            self._begin(generation)
            if setup.request_type in _VENDOR_TYPES:
                self.control_requests[setup.request] += 1
            try:
                answer = self._state.answer(setup)
                for fault in self._faults.values():
                    answer = fault.answers(setup, answer)
            except ConditionError as error:
                if error.condition is Condition.SILENT:
                    self._changed.wait_for(lambda: not self._is_present, timeout_ms / 1000)
                    self._require(generation)
                raise
            self._require(generation)
            return answer[: setup.length]

    def bulk_in(self, generation: int, owner: object, wanted: int, timeout_ms: int) -> bytes:
        """Send packets until `wanted` bytes went out, a short one ended it, or time is up.

        Raises:
            ConditionError: halted, gone, overflowing, or silent with nothing sent.
        """
        with self._changed:
            self._begin(generation)
            deadline_ns = self._clock_ns() + timeout_ms * _MILLISECOND_NS
            sent = bytearray()
            while len(sent) < wanted:
                self._require_flow(generation, owner)
                packet = self._next_packet(len(sent), wanted)
                if packet is not None:
                    sent += packet
                    # A packet above the endpoint's size is babble, wherever it ends: a host never
                    # takes it for data, also where the sizes happen to sum up.
                    if len(packet) > self.packet_bytes or len(sent) > wanted:
                        raise ConditionError(Condition.OVERFLOW)
                    if len(packet) < self.packet_bytes:
                        return bytes(sent)
                elif not self._wait(wanted - len(sent), deadline_ns):
                    break
            if not sent and wanted:
                raise ConditionError(Condition.SILENT)
            return bytes(sent)

    # --- within ----------------------------------------------------------------

    def _settle(self) -> None:
        """Notice that the device came or went, and wake whoever waits for it."""
        is_present = self._is_plugged and not any(fault.absent for fault in self._faults.values())
        if is_present == self._is_present:
            return
        self._is_present = is_present
        if is_present:
            self._power_up()
        self._changed.notify_all()

    def _power_up(self) -> None:
        self.generation += 1
        self.address = 1 + next(_ADDRESSES) % _MAX_ADDRESS
        self._state = DeviceState(self.serial, self.packet_bytes)
        self._owner = None
        self._pace = Pace(self._current_rate(), self._fifo_bytes, self._clock_ns())

    def _current_rate(self) -> int:
        rate = self._rate
        for fault in self._faults.values():
            rate = fault.rate(rate)
        return rate

    def _begin(self, generation: int) -> None:
        """Begin a transfer: see what is in force now."""
        self._look()
        self._require(generation)

    def _require(self, generation: int) -> None:
        self._settle()
        if not self._is_present or generation != self.generation:
            raise ConditionError(Condition.GONE)

    def _require_flow(self, generation: int, owner: object) -> None:
        self._require(generation)
        if not self._state.configuration or self._owner is not owner:
            raise ConditionError(Condition.NOT_FOUND)
        if self._state.is_halted:
            raise ConditionError(Condition.STALL)

    def _next_packet(self, sent: int, wanted: int) -> bytes | None:
        """Send the packet that is ready now, or return None for NAK."""
        now_ns = self._clock_ns()
        progress = Progress(sent, wanted, now_ns)
        if not self._state.is_enabled or self._pace.ready(now_ns) < self.packet_bytes:
            return None
        if not all(fault.sends(progress) for fault in self._faults.values()):
            return None
        packet = self._noise.take(self.packet_bytes)
        if not packet:
            return None
        self._pace.take(self.packet_bytes)
        for fault in self._faults.values():
            packet = fault.alters(packet)
        self._record(packet)
        return packet

    def _record(self, packet: bytes) -> None:
        self.bytes_sent += len(packet)
        if self._tape is not None:
            self._tape.write(packet)

    def _wait(self, missing: int, deadline_ns: int) -> bool:
        """Wait until more may be ready, and return whether there was time left."""
        now_ns = self._clock_ns()
        if now_ns >= deadline_ns:
            return False
        ready_ns = self._pace.wait_ns(missing, now_ns) or LOOK_AGAIN_NS
        self._changed.wait(min(ready_ns, deadline_ns - now_ns, LOOK_AGAIN_NS) / NANOSECONDS)
        self._look()
        return True
