# ruff: noqa: N803 - names are the document's letters
"""docs/protocol.md is read as a reader reads it, and everything it computes is computed again."""

import json
import re
from pathlib import Path

import pytest

from entropyd.draw.cards import card_text
from entropyd.hands import claim, commitment, rules
from entropyd.hands.binding import hand_binding
from entropyd.hands.rules import Rules
from entropyd.hands.whole_deck import open_deck
from entropyd.rbg.construction import SeedConstruction
from entropyd.verify.recompute import PresentedDeck, recompute_whole_deck
from tests.reference import naive
from tests.unit.test_protocol_vectors import Gated

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/protocol.md").read_text("utf-8")
INPUTS = {
    "tenant",
    "table",
    "hand",
    "q",
    "rules",
    "origin",
    "instantiate.hardware.quantis-1",
    "instantiate.os.getrandom",
    "instantiate.nonce",
    "hardware.quantis-1",
    "cover.quantis-1",
    "user.alice.event",
    "os.getrandom",
    "claim_key",
}


def example():
    """Return name -> text of the lines of the worked example."""
    block = re.search(r"## 15\. Worked example\n.*?```text\n(.*?)```", TEXT, re.DOTALL)
    assert block
    lines = [line.split(" = ", 1) for line in block[1].splitlines()]
    names = [name for name, _ in lines]
    assert len(set(names)) == len(names)
    return dict(lines)


@pytest.fixture
def given():
    return example()


def spaced(values):
    return " ".join(str(value) for value in values)


def naive_results(given):
    """Compute every result of the example from its inputs, with the naive reference."""

    def data(name):
        return bytes.fromhex(given[name])

    text = json.loads(given["rules"]).encode("ascii")
    X = naive.hand_X(given["tenant"], given["table"], given["hand"], text)
    start = {"quantis-1": data("instantiate.hardware.quantis-1")}
    start_os = {"getrandom": data("instantiate.os.getrandom")}
    drbg = naive.instantiate(given["origin"], start, {}, {}, start_os, data("instantiate.nonce"))
    results = {
        "rules_hash": naive.rules_hash(text),
        "X": X,
        "instantiate.e_hardware": naive.e_class("hardware", start),
        "instantiate.e_cover": naive.e_class("cover", {}),
        "instantiate.e_user": naive.e_class("user", {}),
        "instantiate.e_os": naive.e_class("os", start_os),
        "instantiate.Key": drbg.key,
        "instantiate.V": drbg.v,
    }
    x, y, t = (int(number) for number in given["user.alice.event"].split())
    hardware, cover = (
        {"quantis-1": data("hardware.quantis-1")},
        {"quantis-1": data("cover.quantis-1")},
    )
    user, os = {"alice": naive.user_events([(x, y, t)])}, {"getrandom": data("os.getrandom")}
    [S_0], r, K = naive.seed_draw(drbg, X, [(hardware, cover, user, os)])
    results |= {
        "user.alice": user["alice"],
        "e_hardware": naive.e_class("hardware", hardware),
        "e_cover": naive.e_class("cover", cover),
        "e_user": naive.e_class("user", user),
        "e_os": naive.e_class("os", os),
        "additional_input": naive.LP(b"entropyd/seed/v1") + naive.LP(X) + naive.u32(0),
        "S_0": S_0,
        "r": r,
        "K": K,
    }
    return results | naive_order(X, S_0) | naive_hashes(given, X, S_0, r, K)


REMOVED = [4, 17, 30, 43]


def naive_order(X, S_0):
    n = len(naive.deck_ids("short36", REMOVED))
    a = naive.shuffle(n, [S_0], X, "masked")
    bits, tries, draws = naive.Bits(S_0, X, 0), [], []
    for k in range(n, 1, -1):
        values = [int(bits.take(naive.b(k)), 2)]
        while values[-1] >= k:
            values.append(int(bits.take(naive.b(k)), 2))
        tries.append(f"{k}:" + "/".join(str(v) for v in values))
        draws.append(values[-1])
    cards = [naive.card_of(item, "short36", REMOVED) for item in a]
    block = naive.LP(b"entropyd/stream/v1") + naive.LP(X) + naive.u32(0) + naive.u64(0)
    return {
        "n": str(n),
        "block_0": naive.hmac_sha512(S_0, block),
        "tries": spaced(tries),
        "draws": spaced(draws),
        "a": spaced(a),
        "card_ids": spaced(cards),
        "text": spaced(naive.card_text(card) for card in cards),
    }


