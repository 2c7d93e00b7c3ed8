"""A hand that is dealt card by card: what it is now, and what may follow.

    OPEN ──roll──> ROLLED ──seal──> SEALED ──close──> CLOSED
      └──────────seal────────────────^  deal*
    any of the first three ──void──> VOID

A `Hand` holds nothing secret and cannot be in a state that the protocol does
not have: its parts are checked when it is made, however it was made. Each step
returns another hand; who keeps it records it before anybody is shown anything.
Time comes in as a wall clock, in nanoseconds since 1970: deadlines must hold
across a restart.

Spec: docs/protocol.md, "Hands dealt card by card".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from entropyd.errors import (
    InternalError,
    NotDealtError,
    PlaceDealtError,
    PlanDepartedError,
    RequestError,
    RevealForbiddenError,
    TableFullError,
    WindowOpenError,
    WrongPlaceError,
    WrongStateError,
)
from entropyd.hands.contributions import Roll, Spoken
from entropyd.hands.cut import cut
from entropyd.hands.deals import BURN, DealRun, check_recipients, deals_root
from entropyd.hands.opened import OpenedHand
from entropyd.hands.rules import MAX_ITEMS, Contributions, Reveal

# Of the places of the largest shoe each child takes two. Void ones count too: each stands in the
# record of its parent for ever.
MAX_CHILDREN = MAX_ITEMS // 2
# A reason stands in a receipt for everybody to read.
MAX_REASON_BYTES = 256
UNOPENED = "unopened"
EXPIRED = "expired"
# Opened under a log that an adoption of the ledger gave up.
ADOPTED = "adopted"
# What the daemon brings about. A caller who gave one would blame seats, a clock or a disk for his
# own void.
OWN_REASONS = frozenset({UNOPENED, EXPIRED, ADOPTED})


class HandState(StrEnum):
    """Where a hand stands."""

    OPEN = "open"
    ROLLED = "rolled"
    SEALED = "sealed"
    CLOSED = "closed"
    VOID = "void"


ENDED = frozenset({HandState.CLOSED, HandState.VOID})


@dataclass(frozen=True)
class Hand:
    """Everything public about a hand.

    Attributes:
        opened: what fixes it.
        state: where it stands.
        spoken: what seats contributed, by name of the seat.
        roll: the sorted leaf hashes, once the window is over.
        runs: what was dealt, in order of places.
        children: ids of the hands that are dealt from its discards, in order of their opening.
        reason: why it is void; empty unless it is.

    Raises:
        InternalError: on construction, if the parts contradict each other.
    """

    opened: OpenedHand
    state: HandState = HandState.OPEN
    spoken: Mapping[str, Spoken] = field(default_factory=dict)
    roll: Roll | None = None
    runs: tuple[DealRun, ...] = ()
    reason: str = ""
    children: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no sequence of steps can lead to."""
        fault = _contradiction(self)
        if fault:
            raise InternalError(f"hand {self.opened.hand!r}: {fault}")

    # --- what it says ----------------------------------------------------------

    @property
    def dealt(self) -> int:
        """How many places were dealt."""
        return self.runs[-1].end if self.runs else 0

    @property
    def recipients(self) -> tuple[str, ...]:
        """Whom places 0, 1, ... went to."""
        return tuple(to for run in self.runs for to in run.recipients)

    @property
    def deals_root(self) -> bytes:
        """The root over the recipients, as the last receipt has it."""
        return deals_root(self.opened.open_hash, self.recipients)

    @property
    def leaves(self) -> list[bytes]:
        """The contributions in order of the roll; complete once the hand is sealed."""
        by_hash = {one.leaf_hash: one.leaf for one in self.spoken.values()}
        hashes = self.roll.leaf_hashes if self.roll else tuple(sorted(by_hash))
        return [by_hash[leaf_hash] for leaf_hash in hashes]

    def cut(self) -> list[int]:
        """Return for every place the leaf of D that is dealt there.

        Raises:
            WrongStateError: the hand is not sealed, and never was.
        """
        if not self.is_cut:
            raise self._wrong_state("its cut is asked for", HandState.SEALED)
        return cut(self.opened.open_hash, self.opened.size, self.leaves, self.opened.rules.sampler)

    @property
    def is_cut(self) -> bool:
        """Whether every leaf of the roll is there."""
        return self.roll is not None and all(one.leaf for one in self.spoken.values())

    def due_ns(self, expires_ns: int) -> int | None:
        """Return when something happens by itself, None for never.

        Args:
            expires_ns: when a hand that has not ended expires.
        """
        if self.state in ENDED:
            return None
        if self.state is HandState.OPEN:
            return min(expires_ns, self.opened.deadline_ns)
        if self.state is HandState.ROLLED and self.roll is not None:
            return min(expires_ns, self.roll.deadline_ns)
        return expires_ns

    # --- contributions -----------------------------------------------------------

    def with_spoken(self, seat: str, spoken: Spoken) -> "Hand":
        """Return the hand after a seat spoke; `contributions.judge` has said that it may."""
        return replace(self, spoken={**self.spoken, seat: spoken})

    def after_window(self, now_ns: int) -> "Hand":
        """Return the hand after what contributions and time have brought about.

        Goes on only where every seat has spoken or the deadline has passed; two
        steps may follow at once. Returns the hand itself where nothing is due.
        """
        if self.state is HandState.OPEN and self._window_is_over(now_ns):
            return self._rolled(now_ns).after_window(now_ns)
        if self.state is HandState.ROLLED:
            if self.is_cut:
                return replace(self, state=HandState.SEALED)
            if self.roll is not None and now_ns >= self.roll.deadline_ns:
                return self.void(UNOPENED)
        return self

    def require_window_over(self, now_ns: int) -> None:
        """Refuse to end a window at will. Where there is a roll it is over.

        Raises:
            WindowOpenError: seats may still speak.
        """
        if self.after_window(now_ns).state is HandState.OPEN:
            waiting = len(self.opened.seats) - len(self.spoken)
            raise WindowOpenError(
                f"hand {self.opened.hand!r} is {self.state.upper()}: {waiting} seats have not"
                " spoken, and the deadline of its receipt has not passed; the window ends by itself"
            )

    def _window_is_over(self, now_ns: int) -> bool:
        return len(self.spoken) == len(self.opened.seats) or now_ns >= self.opened.deadline_ns

    def _rolled(self, now_ns: int) -> "Hand":
        hashes = tuple(sorted(one.leaf_hash for one in self.spoken.values()))
        mode = self.opened.rules.contributions
        if mode is not Contributions.SEALED or not hashes:
            return replace(self, state=HandState.SEALED, roll=Roll(hashes, 0))
        deadline_ns = now_ns + self.opened.leaf_window_ns
        return replace(self, state=HandState.ROLLED, roll=Roll(hashes, deadline_ns))

    # --- dealing -----------------------------------------------------------------

    def run_of(self, run: DealRun) -> DealRun | None:
        """Return the run that was dealt at this place, None if it is the next one.

        Raises:
            PlaceDealtError: dealt with another claim or to others; an alarm.
            WrongPlaceError: a place between is not dealt yet.
        """
        if run.first_place > self.dealt:
            raise WrongPlaceError(
                f"hand {self.opened.hand!r} is {self.state.upper()}: place {run.first_place} is not"
                f" the next; expected first_place {self.dealt}"
            )
        if run.first_place == self.dealt:
            return None
        if run in self.runs:
            return run
        raise PlaceDealtError(
            f"hand {self.opened.hand!r}: place {run.first_place} was dealt with another claim or to"
            " other recipients; if no other program deals for this tenant, treat it as an alarm"
        )

    def deal(self, first_place: int, recipients: Sequence[str], claim_digest: bytes) -> "Hand":
        """Return the hand with further places dealt, or itself if this run was dealt before.

        Raises:
            RequestError: no recipients, or more than cards are left; names `deals`.
            PlaceDealtError, WrongPlaceError: as `run_of`.
            PlanDepartedError: the rules name another recipient for a place.
            WrongStateError: the hand is not sealed, or has ended.
        """
        run = DealRun(first_place, check_recipients(recipients), claim_digest)
        if self.run_of(run) is not None:
            return self
        if self.state is not HandState.SEALED:
            raise self._wrong_state("cards are dealt", HandState.SEALED)
        left = self.opened.size - self.dealt
        if len(run.recipients) > left:
            raise RequestError(
                "deals", f"ask for {len(run.recipients)} cards; {left} of the deck are left"
            )
        self._follow_plan(run)
        return replace(self, runs=(*self.runs, run))

    def _follow_plan(self, run: DealRun) -> None:
        planned = self.opened.rules.plan[run.first_place : run.end]
        for place, (to, plan) in enumerate(
            zip(run.recipients, planned, strict=False), run.first_place
        ):
            if to != plan:
                raise PlanDepartedError(
                    f"hand {self.opened.hand!r}: place {place} goes to {plan!r} by the plan of its"
                    f" rules, not to {to!r}"
                )

    def with_child(self, hand: str) -> "Hand":
        """Return the hand after another was opened from its discards.

        Raises:
            WrongStateError: it is not sealed, has ended, or has as many children as it may.
        """
        if self.state is not HandState.SEALED:
            raise self._wrong_state("its discards are dealt", HandState.SEALED)
        if len(self.children) >= MAX_CHILDREN:
            raise WrongStateError(
                f"hand {self.opened.hand!r} is {self.state.upper()} and has {len(self.children)}"
                f" hands from its discards, void ones among them; expected at most {MAX_CHILDREN}"
            )
        return replace(self, children=(*self.children, hand))

    # --- showing -----------------------------------------------------------------

    def require_shown(self, places: Sequence[int]) -> None:
        """Refuse to show what may not be shown now.

        Raises:
            RequestError: no places, not ascending, or beyond the deck; names `places`.
            NotDealtError: a place was not dealt, or burned, and the hand is not closed.
        """
        if not places or any(a >= b for a, b in pairwise(places)):
            raise RequestError("places", "expected at least one, ascending, each once")
        if places[-1] >= self.opened.size:
            raise RequestError(
                "places", f"{places[-1]} is beyond the deck of {self.opened.size} cards"
            )
        if self.state is HandState.CLOSED:
            return
        for place in self.withheld(places):
            raise NotDealtError(
                f"hand {self.opened.hand!r} is {self.state.upper()}: place {place} was not"
                " dealt to anybody; such places can be shown after the hand is closed"
            )

    def withheld(self, places: Sequence[int]) -> list[int]:
        """Return those of the places that were burned, or not dealt."""
        recipients = self.recipients
        return [place for place in places if place >= len(recipients) or recipients[place] == BURN]

    def require_reveal(self) -> None:
        """Refuse to reveal everything unless the rules say so and the hand is closed.

        Raises:
            RevealForbiddenError: the rules say reveal=never.
            WrongStateError: it is not closed.
        """
        if self.opened.rules.reveal is not Reveal.AFTER_CLOSE:
            raise RevealForbiddenError(
                f"hand {self.opened.hand!r}: its rules say reveal={self.opened.rules.reveal};"
                " nobody is shown its seeds"
            )
        if self.state is not HandState.CLOSED:
            raise self._wrong_state("it is revealed", HandState.CLOSED)

    # --- ending ------------------------------------------------------------------

    def close(self) -> "Hand":
        """Return the closed hand; itself if it is closed.

        Raises:
            WrongStateError: it was never sealed, or is void.
        """
        if self.state is HandState.CLOSED:
            return self
        if self.state is not HandState.SEALED:
            raise self._wrong_state("it is closed", HandState.SEALED)
        return replace(self, state=HandState.CLOSED)

    def void(self, reason: str) -> "Hand":
        """Return the void hand; itself if it is void for this reason.

        Raises:
            RequestError: the reason is empty or too long; names `reason`.
            WrongStateError: it has ended in another way.
        """
        check_reason(reason)
        if self.state is HandState.VOID and self.reason == reason:
            return self
        if self.state in ENDED:
            live = (HandState.OPEN, HandState.ROLLED, HandState.SEALED)
            raise self._wrong_state("it is voided", *live)
        return replace(self, state=HandState.VOID, reason=reason)

    def expire(self, now_ns: int, expires_ns: int) -> "Hand":
        """Return the hand after all that time has brought about."""
        if self.state not in ENDED and now_ns >= expires_ns:
            return self.void(EXPIRED)
        return self.after_window(now_ns)

    def _wrong_state(self, what: str, *expected: HandState) -> WrongStateError:
        names = " or ".join(state.upper() for state in expected)
        return WrongStateError(
            f"hand {self.opened.hand!r} is {self.state.upper()}; expected {names} when {what}"
        )

    def require_room(self, *, dealing: int, limit: int) -> None:
        """Refuse to begin to deal a hand while as many of its table are being dealt as may be.

        Raises:
            TableFullError: there are; close or void one first.
        """
        if not self.runs and dealing >= limit:
            raise TableFullError(
                f"table {self.opened.table!r}: {dealing} hands are being dealt, as many as"
                f" `[hands] per_table_dealing` allows; close or void one before"
                f" {self.opened.hand!r}"
            )


