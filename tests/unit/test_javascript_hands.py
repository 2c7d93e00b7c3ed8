"""JavaScript agrees on the log and on hands dealt card by card, written from the text alone.

As test_javascript_reference.py: first the vectors of the repository, then each of their values
changed, which has to be found. Last, single bits of what proves a hand: neither it nor the daemon's
verifier takes one.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns import tamper
from tests.reference.javascript import check, load, tampered

ROOT = Path(__file__).parents[2]
LOG, HANDS = (ROOT / f"docs/vectors/{name}.json" for name in ("log", "dealt_hands"))

# List of a file -> the fields of its vectors that are results.
RESULTS = {
    "receipts": ["leaf_hash"],
    "receipts_refused": ["line", "byte"],
    "seat_notes_refused": ["line", "byte"],
    "trees": ["root"],
    "inclusion": ["valid"],
    "consistency": ["valid"],
    "keys": ["verifier_key"],
    "notes": ["text_hex", "signed_by"],
    "checkpoints": ["says"],
    "signatures": ["key", "signed", "signature"],
    "children": ["salt", "parent"],
    "deals": ["deals"],
    "hands": ["X", "C", "D", "A", "O", "R", "items", "leaves", "cut", "deals"],
    "tampered": ["part"],
}
# Of these nothing is to be computed: each counts once, because it was taken or refused.
JUDGED = {"seat_notes", "keys_refused", "logs"}


def results_of(content):
    """Yield (object, field) for every value of a file that is a result."""
    for name, vectors in content.items():
        for vector in vectors:
            yield from ((vector, field) for field in RESULTS.get(name, ()))


def count_results(content):
    judged = sum(len(content.get(name, ())) for name in JUDGED)
    return judged + sum(1 for _ in results_of(content))


@pytest.mark.parametrize("path", [LOG, HANDS], ids=lambda path: path.stem)
def test_every_vector_agrees(path):
    """JavaScript finds every value of the file, and as many values as Python finds in it."""
    content = load(path)
    assert RESULTS.keys() | JUDGED >= content.keys()
    code, lines = check(path)
    assert f"{count_results(content)} values checked, 0 differ" == lines[-1]
    assert code == 0


# --- The check can fail ------------------------------------------------------


def another(value):
    """Return another value of the same form."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, dict):
        return value | {"root": tampered(value["root"])}
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [another(value[0]), *value[1:]]
    return tampered(value) if value != "" else "00"


def few(path):
    """Return the file with the last vector of each list, and what was tampered with it."""
    content = {name: part[-1:] for name, part in load(path).items()}
    if "tampered" in content:
        [vector] = content["tampered"]
        content["logs"] = [log for log in load(path)["logs"] if log["label"] == vector["of"]]
    return content


def tampered_files():
    for path in (LOG, HANDS):
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
    assert f"DIFFERS in {field}" in "\n".join(lines)


def test_a_file_that_is_not_taken_is_found():
    """Of a hand, of a log, and a card that is another's."""
    for name, member in (("hands", "tenant"), ("logs", "origin")):
        content = few(HANDS) | {"tampered": []}
        content[name][0]["file"][member] = "another"
        code, lines = check("-", stdin=json.dumps(content))
        assert code == 1
        assert "DIFFERS in " in "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "good"),
    [("receipts_refused", "receipts"), ("keys_refused", "keys")],
)
def test_what_is_not_refused_is_found(name, good):
    """Each list of refusals, with one that nothing is wrong with."""
    content: dict[str, list[Any]] = {other: [] for other in load(LOG)}
    [vector] = few(LOG)[good]
    text = vector.get("text", "").encode().hex()
    known = {"text_hex": text, "line": 1, "byte": 1}
    of = {"receipts": known, "keys": {"verifier_key": vector.get("verifier_key")}}[good]
    content[name] = [{"reason": "none", **of}]
    code, lines = check("-", stdin=json.dumps(content))
    assert code == 1
    assert "DIFFERS in refused" in "\n".join(lines)


# --- Single bits -------------------------------------------------------------


@pytest.mark.parametrize("name", tamper.VERIFIERS)
@pytest.mark.timeout(60)
def test_no_changed_bit_is_taken(name):
    """A sample of the whole campaign. Both take each file as it is, or the campaign ends there."""
    for label, data in tamper.files().items():
        step = 41 if len(data) > 2000 else 13
        tried, accepted = tamper.VERIFIERS[name](data, step)
        assert len(range(0, 8 * len(data), step)) == tried
        assert [] == accepted, label
