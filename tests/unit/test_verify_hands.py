"""The verifier of hands, receipts and the log: what it says, and what strangers may send it.

That it refuses each changed file at the right part is shown by test_dealt_hand_vectors.py.
"""

import copy
import json
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.cli import entropyctl
from entropyd.errors import ProofError, ProofMalformedError, ProofMismatchError
from entropyd.log.keys import VerifierKey
from entropyd.verify import Kind, check_proof
from tests.campaigns import tamper
from tests.reference import make_hand_vectors
from tests.reference.javascript import CHECK, run_node
from tests.reference.log_cases import LOG_KEY, RECEIPTS_KEY

VECTORS = json.loads((Path(__file__).parents[2] / "docs/vectors/dealt_hands.json").read_text())
BASES = {vector["label"]: vector for vector in [*VECTORS["hands"], *VECTORS["logs"]]}
WITNESSES = VECTORS["hands"][0]["witnesses"]
KEYS = tuple(map(VerifierKey.decode, (LOG_KEY, RECEIPTS_KEY)))
WITNESS = tuple(map(VerifierKey.decode, WITNESSES))
FILES = tamper.files()
HAND: dict[str, Any] = json.loads(FILES["a hand file"])
LOG, STEPS = "entropyd.example/log", "open, roll, seal, close"
RECEIPT, NOTE = FILES["open receipt"], FILES["a note to a seat"]
CHECKPOINT = BASES["small"]["file"]["checkpoint"].encode()
ROOT = b64decode(CHECKPOINT.split(b"\n")[2]).hex()


def check(file, keys=()):
    return check_proof(json.dumps(file).encode(), keys)


def said_of(label, keys=KEYS):
    return check(BASES[label]["file"], keys)


# --- What a report says --------------------------------------------------------


def test_a_whole_hand_says_what_was_checked():
    """Every step, in the order of the check."""
    report = said_of("small")
    assert Kind.HAND is report.kind
    assert "hand hand-13, number 13, of table table-7: closed, 8 cards dealt" == report.subject
    assert [
        f"receipts {STEPS}: signed by {LOG}/receipts, a key that was given; each follows the last",
        "open hash O: ids, rules, seats, number, C and D are those that were opened",
        "R: 2 contributions, these and no others",
        "the cut, from O and the contributions",
        "12 cards: each the one that the cut brings there, and under D",
        "deals root: 8 recipients",
        "C, the order and D from the revealed seeds: the whole deck",
        "3 notes to seats: what was accepted counts",
        f"{STEPS} under a checkpoint of {size_of('small')} entries, signed by the operator only",
    ] == list(report.checked)
    cards = report.result.split()
    assert [f"{place}:" for place in range(12)] == [card[:-2] for card in cards]


def size_of(label):
    return int(BASES[label]["file"]["checkpoint"].split("\n")[1])


def test_witnesses_are_named_only_if_the_verifier_trusts_them():
    """What a file says of witnesses counts for nothing."""
    assert "signed by the operator only" in said_of("small").checked[-1]
    assert "signed by the operator only" in " ".join(said_of("small").not_checked)
    seen = said_of("small", (*KEYS, *WITNESS))
    assert seen.checked[-1].endswith("signed by the operator, seen by witness.example/w1")
    assert "operator only" not in " ".join(seen.not_checked)
    named = copy.deepcopy(BASES["small"]["file"])
    named["keys"] += WITNESSES
    assert "signed by the operator only" in check(named).checked[-1]


