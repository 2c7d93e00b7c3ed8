"""grpc.health.v1 and reflection: what stock tools and load balancers ask.

Health is told to whoever can connect, since those who ask for it (balancers,
probes, the clients of gRPC themselves) show no credential; it says no more
than "can it deal". Reflection is for whoever reaches a listener that is an
identity of its own; where callers are told apart it needs the role `admin`.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from entropyd.errors import OverloadError
from entropyd.service.adapter import Adapter
from entropyd.service.admission import Admission
from entropyd.service.identity import Role

Context = grpc.aio.ServicerContext[Any, Any]

# A watcher for each connection of each client of a large room, and no end of them for nobody: they
# need no credential.
MAX_WATCHERS = 4096

_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class Health(health_pb2_grpc.HealthServicer):
    """Health of one listener's services. Owned by the event loop's thread.

    grpcio's own servicer writes to a watcher while it holds the lock that a
    change of state takes: one watcher that never reads would stop the daemon.
    Here a change waits for nobody.
    """

    def __init__(self) -> None:
        """Know no service yet."""
        self._states: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._admission = Admission()

    def set(self, service: str, *, serving: bool) -> None:
        """Tell all watchers how a service stands."""
        state = _SERVING if serving else _NOT_SERVING
        if self._states.get(service) != state:
            self._states[service] = state
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    async def Check(  # noqa: N802  the proto's name
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> health_pb2.HealthCheckResponse:
        """Answer how a service stands now."""
        state = self._states.get(request.service)
        if state is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return _answer(state)

    async def Watch(  # noqa: N802  the proto's name
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Answer how a service stands, and again whenever that changes."""
        try:
            with self._admission.within("watchers", MAX_WATCHERS):
                told = None
                while True:
                    changed = self._changed
                    state = self._states.get(request.service, _UNKNOWN)
                    if state != told:
                        yield _answer(state)
                        told = state
                    await changed.wait()
        except OverloadError as error:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))


def _answer(state: int) -> health_pb2.HealthCheckResponse:
    # The stubs have no name for the type of an enum's values.
    status: Any = state
    return health_pb2.HealthCheckResponse(status=status)


class Reflection:
    """The services and their messages, for tools that have no files of ours."""

    def __init__(self, names: tuple[str, ...], adapter: Adapter, *, open_to_all: bool) -> None:
        """Tell of the services `names`; unless `open_to_all`, to admins only."""
        # The stubs take its method for a coroutine; it is a generator, as gRPC wants it.
        self._told: Any = reflection.aio.ReflectionServicer(names)
        self._adapter = adapter
        self._open_to_all = open_to_all

    async def ServerReflectionInfo(  # noqa: N802  the proto's name
        self,
        requests: AsyncIterable[reflection_pb2.ServerReflectionRequest],
        context: Context,
    ) -> AsyncIterator[reflection_pb2.ServerReflectionResponse]:
        """Answer each question."""
        if not self._open_to_all:
            await self._adapter.require(context, Role.ADMIN)
        async for response in self._told.ServerReflectionInfo(requests, context):
            yield response
