"""A JavaScript implementation, written from docs/protocol.md alone, agrees with everything else.

`tests/reference/js/check.mjs` recomputes vectors. Here it recomputes those of the repository, then
fresh ones on which the naive reference and the daemon's own code agree. That it can fail at all is
shown by changing every single value that it checks.
"""

import copy
import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from entropyd.draw.cards import DECKS, Deck, card_text
from entropyd.draw.samplers import Sampler
from entropyd.draw.segments import sample_bounds, shuffle_bounds, split
from entropyd.draw.shuffle import draw_values, sample, shuffle
from entropyd.hands.binding import hand_binding
from entropyd.hands.claim import claim_digest, derive_claim
from entropyd.hands.commitment import seats_root
from entropyd.hands.cut import contribution_leaf, contributions_root, cut
from entropyd.hands.rules import Contributions, Reveal, Rules, decode, rules_hash
from entropyd.hands.whole_deck import open_deck
from entropyd.rbg.construction import SeedConstruction
from tests.reference import make_vectors, naive
from tests.reference.javascript import CHECK, Choices, check, load, run_node, tampered

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/protocol.md"
# Files whose turn is in test_javascript_draws.py and test_javascript_hands.py.
ELSEWHERE = {"dealt_hands", "games", "log", "match_draws", "raffles"}
VECTORS = sorted(
    path for path in (ROOT / "docs/vectors").glob("*.json") if path.stem not in ELSEWHERE
)
HANDS = ROOT / "tests/vectors/protocol/hands.json"

# The fields of a vector that are results, of which check.mjs must check every one.
DRAW = {"segment_bounds", "bits", "draws", "result"}
HAND = {
    *("n", "rules_hash", "X", "C", "items", "D", "A", "O", "R", "cut"),
    *("dealt_cards", "dealt_text", "claim", "claim_digest"),
    *("committed_items", "dealt_items", "cut_key"),
    *("contribution_leaves_sorted", "contribution_leaf_hashes_sorted"),
}
OPENED = {"leaf_index", "item", "card", "salt", "path"}
SEEDS = {"seeds", "seed", "blinding", "salt_key", "digest"}
# List of a file -> the results of each of its vectors, where they are always the same.
FIXED = {
    "tries": ["result"],
    "accepted": ["n", "rules_hash"],
    "refused": ["field"],
    "draws": ["X", "rules_hash"],
    "events": ["samples"],
    "claims": ["claim", "claim_digest"],
}


def results_of(content):
    """Yield (object, field) for every value of a vector file that is a result."""
    for vector in [*content.get("cases", []), *content.get("hands", [])]:
        known = DRAW if "kind" in vector else HAND
        # Of a draw `n` is an input, of a hand a result.
        yield from ((vector, field) for field in sorted(vector.keys() & known))
        for opened in vector.get("opened", []):
            yield from ((opened, field) for field in sorted(opened.keys() & OPENED))
    for run in content.get("runs", []):
        for step in run["steps"]:
            for made in (step, *step.get("hands", ())):
                yield from ((made, field) for field in sorted(made.keys() & SEEDS))
    for name, fields in FIXED.items():
        for vector in content.get(name, []):
            yield from ((vector, field) for field in fields)


def count_results(*contents):
    return sum(1 for content in contents for _ in results_of(content))


# --- The vectors of the repository -------------------------------------------


@pytest.mark.parametrize("path", [*VECTORS, HANDS], ids=lambda path: path.stem)
def test_every_vector_agrees(path):
    """JavaScript finds every value of the file, and as many values as Python finds in it."""
    expected = count_results(load(path))
    assert expected > 0
    code, lines = check(path)
    assert f"{expected} values checked, 0 differ" == lines[-1]
    assert code == 0


def test_the_worked_example_agrees():
    """Each line of the worked example is an input (14 of them) or a value that is recomputed."""
    block = DOCUMENT.read_text("utf-8").split("```text\n")[1].split("```")[0]
    expected = len(block.splitlines()) - 14
    code, lines = check(DOCUMENT)
    assert f"{expected} values checked, 0 differ" == lines[-1]
    assert code == 0


def test_all_kinds_of_vectors_are_there():
    """The list of files is not empty by accident."""
    expected = {"draws", "encodings", "hands", "refusals", "rules", "seeds"}
    assert expected == {path.stem for path in VECTORS}


# --- The check can fail ------------------------------------------------------


def first_vectors(path):
    """Return the file with the first vector of each of its lists, or of each kind."""
    content = load(path)
    if path.stem == "draws":
        first = {case["kind"]: case for case in reversed(content["cases"])}
        results = {case["result"]: case for case in reversed(content["tries"])}
        return {"cases": list(first.values()), "tries": list(results.values())}
    if path.stem == "refusals":
        return {"refused": list({case["of"]: case for case in content["refused"]}.values())}
    first = {name: part[-1:] if isinstance(part, list) else part for name, part in content.items()}
    for hand in [*first.get("hands", []), *first.get("cases", [])]:
        hand["opened"] = hand["opened"][:1]
    return first


