"""What an emulated Quantis remembers between power-up and unplug, and how it answers requests.

Written from what the device was seen to answer and from the vendor's request
list, not from the driver beside it. Where the list and an independent client
differ, both forms are accepted. What is not known of real units is marked.

Sources: ID Quantique package 20.2.4 (requests 0x10 to 0x18, status, AIS-31
flag); qusb (0x11 and 0x12 sent as 0xC1, too); nicosp/network-rng (data flows
without any vendor request, so a module is enabled at power-up); USB 2.0
chapter 9 (standard requests).
"""

from entropyd_drivers import emulated_descriptors as descriptors
from entropyd_drivers.emulated_wire import Condition, ConditionError, Setup

# Unknown on real hardware.
BOARD_VERSION = 0x0002_0000
# 4 Mbit/s nominal; what a real unit answers is not known.
RATE_KBIT_PER_S = 4000

BULK_ENDPOINT = 0x86


class DeviceState:
    """The registers of one device since it got power.

    Attributes:
        configuration: active configuration; the Linux kernel sets 1 by itself.
        is_halted: the bulk endpoint stalls until its halt is cleared.
        is_enabled: the module is switched on.
        start_up_tests_due: the AIS-31 flag.
    """

    def __init__(self, serial: str, packet_bytes: int) -> None:
        self.configuration = 1
        self.is_halted = False
        self.is_enabled = True
        self.start_up_tests_due = True
        self._strings = {
            (3, 0): descriptors.LANGUAGES,
            (3, 1): descriptors.string_bytes(descriptors.MANUFACTURER),
            (3, 2): descriptors.string_bytes(descriptors.PRODUCT),
            (3, 3): descriptors.string_bytes(serial),
        }
        self._descriptors = {
            (1, 0): descriptors.DEVICE,
            (2, 0): descriptors.configuration_bytes(packet_bytes),
            (6, 0): descriptors.QUALIFIER,
        }

    def configure(self, value: int) -> None:
        """Set configuration 0 or 1; setting it again clears the halt.

        Raises:
            ConditionError: there is no such configuration.
        """
        if value not in {0, 1}:
            raise ConditionError(Condition.NOT_FOUND)
        self.configuration = value
        self.is_halted = False

    def answer(self, setup: Setup) -> bytes:
        """Carry out a control request and return its whole answer, whatever was asked for.

        Raises:
            ConditionError: STALL; the device does not know the request.
        """
        if setup.request_type in {0xC1, 0x41}:
            return self._answer_vendor(setup)
        if setup.request_type & 0x80:
            return self._answer_standard(setup)
        self._obey_standard(setup)
        return b""

    def _answer_vendor(self, setup: Setup) -> bytes:
        is_order = setup.request_type == 0x41 or setup.length == 0
        if is_order and setup.request in {0x11, 0x12}:
            self.is_enabled = setup.request == 0x12
            return b""
        if (setup.request_type, setup.request) == (0x41, 0x18):
            self.start_up_tests_due = False
            return b""
        answers = {
            0x10: BOARD_VERSION.to_bytes(4, "little"),
            0x13: bytes([self.is_enabled]),
            0x14: b"\1",
            0x15: b"\1",
            0x16: RATE_KBIT_PER_S.to_bytes(4, "little"),
            0x17: bytes([self.start_up_tests_due]),
        }
        if setup.request_type != 0xC1 or setup.request not in answers:
            raise ConditionError(Condition.STALL)
        return answers[setup.request]

    def _answer_standard(self, setup: Setup) -> bytes:
        match (setup.request_type, setup.request):
            case (0x80, 0x06):
                return self._descriptor(setup.value >> 8, setup.value & 0xFF)
            case (0x80, 0x08):
                return bytes([self.configuration])
            case (0x80, 0x00):
                return b"\0\0"
            case (0x82, 0x00) if setup.index == BULK_ENDPOINT:
                return bytes([self.is_halted, 0])
            case (0x81, 0x0A):
                return b"\0"
        raise ConditionError(Condition.STALL)

    def _obey_standard(self, setup: Setup) -> None:
        match (setup.request_type, setup.request, setup.value, setup.index):
            case (0x00, 0x09, 0 | 1, 0):
                self.configure(setup.value)
            case (0x02, 0x01 | 0x03, 0, 0x86):
                self.is_halted = setup.request == 0x03
            case (0x01, 0x0B, 0, 0):
                pass
            case _:
                raise ConditionError(Condition.STALL)

    def _descriptor(self, kind: int, index: int) -> bytes:
        try:
            return (self._strings | self._descriptors)[kind, index]
        except KeyError:
            raise ConditionError(Condition.STALL) from None
