"""The page's modules judge hands, logs and notes as the vectors and entropyd.verify do."""

import copy
import json
import random

import pytest

from entropyd.errors import ProofError, ProofMalformedError
from entropyd.log.keys import VerifierKey
from entropyd.verify import check_proof
from tests.unit.test_verify_hands import HOSTILE
from tests.web import hand_files, proofs
from tests.web.hand_files import BASES, FILES, HANDS, LOGS, SMALL, keys_of, tampered
from tests.web.proofs import changed
from tests.web.test_core import another, at, came_of, page_says, places

LOG_VECTORS = proofs.vectors("log")


def python_says(text, keys=""):
    """Return what entropyd.verify says of a file, and about which part."""
    try:
        check_proof(text.encode("utf-8", "surrogatepass"), _keys(keys))
    except ProofMalformedError as error:
        return "refused", error.field
    except ProofError as error:
        return "mismatch", error.field
    return "match", None


def _keys(text):
    return tuple(VerifierKey.decode(line) for line in text.splitlines())


def part_of(came):
    return came["field"] if "refused" in came else came["part"]


# --- Files of the vectors ------------------------------------------------------------------------


def test_every_file_of_the_vectors_matches_with_and_without_keys():
    """Hands of every stage and kind, ranges of logs; what is said of the keys is not the same."""
    cases = [{"text": json.dumps(file)} for file in FILES.values()]
    given = [case | {"keys": keys_of(label)} for case, label in zip(cases, FILES, strict=True)]
    found = came_of(*cases, *given)
    assert {"match"} == {page_says(came) for came in found}
    assert [False] * len(FILES) + [True] * len(FILES) == [came["trusted"] for came in found]
    assert all(("keys_named" in came["limits"]) != came["trusted"] for came in found)


def test_every_tampered_file_of_the_vectors_is_refused_at_its_part():
    """The check ends where section 21.9 or 20.7 says, whatever comes after it."""
    vectors = hand_files.VECTORS["tampered"]
    cases = [
        {"text": json.dumps(tampered(v)), "keys": keys_of(v["of"]) if v["trusted"] else ""}
        for v in vectors
    ]
    found = came_of(*cases)
    wrong = [
        (vector["reason"], vector["part"], came)
        for vector, came in zip(vectors, found, strict=True)
        if page_says(came) == "match" or not part_of(came).startswith(vector["part"])
    ]
    assert [] == wrong
    assert len(found) > 200


def test_no_changed_value_matches_and_python_agrees():
    """Each value of a hand with everything, of a child and of a log: changed, of another type."""
    cases = []
    for label in ("small", "its child", "rolled", "the end, and an older checkpoint"):
        file = FILES[label]
        for path in places(file):
            value = at(file, path)
            cases += [changed(file, path, other) for other in (another(value), None)]
    texts = [json.dumps(case) for case in cases]
    found = [page_says(came) for came in came_of(*({"text": text} for text in texts))]
    expected = [python_says(text)[0] for text in texts]
    assert len(cases) > 350
    differ = [
        (texts[i][:200], expected[i], found[i])
        for i in range(len(texts))
        if (expected[i] == "match") != (found[i] == "match")
    ]
    assert [] == differ
    # A file that shows less is as good: a last card or note may be left out. Nothing else may.
    fewer = [cases[i] for i, verdict in enumerate(found) if verdict == "match"]
    assert all(_is_part(case, FILES.values()) for case in fewer)


def _is_part(case, files):
    """Return whether a file is one of these with fewer cards, notes, keys or paths."""
    fewer = ("cards", "notes", "keys", "inclusion")

    def rest(file):
        return {name: value for name, value in file.items() if name not in fewer}

    return any(
        rest(case) == rest(file)
        and all(len(case.get(name, [])) <= len(file.get(name, [])) for name in fewer)
        and all(one in file["cards"] for one in case.get("cards", []))
        for file in files
    )


