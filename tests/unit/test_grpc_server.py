"""The adapter and its listeners: one way for every call, and sockets that are ours alone."""

import asyncio
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import grpc
import pytest

from entropyd.errors import (
    ConfigError,
    EntropydError,
    EntropyHoldError,
    HandSpentError,
    InternalError,
    LedgerDamagedError,
    UnauthenticatedError,
)
from entropyd.service import grpc_server
from entropyd.service.adapter import Adapter, Malformed, only
from entropyd.service.admission import Admission
from entropyd.service.identity import Call, Identity, Role
from entropyd.v1 import entropy_service_pb2
from tests.fakes.manual_time import START_NS, ManualClock

WHO = Identity("room", frozenset({Role.DEAL_ALL}))
REQUEST = entropy_service_pb2.GetStatusRequest()
ANSWER = entropy_service_pb2.GetStatusResponse(node="n")


class AbortedError(Exception):
    """What gRPC raises out of a handler that aborted."""


class Context:
    """A servicer context: time that is left, and one abort at most."""

    def __init__(self, left_s: float | None) -> None:
        self.left_s = left_s
        self.aborted: tuple[grpc.StatusCode, str] | None = None
        self.trailers: dict[str, str | bytes] = {}

    def time_remaining(self) -> float | None:
        return self.left_s

    async def abort(self, code, details, trailing_metadata):
        assert self.aborted is None
        self.aborted = code, details
        self.trailers = dict(trailing_metadata)
        raise AbortedError


class Desk:
    """An adapter, everybody around it, and a caller who is `who`, or nobody."""

    def __init__(self, **limits: int) -> None:
        self.clock = ManualClock()
        self.called_with: list[tuple[str, str, float, str]] = []
        self.defects: list[BaseException] = []
        self.who: Identity | None = WHO
        self.admission = Admission()
        self.adapter = Adapter(
            self,
            admission=self.admission,
            name="desk",
            observer=self,
            clock_ns=self.clock,
            on_defect=self.defects.append,
            **limits,
        )

    def caller(self, context) -> "Desk":
        return self

    def identity(self) -> Identity:
        if self.who is None:
            raise UnauthenticatedError("nobody")
        return self.who

    def called(self, method: str, code: str, seconds: float, reason: str) -> None:
        self.called_with.append((method, code, seconds, reason))

    def carry(self, outcome, *, left_s: float | None = 10.0, request=REQUEST, meanwhile=None):
        """Carry one call whose handler takes a second and then returns or raises `outcome`."""
        context = Context(left_s)
        calls: list[Call] = []

        async def handler(request, call):
            calls.append(call)
            self.clock.now_ns += 10**9
            if meanwhile is not None:
                meanwhile()
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        async def scenario():
            try:
                return await self.adapter.carry("GetStatus", handler, request, context)  # type: ignore[arg-type]
            except (AbortedError, asyncio.CancelledError) as error:
                return error

        return asyncio.run(scenario()), context, calls


# --- calls -----------------------------------------------------------------------------


@pytest.mark.parametrize("left_s", [None, 0.25, 10.0])
def test_the_core_is_told_who_calls_and_until_when(left_s):
    """The deadline is on our clock; a call without one has none."""
    desk = Desk()
    answer, context, calls = desk.carry(ANSWER, left_s=left_s)
    deadline_ns = None if left_s is None else START_NS + int(left_s * 1e9)
    assert [Call(WHO, deadline_ns)] == calls
    assert ANSWER == answer
    assert context.aborted is None
    assert [("GetStatus", "OK", 1.0, "")] == desk.called_with
    assert [] == desk.defects


def test_our_errors_are_told_by_the_table_and_end_nothing():
    desk = Desk()
    ended, context, _ = desk.carry(HandSpentError("spent"))
    assert isinstance(ended, AbortedError)
    assert (grpc.StatusCode.ALREADY_EXISTS, "spent") == context.aborted
    assert [("GetStatus", "ALREADY_EXISTS", 1.0, "HAND_SPENT")] == desk.called_with
    assert [] == desk.defects


@pytest.mark.parametrize(("left_s", "pushback"), [(None, "2000"), (10.0, "2000"), (2.9, "-1")])
def test_the_time_that_is_left_when_the_core_is_done_decides_about_a_retry(left_s, pushback):
    """Of 2.9 s one is gone: a retry after two comes too late."""
    held = EntropyHoldError("held", why="SOURCE_LOST", retry_after_s=2.0)
    _, context, _ = Desk().carry(held, left_s=left_s)
    assert pushback == context.trailers["grpc-retry-pushback-ms"]


@pytest.mark.parametrize("fatal", [LedgerDamagedError("damaged"), InternalError("bug")])
def test_a_fatal_error_is_told_and_ends_the_daemon(fatal: EntropydError):
    desk = Desk()
    _, context, _ = desk.carry(fatal)
    assert context.aborted is not None
    assert [fatal] == desk.defects


