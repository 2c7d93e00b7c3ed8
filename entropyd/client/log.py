"""The log of receipts for threads: `Client.log`.

What it returns is signed and proved, and nothing of that is checked here: give it
to `entropyd.verify`, or check it with `entropyd.log`, with keys that came another
way than from the daemon.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self, TypeVar

import grpc

from entropyd.client.connection import Metadata
from entropyd.client.deal import Refusal
from entropyd.client.service_config import DEFAULT_TIMEOUT_S
from entropyd.v1 import ledger_service_pb2 as pb
from entropyd.v1 import ledger_service_pb2_grpc, types_pb2

# As many as the daemon puts into a page.
PAGE_SIZE = 1000

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """An entry of the log.

    Attributes:
        index: of its leaf.
        note: the signed note.
    """

    index: int
    note: str

    @classmethod
    def from_message(cls, message: types_pb2.SignedReceipt) -> Self:
        """Return what an answer says."""
        return cls(message.log_index, message.note)


@dataclass(frozen=True, slots=True)
class LogHead:
    """The newest checkpoint, and what the daemon says its keys are.

    Attributes:
        checkpoint: the signed note.
        verifier_keys: of checkpoints, then of receipts, each in the order in which they came into
            force.
    """

    checkpoint: str
    verifier_keys: tuple[str, ...]

    @classmethod
    def from_message(cls, message: pb.GetCheckpointResponse) -> Self:
        """Return what an answer says."""
        return cls(message.checkpoint, tuple(message.verifier_keys))


@dataclass(frozen=True, slots=True)
class Inclusion:
    """That a leaf is in a tree.

    Attributes:
        tree_size: of the tree.
        leaf_hash: 32 bytes.
        path: the leaf's sibling first, 32 bytes each.
    """

    tree_size: int
    leaf_hash: bytes
    path: tuple[bytes, ...]

    @classmethod
    def from_message(cls, message: pb.GetInclusionProofResponse) -> Self:
        """Return what an answer says."""
        return cls(message.tree_size, message.leaf_hash, tuple(message.path))


@dataclass(frozen=True, slots=True)
class Consistency:
    """That a tree begins with all of another.

    Attributes:
        second_size: of the larger.
        path: 32 bytes each.
    """

    second_size: int
    path: tuple[bytes, ...]

    @classmethod
    def from_message(cls, message: pb.GetConsistencyProofResponse) -> Self:
        """Return what an answer says."""
        return cls(message.second_size, tuple(message.path))


class Log:
    """Receipts, checkpoints and proofs. Safe to share between threads.

    Every method raises `Refusal` when the daemon refuses or is not reached.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        metadata: Metadata | None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Call through `channel`, each call for at most `timeout_s` seconds in all."""
        self._stub = ledger_service_pb2_grpc.LedgerServiceStub(channel)
        self._metadata = metadata
        self._timeout_s = timeout_s

    def receipt(self, index: int) -> SignedReceipt:
        """Return a receipt by the index that an answer named."""
        request = pb.GetReceiptRequest(log_index=index)
        return SignedReceipt.from_message(self._call(self._stub.GetReceipt, request).receipt)

    def receipts(self, first: int = 0) -> Iterator[SignedReceipt]:
        """Yield the receipts that the caller may see, from `first` on, until the log ends."""
        token = ""
        while True:
            request = pb.ListReceiptsRequest(
                first_index=first, page_size=PAGE_SIZE, page_token=token
            )
            page = self._call(self._stub.ListReceipts, request)
            yield from map(SignedReceipt.from_message, page.receipts)
            token = page.next_page_token
            if not token:
                return

    def head(self) -> LogHead:
        """Return the newest checkpoint; it covers every receipt that is older than a second."""
        return LogHead.from_message(self._call(self._stub.GetCheckpoint, pb.GetCheckpointRequest()))

    def inclusion(self, index: int, tree_size: int = 0) -> Inclusion:
        """Return the proof that a leaf is in the tree of a size, 0: of the newest checkpoint."""
        request = pb.GetInclusionProofRequest(log_index=index, tree_size=tree_size)
        return Inclusion.from_message(self._call(self._stub.GetInclusionProof, request))

    def consistency(self, first_size: int, second_size: int = 0) -> Consistency:
        """Return the proof that a tree begins with another, 0: that of the newest checkpoint."""
        request = pb.GetConsistencyProofRequest(first_size=first_size, second_size=second_size)
        return Consistency.from_message(self._call(self._stub.GetConsistencyProof, request))

    def _call(self, method: Callable[..., Answer], request: object) -> Answer:
        try:
            return method(request, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise Refusal.from_rpc_error(error) from error