def test_no_changed_character_of_a_signed_text_matches_and_python_agrees():
    """Receipts, notes, checkpoints, entries: at places chosen by a fixed seed.

    Not in the line of a witness: with another name there it is nobody's that the reader trusts.
    """
    draw = random.Random(6)
    cases = []
    for label, path in (
        *(("small", f"receipts.{name}") for name in SMALL["receipts"]),
        ("small", "notes[0]"), ("small", "checkpoint"),
        ("a range from its middle, signed", "entries[2]"),
        ("a range from its middle, signed", "checkpoint"),
    ):  # fmt: skip
        text = at(FILES[label], path)
        for place in draw.sample(range(len(text.partition("\n\u2014 witness")[0])), 25):
            other = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
            text_of = json.dumps(changed(FILES[label], path, other))
            cases.append({"text": text_of, "keys": keys_of(label)})
    assert "match" not in {page_says(came) for came in came_of(*cases)}
    assert "match" not in {python_says(case["text"], case["keys"])[0] for case in cases}


def test_a_large_hand_matches():
    """432 cards with their proofs, and the whole deck."""
    file = hand_files.large_hand()
    assert 432 == len(file["cards"])
    (came,) = came_of({"text": json.dumps(file)})
    assert "match" == came["verdict"]


# --- Texts, keys, notes, proofs ------------------------------------------------------------------


def called(name, given):
    return came_of(*({"call": name, "given": one} for one in given))


def test_receipts_of_the_vectors_have_their_leaf_hashes():
    vectors = LOG_VECTORS["receipts"]
    found = called("receipt", vectors)
    assert [vector["leaf_hash"] for vector in vectors] == [came["value"] for came in found]
    notes = called("seat_note", LOG_VECTORS["seat_notes"])
    assert {"accepted", "refused"} == {came["value"] for came in notes}


@pytest.mark.parametrize("name", ["receipt", "seat_note"])
def test_refused_texts_of_the_vectors_are_refused_at_line_and_byte(name):
    """Bytes that are no ASCII stand for characters that are none either, at the same place."""
    vectors = LOG_VECTORS[f"{name}s_refused"]
    texts = [{"text": bytes.fromhex(vector["text_hex"]).decode("latin-1")} for vector in vectors]
    found = called(name, texts)
    differ = [
        (vector["reason"], vector["line"], vector["byte"], came)
        for vector, came in zip(vectors, found, strict=True)
        if (vector["line"], vector["byte"]) != (came.get("line"), came.get("byte"))
    ]
    assert [] == differ


@pytest.mark.parametrize("name", ["inclusion", "consistency"])
def test_proofs_of_the_vectors_hold_or_do_not(name):
    vectors = LOG_VECTORS[name]
    found = called(name, vectors)
    assert [vector["valid"] for vector in vectors] == [came["value"] for came in found]
    assert {True, False} == {came["value"] for came in found}


def test_keys_of_the_vectors_are_read_or_refused():
    good, bad = LOG_VECTORS["keys"], LOG_VECTORS["keys_refused"]
    found = called("key", [{"text": vector["verifier_key"]} for vector in (*good, *bad)])
    assert [True] * len(good) + [False] * len(bad) == [came["value"] for came in found]


def as_text(vector):
    """Return the text of a note, None if it is no UTF-8: then no text of a page can be it."""
    try:
        return bytes.fromhex(vector["note_hex"]).decode("utf-8")
    except UnicodeDecodeError:
        return None


def test_notes_of_the_vectors_are_signed_by_whom_they_are():
    vectors = [vector for vector in LOG_VECTORS["notes"] if as_text(vector) is not None]
    assert len(LOG_VECTORS["notes"]) - len(vectors) <= 3
    found = called("note", [{"text": as_text(v), "keys": v["keys"]} for v in vectors])
    for vector, came in zip(vectors, found, strict=True):
        expected = [vector["text_hex"], vector["signed_by"]] if vector["signed_by"] else None
        assert (vector["label"], expected) == (vector["label"], came.get("value"))


