"""The bench's end of a load generator."""

import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Protocol, Self

from bench.load import Order

_NAMES = itertools.count()


class Server(Protocol):
    """Whom a generator calls."""

    @property
    def target(self) -> str:
        """Its address: "unix:/path"."""
        ...

    @property
    def pid(self) -> int:
        """Its process id."""
        ...


class Generator:
    """A load generator in a process of its own."""

    def __init__(self, server: Server) -> None:
        """Start it; it calls `server` unless told otherwise."""
        self._server = server
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.load"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def start(
        self,
        kind: str,
        method: str,
        seconds: float,
        *,
        server: Server | None = None,
        **settings: float,
    ) -> None:
        """Begin an order; `wait` for what came of it."""
        server = server or self._server
        order = Order(
            kind=kind,
            method=method,
            target=server.target,
            pid=server.pid,
            name=f"hand-{next(_NAMES)}",
            seconds=seconds,
            **settings,  # type: ignore[arg-type]
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(order)) + "\n")
        self._process.stdin.flush()

    def wait(self) -> Mapping[str, float]:
        """Return the figures of the order under way."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the load generator died; see its traceback above")
        figures: dict[str, float] = json.loads(line)
        return figures

    def run(
        self,
        kind: str,
        method: str,
        seconds: float,
        *,
        server: Server | None = None,
        **settings: float,
    ) -> Mapping[str, float]:
        """Carry out one order."""
        self.start(kind, method, seconds, server=server, **settings)
        return self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
