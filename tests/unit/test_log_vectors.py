"""docs/vectors/log.json and the worked example of the log: made again, and taken by production."""

import json
import re
from pathlib import Path

import pytest

from entropyd.errors import (
    KeyInvalidError,
    ProofInvalidError,
    ReceiptInvalidError,
    VerificationError,
)
from entropyd.log import merkle
from entropyd.log.checkpoint import Checkpoint, cosign, open_checkpoint
from entropyd.log.entry import check_entry
from entropyd.log.keys import KeyType, SigningKey, VerifierKey
from entropyd.log.proofs import (
    consistency_proof,
    inclusion_proof,
    nodes_of,
    verify_consistency,
    verify_inclusion,
)
from entropyd.log.receipt import Receipt
from entropyd.log.seat_note import SeatNote
from entropyd.log.signed_note import SignedNote, sign
from entropyd.log.trust import TrustedLog
from tests.reference import log_cases, make_log_vectors, naive_log

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "docs/vectors/log.json").read_text("utf-8"))
unhex = bytes.fromhex
READERS = {"receipts": Receipt.decode, "seat_notes": SeatNote.decode}


def unhexes(texts):
    return [unhex(text) for text in texts]


def keys_of(texts):
    return [VerifierKey.decode(text) for text in texts]


def named(case):
    return str(case.get("label") or case.get("reason"))


def test_the_files_are_those_that_the_generator_makes():
    """Vectors and worked example are never edited by hand."""
    for path, text in make_log_vectors.files().items():
        assert text == path.read_text("utf-8"), f"{path.name}: run tests.reference.make_log_vectors"


@pytest.mark.parametrize("case", VECTORS["receipts"], ids=named)
def test_a_receipt_is_read_and_written_to_the_byte(case):
    text = case["text"].encode("ascii")
    receipt = Receipt.decode(text)
    assert text == receipt.encode()
    assert case["leaf_hash"] == merkle.leaf_hash(receipt.leaf()).hex()


@pytest.mark.parametrize("case", VECTORS["seat_notes"], ids=named)
def test_a_note_to_a_seat_is_read_and_written_to_the_byte(case):
    text = case["text"].encode("ascii")
    assert text == SeatNote.decode(text).encode()


@pytest.mark.parametrize(
    ("kind", "case"),
    [(kind, case) for kind in READERS for case in VECTORS[f"{kind}_refused"]],
    ids=lambda value: value if isinstance(value, str) else named(value),
)
def test_a_text_that_breaks_one_rule_is_refused_there(kind, case):
    """Line and byte are those that the reference names too."""
    with pytest.raises(ReceiptInvalidError) as raised:
        READERS[kind](unhex(case["text_hex"]))
    assert (case["line"], case["byte"]) == (raised.value.line, raised.value.byte)


def test_trees():
    for case in VECTORS["trees"]:
        assert case["root"] == merkle.root(make_log_vectors.LEAVES[: case["size"]]).hex()


@pytest.mark.parametrize("kind", ["inclusion", "consistency"])
def test_proofs(kind):
    """Every one is judged as the reference judges it, and both judgements occur."""
    judged = []
    for case in VECTORS[kind]:
        try:
            if kind == "inclusion":
                path, root = unhexes(case["path"]), unhex(case["root"])
                leaf = unhex(case["leaf_hash"])
                verify_inclusion(leaf, case["index"], case["size"], path, root)
            else:
                roots = unhex(case["old_root"]), unhex(case["root"])
                verify_consistency(case["old"], case["size"], *roots, unhexes(case["proof"]))
        except ProofInvalidError:
            judged.append(False)
        else:
            judged.append(True)
    assert [case["valid"] for case in VECTORS[kind]] == judged
    assert {True, False} == set(judged)


def test_proofs_are_made_as_the_reference_makes_them():
    """The same hashes in the same order."""
    read = nodes_of([merkle.leaf_hash(leaf) for leaf in make_log_vectors.LEAVES])
    for case in VECTORS["inclusion"]:
        if case["valid"]:
            assert unhexes(case["path"]) == inclusion_proof(read, case["index"], case["size"])
    for case in VECTORS["consistency"]:
        if case["valid"]:
            assert unhexes(case["proof"]) == consistency_proof(read, case["old"], case["size"])


def test_keys():
    """From the seed to the text, and back."""
    for case in VECTORS["keys"]:
        signing = SigningKey.from_seed(case["name"], unhex(case["seed"]), KeyType(case["type"]))
        assert case["verifier_key"] == signing.key.encode()
        assert signing.key == VerifierKey.decode(case["verifier_key"])


@pytest.mark.parametrize("case", VECTORS["keys_refused"], ids=named)
def test_a_text_that_is_no_key_is_refused(case):
    with pytest.raises(KeyInvalidError):
        VerifierKey.decode(case["verifier_key"])