def naive_hashes(given, X, S_0, r, K):
    a = naive.shuffle(32, [S_0], X, "masked")
    C, D, A = (
        naive.commitment_C(X, [S_0], r),
        naive.deck_root_whole(X, K, a),
        naive.seats_root_A({}),
    )
    leaves = naive.card_leaves(X, K, a)
    key = bytes.fromhex(given["claim_key"])
    derived = naive.derive_claim(key, given["table"], given["hand"], 0)
    return {
        "C": C,
        "D": D,
        "A": A,
        "O": naive.open_hash_O(X, int(given["q"]), 32, C, D, A),
        "salt_0": naive.salt(X, K, 0),
        "salt_1": naive.salt(X, K, 1),
        "leaf_1": leaves[1],
        "leaf_hash_1": naive.leaf_hash(leaves[1]),
        "D_card_by_card": naive.merkle_root(leaves),
        "claim": derived,
        "claim_digest": naive.claim_digest(X, derived),
    }


def test_every_line_of_the_worked_example_follows_from_its_inputs(given):
    """No line is left unchecked, none is missing."""
    results = {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in naive_results(given).items()
    }
    assert results == {name: value for name, value in given.items() if name not in INPUTS}


def test_the_example_shows_rejections(given):
    """A reader can check his reading of the masked draw."""
    assert "/" in given["tries"]


def test_production_computes_the_worked_example(given):
    """From the samples to O, by the code that deals."""

    def data(name):
        return bytes.fromhex(given[name])

    def samples(prefix, source):
        return [(source, data(f"{prefix}.{source}"))]

    hand_rules = rules.decode(json.loads(given["rules"]).encode("ascii"))
    construction = SeedConstruction(given["origin"])
    start = Gated(samples("instantiate.hardware", "quantis-1"), [], [])
    nonce = data("instantiate.nonce")
    construction.instantiate(start, data("instantiate.os.getrandom"), nonce)
    x = hand_binding(
        given["tenant"], given["table"], given["hand"], rules.rules_hash(hand_rules.encode())
    )
    gated = Gated(
        samples("hardware", "quantis-1"), samples("cover", "quantis-1"), samples("user", "alice")
    )
    made = construction.seed_draw(x, [gated], [data("os.getrandom")])
    deck = open_deck(
        hand_rules, x, seeds=made.seeds, blinding=made.blinding, salt_key=made.salt_key
    )
    assert given["S_0"] == made.seeds[0].hex()
    assert given["a"] == spaced(deck.items)
    assert given["card_ids"] == spaced(deck.cards)
    assert given["text"] == spaced(card_text(card) for card in deck.cards)
    assert given["C"] == deck.commitment.hex()
    assert given["D"] == deck.deck_root.hex()
    assert given["A"] == deck.seats_root.hex()
    assert given["O"] == deck.at_sequence(int(given["q"])).hex()
    by_card = commitment.card_by_card_root(x, made.salt_key, deck.items)
    assert given["D_card_by_card"] == by_card.hex()
    derived = claim.derive_claim(data("claim_key"), given["table"], given["hand"])
    assert given["claim"] == derived.hex()
    assert given["claim_digest"] == claim.claim_digest(x, derived).hex()


def test_the_worked_example_passes_the_full_check(given):
    """Section 13.3 on what section 15 shows."""
    secrets = {name: bytes.fromhex(given[name]) for name in ("S_0", "r", "K")}
    published = {name: bytes.fromhex(given[name]) for name in ("C", "D", "A", "O")}
    recompute_whole_deck(
        PresentedDeck(
            tenant=given["tenant"],
            table=given["table"],
            hand=given["hand"],
            encoded_rules=json.loads(given["rules"]).encode("ascii"),
            sequence=int(given["q"]),
            commitment=published["C"],
            deck_root=published["D"],
            seats_root=published["A"],
            open_hash=published["O"],
            seeds=secrets["S_0"],
            blinding=secrets["r"],
            salt_key=secrets["K"],
            items=b"".join(naive.u32(int(item)) for item in given["a"].split()),
        )
    )


def test_the_rules_shown_are_the_rules_of_a_shuffle():
    """Section 4 prints them and says how many bytes they are."""
    block = re.search(r"these are the (\d+) bytes\n\n```\n(.*?)```", TEXT, re.DOTALL)
    assert block
    assert block[2].encode("ascii") == Rules().encode()
    assert int(block[1]) == len(Rules().encode())


def test_every_label_is_written_down():
    """The labels of the specification are those of the reference, no more and no fewer."""
    sources = (path.read_text("utf-8") for path in Path(naive.__file__).parent.glob("naive*.py"))
    in_reference = set(re.findall(r'b"(entropyd/[a-z-]+/v1)"', "\n".join(sources)))
    assert in_reference == set(re.findall(r'"(entropyd/[a-z-]+/v1)"', TEXT))


def test_code_refers_to_headings_that_exist():
    """A `Spec:` clause that names this document names one of its headings."""
    headings = "\n".join(re.findall(r"^#+ .*$", TEXT, re.MULTILINE))
    for path in (ROOT / "entropyd").rglob("*.py"):
        for clause in re.findall(r'docs/protocol\.md, "([^"]*)"', path.read_text("utf-8")):
            assert clause in headings, path


def test_links_inside_the_document_lead_somewhere():
    """Every anchor is a heading's."""
    headings = re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", TEXT)) <= anchors
