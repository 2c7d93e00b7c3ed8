"""Proof files of draws that were made here, from seeds that are no secret."""

from collections.abc import Sequence
from hashlib import sha512
from typing import Any

from entropyd.games.bags import BagRules, after_draw, custom_tiles
from entropyd.games.draw_kind import DrawRules
from entropyd.games.draw_rules import DiceRules, IntegersRules, ItemsRules, SampleRules
from entropyd.games.draws import binding_of, draw
from entropyd.games.labels import labels_hash
from entropyd.games.presets import PRESETS
from entropyd.games.raffle import RaffleRules, canonical_entries
from entropyd.games.round_rules import new_rules
from entropyd.games.rounds import play
from entropyd.games.seed_pair import Profile, server_hash
from entropyd.games.tables import Game, Machine

File = dict[str, Any]

SERVER_SEED = bytes(range(32))
COLOURS = ("red", "green", "blue")
NAMES = ("Ann", "Bob", "Ćma", "Dan", "Eve")


def bytes_of(name: str, length: int = 64) -> bytes:
    """Bytes that are a name's own."""
    return sha512(name.encode()).digest()[:length]


def draw_members(rules: DrawRules, tenant: str, match: str, draw_id: str, number: int = 1) -> File:
    """The members of a draw that the three kinds of files have in common."""
    seeds = [bytes_of(f"{match} {draw_id} {place}") for place in range(rules.seeds_needed())]
    blinding, salt_key = bytes_of(f"r {draw_id}", 32), bytes_of(f"K {draw_id}", 32)
    binding = binding_of(rules, tenant, match, draw_id)
    outcome = draw(rules, binding, seeds=seeds, blinding=blinding, salt_key=salt_key)
    return {
        "draw": draw_id,
        "number": number,
        "rules": rules.encode().decode("ascii"),
        "seeds": [seed.hex() for seed in seeds],
        "blinding": blinding.hex(),
        "salt_key": salt_key.hex(),
        "commitment": outcome.commitment.hex(),
        "result_root": outcome.result_root.hex(),
        "result": [str(one) for one in outcome.result],
    }


def draw_file(rules: DrawRules, **more: object) -> File:
    """A draw file; the match has an upper-case letter in its id."""
    ids = {"entropyd": "draw/v1", "tenant": "acme", "match": "Ludo/4711"}
    return {**ids, **draw_members(rules, "acme", "Ludo/4711", "throw-1"), **more}


def draw_files() -> dict[str, File]:
    """One draw of every kind."""
    full = PRESETS["polish"].counts
    bag = BagRules(bag="main", counts=full, m=7, tiles="polish")
    custom = BagRules(bag="main", counts=(3, 0, 5), m=4, tiles=custom_tiles(COLOURS))
    labels = labels_hash(COLOURS, 3)
    return {
        "integers": draw_file(IntegersRules(bound=2**64, count=9)),
        "integers from 1": draw_file(IntegersRules(bound=100, count=3, low=1)),
        "dice": draw_file(DiceRules(groups=((2, 6), (1, 20)))),
        "order": draw_file(ItemsRules(n=100)),
        "order of labels": draw_file(ItemsRules(n=3, labels_hash=labels), labels=[*COLOURS]),
        "sample": draw_file(SampleRules(n=2**32, m=20)),
        "sample of labels": draw_file(SampleRules(n=3, m=2, labels_hash=labels), labels=[*COLOURS]),
        "one seed": draw_file(ItemsRules(n=100, computational=True)),
        "bag": draw_file(bag),
        "bag with its tiles": draw_file(bag, tiles=[*PRESETS["polish"].labels]),
        "custom bag": draw_file(custom, tiles=[*COLOURS]),
    }


def match_file(takes: Sequence[int] = (7, 5, 3)) -> File:
    """A match: a roll, and then draws from a bag that follow from each other."""
    first = draw_members(DiceRules(groups=((1, 6),)), "acme", "m", "roll", 1)
    draws, state = [first], None
    counts = PRESETS["english"].counts
    for number, take in enumerate(takes, 2):
        rules = BagRules(bag="main", counts=counts, m=take, tiles="english")
        members = draw_members(rules, "acme", "m", f"take-{number}", number)
        state = after_draw(state, rules, map(int, members["result"]))
        counts = state.left
        draws.append(members)
    return {"entropyd": "match/v1", "tenant": "acme", "match": "m", "draws": draws}


def raffle_file() -> File:
    """A raffle of five, two winners, one stands by."""
    entries = canonical_entries(NAMES)
    rules = RaffleRules(entries=entries.digest, n=5, winners=2, alternates=1)
    members = draw_members(rules, "acme", "spring", "raffle")
    del members["draw"], members["number"]
    drawn = [entries.texts[int(number)] for number in members["result"]]
    return {
        "entropyd": "raffle/v1",
        "tenant": "acme",
        "raffle": "spring",
        "entries": [*entries.texts],
        "entries_hash": entries.digest.hex(),
        **members,
        "winners": drawn[:2],
        "alternates": drawn[2:],
    }


GAMES: dict[str, dict[str, Any]] = {
    "roulette": {"game": Game.ROULETTE},
    "classic": {"game": Game.SLOTS, "machine": Machine.CLASSIC},
    "high_roller": {"game": Game.SLOTS, "machine": Machine.HIGH_ROLLER},
    "cascade": {"game": Game.SLOTS, "machine": Machine.CASCADE},
    "mines": {"game": Game.MINES, "mines": 5},
    "dice_poker": {"game": Game.DICE_POKER},
    "blackjack": {"game": Game.BLACKJACK},
}


def round_file(
    name: str, profile: Profile = Profile.V1, *, client_seed: str = "Lucky7", nonce: int = 4
) -> File:
    """A round of a game."""
    rules = new_rules(profile, **GAMES[name])
    outcome = play(rules, SERVER_SEED, client_seed, nonce).outcome.as_json()
    return {
        "entropyd": "round/v1",
        "rules": rules.encode().decode("ascii"),
        "server_seed": SERVER_SEED.hex(),
        "server_hash": server_hash(profile, SERVER_SEED).hex(),
        "client_seed": client_seed,
        "nonce": str(nonce),
        "outcome": outcome,
    }


def all_files() -> dict[str, File]:
    """One file of everything."""
    rounds = {
        f"{name} {profile}": round_file(name, profile) for name in GAMES for profile in Profile
    }
    return {**draw_files(), "match": match_file(), "raffle": raffle_file(), **rounds}