def test_checkpoints_of_the_vectors_say_what_they_say():
    """With the witnesses that a reader trusts, and when they saw it."""
    vectors = [vector for vector in LOG_VECTORS["checkpoints"] if as_text(vector) is not None]
    given = [{"text": as_text(v), "keys": v["keys"], "witnesses": v["witnesses"]} for v in vectors]
    for vector, came in zip(vectors, called("checkpoint", given), strict=True):
        assert (vector["label"], vector["says"]) == (vector["label"], came.get("value"))


# --- A note by itself ----------------------------------------------------------------------------


def test_a_lone_note_is_taken_under_a_given_key_alone():
    """A receipt, a note to a seat and a checkpoint; python takes them the same way."""
    keys = keys_of("small")
    notes = [SMALL["receipts"]["open"], SMALL["notes"][0], SMALL["checkpoint"]]
    found = came_of(
        *({"text": note, "keys": keys} for note in notes), *({"text": note} for note in notes)
    )
    assert ["match"] * 3 + ["refused"] * 3 == [page_says(came) for came in found]
    assert {"note.no_key"} == {came["refused"] for came in found[3:]}
    assert ["match"] * 3 == [python_says(note, keys)[0] for note in notes]
    assert ["mismatch"] * 3 == [python_says(note)[0] for note in notes]


def test_a_lone_note_that_was_changed_is_explained():
    """Another text, the keys of another log, a lost line end."""
    note, keys = SMALL["receipts"]["open"], keys_of("small")
    stranger = next(
        v["verifier_key"] for v in LOG_VECTORS["keys"] if "receipts" not in v["verifier_key"]
    )
    found = came_of(
        {"text": note.replace("hand-13", "hand-14"), "keys": keys},
        {"text": note, "keys": stranger},
        {"text": note.removesuffix("\n"), "keys": keys},
    )
    assert ["mismatch", "mismatch", "refused"] == [page_says(came) for came in found]
    assert [["text_changed"], ["key_of_other_log"], ["note_end"]] == [c["causes"] for c in found]


def test_what_python_calls_hostile_the_page_refuses_too():
    """Each by name, and none by the end of a stack."""
    texts = [data.decode("utf-8", "replace") for data in HOSTILE.values()]
    found = came_of(*({"text": text, "keys": keys_of("small")} for text in texts))
    assert set() == {
        n for n, came in zip(HOSTILE, found, strict=True) if page_says(came) == "match"
    }


@pytest.mark.parametrize(
    "text",
    [
        "entropyd-receipt: v1\n\n\u2014 ",
        "entropyd-receipt: v1\n" * 60_000 + "\n\u2014 a AAAAAAAA\n",
        "entropyd-note: v1\r\n\n\u2014 a AAAAAAAA\n",
        "x\n\n\u2014 a AAAAAAAA\n",
        "entropyd-receipt: " + "9" * 2_000_000,
        "entropyd-receipt: v1\n\n" + "\u2014 a AAAAAAAA\n" * 101,
        "entropyd-receipt: v1\nlog: a\nindex: 0\nevent: constructor\n\n\u2014 a AAAAAAAA\n",
    ],
    ids=lambda text: ascii(text[:20]) + str(len(text)),
)
def test_hostile_notes_are_refused_by_name(text):
    """Or none of the keys signed them; they are never taken, and nothing breaks."""
    (came,) = came_of({"text": text, "keys": keys_of("small")})
    assert page_says(came) in {"refused", "mismatch"}


def test_keys_that_are_none_are_refused_by_their_line():
    (came,) = came_of({"text": json.dumps(SMALL), "keys": keys_of("small") + "\nno key"})
    assert "key.given" == came["refused"]


# --- What a reader has beside the file -----------------------------------------------------------


