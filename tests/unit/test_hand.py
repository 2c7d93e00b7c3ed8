"""A hand dealt card by card: every step, every wrong order, and no invalid hand at all."""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from entropyd.draw.cards import Deck
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
from entropyd.hands import snapshot
from entropyd.hands.contributions import Contribution, Refused, Roll, Spoken
from entropyd.hands.cut import contribution_leaf
from entropyd.hands.deals import DealRun
from entropyd.hands.hand import EXPIRED, UNOPENED, Hand, HandState
from entropyd.hands.judgement import judge
from entropyd.hands.rules import Contributions, Parent, Reveal
from entropyd.hands.seats import MAX_SEATS, Seat, check_seats, has_signed, signed_bytes
from entropyd.log import merkle
from tests.fakes.opened_hands import OPENED_AT, SECOND, WINDOW, made, opened
from tests.reference import naive

NONE, OPEN, SEALED = Contributions
KEY = Ed25519PrivateKey.from_private_bytes(made("seat key", 32))
PUBLIC = KEY.public_key().public_bytes_raw()
SEATS = (Seat("seat-1"), Seat("seat-2", PUBLIC), Seat("seat-10"))
DURING = OPENED_AT + SECOND
AFTER = OPENED_AT + WINDOW
CLAIM, OTHER_CLAIM = made("claim", 32), made("other claim", 32)


def value(seat):
    return made(f"value of {seat}", 32)


def leaf(hand, seat):
    return contribution_leaf(hand.opened.open_hash, seat, value(seat))


def signature(hand, seat):
    return KEY.sign(signed_bytes(merkle.leaf_hash(leaf(hand, seat)))) if seat == "seat-2" else b""


def plain(hand, seat):
    """The contribution of a seat as it is sent under `open`."""
    return Contribution(seat, value=value(seat), signature=signature(hand, seat))


def hashed(hand, seat):
    """The contribution of a seat as it is sent under `sealed` before the roll."""
    return Contribution(
        seat, leaf_hash=merkle.leaf_hash(leaf(hand, seat)), signature=signature(hand, seat)
    )


def say(hand, *contributions, at=DURING):
    """Have contributions accepted, one after the other."""
    for one in contributions:
        judged = judge(hand, one, hand.opened.open_hash, at)
        assert judged.refused is None
        hand = judged.hand
    return hand


def sealed_hand(**more):
    hand, deck = opened(NONE, **more)
    return hand.after_window(OPENED_AT), deck


def test_nobody_contributes_and_the_hand_is_sealed_at_once():
    """Nothing moves, and R is that of nothing."""
    hand, _ = sealed_hand()
    assert hand.state is HandState.SEALED
    assert hand.roll is not None
    assert hand.roll.root == merkle.EMPTY_ROOT
    assert hand.cut() == list(range(52))


def test_open_contributions_seal_the_hand_when_every_seat_has_spoken():
    """Not before; the cut is that of the naive reference."""
    hand, _ = opened(OPEN, seats=SEATS)
    hand = say(hand, plain(hand, "seat-10"), plain(hand, "seat-1"))
    assert hand.after_window(DURING) is hand
    hand = say(hand, plain(hand, "seat-2")).after_window(DURING)
    assert hand.state is HandState.SEALED
    leaves = naive.sort_contributions([leaf(hand, seat.name) for seat in SEATS])
    assert leaves == hand.leaves
    assert naive.contributions_root_R(leaves) == hand.roll.root
    assert naive.cut_permutation(hand.opened.open_hash, 52, leaves, "masked") == hand.cut()


def test_a_window_ends_at_its_deadline_and_not_before():
    """A seat that never spoke is in no roll."""
    hand, _ = opened(OPEN, seats=SEATS)
    hand = say(hand, plain(hand, "seat-1"))
    with pytest.raises(WindowOpenError, match="is OPEN: 2 seats have not"):
        hand.require_window_over(AFTER - 1)
    hand.require_window_over(AFTER)
    assert hand.after_window(AFTER).state is HandState.SEALED
    assert [leaf(hand, "seat-1")] == hand.after_window(AFTER).leaves