def tampered_files():
    for path in [*VECTORS, HANDS]:
        content = first_vectors(path)
        for i, (_, field) in enumerate(results_of(content)):
            changed = copy.deepcopy(content)
            vector = list(results_of(changed))[i][0]
            vector[field] = tampered(vector[field])
            name = f"{path.parent.parent.name}-{path.stem}-{i}-{field}"
            yield pytest.param(field, json.dumps(changed), id=name)


@pytest.mark.parametrize(("field", "text"), list(tampered_files()))
def test_a_changed_value_is_found_and_named(field, text):
    """One wrong value makes exit code 1, and the field is said."""
    code, lines = check("-", stdin=text)
    assert code == 1
    assert f"DIFFERS in {field}" in "\n".join(lines)


def test_what_is_not_refused_is_found():
    """Rules, and another input, that nothing is wrong with."""
    good_rules = load(ROOT / "docs/vectors/rules.json")["accepted"][0]["rules"]
    rules = {"reason": "none", "rules_hex": good_rules.encode().hex(), "field": "rules"}
    events = {"reason": "none", "of": "events", "events": [[1, 2, "3"]], "field": "x"}
    for content in ({"accepted": [], "refused": [rules]}, {"refused": [events]}):
        code, lines = check("-", stdin=json.dumps(content))
        assert code == 1
        assert "DIFFERS in field" in "\n".join(lines)
        assert "got      null" in lines[-1]


@pytest.mark.parametrize("change", ["tries that are left", "tries that are missing"])
def test_a_draw_takes_all_tries_and_no_more(change):
    """A limit of another number than 128 is found, whatever the result."""
    content = load(ROOT / "docs/vectors/draws.json")
    void = next(case for case in content["tries"] if case["result"] is None)
    void["values"] = void["values"][1:] if "missing" in change else [*void["values"], 3]
    code, lines = check("-", stdin=json.dumps({"cases": [], "tries": [void]}))
    assert code == 1
    expected = "a try is made too many" if "missing" in change else "DIFFERS in values"
    assert expected in "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"cases": [{"kind": "deal"}], "tries": []}', "unknown kind of draw deal"),
        ('{"deals": []}', "unknown file of deals"),
        ('{"runs": [{"origin": "o"}]}', "missing fields: nonce, instantiate, steps"),
        ('{"refused": [], "accepted": [], "other": []}', "unknown file of"),
        (
            '{"accepted": [], "refused": [{"reason": "", "rules_hex": "", "field": "", "n": 1}]}',
            "fields: n",
        ),
        ('{"refused": [{"of": "deck"}]}', "unknown refusal of deck"),
    ],
)
def test_what_the_check_does_not_know_is_an_error(text, complaint):
    """An unknown kind or field is never passed over."""
    code, lines = check("-", stdin=text)
    assert code == 1
    assert complaint in lines[-1]


def test_checking_nothing_fails():
    """A file without vectors does not count as agreement."""
    assert check("-", stdin='{"cases": []}') == (1, ["0 values checked, 0 differ"])


# --- What no vector shows: a hand with a lie in it ---------------------------


def test_javascript_finds_every_lie():
    """Section 13.3, which also takes rules that no daemon makes, if nobody contributes."""
    code, lines = run_node(CHECK.with_name("refusals.mjs"))
    assert code == 0
    assert ["none", "byCard", "otherRules"] == json.loads(lines[0])


# --- Three implementations on fresh cases ------------------------------------


def chosen_rules(choose):
    name = choose.of(DECKS)
    removed = choose.subset(DECKS[name], choose.of([0, 0, 1, 3, choose.below(35)]))
    whole_deck = choose.below(2) == 0
    return Rules(
        deck=Deck(name, choose.of([1, 1 + choose.below(8)]), tuple(removed)),
        contributions=Contributions.NONE if whole_deck else choose.of(Contributions),
        reveal=choose.of(Reveal),
        sampler=choose.of(Sampler),
        whole_deck_proof=whole_deck,
    )


def chosen_hand(number):
    """Return a hand as the naive reference plays it, under rules as the daemon writes them."""
    choose = Choices(f"hand {number}")
    rules = chosen_rules(choose)
    seats, values = {}, []
    if rules.contributions is not Contributions.NONE:
        for i in range(choose.below(7)):
            seats[f"seat-{i}"] = choose.data(32) if choose.below(2) else b""
        speakers = choose.subset(seats, choose.below(len(seats) + 1))
        values = [(seat, choose.data(32)) for seat in speakers]
    table, hand = (
        "".join(chr(0x21 + choose.below(94)) for _ in range(choose.of([1, 9]))) for _ in range(2)
    )
    sequence = 1 + choose.below(2**53 - 1)
    text = rules.encode()
    return make_vectors.hand_case(f"hand {number}", table, hand, sequence, text, seats, values)


