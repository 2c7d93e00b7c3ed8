"""What becomes of a contribution, in every situation: production and the text of the protocol.

Every stage of a small hand, every seat, every thing that it could say, in time and late, signed and
not: the same reason by both, and a refusal changes nothing.
"""

from itertools import product

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from entropyd.hands.contributions import Contribution
from entropyd.hands.cut import contribution_leaf
from entropyd.hands.judgement import judge
from entropyd.hands.rules import Contributions
from entropyd.hands.seats import Seat, signed_bytes
from entropyd.log import merkle
from tests.fakes.opened_hands import OPENED_AT, SECOND, WINDOW, made, opened
from tests.reference import naive_hands

KEY = Ed25519PrivateKey.from_private_bytes(made("seat key", 32))
SEATS = (Seat("seat-1"), Seat("seat-2", KEY.public_key().public_bytes_raw()), Seat("seat-3"))
DURING, AFTER = OPENED_AT + SECOND, OPENED_AT + WINDOW
TIMES = (DURING, AFTER, AFTER + WINDOW)


def value_of(seat, which="own"):
    return made(f"{which} value of {seat}", 32)


def hash_of(hand, seat, which="own"):
    leaf = contribution_leaf(hand.opened.open_hash, seat, value_of(seat, which))
    return merkle.leaf_hash(leaf)


def said(hand, seat, form, which="own", *, signed=True):
    """Return a contribution of a seat, its own or another one."""
    what = {"leaf_hash": hash_of(hand, seat, which)}
    if which == "copied":
        what = {"leaf_hash": hash_of(hand, "seat-1")}
    elif form == "value":
        what = {"value": value_of(seat, which)}
    hashed = what.get("leaf_hash") or hash_of(hand, seat, which)
    by = KEY if signed else Ed25519PrivateKey.from_private_bytes(made("another key", 32))
    return Contribution(seat, signature=by.sign(signed_bytes(hashed)), **what)


def accepted(hand, contribution, at=DURING):
    found = judge(hand, contribution, hand.opened.open_hash, at)
    assert found.refused is None
    return found.hand


def stages(mode):
    """Yield every stage of a hand to which two of three seats contribute."""
    hand, _ = opened(mode, seats=SEATS)
    yield "fresh", hand
    form = "value" if mode is Contributions.OPEN else "leaf_hash"
    one = accepted(hand, said(hand, "seat-1", form))
    yield "one spoke", one
    yield "void before the roll", one.void("misdeal")
    two = accepted(one, said(hand, "seat-2", form))
    yield "two spoke", two
    over = two.after_window(AFTER)
    yield "the window is over", over
    yield "void after it", over.void("misdeal")
    for seat in ("seat-1", "seat-2") if mode is Contributions.SEALED else ():
        over = accepted(over, said(hand, seat, "value"), AFTER)
        yield f"{seat} opened", over
    sealed = over.after_window(AFTER)
    yield "sealed", sealed
    yield "closed", sealed.close()


def as_plain(hand):
    """Return the hand in the reference's words."""
    return {
        "O": hand.opened.open_hash,
        "mode": hand.opened.rules.contributions.value,
        "state": hand.state.value,
        "seats": [seat.name for seat in hand.opened.seats],
        "spoken": {seat: (one.leaf_hash, bool(one.leaf)) for seat, one in hand.spoken.items()},
        "deadline": hand.opened.deadline_ns,
        "roll_deadline": hand.roll.deadline_ns if hand.roll else None,
    }


def everything(hand):
    """Yield everything that anybody could say: the contribution, and whether it is signed."""
    names = [*(seat.name for seat in SEATS), "seat-9"]
    for seat, form, which, signed in product(
        names, ("value", "leaf_hash"), ("own", "another", "copied"), (True, False)
    ):
        if which == "copied" and form == "value":
            continue
        yield said(hand, seat, form, which, signed=signed), signed or seat != "seat-2"


CASES = [(mode, name) for mode in list(Contributions)[1:] for name, _ in stages(mode)]


@pytest.mark.parametrize(("mode", "name"), CASES, ids=str)
def test_the_reason_is_that_of_the_protocol(mode, name):
    """In each situation, whoever says it, whatever, whenever."""
    hand = dict(stages(mode))[name]
    for contribution, signed in everything(hand):
        plain = {"seat": contribution.seat, "signed": signed}
        if contribution.value:
            plain["value"] = contribution.value
        else:
            plain["leaf_hash"] = contribution.leaf_hash
        for quoted, now in product((hand.opened.open_hash, made("another O", 32)), TIMES):
            found = judge(hand, contribution, quoted, now)
            expected = naive_hands.judge(as_plain(hand), plain | {"O": quoted}, now)
            assert expected == (found.refused.value if found.refused else None)
            assert found.refused is None or found.hand is hand


def test_a_note_names_the_leaf_of_what_was_said_also_where_it_is_another_hands():
    """A seat knows its contribution again by the O that it quoted, refused or not."""
    for mode, name in CASES:
        hand = dict(stages(mode))[name]
        for contribution, _ in everything(hand):
            for quoted in (hand.opened.open_hash, made("another O", 32)):
                leaf = contribution_leaf(quoted, contribution.seat, contribution.value or bytes(32))
                expected = contribution.leaf_hash or merkle.leaf_hash(leaf)
                assert expected == judge(hand, contribution, quoted, DURING).leaf_hash


def test_every_reason_is_met():
    """And acceptance too. A leaf names its seat, so an open contribution cannot be copied."""
    met: dict[Contributions, set[str | None]] = {mode: set() for mode in list(Contributions)[1:]}
    for mode, name in CASES:
        hand = dict(stages(mode))[name]
        for contribution, _ in everything(hand):
            for quoted, now in product((hand.opened.open_hash, bytes(32)), TIMES):
                met[mode].add(judge(hand, contribution, quoted, now).refused)
    reasons = {None, *naive_hands.REASONS}
    assert reasons == met[Contributions.SEALED]
    assert reasons - {"not-in-roll", "copied"} == met[Contributions.OPEN]
