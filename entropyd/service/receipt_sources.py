"""What a receipt says of where bits came from, taken from what is stored of it.

The stored provenance is the one statement; a receipt repeats it as text.
"""

from google.protobuf.duration_pb2 import Duration

from entropyd.hands.receipts import Sources
from entropyd.log.source_line import ReceiptHealth, ReceiptSourceKind, SourceClass, SourceLine
from entropyd.v1 import types_pb2

_CLASSES = {
    types_pb2.SOURCE_CLASS_HARDWARE: SourceClass.HARDWARE,
    types_pb2.SOURCE_CLASS_COVER: SourceClass.COVER,
    types_pb2.SOURCE_CLASS_USER: SourceClass.USER,
    types_pb2.SOURCE_CLASS_OS: SourceClass.OS,
}
# What the reseed of a batch took, which its draws share.
_SHARED_CLASSES = {
    types_pb2.SOURCE_CLASS_HARDWARE: SourceClass.BATCH_HARDWARE,
    types_pb2.SOURCE_CLASS_COVER: SourceClass.BATCH_COVER,
    types_pb2.SOURCE_CLASS_USER: SourceClass.BATCH_USER,
    types_pb2.SOURCE_CLASS_OS: SourceClass.BATCH_OS,
}
_KINDS = {
    types_pb2.SOURCE_KIND_HARDWARE: ReceiptSourceKind.HARDWARE,
    types_pb2.SOURCE_KIND_OS: ReceiptSourceKind.OS,
    types_pb2.SOURCE_KIND_MOCK: ReceiptSourceKind.MOCK,
    types_pb2.SOURCE_KIND_REPLAY: ReceiptSourceKind.REPLAY,
    types_pb2.SOURCE_KIND_USER: ReceiptSourceKind.USER,
}
_HEALTH = {
    types_pb2.SOURCE_STATE_UNSPECIFIED: ReceiptHealth.NONE,
    types_pb2.SOURCE_STATE_LOST: ReceiptHealth.LOST,
    types_pb2.SOURCE_STATE_STARTUP: ReceiptHealth.STARTUP,
    types_pb2.SOURCE_STATE_ASSESSING: ReceiptHealth.ASSESSING,
    types_pb2.SOURCE_STATE_HEALTHY: ReceiptHealth.HEALTHY,
    types_pb2.SOURCE_STATE_FAILED: ReceiptHealth.FAILED,
}


def sources_of(provenance: bytes) -> Sources:
    """Return what the receipt of a draw says of its stored provenance."""
    stored = types_pb2.Provenance.FromString(provenance)
    lines = [_line(use, _CLASSES) for use in stored.sources]
    lines += [_line(use, _SHARED_CLASSES) for use in stored.shared_sources]
    return Sources(stored.policy, tuple(lines), stored.degraded)


def _line(
    use: types_pb2.SourceUse, classes: dict[types_pb2.SourceClass.ValueType, SourceClass]
) -> SourceLine:
    # `class` is a keyword of Python, so the field cannot be named in the usual way.
    return SourceLine(
        classes[getattr(use, "class")],
        _KINDS[use.kind],
        use.driver,
        use.serial,
        samples=use.samples,
        credited=use.credited_millibits // 1000,
        age_ms=_milliseconds(use.age),
        health=_HEALTH[use.health],
    )


def _milliseconds(age: Duration) -> int:
    return age.seconds * 1000 + age.nanos // 1_000_000
