"""The page's own modules judge files as entropyd.verify does, which shares no code with them.

They run under Node here; that the page is made of just these modules is test_build.py's, and what
people see of them test_page.py's.
"""

import copy
import hmac
import json
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from entropyd.errors import ProofMalformedError, ProofMismatchError
from entropyd.verify import check_proof
from tests.reference.javascript import node_binary
from tests.unit.test_javascript_draws import chosen_round
from tests.web import proofs
from tests.web.proofs import changed

CORE = Path(__file__).with_name("core.mjs")
GOOD = proofs.good_files()
LAST_DIGIT = {"0": "1"}


def came_of(*cases):
    """Return what came of each case."""
    run = subprocess.run(
        [str(node_binary()), str(CORE)],
        input="\n".join(json.dumps(case) for case in cases),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def python_says(text):
    """Return what entropyd.verify says of a file, in the page's words."""
    try:
        check_proof(text.encode("utf-8", "surrogatepass"))
    except ProofMalformedError:
        return "refused"
    except ProofMismatchError:
        return "mismatch"
    return "match"


def page_says(came):
    return "refused" if "refused" in came else came["verdict"]


def another(value):
    """Return another value that looks as well formed."""
    if isinstance(value, str):
        return value[:-1] + LAST_DIGIT.get(value[-1:], "0")
    if isinstance(value, bool | None):
        return 1
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return value[:-1]
    return {}


def places(value, path=""):
    """Yield the path of every member of a file and of the ends of its lists."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield f"{path}.{name}".lstrip(".")
            yield from places(member, f"{path}.{name}".lstrip("."))
    if isinstance(value, list):
        for i in sorted({0, len(value) - 1} if value else ()):
            yield f"{path}[{i}]"
            yield from places(value[i], f"{path}[{i}]")


def at(file, path):
    for step in path.replace("[", ".").replace("]", "").split("."):
        file = file[int(step) if step.isdigit() else step]
    return file


def test_every_good_file_matches():
    """All draws, raffles and rounds of the vectors, and a match."""
    found = came_of(*({"text": json.dumps(file)} for file in GOOD.values()))
    assert {"match"} == {page_says(came) for came in found}
    assert len(GOOD) > 50
    assert {"match"} == {python_says(json.dumps(file)) for file in GOOD.values()}


def few_of_each():
    """Return a file of every kind, game and profile: changing each value of all takes minutes."""
    seen: dict[tuple[str, ...], tuple[str, proofs.File]] = {}
    for name, file in GOOD.items():
        rules = file.get("rules", "").splitlines()
        kinds = [
            line for line in rules if line.split("=")[0] in {"kind", "game", "machine", "sampler"}
        ]
        seen.setdefault((file["entropyd"], *kinds), (name, file))
    return dict(seen.values())


def test_no_changed_value_matches_and_python_agrees():
    """Each value of a file of each kind, changed, taken away, and of another type."""
    cases = []
    for file in few_of_each().values():
        for path in places(file):
            others = [another(at(file, path)), {"a": 1}, None]
            cases += [changed(file, path, value) for value in others if value != at(file, path)]
    texts = [json.dumps(case) for case in cases]
    found = [page_says(came) for came in came_of(*({"text": text} for text in texts))]
    expected = [python_says(text) for text in texts]
    assert len(cases) > 500
    unseen = [i for i, text in enumerate(texts) if expected[i] == "match"]
    # Of a single draw nothing says which number it has in its match, and of a match nothing says
    # that its last draw was the last: both are among the limits that the page names.
    assert {"draw/v1", "match/v1"} == {cases[i]["entropyd"] for i in unseen}
    assert [i for i, verdict in enumerate(found) if verdict == "match"] == unseen
    differ = [
        (texts[i][:300], expected[i], found[i])
        for i in range(len(texts))
        if {expected[i], found[i]} == {"match", "mismatch"}
    ]
    assert [] == differ


def test_missing_and_unknown_members_are_refused():
    """Nothing that is in a file goes unread, and nothing is filled in."""
    cases = []
    for file in few_of_each().values():
        cases += [{k: v for k, v in file.items() if k != name} for name in file if name != "tiles"]
        cases.append(file | {"note": "all well"})
    found = came_of(*({"text": json.dumps(case)} for case in cases))
    assert {"refused"} == {page_says(came) for came in found}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("{", "json"),
        ("not json", "json"),
        ("[]", "object"),
        ("null", "object"),
        ('"draw/v1"', "object"),
        ("[" * 100_000, "deep"),
        ('{"a":"' + "x" * 20_000_000 + '"}', "kind"),
        ('{"a":"' + "\\n" * 9_000_000 + '"}', "kind"),
        ('"' + "\\" * 20_000_000, "json"),
        ("9" * 20_000_000, "number"),
        ('{"a":' * 100_000, "deep"),
        ("{" + '"a":1,' * 3 + '"b":2}', "twice"),
        ('{"a":1,"\\u0061":2}', "twice"),
        ('{"entropyd":"draw/v1","entropyd":"round/v1"}', "twice"),
        ('{"a":1.5}', "number"),
        ('{"a":1e400}', "number"),
        ('{"a":NaN}', "json"),
        ('{"a":9007199254740993}', "number"),
        ('{"a":-0}', "number"),
        ('{"entropyd":"hand/v2"}', "kind"),
        ('{"entropyd":"constructor"}', "kind"),
        ('{"entropyd":"__proto__"}', "kind"),
        ('{"entropyd":1}', "type.text"),
        ('{"__proto__":{"entropyd":"draw/v1"}}', "kind"),
        ('{"entropyd":"\\ud800"}', "type.text"),
    ],
    ids=lambda value: value[:24].replace("\\", "-") if len(value) > 24 else None,
)
def test_hostile_json_is_refused_by_name(text, code):
    (came,) = came_of({"text": text})
    assert code == came["refused"]
    assert "refused" == python_says(text)


def test_a_large_file_is_refused():
    """Before it is read."""
    (came,) = came_of({"text": '{"a":"' + "x" * (32 << 20) + '"}'})
    assert "large" == came["refused"]


def test_what_would_take_hours_is_refused():
    """A few lines can ask for 10^9 steps from one seed; an outcome can be anything."""
    rules = "kind=items\nn=100000\nsampler=masked\nseeds=computational\n"
    one = proofs.draw_object(
        {**proofs.vectors("match_draws")["match_draws"][0], "rules": rules, "result": []}
    )
    draws = [one | {"number": i + 1, "draw": f"d{i}"} for i in range(11)]
    match = {"entropyd": "match/v1", "tenant": "t", "match": "m", "draws": draws}
    large = GOOD[next(name for name in GOOD if name.startswith("round"))] | {
        "outcome": {"mines": [0] * 100_000}
    }
    found = came_of({"text": json.dumps(match)}, {"text": json.dumps(large)})
    assert ["long", "large"] == [came["refused"] for came in found]


def test_a_winner_is_no_alternate_whatever_entries_are_called():
    """The two lists are compared each by itself: none can borrow from the other."""
    for case in proofs.vectors("raffles")["raffles"]:
        file = proofs.raffle_file(case)
        if not file["alternates"]:
            continue
        first, *others = file["alternates"]
        moved = file | {"winners": [*file["winners"], first], "alternates": others}
        (came,) = came_of({"text": json.dumps(moved)})
        assert ("mismatch", ["winners", "alternates"]) == (came["verdict"], came["bad"])


# --- What is explained ---------------------------------------------------------------------------


@cache
def fresh(number):
    """Return the file of a round that nobody picked."""
    return chosen_round(number)["file"]


def a_round(game="blackjack", profile="v1", machine=None):
    """Return the fields of a round as somebody would type them, all right."""
    file = next(
        file
        for file in map(fresh, range(400))
        if f"game={game}" in file["rules"]
        and f"profile={profile}" in file["rules"]
        and 0 < int(file["nonce"]) < 2**60
        and not file["client_seed"].islower()
        and not file["client_seed"].isupper()
        and (machine is None or f"machine={machine}" in file["rules"])
    )
    lines = dict(line.split("=") for line in file["rules"].splitlines())
    outcome = file["outcome"]
    words = {
        "blackjack": lambda: outcome["shoe"][:4],
        "dice_poker": lambda: [str(die) for die in outcome["bot"] + outcome["player"]],
        "mines": lambda: sorted(map(str, outcome["mines"])),
        "roulette": lambda: ["00" if outcome["pocket"] == 37 else str(outcome["pocket"])],
        "slots": lambda: outcome["symbols"] if "symbols" in outcome else outcome["grids"][0],
    }[game]()
    return {
        "game": game,
        "profile": profile,
        "machine": lines.get("machine", ""),
        "mines": lines.get("mines", ""),
        "seed": file["server_seed"],
        "hash": file["server_hash"],
        "client": file["client_seed"],
        "nonce": file["nonce"],
        "words": words,
    }


SLIPS = {
    "seed_space": lambda r: r | {"seed": f" {r['seed']}\n"},
    "seed_case": lambda r: r | {"seed": r["seed"].upper()},
    "hash_space": lambda r: r | {"hash": r["hash"] + "\n"},
    "hash_case": lambda r: r | {"hash": r["hash"].upper()},
    "client_space": lambda r: r | {"client": r["client"] + " "},
    "nonce_space": lambda r: r | {"nonce": r["nonce"] + " "},
    "nonce_high": lambda r: r | {"nonce": str(int(r["nonce"]) + 1)},
    "nonce_low": lambda r: r | {"nonce": str(int(r["nonce"]) - 1)},
    "seed_and_hash": lambda r: r | {"seed": r["hash"], "hash": r["seed"]},
    "seed_and_client": lambda r: r | {"seed": r["client"], "client": r["seed"]},
    "seed_is_hash": lambda r: r | {"seed": r["hash"]},
    "profile": lambda r: r | {"profile": "v1" if r["profile"] == "v2" else "v2"},
}


@pytest.mark.parametrize("profile", ["v1", "v2"])
@pytest.mark.parametrize("cause", SLIPS)
def test_each_slip_is_explained(cause, profile):
    """What was typed wrongly is named, and nothing else is."""
    right = a_round(profile=profile)
    good, came = came_of({"round": right}, {"round": SLIPS[cause](right)})
    assert "match" == good["verdict"]
    assert page_says(came) in {"mismatch", "refused"}
    assert [cause] == came["causes"]


@pytest.mark.parametrize("profile", ["v1", "v2"])
@pytest.mark.parametrize(
    ("change", "cause"), [("lower", "client_lower"), ("upper", "client_upper")]
)
def test_a_client_seed_in_other_letters_is_explained(profile, change, cause):
    """A telephone that begins with a capital letter, or the lock of capitals."""
    file = next(
        file
        for file in map(fresh, range(2000))
        if f"profile={profile}" in file["rules"]
        and "roulette" not in file["rules"]
        and "mines=1\n" not in file["rules"]
        and getattr(file["client_seed"], f"is{change}")()
    )
    swapped = changed(file, "client_seed", file["client_seed"].swapcase())
    (came,) = came_of({"text": json.dumps(swapped)})
    assert "mismatch" == came["verdict"]
    assert [cause] == came["causes"]


def test_the_hash_of_the_bytes_is_explained_in_a_file_and_taken_from_a_person():
    """v1 shows it beside the other, so who typed it is not told that it is wrong."""
    right = a_round(profile="v1")
    of_bytes = sha256(bytes.fromhex(right["seed"])).hexdigest()
    file = next(f for f in GOOD.values() if "profile=v1" in f.get("rules", ""))
    in_file = changed(file, "server_hash", sha256(bytes.fromhex(file["server_seed"])).hexdigest())
    from_person, from_file = came_of(
        {"round": right | {"hash": of_bytes}}, {"text": json.dumps(in_file)}
    )
    assert "match" == from_person["verdict"]
    assert ("mismatch", ["hash_of_bytes"]) == (from_file["verdict"], from_file["causes"])


def test_the_other_form_of_the_key_is_explained():
    """Dice thrown by a program that decodes the seed before it is the key, as many do."""
    right = a_round("dice_poker", "v1")
    key, dice = bytes.fromhex(right["seed"]), []
    message = f"{right['client']}:{right['nonce']}:"
    stream = b"".join(hmac.digest(key, f"{message}{c}".encode(), "sha256") for c in range(4))
    for at in range(0, len(stream), 4):
        word = int.from_bytes(stream[at : at + 4], "big")
        if word < 2**32 - 2**32 % 6:
            dice.append(str(word % 6 + 1))
    (came,) = came_of({"round": right | {"words": dice[:10]}})
    assert ("mismatch", ["key_bytes"]) == (came["verdict"], came["causes"])


def test_two_slips_at_once_are_explained():
    """A space at the seed and the next nonce."""
    right = a_round()
    wrong = right | {"seed": right["seed"] + " ", "nonce": str(int(right["nonce"]) + 1)}
    (came,) = came_of({"round": wrong})
    assert ["seed_space", "nonce_high"] == came["causes"]


def test_other_ways_of_counting_an_outcome_are_explained():
    """Tiles as they are numbered on the board, and the dice of the other."""
    mines, dice = a_round("mines"), a_round("dice_poker")
    from_one = sorted(str(int(tile) + 1) for tile in mines["words"])
    first, second = came_of(
        {"round": mines | {"words": from_one}},
        {"round": dice | {"words": dice["words"][5:] + dice["words"][:5]}},
    )
    assert "outcome_from_one" in first["causes"]
    assert ["outcome_owner"] == second["causes"]


def test_a_changed_outcome_is_not_explained_away():
    """No slip is found for a lie, in any game with outcomes enough to tell; the seed is cleared."""
    for game in ("blackjack", "dice_poker"):
        right = a_round(game)
        (came,) = came_of({"round": right | {"words": list(reversed(right["words"]))}})
        assert ("mismatch", ["outcome_only"]) == (came["verdict"], came["causes"])


def test_nothing_to_compare_is_no_match():
    """A verdict of its own: the page never says that a round matches what it was not shown."""
    right = a_round()
    del right["words"]
    (came,) = came_of({"round": right | {"hash": ""}})
    assert ("computed", []) == (came["verdict"], came["bad"])


DRAW_SLIPS = {
    "secrets_swapped": lambda f: f | {"blinding": f["salt_key"], "salt_key": f["blinding"]},
    "ids_swapped": lambda f: f | {"match": f["draw"], "draw": f["match"]},
    "ids_case": lambda f: f | {"tenant": f["tenant"].upper()},
    "seeds_reversed": lambda f: f | {"seeds": f["seeds"][::-1]},
    "result_reversed": lambda f: f | {"result": f["result"][::-1]},
    "result_from_one": lambda f: f | {"result": [str(int(v) + 1) for v in f["result"]]},
    "changed_result": lambda f: f | {"result": sorted(f["result"])},
    "changed_root": lambda f: f | {"result_root": f["commitment"]},
    "changed_inputs": lambda f: f | {"tenant": "other"},
}


@pytest.mark.parametrize("cause", DRAW_SLIPS)
def test_each_slip_of_a_draw_is_explained(cause):
    (came,) = came_of(
        {"text": json.dumps(DRAW_SLIPS[cause](proofs.draw_of("60 items, two seeds")))}
    )
    assert ("mismatch", [cause]) == (came["verdict"], came["causes"])


RAFFLE = proofs.raffle_file(proofs.vectors("raffles")["raffles"][0])
MATCH = proofs.match_file()


@pytest.mark.parametrize(
    ("file", "kept", "cause"),
    [
        (proofs.changed(RAFFLE, "winners[0]", "somebody else"), "", "changed_winners"),
        (proofs.changed(RAFFLE, "alternates[0]", "somebody else"), "", "changed_winners"),
        (proofs.changed(RAFFLE, "entries_hash", "11" * 32), "", "changed_entries"),
        (proofs.changed(MATCH, "draws[1].tiles[0]", "w"), "", "changed_labels"),
        (proofs.changed(MATCH, "draws[0].number", 2), "", "draw_missing"),
        (RAFFLE, "11" * 32, "other_kept"),
        (MATCH, "11" * 32, "other_kept"),
    ],
)
def test_a_comparison_that_fails_by_itself_says_what_that_means(file, kept, cause):
    """Names of winners, entries, labels, numbers, a hash that was kept: no slip, and no seed."""
    (came,) = came_of({"text": json.dumps(file), "kept": kept})
    assert ("mismatch", {cause}) == (came["verdict"], set(came["causes"]))


def test_a_kept_hash_must_be_one_of_the_file():
    """The one thing that ties a file to the time before its result."""
    file = proofs.draw_of("two dice")
    same, other = came_of(
        {"text": json.dumps(file), "kept": f" {file['commitment'].upper()}\n"},
        {"text": json.dumps(file), "kept": "00" * 32},
    )
    assert "match" == same["verdict"]
    assert ("mismatch", ["kept"]) == (other["verdict"], other["bad"])


# --- Matches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "bad"),
    [
        (lambda m: m["draws"].pop(0), {"numbers"}),
        (lambda m: m["draws"].pop(1), {"numbers"}),
        (lambda m: m["draws"].reverse(), {"numbers", "bag"}),
        (lambda m: m["draws"].append({**m["draws"][0], "number": 5}), {"ids"}),
        (lambda m: m["draws"][0].update(number=2), {"numbers"}),
    ],
)
def test_a_match_without_some_of_its_draws_differs(change, bad):
    """Each draw is right, and they are not the draws of one match."""
    file = proofs.match_file()
    change(file)
    (came,) = came_of({"text": json.dumps(file)})
    assert ("mismatch", bad) == (came["verdict"], set(came["bad"]))
    assert "mismatch" == python_says(json.dumps(file))


def test_bags_of_the_vectors_are_refused():
    """Every bag that section 16.5 refuses is found, whatever else is wrong with such a file."""
    for vector in proofs.vectors("match_draws")["refused_matches"]:
        draws = copy.deepcopy(vector["draws"])
        secrets = {"blinding": "00" * 32, "salt_key": "00" * 32, "seeds": ["00" * 64]}
        roots = {"commitment": "00" * 32, "result_root": "00" * 32}
        for i, one in enumerate(draws):
            one.update(draw=f"d{i}", number=i + 1, **secrets, **roots)
            lines = dict(line.split("=") for line in one["rules"].splitlines())
            if lines.get("tiles", "").startswith("custom-"):
                one["tiles"] = ["x"] * len(lines["counts"].split(","))
        file = {"entropyd": "match/v1", "tenant": "t", "match": "m", "draws": draws}
        (came,) = came_of({"text": json.dumps(file)})
        assert came.get("refused") == "rules.value" or "bag" in came["bad"], vector["reason"]


def test_refused_rules_of_the_vectors_are_refused():
    """Each of the lines that section 16.1 refuses, in a file that is otherwise a draw."""
    good = proofs.draw_of("two dice")
    vectors = proofs.vectors("match_draws")["refused_draw_rules"]
    cases = [good | {"rules": bytes.fromhex(v["rules_hex"]).decode("latin-1")} for v in vectors]
    found = came_of(*({"text": json.dumps(case)} for case in cases))
    assert {"refused"} == {page_says(came) for came in found}
    assert len(found) > 150


def test_refused_rounds_of_the_vectors_are_refused():
    good = proofs.vectors("games")["rounds"][0]["file"]
    names = ("rules", "client_seed", "nonce")
    vectors = proofs.vectors("games")["refused"]
    cases = [good | {name: vector[name] for name in names} for vector in vectors]
    found = came_of(*({"text": json.dumps(case)} for case in cases))
    assert {"refused"} == {page_says(came) for came in found}


def test_refused_entries_of_the_vectors_are_refused():
    """Lists that are not canonical, sorted by bytes and each once."""
    good = proofs.raffle_file(proofs.vectors("raffles")["raffles"][0])
    vectors = proofs.vectors("raffles")["refused_entries"]
    cases = [good | {"entries": vector["given"]} for vector in vectors]
    found = came_of(*({"text": json.dumps(case)} for case in cases))
    assert {"refused"} == {page_says(came) for came in found}
