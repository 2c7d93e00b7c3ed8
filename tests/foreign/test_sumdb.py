"""Our notes and logs read by golang.org/x/mod/sumdb, and its own read by us.

That package is the Go project's: it opens the notes and checks the trees of the
checksum database with which every `go` command verifies what it downloads.
"""

from base64 import b64decode

import pytest

from entropyd.errors import ProofInvalidError, VerificationError
from entropyd.log import merkle
from entropyd.log.checkpoint import Checkpoint, cosign
from entropyd.log.keys import KeyType, SigningKey, VerifierKey
from entropyd.log.proofs import (
    consistency_proof,
    inclusion_proof,
    nodes_of,
    verify_consistency,
    verify_inclusion,
)
from entropyd.log.receipt import Receipt
from entropyd.log.signed_note import SignedNote, sign
from tests.reference import log_cases, naive_log

LOG = log_cases.ORIGIN
SEED = bytes(range(32))
HEAD = SigningKey.from_seed(LOG, SEED)
RECEIPTS = SigningKey.from_seed(f"{LOG}/receipts", bytes(32))
WITNESS = SigningKey.from_seed("witness.example/w1", bytes(32), KeyType.COSIGNATURE)
TEXTS = [naive_log.write(lines) for _, lines in log_cases.good_receipts()]
LEAVES = [Receipt.decode(text).leaf() for text in TEXTS]
HASHES = [merkle.leaf_hash(leaf) for leaf in LEAVES]
READ = nodes_of(HASHES)


def unbase(texts):
    return [b64decode(text) for text in texts or []]


def test_it_opens_every_receipt_that_we_sign(sumdb):
    """Text and signer, for each event."""
    for text in TEXTS:
        note = sign(text, RECEIPTS).encode()
        told = sumdb("open", note=note, keys=[RECEIPTS.key.encode()])
        assert text == b64decode(told["Text"])
        assert [RECEIPTS.key.name] == told["Signed"]


def test_it_makes_the_same_key_and_note(sumdb):
    """From one seed, to the byte: Ed25519 is deterministic."""
    for text in TEXTS:
        told = sumdb("sign", name=LOG, seed=SEED, text=text)
        assert HEAD.key.encode() == told["Key"]
        assert sign(text, HEAD).encode() == b64decode(told["Note"])


def test_it_reads_our_checkpoint_and_ignores_the_witness(sumdb):
    """Origin, size and root; a type of key that it does not know is a stranger's."""
    checkpoint = Checkpoint(LOG, len(LEAVES), merkle.root(LEAVES))
    note = sign(checkpoint.encode(), HEAD)
    line = cosign(note.text, WITNESS, 1_796_025_600)
    whole = SignedNote(note.text, (*note.signatures, line)).encode()
    told = sumdb("checkpoint", note=whole, keys=[HEAD.key.encode()])
    said = Checkpoint(told["Origin"], told["Size"], b64decode(told["Root"]))
    assert checkpoint == said
    assert ([LOG], [WITNESS.key.name]) == (told["Signed"], told["Ignored"])


def test_it_takes_every_proof_of_ours_and_refuses_it_changed(sumdb):
    """Every leaf and every older size, of every size of the log."""
    for size in range(1, len(LEAVES) + 1):
        root = merkle.root_of_hashes(HASHES[:size])
        for index in range(size):
            proof = inclusion_proof(READ, index, size)
            about = {"size": size, "index": index, "leaf": HASHES[index]}
            assert {} == sumdb("record", proof=proof, root=root, **about)
            assert "Error" in sumdb("record", proof=proof, root=bytes(32), **about)
        for old in range(1, size + 1):
            proof = consistency_proof(READ, old, size)
            about = {"size": size, "old": old, "root": root, "proof": proof}
            before = merkle.root_of_hashes(HASHES[:old])
            assert {} == sumdb("tree", before=before, **about)
            assert "Error" in sumdb("tree", before=bytes(32), **about)


def test_we_take_every_proof_of_its_log_and_make_the_same(sumdb):
    """It stores and proves the same leaves its own way."""
    for size in range(1, len(LEAVES) + 1):
        index, old = size // 3, size // 2 or 1
        told = sumdb("log", leaves=LEAVES[:size], index=index, old=old)
        root, before, leaf = (b64decode(told[name]) for name in ("Root", "Before", "LeafHash"))
        record, tree = unbase(told.get("Record")), unbase(told.get("Tree"))
        assert inclusion_proof(READ, index, size) == record
        assert consistency_proof(READ, old, size) == tree
        verify_inclusion(leaf, index, size, record, root)
        verify_consistency(old, size, before, root, tree)
        with pytest.raises(ProofInvalidError):
            verify_inclusion(leaf, index, size, record, bytes(32))


def test_of_every_changed_byte_both_judge_alike(sumdb):
    """A signed receipt, each byte changed once: neither takes any."""
    note = sign(TEXTS[0], RECEIPTS).encode()
    key = RECEIPTS.key.encode()
    for at in range(len(note)):
        changed = note[:at] + bytes([note[at] ^ 1 << at % 8]) + note[at + 1 :]
        assert "Error" in sumdb("open", note=changed, keys=[key])
        with pytest.raises(VerificationError):
            SignedNote.decode(changed).verify([VerifierKey.decode(key)])