def check_reason(reason: str) -> None:
    """Refuse a reason that could not stand in a receipt.

    Raises:
        RequestError: it is empty or too long; names `reason`.
    """
    size = len(reason.encode("utf-8", "surrogatepass"))
    if not 1 <= size <= MAX_REASON_BYTES:
        raise RequestError("reason", f"has {size} bytes; expected 1 to {MAX_REASON_BYTES}")


def _contradiction(hand: Hand) -> str:
    """Return what is wrong with the parts of a hand; empty if nothing is."""
    names = {seat.name for seat in hand.opened.seats}
    hashes = sorted(one.leaf_hash for one in hand.spoken.values())
    checks = (
        (hand.spoken.keys() <= names, "somebody spoke who has no seat"),
        (len(set(hashes)) == len(hashes), "two seats have one leaf hash"),
        (bool(hand.reason) == (hand.state is HandState.VOID), "a reason without a void"),
        (
            hand.roll is None or list(hand.roll.leaf_hashes) == hashes,
            "its roll is not what was contributed",
        ),
        (hand.state is not HandState.OPEN or hand.roll is None, "a roll of an open window"),
        (
            hand.state not in {HandState.SEALED, HandState.CLOSED} or hand.is_cut,
            "sealed without all leaves",
        ),
        (
            hand.state is not HandState.ROLLED or hand.roll is not None,
            "rolled without a roll",
        ),
        (not hand.runs or hand.is_cut, "dealt before it was sealed"),
        (not hand.children or bool(hand.runs), "discards of a hand that was not dealt"),
        (_is_gapless(hand.runs) and hand.dealt <= hand.opened.size, "its deals leave a gap"),
    )
    return next((fault for holds, fault in checks if not holds), "")


def _is_gapless(runs: Sequence[DealRun]) -> bool:
    following = 0
    for run in runs:
        if run.first_place != following:
            return False
        following = run.end
    return True
