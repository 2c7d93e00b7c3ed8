"""From released samples to a drawn hand: seeds, order, commitments, provenance.

The one place where a deck comes into being. It is shown to nobody here: what
leaves is a draft for the ledger.
"""

from collections.abc import Callable, Sequence

from entropyd.entropy.gate import GatedSeed
from entropyd.hands.whole_deck import open_deck
from entropyd.ledger.contract import HandDraft
from entropyd.rbg.construction import OS_SAMPLE_BYTES, SeedConstruction
from entropyd.runtime.orders import DrawOrder

# Makes the stored provenance of a draw from its gated seeds and the wall time.
Describe = Callable[[Sequence[GatedSeed], int], bytes]


class Drawer:
    """Draws one hand at a time. Owned by the event loop's thread."""

    def __init__(
        self,
        construction: SeedConstruction,
        *,
        describe: Describe,
        os_random: Callable[[int], bytes],
        wall_ns: Callable[[], int],
    ) -> None:
        """Make a drawer.

        Args:
            construction: makes the seeds.
            describe: makes the provenance.
            os_random: the operating system's generator.
            wall_ns: wall clock, for claims only.
        """
        self._construction = construction
        self._describe = describe
        self._os_random = os_random
        self._wall_ns = wall_ns

    def draft(self, order: DrawOrder, released: Sequence[GatedSeed]) -> HandDraft:
        """Draw a hand that nobody has seen yet. Its samples are spent, come what may.

        Raises:
            DrbgError: the generator refused; it is in its error state.
            InternalError: a draw was rejected 128 times.
        """
        os_samples = [self._os_random(OS_SAMPLE_BYTES) for _ in released]
        drawn = self._construction.seed_draw(order.binding, released, os_samples)
        deck = open_deck(
            order.rules,
            order.binding,
            seeds=drawn.seeds,
            blinding=drawn.blinding,
            salt_key=drawn.salt_key,
        )
        wall_ns = self._wall_ns()
        return HandDraft(
            tenant=order.tenant,
            table=order.table,
            hand=order.hand,
            rules=order.encoded_rules,
            binding=order.binding,
            claim_digest=order.claim_digest,
            size=deck.size,
            commitment=deck.commitment,
            deck_root=deck.deck_root,
            seats_root=deck.seats_root,
            provenance=self._describe(released, wall_ns),
            items=deck.encoded_items,
            seeds=b"".join(drawn.seeds),
            blinding=drawn.blinding,
            salt_key=drawn.salt_key,
            drawn_at_ns=wall_ns,
        )