def test_whatever_else_is_raised_is_internal_tells_nothing_and_ends_the_daemon():
    """The error itself goes to the log of the daemon, never to the caller."""
    desk = Desk()
    defect = KeyError("c0ffee")
    _, context, _ = desk.carry(defect)
    assert context.aborted is not None
    code, text = context.aborted
    assert grpc.StatusCode.INTERNAL is code
    assert "c0ffee" not in text
    assert "KeyError" not in text
    assert [defect] == desk.defects
    assert ["INTERNAL"] == [code for _, code, _, _ in desk.called_with]


def test_a_caller_that_hangs_up_is_counted_and_ends_nothing():
    desk = Desk()
    ended, context, _ = desk.carry(asyncio.CancelledError())
    assert isinstance(ended, asyncio.CancelledError)
    assert context.aborted is None
    assert ["CANCELLED"] == [code for _, code, _, _ in desk.called_with]
    assert [] == desk.defects


def test_bytes_that_are_no_request_never_reach_the_core():
    desk = Desk()
    _, context, calls = desk.carry(ANSWER, request=Malformed())
    assert [] == calls
    assert context.aborted is not None
    assert grpc.StatusCode.INVALID_ARGUMENT is context.aborted[0]


def test_a_stranger_never_reaches_the_core():
    """Not even with bytes that do not parse: who calls is asked first."""
    desk = Desk()
    desk.who = None
    for request in (REQUEST, Malformed()):
        _, context, calls = desk.carry(ANSWER, request=request)
        assert [] == calls
        assert context.aborted is not None
        assert grpc.StatusCode.UNAUTHENTICATED is context.aborted[0]
    assert ["IDENTITY_UNKNOWN"] * 2 == [reason for *_, reason in desk.called_with]


# --- streams ---------------------------------------------------------------------------


def raised_or_returned(outcome):
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def stream(desk, outcomes, requests=(REQUEST,), *, left_s=None, meanwhile=lambda: None):
    """Carry a stream whose handler takes all requests, and yields or raises each outcome."""
    context = Context(left_s)
    taken: list[object] = []

    async def handler(requests, call):
        taken.append(call)
        async for request in requests:
            taken.append(request)
        for outcome in outcomes:
            yield raised_or_returned(outcome)
            meanwhile()

    async def sent():
        for request in requests:
            yield request

    async def scenario():
        answers = []
        try:
            async for answer in desk.adapter.carry_stream("Watch", handler, sent(), context):
                answers.append(answer)
        except (AbortedError, asyncio.CancelledError) as error:
            answers.append(error)
        return answers

    return asyncio.run(scenario()), context, taken


def test_a_stream_is_carried_answer_by_answer():
    desk = Desk()
    answers, context, taken = stream(desk, [ANSWER, ANSWER], [REQUEST, REQUEST])
    assert [ANSWER, ANSWER] == answers
    assert [Call(WHO, None), REQUEST, REQUEST] == taken
    assert context.aborted is None
    assert [("Watch", "OK", "")] == [(m, code, why) for m, code, _, why in desk.called_with]


def test_an_error_of_a_stream_comes_after_its_answers():
    desk = Desk()
    answers, context, _ = stream(desk, [ANSWER, HandSpentError("spent")], left_s=10.0)
    assert [ANSWER, AbortedError] == [answers[0], type(answers[1])]
    assert (grpc.StatusCode.ALREADY_EXISTS, "spent") == context.aborted
    assert [] == desk.defects


@pytest.mark.parametrize("fatal", [LedgerDamagedError("damaged"), KeyError("c0ffee")])
def test_what_must_not_happen_in_a_stream_ends_the_daemon(fatal: Exception):
    desk = Desk()
    _, context, _ = stream(desk, [fatal])
    assert context.aborted is not None
    assert "c0ffee" not in context.aborted[1]
    assert [fatal] == desk.defects


def test_bytes_that_are_no_request_end_a_stream():
    """Those before them reached the core."""
    desk = Desk()
    _, context, taken = stream(desk, [ANSWER], [REQUEST, Malformed(), REQUEST])
    assert [Call(WHO, None), REQUEST] == taken
    assert context.aborted is not None
    assert grpc.StatusCode.INVALID_ARGUMENT is context.aborted[0]


def test_a_stream_whose_caller_is_revoked_ends_before_its_next_answer():
    desk = Desk()
    answers, context, _ = stream(
        desk, [ANSWER, ANSWER], meanwhile=lambda: setattr(desk, "who", LESS)
    )
    assert [ANSWER] == answers[:1]
    assert type(answers[1]) is AbortedError
    assert context.aborted is not None
    assert grpc.StatusCode.PERMISSION_DENIED is context.aborted[0]


def test_a_stream_takes_the_place_of_a_call_as_long_as_it_runs():
    desk = Desk(max_calls=1)
    context: Any = Context(None)

    async def handler(requests, call):
        yield ANSWER
        _, refused, _ = await asyncio.to_thread(desk.carry, ANSWER)
        assert refused.aborted is not None
        assert grpc.StatusCode.RESOURCE_EXHAUSTED is refused.aborted[0]

    async def scenario():
        carried = desk.adapter.carry_stream("Watch", handler, only(REQUEST), context)
        return [answer async for answer in carried]

    assert [ANSWER] == asyncio.run(scenario())
    answer, _, _ = desk.carry(ANSWER)
    assert ANSWER == answer


