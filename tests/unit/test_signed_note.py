"""Keys, signed notes, checkpoints: published ones, every changed bit, hostile ones."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import (
    CheckpointInvalidError,
    KeyInvalidError,
    NoteInvalidError,
    SignatureInvalidError,
    SignatureMissingError,
    VerificationError,
)
from entropyd.log import merkle
from entropyd.log.checkpoint import Checkpoint, cosign, open_checkpoint
from entropyd.log.frontier import Frontier
from entropyd.log.keys import KeyType, SigningKey, VerifierKey
from entropyd.log.signed_note import MAX_NOTE_BYTES, SignedNote, sign
from tests.reference import naive_ed25519

VECTORS = Path(__file__).parents[1] / "vectors"
unhex = bytes.fromhex


def published(name):
    return json.loads((VECTORS / name).read_text("utf-8"))


NOTES = published("signed_note/signed_note_vectors.json")
TESSERA = published("signed_note/tessera_test_log.json")
WYCHEPROOF = published("ed25519/wycheproof_ed25519_test.json")
PETER = NOTES["bad_vkeys"]
GOOD_KEY = NOTES["verify_ok"][0]["vkeys"][0]

OURS = SigningKey.from_seed("entropyd.example/log", bytes(range(32)))
WITNESS = SigningKey.from_seed("w", bytes(32), KeyType.COSIGNATURE)


def opened(note, *keys):
    """Return the text of a note if one of the keys signed it, else None."""
    try:
        taken = SignedNote.decode(note)
        taken.verify(keys)
    except VerificationError:
        return None
    return taken.text


# --- Ed25519 -------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", published("ed25519/rfc8032_ed25519.json"), ids=lambda case: case["name"]
)
def test_the_signatures_of_the_standard_are_made_and_taken(case):
    """By production and by the reference."""
    seed, message = unhex(case["secretKey"])[:32], unhex(case["message"])
    key = SigningKey.from_seed("n", seed)
    assert case["publicKey"] == key.key.public_key.hex() == naive_ed25519.public_key(seed).hex()
    assert case["signature"] == key.sign(message).hex() == naive_ed25519.sign(seed, message).hex()
    key.key.check(unhex(case["signature"]), message)


def test_wycheproof_signatures():
    """151 signatures, among them malleable, cut off and badly encoded ones."""
    expected, judged, plain = [], [], []
    for group in WYCHEPROOF["testGroups"]:
        public = unhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            message, signature = unhex(case["msg"]), unhex(case["sig"])
            expected.append(case["result"] == "valid")
            plain.append(naive_ed25519.verify(public, message, signature))
            try:
                VerifierKey("n", public).check(signature, message)
            except SignatureInvalidError:
                judged.append(False)
            else:
                judged.append(True)
    assert WYCHEPROOF["numberOfTests"] == len(judged)
    assert expected == judged
    assert expected == plain


# --- keys --------------------------------------------------------------------------


@pytest.mark.parametrize("text", PETER["must_be_rejected"])
def test_published_bad_keys_are_refused(text):
    with pytest.raises(KeyInvalidError):
        VerifierKey.decode(text)


def test_a_key_cut_short_or_with_one_byte_changed_is_refused():
    """Every proper substring, and every byte counted up by one."""
    assert GOOD_KEY == VerifierKey.decode(GOOD_KEY).encode()
    size = len(GOOD_KEY)
    parts = {GOOD_KEY[i:j] for i in range(size) for j in range(i, size + 1)} - {GOOD_KEY}
    counted = {GOOD_KEY[:i] + chr(ord(GOOD_KEY[i]) + 1) + GOOD_KEY[i + 1 :] for i in range(size)}
    for text in parts | counted:
        with pytest.raises(KeyInvalidError):
            VerifierKey.decode(text)


@pytest.mark.parametrize(
    "name", ["", "a b", "a+b", "a\u00a0b", "a\u2003b", "a\nb", "\ud800", "\x01"]
)
def test_a_name_that_no_line_can_hold_is_refused(name):
    with pytest.raises(KeyInvalidError):
        VerifierKey(name, bytes(32))


def test_keys_of_another_length_are_refused():
    with pytest.raises(KeyInvalidError):
        VerifierKey("n", bytes(31))
    with pytest.raises(KeyInvalidError):
        SigningKey.from_seed("n", bytes(33))


def test_no_text_shows_a_private_key():
    """Neither repr nor error has the seed."""
    assert bytes(range(32)).hex() not in repr(OURS)
    assert "private" not in repr(OURS)


# --- notes ------------------------------------------------------------------------


@pytest.mark.parametrize("case", NOTES["verify_ok"], ids=lambda case: str(len(case["note"])))
def test_published_notes_are_taken(case):
    """With all keys, and with each alone: others' lines are ignored."""
    note, keys = case["note"].encode(), [VerifierKey.decode(text) for text in case["vkeys"]]
    decoded = SignedNote.decode(note)
    assert tuple(keys) == decoded.verify(keys)
    assert case["text"].encode() == decoded.text
    assert note == decoded.encode()
    for key in keys:
        assert case["text"].encode() == opened(note, key)


