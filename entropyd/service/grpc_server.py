"""gRPC around the servicer core: listeners, deadlines, health, and nothing that decides.

One `grpc.aio` server for each listener, because the listener is the identity.
Every handler does the same three things: turn the context into a `Call`, await
the core, and turn our errors into a status. Whatever else is raised is a
defect: it is logged by its type, told as INTERNAL, and ends the daemon.
"""

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from entropyd.errors import ConfigError, EntropydError, InternalError, RequestError
from entropyd.service.entropy_core import EntropyCore
from entropyd.service.error_table import answer
from entropyd.service.identity import Call, Identity
from entropyd.service.shuffle_core import ShuffleCore
from entropyd.v1 import (
    entropy_service_pb2,
    entropy_service_pb2_grpc,
    shuffle_service_pb2,
    shuffle_service_pb2_grpc,
)

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)
Context = grpc.aio.ServicerContext[Any, Any]

SHUFFLE_SERVICE = "entropyd.v1.ShuffleService"
ENTROPY_SERVICE = "entropyd.v1.EntropyService"

# The largest honest request is 256 events of at most 24 bytes; the largest answer is eight decks
# of 54 cards, about 5 KiB. Metadata of stock clients is below 1 KiB.
MAX_MESSAGE_BYTES = 64 * 1024
MAX_METADATA_BYTES = 8 * 1024
# Calls that gRPC took off the wire and our loop has not reached yet. Beyond 1,000, its default, it
# ends some of them with CANCELLED, which no client may retry: the refusal must be ours, so this is
# four times the queue of the default `max_waiters`.
MAX_PENDING_CALLS = 16_384

SERVER_OPTIONS: tuple[tuple[str, int], ...] = (
    # Without this a second daemon would share the port unseen: two ledgers, two decks for a hand.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_metadata_size", MAX_METADATA_BYTES),
    ("grpc.server.max_pending_requests", MAX_PENDING_CALLS),
    ("grpc.server.max_pending_requests_hard_limit", MAX_PENDING_CALLS),
    # Our client pings every 30 s; the default minimum of 300 s would cut it off.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


class CallObserver(Protocol):
    """Who counts calls."""

    def called(self, method: str, code: str, seconds: float, reason: str) -> None:
        """Note that a call ended. Called on the loop's thread; must not block."""
        ...


class Malformed:
    """What stands for a request whose bytes are no message of its method."""


class _Parser:
    """Takes the generated handlers on their way to a server, and sees to their parsing.

    Left to gRPC, bytes that do not parse are UNKNOWN to the caller, and a
    traceback in the log for everybody who sends some.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Leave them out: they are the registered ones under another name."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Hand on each handler with a parser that does not raise."""
        self._server.add_registered_method_handlers(
            service,
            {
                method: handler._replace(
                    request_deserializer=_parser_of(handler.request_deserializer)
                )
                for method, handler in handlers.items()
            },
        )


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
        identity: Identity,
        *,
        observer: CallObserver,
        clock_ns: Callable[[], int],
        on_defect: Callable[[BaseException], None],
    ) -> None:
        """Make an adapter.

        Args:
            identity: whoever reaches the listener.
            observer: counts.
            clock_ns: monotonic clock.
            on_defect: told of what must never happen; the daemon then ends.
        """
        self._identity = identity
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
        self.calls += 1
        began_ns = self._clock_ns()
        # The stubs say that there always is a time; for a call without a deadline it is None.
        left_s: float | None = context.time_remaining()
        deadline_ns = None if left_s is None else began_ns + int(left_s * 1e9)
        code, reason = grpc.StatusCode.OK, ""
        try:
            return await handler(_well_formed(request), Call(self._identity, deadline_ns))
        except EntropydError as error:
            told = answer(error, left_s=self._left_s(deadline_ns))
            code, reason = told.code, error.reason
            if error.fatal:
                self._on_defect(error)
        except asyncio.CancelledError:
            code = grpc.StatusCode.CANCELLED
            raise
        except Exception as error:  # noqa: BLE001  the one catch-all of a call, and it ends the daemon
            told = answer(InternalError(f"{method} failed"))
            code = told.code
            self._on_defect(error)
        finally:
            seconds = (self._clock_ns() - began_ns) / 1e9
            self._observer.called(method, code.name, seconds, reason)
        await context.abort(told.code, told.message, told.trailers)
        raise InternalError("abort returned")  # unreachable: abort always raises

    def _left_s(self, deadline_ns: int | None) -> float | None:
        return None if deadline_ns is None else (deadline_ns - self._clock_ns()) / 1e9


def _well_formed(request: Request | Malformed) -> Request:
    if isinstance(request, Malformed):
        raise RequestError(
            "request",
            "its bytes are no message of this method; expected one of protos/entropyd/v1, its"
            " texts in UTF-8 and its ids in ASCII",
        )
    return request


class _ShuffleServicer(shuffle_service_pb2_grpc.ShuffleServiceServicer):
    def __init__(self, adapter: Adapter, core: ShuffleCore) -> None:
        self._adapter = adapter
        self._core = core

    async def Shuffle(
        self, request: shuffle_service_pb2.ShuffleRequest, context: Context
    ) -> shuffle_service_pb2.ShuffleResponse:
        return await self._adapter.carry("Shuffle", self._core.shuffle, request, context)

    async def GetShuffle(
        self, request: shuffle_service_pb2.GetShuffleRequest, context: Context
    ) -> shuffle_service_pb2.GetShuffleResponse:
        return await self._adapter.carry("GetShuffle", self._core.get_shuffle, request, context)