@pytest.mark.parametrize(
    ("label", "says"),
    [
        ("just opened", "the cut and every card: there is no seal in this file"),
        ("just opened", "how the hand ended"),
        ("just opened", "that open are in the log"),
        ("rolled", "one seat of the roll was honest"),
        ("dealing", "whoever knew the seed and spoke last"),
        ("nobody contributes", "it is the operator's word"),
        ("nobody contributes", "nothing was revealed"),
        ("a shoe of two decks", "who got the places"),
        ("its child", "compare with the parent's own file"),
        ("small", "the daemon's host knows the deck"),
        ("small", "why 1 of 3 seats are not in R: silent, or left out"),
        ("rolled", "why 1 of 3 seats are not in R"),
        ("dealing", "who got the places: nothing that is signed says so before the hand ends"),
        ("small", "that seats with keys made what stands for them"),
        ("one entry", "entries before 2"),
        ("one entry", "entries from 3 on"),
        ("a table that had hands before the log", "had before this log, as they say: 41"),
        ("a whole log", "hand, draw and round files show what follows"),
        ("draws and a shuffle", "raffles were sealed before their draw: of 1 not in this range"),
    ],
)
def test_what_cannot_be_checked_is_said(label, says):
    assert any(says in limit for limit in said_of(label).not_checked)


def test_what_can_be_checked_is_not_said_to_be_no_part_of_it():
    """A seat may be silent until the roll is closed; who got the places is signed at the end."""
    for label in ("just opened", "one seat, in the open", "nobody contributes"):
        assert not any("not in R" in limit for limit in said_of(label).not_checked)
    assert not any("who got the places" in limit for limit in said_of("small").not_checked)


def test_a_range_of_the_log_says_what_it_spans():
    report = said_of("both keys change")
    assert Kind.LOG is report.kind
    assert "log entropyd.example/log, entries 0 to 52, 53 entries in all" == report.subject
    assert said_of("two checkpoints").subject.startswith("log entropyd.example/log, no entries")
    assert "beginning of it" in said_of("two checkpoints").checked[-1]
    raffles = "3 raffles: each sealed once at most, then drawn once at most"
    assert raffles in said_of("draws and a shuffle").checked
    assert not any("raffles" in told for told in said_of("a whole log").checked)


def test_a_note_counts_only_where_the_roll_is_known():
    """Before the roll nothing shows what becomes of an accepted contribution."""
    file = copy.deepcopy(BASES["rolled"]["file"])
    assert "3 notes to seats: what was accepted counts" in check(file).checked
    del file["leaf_hashes"], file["receipts"]["roll"], file["inclusion"]["roll"]
    assert "3 notes to seats: of this hand and its seats" in check(file).checked


# --- Causes --------------------------------------------------------------------


def refused(reason):
    vector = next(vector for vector in VECTORS["tampered"] if vector["reason"] == reason)
    base = BASES[vector["of"]]
    file = make_hand_vectors.applied(base["file"], vector["changes"])
    with pytest.raises(ProofError) as caught:
        check(file, KEYS if vector["trusted"] else ())
    return caught.value


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("open: another text", "the text was changed after it was signed"),
        ("open: signed by a stranger", "signed by a key that was changed before or after"),
        ("another tenant", "the receipt is of another hand"),
        ("a seat left out", "a seat or its key was changed or left out"),
        ("a roll that is not the seal's", "contributions were changed after the roll was closed"),
        ("a leaf left out", "a contribution was left out, added or changed"),
        ("a leaf of another hand", "it quotes another hand's O"),
        ("salts exchanged", "salt or path was changed"),
        ("two cards with one item", "no whole deck: keep this file"),
        ("deals root of other recipients", "a recipient was changed or exchanged"),
        ("another seed", "seeds or blinding are another hand's"),
        ("another salt_key", "the salt key is another"),
        ("accepted, and left out", "a contribution was accepted and does not count"),
        ("inclusion under another root", "the log was forked"),
        ("a number left out", "a hand is not shown"),
        ("a fork", "the log was forked"),
        ("a raffle drawn twice", "drawn again, or its list was exchanged"),
        ("keys that were not given", "it is another log"),
    ],
)
def test_the_usual_cause_is_named(reason, cause):
    error = refused(reason)
    assert isinstance(error, ProofMismatchError)
    assert any(cause in told for told in error.causes)