def daemon_hand(vector):
    """Return the results of a hand as the daemon computes them."""
    text = vector["rules"].encode()
    rules = decode(text)
    X = hand_binding(vector["tenant"], vector["table"], vector["hand"], rules_hash(text))
    deck = open_deck(
        rules,
        X,
        seeds=[bytes.fromhex(seed) for seed in vector["seeds"]],
        blinding=bytes.fromhex(vector["blinding"]),
        salt_key=bytes.fromhex(vector["salt_key"]),
        seats_root=seats_root({s: bytes.fromhex(key) for s, key in vector["seats"].items()}),
    )
    O = deck.at_sequence(vector["sequence"])  # noqa: E741
    leaves = [
        contribution_leaf(O, contribution["seat"], bytes.fromhex(contribution["value"]))
        for contribution in vector["contributions"]
    ]
    places = cut(O, deck.size, leaves, rules.sampler)
    cards = rules.deck.cards(deck.items[place] for place in places)
    claim = derive_claim(bytes.fromhex(vector["claim_key"]), vector["table"], vector["hand"])
    return {
        "n": deck.size,
        "rules_hash": rules_hash(text).hex(),
        "X": X.hex(),
        "C": deck.commitment.hex(),
        "items": list(deck.items),
        "D": deck.deck_root.hex(),
        "A": deck.seats_root.hex(),
        "O": O.hex(),
        "R": contributions_root(leaves).hex(),
        "cut": places,
        "dealt_cards": cards.hex(),
        "dealt_text": " ".join(map(card_text, cards)),
        "claim": claim.hex(),
        "claim_digest": claim_digest(X, claim).hex(),
    }


def chosen_draw(number):
    """Return a list, shuffle or sample as the naive reference draws it."""
    choose = Choices(f"draw {number}")
    kind, sampler = choose.of(["list", "shuffle", "sample"]), choose.of(Sampler)
    size = 1 + choose.below(432)
    if kind != "list":
        m = 1 + choose.below(size) if kind == "sample" else None
        return make_vectors.draw_case(f"draw {number}", kind, sampler.value, size, m)
    most_bits = 32 if sampler is Sampler.WORD32 else 52
    bounds = [1 + choose.below(2 ** choose.below(most_bits + 1)) for _ in range(choose.below(60))]
    return make_vectors.draw_case(f"draw {number}", kind, sampler.value, bounds, None)


def daemon_draw(vector):
    """Return the results of a draw as the daemon computes them."""
    n, m = vector.get("n", 0), vector.get("m", 0)
    bounds = {
        "list": vector.get("bounds", []),
        "shuffle": shuffle_bounds(n),
        "sample": sample_bounds(n, m),
    }[vector["kind"]]
    how = ([bytes.fromhex(s) for s in vector["seeds"]], bytes.fromhex(vector["X"]))
    sampler, segments = Sampler(vector["sampler"]), split(bounds)
    results = {
        "segment_bounds": [len(segment) for segment in segments],
        "draws": list(draw_values(segments, *how, sampler)),
    }
    if vector["kind"] == "shuffle":
        results["result"] = shuffle(n, *how, sampler)
    if vector["kind"] == "sample":
        results["result"] = sample(n, m, *how, sampler)
    return results


def agreed(vector, results):
    """Return the naive reference's vector, once the daemon's results are the same."""
    assert {field: vector[field] for field in results} == results
    return vector


def write(path, content):
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_three_implementations_agree_on_200_hands_and_draws(tmp_path):
    """The daemon, the naive reference and JavaScript agree on hands and draws nobody picked."""
    hands = [agreed(vector, daemon_hand(vector)) for vector in map(chosen_hand, range(100))]
    draws = [agreed(vector, daemon_draw(vector)) for vector in map(chosen_draw, range(100))]
    texts = sorted({hand["rules"]: hand for hand in hands}.items())
    rules = [{"rules": text, "rules_hash": h["rules_hash"], "n": h["n"]} for text, h in texts]
    contents = [
        {"cases": hands},
        {"cases": draws, "tries": []},
        {"accepted": rules, "refused": []},
    ]
    files = [write(tmp_path / f"{i}.json", content) for i, content in enumerate(contents)]
    code, lines = check(*files)
    assert f"{count_results(*contents)} values checked, 0 differ" == lines[-1]
    assert code == 0


