"""JavaScript agrees on draws of a match, raffles and games, of which it was written from the text.

As test_javascript_reference.py: first the vectors of the repository, then each of their values
changed, which has to be found, then cases that nobody picked.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from entropyd.games.draw_rules import decode as decode_draw
from entropyd.games.draws import draw
from tests.reference import make_draw_vectors, naive_draws, naive_games
from tests.reference.javascript import Choices, check, load, tampered
from tests.reference.naive import rules_lines

ROOT = Path(__file__).parents[2]
VECTORS = [ROOT / f"docs/vectors/{name}.json" for name in ("games", "match_draws", "raffles")]

# List of a file -> the fields of its vectors that are results. Where a vector has parts with
# results of their own, the name of the part stands before.
RESULTS = {
    "match_draws": ["rules_hash", "X", "segment_bounds", "C", "result", "D"],
    "presets": ["counts"],
    "labels": ["labels_hash"],
    "match_claims": ["claim", "claim_digest"],
    "bags": ["steps.counts", "steps.left"],
    "refused_draw_rules": ["field"],
    "refused_matches": ["field"],
    "raffles": [
        *("entries", "E", "X", "segment_bounds", "C", "result", "D", "winners", "alternates"),
        *("claim", "claim_digest"),
    ],
    "refused_raffles": ["field"],
    "data": ["sha256"],
    "hashes": ["v1", "v2", "of_bytes"],
    "blocks": ["blocks"],
    "rounds": ["taken", "file.server_hash", "file.outcome"],
    "words": ["outcome"],
    "refused": ["field"],
}
# Of these nothing is to be computed: each counts once, because it was refused.
REFUSED = {"refused_labels", "refused_returns", "refused_entries"}


def results_of(content):
    """Yield (object, field) for every value of a file that is a result."""
    for name, vectors in content.items():
        for vector in vectors:
            for path in RESULTS.get(name, ()):
                *parts, field = path.split(".")
                holders = vector[parts[0]] if parts else vector
                for holder in holders if isinstance(holders, list) else [holders]:
                    yield holder, field


def count_results(content):
    refused = sum(len(content.get(name, ())) for name in REFUSED)
    return refused + sum(1 for _ in results_of(content))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_vector_agrees(path):
    """JavaScript finds every value of the file, and as many values as Python finds in it."""
    content = load(path)
    assert RESULTS.keys() | REFUSED >= content.keys()
    code, lines = check(path)
    assert f"{count_results(content)} values checked, 0 differ" == lines[-1]
    assert code == 0


# --- The check can fail ------------------------------------------------------


def another(value):
    """Return another value of the same form, also of an object."""
    if isinstance(value, dict):
        first = next(iter(value))
        return value | {first: another(value[first])}
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [another(value[0]), *value[1:]]
    return tampered(value)


def few(path):
    """Return the file with the last vector of each list; of games all data, which others need."""
    content = load(path)
    return {name: part if name == "data" else part[-1:] for name, part in content.items()}


def tampered_files():
    for path in VECTORS:
        content = few(path)
        for i, (_, field) in enumerate(results_of(content)):
            changed = copy.deepcopy(content)
            holder = list(results_of(changed))[i][0]
            holder[field] = another(holder[field])
            yield pytest.param(field, json.dumps(changed), id=f"{path.stem}-{i}-{field}")


@pytest.mark.parametrize(("field", "text"), list(tampered_files()))
def test_a_changed_value_is_found_and_named(field, text):
    """One wrong value makes exit code 1, and the field is said."""
    code, lines = check("-", stdin=text)
    assert code == 1
    # A changed block is found under its number.
    assert f"DIFFERS in {field}" in "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("refused_labels", {"labels": ["a"], "n": 1}),
        ("refused_returns", {"first": [1], "left": [0], "returns": [0]}),
        ("refused_entries", {"given": ["a"]}),
    ],
)
def test_what_is_not_refused_is_found(name, good):
    """Each list of refusals, with one that nothing is wrong with."""
    path = next(path for path in VECTORS if name in load(path))
    content: dict[str, list[Any]] = {other: [] for other in load(path)}
    content |= {name: [{"reason": "none", **good}]}
    code, lines = check("-", stdin=json.dumps(content))
    assert code == 1
    assert "DIFFERS in refused" in "\n".join(lines)


# --- Three implementations on fresh cases ------------------------------------


def chosen_fields(choose):
    """Return the rules of some draw."""
    sampler = choose.of(["masked", "word32"])
    size = 1 + choose.below(300)
    bound = 1 + choose.below(2 ** choose.of([3, 32, 64] if sampler == "masked" else [3, 31]))
    dice = ",".join(f"{1 + choose.below(9)}d{1 + choose.below(40)}" for _ in range(size % 5 + 1))
    counts = [choose.below(9) for _ in range(size % 12)] + [1]
    kinds = {
        "integers": {"bound": bound, "count": size, "low": choose.below(2**64 - bound + 1)},
        "dice": {"dice": dice},
        "items": {"n": size},
        "sample": {"n": size + choose.of([0, 2**31]), "m": 1 + choose.below(size)},
        "bag": {
            "bag": "b",
            "counts": ",".join(map(str, counts)),
            "m": 1 + choose.below(sum(counts)),
            "tiles": "custom-" + choose.data(32).hex(),
        },
    }
    kind = choose.of(kinds)
    fields = {"kind": kind, "sampler": sampler, **kinds[kind]}
    spelled = {name: str(value) for name, value in fields.items()}
    rules = rules_lines(spelled)
    if naive_draws.seeds_needed(rules) > 1 and choose.below(2):
        spelled["seeds"] = "computational"
    return spelled


def daemon_result(case):
    """Return what the daemon draws."""
    rules = decode_draw(case["rules"].encode())
    return draw(
        rules,
        bytes.fromhex(case["X"]),
        seeds=[bytes.fromhex(seed) for seed in case["seeds"]],
        blinding=bytes.fromhex(case["blinding"]),
        salt_key=bytes.fromhex(case["salt_key"]),
    )


def test_three_implementations_agree_on_100_draws():
    """The daemon, the naive reference and JavaScript, on draws that nobody picked."""
    empty: dict[str, list[Any]] = {
        name: [] for name in load(ROOT / "docs/vectors/match_draws.json")
    }
    cases = [
        make_draw_vectors.draw_case(f"fresh {i}", chosen_fields(Choices(f"draw {i}")))
        for i in range(100)
    ]
    for case in cases:
        found = daemon_result(case)
        assert case["result"] == [str(number) for number in found.result]
        assert (case["C"], case["D"]) == (found.commitment.hex(), found.result_root.hex())
    content = empty | {"match_draws": cases}
    code, lines = check("-", stdin=json.dumps(content))
    assert f"{count_results(content)} values checked, 0 differ" == lines[-1]
    assert code == 0


def chosen_round(number):
    """Return a round as the naive reference plays it."""
    choose = Choices(f"round {number}")
    game = choose.of(["roulette", "slots", "mines", "dice_poker", "blackjack"])
    machine = choose.of(["classic", "mini", "high_roller", "cascade"]) if game == "slots" else None
    mines = 1 + choose.below(19) if game == "mines" else None
    profile = choose.of(["v1", "v2"])
    rules = naive_games.rules_of(profile, game, machine, mines)
    letters = [chr(code) for code in range(0x21, 0x7F) if chr(code) != ":"]
    client_seed = "".join(choose.of(letters) for _ in range(1 + choose.below(64)))
    seed, nonce = choose.data(32), choose.below(2 ** choose.of([1, 8, 64]))
    outcome, tries = naive_games.play(rules, seed, client_seed, nonce)
    return {
        "label": f"fresh {number}",
        "covers": [],
        "file": {
            "entropyd": "round/v1",
            "rules": rules.decode(),
            "server_seed": seed.hex(),
            "server_hash": naive_games.server_hash(profile, seed).hex(),
            "client_seed": client_seed,
            "nonce": str(nonce),
            "outcome": outcome,
        },
        "taken": sum(len(of_draw) for of_draw in tries),
    }


def test_two_implementations_agree_on_100_rounds():
    """The naive reference and JavaScript, on rounds that nobody picked, all games and profiles."""
    rounds = [chosen_round(number) for number in range(100)]
    games = {line for r in rounds for line in r["file"]["rules"].splitlines() if "data" not in line}
    assert {"game=blackjack", "machine=cascade", "profile=v1", "profile=v2"} <= games
    content: dict[str, list[Any]] = {name: [] for name in load(ROOT / "docs/vectors/games.json")}
    content |= {"data": load(ROOT / "docs/vectors/games.json")["data"], "rounds": rounds}
    code, lines = check("-", stdin=json.dumps(content))
    assert f"{count_results(content)} values checked, 0 differ" == lines[-1]
    assert code == 0
