"""Data files and rules of rounds: what they must say, and what they are refused for."""

import json
import re
from fractions import Fraction
from itertools import chain
from pathlib import Path

import pytest

from entropyd.errors import RequestError
from entropyd.games.data import DATA
from entropyd.games.round_rules import RoundRules, decode_rules, new_rules
from entropyd.games.seed_pair import Profile
from entropyd.games.tables import TABLES, Game, Machine, newest_table, read_table
from tests.reference import naive_games

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "docs/vectors/games.json").read_text("utf-8"))


def lines_of(name):
    return dict(line.split("=", 1) for line in DATA[name].splitlines())


def test_the_data_files_are_those_of_the_document_and_the_vectors():
    """One text, three places; the hash that stands beside it is its own."""
    assert naive_games.data_files() == DATA
    assert {entry["name"]: entry["text"] for entry in VECTORS["data"]} == DATA
    assert sorted(TABLES) == sorted(entry["sha256"] for entry in VECTORS["data"])
    document = naive_games.DOCUMENT.read_text("utf-8")
    written = dict(re.findall(r"`([a-z_]+-1)`, SHA-256 `([0-9a-f]{64})`", document))
    assert written == {entry["name"]: entry["sha256"] for entry in VECTORS["data"]}


def test_every_game_and_machine_has_a_table_of_its_own():
    """Eight files; each is found by its game."""
    found = [newest_table(game, None) for game in Game if game is not Game.SLOTS]
    found += [newest_table(Game.SLOTS, machine) for machine in Machine]
    assert {table.data_hash for table in found} == set(TABLES)


@pytest.mark.parametrize(
    ("name", "old", "new", "field"),
    [
        ("slots_cascade-1", "star:6", "star:5", "data.weights"),
        ("slots_cascade-1", "star:6", "star:7", "data.weights"),
        ("slots_cascade-1", "star:6", "star:6,moon:0", "data.weights"),
        ("slots_cascade-1", "star:6", "clover:6", "data.weights"),
        ("slots_cascade-1", "star:6", "star:06", "data.weights"),
        ("slots_cascade-1", "star:6", "star", "data.weights"),
        ("slots_cascade-1", "columns=5", "columns=6", "data.columns"),
        ("slots_cascade-1", "cluster=5\n", "", "data.cluster"),
        ("slots_cascade-1", "machine=cascade", "machine=drum", "data.machine"),
        ("slots_cascade-1", "machine=cascade\n", "", "data.machine"),
        ("slots_mini-1", "draws=3", "draws=4", "data.draws"),
        ("slots_mini-1", "\nreel=", "\nroll=", "data.reel"),
        ("mines-1", "tiles=20", "tiles=25", "data.tiles"),
        ("mines-1", "game=mines", "game=keno", "data.game"),
        ("mines-1", "game=mines\n", "", "data.game"),
        ("mines-1", "version=1\n", "", "data.version"),
        ("mines-1", "version=1\n", "version=1", "data"),
        ("roulette-1", "pockets=38", "pockets=37", "data.pockets"),
        ("blackjack-1", "decks=6", "decks=8", "data.decks"),
        ("dice_poker-1", "bot,player", "player,bot", "data.order"),
    ],
)
def test_a_data_file_that_the_game_is_not_drawn_by_is_refused(name, old, new, field):
    """By the line that is wrong."""
    assert old in DATA[name]
    with pytest.raises(RequestError) as refused:
        read_table(DATA[name].replace(old, new))
    assert field == refused.value.field


def test_the_wheel_has_each_pocket_in_one_colour():
    """38 pockets: 18, 18 and the two zeros."""
    wheel = lines_of("roulette-1")
    pockets = {name: [int(n) for n in wheel[name].split(",")] for name in ("black", "red", "green")}
    assert sorted(chain.from_iterable(pockets.values())) == list(range(38))
    assert [len(pockets[name]) for name in ("black", "red", "green")] == [18, 18, 2]