def test_a_player_s_own_contribution_is_found_or_missed():
    """By its value, in capitals too; before the seal by its leaf hash; not in other files."""
    values = {label: BASES[label]["contributions"] for label in ("small", "rolled", "just opened")}
    found = came_of(
        {"text": json.dumps(SMALL), "own": values["small"][0]["value"].upper()},
        {"text": json.dumps(HANDS["rolled"]), "own": values["rolled"][1]["value"]},
        {"text": json.dumps(SMALL), "own": "00" * 32},
        {"text": json.dumps(HANDS["just opened"]), "own": "00" * 32},
        {"text": json.dumps(SMALL), "own": "mine"},
        {"text": json.dumps(proofs.draw_of("two dice")), "own": "00" * 32},
    )
    says = ["match", "match", "mismatch", "match", "refused", "refused"]
    assert says == [page_says(came) for came in found]
    assert (["own"], ["own_missing"]) == (found[2]["bad"], found[2]["causes"])
    assert "own_later" in found[3]["limits"]


@pytest.mark.parametrize("name", ["O", "C", "D", "R"])
def test_a_kept_hash_must_be_one_of_the_hand(name):
    same, other = came_of(
        {"text": json.dumps(SMALL), "kept": BASES["small"][name]},
        {"text": json.dumps(SMALL), "kept": "00" * 32},
    )
    assert "match" == same["verdict"]
    assert ("mismatch", ["kept"]) == (other["verdict"], other["bad"])


def test_what_a_file_does_not_show_is_named():
    """Stages that it has not reached, receipts outside of the log, contributions, a reveal."""
    labels = ("just opened", "dealing", "nobody contributes", "small")
    found = came_of(
        *({"text": json.dumps(HANDS[label]), "keys": keys_of(label)} for label in labels)
    )
    opened, dealing, nobody, small = (came["limits"] for came in found)
    assert {"unseen", "not_in_log", "not_revealed"} <= set(opened)
    assert {"unseen", "open_contributions", "not_bound"} <= set(dealing)
    assert "nobody_moved" in nobody
    assert not {"silent", "not_bound", "keyed_seats"} & {*nobody, *opened}
    assert {"honest_seat", "source", "gap", "host", "silent", "keyed_seats"} == set(small)


def test_hands_that_a_table_had_before_the_log_are_named():
    """The table says how many; a log whose tables had none has no such limit."""
    labels = ("a table that had hands before the log", "one entry")
    late, other = came_of(
        *({"text": json.dumps(LOGS[label]), "keys": keys_of(label)} for label in labels)
    )
    assert "hands_before" in late["limits"]
    assert not {"hands_before", "unsealed"} & set(other["limits"])


def test_raffles_that_are_not_sealed_in_a_range_are_named():
    label = "draws and a shuffle"
    (came,) = came_of({"text": json.dumps(LOGS[label]), "keys": keys_of(label)})
    assert "unsealed" in came["limits"]


# --- What is explained ---------------------------------------------------------------------------


def edited(change, label="small"):
    """Return the file of a hand that `change` was made to."""
    file = copy.deepcopy(FILES[label])
    change(file)
    return file


def exchange(first, second, *names):
    """Exchange members of two cards."""

    def change(file):
        one, other = file["cards"][first], file["cards"][second]
        for name in names:
            one[name], other[name] = other[name], one[name]

    return change


