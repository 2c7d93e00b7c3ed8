"""A verifier beside a daemon: what it has of the log, and what it checked of it."""

import time

from entropyd.client import Client
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.entry import check_entry
from entropyd.log.keys import VerifierKey
from entropyd.log.proofs import verify_consistency
from entropyd.log.receipt import Receipt
from entropyd.log.trust import TrustedLog


class LogReader:
    """Trusts the keys that it saw first, and believes nothing that does not follow from them.

    Attributes:
        seen: the newest checkpoint that was checked to go on from the one before.
    """

    def __init__(self, client: Client) -> None:
        keys = [VerifierKey.decode(text) for text in client.log().head().verifier_keys]
        assert len(keys) == 2, "it must begin before keys change"
        self.trusted = TrustedLog.given(keys[0], keys[1])
        self.seen: Checkpoint | None = None

    def advance(self, client: Client) -> Checkpoint:
        """Check the newest checkpoint against the one before it, and return it."""
        seen = self.trusted.open_checkpoint(client.log().head().checkpoint.encode()).checkpoint
        if self.seen is not None:
            proof = client.log().consistency(self.seen.size, seen.size)
            old = self.seen
            verify_consistency(old.size, seen.size, old.root, seen.root, proof.path)
        self.seen = seen
        return seen

    def covered(self, client: Client, index: int, *, patience_s: float = 10.0) -> Checkpoint:
        """Return a checked checkpoint that covers an entry, once there is one."""
        until = time.monotonic() + patience_s
        while True:
            seen = self.advance(client)
            if seen.size > index:
                return seen
            assert time.monotonic() < until, f"entry {index} is not signed for after {patience_s} s"
            time.sleep(0.05)

    def receipt(self, client: Client, index: int) -> Receipt:
        """Return a receipt, checked: its signature, and that it is under a checkpoint."""
        receipt = self.trusted.open_receipt(client.log().receipt(index).note.encode())
        assert receipt.index == index
        seen = self.covered(client, index)
        check_entry(receipt, seen, client.log().inclusion(index, seen.size).path)
        return receipt

    def follow(self, client: Client) -> None:
        """Follow the entries of changed keys, each checked before it is believed."""
        for signed in client.log().receipts():
            receipt = self.trusted.open_receipt(signed.note.encode())
            self.trusted = self.trusted.follow(receipt)
