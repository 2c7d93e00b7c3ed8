"""Rounds: the published scheme's bytes, the vectors, and small games gone through whole."""

import json
from collections import Counter
from itertools import permutations
from math import factorial, perm
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropyd.errors import InternalError, ProofMalformedError, RequestError
from entropyd.games import cascade, mines, roulette, slots
from entropyd.games.blackjack import CARDS, BlackjackOutcome
from entropyd.games.cascade import CascadeMachine
from entropyd.games.round_draws import Draws, DrawTrace
from entropyd.games.round_rules import decode_rules, new_rules
from entropyd.games.rounds import block_of_round, play, play_words
from entropyd.games.seed_pair import (
    Profile,
    RoundStream,
    block_v1,
    block_v2,
    check_client_seed,
    check_nonce,
    hash_of_seed_bytes,
    server_hash,
)
from entropyd.games.tables import TABLES, Game, Machine
from entropyd.verify.fields import Fields
from tests.reference import naive_games

ROOT = Path(__file__).parents[2]
GAMES = json.loads((ROOT / "docs/vectors/games.json").read_text("utf-8"))
PUBLISHED = json.loads(
    (ROOT / "tests/vectors/provably_fair/provably_fair_vectors.json").read_text("utf-8")
)
unhex = bytes.fromhex


def label(case):
    return case["label"]


def as_read(outcome):
    """Return an outcome as a reader of JSON gets it."""
    return json.loads(json.dumps(outcome.as_json()))


class Runs:
    """Gives words from runs [word, how often], and remembers how many are left."""

    def __init__(self, runs):
        self.words = [word for word, times in runs for _ in range(times)]

    def take(self, count):
        assert count == 32
        return self.words.pop(0)


class Scripted:
    """A `below` that gives prepared values, each below its bound, and remembers the bounds."""

    def __init__(self, *values):
        self.values, self.bounds = list(values), []

    def below(self, bound):
        self.bounds.append(bound)
        value = self.values.pop(0)
        assert 0 <= value < bound
        return value


# --- seeds, hashes, streams ----------------------------------------------------


@pytest.mark.parametrize("case", PUBLISHED["bytes"] + PUBLISHED["blocks"])
def test_v1_blocks_are_those_of_the_published_scheme(case):
    """Other people's software computed these from the text of the seeds."""
    seeds = PUBLISHED["seeds"][case["seed_index"]]
    block = block_v1(unhex(seeds["serverSeed"]), seeds["clientSeed"], seeds["nonce"])
    first = case.get("offset", 0) // 32
    made = [block(first + number).hex() for number in range(len(case["hmacs_hex"]))]
    assert case["hmacs_hex"] == made


