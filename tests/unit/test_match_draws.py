"""Draws that are not hands: exactly uniform, in one spelling, refused before a seed is spent."""

import hashlib
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import perm

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.draw import samplers
from entropyd.draw.samplers import SAMPLERS, Sampler
from entropyd.draw.segments import fits_one_segment
from entropyd.errors import InternalError, RequestError
from entropyd.games import draw_rules, draws
from entropyd.games.bags import BagRules
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draw_rules import (
    DiceRules,
    IntegersRules,
    ItemsRules,
    SampleRules,
    ServerSeedRules,
)
from entropyd.games.labels import MAX_LABELS_BYTES, labels_hash
from entropyd.games.raffle import RaffleRules
from entropyd.games.seed_pair import Profile
from tests.reference import naive, naive_draws
from tests.reference.bits import FiniteBits, OutOfBitsError

HASH = bytes(range(32))
CUSTOM = "custom-" + HASH.hex()


def bag(counts, m, tiles=CUSTOM, **other):
    return BagRules(bag="main", counts=counts, m=m, tiles=tiles, **other)


def kind_or_number(value):
    return value.kind.value if isinstance(value, DrawRules) else str(value)


def seeds_of(rules):
    return [hashlib.sha512(b"%d" % s).digest() for s in range(rules.seeds_needed())]


def draw(rules, binding=b"a binding"):
    return draws.draw(rules, binding, seeds=seeds_of(rules), blinding=bytes(32), salt_key=bytes(32))


# --- Uniform, over all bit strings ---------------------------------------------


def exhausted(rules, longest):
    """Return length -> Counter of the results that took exactly so many bits."""
    below = SAMPLERS[rules.sampler]
    by_length: dict[int, Counter[tuple[int, ...]]] = {}
    for bits in map("".join, product("01", repeat=longest)):
        source = FiniteBits(bits)
        try:
            values = [below(source, bound) for bound in rules.bounds()]
        except OutOfBitsError:
            continue
        by_length.setdefault(source.taken, Counter())[tuple(rules.result(values))] += 1
    return by_length


UNIFORM = [
    (DiceRules(groups=((2, 3),)), 9),
    (DiceRules(groups=((3, 2), (1, 3))), 12),
    (DiceRules(groups=((1, 6), (1, 4), (1, 1))), 12),
    (IntegersRules(bound=5, count=2, low=10), 12),
    (IntegersRules(bound=3, count=3, low=2**64 - 3), 12),
    (ItemsRules(n=4), 14),
    (SampleRules(n=5, m=2), 12),
    (SampleRules(n=4, m=4), 12),
    (RaffleRules(entries=HASH, n=5, winners=1, alternates=2), 13),
]


@pytest.mark.parametrize("sampler", list(Sampler))
@pytest.mark.parametrize(("rules", "longest"), UNIFORM, ids=kind_or_number)
def test_every_result_is_met_equally_often_over_all_bit_strings(
    monkeypatch, rules, longest, sampler
):
    """At each bit length; and all results that the rules promise are there, no others."""
    monkeypatch.setattr(samplers, "WORD_BITS", 3)
    monkeypatch.setattr(samplers, "WORDS", 8)
    by_length = exhausted(replace(rules, sampler=sampler), longest)
    assert by_length
    for counts in by_length.values():
        assert possible(rules) == len(counts)
        assert len(set(counts.values())) == 1


def possible(rules):
    """Return how many results there are, counted from the bounds."""
    number = 1
    for bound in rules.bounds():
        number *= bound
    return number


@pytest.mark.parametrize("sampler", list(Sampler))
@pytest.mark.parametrize(
    ("counts", "m", "longest"),
    [((2, 1), 2, 9), ((2, 2), 2, 10), ((3, 0, 1), 3, 12), ((1, 2, 2), 3, 13), ((4,), 2, 8)],
)
def test_every_row_of_tiles_is_met_as_often_as_its_tiles_are(
    monkeypatch, counts, m, longest, sampler
):
    """Exact counts: a row of kinds has as many tile rows as its kinds have arranged copies."""
    monkeypatch.setattr(samplers, "WORD_BITS", 3)
    monkeypatch.setattr(samplers, "WORDS", 8)
    rows = [row for row in product(range(len(counts)), repeat=m) if ways(row, counts)]
    for found in exhausted(bag(counts, m, sampler=sampler), longest).values():
        share = Fraction(found.total(), perm(sum(counts), m))
        assert {row: ways(row, counts) * share for row in rows} == found


