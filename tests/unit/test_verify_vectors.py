"""The verifier against the golden vectors, which another implementation computed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from entropyd.errors import ProofError, ProofMalformedError
from entropyd.verify import check_proof

VECTORS = Path(__file__).parents[2] / "docs" / "vectors"


def load(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


MATCH_DRAWS = load("match_draws")["match_draws"]
LABELS = {case["labels_hash"]: case["labels"] for case in load("match_draws")["labels"]}
NAMED = re.compile(r"^(?:labels=|tiles=custom-)([0-9a-f]{64})$", re.MULTILINE)


def labels_of(case):
    """The labels that the rules name by their hash: None if they name none, [] if unknown."""
    named = NAMED.search(case["rules"])
    return LABELS.get(named[1], []) if named else None


SERVER_SEEDS = [case for case in MATCH_DRAWS if "kind=server_seed" in case["rules"]]
DRAWS = [case for case in MATCH_DRAWS if case not in SERVER_SEEDS and labels_of(case) != []]
UNNAMED = [case for case in MATCH_DRAWS if labels_of(case) == []]
RAFFLES = load("raffles")["raffles"]
ROUNDS = load("games")["rounds"]


def common(case):
    names = ("tenant", "rules", "seeds", "blinding", "salt_key", "result")
    hashes = {"commitment": case["C"], "result_root": case["D"]}
    return {name: case[name] for name in names} | hashes


def draw_file(case):
    members = {"entropyd": "draw/v1", "match": case["match"], "draw": case["draw"], "number": 1}
    if (labels := labels_of(case)) is not None:
        members["tiles" if "kind=bag" in case["rules"] else "labels"] = labels
    return common(case) | members


def raffle_file(case):
    members = {name: case[name] for name in ("raffle", "entries", "winners", "alternates")}
    return common(case) | members | {"entropyd": "raffle/v1", "entries_hash": case["E"]}


def check(file):
    return check_proof(json.dumps(file).encode())


@pytest.mark.parametrize("case", DRAWS, ids=lambda case: case["label"])
def test_every_draw_verifies_and_another_result_does_not(case):
    file = draw_file(case)
    assert check(file).checked
    other = str(int(file["result"][0]) ^ 1)
    with pytest.raises(ProofError):
        check({**file, "result": [other, *file["result"][1:]]})


@pytest.mark.parametrize("case", UNNAMED, ids=lambda case: case["label"])
def test_labels_that_are_not_shown_cannot_be_checked(case):
    """The rules name them by a hash, and the file has to say what they are."""
    with pytest.raises(ProofError, match=r"labels|tiles"):
        check(draw_file(case))


@pytest.mark.parametrize("case", SERVER_SEEDS, ids=lambda case: case["label"])
def test_a_server_seed_is_no_draw_to_be_proved_alone(case):
    with pytest.raises(ProofError, match="server seed"):
        check({**draw_file(case), "result": []})


@pytest.mark.parametrize("case", RAFFLES, ids=lambda case: case["label"])
def test_every_raffle_verifies_and_another_list_does_not(case):
    file = raffle_file(case)
    assert check(file).checked
    with pytest.raises(ProofError):
        check({**file, "entries": [*file["entries"][:-1], file["entries"][-1] + "x"]})


@pytest.mark.parametrize("case", ROUNDS, ids=lambda case: case["label"])
def test_every_round_verifies_and_another_hash_does_not(case):
    file = case["file"]
    assert check(file).checked
    with pytest.raises(ProofError):
        check({**file, "server_hash": file["server_seed"]})


@pytest.mark.parametrize("case", load("games")["refused"], ids=lambda case: case["field"])
def test_a_round_that_must_be_refused_is_refused_by_the_name_of_its_field(case):
    file = ROUNDS[0]["file"]
    lie = {**file, **{name: case[name] for name in ("rules", "client_seed", "nonce")}}
    with pytest.raises(ProofMalformedError) as caught:
        check(lie)
    assert case["field"] == caught.value.field.removeprefix("rules.")


@pytest.mark.parametrize(
    "case", load("match_draws")["refused_draw_rules"], ids=lambda case: case["reason"]
)
def test_rules_that_must_be_refused_are_refused_before_anything_is_drawn(case):
    """Some are not text, which a file cannot hold: they stand there as other text."""
    rules = bytes.fromhex(case["rules_hex"]).decode("latin-1")
    with pytest.raises(ProofMalformedError) as caught:
        check({**draw_file(DRAWS[0]), "rules": rules})
    assert "rules" == caught.value.field.partition(".")[0]


def test_there_are_vectors_of_everything():
    kinds = {line for case in DRAWS for line in case["rules"].split("\n") if "kind=" in line}
    assert {"kind=bag", "kind=dice", "kind=integers", "kind=items", "kind=sample"} == kinds
    assert all((SERVER_SEEDS, RAFFLES, ROUNDS))
