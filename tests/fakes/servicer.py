"""A daemon's services that answer what they are told, behind real gRPC, and note what came."""

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message

from entropyd.errors import EntropydError
from entropyd.service.error_table import answer
from entropyd.v1 import (
    entropy_service_pb2_grpc,
    shuffle_service_pb2_grpc,
)

Step = Message | EntropydError | tuple[grpc.StatusCode, tuple[tuple[str, str | bytes], ...]] | float


class ScriptedServicer(
    shuffle_service_pb2_grpc.ShuffleServiceServicer, entropy_service_pb2_grpc.EntropyServiceServicer
):
    """Takes one step of the script for each call that arrives, the last one for ever.

    A step is a message, one of our errors (told as the daemon tells it), a bare
    status with trailers, or a number of seconds to say nothing in.

    Attributes:
        requests: what came, with retries.
        arrived_s: when.
        left_s: the time that each caller gave.
    """

    def __init__(self, *script: Step) -> None:
        self.requests: list[Any] = []
        self.arrived_s: list[float] = []
        self.left_s: list[float] = []
        self._script = list(script)

    def _take(self, request: Any, context: Any) -> Any:
        self.arrived_s.append(time.monotonic())
        self.left_s.append(context.time_remaining())
        self.requests.append(request)
        step = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(step, Message):
            return step
        if isinstance(step, float):
            time.sleep(step)
            context.abort(grpc.StatusCode.INTERNAL, "slept")
        if isinstance(step, EntropydError):
            told = answer(step, left_s=context.time_remaining())
            context.set_trailing_metadata(told.trailers)
            context.abort(told.code, told.message)
        code, trailers = step  # type: ignore[misc]
        context.set_trailing_metadata(trailers)
        return context.abort(code, "as told")

    Shuffle = GetShuffle = BatchShuffle = AddUserEntropy = GetStatus = _take

    def StreamShuffles(self, requests: Any, context: Any) -> Any:
        for request in requests:
            yield self._take(request, context)

    def WatchStatus(self, request: Any, context: Any) -> Any:
        while True:
            yield self._take(request, context)

    def add_to(self, server: Any) -> None:
        shuffle_service_pb2_grpc.add_ShuffleServiceServicer_to_server(self, server)
        entropy_service_pb2_grpc.add_EntropyServiceServicer_to_server(self, server)


@contextlib.contextmanager
def serving(servicer: ScriptedServicer, home: Path) -> Iterator[str]:
    """Serve for the length of a block; yields the target."""
    target = f"unix:{home}/fake.sock"
    server = grpc.server(ThreadPoolExecutor(2))
    servicer.add_to(server)
    server.add_insecure_port(target)
    server.start()
    try:
        yield target
    finally:
        server.stop(0).wait()
