"""Files that a verifier takes, made of the vectors and of fresh draws of the naive reference."""

import copy
import json
from pathlib import Path
from typing import Any

from tests.reference import make_draw_vectors, naive_draws
from tests.reference.draw_refusals import CUSTOM, DICE, DOMINOES
from tests.reference.naive import rules_lines

ROOT = Path(__file__).parents[2]
FRUIT = make_draw_vectors.FRUIT

File = dict[str, Any]


def vectors(name: str) -> Any:
    return json.loads((ROOT / f"docs/vectors/{name}.json").read_text("utf-8"))


def draw_object(case: File, number: int = 1, **labels: list[str]) -> File:
    """Return a draw as it stands in a match."""
    return {
        "draw": case["draw"],
        "number": number,
        "rules": case["rules"],
        "seeds": case["seeds"],
        "blinding": case["blinding"],
        "salt_key": case["salt_key"],
        "commitment": case["C"],
        "result_root": case["D"],
        "result": case["result"],
        **labels,
    }


def draw_file(case: File) -> File:
    """Return a file of one draw; where the vectors name labels, they are those of fruit."""
    ids = {"entropyd": "draw/v1", "tenant": case["tenant"], "match": case["match"]}
    labels = {"labels": FRUIT} if "labels=" in case["rules"] else {}
    return {**ids, **draw_object(case, 1, **labels)}


def draw_of(label: str) -> File:
    """Return the file of a draw in match_draws.json."""
    cases = vectors("match_draws")["match_draws"]
    return draw_file(next(case for case in cases if case["label"] == label))


def match_file() -> File:
    """Return a match: dice, two draws from a bag with one tile returned between, an order."""
    tiles = {"tiles": "custom-" + naive_draws.labels_hash(["x", "y", "z"], 3).hex()}
    first = make_draw_vectors.draw_case("first tiles", CUSTOM | tiles)
    counts = [int(count) for count in CUSTOM["counts"].split(",")]
    left = naive_draws.left_after(counts, [int(kind) for kind in first["result"]])
    back = naive_draws.counts_after(counts, left, [int(first["result"][0])])
    spelled = {"counts": ",".join(map(str, back)), "m": "1"}
    second = make_draw_vectors.draw_case("more tiles", CUSTOM | tiles | spelled)
    dice = make_draw_vectors.draw_case("opening roll", DICE)
    names = ["x", "y", "z"]
    return {
        "entropyd": "match/v1",
        "tenant": "acme",
        "match": "ludo/1",
        "draws": [
            draw_object(dice, 1),
            draw_object(first, 2, tiles=names),
            draw_object(second, 3, tiles=names),
            draw_object(make_draw_vectors.draw_case("a set", DOMINOES | {"bag": "set"}), 4),
        ],
    }


def raffle_file(case: File) -> File:
    return {
        "entropyd": "raffle/v1",
        "tenant": case["tenant"],
        "raffle": case["raffle"],
        "entries": case["entries"],
        "entries_hash": case["E"],
        "rules": case["rules"],
        "seeds": case["seeds"],
        "blinding": case["blinding"],
        "salt_key": case["salt_key"],
        "commitment": case["C"],
        "result_root": case["D"],
        "result": case["result"],
        "winners": case["winners"],
        "alternates": case["alternates"],
    }


def long_draw(n: int) -> File:
    """Return a draw of the order of n items from one seed each 249 bits."""
    fields = {"kind": "items", "n": str(n), "sampler": "masked"}
    return draw_file(make_draw_vectors.draw_case(f"order of {n}", fields))


def raffle_of(count: int) -> File:
    """Return a raffle of ten winners and three alternates among so many tickets."""
    entries = sorted(f"ticket {i}" for i in range(count))
    digest = naive_draws.entries_hash_E(entries).hex()
    fields = {"kind": "raffle", "sampler": "masked", "n": str(count), "entries": digest}
    rules = rules_lines(fields | {"winners": "10", "alternates": "3"})
    seeds, r, K = make_draw_vectors.secrets("many tickets", rules)
    _, result, C, D = naive_draws.drawn("acme", "many", "raffle", rules, seeds, r, K)
    names = [entries[number] for number in result]
    return raffle_file(
        {
            "tenant": "acme",
            "raffle": "many",
            "entries": entries,
            "E": digest,
            "rules": rules.decode(),
            "seeds": [seed.hex() for seed in seeds],
            "blinding": r.hex(),
            "salt_key": K.hex(),
            "C": C.hex(),
            "D": D.hex(),
            "result": [str(number) for number in result],
            "winners": names[:10],
            "alternates": names[10:],
        }
    )


def labelled(*labels: str) -> File:
    """Return a draw of the order of some labels."""
    digest = naive_draws.labels_hash(list(labels), len(labels)).hex()
    fields = {"kind": "items", "sampler": "masked", "n": str(len(labels)), "labels": digest}
    case = make_draw_vectors.draw_case("labels", fields)
    return draw_file(case) | {"labels": list(labels)}


def good_files() -> dict[str, File]:
    """Return a name and a file of every kind, all of them right."""
    draws = vectors("match_draws")["match_draws"]
    files = {
        f"draw, {case['label']}": draw_file(case)
        for case in draws
        # A server seed is checked by its rounds; of custom tiles the vectors have the hash alone.
        if "kind=server_seed" not in case["rules"] and "tiles=custom-" not in case["rules"]
    }
    files["match"] = match_file()
    for case in vectors("raffles")["raffles"]:
        files[f"raffle, {case['label']}"] = raffle_file(case)
    for case in vectors("games")["rounds"]:
        files[f"round, {case['label']}, {case['file']['nonce']}"] = case["file"]
    return files


def changed(file: File, path: str, value: Any) -> File:
    """Return a copy with another value at `a.b[0].c`."""
    other = copy.deepcopy(file)
    steps: list[Any] = []
    for step in path.replace("[", ".").replace("]", "").split("."):
        steps.append(int(step) if step.isdigit() else step)
    holder: Any = other
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = value
    return other