def test_sealed_contributions_take_a_roll_and_then_their_leaves():
    """OPEN, ROLLED with a deadline of its own, SEALED."""
    hand, _ = opened(SEALED, seats=SEATS)
    hand = say(hand, *(hashed(hand, seat.name) for seat in SEATS)).after_window(DURING)
    assert hand.state is HandState.ROLLED
    assert hand.roll.deadline_ns == DURING + WINDOW
    for seat in SEATS[:2]:
        hand = say(hand, Contribution(seat.name, value=value(seat.name))).after_window(DURING)
        assert hand.state is HandState.ROLLED
        with pytest.raises(WrongStateError, match="is ROLLED; expected SEALED when cards"):
            hand.deal(0, ["seat-1"], CLAIM)
    hand = say(hand, Contribution("seat-10", value=value("seat-10"))).after_window(DURING)
    assert hand.state is HandState.SEALED
    assert naive.sort_contributions([leaf(hand, seat.name) for seat in SEATS]) == hand.leaves


def test_a_leaf_that_is_missing_voids_the_hand():
    """At the deadline of the roll, not before."""
    hand, _ = opened(SEALED, seats=SEATS)
    hand = say(hand, *(hashed(hand, seat.name) for seat in SEATS)).after_window(DURING)
    hand = say(hand, Contribution("seat-1", value=value("seat-1")))
    late = DURING + WINDOW
    assert hand.after_window(late - 1) is hand
    assert (HandState.VOID, UNOPENED) == (
        hand.after_window(late).state,
        hand.after_window(late).reason,
    )


def test_a_sealed_window_in_which_nobody_spoke_seals_the_hand():
    """There is nothing to open: two steps follow at once."""
    hand, _ = opened(SEALED, seats=SEATS)
    assert hand.after_window(AFTER).state is HandState.SEALED


def _refusals():
    hand, _ = opened(OPEN, seats=SEATS)
    spoken = say(hand, plain(hand, "seat-1"))
    sealed, _ = opened(SEALED, seats=SEATS)
    sealed_spoken = say(sealed, *(hashed(sealed, seat) for seat in ("seat-1", "seat-2")))
    rolled = sealed_spoken.after_window(AFTER)
    own = hand.opened.open_hash
    theirs = sealed.opened.open_hash
    other = Contribution("seat-1", value=made("another", 32))
    copied = Contribution("seat-10", leaf_hash=hashed(sealed, "seat-1").leaf_hash)
    unsigned = Contribution("seat-2", value=value("seat-2"))
    yield "another hand", hand, plain(hand, "seat-1"), theirs, DURING, Refused.OTHER_HAND
    yield (
        "unknown seat",
        hand,
        Contribution("seat-3", value=value("x")),
        own,
        DURING,
        Refused.UNKNOWN_SEAT,
    )
    yield "after the deadline", hand, plain(hand, "seat-1"), own, AFTER, Refused.WINDOW_OVER
    yield (
        "after the seal",
        hand.after_window(AFTER),
        plain(hand, "seat-1"),
        own,
        DURING,
        Refused.WINDOW_OVER,
    )
    yield "something else", spoken, other, own, DURING, Refused.ALREADY_SPOKEN
    yield (
        "a hash under open",
        hand,
        hashed(hand, "seat-1"),
        own,
        DURING,
        Refused.WRONG_FORM,
    )
    yield (
        "a value before the roll",
        sealed,
        plain(sealed, "seat-1"),
        theirs,
        DURING,
        Refused.WRONG_FORM,
    )
    yield (
        "its value before the roll",
        sealed_spoken,
        plain(sealed, "seat-1"),
        theirs,
        DURING,
        Refused.WRONG_FORM,
    )
    yield "copied", sealed_spoken, copied, theirs, DURING, Refused.COPIED
    yield "not signed", hand, unsigned, own, DURING, Refused.BAD_SIGNATURE
    yield (
        "signed by another",
        hand,
        replace(unsigned, signature=bytes(64)),
        own,
        DURING,
        Refused.BAD_SIGNATURE,
    )
    yield (
        "another value than sealed",
        rolled,
        other,
        theirs,
        AFTER,
        Refused.NOT_IN_ROLL,
    )
    yield (
        "a seat that is in no roll",
        rolled,
        plain(sealed, "seat-10"),
        theirs,
        AFTER,
        Refused.NOT_IN_ROLL,
    )
    yield (
        "opened after the roll's deadline",
        rolled,
        plain(sealed, "seat-1"),
        theirs,
        AFTER + WINDOW,
        Refused.WINDOW_OVER,
    )


@pytest.mark.parametrize(
    ("hand", "contribution", "quoted", "at", "refused"),
    [case[1:] for case in _refusals()],
    ids=[case[0] for case in _refusals()],
)
def test_a_refused_contribution_changes_nothing(hand, contribution, quoted, at, refused):
    """It is named, and the hand is the same one."""
    judged = judge(hand, contribution, quoted, at)
    assert refused is judged.refused
    assert judged.hand is hand