def test_an_older_checkpoint_that_nobody_signed_shows_no_fork():
    """Only one that its log signed does."""
    file = copy.deepcopy(BASES["two checkpoints"]["file"])
    older = file["older"]["checkpoint"]
    file["older"]["checkpoint"] = older.replace("\n16\n", "\n15\n")
    with pytest.raises(ProofMismatchError, match="older: ") as caught:
        check(file, KEYS)
    assert "forked" not in " ".join(caught.value.causes)


def test_a_text_is_refused_with_line_and_byte():
    """Also within a file of many texts."""
    file = copy.deepcopy(HAND)
    file["receipts"]["seal"] = file["receipts"]["seal"].replace("sequence: 1", "sequence: 01")
    with pytest.raises(ProofMalformedError, match=r"receipts\.seal: line 8, byte 11: sequence"):
        check(file)


# --- Notes as they are ---------------------------------------------------------


def test_a_receipt_and_a_note_are_taken_as_they_are():
    receipt, note = check_proof(RECEIPT, KEYS), check_proof(NOTE, KEYS)
    assert (Kind.RECEIPT, Kind.SEAT_NOTE) == (receipt.kind, note.kind)
    assert "receipt 3 of entropyd.example/log: open, tenant acme, table table-7, hand hand-1" == (
        receipt.subject
    )
    assert receipt.result.startswith("O ")
    assert note.result.endswith(" accepted")
    assert "a key that was given" in receipt.checked[-1]


@pytest.mark.parametrize("data", [RECEIPT, NOTE])
@pytest.mark.parametrize("keys", [(), KEYS[:1], WITNESS])
def test_a_note_without_its_key_is_refused(data, keys):
    """A key of checkpoints, or a witness's, signs no receipt."""
    with pytest.raises(ProofMismatchError) as caught:
        check_proof(data, keys)
    assert bool(keys) != caught.value.causes[0].startswith("no key was given: give the log's keys")


def test_a_checkpoint_is_taken_as_it_is():
    """With the witnesses that the verifier trusts, and no other; under the log's key alone."""
    report = check_proof(CHECKPOINT, KEYS)
    assert Kind.CHECKPOINT is report.kind
    assert f"checkpoint of {LOG}, {size_of('small')} entries" == report.subject
    assert f"root {ROOT}" == report.result
    assert report.checked[-1].endswith("a key that was given; signed by the operator only")
    assert any("signed by the operator only" in limit for limit in report.not_checked)
    seen = check_proof(CHECKPOINT, (*KEYS, *WITNESS))
    assert seen.checked[-1].endswith("signed by the operator, seen by witness.example/w1")
    assert not any("operator only" in limit for limit in seen.not_checked)
    for keys in ((), KEYS[1:], WITNESS):
        with pytest.raises(ProofMismatchError):
            check_proof(CHECKPOINT, keys)


def test_a_key_that_is_given_twice_is_given_once():
    """Not taken for a note that one key signed twice."""
    for data in (RECEIPT, NOTE, CHECKPOINT, *map(FILES.get, JSON_FILES)):
        assert check_proof(data, KEYS) == check_proof(data, KEYS + KEYS)


@pytest.fixture
def verify(monkeypatch, capsys):
    """Run `entropyctl verify` as the console script does."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["entropyctl", "verify", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            entropyctl.main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return command


def test_the_command_takes_keys(verify, tmp_path):
    """Of a receipt it has to be given one; a text that is no key is wrong usage."""
    path = tmp_path / "receipt.txt"
    path.write_bytes(RECEIPT)
    code, out, _ = verify(path, "--key", LOG_KEY, "--key", RECEIPTS_KEY)
    assert (0, "verifies") == (code, out.splitlines()[0])
    code, out, _ = verify(path)
    assert 1 == code
    assert "give the log's keys with --key" in out
    code, out, err = verify(path, "--key", "hello")
    assert (2, "") == (code, out)
    assert "--key" in err


# --- Strangers -----------------------------------------------------------------


def leaves_of(value, path=()):
    """Yield path and value of every text and number of a file."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, part in pairs:
            yield from leaves_of(part, (*path, name))
    else:
        yield path, value


