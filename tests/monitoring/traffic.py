"""Callers at a measured pace, who do not care how they are answered."""

import contextlib
import threading
from types import TracebackType
from typing import Self

import grpc

from tests.system.harness import Daemon
from tests.system.wire import Wire, order


class Traffic:
    """Some callers who each ask for hand after hand."""

    def __init__(
        self, daemon: Daemon, *, callers: int, pause_s: float, timeout_s: float = 2.0
    ) -> None:
        """Prepare them; entering the block starts them.

        Args:
            daemon: whom they ask.
            callers: how many.
            pause_s: between an answer and the next question of the same caller.
            timeout_s: deadline of a call.
        """
        self._wire = Wire(daemon)
        self._pause_s, self._timeout_s = pause_s, timeout_s
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._call, args=(number,)) for number in range(callers)
        ]

    def _call(self, caller: int) -> None:
        hand = 0
        while not self._stopping.wait(self._pause_s):
            hand += 1
            with contextlib.suppress(grpc.RpcError):
                self._wire.shuffle(order("t", f"{caller}-{hand}"), timeout_s=self._timeout_s)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._wire.channel.close()