@pytest.mark.parametrize("mode", [OPEN, SEALED])
def test_the_same_contribution_is_accepted_for_ever(mode):
    """Also after its window, and after the end, and it changes nothing."""
    hand, _ = opened(mode, seats=SEATS[:1])
    first = plain(hand, "seat-1") if mode is OPEN else hashed(hand, "seat-1")
    hand = say(hand, first)
    hand = say(hand.after_window(AFTER), plain(hand, "seat-1"), at=AFTER).after_window(AFTER)
    closed = hand.close()
    assert closed.state is HandState.CLOSED
    for again in (first, plain(hand, "seat-1")):
        judged = judge(closed, again, hand.opened.open_hash, AFTER + 9 * WINDOW)
        assert judged.refused is None
        assert judged.hand is closed


@pytest.mark.parametrize(
    "parts",
    [{}, {"value": bytes(32), "leaf_hash": bytes(32)}, {"value": bytes(31)}, {"leaf_hash": b"x"}],
)
def test_what_is_no_contribution_at_all(parts):
    """Neither, both, or another length: the caller is told, not the seat."""
    with pytest.raises(RequestError, match="contributions"):
        Contribution("seat-1", **parts)


def test_cards_are_dealt_in_order_each_with_its_recipient():
    """A burn is a place like any other."""
    hand, _ = sealed_hand()
    hand = hand.deal(0, ["seat-1", "seat-2", "seat-1", "seat-2"], CLAIM)
    hand = hand.deal(4, ["burn", "board", "board", "board"], CLAIM)
    assert hand.dealt == 8
    assert hand.recipients == ("seat-1", "seat-2") * 2 + ("burn", "board", "board", "board")


def test_the_same_deal_again_changes_nothing():
    """Also when other cards were dealt meanwhile, and after the close."""
    hand, _ = sealed_hand()
    hand = hand.deal(0, ["seat-1"], CLAIM).deal(1, ["board"], OTHER_CLAIM)
    assert hand.deal(0, ["seat-1"], CLAIM) is hand
    closed = hand.close()
    assert closed.deal(1, ["board"], OTHER_CLAIM) is closed


@pytest.mark.parametrize(
    ("first_place", "recipients", "claim", "error"),
    [
        (0, ["seat-1", "seat-2"], OTHER_CLAIM, PlaceDealtError),
        (0, ["seat-2", "seat-1"], CLAIM, PlaceDealtError),
        (0, ["seat-1"], CLAIM, PlaceDealtError),
        (1, ["seat-2"], CLAIM, PlaceDealtError),
        (3, ["seat-1"], CLAIM, WrongPlaceError),
        (2, [], CLAIM, RequestError),
        (2, ["a seat"], CLAIM, RequestError),
        (2, ["seat-1"] * 51, CLAIM, RequestError),
    ],
)
def test_a_wrong_deal_is_refused(first_place, recipients, claim, error):
    """Another claim, other recipients, a wrong place, beyond the deck."""
    hand, _ = sealed_hand()
    hand = hand.deal(0, ["seat-1", "seat-2"], CLAIM)
    with pytest.raises(error):
        hand.deal(first_place, recipients, claim)


def test_all_cards_can_be_dealt_and_no_more():
    """Place n does not exist."""
    hand, _ = sealed_hand(deck=Deck("short36", 1, (4, 17)))
    hand = hand.deal(0, ["board"] * 34, CLAIM)
    with pytest.raises(RequestError, match="ask for 1 cards; 0 of the deck are left"):
        hand.deal(34, ["board"], CLAIM)


def test_a_plan_is_followed_as_far_as_it_goes():
    """A deal that departs from it is refused, and the place is named."""
    hand, _ = sealed_hand(plan=("seat-1", "seat-2", "burn"))
    with pytest.raises(PlanDepartedError, match="place 1 goes to 'seat-2' by the plan"):
        hand.deal(0, ["seat-1", "seat-1"], CLAIM)
    hand = hand.deal(0, ["seat-1", "seat-2"], CLAIM)
    with pytest.raises(PlanDepartedError, match="place 2 goes to 'burn'"):
        hand.deal(2, ["board", "board"], CLAIM)
    assert hand.deal(2, ["burn", "board", "anybody"], CLAIM).dealt == 5