def ways(row, counts):
    """Return in how many ways distinct tiles can give a row of kinds."""
    number = 1
    for kind, count in enumerate(counts):
        number *= perm(count, row.count(kind))
    return number


def test_numbers_begin_at_low_and_end_below_low_plus_bound():
    """Kills a low that is left out, and faces that begin at 0."""
    assert IntegersRules(bound=6, count=2, low=7).result([0, 5]) == [7, 12]
    assert DiceRules(groups=((2, 6),)).result([0, 5]) == [1, 6]


# --- Which tile came cannot be seen --------------------------------------------


@settings(deadline=None)
@given(data=st.data())
def test_which_of_two_equal_tiles_came_is_nowhere(data):
    """Numbering the copies of a kind otherwise changes neither result, bytes nor root."""
    counts = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=5).filter(any)))
    m = data.draw(st.integers(1, sum(counts)))
    rules = bag(counts, m)
    drawn = draw(rules)
    # The same draw from a bag in which every tile is a kind of its own says which tiles came.
    tiles = draw(bag((1,) * sum(counts), m)).result
    kinds = [kind for kind, count in enumerate(counts) for _ in range(count)]
    renumbered = data.draw(st.permutations(range(len(kinds)))).copy()
    renumbered.sort(key=lambda tile: kinds[tile])
    shown = tuple(kinds[renumbered[tile]] for tile in tiles)
    assert shown == drawn.result
    encoded = rules.encode_result(shown)
    assert (encoded, draws.result_root(b"a binding", bytes(32), encoded)) == (
        drawn.encoded_result,
        drawn.result_root,
    )


# --- One spelling --------------------------------------------------------------

hashes = st.binary(min_size=32, max_size=32)
any_labels = st.one_of(st.just(b""), hashes)


@st.composite
def integers_rules(choose):
    sampler = choose(st.sampled_from(Sampler))
    bound = choose(st.integers(1, 2**32 if sampler is Sampler.WORD32 else 2**64))
    low, count = choose(st.integers(0, 2**64 - max(bound, 1))), choose(st.integers(1, 10_000))
    return IntegersRules(bound=bound, count=count, low=min(low, 2**64 - 1), sampler=sampler)


@st.composite
def sample_rules(choose):
    labels = choose(any_labels)
    n = choose(st.integers(1, 100_000 if labels else 2**32))
    return SampleRules(n=n, m=choose(st.integers(1, min(n, 300))), labels_hash=labels)


@st.composite
def bag_rules(choose):
    counts = choose(st.lists(st.integers(0, 30), min_size=1, max_size=200).filter(any))
    name = choose(st.text("abcxyz0189_-", min_size=1, max_size=64))
    tiles = "custom-" + choose(hashes).hex()
    m = choose(st.integers(1, sum(counts)))
    return BagRules(bag=name, counts=tuple(counts), m=m, tiles=tiles)


@st.composite
def raffle_rules(choose):
    n = choose(st.integers(1, 1000))
    winners = choose(st.integers(1, n))
    alternates = choose(st.integers(0, n - winners))
    return RaffleRules(entries=choose(hashes), n=n, winners=winners, alternates=alternates)


dice_groups = st.lists(
    st.tuples(st.integers(1, 300), st.integers(1, 2**32)), min_size=1, max_size=32
)
all_rules = st.one_of(
    integers_rules(),
    st.builds(lambda groups: DiceRules(groups=tuple(groups)), dice_groups),
    st.builds(ItemsRules, n=st.integers(1, 2000), labels_hash=any_labels),
    sample_rules(),
    bag_rules(),
    raffle_rules(),
    st.builds(ServerSeedRules, profile=st.sampled_from(Profile)),
)


@settings(deadline=None, max_examples=300)
@given(rules=all_rules, word32=st.booleans(), one_seed=st.booleans())
def test_rules_are_read_back_as_they_were_written(rules, word32, one_seed):
    """One value, one spelling; and the reference finds the same bounds and seeds in it."""
    if word32 and not isinstance(rules, ServerSeedRules | IntegersRules):
        rules = replace(rules, sampler=Sampler.WORD32)
    if one_seed and not fits_one_segment(rules.bounds()):
        rules = replace(rules, computational=True)
    encoded = rules.encode()
    assert rules == draw_rules.decode(encoded)
    fields, values = naive_draws.draw_rules(encoded)
    assert [*naive_draws.bounds_of(fields, values)] == [*rules.bounds()]
    assert naive_draws.seeds_needed(encoded) == rules.seeds_needed()


