"""Every error as gRPC tells it: status code, ErrorInfo, and what the caller can do with it.

One table, one translation. Only UNAVAILABLE is retryable (AIP-194), and every
UNAVAILABLE carries google.rpc.RetryInfo for people and the trailer
`grpc-retry-pushback-ms` for stock clients, which honour only the latter. A
stock client that is told to wait beyond its deadline does wait, and then tells
its caller DEADLINE_EXCEEDED, without a reason and not to be retried. So it is
told not to retry where a retry would come too late: its caller gets our answer.

Spec: DESIGN 12; AIP-193; gRPC A6, "Pushback".
"""

from dataclasses import dataclass

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2

from entropyd.errors import (
    ConfigError,
    DrawSpentError,
    DrbgError,
    EntropydError,
    EntropyHoldError,
    HandSpentError,
    HealthTestError,
    InternalError,
    LedgerBehindAnchorError,
    LedgerConflictError,
    LedgerDamagedError,
    LedgerRefusedError,
    LedgerUnavailableError,
    MatchTakenError,
    NotFoundError,
    OverloadError,
    PermissionDeniedError,
    PlaceDealtError,
    RaffleSealedError,
    RequestError,
    RoundSpentError,
    SecretsDestroyedError,
    SelfTestError,
    ShuttingDownError,
    SourceError,
    UnauthenticatedError,
    VerificationError,
    WrongNodeError,
    WrongStateError,
)
from entropyd.v1 import shuffle_service_pb2

ERROR_DOMAIN = "entropyd"

# When a ledger that cannot write, or a daemon that stops, is worth asking again: a restart takes a
# second or two, and an operator who frees a disk longer; a client's back-off does the rest.
PLAIN_RETRY_S = 1.0

# "do not retry" for a client that retries by itself; RetryInfo still says when to ask again.
NO_RETRY = "-1"

