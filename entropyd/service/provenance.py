"""Where a draw's bits came from, as the answer tells it and the ledger keeps it."""

from collections.abc import Sequence

from google.protobuf import duration_pb2, timestamp_pb2

from entropyd.entropy.entropy_source import SourceState
from entropyd.entropy.gate import GatedSeed, SampleClass, SourceUse
from entropyd.entropy.source import SourceKind
from entropyd.rbg.construction import OS_SAMPLE_BYTES, OS_SOURCE_ID
from entropyd.v1 import types_pb2

CLASSES = {
    SampleClass.HARDWARE: types_pb2.SOURCE_CLASS_HARDWARE,
    SampleClass.COVER: types_pb2.SOURCE_CLASS_COVER,
    SampleClass.USER: types_pb2.SOURCE_CLASS_USER,
}
KINDS = {
    SourceKind.HARDWARE: types_pb2.SOURCE_KIND_HARDWARE,
    SourceKind.OS: types_pb2.SOURCE_KIND_OS,
    SourceKind.MOCK: types_pb2.SOURCE_KIND_MOCK,
    SourceKind.REPLAY: types_pb2.SOURCE_KIND_REPLAY,
}
STATES = {
    SourceState.LOST: types_pb2.SOURCE_STATE_LOST,
    SourceState.STARTUP: types_pb2.SOURCE_STATE_STARTUP,
    SourceState.ASSESSING: types_pb2.SOURCE_STATE_ASSESSING,
    SourceState.HEALTHY: types_pb2.SOURCE_STATE_HEALTHY,
    SourceState.FAILED: types_pb2.SOURCE_STATE_FAILED,
}