@settings(deadline=None)
@given(rules=all_rules, data=st.data())
def test_another_spelling_is_refused(rules, data):
    """A byte more, less or other: refused, or the rules of another draw with its own spelling."""
    encoded = bytearray(rules.encode())
    place = data.draw(st.integers(0, len(encoded) - 1))
    change = data.draw(st.sampled_from(("drop", "double", "replace")))
    byte = data.draw(st.integers(0, 255))
    put = {"drop": b"", "double": encoded[place : place + 1] * 2, "replace": bytes([byte])}[change]
    encoded[place : place + 1] = put
    try:
        read = draw_rules.decode(bytes(encoded))
    except RequestError:
        return
    assert read.encode() == bytes(encoded)


def test_results_are_read_back_as_they_were_recorded():
    """Eight bytes a number where it may need them, four elsewhere."""
    dice, items = DiceRules(groups=((2, 2**32),)), ItemsRules(n=3)
    assert bytes.fromhex("0000000000000001 0000000100000000") == dice.encode_result([1, 2**32])
    assert bytes.fromhex("00000002 00000000 00000001") == items.encode_result([2, 0, 1])
    assert dice.decode_result(dice.encode_result([1, 2**32])) == (1, 2**32)
    assert items.decode_result(items.encode_result([2, 0, 1])) == (2, 0, 1)


# --- Large draws ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "seeds"),
    [
        (ItemsRules(n=52), 1),
        (ItemsRules(n=100_000), 6555),
        (IntegersRules(bound=2**64, count=10_000), 3334),
        (SampleRules(n=2**32, m=100_000), 14286),
        (bag((1000,) * 10, 10_000), 509),
        (ServerSeedRules(profile=Profile.V2), 1),
    ],
    ids=kind_or_number,
)
def test_seeds_are_known_before_any_is_made(rules, seeds):
    """The largest draws, by their bounds alone; or one, if the caller chose so."""
    assert seeds == rules.seeds_needed() == naive_draws.seeds_needed(rules.encode())
    if seeds > 1:
        assert replace(rules, computational=True).seeds_needed() == 1


@pytest.mark.parametrize("computational", [False, True])
def test_a_hundred_thousand_items_are_put_into_an_order(computational):
    """The largest list there is: every item once, and its bytes as long as they must be."""
    outcome = draw(ItemsRules(n=100_000, computational=computational))
    assert sorted(outcome.result) == list(range(100_000))
    assert len(outcome.encoded_result) == 400_000


def test_one_seed_draws_the_list_whole():
    """Kills a computational draw that begins its stream anew where a segment would have ended."""
    rules = IntegersRules(bound=2**62 + 1, count=12, computational=True)
    bits = naive.Bits(seeds_of(rules)[0], b"a binding", 0)
    assert draw(rules).result == tuple(naive.masked(bits, 2**62 + 1) for _ in range(12))


@pytest.mark.parametrize("given", [0, 2])
def test_another_number_of_seeds_is_a_defect(given):
    """Nothing is drawn from seeds that are missing or left over; a server seed included."""
    for rules in (DiceRules(groups=((2, 6),)), ServerSeedRules(profile=Profile.V1)):
        with pytest.raises(InternalError, match="one a segment"):
            draws.draw(
                rules, b"X", seeds=[bytes(64)] * given, blinding=bytes(32), salt_key=bytes(32)
            )


def test_a_result_is_not_in_the_text_of_an_outcome():
    """What was drawn is not shown by a log line before it is recorded."""
    outcome = draw(IntegersRules(bound=2**64, count=1))
    assert str(outcome.result[0]) not in repr(outcome)
    assert "result=" not in repr(outcome)


# --- What is refused -----------------------------------------------------------

