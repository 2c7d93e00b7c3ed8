"""Who dislikes a cut that only he can compute may end the hand, in public; he cannot have another.

Every sequence of steps from a closed roll on, by an operator and seats who do whatever they like.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from entropyd.draw.cards import Deck
from entropyd.errors import WrongStateError
from entropyd.hands import receipts, snapshot
from entropyd.hands.contributions import Contribution, Refused
from entropyd.hands.hand import EXPIRED, UNOPENED, Hand, HandState
from entropyd.hands.judgement import judge
from entropyd.hands.rules import Contributions
from entropyd.hands.seats import Seat
from entropyd.log.events import Event
from entropyd.log.merkle import leaf_hash
from entropyd.log.receipt import Receipt
from tests.fakes.opened_hands import OPENED_AT, SECOND, WINDOW, made, opened
from tests.reference import naive

SEATS = ("seat-1", "seat-2", "seat-3")
DURING, AFTER, AT_LAST = OPENED_AT + SECOND, OPENED_AT + 2 * WINDOW, OPENED_AT + 9 * WINDOW
# Long enough for three leaves, two deals and an end, in any order.
STEPS = 6

Step = Callable[[Hand], Hand]


def value(seat: str) -> bytes:
    return made(f"sealed by {seat}", 32)


def rolled(hand_id="hand-1") -> Hand:
    """Return a hand of which three seats have sealed a value each, and the roll is closed."""
    hand, _ = opened(
        Contributions.SEALED,
        seats=[Seat(seat) for seat in SEATS],
        deck=Deck(removed=tuple(range(6, 52))),
        hand=hand_id,
    )
    for seat in SEATS:
        leaf = naive.contribution_leaf(hand.opened.open_hash, seat, value(seat))
        sealed = Contribution(seat, leaf_hash=leaf_hash(leaf))
        hand = judge(hand, sealed, hand.opened.open_hash, DURING).hand
    return hand.after_window(DURING)


def only_cut(hand):
    """Return the cut that follows from what was sealed, by the reference."""
    leaves = [naive.contribution_leaf(hand.opened.open_hash, seat, value(seat)) for seat in SEATS]
    return naive.cut_permutation(hand.opened.open_hash, 6, leaves, "masked")


def open_value(seat: str, its_value: bytes, now: int = DURING) -> Step:
    def step(hand: Hand) -> Hand:
        said = Contribution(seat, value=its_value)
        return judge(hand, said, hand.opened.open_hash, now).hand.after_window(now)

    return step


def deal(hand: Hand) -> Hand:
    return hand.deal(hand.dealt, ["seat-1"], made("claim", 32))


STEPS_OF_ANYBODY: dict[str, Step] = {
    **{f"{seat} opens": open_value(seat, value(seat)) for seat in SEATS},
    **{f"{seat} opens another": open_value(seat, made("another", 32)) for seat in SEATS[:1]},
    "the deadline passes": lambda hand: hand.after_window(AFTER),
    "seat-1 opens late": open_value("seat-1", value("seat-1"), AFTER),
    "a card is dealt": deal,
    "closed": lambda hand: hand.close(),
    "voided": lambda hand: hand.void("a machine failed"),
    "expired": lambda hand: hand.expire(AT_LAST, AT_LAST),
}


def every_hand() -> Iterator[Hand]:
    """Yield every hand that so many steps lead to, each once."""
    known = {snapshot.encode(rolled()): rolled()}
    edge = list(known.values())
    for _ in range(STEPS):
        found = {snapshot.encode(after): after for hand in edge for after in following(hand)}
        edge = [hand for key, hand in found.items() if key not in known]
        known |= found
    yield from known.values()


def following(hand: Hand) -> Iterator[Hand]:
    """Yield what each step that is allowed makes of a hand."""
    for step in STEPS_OF_ANYBODY.values():
        with suppress(WrongStateError):
            yield step(hand)


@pytest.fixture(scope="module")
def hands() -> list[Hand]:
    return list(every_hand())


def test_every_state_is_reached(hands):
    """And enough of them: what follows is about something."""
    reached = {(hand.state, hand.is_cut, hand.reason) for hand in hands}
    assert {
        (HandState.ROLLED, False, ""),
        (HandState.SEALED, True, ""),
        (HandState.CLOSED, True, ""),
        (HandState.VOID, False, UNOPENED),
        (HandState.VOID, False, "a machine failed"),
        (HandState.VOID, False, EXPIRED),
        (HandState.VOID, True, "a machine failed"),
        (HandState.VOID, True, EXPIRED),
    } == reached
    assert len(hands) > 40


def test_a_roll_has_one_cut_or_none(hands):
    """Whoever opens what: the cut is that of all sealed values, or there is none."""
    for hand in hands:
        if hand.is_cut:
            assert only_cut(hand) == hand.cut()
        else:
            with pytest.raises(WrongStateError, match="cut"):
                hand.cut()


def test_no_card_leaves_before_every_value_is_there(hands):
    """So that who withholds one has seen nothing of what it would bring."""
    for hand in hands:
        assert hand.is_cut or hand.dealt == 0
        if not hand.is_cut:
            with pytest.raises(WrongStateError):
                deal(hand)


def test_every_end_but_a_close_is_a_void_that_says_so(hands):
    """In a receipt, with its reason and the number of cards that had left."""
    voids = [hand for hand in hands if hand.state is HandState.VOID]
    assert voids
    for hand in voids:
        read = Receipt.decode(receipts.end_receipt(hand, "entropyd.example/log", 9, 0))
        said = (read.event, read.hand, read.sequence, read.reason, read.dealt)
        assert (Event.VOID, "hand-1", 1, hand.reason, hand.dealt) == said


def test_an_end_is_an_end(hands):
    """No step leads out of CLOSED or VOID; the same one again changes nothing."""
    ended = {HandState.CLOSED, HandState.VOID}
    for hand in (hand for hand in hands if hand.state in ended):
        left = {snapshot.encode(after) for after in following(hand)}
        assert left == {snapshot.encode(hand)}


def test_nobody_ends_a_window_at_will():
    """A server that claims that a seat withheld has to wait for the deadline that it signed."""
    hand = open_value("seat-2", value("seat-2"))(rolled())
    assert hand.roll is not None
    for now in (DURING, hand.roll.deadline_ns - 1):
        assert hand.after_window(now) is hand
    assert hand.after_window(hand.roll.deadline_ns).reason == UNOPENED


def test_what_was_sealed_for_a_void_hand_is_no_contribution_to_the_next():
    """The next hand has another O: a cut that was learned by withholding is worth nothing there."""
    void, another = rolled().after_window(AFTER), rolled("hand-2")
    assert void.reason == UNOPENED
    for seat in SEATS:
        said = Contribution(seat, value=value(seat))
        judged = judge(another, said, void.opened.open_hash, DURING)
        assert (another, Refused.OTHER_HAND) == (judged.hand, judged.refused)
    assert only_cut(void) != only_cut(another)
