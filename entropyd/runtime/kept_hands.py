"""What the ledger keeps of a hand that is dealt card by card.

The subject's state is public: the hand, where its receipts are in the log, and
where its bits came from. The secrets are those of the step that opened it, and
are written once.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from entropyd.errors import LedgerDamagedError
from entropyd.hands import snapshot
from entropyd.hands.hand import Hand
from entropyd.hands.whole_deck import CommittedDeck
from entropyd.ledger.entries import Completed
from entropyd.ledger.packed import pack, unpack
from entropyd.ledger.subjects import Subject
from entropyd.log.events import Event

OPEN_STEP = "open"
# Of a parent, in the commit that opens the child.
CHILD_STEP = "child"


@dataclass(frozen=True, slots=True)
class KeptHand:
    """A hand as it is recorded.

    Attributes:
        hand: the hand.
        receipts: index in the log of the receipt of each of its events.
        provenance: as it is answered; opaque.
        steps: how many steps it has.
    """

    hand: Hand
    receipts: Mapping[Event, int]
    provenance: bytes
    steps: int = 0

    def begins_before(self, index: int) -> bool:
        """Tell whether the hand was opened before the log had so many entries."""
        return self.receipts[Event.OPEN] < index

    @property
    def state(self) -> bytes:
        """What is kept in the clear."""
        told = {event.value: index for event, index in self.receipts.items()}
        indices = json.dumps(told, separators=(",", ":"))
        return pack(snapshot.encode(self.hand), indices.encode("ascii"), self.provenance)

    def after(self, hand: Hand, receipts: Mapping[Event, int]) -> "KeptHand":
        """Return what is kept after one step more."""
        return replace(
            self, hand=hand, receipts={**self.receipts, **receipts}, steps=self.steps + 1
        )

    def completed(self, texts: Sequence[bytes]) -> "CompletedHand":
        """Return what the step that ends here becomes.

        Args:
            texts: of its receipts.
        """
        return CompletedHand(b"", self.state, tuple(texts), self)


@dataclass(frozen=True, slots=True)
class CompletedHand(Completed):
    """A step of a hand with its numbers.

    Attributes:
        kept: what its state is the bytes of: who made these need not take them apart again.
    """

    kept: KeptHand


def read_hand(subject: Subject) -> KeptHand:
    """Return the hand of a subject.

    Raises:
        LedgerDamagedError: it keeps something else.
    """
    what = f"hand {subject.name!r}"
    try:
        hand, indices, provenance = unpack(subject.state, what)
        receipts = {Event(event): index for event, index in json.loads(indices).items()}
    except ValueError as error:
        raise LedgerDamagedError(f"{what}: has other fields than a hand") from error
    return KeptHand(snapshot.decode(hand), receipts, provenance, subject.steps)


@dataclass(frozen=True, slots=True)
class OpenSecrets:
    """What was drawn when a hand was opened.

    Attributes:
        items: the committed order a.
        seeds: S_0, S_1, ..., joined.
        blinding: r.
        salt_key: K.
    """

    items: tuple[int, ...] = field(repr=False)
    seeds: bytes = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)

    @classmethod
    def of(cls, deck: CommittedDeck) -> "OpenSecrets":
        """Return the secrets of a deck."""
        return cls(deck.items, b"".join(deck.seeds), deck.blinding, deck.salt_key)

    def encode(self) -> bytes:
        """Return what is kept encrypted."""
        # Two bytes each, of the four that are committed: the largest item is MAX_ITEMS - 1.
        items = struct.pack(f">{len(self.items)}H", *self.items)
        return pack(items, self.seeds, self.blinding, self.salt_key)

    @classmethod
    def decode(cls, encoded: bytes, what: str) -> "OpenSecrets":
        """Return the secrets that `encode` wrote.

        Raises:
            LedgerDamagedError: it wrote something else; names `what`.
        """
        try:
            items, seeds, blinding, salt_key = unpack(encoded, what)
            order = struct.unpack(f">{len(items) // 2}H", items)
        except (ValueError, struct.error) as error:
            raise LedgerDamagedError(f"{what}: has other secrets than a hand") from error
        return cls(order, seeds, blinding, salt_key)
