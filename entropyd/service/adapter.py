"""One call, or one stream, from the wire to the core and back.

Every call takes the same way: who calls, room for it, its deadline, the core,
who calls still, and our errors as a status. Whatever else is raised is a
defect: it is logged by its type, told as INTERNAL, and ends the daemon.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from entropyd.errors import (
    EntropydError,
    InternalError,
    PermissionDeniedError,
    RequestError,
)
from entropyd.service.admission import Admission
from entropyd.service.authentication import Authenticator, Caller
from entropyd.service.error_table import Answer, answer
from entropyd.service.identity import Call, Identity, Role

Request = TypeVar("Request", bound=Message)
# A message, or the bytes of one.
Response = TypeVar("Response", bound=Message | bytes)
Context = grpc.aio.ServicerContext[Any, Any]


class CallObserver(Protocol):
    """Who counts calls."""

    def called(self, method: str, code: str, seconds: float, reason: str) -> None:
        """Note that a call ended. Called on the loop's thread; must not block."""
        ...


class Malformed:
    """What stands for a request whose bytes are no message of its method."""


class Unregistered:
    """Takes generated handlers on their way to a server, and registers none of their methods.

    A `grpc.aio` server keeps a task for each registered method, and at each call of any of them it
    asks all of these tasks anew: a call then costs more with every method that there is.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Hand them on."""
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Leave them out: they are the generic ones under another name."""


class Parser(Unregistered):
    """Sees to their parsing too.

    Left to gRPC, bytes that do not parse are UNKNOWN to the caller, and a
    traceback in the log for everybody who sends some. Answers may be the bytes
    of their messages.
    """

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Leave them out: nothing can be exchanged in them."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Hand on each handler with a parser that does not raise, and that sends bytes as such."""
        parsed = {
            method: handler._replace(
                request_deserializer=_parser_of(handler.request_deserializer),
                response_serializer=_bytes_of,
            )
            for method, handler in handlers.items()
        }
        super().add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, parsed)])


def _bytes_of(response: Message | bytes) -> bytes:
    return response if isinstance(response, bytes) else response.SerializeToString()


def _parser_of(parse: Callable[[bytes], Message]) -> Callable[[bytes], Message | Malformed]:
    def parse_or_say_so(raw: bytes) -> Message | Malformed:
        try:
            return parse(raw)
        except DecodeError:
            return Malformed()

    return parse_or_say_so


