"""Bags: what is left is what was there, less what was drawn, with what was put back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import InternalError, RequestError
from entropyd.games.bags import BagRules, BagState, after_draw, custom_tiles, full_bag
from entropyd.games.draw_rules import decode
from entropyd.games.presets import PRESETS

FIRST = (3, 0, 2)
TILES = custom_tiles(["apple", "pear", "plum"])


def bag(counts, m, **other):
    return BagRules(**{"bag": "main", "counts": counts, "m": m, "tiles": TILES} | other)


# --- From draw to draw ---------------------------------------------------------


@settings(deadline=None)
@given(data=st.data())
def test_no_tile_is_lost_or_made(data):
    """Over any draws and returns: what is out and what is left are what was there, kind by kind."""
    first = tuple(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any)))
    tiles, state = custom_tiles(["x"] * len(first)), None
    out: list[int] = []
    for _ in range(data.draw(st.integers(1, 6))):
        returns: list[int] = data.draw(st.permutations(out))[: data.draw(st.integers(0, len(out)))]
        counts = first if state is None else state.counts_after(returns)
        for kind in returns:
            out.remove(kind)
        if not any(counts):
            break
        rules = BagRules(
            bag="b", counts=counts, m=data.draw(st.integers(1, sum(counts))), tiles=tiles
        )
        values = [data.draw(st.integers(0, bound - 1)) for bound in rules.bounds()]
        drawn = rules.result(values)
        state = after_draw(state, rules, drawn)
        out += drawn
        assert first == tuple(left + out.count(kind) for kind, left in enumerate(state.left))


def test_a_bag_is_drawn_to_its_last_tile():
    """All of them come, each as often as it was there; then nothing can be drawn."""
    rules = bag(FIRST, 5)
    drawn = rules.result([0] * 5)
    assert sorted(drawn) == [0, 0, 0, 2, 2]
    state = after_draw(None, rules, drawn)
    assert state.left == (0, 0, 0)
    with pytest.raises(RequestError) as refused:
        bag(state.counts_after([]), 1)
    assert refused.value.field == "counts"


def test_returned_tiles_can_come_again():
    """An exchange: put back, then drawn from all that is in."""
    state = BagState(TILES, FIRST, (0, 0, 1))
    counts = state.counts_after([0, 2, 0])
    assert counts == (2, 0, 2)
    assert after_draw(state, bag(counts, 4), [0, 0, 2, 2]).left == (0, 0, 0)
    assert state.left == (0, 0, 1)


@pytest.mark.parametrize("kinds", [[0, 0], [0, 0, 0, 0], [0, 1, 2], [2, 2, 2]])
def test_a_result_that_the_bag_cannot_give_is_a_defect(kinds):
    """Too few tiles, too many, or one that was not there."""
    with pytest.raises(InternalError, match="3 tiles"):
        after_draw(None, bag(FIRST, 3), kinds)


# --- Contents ------------------------------------------------------------------


def test_later_draws_may_repeat_what_the_bag_held_or_leave_it_out():
    """What it held at first, not what is left."""
    state = BagState(TILES, FIRST, (1, 0, 1))
    state.check_contents(TILES, None)
    state.check_contents(TILES, [3, 0, 2])


@pytest.mark.parametrize("counts", [(1, 0, 1), (3, 0, 3), (3, 0, 2, 0), ()])
def test_other_contents_are_refused(counts):
    """A bag is not refilled; the text says what to do instead."""
    with pytest.raises(RequestError, match="another bag id") as refused:
        BagState(TILES, FIRST, (1, 0, 1)).check_contents(TILES, counts)
    assert refused.value.field == "counts"


def test_other_tiles_are_refused():
    """The same counts of other kinds are another bag."""
    with pytest.raises(RequestError, match="another bag id") as refused:
        BagState(TILES, FIRST, FIRST).check_contents(custom_tiles(["a", "b", "c"]), None)
    assert refused.value.field == "tiles"


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("bag", {"bag": ""}),
        ("bag", {"bag": "Main"}),
        ("bag", {"bag": "a" * 65}),
        ("bag", {"bag": "a\n"}),
        ("counts", {"counts": ()}),
        ("counts", {"counts": (0, 0, 0)}),
        ("counts", {"counts": (3, -1, 2)}),
        ("counts", {"counts": (1001,)}),
        ("counts", {"counts": (1000,) * 10 + (1,)}),
        ("counts", {"counts": (1,) * 257}),
        ("counts", {"counts": (2,) + (1,) * 27, "tiles": "dominoes"}),
        ("counts", {"counts": (1,) * 27, "tiles": "dominoes"}),
        ("m", {"m": 0}),
        ("m", {"m": 6}),
        ("tiles", {"tiles": "german"}),
    ],
)
def test_a_bag_that_must_not_be_is_refused_and_the_field_named(field, other):
    """Empty, too large, other than its tiles, or asked for more than it holds."""
    with pytest.raises(RequestError) as refused:
        bag(**{"counts": FIRST, "m": 5} | other)
    assert refused.value.field == field


def test_the_widest_counts_fit_a_line():
    """82 kinds of three digits and 174 of two: no other bag takes more bytes."""
    rules = bag((100,) * 82 + (10,) * 174, 1)
    assert sum(rules.counts) <= 10_000
    assert len(rules.own_lines()["counts"]) == 849
    assert decode(rules.encode()) == rules


def test_a_full_bag_is_that_of_the_preset():
    """And a set that there is not is refused with the names of those that there are."""
    assert PRESETS["polish"].counts == full_bag("polish")
    with pytest.raises(RequestError, match="english, polish, ukrainian, dominoes"):
        full_bag("german")