def replaced(file, path, value):
    return make_hand_vectors.applied(file, [{"at": list(path), "to": value}])


def hostile():
    """Yield name, bytes: what nobody may take."""
    note = RECEIPT.decode()
    text, _, signature = note.partition("\n\n")
    inject = "acme\nhand: hand-9"
    yield "a receipt that ends in nothing", b"entropyd-receipt: "
    yield "a note of nothing", b"entropyd-note: v1\n\n\n"
    yield "a huge note", RECEIPT[:-1] + b"\n" * 2_000_000
    yield "101 signatures", (text + "\n\n" + signature * 101).encode()
    yield "the signature twice", (note + signature).encode()
    yield "CR LF", RECEIPT.replace(b"\n", b"\r\n")
    yield "a byte order mark", b"\xef\xbb\xbf" + RECEIPT
    yield "UTF-16", note.encode("utf-16")
    yield "NUL", RECEIPT.replace(b"acme", b"ac\0me")
    yield "half a character", RECEIPT.replace(b"\xe2\x80\x94", b"\xe2\x80")
    yield "an escape for terminals", RECEIPT.replace(b"acme", b"ac\x1b[2Jme")
    yield "a line more", RECEIPT.replace(b"acme", inject.encode())
    yield "a line more, signed as text", (text + "\nseat: seat-1\n\n" + signature).encode()
    yield "text after the signature", RECEIPT + b"entropyd-receipt: v1\n"
    yield "two receipts", RECEIPT + b"\n" + RECEIPT
    yield "base64 with bits left over", RECEIPT[:-3] + bytes([RECEIPT[-3] ^ 1]) + RECEIPT[-2:]
    yield "a line of 70,000 bytes", RECEIPT.replace(b"acme", b"a" * 70_000)
    for path, lie in (
        (("tenant",), inject),
        (("hand",), "\u2028"),
        (("rules",), HAND["rules"] + "reveal=after_close\n"),
        (("rules",), "=" * 100_000),
        (("seats",), [{"seat": f"s{i}", "key": ""} for i in range(5000)]),
        (("keys",), [LOG_KEY] * 5000),
        (("leaves",), ["00"] * 5000),
        (("leaves",), ["0"]),
        (("cards", 0, "place"), 2**53 - 1),
        (("cards", 0, "item"), 2**32),
        (("cards", 0, "path"), ["00" * 32] * 200_000),
        (("cards", 0, "salt"), "00" * 5_000_000),
        (("keys",), ["a+00000000+" + "A" * 10_000_000]),
        (("keys",), ["a\x1b[2J\u202e+00000000+AAAA"]),
        (("keys",), ["a" * 10_000_000 + "+00000000+AAAA"]),
        (("cards", 0, "leaf_index"), -1),
        (("recipients",), ["x"] * 5000),
        (("notes",), [HAND["notes"][0]] * 5000),
        (("receipts", "open"), "\n\n"),
        (("receipts", "open"), "\ud800"),
        (("reveal", "seeds"), []),
        (("inclusion", "open", "index"), 2**53 - 1),
        (("checkpoint",), "a\n0\n\n\n\u2014 a AAAAAAAA\n"),
    ):
        yield f"{'.'.join(map(str, path))}: {str(lie)[:20]!a}", written(replaced(HAND, path, lie))
    tenant = b'"tenant":"acme"'
    yield "a name twice", FILES["a hand file"].replace(tenant, tenant + b"," + tenant)
    twice = b'"ten\\u0061nt":"another",' + tenant
    yield "a name twice, once with an escape", FILES["a hand file"].replace(tenant, twice)
    for number in (
        "0.0",
        "0e0",
        "0E+5",
        "-0",
        "00",
        "+0",
        "0.00000000000000000001",
        "NaN",
        "1e999",
    ):
        lie = f'"place":{number},'.encode()
        yield f"a place that is {number}", FILES["a hand file"].replace(b'"place":0,', lie, 1)
    yield "a checkpoint twice", CHECKPOINT + CHECKPOINT
    yield "a checkpoint of CR LF", CHECKPOINT.replace(b"\n", b"\r\n")
    yield "a checkpoint of another size", CHECKPOINT.replace(b"\n5", b"\n4", 1)
    yield "a checkpoint behind white space", b" " + CHECKPOINT
    yield "a checkpoint under a name with an escape", b"\x1b" + CHECKPOINT
    yield "a checkpoint of a million lines", b"a\n" * 400_000 + b"\n\xe2\x80\x94 a AAAAAAAA\n"
    yield "deep", b'{"entropyd":"hand/v1","seats":' + b"[" * 100_000
    yield "deep and whole", b'{"entropyd":"log/v1","x":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    yield "a prototype", b'{"entropyd":"hand/v1","__proto__":{"tenant":"acme"}}'
    log = json.loads(FILES["a range of the log"])
    for path, log_lie in (
        (("first",), str(2**63 - 1)),
        (("first",), "9" * 5000),
        (("first",), "03"),
        (("entries",), ["\n\n"]),
        (("entries",), [""] * 1000),
        (("frontier",), ["00" * 32] * 1000),
        (("origin",), "a+b"),
        (("checkpoint",), ""),
        (("older", "consistency"), ["00" * 32] * 1000),
    ):
        yield f"log {path[0]}: {str(log_lie)[:20]!a}", written(replaced(log, path, log_lie))