class _EntropyServicer(entropy_service_pb2_grpc.EntropyServiceServicer):
    def __init__(self, adapter: Adapter, core: EntropyCore) -> None:
        self._adapter = adapter
        self._core = core

    async def AddUserEntropy(
        self,
        request: entropy_service_pb2.AddUserEntropyRequest,
        context: Context,
    ) -> entropy_service_pb2.AddUserEntropyResponse:
        return await self._adapter.carry(
            "AddUserEntropy", self._core.add_user_entropy, request, context
        )

    async def GetStatus(
        self, request: entropy_service_pb2.GetStatusRequest, context: Context
    ) -> entropy_service_pb2.GetStatusResponse:
        return await self._adapter.carry("GetStatus", self._core.get_status, request, context)


class Listener:
    """One address, one identity, one server."""

    def __init__(self, address: str, adapter: Adapter, shuffles: ShuffleCore, entropy: EntropyCore):
        """Make a listener; `start` binds it.

        Args:
            address: "unix:/path" or "host:port" of a loopback address.
            adapter: carries its calls.
            shuffles: core of ShuffleService.
            entropy: core of EntropyService.
        """
        self.address = address
        self.port = 0
        self._adapter = adapter
        self._lock: int | None = None
        self._server = grpc.aio.server(options=SERVER_OPTIONS)
        # The generated code calls the two methods that it has, and no other.
        parser: Any = _Parser(self._server)
        shuffle_service_pb2_grpc.add_ShuffleServiceServicer_to_server(
            _ShuffleServicer(adapter, shuffles), parser
        )
        entropy_service_pb2_grpc.add_EntropyServiceServicer_to_server(
            _EntropyServicer(adapter, entropy), parser
        )
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (SHUFFLE_SERVICE, ENTROPY_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    @property
    def calls(self) -> int:
        """How many calls reached it so far."""
        return self._adapter.calls

    async def start(self, *, mode: int, owner: int, group: int) -> None:
        """Bind and serve.

        Args:
            mode: permissions of a unix socket.
            owner: its user id; -1 leaves it as it is.
            group: its group id; -1 leaves it as it is.

        Raises:
            ConfigError: the address is taken, cannot be bound or not be given to its owner and
                group. Nothing is served.
        """
        path = self._socket_path()
        if path is not None:
            self._lock = _lock_socket(path)
        try:
            self.port = self._server.add_insecure_port(self.address)
        except RuntimeError as error:
            raise _cannot_bind(self.address) from error
        if self.port == 0:
            raise _cannot_bind(self.address)
        if path is not None:
            # The process's umask made it 0700 or tighter until here: nobody else got in before.
            _hand_over(path, mode=mode, owner=owner, group=group)
        await self._server.start()

    async def set_serving(self, *, process: bool, dealing: bool) -> None:
        """Tell health watchers how it stands: the process as a whole, and dealing."""
        states = {"": dealing, SHUFFLE_SERVICE: dealing, ENTROPY_SERVICE: process}
        for service, serving in states.items():
            status = (
                health_pb2.HealthCheckResponse.SERVING
                if serving
                else health_pb2.HealthCheckResponse.NOT_SERVING
            )
            await self._health.set(service, status)

    async def stop(self, grace_s: float) -> None:
        """Take no more calls, give those in flight `grace_s` seconds, and let go of the address."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)
        path = self._socket_path()
        if path is not None and self._lock is not None:
            path.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    def _socket_path(self) -> Path | None:
        return (
            Path(self.address.removeprefix("unix:")) if self.address.startswith("unix:") else None
        )


def _cannot_bind(address: str) -> ConfigError:
    return ConfigError(
        f"cannot listen on {address}: it is taken or not ours to bind; is another entropyd running?"
        " Stop it, or choose another `address` in [[listener]]"
    )


def _hand_over(path: Path, *, mode: int, owner: int, group: int) -> None:
    """Let those in who may use a socket."""
    try:
        os.chown(path, owner, group)
        path.chmod(mode)
    except OSError as error:
        raise ConfigError(
            f"listener unix:{path}: cannot be given to its owner and group ({error.strerror});"
            " name a `group` that the daemon is in, and no `owner`"
        ) from error


def _lock_socket(path: Path) -> int:
    """Hold the name of a unix socket: gRPC removes a socket file that it finds, in use or not."""
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on unix:{path}: {error.strerror}; make its directory, writable for the"
            " daemon, or choose another `address` in [[listener]]"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise _cannot_bind(f"unix:{path}") from error
    return lock


async def until_quiet(listeners: Sequence[Listener], *, quiet_s: float, limit_s: float) -> None:
    """Wait until no call came for `quiet_s` seconds, or for `limit_s` seconds.

    What gRPC took off the wire and we did not reach when a server stops, it
    ends with CANCELLED, which no client may retry.
    """
    for _ in range(round(limit_s / quiet_s)):
        before = [listener.calls for listener in listeners]
        await asyncio.sleep(quiet_s)
        if before == [listener.calls for listener in listeners]:
            return


async def stop_all(listeners: Sequence[Listener], grace_s: float) -> None:
    """Stop every listener at the same time."""
    await asyncio.gather(*(listener.stop(grace_s) for listener in listeners))
