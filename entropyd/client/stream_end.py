"""What a stream of asyncio's ended with: what the daemon said, not what gRPC made of a late write.

A daemon that ends a stream (it stops, it refuses, it dies) while its caller
still sends has said why. grpcio's asyncio fails the message that was on its
way, and puts `INTERNAL: Internal error from Core` in the place of what was
said (github.com/grpc/grpc, issue 36066); its calls for threads do not. So
here the first end of a call is kept, and the daemon's one is raised.
"""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, TypeVar, cast

import grpc

Message = TypeVar("Message")


class _End(NamedTuple):
    code: grpc.StatusCode
    details: str
    trailers: Any


async def messages(call: "grpc.aio.StreamStreamCall[Any, Message]") -> AsyncIterator[Message]:
    """Yield what comes on a stream until it ends.

    Args:
        call: a stream in both directions that nobody has read from. Who gives it up cancels it.

    Raises:
        grpc.aio.AioRpcError: the daemon ended it, or was lost. INTERNAL is the daemon's own word,
            unless a write failed and nothing was heard of the daemon.
    """
    ends: list[_End] = []
    call.add_done_callback(lambda _: ends.extend(_ended(call)))
    try:
        async for message in call:
            yield message
    except grpc.aio.AioRpcError as error:
        said = ends[0] if ends else None
        if said is None or error.code() is not grpc.StatusCode.INTERNAL:
            raise
        if said.code is not grpc.StatusCode.OK:
            raise grpc.aio.AioRpcError(
                said.code, grpc.aio.Metadata(), said.trailers, said.details
            ) from error


def _ended(call: "grpc.aio.StreamStreamCall[Any, Message]") -> list[_End]:
    """Return how a call ended, in the turn of the loop in which it did.

    A task would read it a turn later, when it may be overwritten. Nothing of an
    ended call waits, so that its coroutine comes to an end at the first step.
    """

    async def read() -> _End:
        return _End(await call.code(), await call.details(), await call.trailing_metadata())

    reading = read()
    try:
        reading.send(None)
    except StopIteration as done:
        return [cast("_End", done.value)]
    finally:
        reading.close()
    return []