OTHER = HANDS["nine sealed, a plan, revealed"]
SLIPS = {
    "receipt_other_hand": lambda f: f["receipts"].update(roll=OTHER["receipts"]["roll"]),
    "receipts_swapped": lambda f: f["receipts"].update(roll=f["receipts"]["seal"]),
    "text_changed": lambda f: f["receipts"].update(
        open=f["receipts"]["open"].replace("07:47:00.000Z", "07:47:00.001Z")
    ),
    "key_of_other_log": lambda f: f.update(keys=[LOG_VECTORS["keys"][2]["verifier_key"]]),
    "no_keys": lambda f: f.update(keys=[]),
    "roll_missing": lambda f: f["receipts"].pop("roll"),
    "seal_missing": lambda f: f["receipts"].pop("seal"),
    "rules_changed": lambda f: f.update(rules=f["rules"].replace("after_close", "never")),
    "seats_changed": lambda f: f["seats"].pop(),
    "leaf_missing_known": lambda f: f["leaves"].pop(),
    "leaf_missing": lambda f: f["leaf_hashes"].pop(),
    "leaves_order": lambda f: f["leaves"].reverse(),
    "leaf_other_hand": lambda f: f["leaves"].__setitem__(0, OTHER["leaves"][0]),
    "card_of_place": exchange(1, 2, "leaf_index", "item", "salt", "path"),
    "item_changed": exchange(1, 2, "item"),
    "salt_of_place": exchange(1, 2, "salt"),
    "leaf_index_changed": exchange(1, 2, "leaf_index"),
    "path_reversed": lambda f: f["cards"][3]["path"].reverse(),
    "recipients_changed": lambda f: f["recipients"].reverse(),
    "secrets_swapped": lambda f: f["reveal"].update(
        blinding=f["reveal"]["salt_key"], salt_key=f["reveal"]["blinding"]
    ),
    "seeds_other_hand": lambda f: f["reveal"].update(seeds=["00" * 64]),
    "salt_key_changed": lambda f: f["reveal"].update(salt_key="00" * 32),
    "hex_case": lambda f: f["cards"][0].update(salt=f["cards"][0]["salt"].upper()),
    "note_other_hand": lambda f: f["notes"].__setitem__(0, OTHER["notes"][0]),
    "path_other_size": lambda f: f["inclusion"]["open"]["path"].pop(),
}


@pytest.fixture(scope="module")
def slipped():
    """Return what came of each slip, of one run."""
    cases = ({"text": json.dumps(edited(change))} for change in SLIPS.values())
    return dict(zip(SLIPS, came_of(*cases), strict=True))


@pytest.mark.parametrize("cause", SLIPS)
def test_each_slip_of_a_hand_is_explained(slipped, cause):
    """What was mixed up is named, and nothing else is."""
    assert page_says(slipped[cause]) in {"mismatch", "refused"}
    assert [cause] == slipped[cause]["causes"]


def test_values_of_two_seats_that_are_exchanged_are_explained():
    for label in ("small", "nine sealed, a plan, revealed"):
        (came,) = came_of({"text": json.dumps(hand_files.with_two_values_exchanged(label))})
        assert ("mismatch", ["values_exchanged"]) == (came["verdict"], came["causes"])


def test_what_shows_a_lie_of_the_operator_is_told_to_be_kept():
    """Signed parts that cannot both be: a seal that is not the roll's, a promise, a false deck."""
    reasons = {
        "R that is not the roll's": "roll_value",
        "a roll that is not the seal's": "roll_number",
        "accepted, and left out": "broken_promise",
        "two cards with one item": "false_deck",
    }
    vectors = {v["reason"]: v for v in hand_files.VECTORS["tampered"] if v["reason"] in reasons}
    found = came_of(*({"text": json.dumps(tampered(vectors[reason]))} for reason in reasons))
    assert [[cause] for cause in reasons.values()] == [came["causes"] for came in found]


def test_each_slip_of_a_log_is_explained():
    """What is left out, another's, forked, or signed by a key that was not in force."""
    reasons = {
        "an entry left out": "entry_missing",
        "an entry of another log": "entry_other_log",
        "a number left out": "entry_left_out",
        "a fork": "forked",
        "keys that were not given": "log_key_not_given",
        "a change signed by the old key alone": "log_signer",
    }
    vectors = {v["reason"]: v for v in hand_files.VECTORS["tampered"] if v["reason"] in reasons}
    found = came_of(
        *(
            {
                "text": json.dumps(tampered(vectors[reason])),
                "keys": keys_of(vectors[reason]["of"]) if vectors[reason]["trusted"] else "",
            }
            for reason in reasons
        )
    )
    assert [[cause] for cause in reasons.values()] == [came["causes"] for came in found]


def test_a_range_without_its_last_entry_is_found_by_the_checkpoint():
    """It could not be told from a shorter range but by the proof up to the checkpoint."""
    file = edited(lambda f: f["entries"].pop(), next(iter(LOGS)))
    (came,) = came_of({"text": json.dumps(file)})
    assert (["consistency"], ["forked"]) == (came["bad"], came["causes"])
