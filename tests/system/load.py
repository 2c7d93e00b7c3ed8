"""Callers that deal without a pause, and remember every answer."""

import threading
from types import TracebackType
from typing import Self

import grpc

from entropyd.v1 import shuffle_service_pb2
from tests.system.harness import Daemon
from tests.system.wire import Told, Wire, order, question

TABLE = "t-load"
TIMEOUT_S = 5.0


class Load:
    """Threads that each draw hand after hand; a refused hand is asked for again, when it was said.

    Attributes:
        answers: every deck that was answered, by hand.
        refused_otherwise: refusals that were not UNAVAILABLE, and hands that came twice.
    """

    def __init__(self, daemon: Daemon, *, callers: int, prefix: str) -> None:
        self.answers: dict[str, shuffle_service_pb2.Shuffle] = {}
        self.refused: list[Told] = []
        self.refused_otherwise: list[object] = []
        self._prefix = prefix
        self._wires = [Wire(daemon) for _ in range(min(4, callers))]
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._call, args=(number,)) for number in range(callers)
        ]

    @property
    def answered(self) -> int:
        """How many hands were answered so far."""
        return len(self.answers)

    def _call(self, caller: int) -> None:
        wire = self._wires[caller % len(self._wires)]
        number = 0
        while not self._stopping.is_set():
            hand = f"{self._prefix}-{caller}-{number}"
            try:
                answer = wire.shuffle(order(TABLE, hand), timeout_s=TIMEOUT_S)
            except grpc.RpcError as error:
                refusal = Told.by(error)
                with self._lock:
                    self.refused.append(refusal)
                    if refusal.code is not grpc.StatusCode.UNAVAILABLE:
                        self.refused_otherwise.append(refusal)
                self._stopping.wait((refusal.pushback_ms or 50) / 1000)
                continue
            with self._lock:
                self.answers[hand] = answer.shuffle
            number += 1

    def stop(self) -> None:
        """Let every caller end its call, and no new one begin."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def assert_all_replayed(self, wire: Wire) -> None:
        """Every answered hand is still there, with the answer that was given."""
        for hand, answer in self.answers.items():
            assert wire.get(question(TABLE, hand)) == answer, hand

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
        self.stop()
        for wire in self._wires:
            wire.channel.close()
