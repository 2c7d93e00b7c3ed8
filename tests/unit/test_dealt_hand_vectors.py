# ruff: noqa: E741 - names are the document's letters
"""docs/vectors/dealt_hands.json: made again, and made and verified by production.

Another implementation played these hands and said where the check of each changed file ends.
"""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from entropyd.errors import ProofError
from entropyd.hands import commitment, receipts, snapshot
from entropyd.hands.binding import hand_binding
from entropyd.hands.card_proof import CardTree
from entropyd.hands.child import child_digest, child_salt
from entropyd.hands.contributions import Contribution
from entropyd.hands.cut import contribution_leaf
from entropyd.hands.deals import deals_root
from entropyd.hands.hand import UNOPENED, Hand, HandState
from entropyd.hands.judgement import judge
from entropyd.hands.opened import OpenedHand
from entropyd.hands.receipts import NS_A_MS, Sources
from entropyd.hands.rules import Contributions, decode, rules_hash
from entropyd.hands.seats import Seat, check_seats, has_signed, signed_bytes
from entropyd.hands.whole_deck import open_deck
from entropyd.log import merkle
from entropyd.log.keys import VerifierKey
from entropyd.log.receipt import Receipt
from entropyd.log.signed_note import SignedNote
from entropyd.verify import check_proof
from tests.reference import hand_cases, make_hand_vectors
from tests.reference.make_vectors import as_text

PATH = Path(__file__).parents[2] / "docs/vectors/dealt_hands.json"
VECTORS = json.loads(PATH.read_text("utf-8"))
BASES = {vector["label"]: vector for vector in [*VECTORS["hands"], *VECTORS["logs"]]}
DURING = 10 * 10**9
unhex = bytes.fromhex


def named(vector):
    return vector.get("label") or f"{vector['of']}-{vector['reason']}"


def unhexes(texts):
    return [unhex(text) for text in texts]


def keys_of(vector):
    return [VerifierKey.decode(text) for text in vector["trusted"] + vector["witnesses"]]


def check(file, keys=()):
    return check_proof(json.dumps(file).encode(), keys)


def test_the_file_is_the_one_that_the_generator_makes():
    """Vectors are never edited by hand."""
    assert as_text(make_hand_vectors.vectors()) == PATH.read_text("utf-8"), (
        "run tests.reference.make_hand_vectors"
    )


@pytest.mark.parametrize("case", VECTORS["signatures"], ids=named)
def test_seats_sign_what_the_reference_signs(case):
    leaf_hash = unhex(case["leaf_hash"])
    private = Ed25519PrivateKey.from_private_bytes(unhex(case["seed"]))
    assert case["signed"] == signed_bytes(leaf_hash).hex()
    assert case["signature"] == private.sign(signed_bytes(leaf_hash)).hex()
    assert has_signed(Seat("s", unhex(case["key"])), leaf_hash, unhex(case["signature"]))


@pytest.mark.parametrize("case", VECTORS["children"], ids=named)
def test_a_child_is_bound_to_the_discards_of_its_parent(case):
    salt = child_salt(unhex(case["salt_key"]), unhex(case["X"]), case["hand"])
    assert case["salt"] == salt.hex()
    assert case["parent"] == child_digest(unhex(case["O"]), case["places"], salt).hex()


@pytest.mark.parametrize("case", VECTORS["deals"], ids=named)
def test_deals_roots(case):
    assert case["deals"] == deals_root(unhex(case["O"]), case["recipients"]).hex()


# --- Hands -------------------------------------------------------------------


