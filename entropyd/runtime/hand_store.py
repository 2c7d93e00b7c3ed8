"""Hands as they are recorded, and what is computed of them again and again.

The secrets of a hand are decrypted and its tree is hashed once for many deals.
Both are kept for hands that are being dealt; whatever is answered follows from
what is recorded. What a step recorded the ledger says with its outcome: it is
not read again.

Owned by the event loop's thread.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Protocol

from entropyd.errors import HandNotFoundError, InternalError
from entropyd.hands.binding import hand_binding
from entropyd.hands.card_proof import CardProof, CardTree
from entropyd.hands.family import Family
from entropyd.hands.hand import ENDED, Hand, HandState
from entropyd.hands.rules import rules_hash
from entropyd.ledger.entries import LogEntry
from entropyd.ledger.subjects import StepRecord, StepRecorded, Subject, SubjectKind
from entropyd.runtime.kept_hands import (
    OPEN_STEP,
    CompletedHand,
    KeptHand,
    OpenSecrets,
    read_hand,
)

# Of hands that are being dealt: some 20 KiB each.
MAX_DECKS = 2048
# Of hands that are asked for: some 10 KiB each.
MAX_SEEN = 2048
# Of receipts that were logged and not answered yet: some 0.6 KiB each.
MAX_TEXTS = 4096
# Hands of a page that are read in one question.
PAGE = 256
LIVE = tuple(state for state in HandState if state not in ENDED)


class HandReader(Protocol):
    """What is needed of the ledger."""

    def subject(self, kind: SubjectKind, tenant: str, name: str) -> Subject | None:
        """See `Ledger.subject`."""
        ...

    def step(self, kind: SubjectKind, tenant: str, name: str, key: str) -> StepRecord | None:
        """See `Ledger.step`."""
        ...

    def hands_at(
        self,
        tenant: str,
        table_prefix: str,
        label: str | None,
        after: tuple[str, int],
        limit: int,
    ) -> list[Subject]:
        """See `Ledger.hands_at`."""
        ...

    def log_entries(self, first: int, limit: int) -> list[LogEntry]:
        """See `Ledger.log_entries`."""
        ...


@dataclass(frozen=True, slots=True)
class Deck:
    """The secret half of a hand, ready to deal from.

    Attributes:
        secrets: as recorded when it was opened.
        tree: proves its cards.
        cut: for every place the leaf that is dealt there; empty until the hand is sealed.
    """

    secrets: OpenSecrets = field(repr=False)
    tree: CardTree = field(repr=False)
    cut: tuple[int, ...] = ()

    def prove(self, places: Sequence[int]) -> list[CardProof]:
        """Return the cards of places, with their proofs."""
        return [self.tree.prove(place, self.cut[place]) for place in places]


class HandStore:
    """Finds hands and their decks."""

    def __init__(self, ledger: HandReader) -> None:
        """Make it over a ledger."""
        self._ledger = ledger
        self._decks: OrderedDict[tuple[str, str], Deck] = OrderedDict()
        self._seen: OrderedDict[tuple[str, str], tuple[bytes, KeptHand]] = OrderedDict()
        self._texts: OrderedDict[int, bytes] = OrderedDict()

    def find(self, tenant: str, hand: str) -> KeptHand | None:
        """Return a hand that was opened here, or None."""
        subject = self._ledger.subject(SubjectKind.HAND, tenant, hand)
        return None if subject is None else self._kept(subject)

    def recorded(self, tenant: str, hand: str, step: StepRecorded) -> KeptHand:
        """Return a hand as a step left it, by what the ledger says that it wrote."""
        if not isinstance(step.completed, CompletedHand):
            raise InternalError(f"hand {hand!r}: a step without its receipts and state")
        for index, text in enumerate(step.completed.entries, step.index):
            self._texts[index] = text
            if len(self._texts) > MAX_TEXTS:
                self._texts.popitem(last=False)
        kept = step.completed.kept
        self._see(tenant, hand, step.completed.state, kept)
        if step.record.step == OPEN_STEP and (tenant, hand) not in self._decks:
            self._keep(kept.hand, _deck(kept.hand, step.record.secret))
        return kept

    def _kept(self, subject: Subject) -> KeptHand:
        """Return the hand of a subject, taken apart only if it is not the one seen last."""
        state, kept = self._seen.get((subject.tenant, subject.name), (b"", None))
        if kept is None or state != subject.state or kept.steps != subject.steps:
            kept = read_hand(subject)
        self._see(subject.tenant, subject.name, subject.state, kept)
        return kept

    def _see(self, tenant: str, hand: str, state: bytes, kept: KeptHand) -> None:
        self._seen[tenant, hand] = state, kept
        self._seen.move_to_end((tenant, hand))
        if len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)

    def get(self, tenant: str, table: str, hand: str) -> KeptHand:
        """Return a hand of a table.

        Raises:
            HandNotFoundError: it was not opened there.
        """
        kept = self.find(tenant, hand)
        if kept is None or kept.hand.opened.table != table:
            raise HandNotFoundError(
                f"hand {hand!r} was not opened at table {table!r} here; OpenHand opens it"
            )
        return kept

    def family(self, hand: Hand) -> Family:
        """Return a hand with those that have cards in common with it."""
        return Family(hand, tuple(self._ancestors(hand)), tuple(self._going_on(hand)))

    def children(self, hand: Hand) -> list[Hand]:
        """Return the hands that were opened from discards of a hand."""
        tenant, parent = hand.opened.tenant, hand.opened.hand
        found = [self.find(tenant, child) for child in hand.children]
        # An id of which nothing was recorded, or by Shuffle, is no child.
        return [kept.hand for kept in found if kept and kept.hand.opened.parent == parent]

    def _ancestors(self, hand: Hand) -> Iterator[Hand]:
        while hand.opened.parent:
            opened = hand.opened
            hand = self.get(opened.tenant, opened.table, opened.parent).hand
            yield hand

    def _going_on(self, hand: Hand) -> Iterator[Hand]:
        left = self.children(hand)
        while left:
            child = left.pop()
            left += self.children(child)
            if child.state not in ENDED:
                yield child

    def deck(self, hand: Hand) -> Deck:
        """Return the deck of a hand, with its cut once it is sealed.

        Raises:
            SecretsDestroyedError: its secrets were destroyed after their retention.
        """
        opened = hand.opened
        key = opened.tenant, opened.hand
        deck = self._decks.get(key)
        if deck is None:
            deck = self._read(hand)
        elif not deck.cut and hand.is_cut:
            deck = Deck(deck.secrets, deck.tree, tuple(hand.cut()))
        self._keep(hand, deck)
        return deck

    def _keep(self, hand: Hand, deck: Deck) -> None:
        key = hand.opened.tenant, hand.opened.hand
        self._decks[key] = deck
        self._decks.move_to_end(key)
        if len(self._decks) > MAX_DECKS:
            self._decks.popitem(last=False)

    def forget(self, hand: Hand) -> None:
        """Keep nothing of a hand that has ended."""
        self._decks.pop((hand.opened.tenant, hand.opened.hand), None)
        self._seen.pop((hand.opened.tenant, hand.opened.hand), None)

    def live_at(self, tenant: str, table: str) -> list[Hand]:
        """Return the hands of one table that have not ended.

        A table stands before all others whose ids begin with its own.
        """
        return [
            kept.hand
            for state in LIVE
            for kept in takewhile(
                lambda kept: kept.hand.opened.table == table, self._all(tenant, table, state)
            )
        ]

    def page(
        self,
        tenant: str,
        table_prefix: str,
        label: str | None,
        after: tuple[str, int],
        limit: int,
    ) -> list[KeptHand]:
        """Return hands in byte order of table, then by number; see `Ledger.hands_at`."""
        found = self._ledger.hands_at(tenant, table_prefix, label, after, limit)
        return [read_hand(subject) for subject in found]

    def _all(self, tenant: str, table_prefix: str, label: str) -> Iterator[KeptHand]:
        """Return the hands of all pages."""
        after = ("", 0)
        while page := self.page(tenant, table_prefix, label, after, PAGE):
            yield from page
            last = page[-1].hand.opened
            after = last.table, last.sequence

    def receipt(self, index: int) -> bytes:
        """Return the text of an entry of the log that a hand names."""
        text = self._texts.get(index)
        if text is not None:
            return text
        entries = self._ledger.log_entries(index, 1)
        if not entries:
            raise InternalError(f"a hand names entry {index}, which the log does not have")
        return entries[0].text

    def _read(self, hand: Hand) -> Deck:
        opened = hand.opened
        step = self._ledger.step(SubjectKind.HAND, opened.tenant, opened.hand, OPEN_STEP)
        if step is None:
            raise InternalError(f"hand {opened.hand!r} has no step that opened it")
        return _deck(hand, step.secret)


def _deck(hand: Hand, secret: bytes) -> Deck:
    """Return the deck that a hand was opened with, with its cut once it is sealed."""
    opened = hand.opened
    secrets = OpenSecrets.decode(secret, f"hand {opened.hand!r}")
    digest = rules_hash(opened.rules.encode())
    binding = hand_binding(opened.tenant, opened.table, opened.hand, digest)
    tree = CardTree(binding, secrets.salt_key, secrets.items)
    return Deck(secrets, tree, tuple(hand.cut()) if hand.is_cut else ())
