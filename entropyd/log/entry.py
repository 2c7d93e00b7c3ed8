"""That a receipt is in the log: its leaf, under a checkpoint that somebody signed.

A receipt shown with this needs no signature of its own: the checkpoint's
covers it.

Spec: docs/protocol.md, "The log".
"""

from collections.abc import Sequence

from entropyd.errors import ProofInvalidError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.merkle import leaf_hash
from entropyd.log.proofs import verify_inclusion
from entropyd.log.receipt import Receipt


def check_entry(receipt: Receipt, checkpoint: Checkpoint, path: Sequence[bytes]) -> None:
    """Check that a receipt is the entry of the log that it says it is.

    Args:
        receipt: signed or not.
        checkpoint: opened with keys that the caller trusts.
        path: of the receipt's leaf, the leaf's sibling first.

    Raises:
        ProofInvalidError: it is another log's, its index is not in a tree of
            this size, or the leaf at its index is another.
    """
    if receipt.log != checkpoint.origin:
        raise ProofInvalidError(
            f"entry of the log {receipt.log}, checkpoint of {checkpoint.origin}"
        )
    hashed = leaf_hash(receipt.leaf())
    verify_inclusion(hashed, receipt.index, checkpoint.size, path, checkpoint.root)
