"""The error table: every error has its code, and tells a caller once what can be done."""

import grpc
import pytest
from google.rpc import code_pb2, error_details_pb2, status_pb2

from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HealthTestError,
    InternalError,
    OverloadError,
    RequestError,
    SourceError,
)
from entropyd.service.error_table import ERROR_DOMAIN, PLAIN_RETRY_S, TABLE, Answer, answer

Code = grpc.StatusCode
SECRET = "c0ffee5eed"


def walk(kind: type[EntropydError]) -> list[type[EntropydError]]:
    found = [kind]
    for child in kind.__subclasses__():
        if child.__module__.startswith("entropyd"):
            found += walk(child)
    return found


EVERY = walk(EntropydError)
CONCRETE = [kind for kind in EVERY if kind.reason]
# Their retries are made by the reader; none of them ever reaches a caller.
THE_READERS = (SourceError, HealthTestError)


def make(kind: type[EntropydError], text: str = "a text") -> EntropydError:
    if issubclass(kind, RequestError):
        return kind("key.hand", text)
    if issubclass(kind, EntropyHoldError):
        return kind(text, why="SOURCE_LOST", retry_after_s=2.5)
    if issubclass(kind, OverloadError):
        return kind(text, retry_after_s=0.25)
    return kind(text)


def details(told: Answer) -> dict[str, list[object]]:
    """Return the details of the serialised status by the name of their type."""
    [raw] = [value for key, value in told.trailers if key == "grpc-status-details-bin"]
    assert isinstance(raw, bytes)
    status = status_pb2.Status.FromString(raw)
    assert (code_pb2.Code.Value(told.code.name), told.message) == (status.code, status.message)
    found: dict[str, list[object]] = {}
    for packed in status.details:
        message = getattr(error_details_pb2, packed.type_url.rpartition(".")[2])()
        assert packed.Unpack(message)
        found.setdefault(type(message).__name__, []).append(message)
    return found


def pushback_ms(told: Answer) -> list[int]:
    return [int(value) for key, value in told.trailers if key == "grpc-retry-pushback-ms"]


# --- every error --------------------------------------------------------------------------


def test_the_walk_finds_errors():
    """So that a test over all of them cannot pass over none."""
    assert len(CONCRETE) >= 20