@pytest.mark.parametrize("case", [c for c in PUBLISHED["bytes"] if c["offset"] % 4 == 0])
def test_a_v1_stream_reads_the_published_bytes_word_by_word(case):
    """Across blocks: the ninth word of a round is the first of block 1."""
    seeds = PUBLISHED["seeds"][case["seed_index"]]
    stream = RoundStream(block_v1(unhex(seeds["serverSeed"]), seeds["clientSeed"], seeds["nonce"]))
    for _ in range(case["offset"] // 4):
        stream.take(32)
    words = [stream.take(32).to_bytes(4, "big") for _ in range(case["count"] // 4)]
    assert case["bytes_hex"][: 8 * len(words)] == b"".join(words).hex()


@pytest.mark.parametrize("case", GAMES["hashes"])
def test_server_hashes_of_both_profiles_and_the_one_that_is_neither(case):
    """v1 hashes text, v2 bytes behind a label, other tools the bare bytes."""
    seed = unhex(case["server_seed"])
    assert case["v1"] == server_hash(Profile.V1, seed).hex()
    assert case["v2"] == server_hash(Profile.V2, seed).hex()
    assert case["of_bytes"] == hash_of_seed_bytes(seed).hex()


@pytest.mark.parametrize("case", GAMES["blocks"])
def test_blocks_of_both_profiles(case):
    """Shortest and longest client seed, least and greatest nonce, c of one and two digits."""
    rules = decode_rules(case["rules"].encode("ascii"))
    block = block_of_round(
        rules, unhex(case["server_seed"]), case["client_seed"], int(case["nonce"])
    )
    assert case["blocks"] == {c: block(int(c)).hex() for c in case["blocks"]}


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_server_seed_of_another_length_makes_nothing(length):
    """HMAC would take it and another round would come; its hexadecimal text is such a mistake."""
    seed = bytes(length)
    for make in (
        lambda: server_hash(Profile.V1, seed),
        lambda: server_hash(Profile.V2, seed),
        lambda: hash_of_seed_bytes(seed),
        lambda: block_v1(seed, "a", 0),
        lambda: block_v2(seed, "a", 0, bytes(32)),
    ):
        with pytest.raises(InternalError, match="server seed of"):
            make()


def test_a_stream_gives_words_and_nothing_else():
    """A take of other widths would leave the words of the published scheme."""
    stream = RoundStream(block_v1(bytes(32), "a", 0))
    for count in (1, 8, 31, 33, 64):
        with pytest.raises(InternalError, match=f"take of {count} bits"):
            stream.take(count)


@pytest.mark.parametrize(
    ("client_seed", "told"),
    [
        ("", "is empty"),
        ("a:b", r"U\+003A at position 1"),
        ("line\n", r"U\+000A at position 4"),
        ("a b", r"U\+0020"),
        ("\x7f", r"U\+007F"),
        ("é", r"U\+00E9"),
        ("ﬁ", r"U\+FB01"),
        ("x" * 65, "65 characters"),
        ("x" * 2**20, "1048576 characters"),
    ],
)
def test_a_client_seed_is_refused_as_it_is(client_seed, told):
    """Nothing is trimmed, cut or folded, and the text says what was wrong."""
    with pytest.raises(RequestError, match=told) as refused:
        check_client_seed("client_seed", client_seed)
    assert refused.value.field == "client_seed"
    assert len(str(refused.value)) < 200


@given(
    st.text(
        st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=":"),
        min_size=1,
        max_size=64,
    )
)
def test_every_other_client_seed_is_its_own_bytes(client_seed):
    """Of all that the rule admits, none is changed."""
    assert client_seed == check_client_seed("client_seed", client_seed).decode("ascii")


@pytest.mark.parametrize("nonce", [-1, 2**64])
def test_a_nonce_beyond_u64_is_refused(nonce):
    """v1 could write it as text; v2 could not."""
    with pytest.raises(RequestError, match="2\\^64 - 1"):
        check_nonce("nonce", nonce)
    with pytest.raises(RequestError, match="nonce"):
        block_v1(bytes(32), "a", nonce)


# --- the vectors ----------------------------------------------------------------


@pytest.mark.parametrize("case", GAMES["rounds"], ids=label)
def test_a_round_of_the_vectors_is_played_again(case):
    """Outcome and words taken."""
    file = case["file"]
    rules, seed = decode_rules(file["rules"].encode("ascii")), unhex(file["server_seed"])
    assert file["server_hash"] == server_hash(rules.profile, seed).hex()
    played = play(rules, seed, file["client_seed"], int(file["nonce"]))
    assert file["outcome"] == as_read(played.outcome)
    assert case["taken"] == sum(len(draw.words) for draw in played.trace)


@pytest.mark.parametrize("case", GAMES["words"], ids=label)
def test_a_round_of_given_words_is_played_again(case):
    """Rejections, the bound of refills, and the draws that fail. Every word given is taken."""
    rules, words = decode_rules(case["rules"].encode("ascii")), Runs(case["runs"])
    if case["outcome"] is None:
        with pytest.raises(InternalError, match="128 tries"):
            play_words(rules, words)
    else:
        assert case["outcome"] == as_read(play_words(rules, words).outcome)
    assert words.words == []


def test_the_vectors_take_every_branch_of_every_game():
    """Each game: accepted and rejected in one draw, borne to the 127th, void at the 128th."""
    of_words = {
        name: [c for c in GAMES["words"] if c["label"].startswith(name)]
        for name in (
            "roulette",
            "classic",
            "mini",
            "high_roller",
            "cascade",
            "mines",
            "dice_poker",
            "blackjack",
        )
    }
    for cases in of_words.values():
        covers = [set(case["covers"]) for case in cases]
        assert sum("rejected" in seen for seen in covers) >= 2
        assert {"void"} in covers
    covered = set().union(*(set(case["covers"]) for case in GAMES["rounds"] + GAMES["words"]))
    assert {"rejected", "refills-0", "refills-1", "refills-64", "two-symbols-win"} <= covered
    searched = {
        case["label"]: case["covers"] for case in GAMES["rounds"] if "reject" in case["label"]
    }
    assert [True, True] == ["rejected" in covers for covers in searched.values()]


@pytest.mark.parametrize("case", GAMES["refused"], ids=lambda case: f"{case['field']}")
def test_what_the_vectors_refuse_is_refused(case):
    """By the name that is wrong."""
    with pytest.raises((RequestError, ProofMalformedError)) as refused:
        read_inputs(case)
    error = refused.value
    assert isinstance(error, RequestError | ProofMalformedError)
    assert case["field"] == error.field.removeprefix("rules.")


def read_inputs(case):
    decode_rules(case["rules"].encode("ascii"))
    check_client_seed("client_seed", case["client_seed"])
    Fields({"nonce": case["nonce"]}).decimal("nonce")


@given(
    st.sampled_from([*Game]),
    st.sampled_from([*Machine]),
    st.integers(1, 19),
    st.sampled_from([*Profile]),
    st.binary(min_size=32, max_size=32),
    st.integers(0, 2**64 - 1),
)
def test_production_and_reference_agree_on_any_round(game, machine, count, profile, seed, nonce):
    """Two implementations that share no code, on inputs that neither chose."""
    rules = new_rules(
        profile,
        game,
        machine=machine if game is Game.SLOTS else None,
        mines=count if game is Game.MINES else None,
    )
    outcome, tries = naive_games.play(rules.encode(), seed, "any~seed", nonce)
    played = play(rules, seed, "any~seed", nonce)
    assert outcome == as_read(played.outcome)
    assert tries == [list(draw.words) for draw in played.trace]


# --- each game, exhausted where it is small --------------------------------------


def test_roulette_meets_every_pocket_equally_often():
    """The accepted words are whole runs of 38, so a class of words is one pocket's."""
    limit = 2**32 - 2**32 % 38
    assert limit % 38 == 0
    for start in (0, limit - 38):
        words = [Runs([[word, 1]]) for word in range(start, start + 38)]
        pockets = [roulette.spin(Draws(word).below).pocket for word in words]
        assert list(range(38)) == sorted(pockets)


@pytest.mark.parametrize(("tiles", "count"), [(3, 1), (4, 2), (4, 3), (5, 3), (6, 5)])
def test_mines_meet_every_order_of_every_set_equally_often(tiles, count):
    """On small boards all values of all draws are gone through."""
    seen: Counter[tuple[int, ...]] = Counter()
    total = perm(tiles, count)
    for number in range(total):
        values, rest = [], number
        for place in range(count):
            rest, value = divmod(rest, tiles - place)
            values.append(value)
        seen[mines.choose(Scripted(*values).below, tiles, count)] += 1
    assert dict.fromkeys(permutations(range(tiles), count), 1) == seen
    assert total == factorial(tiles) // factorial(tiles - count)


@pytest.mark.parametrize("count", [0, 20])
def test_mines_without_a_mine_or_without_a_free_tile_are_not_laid(count):
    """Rules do not hold them; a call around the rules does not either."""
    with pytest.raises(InternalError, match=f"{count} mines"):
        mines.lay(Scripted().below, count)


def test_a_shoe_is_six_of_every_card_and_its_last_place_leads():
    """Draws that change nothing leave the list as it was laid out, and the shoe turns it over."""
    assert Counter(CARDS) == dict.fromkeys(set(CARDS), 6)
    assert len(set(CARDS)) == 52
    outcome = play_words(
        new_rules(Profile.V1, Game.BLACKJACK), Runs([[n, 1] for n in range(311, 0, -1)])
    ).outcome
    assert isinstance(outcome, BlackjackOutcome)
    assert outcome.shoe == CARDS[::-1]
    assert (outcome.player, outcome.dealer) == (("14c", "12c"), ("13c", "11c"))


def test_a_reel_of_any_length_shows_what_stands_at_its_stops():
    """Every stop of every reel that is known."""
    for table in TABLES.values():
        if isinstance(table.made, slots.ReelMachine):
            shown = set()
            for stop in range(len(table.made.reel)):
                script = Scripted(*[stop] * table.made.draws)
                outcome = slots.spin(script.below, table.made)
                assert outcome.symbols == (table.made.reel[stop],) * table.made.draws
                assert script.bounds == [len(table.made.reel)] * table.made.draws
                shown.add(outcome.symbols[0])
            assert shown == set(table.made.reel)


TWO = CascadeMachine(weights=(("a", 60), ("b", 40)), cluster=15, refills=2)


def test_a_value_is_the_symbol_of_its_band_and_all_hundred_have_one():
    """The bands meet without gap and overlap."""
    symbols = [TWO.symbol(value) for value in range(100)]
    assert symbols == ["a"] * 60 + ["b"] * 40
    with pytest.raises(InternalError, match="beyond the last band"):
        TWO.symbol(100)


def test_refills_come_row_by_row_from_the_top_after_the_others_fell():
    """A grid with names for its cells: what is left keeps its order, and falls to the bottom."""
    machine = CascadeMachine(tuple((f"n{n}", 1) for n in range(100)), cluster=5, refills=1)
    grid = ("p", "x", "q", "r", "x", "x", "x", "s", "x", "t", "u", "x", "x", "v", "w")
    script = Scripted(*range(7))
    refilled = cascade.refill(grid, {"x"}, script.below, machine)
    assert refilled == (
        *("n0", "n1", "n2", "n3", "n4"),
        *("p", "n5", "q", "r", "t"),
        *("u", "n6", "s", "v", "w"),
    )
    assert script.bounds == [100] * 7


def test_a_cascade_ends_at_its_bound_with_what_wins_there():
    """Two refills and no third; the last grid's win is recorded."""
    outcome = cascade.fall(Scripted(*[0] * 45).below, TWO)
    assert outcome.wins == ((("a", 15),),) * 3
    assert len(outcome.grids) == 3


def test_a_cluster_wins_from_its_number_of_cells_on():
    """One cell fewer wins nothing."""
    machine = CascadeMachine(TWO.weights, cluster=8, refills=1)
    for count, won in ((7, (("b", 8),)), (8, (("a", 8),))):
        grid = ("a",) * count + ("b",) * (15 - count)
        assert won == cascade.winning(grid, machine)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ((("a", 60), ("b", 39)), "sum to 99; expected 100"),
        ((("a", 60), ("b", 41)), "sum to 101"),
        ((), "sum to 0"),
        ((("a", 100), ("b", 0)), "one below 1"),
        ((("a", 110), ("b", -10)), "one below 1"),
        ((("a", 60), ("a", 40)), "name a symbol twice"),
    ],
)
def test_weights_that_do_not_share_out_a_draw_are_refused(weights, told):
    """No value of a draw may be without a symbol."""
    with pytest.raises(RequestError, match=told) as refused:
        CascadeMachine(weights, cluster=5, refills=64)
    assert refused.value.field == "data.weights"


# --- the trace -------------------------------------------------------------------


def test_a_trace_tells_every_word_where_it_stood_and_which_was_kept():
    """Enough to follow a round by hand."""
    draws = Draws(Runs([[2**32 - 1, 2], [37, 1], [5, 6], [41, 1]]))
    values = [draws.below(38) for _ in range(8)]
    assert values == [37, 5, 5, 5, 5, 5, 5, 3]
    assert draws.trace[0] == DrawTrace(38, 0, (2**32 - 1, 2**32 - 1, 37), 37)
    assert draws.trace[7] == DrawTrace(38, 9, (41,), 3)
    assert [draw.first_block for draw in draws.trace] == [0, 0, 0, 0, 0, 0, 1, 1]
