"""Services whose methods take one request, and give one answer or a stream, as gRPC wants them.

Every method of the proto is carried by the adapter to the method of the core
that has its name in Python's spelling. A core that lacks one cannot be served:
that shows when the daemon starts, and in every test of it.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from entropyd.service.adapter import Adapter, Context, only


def servicer_of(service: ServiceDescriptor, adapter: Adapter, core: object) -> Any:
    """Return a servicer whose methods answer from a core. The stubs are told `Any`.

    Args:
        service: what the proto says of it.
        adapter: carries the calls.
        core: answers them.
    """
    return SimpleNamespace(
        **{
            method.name: (_streamed if method.server_streaming else _carried)(
                adapter, method.name, getattr(core, _snake(method.name))
            )
            for method in service.methods
        }
    )


def _carried(
    adapter: Adapter, method: str, handler: Callable[..., Awaitable[Any]]
) -> Callable[[Any, Context], Awaitable[Any]]:
    async def answer(request: Any, context: Context) -> Any:
        return await adapter.carry(method, handler, request, context)

    return answer


def _streamed(
    adapter: Adapter, method: str, handler: Callable[..., AsyncGenerator[Any, None]]
) -> Callable[[Any, Context], AsyncIterator[Any]]:
    async def answer(request: Any, context: Context) -> AsyncIterator[Any]:
        async for response in adapter.carry_stream(method, handler, only(request), context):
            yield response

    return answer


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