LESS = Identity("room", frozenset({Role.AUDIT}))
MORE = Identity("room", frozenset({Role.DEAL_ALL, Role.AUDIT}))
THEIRS = Identity("another", frozenset({Role.DEAL_ALL}))


@pytest.mark.parametrize(
    ("now", "code"),
    [(None, "UNAUTHENTICATED"), (LESS, "PERMISSION_DENIED"), (THEIRS, "PERMISSION_DENIED")],
)
def test_who_is_revoked_while_its_call_runs_gets_no_answer(now, code):
    """The core has dealt, and the deck stays where it is recorded."""
    desk = Desk()
    ended, context, calls = desk.carry(ANSWER, meanwhile=lambda: setattr(desk, "who", now))
    assert [Call(WHO, START_NS + 10 * 10**9)] == calls
    assert isinstance(ended, AbortedError)
    assert context.aborted is not None
    assert code == context.aborted[0].name
    assert [] == desk.defects


def test_who_gains_a_role_while_its_call_runs_gets_its_answer():
    """A change of the configuration that takes nothing away loses no call."""
    desk = Desk()
    answer, *_ = desk.carry(ANSWER, meanwhile=lambda: setattr(desk, "who", MORE))
    assert ANSWER == answer


@pytest.mark.parametrize("limits", [{"max_calls": 2}, {}])
def test_calls_beyond_the_limit_are_refused_and_room_comes_back(limits):
    """Of the listener, or of the identity: the first two run, the third is told when to come."""
    desk = Desk(**limits)
    desk.who = WHO if limits else Identity("room", WHO.roles, name="room", max_calls=2)
    refused: list[tuple[grpc.StatusCode, str]] = []

    async def scenario():
        release = asyncio.Event()

        async def handler(request, call):
            await release.wait()
            return ANSWER

        async def one():
            context = Context(10.0)
            try:
                return await desk.adapter.carry("GetStatus", handler, REQUEST, context)  # type: ignore[arg-type]
            except AbortedError:
                assert context.aborted is not None
                refused.append((context.aborted[0], context.trailers["grpc-retry-pushback-ms"]))  # type: ignore[arg-type]

        tasks = [asyncio.create_task(one()) for _ in range(3)]
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*tasks)
        return await one()

    assert ANSWER == asyncio.run(scenario())
    assert [(grpc.StatusCode.RESOURCE_EXHAUSTED, "250")] == refused


# --- sockets ------------------------------------------------------------------------------


@pytest.fixture
def home():
    with tempfile.TemporaryDirectory(prefix="ed-") as path:
        yield Path(path)


def test_a_directory_that_is_not_there_is_a_wrong_configuration(home):
    with pytest.raises(ConfigError, match="No such file or directory; make its directory"):
        grpc_server._lock_socket(home / "no" / "poker.sock")


def test_the_name_of_a_socket_is_held_once(home):
    """GRPC would remove the socket of a daemon that runs; the lock beside it is asked first."""
    path = home / "poker.sock"
    first = grpc_server._lock_socket(path)
    with pytest.raises(ConfigError, match="is another entropyd running"):
        grpc_server._lock_socket(path)
    os.close(first)
    os.close(grpc_server._lock_socket(path))


def test_a_socket_gets_its_mode_and_keeps_its_owner(home):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "poker.sock"))
        grpc_server._hand_over(home / "poker.sock", mode=0o660, owner=-1, group=-1)
        status = (home / "poker.sock").stat()
    assert (0o660, os.geteuid()) == (status.st_mode & 0o777, status.st_uid)


def test_a_socket_that_cannot_be_given_away_is_a_wrong_configuration(home):
    """Told with what to write instead, whatever the system call said."""
    with pytest.raises(ConfigError, match="name a `group` that the daemon is in"):
        grpc_server._hand_over(home / "gone.sock", mode=0o660, owner=-1, group=-1)


# --- what a call costs ----------------------------------------------------------------------


class AnyCore:
    """A core that has every method, and answers none."""

    def __getattr__(self, name: str) -> Any:
        async def handler(request, call):
            raise AssertionError(name)

        return handler


def test_a_listener_waits_for_calls_of_all_methods_in_as_many_tasks_as_one_of_none():
    """A server looks at all tasks in which it waits at every call: at 47 it took 45 us a call."""

    async def tasks_of(server: Any, *start: Any, **options: Any) -> int:
        await server.start(*start, **options)
        await asyncio.sleep(0)
        count = len(asyncio.all_tasks())
        await server.stop(0)
        return count

    async def scenario() -> tuple[int, int]:
        core: Any = AnyCore()
        listener = grpc_server.Listener(
            "127.0.0.1:0",
            Desk().adapter,
            core,
            core,
            draws=core,
            raffles=core,
            fair=core,
            hands=core,
            log=core,
        )
        bare = grpc.aio.server()
        return await tasks_of(bare), await tasks_of(listener, mode=0o600, owner=-1, group=-1)

    of_none, of_all = asyncio.run(scenario())
    assert of_none == of_all
