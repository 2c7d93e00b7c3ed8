"""The way in to a daemon that dies: open while one listens, and nobody stays inside a dead one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import grpc

Answer = TypeVar("Answer")

TIMEOUT_S = 10.0
# A caller that was refused asks again after this; one whose daemon died waits for the next.
AGAIN_S = 0.01
# Retries are the callers' own, so that every answer and every refusal is seen here.
CHANNEL_OPTIONS = (("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1))


class Door:
    """A target that callers ask until they are answered. Used by one event loop."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._open = asyncio.Event()
        self._idle = asyncio.Condition()
        self._asking = 0
        self._stubs: dict[type, Any] = {}

    def let_in(self) -> None:
        """Connect callers to the daemon that listens now."""
        self._channel = grpc.aio.insecure_channel(self._target, options=CHANNEL_OPTIONS)
        self._stubs.clear()
        self._open.set()

    async def shut(self) -> None:
        """Wait until nobody waits for the dead daemon."""
        if self._open.is_set():
            self._open.clear()
            async with self._idle:
                await self._idle.wait_for(lambda: not self._asking)
            await self._channel.close()

    async def close(self) -> None:
        """Give up the connection."""
        if self._open.is_set():
            await self._channel.close()

    async def ask(self, service: type, method: str, request: Any) -> Any:
        """Ask until there is an answer, and return it.

        Args:
            service: class of a stub.
            method: its method.
            request: the same each time.

        Raises:
            grpc.aio.AioRpcError: as `patiently`.
        """
        return await self.patiently(
            lambda: getattr(self.stub(service), method)(request, timeout=TIMEOUT_S)
        )

    async def patiently(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """Call until it is not refused, while somebody listens.

        Raises:
            grpc.aio.AioRpcError: refused otherwise than UNAVAILABLE, the one refusal that may be
                asked again. It fails the campaign.
        """
        while True:
            await self._open.wait()
            try:
                async with self._counted():
                    return await call()
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await asyncio.sleep(AGAIN_S)

    def stub(self, service: type) -> Any:
        """Return a stub of the present connection."""
        if service not in self._stubs:
            self._stubs[service] = service(self._channel)
        return self._stubs[service]

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            async with self._idle:
                self._idle.notify_all()