@pytest.mark.parametrize("name", [name for name in DATA if name.startswith("slots")])
def test_every_symbol_that_comes_is_paid_and_every_symbol_paid_can_come(name):
    """A promise for a symbol that no reel has would be none."""
    lines = lines_of(name)
    symbols = [entry.split(":")[0] for entry in lines["pays"].split(",")]
    if "reel" in lines:
        assert set(symbols) == set(lines["reel"].split(","))
    else:
        assert symbols == [entry.split(":")[0] for entry in lines["weights"].split(",")]


@pytest.mark.parametrize(
    ("name", "lines"), [("slots_classic-1", 1), ("slots_mini-1", 1), ("slots_high_roller-1", 5)]
)
def test_a_reel_promises_less_than_it_takes(name, lines):
    """Exactly: three draws of one reel, each place alike. No return is claimed to players."""
    data = lines_of(name)
    assert lines == len(data["lines"].split(","))
    reel, pays = data["reel"].split(","), dict(p.split(":") for p in data["pays"].split(","))
    back = sum(
        Fraction(int(pays[symbol]), 100) * Fraction(reel.count(symbol), len(reel)) ** 3
        for symbol in set(reel)
    )
    assert Fraction(85, 100) < lines * back < Fraction(97, 100)


def test_rules_have_one_spelling():
    """Decoding gives what was encoded, for every game, machine and number of mines."""
    for profile in Profile:
        for made in [
            *(new_rules(profile, game) for game in Game if game not in {Game.SLOTS, Game.MINES}),
            *(new_rules(profile, Game.SLOTS, machine=machine) for machine in Machine),
            *(new_rules(profile, Game.MINES, mines=count) for count in range(1, 20)),
        ]:
            assert made == decode_rules(made.encode())
            assert made.encode() == decode_rules(made.encode()).encode()


def test_the_rules_in_the_document_are_rules():
    """Section 18.3 prints those of a mines round."""
    text = naive_games.DOCUMENT.read_text("utf-8")
    printed = re.search(r"for example, the rules\n\n```\n(data=.*?)```", text, re.DOTALL)
    assert printed
    assert printed[1].encode("ascii") == new_rules(Profile.V2, Game.MINES, mines=3).encode()


@pytest.mark.parametrize("mines", [0, 20, -1])
def test_a_board_without_mines_or_without_a_free_tile_is_refused(mines):
    """1 to 19."""
    with pytest.raises(RequestError, match="1 to 19") as refused:
        new_rules(Profile.V2, Game.MINES, mines=mines)
    assert refused.value.field == "rules.mines"


@pytest.mark.parametrize(
    ("game", "machine", "mines", "field"),
    [
        (Game.SLOTS, None, None, "rules.machine"),
        (Game.ROULETTE, Machine.MINI, None, "rules.machine"),
        (Game.MINES, None, None, "rules.mines"),
        (Game.ROULETTE, None, 3, "rules.mines"),
    ],
)
def test_settings_stand_only_beside_their_game(game, machine, mines, field):
    """A mine count of a roulette round is a mistake, not a thing to overlook."""
    with pytest.raises(RequestError) as refused:
        new_rules(Profile.V2, game, machine=machine, mines=mines)
    assert field == refused.value.field


def test_rules_by_an_unknown_or_foreign_data_file_are_refused():
    """Who does not know a reel cannot tell what it showed."""
    mini, classic = (newest_table(Game.SLOTS, m).data_hash for m in (Machine.MINI, Machine.CLASSIC))
    assert RoundRules(Profile.V1, Game.SLOTS, mini, Machine.MINI).table.data_hash == mini
    for data, told in ((classic, "is a data file of classic"), ("0" * 64, "no data file known")):
        with pytest.raises(RequestError, match=told):
            RoundRules(Profile.V1, Game.SLOTS, data, Machine.MINI)
