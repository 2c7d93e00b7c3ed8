"""From released samples to drafts: seeds, order, commitments, provenance.

The one place where a deck, or any other draw, comes into being. It is shown to
nobody here: what leaves is a draft for the ledger.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Protocol

from entropyd.entropy.gate import GatedBatch, GatedSeed
from entropyd.hands.commitment import NO_SEATS_ROOT
from entropyd.hands.many_decks import OpenedDeck, open_decks
from entropyd.hands.receipts import NS_A_MS, Sources
from entropyd.hands.shuffle_receipt import whole_deck_receipt
from entropyd.ledger.contract import HandDraft
from entropyd.ledger.entries import HandEntry
from entropyd.ledger.subjects import StepDraft
from entropyd.rbg.construction import OS_SAMPLE_BYTES, DrawSeeds, SeedConstruction
from entropyd.runtime.orders import DrawOrder
from entropyd.runtime.waiter import StepWaiter

# A part of a batch is drawn in one turn of the event loop: 2 ms of work.
HANDS_A_PART = 128


class Describe(Protocol):
    """Makes the stored provenance of draws."""

    def __call__(
        self,
        draws: Sequence[Sequence[GatedSeed]],
        drawn_at_ns: int,
        *,
        batch: GatedBatch | None = None,
    ) -> list[bytes]:
        """Return it for each of several hands.

        Args:
            draws: for each hand what the gate released for each of its seeds.
            drawn_at_ns: wall clock, nanoseconds since 1970.
            batch: the batch that they were drawn in, if any.
        """
        ...


class TellSources(Protocol):
    """Says where the bits of draws came from, as their receipts say it."""

    def __call__(
        self, draws: Sequence[Sequence[GatedSeed]], *, batch: GatedBatch | None = None
    ) -> list[Sources]:
        """Return it for each of several hands; arguments as of `Describe`."""
        ...


@dataclass(frozen=True, slots=True)
class HandReceipts:
    """What receipts of hands that are dealt whole are made of.

    Attributes:
        log: origin of the log.
        sources: says where their bits came from.
    """

    log: str
    sources: TellSources = field(repr=False)


class Drawer:
    """Draws. Owned by the event loop's thread."""

    def __init__(
        self,
        construction: SeedConstruction,
        *,
        describe: Describe,
        receipts: HandReceipts | None = None,
        os_random: Callable[[int], bytes],
        wall_ns: Callable[[], int],
    ) -> None:
        """Make a drawer.

        Args:
            construction: makes the seeds.
            describe: makes the provenance.
            receipts: what those of hands are made of; None: they have none.
            os_random: the operating system's generator.
            wall_ns: wall clock, for claims only.
        """
        self._construction = construction
        self._describe = describe
        self._receipts = receipts
        self._os_random = os_random
        self._wall_ns = wall_ns

    def drafts(self, draws: Sequence[tuple[DrawOrder, Sequence[GatedSeed]]]) -> list[HandDraft]:
        """Draw hands that nobody has seen yet, each from a reseed for every seed.

        Their samples are spent, come what may.

        Raises:
            DrbgError: the generator refused; it is in its error state.
            InternalError: a draw was rejected 128 times.
        """
        fresh = iter(self._fresh(sum([len(released) for _, released in draws])))
        drawn = [
            self._construction.seed_draw(
                order.binding, released, list(islice(fresh, len(released)))
            )
            for order, released in draws
        ]
        return self._drafts([order for order, _ in draws], drawn, [seeds for _, seeds in draws])

    def batch_drafts(
        self, orders: Sequence[DrawOrder], released: GatedBatch
    ) -> list[Callable[[], list[HandDraft]]]:
        """Make the seeds of a batch, and return what draws its hands, part by part.

        Raises:
            DrbgError: the generator refused; it is in its error state.
        """
        drawn = self._construction.seed_batch(
            released.shared,
            self._fresh(1)[0],
            [order.binding for order in orders],
            released.hands,
        )

        def draw(first: int) -> list[HandDraft]:
            part = slice(first, first + HANDS_A_PART)
            samples = [(seed,) for seed in released.hands[part]]
            return self._drafts(orders[part], drawn[part], samples, batch=released)

        # `first` is bound for each part: they are called later.
        return [
            lambda first=first: draw(first)  # type: ignore[misc]
            for first in range(0, len(orders), HANDS_A_PART)
        ]

    def grow(self, waiter: StepWaiter, released: Sequence[GatedSeed]) -> None:
        """Make the next seeds of a draw that is recorded as steps. Their samples are spent.

        Raises:
            DrbgError: the generator refused; it is in its error state.
        """
        self._construction.seed_part(waiter.growing, released, self._fresh(len(released)))
        waiter.note(released)

    def steps_maker(self, waiter: StepWaiter) -> Callable[[], Sequence[StepDraft]]:
        """Return what computes the steps of a draw that has all of its seeds, on any thread."""
        seeds, wall_ns = waiter.growing.drawn(), self._wall_ns()
        [provenance] = self._describe([waiter.released], wall_ns)
        make = waiter.order.make
        return lambda: make(seeds, provenance, wall_ns)

    def _fresh(self, seeds: int) -> list[bytes]:
        """Return fresh output of the operating system for so many seeds, in one call.

        Each call lets the ledger's thread run first. One for more than 256
        bytes may be cut short by a signal, and is asked for the rest.
        """
        drawn, needed = b"", OS_SAMPLE_BYTES * seeds
        while len(drawn) < needed:
            drawn += self._os_random(needed - len(drawn))
        return [drawn[at : at + OS_SAMPLE_BYTES] for at in range(0, needed, OS_SAMPLE_BYTES)]

    def _drafts(
        self,
        orders: Sequence[DrawOrder],
        drawn: Sequence[DrawSeeds],
        samples: Sequence[Sequence[GatedSeed]],
        *,
        batch: GatedBatch | None = None,
    ) -> list[HandDraft]:
        wall_ns = self._wall_ns()
        provenances = self._describe(samples, wall_ns, batch=batch)
        decks = _open(orders, drawn)
        entries = self._entries(orders, decks, samples, wall_ns, batch)
        return [
            HandDraft(
                tenant=order.tenant,
                table=order.table,
                hand=order.hand,
                rules=order.encoded_rules,
                binding=order.binding,
                claim_digest=order.claim_digest,
                size=order.rules.deck.size,
                commitment=deck.commitment,
                deck_root=deck.deck_root,
                seats_root=NO_SEATS_ROOT,
                provenance=provenance,
                items=deck.encoded_items,
                seeds=b"".join(own.seeds),
                blinding=own.blinding,
                salt_key=own.salt_key,
                drawn_at_ns=wall_ns,
                entry=entry,
            )
            for order, own, provenance, deck, entry in zip(
                orders, drawn, provenances, decks, entries, strict=True
            )
        ]

    def _entries(
        self,
        orders: Sequence[DrawOrder],
        decks: Sequence[OpenedDeck],
        samples: Sequence[Sequence[GatedSeed]],
        wall_ns: int,
        batch: GatedBatch | None,
    ) -> Sequence[HandEntry | None]:
        """Return what makes the receipt of each hand, once it has its numbers."""
        if self._receipts is None:
            return [None] * len(orders)
        log, ms = self._receipts.log, wall_ns // NS_A_MS
        return [
            whole_deck_receipt(
                log=log,
                tenant=order.tenant,
                table=order.table,
                hand=order.hand,
                rules=order.encoded_rules,
                commitment=deck.commitment,
                deck_root=deck.deck_root,
                sources=sources,
                ms=ms,
            )
            for order, deck, sources in zip(
                orders, decks, self._receipts.sources(samples, batch=batch), strict=True
            )
        ]


def _open(orders: Sequence[DrawOrder], drawn: Sequence[DrawSeeds]) -> list[OpenedDeck]:
    """Open hands, those that follow each other under the same rules in one step."""
    opened: list[OpenedDeck] = []
    for _, run in groupby(orders, key=lambda order: order.encoded_rules):
        same = list(run)
        first = len(opened)
        bindings = [order.binding for order in same]
        opened += open_decks(same[0].rules, bindings, drawn[first : first + len(same)])
    return opened
