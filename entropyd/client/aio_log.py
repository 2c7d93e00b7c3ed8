"""The log of receipts for asyncio: `AsyncClient.log`.

It differs from that for threads in how it waits and in nothing else.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from entropyd.client.connection import Metadata
from entropyd.client.deal import Refusal
from entropyd.client.log import PAGE_SIZE, Consistency, Inclusion, LogHead, SignedReceipt
from entropyd.client.service_config import DEFAULT_TIMEOUT_S
from entropyd.v1 import ledger_service_pb2 as pb
from entropyd.v1 import ledger_service_pb2_grpc


class AsyncLog:
    """Receipts, checkpoints and proofs; see `Log`."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        self._stub = ledger_service_pb2_grpc.LedgerServiceStub(channel)
        self._metadata = metadata
        self._timeout_s = timeout_s

    async def receipt(self, index: int) -> SignedReceipt:
        """Return a receipt by the index that an answer named."""
        request = pb.GetReceiptRequest(log_index=index)
        return SignedReceipt.from_message(
            (await self._call(self._stub.GetReceipt, request)).receipt
        )

    async def receipts(self, first: int = 0) -> AsyncIterator[SignedReceipt]:
        """Yield the receipts that the caller may see; see `Log.receipts`."""
        token = ""
        while True:
            request = pb.ListReceiptsRequest(
                first_index=first, page_size=PAGE_SIZE, page_token=token
            )
            page = await self._call(self._stub.ListReceipts, request)
            for message in page.receipts:
                yield SignedReceipt.from_message(message)
            token = page.next_page_token
            if not token:
                return

    async def head(self) -> LogHead:
        """Return the newest checkpoint; see `Log.head`."""
        return LogHead.from_message(
            await self._call(self._stub.GetCheckpoint, pb.GetCheckpointRequest())
        )

    async def inclusion(self, index: int, tree_size: int = 0) -> Inclusion:
        """Return the proof that a leaf is in a tree; see `Log.inclusion`."""
        request = pb.GetInclusionProofRequest(log_index=index, tree_size=tree_size)
        return Inclusion.from_message(await self._call(self._stub.GetInclusionProof, request))

    async def consistency(self, first_size: int, second_size: int = 0) -> Consistency:
        """Return the proof that a tree begins with another; see `Log.consistency`."""
        request = pb.GetConsistencyProofRequest(first_size=first_size, second_size=second_size)
        return Consistency.from_message(await self._call(self._stub.GetConsistencyProof, request))

    async def _call(self, method: Callable[..., Any], request: object) -> Any:
        try:
            return await method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.aio.AioRpcError as error:
            raise Refusal.from_rpc_error(error) from error