def written(file):
    return json.dumps(file).encode()


HOSTILE = dict(hostile())


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name):
    """By a refusal that names something, and not by a crash."""
    with pytest.raises(ProofError) as caught:
        check_proof(HOSTILE[name], KEYS)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_javascript_refuses_hostile_files_too(tmp_path):
    paths = []
    for number, data in enumerate(HOSTILE.values()):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(data)
    code, lines = run_node(
        CHECK.with_name("judge.mjs"), json.dumps([LOG_KEY, RECEIPTS_KEY]), *paths
    )
    assert (0, [False] * len(paths)) == (code, json.loads(lines[-1]))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda children: (
        st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=6), children, max_size=4)
    ),
    max_leaves=8,
)
JSON_FILES = {name: json.loads(FILES[name]) for name in ("a hand file", "a range of the log")}
SIGNED = [data for name, data in FILES.items() if name not in JSON_FILES]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(JSON_FILES)), st.data())
def test_no_value_of_another_kind_crashes_or_verifies(name, data):
    file = JSON_FILES[name]
    path, value = data.draw(st.sampled_from(list(leaves_of(file))))
    lie = data.draw(JSON_VALUES)
    if lie == value and type(lie) is type(value):
        return
    with pytest.raises(ProofError):
        check(replaced(file, path, lie), KEYS)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SIGNED), st.data())
def test_no_note_edited_anyhow_crashes_or_verifies(note, data):
    """Something left out, something put in, of one's own or from the note itself."""
    start = data.draw(st.integers(0, len(note)))
    end = data.draw(st.integers(start, min(len(note), start + 60)))
    own = st.sampled_from(
        [b"\n", b"\n\n", b"\r", b" ", b"%0A", "\u2014 ".encode(), note[start:end]]
    )
    junk = data.draw(st.binary(max_size=4) | own)
    edited = note[:start] + junk + note[end:]
    if edited == note:
        return
    with pytest.raises(ProofError):
        check_proof(edited, KEYS)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([b"entropyd-receipt: ", b"entropyd-note: v1\n"]), st.binary(max_size=200))
def test_no_bytes_crash_or_verify(start, data):
    with pytest.raises(ProofError):
        check_proof(start + data, KEYS)