def test_the_fresh_cases_are_not_all_alike():
    """Each deck, sampler, form of D and number of segments that matters is among the cases."""
    hands = [chosen_hand(number) for number in range(100)]
    lines = {line for hand in hands for line in hand["rules"].splitlines()}
    assert {f"deck={name}" for name in DECKS} <= lines
    assert {f"decks={d}" for d in range(1, 9)} <= lines
    assert {"sampler=masked", "sampler=word32", "proofs=deck", "contributions=sealed"} <= lines
    assert any(line.startswith("removed=") for line in lines)
    assert any(len(hand["contributions"]) > 2 for hand in hands)
    assert {1, 2} < {len(hand["seeds"]) for hand in hands}


# --- Three implementations on fresh seeds ------------------------------------


def chosen_run(number):
    """Return a run of the generator as the naive reference goes through it, in one file's form."""
    choose = Choices(f"run {number}")

    def samples(most):
        return {choose.of("aBc-9") * i: choose.data(1 + choose.below(64)) for i in range(1, most)}

    def four():
        classes = [samples(1 + choose.below(4)) for _ in range(3)]
        return (*classes, {"getrandom": choose.data()})

    start, nonce = four(), choose.data(32)
    hardware, cover, user, os = start
    drbg = naive.instantiate("entropyd.example/run", hardware, cover, user, os, nonce)
    steps = []
    for step in range(6):
        if choose.below(3) == 0:
            hardware, user = samples(3), samples(choose.of([1, 3]))
            user = {f"{choose.of(['t', 'T-2'])} {name}": data for name, data in user.items()}
            naive.stir(drbg, hardware, user)
            steps.append({"do": "stir"} | make_vectors.as_json((hardware, {}, user, {})))
        elif choose.below(3) == 0:
            hands = [
                (naive.hand_X("t", "t", str(j), b"r=1\n"), *four()[:2])
                for j in range(1 + choose.below(4))
            ]
            steps.append(make_vectors.batch_step(drbg, four(), hands))
        else:
            X = naive.hand_X("t", "t", str(step), b"r=1\n")
            segments = [four() for _ in range(1 + choose.below(3))]
            steps.append(make_vectors.seed_step(drbg, "", X, segments))
    return {
        "origin": "entropyd.example/run",
        "nonce": nonce.hex(),
        "instantiate": make_vectors.as_json(start),
        "steps": steps,
    }


def as_samples(classes):
    """Return the classes of a vector as the daemon's construction takes them."""
    decoded = {
        name: [(source, bytes.fromhex(data)) for source, data in sources.items()]
        for name, sources in classes.items()
        if name in {"hardware", "cover", "user", "os"}
    }
    return SimpleNamespace(**decoded)


def daemon_run(run):
    """Return the results of each step of a run as the daemon computes them."""
    construction = SeedConstruction(run["origin"], self_test=lambda: None)
    start = as_samples(run["instantiate"])
    construction.instantiate(start, start.os[0][1], bytes.fromhex(run["nonce"]))
    for step in run["steps"]:
        if step["do"] == "stir":
            construction.stir(as_samples(step))
            yield {}
            continue
        if step["do"] == "batch":
            yield daemon_batch(construction, step)
            continue
        gated = [as_samples(classes) for classes in step["segments"]]
        fresh = [samples.os[0][1] for samples in gated]
        drawn = construction.seed_draw(bytes.fromhex(step["X"]), gated, fresh)
        yield {
            "seeds": [seed.hex() for seed in drawn.seeds],
            "blinding": drawn.blinding.hex(),
            "salt_key": drawn.salt_key.hex(),
        }


def daemon_batch(construction, step):
    """Return the hands of a batch with the results that the daemon computes."""
    shared = as_samples(step["shared"])
    made = construction.seed_batch(
        shared,
        shared.os[0][1],
        [bytes.fromhex(hand["X"]) for hand in step["hands"]],
        [as_samples(hand) for hand in step["hands"]],
    )
    results = [
        {"seed": one.seeds[0].hex(), "blinding": one.blinding.hex(), "salt_key": one.salt_key.hex()}
        for one in made
    ]
    return {"hands": [hand | own for hand, own in zip(step["hands"], results, strict=True)]}


def test_three_implementations_agree_on_20_runs_of_the_generator():
    """The daemon, the naive reference and JavaScript make the same seeds from the same samples."""
    runs = [chosen_run(number) for number in range(20)]
    for run in runs:
        for step, results in zip(run["steps"], daemon_run(run), strict=True):
            agreed(step, results)
    steps = [step["do"] for run in runs for step in run["steps"]]
    assert {("stir", "draw"), ("batch", "draw"), ("draw", "batch")} <= set(pairwise(steps))
    content = {"runs": runs}
    code, lines = check("-", stdin=json.dumps(content))
    assert f"{count_results(content)} values checked, 0 differ" == lines[-1]
    assert code == 0