def opened_again(vector):
    """Return the deck and the hand that production opens from the secrets of a vector."""
    file = vector["file"]
    text = file["rules"].encode()
    rules, seats = decode(text), [Seat(s["seat"], unhex(s["key"])) for s in file["seats"]]
    said = receipt_of(file, "open")
    deck = open_deck(
        rules,
        hand_binding(file["tenant"], file["table"], file["hand"], rules_hash(text)),
        seeds=unhexes(vector["seeds"]),
        blinding=unhex(vector["blinding"]),
        salt_key=unhex(vector["salt_key"]),
        seats_root=commitment.seats_root({seat.name: seat.public_key for seat in seats}),
        discards=vector.get("discards"),
    )
    fixed = OpenedHand(
        tenant=file["tenant"],
        table=file["table"],
        hand=file["hand"],
        rules=rules,
        sequence=said.sequence,
        size=deck.size,
        commitment=deck.commitment,
        deck_root=deck.deck_root,
        seats_root=deck.seats_root,
        open_hash=deck.at_sequence(said.sequence),
        seats=check_seats(seats),
        opened_at_ns=0,
        deadline_ns=(said.deadline_ms or 0) * NS_A_MS,
        leaf_window_ns=roll_window(vector),
    )
    return deck, Hand(fixed)


def roll_window(vector):
    """Return how long values are taken after the roll."""
    if "roll" not in vector["file"]["receipts"]:
        return 0
    deadline = receipt_of(vector["file"], "roll").deadline_ms * NS_A_MS
    return deadline - window_ended(vector)


def window_ended(vector):
    """Return when a window ended: with the last seat, or at its deadline."""
    file = vector["file"]
    all_spoke = len(vector["contributions"]) == len(file["seats"])
    return DURING if all_spoke else receipt_of(file, "open").deadline_ms * NS_A_MS


def receipt_of(file, name):
    return Receipt.decode(SignedNote.decode(file["receipts"][name].encode()).text)


@pytest.mark.parametrize("vector", VECTORS["hands"], ids=named)
def test_a_hand_is_committed_and_cut_to_the_byte(vector):
    """C, D, A, O, the order, the cut, and every card of the file with its proof."""
    deck, hand = opened_again(vector)
    letters = {"X": deck.binding, "C": deck.commitment, "D": deck.deck_root, "A": deck.seats_root}
    letters["O"] = hand.opened.open_hash
    assert {name: vector[name] for name in letters} == {n: b.hex() for n, b in letters.items()}
    assert vector["items"] == list(deck.items)
    tree = CardTree(deck.binding, deck.salt_key, deck.items)
    for card in vector["file"]["cards"]:
        proof = tree.prove(card["place"], vector["cut"][card["place"]])
        assert (card["leaf_index"], card["item"]) == (proof.leaf_index, proof.item)
        assert (card["salt"], card["path"]) == (proof.salt.hex(), [h.hex() for h in proof.path])


def said_again(hand, vector):
    """Return the hand after its contributions, signed, and what time brought about."""
    O, sealed = hand.opened.open_hash, hand.opened.rules.contributions is Contributions.SEALED
    values = [(one["seat"], unhex(one["value"])) for one in vector["contributions"]]
    for seat, value in values:
        leaf_hash = merkle.leaf_hash(contribution_leaf(O, seat, value))
        seed = hand_cases.made(f"{vector['label']} key of {seat}", 32)
        signature = Ed25519PrivateKey.from_private_bytes(seed).sign(signed_bytes(leaf_hash))
        what = {"leaf_hash": leaf_hash} if sealed else {"value": value}
        hand = judged(hand, Contribution(seat, signature=signature, **what))
    return hand, values


def judged(hand, contribution, at=DURING):
    found = judge(hand, contribution, hand.opened.open_hash, at)
    assert found.refused is None
    return found.hand


def text_of(note):
    return SignedNote.decode(note.encode()).text


def after_the_window(vector, hand, values):
    """Yield (step, how its receipt is made, the hand after it) of the roll and the seal."""
    at = window_ended(vector)
    hand = hand.after_window(at)
    if hand.state is HandState.ROLLED:
        yield "roll", receipts.roll_receipt, hand
        for seat, value in values if "seal" in vector["file"]["receipts"] else ():
            hand = judged(hand, Contribution(seat, value=value), at)
        hand = hand.after_window(at)
    if hand.state is HandState.SEALED:
        yield "seal", receipts.seal_receipt, hand


