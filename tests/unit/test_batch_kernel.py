"""The batch kernel draws what `shuffle` draws, to the byte, whatever the bits are."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.draw import batch
from entropyd.draw.batch import MIN_DECKS, shuffle_many
from entropyd.draw.cards import DECKS, Deck
from entropyd.draw.shuffle import shuffle
from entropyd.errors import InternalError
from entropyd.hands.commitment import encode_items
from entropyd.hands.many_decks import open_decks
from entropyd.hands.rules import Rules
from entropyd.hands.whole_deck import open_deck
from entropyd.rbg.construction import DrawSeeds
from tests.reference import naive
from tests.reference.make_vectors import draw_inputs

DRAWS = json.loads((Path(__file__).parents[2] / "docs/vectors/draws.json").read_text("utf-8"))


def inputs(count, label):
    """Return seeds and bindings, the latter of different lengths."""
    numbers = [f"{label} {number}".encode() for number in range(count)]
    return [hashlib.sha512(number).digest() for number in numbers], numbers


def one_by_one(size, seeds, bindings):
    return [
        encode_items(shuffle(size, (seed,), x)) for seed, x in zip(seeds, bindings, strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(size=st.integers(2, 52), count=st.integers(0, 80), label=st.integers(0, 2**32))
def test_it_draws_what_shuffle_draws(size, count, label):
    """Any size of one segment, any number of decks, on both sides of where arrays begin."""
    seeds, bindings = inputs(count, label)
    assert one_by_one(size, seeds, bindings) == shuffle_many(size, seeds, bindings)


def test_thousands_of_decks_are_those_of_shuffle():
    """Many enough that long rows of rejections are among them."""
    seeds, bindings = inputs(4000, "thousands")
    pairs = zip(one_by_one(52, seeds, bindings), shuffle_many(52, seeds, bindings), strict=True)
    # The decks' numbers, since pytest takes a minute over how thousands of decks differ.
    assert [] == [deck for deck, (one, many) in enumerate(pairs) if one != many]


def taken(size, seed, binding):
    bits = naive.Bits(seed, binding, 0)
    for bound in naive.shuffle_bounds(size):
        naive.masked(bits, bound)
    return bits.taken


# On both sides of where arrays begin.
COUNTS = [3, MIN_DECKS + 16]


@pytest.mark.parametrize("count", COUNTS)
def test_a_deck_that_needs_a_second_block_is_among_others(count):
    """The golden case that runs across a block's end, at every place of a batch."""
    case = next(case for case in DRAWS["cases"] if case["label"] == "52 cards, second block")
    seed, x = bytes.fromhex(case["seeds"][0]), bytes.fromhex(case["X"])
    assert case["bits"][0] > 512
    for at in (0, count // 2, count - 1):
        seeds, bindings = inputs(count, "around it")
        seeds[at], bindings[at] = seed, x
        drawn = shuffle_many(52, seeds, bindings)
        assert encode_items(case["result"]) == drawn[at]
        assert one_by_one(52, seeds, bindings) == drawn


@pytest.mark.parametrize("count", COUNTS)
def test_a_deck_that_ends_near_the_end_of_its_block(count):
    """505 of the 512 bits, the most of 60,000 counters: read across the last byte's window."""
    X, [seed] = draw_inputs("ends with its block", [2], 50_764)
    assert taken(52, seed, X) == 505
    seeds, bindings = inputs(count, "around it")
    seeds[1], bindings[1] = seed, X
    assert one_by_one(52, seeds, bindings) == shuffle_many(52, seeds, bindings)


def stuck(bits):
    """Return a digest function whose blocks are these bits, repeated."""
    pattern = int(bits * (512 // len(bits) + 1), 2) >> (len(bits) - 512 % len(bits))
    block = pattern.to_bytes(65, "big")[-64:]
    return lambda _key, _message, _name: block


@pytest.mark.parametrize("count", [1, MIN_DECKS])
@pytest.mark.parametrize("bits", ["0", "1", "10", "110100", "0" * 400 + "1" * 112])
def test_bits_that_are_not_fair_end_as_in_shuffle(bits, count, monkeypatch):
    """A draw that is rejected for ever is the end of the batch, and nothing is dealt from it."""
    monkeypatch.setattr(batch, "digest", stuck(bits))
    monkeypatch.setattr("entropyd.draw.keystream.digest", stuck(bits))
    seeds, bindings = inputs(count, "stuck")
    try:
        expected = one_by_one(52, seeds, bindings)
    except InternalError:
        with pytest.raises(InternalError, match="128 tries of one draw below"):
            shuffle_many(52, seeds, bindings)
    else:
        assert expected == shuffle_many(52, seeds, bindings)


@pytest.mark.parametrize("size", [0, 1, 53, 54, 312])
def test_decks_of_another_form_are_a_defect(size):
    """Not one segment, or nothing to choose: no caller of ours asks for it."""
    with pytest.raises(InternalError, match="decks of one segment"):
        shuffle_many(size, *inputs(2, "form"))


@pytest.mark.parametrize("count", [2, MIN_DECKS])
def test_malformed_seeds_are_a_defect(count):
    """A key of another length would draw another order."""
    seeds, bindings = inputs(count, "malformed")
    with pytest.raises(InternalError, match="expected as many of both"):
        shuffle_many(52, seeds[:-1], bindings)
    with pytest.raises(InternalError, match="64 bytes"):
        shuffle_many(52, [*seeds[:-1], seeds[-1][:63]], bindings)


DECKS_OPENED = [Deck(), Deck("short36"), Deck("standard54"), Deck(decks=2), Deck(removed=(0, 51))]


@pytest.mark.parametrize("deck", DECKS_OPENED, ids=str)
@pytest.mark.parametrize("count", [1, MIN_DECKS])
def test_many_hands_are_opened_as_one(deck, count):
    """C, D and items, also of shoes, which have several segments."""
    rules = Rules(deck=deck)
    segments = len(naive.segments_of(naive.shuffle_bounds(deck.size)))
    seeds, bindings = inputs(count * segments, deck)
    secrets = [
        DrawSeeds(tuple(seeds[number * segments :][:segments]), seeds[number][:32], seed[32:])
        for number, seed in enumerate(seeds[:count])
    ]
    opened = open_decks(rules, bindings[:count], secrets)
    for x, own, many in zip(bindings, secrets, opened, strict=False):
        one = open_deck(rules, x, seeds=own.seeds, blinding=own.blinding, salt_key=own.salt_key)
        assert (one.commitment, one.deck_root) == (many.commitment, many.deck_root)
        assert one.encoded_items == many.encoded_items


# --- cards in one piece ------------------------------------------------------


@pytest.mark.parametrize("name", DECKS)
@pytest.mark.parametrize("decks", [1, 4, 5, 8])
def test_packed_cards_are_the_cards(name, decks):
    """Every item of every shoe, in any order."""
    deck = Deck(name, decks, (DECKS[name][3],))
    items = [number * 97 % deck.size for number in range(deck.size)]
    assert deck.cards(items) == deck.packed_cards(encode_items(items))


@pytest.mark.parametrize("item", [52, 255, 256, 511, 512, 65_536, 2**24, 2**32 - 1])
def test_packed_items_beyond_the_deck_are_a_defect(item):
    """None is taken for another one."""
    with pytest.raises(InternalError):
        Deck().packed_cards(encode_items([0, item]))


def test_packed_items_of_another_length_are_a_defect():
    """A part of an item is no item."""
    with pytest.raises(InternalError):
        Deck().packed_cards(bytes(7))
    assert Deck().packed_cards(b"") == b""
