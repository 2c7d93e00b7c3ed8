"""The line of a receipt that says where bits came from.

It is the operator's statement: nobody else can check it. No user is named: what
users gave is one line.

Spec: docs/protocol.md, "Receipts".
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from entropyd.errors import RequestError
from entropyd.log.values import BadValueError, Codec, Decimal, OutsideText, Word


class SourceClass(StrEnum):
    """What bits were used as; `batch-` those of the reseed that a batch shares."""

    HARDWARE = "hardware"
    COVER = "cover"
    USER = "user"
    OS = "os"
    BATCH_HARDWARE = "batch-hardware"
    BATCH_COVER = "batch-cover"
    BATCH_USER = "batch-user"
    BATCH_OS = "batch-os"


class ReceiptSourceKind(StrEnum):
    """What stands behind a source. `mock` and `replay` are not for play."""

    HARDWARE = "hardware"
    OS = "os"
    MOCK = "mock"
    REPLAY = "replay"
    USER = "user"


class ReceiptHealth(StrEnum):
    """Where a source stood; `none` for users and the operating system, which have no tests."""

    NONE = "none"
    LOST = "lost"
    STARTUP = "startup"
    ASSESSING = "assessing"
    HEALTHY = "healthy"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """What one source gave.

    Attributes:
        source_class: what its bits were used as.
        kind: what stands behind it, as far as the daemon can recognise.
        driver: who read it; empty for users and the operating system.
        serial: of the device; empty where it has none.
        samples: bytes used.
        credited: whole bits of min-entropy spent, rounded down.
        age_ms: of the oldest sample.
        health: where the source stood.
    """

    source_class: SourceClass
    kind: ReceiptSourceKind
    driver: str = ""
    serial: str = ""
    samples: int = 0
    credited: int = 0
    age_ms: int = 0
    health: ReceiptHealth = ReceiptHealth.NONE


# Name in the line, attribute, codec: in the order of the line.
_PARTS: tuple[tuple[str, str, Codec], ...] = (
    ("class", "source_class", Word(SourceClass)),
    ("kind", "kind", Word(ReceiptSourceKind)),
    ("driver", "driver", OutsideText(least=0)),
    ("serial", "serial", OutsideText(least=0)),
    ("samples", "samples", Decimal()),
    ("credited", "credited", Decimal()),
    ("age", "age_ms", Decimal()),
    ("health", "health", Word(ReceiptHealth)),
)
_SHAPE = re.compile(" ".join(f"{name}=([^ ]*)" for name, _, _ in _PARTS))


class SourceCodec:
    """`class=hardware kind=hardware driver=quantis-usb serial=...`: eight parts, one space each."""

    def encode(self, field: str, value: SourceLine) -> str:
        """Return the line's value."""
        return " ".join(
            f"{name}={codec.encode(f'{field}.{name}', getattr(value, attribute))}"
            for name, attribute, codec in _PARTS
        )

    def decode(self, text: str) -> SourceLine:
        """Return what the line says."""
        match = _SHAPE.fullmatch(text)
        if match is None:
            names = ", ".join(name for name, _, _ in _PARTS)
            raise BadValueError(f"expected {names}, each name=value, one space between")
        values = {}
        for part, (name, attribute, codec) in enumerate(_PARTS, start=1):
            try:
                values[attribute] = codec.decode(match[part])
            except BadValueError as error:
                raise BadValueError(f"{name} {error}", match.start(part) + error.at) from error
        return SourceLine(**values)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a policy, for people to read.

    Attributes:
        name: 1 to 64 of a-z, 0-9, `_` and `.`.
        value: as it is in force.
    """

    name: str
    value: str


class SettingCodec:
    """`name value`, the value percent-encoded."""

    _NAME = re.compile(r"[a-z0-9_.]{1,64}")
    _VALUE = OutsideText()

    def encode(self, field: str, value: Setting) -> str:
        """Return the line's value."""
        if not self._NAME.fullmatch(value.name):
            raise RequestError(field, f"is named {value.name!r}; expected a-z, 0-9, _ and .")
        return f"{value.name} {self._VALUE.encode(field, value.value)}"

    def decode(self, text: str) -> Setting:
        """Return the setting."""
        name, space, value = text.partition(" ")
        if not space or not self._NAME.fullmatch(name):
            raise BadValueError("expected a name of a-z, 0-9, _ and . and a value")
        try:
            return Setting(name, self._VALUE.decode(value))
        except BadValueError as error:
            raise BadValueError(str(error), len(name) + 1 + error.at) from error
