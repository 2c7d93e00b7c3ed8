"""Services whose methods all are one request and one answer, as gRPC wants them.

Every method of the proto is carried by the adapter to the method of the core
that has its name in Python's spelling. A core that lacks one cannot be served:
that shows when the daemon starts, and in every test of it.
"""

import re
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from entropyd.service.adapter import Adapter, Context


def servicer_of(service: ServiceDescriptor, adapter: Adapter, core: object) -> Any:
    """Return a servicer whose methods answer from a core. The stubs are told `Any`.

    Args:
        service: what the proto says of it.
        adapter: carries the calls.
        core: answers them.
    """
    return SimpleNamespace(
        **{
            method.name: _carried(adapter, method.name, getattr(core, _snake(method.name)))
            for method in service.methods
        }
    )


def _carried(
    adapter: Adapter, method: str, handler: Callable[..., Awaitable[Any]]
) -> Callable[[Any, Context], Awaitable[Any]]:
    async def answer(request: Any, context: Context) -> Any:
        return await adapter.carry(method, handler, request, context)

    return answer


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
