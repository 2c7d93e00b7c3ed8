"""Signs checkpoints of the log: one for all that was appended since the last.

Looked after twice a second: what a commit appended is under a signed checkpoint within a second,
however many entries it was. The tree is that of the ledger, and every new checkpoint is proved to
go on from the last one before it is signed, so that a ledger that was changed behind the daemon's
back gets no second history signed.

Owned by the event loop's thread; `signed` is read by any.

Spec: docs/protocol.md, "Tree, checkpoints, proofs".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from entropyd.errors import LedgerDamagedError, LedgerUnavailableError, ProofInvalidError
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.frontier import Node
from entropyd.log.proofs import consistency_proof, tree_head, verify_consistency
from entropyd.log.signer import LogSigner


class LogTree(Protocol):
    """What the keeper needs of the ledger."""

    def log_size(self) -> int:
        """See `Ledger.log_size`."""
        ...

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        """See `Ledger.log_nodes`."""
        ...


class LogObserver(Protocol):
    """Who counts."""

    def log_stood(self, *, size: int, signed: int, unsigned_age_s: float) -> None:
        """Note how far the log goes, and how far it is signed. Called on the loop's thread."""
        ...


@dataclass(frozen=True, slots=True)
class SignedCheckpoint:
    """A checkpoint and its note.

    Attributes:
        checkpoint: what it says.
        note: signed.
    """

    checkpoint: Checkpoint
    note: bytes


class LogKeeper:
    """Keeps the newest checkpoint.

    Attributes:
        signed: it; None while nothing could be signed yet.
    """

    def __init__(
        self,
        tree: LogTree,
        signer: LogSigner,
        *,
        observer: LogObserver,
        keep: Callable[[bytes], None],
        clock_ns: Callable[[], int],
    ) -> None:
        """Make a keeper; `look` does its work.

        Args:
            tree: of the ledger.
            signer: signs.
            observer: counts.
            keep: gets each signed checkpoint, to be kept outside of the ledger.
            clock_ns: monotonic clock.
        """
        self.signed: SignedCheckpoint | None = None
        self._tree = tree
        self._signer = signer
        self._observer = observer
        self._keep = keep
        self._clock_ns = clock_ns
        # Up to then every entry was signed for.
        self._level_ns = clock_ns()
        self._size = 0

    def look(self) -> None:
        """Sign for what was appended. While the ledger cannot be read the time runs on.

        Raises:
            LedgerDamagedError: the log does not go on from what was signed. Fatal.
        """
        looked_ns = self._clock_ns()
        try:
            self._size = self._tree.log_size()
            if self._size != self._signed_size:
                self._sign(self._size)
            self._level_ns = looked_ns
        except LedgerUnavailableError:
            # Its writer tells, and tries again; so do we.
            pass
        self._observer.log_stood(
            size=self._size, signed=self._signed_size, unsigned_age_s=self.unsigned_age_s
        )

    @property
    def unsigned_age_s(self) -> float:
        """For how long there may have been entries that no checkpoint covers, in seconds."""
        return (self._clock_ns() - self._level_ns) / 1e9

    @property
    def _signed_size(self) -> int:
        return 0 if self.signed is None else self.signed.checkpoint.size

    def _sign(self, size: int) -> None:
        checkpoint = Checkpoint(self._signer.origin, size, tree_head(self._node, size))
        before = self.signed
        if before is not None:
            self._check_goes_on(before.checkpoint, checkpoint)
        # After a change of keys the first one carries both. Whether an earlier run of the daemon
        # signed it is not known here, and a signature more hurts nobody.
        note = self._signer.sign_checkpoint(checkpoint, change=before is None)
        self.signed = SignedCheckpoint(checkpoint, note)
        self._keep(note)

    def _check_goes_on(self, old: Checkpoint, new: Checkpoint) -> None:
        try:
            if new.size < old.size:
                raise ProofInvalidError(f"{new.size} entries are left")
            proof = consistency_proof(self._node, old.size, new.size)
            verify_consistency(old.size, new.size, old.root, new.root, proof)
        except ProofInvalidError as error:
            raise LedgerDamagedError(
                f"the log does not go on from its {old.size} entries that were signed for"
                f" ({error}): somebody changed the ledger; restore it from a backup"
            ) from error

    def _node(self, node: Node) -> bytes:
        return self._tree.log_nodes([node])[0]
