"""What each driver makes of each fault of the project's list. One table, played by the tests.

`test_quantis_faults` and `test_serial_faults` make every fault here happen and
compare; `fault_table` prints it; `test_fault_table` refuses a gap.
"""

from entropyd.errors import (
    SourceAbsentError,
    SourceError,
    SourceProtocolError,
    SourceTimeoutError,
)

# The driver cannot see it, and hands the bytes on to the health tests, which can if it matters.
DELIVERED = None

Outcome = type[SourceError] | None

# Number in the list, and what it is.
FAULTS_OF_THE_LIST = {
    1: "module or optics failed",
    2: "no module present, or no power",
    3: "short packet",
    4: "no data at all",
    5: "partial data, then nothing",
    6: "stall that clearing repairs",
    7: "stall that clearing does not repair",
    8: "overflow: more came than was asked for",
    9: "unplugged: idle, amid a read, amid a request",
    10: "interface or port is busy",
    11: "opening denied; names unreadable",
    12: "status request refused or unanswered; old firmware",
    13: "short answer to a request",
    14: "first transfer after idle fails",
    15: "reset by somebody else",
    16: "stuck or repeated stream",
    17: "bias",
    18: "status bytes mixed into the stream",
    19: "rate drop, burst",
    20: "libusb: unsupported call, missing, does not start",
    21: "serial: hang-up, wrong mode left over, paused, DTR",
}

# fault: (a read of a device that was open when it began, opening while it lasts)
QUANTIS: dict[str, tuple[Outcome, Outcome]] = {
    "F1:continue": (SourceProtocolError, SourceProtocolError),
    "F1:nak": (SourceProtocolError, SourceProtocolError),
    "F1:repeat": (SourceProtocolError, SourceProtocolError),
    "F2:mask": (DELIVERED, SourceProtocolError),
    "F2:power": (DELIVERED, SourceProtocolError),
    "F3:short": (SourceProtocolError, DELIVERED),
    "F3:empty": (SourceProtocolError, DELIVERED),
    "F4": (SourceTimeoutError, DELIVERED),
    "F5": (SourceTimeoutError, DELIVERED),
    "F6": (SourceProtocolError, DELIVERED),
    "F7": (SourceProtocolError, DELIVERED),
    "F8": (SourceProtocolError, DELIVERED),
    "F9:idle": (SourceAbsentError, SourceAbsentError),
    "F9:read": (SourceAbsentError, DELIVERED),
    "F9:control": (SourceAbsentError, SourceAbsentError),
    "F10:claim": (DELIVERED, SourceAbsentError),
    "F10:configuration": (DELIVERED, SourceAbsentError),
    "F11:open": (DELIVERED, SourceAbsentError),
    "F11:strings": (DELIVERED, DELIVERED),
    "F12:stall": (SourceProtocolError, SourceProtocolError),
    "F12:timeout": (SourceTimeoutError, SourceTimeoutError),
    "F12:flag": (DELIVERED, DELIVERED),
    "F13": (SourceProtocolError, SourceProtocolError),
    # While opening, the transfer that fails is the question after the serial number.
    "F14:stall": (SourceProtocolError, DELIVERED),
    "F14:io": (SourceProtocolError, DELIVERED),
    "F15": (SourceProtocolError, DELIVERED),
    "F16:zeros": (DELIVERED, DELIVERED),
    "F16:ones": (DELIVERED, DELIVERED),
    "F16:packet": (DELIVERED, DELIVERED),
    "F16:lag": (DELIVERED, DELIVERED),
    "F17:small": (DELIVERED, DELIVERED),
    "F17:large": (DELIVERED, DELIVERED),
    "F18": (DELIVERED, DELIVERED),
    "F19:drop": (DELIVERED, DELIVERED),
    "F19:burst": (DELIVERED, DELIVERED),
    "F20:unsupported": (DELIVERED, SourceAbsentError),
    "F20:library": (DELIVERED, SourceAbsentError),
    "F20:init": (DELIVERED, SourceAbsentError),
}

# The same of a serial port with raw bytes.
SERIAL: dict[str, tuple[Outcome, Outcome]] = {
    "F4": (SourceTimeoutError, DELIVERED),
    "F5": (SourceTimeoutError, DELIVERED),
    "F9:idle": (SourceAbsentError, SourceAbsentError),
    "F9:read": (SourceAbsentError, SourceAbsentError),
    "F10": (DELIVERED, SourceAbsentError),
    "F11": (DELIVERED, SourceAbsentError),
    "F16:zeros": (DELIVERED, DELIVERED),
    "F16:lag": (DELIVERED, DELIVERED),
    "F17:small": (DELIVERED, DELIVERED),
    "F17:large": (DELIVERED, DELIVERED),
    "F18": (DELIVERED, DELIVERED),
    "F19:drop": (SourceTimeoutError, DELIVERED),
    "F21:hangup": (SourceAbsentError, SourceAbsentError),
    "F21:text": (DELIVERED, DELIVERED),
    "F21:samples": (DELIVERED, DELIVERED),
    "F21:paused": (SourceTimeoutError, DELIVERED),
    "F21:dtr": (SourceTimeoutError, DELIVERED),
}

# Why a fault of the list cannot happen to a driver.
_USB = "a fault of USB transfers, which the kernel's tty layer keeps to itself"
NOT_POSSIBLE = {
    ("quantis-usb", 21): "no serial line",
    ("serial", 1): "a raw stream tells no status; what it sends then is F4 or F16",
    ("serial", 2): "a raw stream tells no modules",
    ("serial", 3): "a stream has no packets; a block that stays short is F5",
    ("serial", 6): _USB,
    ("serial", 7): _USB,
    ("serial", 8): "a read takes at most what was asked for",
    ("serial", 12): "no request is sent",
    ("serial", 13): "no request is sent",
    ("serial", 14): _USB,
    ("serial", 15): "the port hangs up: F21",
    ("serial", 20): "no libusb",
}


# Who sees what the drivers deliver: the health tests that fire, `assessment` where the estimate
# falls below the claim of a Quantis, `rate`; nobody where what is left is still worth the claim.
SEEN_BY: dict[str, set[str]] = {
    "F16:zeros": {"rct", "apt", "lag", "repeated-block", "drift", "assessment"},
    "F16:ones": {"rct", "apt", "lag", "repeated-block", "drift", "assessment"},
    "F16:packet": {"lag", "repeated-block", "assessment"},
    "F16:lag": {"lag", "assessment"},
    "F17:small": set(),  # 7.99 bits a byte
    "F17:large": {"drift", "assessment"},
    "F18": {"assessment"},  # the same 16 bits in each packet
    "F19:drop": {"rate"},
    "F19:burst": set(),  # the mean rate is the nominal one
    "F21:text": {"apt", "drift", "assessment"},
    "F21:samples": set(),  # six of eight bits
}