# The first class that an error is an instance of decides. The last line takes what has no place of
# its own: such an error tells the client nothing but that it is ours.
TABLE: tuple[tuple[type[EntropydError], grpc.StatusCode], ...] = (
    (RequestError, grpc.StatusCode.INVALID_ARGUMENT),
    (UnauthenticatedError, grpc.StatusCode.UNAUTHENTICATED),
    (PermissionDeniedError, grpc.StatusCode.PERMISSION_DENIED),
    (HandSpentError, grpc.StatusCode.ALREADY_EXISTS),
    (RoundSpentError, grpc.StatusCode.ALREADY_EXISTS),
    (DrawSpentError, grpc.StatusCode.ALREADY_EXISTS),
    (MatchTakenError, grpc.StatusCode.ALREADY_EXISTS),
    (RaffleSealedError, grpc.StatusCode.ALREADY_EXISTS),
    (NotFoundError, grpc.StatusCode.NOT_FOUND),
    (WrongNodeError, grpc.StatusCode.FAILED_PRECONDITION),
    (WrongStateError, grpc.StatusCode.FAILED_PRECONDITION),
    (PlaceDealtError, grpc.StatusCode.ALREADY_EXISTS),
    (SecretsDestroyedError, grpc.StatusCode.FAILED_PRECONDITION),
    (EntropyHoldError, grpc.StatusCode.UNAVAILABLE),
    (ShuttingDownError, grpc.StatusCode.UNAVAILABLE),
    (OverloadError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (LedgerUnavailableError, grpc.StatusCode.UNAVAILABLE),
    (LedgerDamagedError, grpc.StatusCode.DATA_LOSS),
    (LedgerConflictError, grpc.StatusCode.INTERNAL),
    (LedgerBehindAnchorError, grpc.StatusCode.INTERNAL),
    (LedgerRefusedError, grpc.StatusCode.INTERNAL),
    (SourceError, grpc.StatusCode.INTERNAL),
    (HealthTestError, grpc.StatusCode.INTERNAL),
    (DrbgError, grpc.StatusCode.INTERNAL),
    (SelfTestError, grpc.StatusCode.INTERNAL),
    (ConfigError, grpc.StatusCode.INTERNAL),
    (VerificationError, grpc.StatusCode.INTERNAL),
    (InternalError, grpc.StatusCode.INTERNAL),
    (EntropydError, grpc.StatusCode.INTERNAL),
)


@dataclass(frozen=True)
class Answer:
    """An error on the wire.

    Attributes:
        code: gRPC status code.
        message: text for people.
        trailers: trailing metadata, with the serialised google.rpc.Status.
    """

    code: grpc.StatusCode
    message: str
    trailers: tuple[tuple[str, str | bytes], ...]


def answer(error: EntropydError, *, left_s: float | None = None) -> Answer:
    """Return how `error` is told to a client.

    Args:
        error: what the core raised.
        left_s: seconds until the caller stops listening; None if it never does.
    """
    code, message = _code_and_message(error)
    details: list[Message] = [_error_info(error)]
    trailers: list[tuple[str, str | bytes]] = []
    if isinstance(error, RequestError):
        details.append(_bad_request(error))
    retry_after_s = _retry_after_s(error, code)
    if retry_after_s is not None:
        details.append(_retry_info(retry_after_s))
        trailers.append(("grpc-retry-pushback-ms", _pushback(retry_after_s, left_s)))
    trailers.append(("grpc-status-details-bin", _status(code, message, details)))
    return Answer(code, message, tuple(trailers))


def refusal(error: EntropydError) -> shuffle_service_pb2.Refusal:
    """Return how `error` is told of one hand of a stream, which goes on."""
    code, message = _code_and_message(error)
    told = shuffle_service_pb2.Refusal(
        code=code_pb2.Code.Value(code.name), message=message, reason=error.reason
    )
    if isinstance(error, RequestError):
        told.field = error.field
    if isinstance(error, EntropyHoldError):
        told.why = error.why
    retry_after_s = _retry_after_s(error, code)
    if retry_after_s is not None:
        told.retry_after.FromMilliseconds(round(retry_after_s * 1000))
    return told


def _code_and_message(error: EntropydError) -> tuple[grpc.StatusCode, str]:
    code = next(code for kind, code in TABLE if isinstance(error, kind))
    if code is grpc.StatusCode.INTERNAL:
        # The text is for the log; a client can do nothing with it but report it.
        return code, "internal error, see the daemon's log; nothing of this call was shown"
    return code, str(error)


def _retry_after_s(error: EntropydError, code: grpc.StatusCode) -> float | None:
    if isinstance(error, EntropyHoldError | OverloadError):
        return error.retry_after_s
    return PLAIN_RETRY_S if code is grpc.StatusCode.UNAVAILABLE else None


def _pushback(retry_after_s: float, left_s: float | None) -> str:
    too_late = left_s is not None and retry_after_s >= left_s
    return NO_RETRY if too_late else str(round(retry_after_s * 1000))


def _error_info(error: EntropydError) -> error_details_pb2.ErrorInfo:
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=ERROR_DOMAIN)
    if isinstance(error, EntropyHoldError):
        info.metadata["why"] = error.why
    return info


def _bad_request(error: RequestError) -> error_details_pb2.BadRequest:
    violation = error_details_pb2.BadRequest.FieldViolation(
        field=error.field, description=str(error)
    )
    return error_details_pb2.BadRequest(field_violations=[violation])


def _retry_info(seconds: float) -> error_details_pb2.RetryInfo:
    delay = duration_pb2.Duration()
    delay.FromMilliseconds(round(seconds * 1000))
    return error_details_pb2.RetryInfo(retry_delay=delay)


def _status(code: grpc.StatusCode, message: str, details: list[Message]) -> bytes:
    packed = []
    for detail in details:
        envelope = any_pb2.Any()
        envelope.Pack(detail)
        packed.append(envelope)
    number = code_pb2.Code.Value(code.name)
    status = status_pb2.Status(code=number, message=message, details=packed)
    return bytes(status.SerializeToString())