class Adapter:
    """Carries calls of one listener to the core.

    Attributes:
        calls: how many calls reached it.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        *,
        admission: Admission,
        name: str = "",
        max_calls: int = 2**31 - 1,
        observer: CallObserver,
        clock_ns: Callable[[], int],
        on_defect: Callable[[BaseException], None],
    ) -> None:
        """Make an adapter.

        Args:
            authenticator: finds out who calls.
            admission: has room for so many calls, of each identity and of each listener.
            name: which listener it is.
            max_calls: how many calls the listener may have at the same time.
            observer: counts.
            clock_ns: monotonic clock.
            on_defect: told of what must never happen; the daemon then ends.
        """
        self._authenticator = authenticator
        self._admission = admission
        self._name = name
        self._max_calls = max_calls
        self._observer = observer
        self._clock_ns = clock_ns
        self._on_defect = on_defect
        self.calls = 0

    async def carry(
        self,
        method: str,
        handler: Callable[[Request, Call], Awaitable[Response]],
        request: Request | Malformed,
        context: Context,
    ) -> Response:
        """Run `handler` for one call and translate what it raises."""
        deadline_ns = self._deadline_ns(context)
        with self._translated(method, deadline_ns) as ending, self.admit(context) as who:
            caller, identity = who
            ending.response = await handler(_well_formed(request), Call(identity, deadline_ns))
            confirm(caller, identity)
        if ending.told is not None:
            await _abort(context, ending.told)
        response: Response = ending.response
        return response

    async def carry_stream(
        self,
        method: str,
        handler: Callable[[AsyncIterator[Request], Call], AsyncGenerator[Response, None]],
        requests: AsyncIterator[Request | Malformed],
        context: Context,
    ) -> AsyncIterator[Response]:
        """Run `handler` for one stream, of one request or more, and translate what it raises.

        The next answer is asked for when the one before has been written: a
        client that does not read holds its own stream and nobody else's.
        """
        deadline_ns = self._deadline_ns(context)
        with self._translated(method, deadline_ns) as ending, self.admit(context) as who:
            caller, identity = who
            confirmed = _confirmed(requests, caller, identity)
            responses = handler(confirmed, Call(identity, deadline_ns))
            async with aclosing(responses):
                async for response in responses:
                    confirm(caller, identity)
                    yield response
        if ending.told is not None:
            await _abort(context, ending.told)

    @contextmanager
    def _translated(self, method: str, deadline_ns: int | None) -> Iterator["_Ending"]:
        """Count a call, and turn what it raises into what its caller is told."""
        self.calls += 1
        began_ns = self._clock_ns()
        ending = _Ending()
        code, reason = grpc.StatusCode.OK, ""
        try:
            yield ending
        except EntropydError as error:
            ending.told = answer(error, left_s=self._left_s(deadline_ns))
            code, reason = ending.told.code, error.reason
            if error.fatal:
                self._on_defect(error)
        except (asyncio.CancelledError, GeneratorExit):
            code = grpc.StatusCode.CANCELLED
            raise
        except Exception as error:  # noqa: BLE001  the one catch-all of a call, and it ends the daemon
            ending.told = answer(InternalError(f"{method} failed"))
            code = ending.told.code
            self._on_defect(error)
        finally:
            seconds = (self._clock_ns() - began_ns) / 1e9
            self._observer.called(method, code.name, seconds, reason)

    @contextmanager
    def admit(self, context: Context) -> Iterator[tuple[Caller, Identity]]:
        """Let one call run until the block ends; yield who makes it, and as whom.

        Raises:
            UnauthenticatedError: nobody we know.
            OverloadError: it has as many calls running as it may.
        """
        caller = self._authenticator.caller(context)
        identity = caller.identity()
        room = self._admission
        with room.within(self._name, self._max_calls), room.one(identity):
            yield caller, identity

    async def require(self, context: Context, role: Role) -> None:
        """End a call here unless whoever makes it has `role`."""
        try:
            self._authenticator.caller(context).identity().require(role)
        except EntropydError as error:
            told = answer(error)
            await context.abort(told.code, told.message, told.trailers)

    def _deadline_ns(self, context: Context) -> int | None:
        # The stubs say that there always is a time; for a call without a deadline it is None.
        left_s: float | None = context.time_remaining()
        return None if left_s is None else self._clock_ns() + int(left_s * 1e9)

    def _left_s(self, deadline_ns: int | None) -> float | None:
        return None if deadline_ns is None else (deadline_ns - self._clock_ns()) / 1e9


@dataclass(slots=True)
class _Ending:
    """How a call ended: with a response, or with what the caller of a failed one is told."""

    response: Any = None
    told: Answer | None = None


async def _abort(context: Context, told: Answer) -> NoReturn:
    await context.abort(told.code, told.message, told.trailers)
    raise InternalError("abort returned")  # unreachable: abort always raises


def confirm(caller: Caller, identity: Identity) -> None:
    """Let an answer out only to whom it was made for; call it before each message of a stream.

    What was drawn stays recorded, and whoever has the claim can still ask for it.

    Raises:
        UnauthenticatedError: the caller was revoked while its call ran.
        PermissionDeniedError: it lost a role that it called with, or became another tenant's.
    """
    if not caller.identity().covers(identity):
        raise PermissionDeniedError(
            "the roles of this identity were taken away while its call ran; ask again with those"
            " that it has"
        )


async def only(request: Request) -> AsyncIterator[Request]:
    """Return a stream of one request."""
    yield request


async def _confirmed(
    requests: AsyncIterator[Request | Malformed], caller: Caller, identity: Identity
) -> AsyncIterator[Request]:
    """Hand on the requests of a stream, each only while the caller may still make it."""
    async for request in requests:
        confirm(caller, identity)
        yield _well_formed(request)


def _well_formed(request: Request | Malformed) -> Request:
    if isinstance(request, Malformed):
        raise RequestError(
            "request",
            "its bytes are no message of this method; expected one of protos/entropyd/v1, its"
            " texts in UTF-8 and its ids in ASCII",
        )
    return request
