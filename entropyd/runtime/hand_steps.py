"""What one step makes of a hand: the hand after it, its receipts, and what is recorded. Pure.

Receipts name their index in the log, and an opened hand its number at the
table. Both are given by the ledger's transaction, so a step is completed there
(`StepDraft.complete`), on the writer's thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from entropyd.errors import InternalError
from entropyd.hands import receipts
from entropyd.hands.binding import hand_binding
from entropyd.hands.commitment import seats_root
from entropyd.hands.hand import ENDED, Hand, HandState
from entropyd.hands.opened import OpenedHand
from entropyd.hands.receipts import NS_A_MS, Sources
from entropyd.hands.rules import Contributions, Rules, rules_hash, segments_needed
from entropyd.hands.seats import Seat
from entropyd.hands.whole_deck import CommittedDeck, open_deck
from entropyd.ledger.entries import Assigned, Completed
from entropyd.ledger.subjects import StepDraft, SubjectKind
from entropyd.log.events import Event
from entropyd.rbg.construction import DrawSeeds
from entropyd.runtime.hand_turns import HandName
from entropyd.runtime.kept_hands import CHILD_STEP, OPEN_STEP, KeptHand, OpenSecrets


@dataclass(frozen=True, slots=True)
class OpenAsk:
    """A checked request to open a hand.

    Attributes:
        tenant, table, hand: ids.
        rules: what it is played under.
        seats: who may contribute, in byte order.
        window_ns: how long they may, and have again to open what they sealed; 0 for nobody.
        parent: id of the hand whose discards are dealt; empty for none.
        discards: items of it, where there is one.
    """

    tenant: str
    table: str
    hand: str
    rules: Rules
    seats: tuple[Seat, ...]
    window_ns: int
    parent: str = ""
    discards: tuple[int, ...] | None = field(default=None, repr=False)

    @property
    def binding(self) -> bytes:
        """X."""
        return hand_binding(self.tenant, self.table, self.hand, rules_hash(self.rules.encode()))

    @property
    def seeds(self) -> int:
        """How many seeds it takes."""
        return segments_needed(self.rules)

    def is_of(self, opened: OpenedHand) -> bool:
        """Tell whether a recorded hand is what is asked for."""
        window_ns = opened.leaf_window_ns
        return (opened.table, opened.rules, opened.seats, window_ns) == (
            self.table,
            self.rules,
            self.seats,
            self.window_ns,
        )

    @property
    def parent_name(self) -> HandName:
        """Which hand is its parent, where there is one."""
        return HandName(self.tenant, self.table, self.parent)


def open_steps(
    ask: OpenAsk,
    own: DrawSeeds,
    parent: KeptHand | None = None,
    *,
    log: str,
    sources: Sources,
    provenance: bytes,
    now_ns: int,
) -> Sequence[StepDraft]:
    """Draw and commit a deck, and return the step that records it, and that of its parent.

    Args:
        ask: what is asked for.
        own: seeds, r and K.
        parent: as it is recorded, where there is one; nobody else has its turn.
        log: origin of the log.
        sources: where the bits came from, for the receipt.
        provenance: the same, as it is answered.
        now_ns: wall clock, whole milliseconds: receipts say no less.
    """
    deck = open_deck(
        ask.rules,
        ask.binding,
        seeds=own.seeds,
        blinding=own.blinding,
        salt_key=own.salt_key,
        seats_root=seats_root({seat.name: seat.public_key for seat in ask.seats}),
        discards=ask.discards,
    )

    def complete(assigned: Assigned) -> Completed:
        opened = Hand(_opened(ask, deck, assigned.sequence, now_ns))
        before = KeptHand(opened, {Event.OPEN: assigned.index}, provenance)
        text = receipts.open_receipt(opened, log, assigned.index, sources, now_ns // NS_A_MS)
        after = opened.after_window(now_ns)
        more = _receipts(opened, after, log, assigned.index + 1, now_ns)
        return before.after(after, more.indices).completed((text, *more.texts))

    sealed = ask.rules.contributions is Contributions.NONE
    step = StepDraft(
        kind=SubjectKind.HAND,
        tenant=ask.tenant,
        name=ask.hand,
        expected=0,
        step=OPEN_STEP,
        key=OPEN_STEP,
        public=b"",
        secret=OpenSecrets.of(deck).encode(),
        state=b"",
        state_secret=b"",
        label=HandState.SEALED if sealed else HandState.OPEN,
        at_ns=now_ns,
        table=ask.table,
        complete=complete,
    )
    if parent is None:
        return [step]
    return [step, next_step(parent, parent.hand.with_child(ask.hand), CHILD_STEP, log, now_ns)]


def next_step(kept: KeptHand, after: Hand, step: str, log: str, now_ns: int) -> StepDraft:
    """Return the step that records `after` in place of the hand that is kept.

    Args:
        kept: as it is recorded.
        after: the hand after a transition, other than it is.
        step: what kind of step it is.
        log: origin of the log.
        now_ns: wall clock, whole milliseconds.
    """

    def complete(assigned: Assigned) -> Completed:
        more = _receipts(kept.hand, after, log, assigned.index, now_ns)
        return kept.after(after, more.indices).completed(more.texts)

    opened = after.opened
    return StepDraft(
        kind=SubjectKind.HAND,
        tenant=opened.tenant,
        name=opened.hand,
        expected=kept.steps,
        step=step,
        key="",
        public=b"",
        secret=b"",
        state=b"",
        state_secret=b"",
        label=after.state,
        at_ns=now_ns,
        complete=complete,
    )


@dataclass(slots=True)
class _Receipts:
    """Texts of receipts, and where they will be in the log."""

    texts: list[bytes] = field(default_factory=list)
    indices: dict[Event, int] = field(default_factory=dict)


def _receipts(before: Hand, after: Hand, log: str, index: int, now_ns: int) -> _Receipts:
    """Return the receipts of the states that a transition enters, in order."""
    made = _Receipts()
    ms = now_ns // NS_A_MS
    if before.roll is None and after.roll is not None and after.roll.deadline_ns:
        _add(made, Event.ROLL, receipts.roll_receipt(after, log, index, ms), index)
    if not before.is_cut and after.is_cut and after.state is not HandState.VOID:
        at = index + len(made.texts)
        _add(made, Event.SEAL, receipts.seal_receipt(after, log, at, ms), at)
    if before.state not in ENDED and after.state in ENDED:
        at = index + len(made.texts)
        event = Event.CLOSE if after.state is HandState.CLOSED else Event.VOID
        _add(made, event, receipts.end_receipt(after, log, at, ms), at)
    return made


def _add(made: _Receipts, event: Event, text: bytes, index: int) -> None:
    made.texts.append(text)
    made.indices[event] = index


def _opened(ask: OpenAsk, deck: CommittedDeck, sequence: int, now_ns: int) -> OpenedHand:
    if sequence < 1:
        raise InternalError(f"hand {ask.hand!r} was opened without a number at its table")
    return OpenedHand(
        tenant=ask.tenant,
        table=ask.table,
        hand=ask.hand,
        rules=ask.rules,
        sequence=sequence,
        size=deck.size,
        commitment=deck.commitment,
        deck_root=deck.deck_root,
        seats_root=deck.seats_root,
        open_hash=deck.at_sequence(sequence),
        seats=ask.seats,
        opened_at_ns=now_ns,
        deadline_ns=now_ns + ask.window_ns,
        leaf_window_ns=ask.window_ns,
        parent=ask.parent,
    )
