"""LedgerService without a transport: receipts, checkpoints and proofs of the log.

Reads alone. Who asks gets the receipts of its own tenant and those of none;
proofs are of hashes, and hold for all of the log.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from entropyd.errors import (
    LedgerUnavailableError,
    ReceiptNotFoundError,
    RequestError,
)
from entropyd.ledger.entries import LogEntry
from entropyd.log.frontier import Node
from entropyd.log.merkle import MAX_SIZE
from entropyd.log.proofs import consistency_proof, inclusion_proof
from entropyd.log.signer import LogSigner
from entropyd.runtime.log_keeper import LogKeeper, SignedCheckpoint
from entropyd.service.identity import Call
from entropyd.service.pages import number_of, page_size, token_after
from entropyd.v1 import ledger_service_pb2 as pb
from entropyd.v1 import types_pb2

# A receipt may have 64 KiB: a page ends early rather than become larger than what is sent.
MAX_PAGE_BYTES = 1024 * 1024


class LogReader(Protocol):
    """What the core needs of the ledger."""

    def log_size(self) -> int:
        """See `Ledger.log_size`."""
        ...

    def log_entries(self, first: int, limit: int) -> list[LogEntry]:
        """See `Ledger.log_entries`."""
        ...

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        """See `Ledger.log_nodes`."""
        ...


class LogCore:
    """Shows the log."""

    def __init__(self, log: LogReader, keeper: LogKeeper, signer: LogSigner) -> None:
        """Make a core.

        Args:
            log: of the ledger.
            keeper: has the newest checkpoint.
            signer: signs receipts, when they are asked for.
        """
        self._log = log
        self._keeper = keeper
        self._signer = signer

    async def get_receipt(self, request: pb.GetReceiptRequest, call: Call) -> pb.GetReceiptResponse:
        """Answer `GetReceipt`. See the proto for what it raises."""
        index = request.log_index
        found = self._log.log_entries(index, 1) if index < MAX_SIZE else []
        if not found or not _may_see(call, found[0]):
            raise ReceiptNotFoundError(
                f"receipt {index} is not in the log, or is another tenant's; answers of hands and"
                " draws name the index of theirs"
            )
        return pb.GetReceiptResponse(receipt=self._signed_receipt(found[0]))

    async def list_receipts(
        self, request: pb.ListReceiptsRequest, call: Call
    ) -> pb.ListReceiptsResponse:
        """Answer `ListReceipts`, from another thread: a page may have a thousand signatures."""
        size = page_size(request.page_size)
        first = number_of(request.page_token) or request.first_index
        if first >= MAX_SIZE:
            raise RequestError("first_index", f"is {first}; no log is as long")
        return await asyncio.to_thread(self._page, first, size, call)

    async def get_checkpoint(
        self, _request: pb.GetCheckpointRequest, _call: Call
    ) -> pb.GetCheckpointResponse:
        """Answer `GetCheckpoint`. See the proto for what it raises."""
        return pb.GetCheckpointResponse(
            checkpoint=self._newest().note.decode(),
            verifier_keys=[key.encode() for key in self._signer.verifier_keys()],
        )

    async def get_inclusion_proof(
        self, request: pb.GetInclusionProofRequest, _call: Call
    ) -> pb.GetInclusionProofResponse:
        """Answer `GetInclusionProof`. See the proto for what it raises."""
        size = self._tree_size("tree_size", request.tree_size)
        index = request.log_index
        if index >= size:
            raise RequestError(
                "log_index", f"is {index}, which is no leaf of a tree of {size}; ask for a larger"
            )
        return pb.GetInclusionProofResponse(
            tree_size=size,
            leaf_hash=self._node(Node(0, index)),
            path=inclusion_proof(self._node, index, size),
        )

    async def get_consistency_proof(
        self, request: pb.GetConsistencyProofRequest, _call: Call
    ) -> pb.GetConsistencyProofResponse:
        """Answer `GetConsistencyProof`. See the proto for what it raises."""
        second = self._tree_size("second_size", request.second_size)
        first = request.first_size
        if not 1 <= first <= second:
            raise RequestError("first_size", f"is {first}; expected 1 to second_size, {second}")
        return pb.GetConsistencyProofResponse(
            second_size=second, path=consistency_proof(self._node, first, second)
        )

    def _page(self, first: int, size: int, call: Call) -> pb.ListReceiptsResponse:
        answer = pb.ListReceiptsResponse()
        after, told = first, 0
        for entry in self._log.log_entries(first, size):
            if told > MAX_PAGE_BYTES:
                break
            after = entry.index + 1
            if _may_see(call, entry):
                answer.receipts.append(self._signed_receipt(entry))
                told += len(entry.text)
        if after < self._log.log_size():
            answer.next_page_token = token_after(after)
        return answer

    def _signed_receipt(self, entry: LogEntry) -> types_pb2.SignedReceipt:
        note = self._signer.sign_receipt(entry.text)
        return types_pb2.SignedReceipt(note=note.decode(), log_index=entry.index)

    def _newest(self) -> SignedCheckpoint:
        if self._keeper.signed is None:
            raise LedgerUnavailableError("no checkpoint is signed yet; ask again in a second")
        return self._keeper.signed

    def _tree_size(self, field: str, asked: int) -> int:
        if not asked:
            return self._newest().checkpoint.size
        if asked > self._log.log_size():
            raise RequestError(
                field,
                f"is {asked}; the log has {self._log.log_size()} entries, expected at most"
                " as many, or 0 for those of the newest checkpoint",
            )
        return asked

    def _node(self, node: Node) -> bytes:
        return self._log.log_nodes([node])[0]


def _may_see(call: Call, entry: LogEntry) -> bool:
    return entry.tenant in {"", call.identity.tenant}
