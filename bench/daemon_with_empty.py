"""The production daemon and two methods more: one that does nothing, and one that counts.

    python -m bench.daemon_with_empty FILE

`Empty` runs in the same server, loop and process as `Shuffle`: what it costs is
what grpcio costs here, and everything above it is ours. `Batches` tells how
many rows the commits had. Neither is in the daemon that anybody deploys.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty

from entropyd.config import load
from entropyd.daemon import ledger as daemon_ledger
from entropyd.daemon.process import run
from entropyd.ledger.sqlite import SqliteLedger
from entropyd.service import grpc_server

Context = grpc.aio.ServicerContext[Any, Any]

BATCHES: Counter[int] = Counter()


async def _empty(_request: Empty, _context: Context) -> Empty:
    return Empty()


async def _batches(_request: bytes, _context: Context) -> bytes:
    return json.dumps(BATCHES).encode()


HANDLER = grpc.method_handlers_generic_handler(
    "entropyd.bench.v1.BenchService",
    {
        "Empty": grpc.unary_unary_rpc_method_handler(
            _empty,
            request_deserializer=Empty.FromString,
            response_serializer=Empty.SerializeToString,
        ),
        "Batches": grpc.unary_unary_rpc_method_handler(_batches),
    },
)


class BenchListener(grpc_server.Listener):
    """A listener with the bench's service beside ours."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._server.add_generic_rpc_handlers((HANDLER,))


class CountingLedger(SqliteLedger):
    """The ledger, counting the rows of its commits."""

    def commit(self, drafts: Any, *rest: Any, **options: Any) -> Any:
        BATCHES[len(drafts)] += 1
        return super().commit(drafts, *rest, **options)


def main() -> None:
    """Run the daemon of a configuration file."""
    grpc_server.Listener = BenchListener  # type: ignore[misc]
    daemon_ledger.SqliteLedger = CountingLedger  # type: ignore[attr-defined]
    run(load(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