@pytest.mark.parametrize("case", VECTORS["notes"], ids=named)
def test_notes(case):
    """Text and signers are the reference's, or the note is refused."""
    note = unhex(case["note_hex"])
    try:
        opened = SignedNote.decode(note)
        signed_by = [key.encode() for key in opened.verify(keys_of(case["keys"]))]
    except VerificationError:
        signed_by = []
    else:
        assert unhex(case["text_hex"]) == opened.text
        assert note == opened.encode()
    assert case["signed_by"] == signed_by


@pytest.mark.parametrize("case", VECTORS["checkpoints"], ids=named)
def test_checkpoints(case):
    """What is said and who saw it are the reference's, or the checkpoint is refused."""
    note = unhex(case["note_hex"])
    try:
        seen = open_checkpoint(note, keys_of(case["keys"]), keys_of(case["witnesses"]))
    except VerificationError:
        says = None
    else:
        says = {
            "origin": seen.checkpoint.origin,
            "size": str(seen.checkpoint.size),
            "root": seen.checkpoint.root.hex(),
            "seen_by": [
                {"witness": each.witness, "time": str(each.time_s)} for each in seen.cosignatures
            ],
        }
        only_the_operator = seen.signers() == "signed by the operator only"
        assert only_the_operator == (not seen.cosignatures)
    assert case["says"] == says


# --- the worked example ---------------------------------------------------------


@pytest.fixture(scope="module")
def example():
    text = (ROOT / "docs/protocol.md").read_text("utf-8")
    block = re.search(r"### 20\.6 Worked example\n.*?```text\n(.*?)```", text, re.DOTALL)
    assert block
    return dict(line.split(" = ", 1) for line in block[1].splitlines())


def test_production_signs_and_proves_the_worked_example(example):
    """From the secret seeds to every line below them."""
    log, receipts = (
        SigningKey.from_seed(name, unhex(example[f"seed of {shown}"]))
        for name, shown in (
            (log_cases.ORIGIN, "<origin>"),
            (make_log_vectors.RECEIPTS, "<origin>/receipts"),
        )
    )
    secret = unhex(example["seed of the witness"])
    witness = SigningKey.from_seed("witness.example/w1", secret, KeyType.COSIGNATURE)
    texts = [json.loads(example[f"receipt_{index}"]).encode() for index in range(4)]
    leaves = [Receipt.decode(text).leaf() for text in texts]
    hashes = [merkle.leaf_hash(leaf) for leaf in leaves]
    read = nodes_of(hashes)
    checkpoint = Checkpoint(log_cases.ORIGIN, 4, merkle.root(leaves))
    signed = sign(checkpoint.encode(), log)
    line = cosign(checkpoint.encode(), witness, 1_796_025_600)
    results = {
        "key of <origin>": log.key.encode(),
        "key of <origin>/receipts": receipts.key.encode(),
        "key of the witness": witness.key.encode(),
        **{f"leaf_hash_{index}": each.hex() for index, each in enumerate(hashes)},
        "note_3": escaped(sign(texts[3], receipts).encode()),
        "root": checkpoint.root.hex(),
        "path_3": spaced(inclusion_proof(read, 3, 4)),
        "root of the first 3": merkle.root(leaves[:3]).hex(),
        "consistency of 3 and 4": spaced(consistency_proof(read, 3, 4)),
        "checkpoint": escaped(SignedNote(signed.text, (*signed.signatures, line)).encode()),
    }
    inputs = {f"receipt_{index}" for index in range(4)} | {"cosigned"}
    inputs |= {name for name in example if name.startswith("seed")}
    assert results == {name: value for name, value in example.items() if name not in inputs}


def escaped(text):
    return json.dumps(text.decode(), ensure_ascii=False)


def spaced(hashes):
    return " ".join(each.hex() for each in hashes)


def test_a_verifier_checks_the_worked_example_from_its_two_keys(example):
    """Receipt, inclusion, consistency, witness: everything that a holder of note_3 can check."""
    log = TrustedLog.given(
        VerifierKey.decode(example["key of <origin>"]),
        VerifierKey.decode(example["key of <origin>/receipts"]),
    )
    receipt = log.open_receipt(json.loads(example["note_3"]).encode())
    witness = VerifierKey.decode(example["key of the witness"])
    seen = log.open_checkpoint(json.loads(example["checkpoint"]).encode(), [witness])
    head = seen.checkpoint
    path = unhexes(example["path_3"].split(" "))
    check_entry(receipt, head, path)
    old, proof = example["root of the first 3"], example["consistency of 3 and 4"]
    verify_consistency(3, head.size, unhex(old), head.root, unhexes(proof.split(" ")))
    assert "signed by the operator, seen by witness.example/w1" == seen.signers()
    assert json.loads(example["cosigned"]).encode() == naive_log.cosigned(
        head.encode(), seen.cosignatures[0].time_s
    )