@pytest.mark.parametrize("encoded", NOTES["malformed_notes_hex"]["must_be_rejected_as_malformed"])
def test_published_malformed_notes_are_refused(encoded):
    with pytest.raises(NoteInvalidError):
        SignedNote.decode(unhex(encoded))


def test_a_published_note_with_a_bad_signature_of_a_known_key_is_refused():
    case = NOTES["invalid_signature"]
    [key] = [VerifierKey.decode(text) for text in case["vkeys"]]
    with pytest.raises(SignatureInvalidError):
        SignedNote.decode(case["note"].encode()).verify([key])


def test_a_hundred_and_one_signatures_are_refused_and_16_are_not():
    """The standard has at least 16 taken; the Go reader refuses above 100."""
    text, _, line = NOTES["verify_ok"][0]["note"].encode().partition(b"\n\n")
    stranger = line.replace(b"PeterNeumann", b"Stranger")
    head, key = text + b"\n\n", VerifierKey.decode(GOOD_KEY)
    assert opened(head + 15 * stranger + line, key)
    with pytest.raises(NoteInvalidError, match="101 signatures"):
        SignedNote.decode(head + 101 * line)


def test_a_note_of_more_than_a_million_bytes_is_refused_unread():
    with pytest.raises(NoteInvalidError, match="at most 1000000"):
        SignedNote.decode(b"\xff" * (MAX_NOTE_BYTES + 1))


@pytest.mark.parametrize("text", [b"", b"no end", b"a\tb\n", b"a\x00\n", b"\xff\n", b"a\r\n"])
def test_nothing_is_signed_that_no_note_can_hold(text):
    with pytest.raises(NoteInvalidError):
        sign(text, OURS)


def test_an_error_says_line_and_byte():
    """Of a byte that may not stand there."""
    with pytest.raises(NoteInvalidError, match="line 2, byte 3: control character 0x09") as raised:
        SignedNote.decode(b"one\ntw\to\n")
    assert (2, 3) == (raised.value.line, raised.value.byte)


def test_a_witness_key_does_not_sign_texts():
    """A cosignature cannot be shown as a signature of the text."""
    note = SignedNote(b"t\n", (cosign(b"t\n", WITNESS, 1),))
    with pytest.raises(SignatureInvalidError, match="as a witness"):
        note.verify([WITNESS.key])


def test_nobody_is_trusted_by_name_or_id_alone():
    """A line with our name and another id, or our id and another name, is a stranger's."""
    other = SigningKey.from_seed(OURS.key.name, bytes(32))
    with pytest.raises(SignatureMissingError, match=r"entropyd\.example/log \("):
        sign(b"t\n", other).verify([OURS.key])


def test_every_changed_bit_of_a_note_is_refused():
    """Text, names, ids and signature: no changed note yields any text."""
    note = sign(b"entropyd-note: v1\nO: 00\n", OURS).encode()
    assert opened(note, OURS.key)
    taken = [
        opened(note[:at] + bytes([note[at] ^ 1 << bit]) + note[at + 1 :], OURS.key)
        for at in range(len(note))
        for bit in range(8)
    ]
    assert 8 * len(note) == len(taken)
    assert {None} == set(taken)


EDITS = st.lists(
    st.tuples(
        st.integers(0, 400),
        st.integers(0, 30),
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from(
                [b"\n", b"\n\n", "\u2014 ".encode(), b" ", b"=", b"+", b"\r\n", b"\x00"]
            ),
        ),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=400, deadline=None)