def test_only_so_many_hands_of_a_table_are_dealt():
    """One that is being dealt goes on; the next has to wait."""
    hand, _ = sealed_hand()
    with pytest.raises(TableFullError, match=r"per_table_dealing"):
        hand.require_room(dealing=1, limit=1)
    hand.require_room(dealing=0, limit=1)
    hand.deal(0, ["board"], CLAIM).require_room(dealing=1, limit=1)


def test_showing():
    """Only what was dealt to somebody; after the close everything."""
    hand, _ = sealed_hand()
    hand = hand.deal(0, ["seat-1", "burn", "board"], CLAIM)
    hand.require_shown([0, 2])
    for place in (1, 3, 51):
        with pytest.raises(NotDealtError, match=f"is SEALED: place {place} was not dealt"):
            hand.require_shown([0, place] if place else [place])
    with pytest.raises(NotDealtError):
        hand.void("misdeal").require_shown([3])
    hand.close().require_shown([0, 1, 2, 3, 51])
    for wrong in ([], [1, 1], [2, 1], [52]):
        with pytest.raises(RequestError, match="places"):
            hand.close().require_shown(wrong)


def test_revealing():
    """Only where the rules say so, and only after the close."""
    hand, _ = sealed_hand()
    with pytest.raises(RevealForbiddenError, match="reveal=never"):
        hand.close().require_reveal()
    hand, _ = sealed_hand(reveal=Reveal.AFTER_CLOSE)
    for not_closed in (hand, hand.void("misdeal")):
        with pytest.raises(WrongStateError, match="expected CLOSED when it is revealed"):
            not_closed.require_reveal()
    hand.close().require_reveal()


def test_ending_twice():
    """The same again is the same hand; another ending is refused."""
    hand, _ = sealed_hand()
    closed, void = hand.close(), hand.void("misdeal")
    assert closed.close() is closed
    assert void.void("misdeal") is void
    for step in (void.close, lambda: closed.void("misdeal"), lambda: void.void("other")):
        with pytest.raises(WrongStateError):
            step()
    with pytest.raises(
        WrongStateError, match="expected OPEN or ROLLED or SEALED when it is voided"
    ):
        closed.void("misdeal")


@pytest.mark.parametrize("reason", ["", "x" * 257, "é" * 129])
def test_a_void_has_a_reason(reason):
    """Of 1 to 256 bytes."""
    with pytest.raises(RequestError, match="reason"):
        sealed_hand()[0].void(reason)


def test_a_hand_expires():
    """Before it has ended, at its time, whatever else is due."""
    for hand in (opened(OPEN, seats=SEATS)[0], sealed_hand()[0]):
        expires = OPENED_AT + WINDOW
        assert hand.expire(expires - 1, expires) is hand
        assert (HandState.VOID, EXPIRED) == (
            hand.expire(expires, expires).state,
            hand.expire(expires, expires).reason,
        )


def test_when_something_is_due():
    """The window's deadline, the roll's, the table's policy, or never."""
    expires = OPENED_AT + 100 * WINDOW
    hand, _ = opened(SEALED, seats=SEATS)
    assert hand.due_ns(expires) == AFTER
    rolled = say(hand, *(hashed(hand, seat.name) for seat in SEATS)).after_window(DURING)
    assert rolled.due_ns(expires) == DURING + WINDOW
    assert rolled.due_ns(DURING) == DURING
    assert sealed_hand()[0].due_ns(expires) == expires
    assert sealed_hand()[0].close().due_ns(expires) is None


def test_no_cut_before_the_seal():
    """Nobody is told a cut that contributions can still move."""
    hand, _ = opened(OPEN, seats=SEATS)
    with pytest.raises(WrongStateError, match="is OPEN; expected SEALED when its cut"):
        hand.cut()