@pytest.mark.parametrize("kind", [kind for kind in EVERY if not kind.reason])
def test_an_error_without_a_reason_cannot_be_raised(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind("a text")


@pytest.mark.parametrize("kind", CONCRETE)
def test_every_error_has_a_row_of_its_own_family(kind):
    """Found before the last row, which is for what nobody thought of."""
    rows = [row for row, _ in TABLE if issubclass(kind, row)]
    assert EntropydError is not rows[0]


@pytest.mark.parametrize("kind", CONCRETE)
def test_every_reason_is_upper_snake_and_names_one_error(kind):
    assert kind.reason.isupper()
    assert kind.reason.isidentifier()
    assert [kind] == [other for other in CONCRETE if other.reason == kind.reason]


@pytest.mark.parametrize("kind", CONCRETE)
def test_only_unavailable_is_retryable(kind):
    """Stock clients retry on this code alone, and every error that may be retried has it."""
    told = answer(make(kind))
    if issubclass(kind, THE_READERS):
        assert Code.INTERNAL is told.code
    else:
        assert kind.retryable == (told.code is Code.UNAVAILABLE)


@pytest.mark.parametrize("kind", CONCRETE)
def test_every_error_tells_its_reason_once(kind):
    """google.rpc.ErrorInfo with our domain, exactly one; every other detail at most once."""
    found = details(answer(make(kind)))
    [info] = found["ErrorInfo"]
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert (kind.reason, ERROR_DOMAIN) == (info.reason, info.domain)
    assert {1} == {len(each) for each in found.values()}


@pytest.mark.parametrize("kind", CONCRETE)
def test_hint_for_people_and_pushback_for_clients_come_together_and_agree(kind):
    """Every UNAVAILABLE has both; nothing that a client must not retry has a pushback of 0."""
    told = answer(make(kind))
    found = details(told)
    assert ("RetryInfo" in found) == (len(pushback_ms(told)) == 1)
    if told.code is Code.UNAVAILABLE:
        assert "RetryInfo" in found
    for hint in found.get("RetryInfo", []):
        assert isinstance(hint, error_details_pb2.RetryInfo)
        assert [hint.retry_delay.ToMilliseconds()] == pushback_ms(told)
        assert hint.retry_delay.ToMilliseconds() > 0


@pytest.mark.parametrize("kind", CONCRETE)
def test_bad_requests_and_nothing_else_name_a_field(kind):
    found = details(answer(make(kind)))
    assert issubclass(kind, RequestError) == ("BadRequest" in found)


@pytest.mark.parametrize("kind", CONCRETE)
def test_what_is_internal_tells_nothing(kind):
    """Its text may say anything, for the log; no part of it leaves."""
    told = answer(make(kind, SECRET))
    if told.code is Code.INTERNAL:
        assert SECRET not in told.message
        assert SECRET not in repr(told.trailers)
    else:
        assert SECRET in told.message


@pytest.mark.parametrize("kind", CONCRETE)
def test_what_ends_the_process_is_no_callers_fault(kind):
    """A fatal error is INTERNAL or DATA_LOSS: no request may look like the cause."""
    if kind.fatal:
        assert answer(make(kind)).code in {Code.INTERNAL, Code.DATA_LOSS}


# --- single ones ----------------------------------------------------------------------------


def test_an_error_that_nobody_thought_of_is_internal():
    """The last row of the table, as it says."""

    class NewError(EntropydError):
        reason = "NEW"

    told = answer(NewError(SECRET))
    assert Code.INTERNAL is told.code
    assert SECRET not in told.message


def test_a_hold_says_why_and_when():
    told = answer(EntropyHoldError("held", why="SOURCE_LOST", retry_after_s=2.5))
    [info] = details(told)["ErrorInfo"]
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert (Code.UNAVAILABLE, "held", {"why": "SOURCE_LOST"}, [2500]) == (
        told.code,
        told.message,
        dict(info.metadata),
        pushback_ms(told),
    )


@pytest.mark.parametrize(
    ("left_s", "pushback"),
    [(None, 2500), (60.0, 2500), (2.6, 2500), (2.5, -1), (0.05, -1), (0.0, -1), (-1.0, -1)],
)
def test_a_retry_that_would_come_after_the_callers_deadline_is_not_asked_for(left_s, pushback):
    """Else a stock client waits for its deadline and loses our answer; people are told the same."""
    held = EntropyHoldError("held", why="SOURCE_LOST", retry_after_s=2.5)
    told = answer(held, left_s=left_s)
    assert [pushback] == pushback_ms(told)
    [hint] = details(told)["RetryInfo"]
    assert isinstance(hint, error_details_pb2.RetryInfo)
    assert 2500 == hint.retry_delay.ToMilliseconds()


def test_an_overload_has_a_hint_and_is_not_retried_by_stock_clients():
    told = answer(OverloadError("full", retry_after_s=0.25))
    assert (Code.RESOURCE_EXHAUSTED, [250]) == (told.code, pushback_ms(told))


def test_a_bad_request_names_its_field_and_the_remedy():
    told = answer(RequestError("key.hand", "is empty; expected 1 to 128 characters"))
    [bad] = details(told)["BadRequest"]
    assert isinstance(bad, error_details_pb2.BadRequest)
    [violation] = bad.field_violations
    assert Code.INVALID_ARGUMENT is told.code
    assert ("key.hand", "key.hand: is empty; expected 1 to 128 characters") == (
        violation.field,
        violation.description,
    )


@pytest.mark.parametrize(
    ("kind", "code"),
    [(kind, code) for kind, code in TABLE if kind.reason],
    ids=[kind.__name__ for kind, _ in TABLE if kind.reason],
)
def test_codes_are_those_of_the_table(kind, code):
    """No earlier row takes an error away from its own."""
    assert code is answer(make(kind)).code


def test_who_has_no_fill_rate_is_told_a_second():
    kinds = {
        kind
        for kind in CONCRETE
        if kind.retryable and not issubclass(kind, (*THE_READERS, EntropyHoldError))
    }
    assert kinds
    for kind in kinds:
        assert [1000 * PLAIN_RETRY_S] == pushback_ms(answer(make(kind)))


def test_internal_errors_tell_their_reason_for_whoever_reports_them():
    [info] = details(answer(InternalError("x")))["ErrorInfo"]
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert "INTERNAL" == info.reason