BAD: list[tuple[str, object, dict[str, object]]] = [
    ("count", IntegersRules, {"bound": 6, "count": 0}),
    ("count", IntegersRules, {"bound": 6, "count": 10_001}),
    ("bound", IntegersRules, {"bound": 0, "count": 1}),
    ("bound", IntegersRules, {"bound": -6, "count": 1}),
    ("bound", IntegersRules, {"bound": 2**64 + 1, "count": 1}),
    ("bound", IntegersRules, {"bound": 2**32 + 1, "count": 1, "sampler": Sampler.WORD32}),
    ("low", IntegersRules, {"bound": 6, "count": 1, "low": -1}),
    ("low", IntegersRules, {"bound": 6, "count": 1, "low": 2**64 - 5}),
    ("dice", DiceRules, {"groups": ()}),
    ("dice", DiceRules, {"groups": ((0, 6),)}),
    ("dice", DiceRules, {"groups": ((1, 0),)}),
    ("dice", DiceRules, {"groups": ((10**9, 6),)}),
    ("dice", DiceRules, {"groups": ((1, 2**32 + 1),)}),
    ("dice", DiceRules, {"groups": ((5000, 6), (5001, 6))}),
    ("dice", DiceRules, {"groups": ((1, 6),) * 33}),
    ("n", ItemsRules, {"n": 0}),
    ("n", ItemsRules, {"n": 100_001}),
    ("n", SampleRules, {"n": 0, "m": 1}),
    ("n", SampleRules, {"n": 2**32 + 1, "m": 1}),
    ("m", SampleRules, {"n": 5, "m": 0}),
    ("m", SampleRules, {"n": 5, "m": 6}),
    ("m", SampleRules, {"n": 2**32, "m": 100_001}),
    ("labels", SampleRules, {"n": 100_001, "m": 1, "labels_hash": HASH}),
    ("winners", RaffleRules, {"entries": HASH, "n": 5, "winners": 0}),
    ("winners", RaffleRules, {"entries": HASH, "n": 5, "winners": 6}),
    ("alternates", RaffleRules, {"entries": HASH, "n": 5, "winners": 3, "alternates": 3}),
    ("alternates", RaffleRules, {"entries": HASH, "n": 5, "winners": 3, "alternates": -1}),
    ("sampler", ServerSeedRules, {"profile": Profile.V1, "sampler": Sampler.WORD32}),
    ("seeds", DiceRules, {"groups": ((2, 6),), "computational": True}),
    ("seeds", ServerSeedRules, {"profile": Profile.V1, "computational": True}),
]


@pytest.mark.parametrize(("field", "kind", "values"), BAD, ids=lambda value: str(value)[:60])
def test_a_draw_that_must_not_be_is_refused_and_the_field_named(field, kind, values):
    """When the rules are made: no seed has been asked for then."""
    with pytest.raises(RequestError) as refused:
        kind(**values)
    assert refused.value.field == field


def test_an_error_says_what_is_allowed_and_what_to_do():
    """For the caller to act on without a manual."""
    with pytest.raises(RequestError) as refused:
        DiceRules(groups=((10**9, 6),))
    text = "dice: is 1000000000; expected 1 to 10000, dice in a group; make several draws"
    assert text == str(refused.value)


def test_the_widest_draws_are_made():
    """The ends of every range belong to it."""
    widest: list[DrawRules] = [
        IntegersRules(bound=2**64, count=1),
        IntegersRules(bound=1, count=1, low=2**64 - 1),
        IntegersRules(bound=2**32, count=3, sampler=Sampler.WORD32),
        DiceRules(groups=((1, 2**32),) * 32),
        SampleRules(n=2**32, m=1, sampler=Sampler.WORD32),
        SampleRules(n=1, m=1),
        ItemsRules(n=1),
        RaffleRules(entries=HASH, n=1, winners=1),
    ]
    for rules in widest:
        assert len(draw(rules).result) == max(1, len(rules.bounds()))


def test_too_many_labels_are_refused():
    """One MiB of labels is taken, one byte more is not, and neither are too few."""
    full = ["a" * 256] * (MAX_LABELS_BYTES // 256)
    assert naive_draws.labels_hash(full, len(full)) == labels_hash(full, len(full))
    for labels in ([*full, "a"], ["a"] * 2):
        with pytest.raises(RequestError) as refused:
            labels_hash(labels, len(full) + 1, field="items")
        assert refused.value.field == "items"


def test_a_lone_surrogate_is_no_label():
    """A transport that lets one through must not end in another error."""
    with pytest.raises(RequestError, match="surrogate"):
        labels_hash(["a\ud800"], 1)