def _impossible():
    hand, _ = opened(OPEN, seats=SEATS)
    one = Spoken(bytes(32), b"leaf")
    closed_roll = Roll((), 0)
    run = DealRun(0, ("board",), CLAIM)
    yield "a stranger spoke", hand, {"spoken": {"nobody": one}}
    yield "one leaf of two seats", hand, {"spoken": {"seat-1": one, "seat-2": one}}
    yield "a reason without a void", hand, {"reason": "x"}
    yield "a void without a reason", hand, {"state": HandState.VOID}
    yield "a roll of others", hand, {"state": HandState.SEALED, "roll": Roll((bytes(32),), 0)}
    yield "a roll of an open window", hand, {"roll": closed_roll}
    yield "sealed without a roll", hand, {"state": HandState.SEALED}
    yield "closed without a roll", hand, {"state": HandState.CLOSED}
    yield "rolled without a roll", hand, {"state": HandState.ROLLED}
    yield "dealt before the seal", hand, {"runs": (run,)}
    sealed, _ = sealed_hand()
    yield "a gap in the deal", sealed, {"runs": (run, DealRun(2, ("board",), CLAIM))}
    yield "beyond the deck", sealed, {"runs": (DealRun(0, ("board",) * 53, CLAIM),)}
    yield (
        "sealed with a leaf missing",
        hand,
        {
            "state": HandState.SEALED,
            "spoken": {"seat-1": Spoken(bytes(32))},
            "roll": Roll((bytes(32),), 0),
        },
    )


@pytest.mark.parametrize(
    ("hand", "parts"),
    [case[1:] for case in _impossible()],
    ids=[case[0] for case in _impossible()],
)
def test_no_invalid_hand_can_be_made(hand, parts):
    """Not from a damaged record either: whoever reads one meets this."""
    with pytest.raises(InternalError, match="hand 'hand-1'"):
        replace(hand, **parts)


def test_a_hand_comes_back_as_it_was():
    """From bytes, in every state."""
    hand, _ = opened(SEALED, seats=SEATS, plan=("seat-1",), replaces=bytes(32))
    hands = [hand]
    hands.append(say(hand, *(hashed(hand, seat.name) for seat in SEATS)).after_window(DURING))
    hands.append(
        say(
            hands[-1], *(Contribution(seat.name, value=value(seat.name)) for seat in SEATS)
        ).after_window(DURING)
    )
    dealt = hands[-1].deal(0, ["seat-1", "burn"], CLAIM)
    hands.append(dealt.deal(2, ["seat-2", "seat-2", "seat-1"], CLAIM).deal(5, ["burn"], bytes(32)))
    hands += [hands[-1].close(), hands[-1].void("misdeal, with \u00e9")]
    states = [snapshot.decode(snapshot.encode(one)) for one in hands]
    assert hands == states
    assert ["open", "rolled", "sealed", "sealed", "closed", "void"] == [one.state for one in states]
    with pytest.raises(InternalError, match="a stored hand cannot be read"):
        snapshot.decode(snapshot.encode(hand)[:-1])


def test_a_hand_of_discards_has_as_many_cards():
    """As were discarded, whatever the deck was, and they are the discards."""
    hand, deck = opened(NONE, parent=Parent(bytes(32), 7))
    assert deck.size == hand.opened.size == 7
    assert list(range(3, 10)) == sorted(deck.items)
    order = naive.shuffle(7, deck.seeds, deck.binding, "masked")
    assert [3 + place for place in order] == list(deck.items)
    assert len(hand.after_window(OPENED_AT).cut()) == 7


def test_seats():
    """In byte order, each once, with a key of 32 bytes or none; at most 64."""
    assert ["seat-1", "seat-10", "seat-2"] == [seat.name for seat in check_seats(SEATS)]
    for wrong in (
        [Seat("a"), Seat("a", PUBLIC)],
        [Seat("a b")],
        [Seat("a", bytes(31))],
        [Seat(str(number)) for number in range(MAX_SEATS + 1)],
    ):
        with pytest.raises(RequestError, match="seats"):
            check_seats(wrong)


def test_a_key_that_is_no_point_has_signed_nothing():
    """Ed25519 has byte strings that are no key; they are taken as they are, and verify nothing."""
    assert not has_signed(Seat("a", b"\xff" * 32), bytes(32), bytes(64))


def test_repr_tells_no_claim():
    """What a run shows of itself is what everybody may know."""
    assert CLAIM.hex() not in repr(DealRun(0, ("board",), CLAIM))
    assert "claim" not in repr(DealRun(0, ("board",), CLAIM))


def test_the_hand_is_public():
    """No part of a hand repeats a secret of its deck."""
    hand, deck = sealed_hand()
    for secret in (*deck.seeds, deck.blinding, deck.salt_key, deck.encoded_items):
        assert secret.hex() not in snapshot.encode(hand).decode()
        assert repr(secret)[2:-1] not in repr(hand)


def test_hands_are_values():
    """Two that took the same steps are equal."""
    assert sealed_hand()[0] == sealed_hand()[0]
    assert isinstance(sealed_hand()[0], Hand)