def stages(vector):
    """Yield every step of a hand as production plays it."""
    file = vector["file"]
    _, hand = opened_again(vector)
    hand, values = said_again(hand, vector)
    if file["receipts"].keys() & {"roll", "seal"}:
        for step in after_the_window(vector, hand, values):
            yield step
            hand = step[2]
    if vector["recipients"]:
        hand = hand.deal(0, vector["recipients"], bytes(32))
    assert vector["deals"] == hand.deals_root.hex()
    if "close" in file["receipts"]:
        yield "close", receipts.end_receipt, hand.close()
    if "void" in file["receipts"]:
        yield "void", receipts.end_receipt, hand.void(receipt_of(file, "void").reason)


@pytest.mark.parametrize("vector", VECTORS["hands"], ids=named)
def test_the_states_of_a_hand_make_its_receipts(vector):
    """Production plays the hand: each receipt is the reference's, byte for byte."""
    file = vector["file"]
    said = receipt_of(file, "open")
    _, hand = opened_again(vector)
    sources = Sources(said.policy, said.sources)
    made = {"open": receipts.open_receipt(hand, said.log, said.index, sources, said.time_ms)}
    for name, make, after in stages(vector):
        at = receipt_of(file, name)
        made[name] = make(after, at.log, at.index, at.time_ms)
        assert after == snapshot.decode(snapshot.encode(after))
        if after.is_cut:
            assert vector["leaves"] == [leaf.hex() for leaf in after.leaves]
            assert (vector["R"], vector["cut"]) == (after.roll.root.hex(), after.cut())
    assert {name: text_of(note) for name, note in file["receipts"].items()} == made


# --- Files -------------------------------------------------------------------


@pytest.mark.parametrize("vector", BASES.values(), ids=named)
def test_every_file_verifies_and_says_under_whose_keys(vector):
    """Without keys nobody vouches for it, and that is said."""
    alone, given = check(vector["file"]), check(vector["file"], keys_of(vector))
    assert "not trusted" in " ".join(alone.not_checked)
    assert "not trusted" not in " ".join(given.not_checked)
    assert "a key that was given" in " ".join(given.checked)
    assert len(alone.checked) == len(given.checked)


@pytest.mark.parametrize("vector", VECTORS["tampered"], ids=named)
def test_every_changed_file_is_refused_at_the_same_part(vector):
    base = BASES[vector["of"]]
    file = make_hand_vectors.applied(base["file"], vector["changes"])
    with pytest.raises(ProofError) as caught:
        check(file, keys_of(base) if vector["trusted"] else ())
    assert vector["part"] == caught.value.field


def test_the_cases_are_all_that_are_asked_for():
    """Modes, keys, numbers of contributions, decks, samplers, stages."""
    files = [vector["file"] for vector in VECTORS["hands"]]
    lines = {line for file in files for line in file["rules"].splitlines()}
    assert {f"contributions={mode}" for mode in ("none", "open", "sealed")} <= lines
    assert {"deck=standard54", "deck=short36", "decks=8", "sampler=word32"} <= lines
    assert {"removed", "plan", "replaces", "parent"} <= {line.partition("=")[0] for line in lines}
    assert {0, 1, 2, 9} <= {len(vector["leaves"]) for vector in VECTORS["hands"]}
    assert {"", "x"} == {"x" if s["key"] else "" for file in files for s in file["seats"]}
    stages = {tuple(file["receipts"]) for file in files}
    assert {
        ("open",),
        ("open", "roll"),
        ("open", "seal"),
        ("open", "void"),
        ("open", "roll", "void"),
        ("open", "seal", "void"),
        ("open", "seal", "close"),
        ("open", "roll", "seal", "close"),
    } == stages
    assert UNOPENED in {receipt_of(f, "void").reason for f in files if "void" in f["receipts"]}