@given(EDITS, st.booleans())
def test_an_edited_note_yields_its_text_or_nothing(edits, twice):
    """Whatever is cut, inserted or doubled: no crash, and never another text."""
    text = b"entropyd-receipt: v1\n\nline two\n"
    note = sign(text, OURS).encode()
    edited = note + note if twice else note
    for at, cut, inserted in edits:
        edited = edited[:at] + inserted + edited[at + cut :]
    assert opened(edited, OURS.key) in {None, text}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_bytes_of_strangers_are_no_note(data):
    """Nor a checkpoint, and nothing else than a refusal comes of them."""
    assert opened(data, OURS.key) is None
    with pytest.raises(VerificationError):
        open_checkpoint(data, [OURS.key], [WITNESS.key])
    with pytest.raises(VerificationError):
        VerifierKey.decode(data.decode("latin-1"))


# --- checkpoints ---------------------------------------------------------------------


@pytest.mark.parametrize("size", range(16))
def test_the_checkpoints_of_another_log(size):
    """Signature, size, and the root that its leaves have."""
    key = VerifierKey.decode(TESSERA["vkey"])
    note = TESSERA["checkpoints_by_size"][size].encode()
    seen = open_checkpoint(note, [key])
    leaves = [leaf.encode() for leaf in TESSERA["leaves_utf8"][:size]]
    expected = Checkpoint("example.com/log/testdata", size, merkle.root(leaves))
    assert expected == seen.checkpoint
    assert SignedNote.decode(note).text == expected.encode()
    assert "signed by the operator only" == seen.signers()


def test_the_tile_of_another_log_holds_its_leaf_hashes():
    """And its frontier has the root of the last checkpoint."""
    tile = unhex(TESSERA["tile_0_000_p_15_hex"])
    tree = Frontier()
    for at in range(0, len(tile), 32):
        tree = tree.append(tile[at : at + 32])
    last = SignedNote.decode(TESSERA["checkpoints_by_size"][15].encode())
    assert Checkpoint.decode(last.text) == Checkpoint(
        "example.com/log/testdata", tree.size, tree.root()
    )


@pytest.mark.parametrize(
    "case", NOTES["checkpoint_format_examples_unverifiable"], ids=lambda case: case["source"]
)
def test_the_examples_of_the_standard_are_read(case):
    """No key is published for them."""
    note = SignedNote.decode(case["note"].encode())
    checkpoint = Checkpoint.decode(note.text)
    assert ("example.com/behind-the-sofa", 20852163) == (checkpoint.origin, checkpoint.size)
    assert case["note"].encode() == note.encode()


def test_every_changed_bit_of_a_witnessed_checkpoint_is_refused_or_loses_the_witness():
    """A changed name or id makes the witness a stranger; nothing else is taken."""
    root = sha256(b"r").digest()
    note = sign(Checkpoint(OURS.key.name, 5, root).encode(), OURS)
    line = cosign(note.text, WITNESS, 1_796_025_600)
    whole = SignedNote(note.text, (*note.signatures, line)).encode()
    start = whole.rindex("\u2014".encode())
    lost = set()
    for at in range(len(whole)):
        for bit in range(8):
            changed = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
            try:
                seen = open_checkpoint(changed, [OURS.key], [WITNESS.key])
            except VerificationError:
                continue
            assert () == seen.cosignatures
            assert 5 == seen.checkpoint.size
            lost.add(at)
    # The witness's name (one byte) and the base64 of its id: six digits, the last shared.
    name = start + len("\u2014 ".encode())
    assert lost <= {name, *range(name + 2, name + 8)}


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (("", 1, bytes(32)), 0),
        (("a\nb", 1, bytes(32)), 0),
        (("a", -1, bytes(32)), 2),
        (("a", 2**63, bytes(32)), 2),
        (("a", 1, bytes(31)), 3),
        (("a", 0, bytes(32)), 3),
        (("a", 1, merkle.EMPTY_ROOT), 3),
        (("a", 1, bytes(32), ("",)), 0),
        (("a", 1, bytes(32), ("b\nc",)), 0),
    ],
)
def test_a_checkpoint_that_cannot_be_is_refused(values, line):
    with pytest.raises(CheckpointInvalidError) as raised:
        Checkpoint(*values)
    assert line == raised.value.line


def test_lines_that_others_add_are_kept():
    """They are signed, and mean nothing here."""
    text = Checkpoint("a", 1, bytes(32), ("more", "and more")).encode()
    assert ("more", "and more") == Checkpoint.decode(text).extensions
    assert text == Checkpoint.decode(text).encode()
    with pytest.raises(CheckpointInvalidError, match="not UTF-8"):
        Checkpoint.decode(b"a\n1\n\xff\n")
