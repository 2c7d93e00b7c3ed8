# ruff: noqa: E741 - names are the document's letters
"""Binding, commitments, cut and claim of hands, field by field of the published vectors."""

import json
from pathlib import Path

import pytest

from entropyd.draw.samplers import Sampler
from entropyd.errors import InternalError, RequestError
from entropyd.hands import claim, commitment, cut, rules
from entropyd.hands.binding import draw_binding, hand_binding
from entropyd.hands.rules import Rules
from entropyd.hands.whole_deck import CommittedDeck, open_deck
from entropyd.log import merkle
from tests.reference import naive

ROOT = Path(__file__).parents[2]
PUBLISHED = json.loads((ROOT / "tests/vectors/protocol/hands.json").read_text("utf-8"))["hands"]
OURS = json.loads((ROOT / "docs/vectors/hands.json").read_text("utf-8"))["cases"]
unhex = bytes.fromhex


def label(case):
    return case["label"]


def opened(case):
    """Open the hand of a vector as production does, from its inputs alone."""
    encoded = case["rules"].encode("ascii")
    binding = hand_binding(case["tenant"], case["table"], case["hand"], rules.rules_hash(encoded))
    return open_deck(
        rules.decode(encoded),
        binding,
        seeds=[unhex(seed) for seed in case["seeds"]],
        blinding=unhex(case["blinding"]),
        salt_key=unhex(case["salt_key"]),
        seats_root=commitment.seats_root({s: unhex(key) for s, key in case["seats"].items()}),
    )


def leaves_of(case, seat_name):
    return [
        cut.contribution_leaf(unhex(case["O"]), given[seat_name], unhex(given["value"]))
        for given in case["contributions"]
    ]


# --- The hands that were published with the design ---------------------------


@pytest.mark.parametrize("case", PUBLISHED, ids=label)
def test_published_hands_in_production(case):
    """Every field of the vector, computed by the code that deals."""
    deck = opened(case)
    leaves = leaves_of(case, "contributor")
    places = cut.cut(unhex(case["O"]), case["n"], leaves, deck.rules.sampler)
    dealt = [deck.items[place] for place in places]
    ordered = cut.sort_leaves(leaves)
    assert case["X"] == deck.binding.hex()
    assert case["n"] == deck.size
    assert case["committed_items"] == list(deck.items)
    assert case["C"] == deck.commitment.hex()
    assert case["D"] == deck.deck_root.hex()
    assert case["A"] == deck.seats_root.hex()
    assert case["O"] == deck.at_sequence(case["sequence"]).hex()
    assert case["contribution_leaves_sorted"] == [leaf.hex() for leaf in ordered]
    hashes = [merkle.leaf_hash(leaf).hex() for leaf in ordered]
    assert case["contribution_leaf_hashes_sorted"] == hashes
    assert case["R"] == cut.contributions_root(leaves).hex()
    assert case["cut_key"] == (cut.cut_key(unhex(case["O"]), leaves).hex() if leaves else None)
    assert case["cut"] == places
    assert case["dealt_items"] == dealt
    texts = [naive.card_text(card) for card in deck.rules.deck.cards(dealt)]
    assert case["dealt_text"] == " ".join(texts)


@pytest.mark.parametrize("case", PUBLISHED, ids=label)
def test_published_hands_in_the_naive_reference(case):
    """The same fields once more, by the implementation that shares no code."""
    X = naive.hand_X(case["tenant"], case["table"], case["hand"], case["rules"].encode("ascii"))
    seeds, r, K = (
        [unhex(s) for s in case["seeds"]],
        unhex(case["blinding"]),
        unhex(case["salt_key"]),
    )
    items = naive.shuffle(case["n"], seeds, X, "masked")
    C, D = naive.commitment_C(X, seeds, r), naive.deck_root_by_cards(X, K, items)
    A = naive.seats_root_A({seat: unhex(key) for seat, key in case["seats"].items()})
    O = naive.open_hash_O(X, case["sequence"], case["n"], C, D, A)
    leaves = [
        naive.contribution_leaf(O, given["contributor"], unhex(given["value"]))
        for given in case["contributions"]
    ]
    places = naive.cut_permutation(O, case["n"], leaves, "masked")
    expected = [case[name] for name in ("X", "C", "D", "A", "O", "R")]
    R = naive.contributions_root_R(leaves)
    assert expected == [value.hex() for value in (X, C, D, A, O, R)]
    assert case["committed_items"] == items
    assert case["cut"] == places
    assert case["dealt_items"] == [items[place] for place in places]
    assert case["cut_key"] == (naive.cut_key(O, leaves).hex() if leaves else None)


@pytest.mark.parametrize("case", [*PUBLISHED, *OURS], ids=label)
def test_openings_of_single_cards(case):
    """Salt, leaf and path of each opened card lead to D."""
    deck = opened(case)
    leaves = commitment.card_leaves(deck.binding, deck.salt_key, deck.items)
    salts = commitment.card_salts(deck.binding, deck.salt_key, deck.size)
    for card in case["opened"]:
        index = card["leaf_index"]
        assert card["salt"] == salts[index].hex()
        assert card["item"] == deck.items[index]
        assert card["path"] == [node.hex() for node in naive.merkle_path(index, leaves)]


# --- The hands of docs/vectors -----------------------------------------------


@pytest.mark.parametrize("case", OURS, ids=label)
def test_our_hands_in_production(case):
    """Shoes, removed cards, longest ids, both forms of D, cuts over two segments, claims."""
    deck = opened(case)
    leaves = leaves_of(case, "seat")
    places = cut.cut(unhex(case["O"]), case["n"], leaves, deck.rules.sampler)
    cards = deck.rules.deck.cards(deck.items[place] for place in places)
    derived = claim.derive_claim(unhex(case["claim_key"]), case["table"], case["hand"])
    assert case["n"] == deck.size
    assert case["X"] == deck.binding.hex()
    assert case["items"] == list(deck.items)
    assert case["C"] == deck.commitment.hex()
    assert case["D"] == deck.deck_root.hex()
    assert case["A"] == deck.seats_root.hex()
    assert case["O"] == deck.at_sequence(case["sequence"]).hex()
    assert case["R"] == cut.contributions_root(leaves).hex()
    assert case["cut"] == places
    assert case["dealt_cards"] == cards.hex()
    assert case["dealt_text"] == " ".join(naive.card_text(card) for card in cards)
    assert case["claim"] == derived.hex()
    assert case["claim_digest"] == claim.claim_digest(deck.binding, derived).hex()


def test_the_items_of_a_deck_are_kept_as_four_bytes_each():
    """And its cards as one: what a `Shuffle` that nobody cuts deals."""
    case = OURS[0]
    deck = opened(case)
    assert case["dealt_cards"] == deck.cards.hex()
    assert b"".join(naive.u32(item) for item in case["items"]) == deck.encoded_items


# --- Binding -----------------------------------------------------------------


def test_bindings_equal_the_naive_reference():
    """Hands and other draws, which differ in their label."""
    given = Rules().encode()
    expected = naive.hand_X("acme", "t", "1", given)
    assert expected == hand_binding("acme", "t", "1", rules.rules_hash(given))
    expected = naive.draw_X("acme", "t", "1", given)
    assert expected == draw_binding("acme", "t", "1", rules.rules_hash(given))


def test_ids_cannot_run_into_each_other():
    """Moving a character from one id to the next gives another binding."""
    digest = bytes(32)
    assert hand_binding("a", "bc", "d", digest) != hand_binding("ab", "c", "d", digest)
    assert hand_binding("a", "b", "cd", digest) != hand_binding("a", "bc", "d", digest)


@pytest.mark.parametrize("bad", ["", "a b", "\u00e9", "x" * 129, "a\n", "a\x7f"])
@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize(
    ("bind", "fields"),
    [
        (hand_binding, ["tenant", "key.table", "key.hand"]),
        (draw_binding, ["tenant", "key.match", "key.draw"]),
    ],
)
def test_what_is_no_id_is_refused_by_name(bind, fields, position, bad):
    """Nothing is trimmed or folded."""
    ids = ["acme", "table", "hand"]
    ids[position] = bad
    with pytest.raises(RequestError) as refused:
        bind(*ids, bytes(32))
    assert fields[position] == refused.value.field


# --- What a committed deck is ------------------------------------------------


@pytest.fixture
def deck():
    return opened(OURS[0])


def test_the_text_of_a_committed_deck_tells_no_secret(deck):
    """Seeds, blinding, salt key and items are left out of the representation."""
    text = repr(deck)
    for secret in (*deck.seeds, deck.blinding, deck.salt_key):
        assert repr(secret) not in text
        assert secret.hex() not in text
    assert "items" not in text
    assert "seeds" not in text


@pytest.mark.parametrize("sequence", [0, -1, 2**64])
def test_a_number_no_table_gives_is_a_defect(deck, sequence):
    """The first hand has number 1."""
    with pytest.raises(InternalError, match="hand number"):
        deck.at_sequence(sequence)


def test_every_number_has_its_own_open_hash(deck):
    """The same deck as another hand of the table is another hand."""
    hashes = {deck.at_sequence(q) for q in (1, 2, 2**32, 2**32 + 1, 2**64 - 1)}
    assert len(hashes) == 5


@pytest.mark.parametrize(
    ("name", "secret"), [("blinding", bytes(31)), ("salt_key", bytes(64)), ("seeds", [bytes(32)])]
)
def test_a_secret_of_another_length_is_a_defect(name, secret):
    """A short salt key would commit as well, and could be guessed."""
    secrets = {"seeds": [bytes(64)], "blinding": bytes(32), "salt_key": bytes(32)} | {name: secret}
    with pytest.raises(InternalError, match="bytes; expected"):
        open_deck(Rules(), b"X", **secrets)


def test_one_card_moved_changes_the_deck_root(deck: CommittedDeck):
    """Both forms of D fix the order."""
    moved = [deck.items[1], deck.items[0], *deck.items[2:]]
    for root in (commitment.whole_deck_root, commitment.card_by_card_root):
        expected = root(deck.binding, deck.salt_key, deck.items)
        assert expected != root(deck.binding, deck.salt_key, moved)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 53])
def test_salts_are_halves_of_one_hmac_a_pair(count):
    """Even leaves take the first half, odd ones the second, also in a last pair cut short."""
    expected = [naive.salt(b"X", b"K" * 32, index) for index in range(count)]
    assert expected == commitment.card_salts(b"X", b"K" * 32, count)


# --- Cut and claim -----------------------------------------------------------


def test_without_contributions_nothing_moves():
    """A Shuffle deals the committed order."""
    assert list(range(52)) == cut.cut(bytes(32), 52, [], Sampler.MASKED)
    assert cut.contributions_root([]) == merkle.EMPTY_ROOT


def test_the_cut_does_not_depend_on_who_came_first():
    """The roll is sorted, so order of arrival decides nothing."""
    leaves = [cut.contribution_leaf(bytes(32), f"seat-{n}", bytes([n]) * 32) for n in range(5)]
    places = cut.cut(bytes(32), 52, leaves, Sampler.MASKED)
    assert places == cut.cut(bytes(32), 52, leaves[::-1], Sampler.MASKED)
    assert list(range(52)) == sorted(places)
    assert places != cut.cut(bytes(32), 52, leaves[1:], Sampler.MASKED)


def test_seats_are_sorted_by_their_bytes_not_by_number():
    """seat-10 stands before seat-2."""
    seats = {"seat-2": b"", "seat-10": b"k" * 32, "SEAT": b""}
    assert naive.seats_root_A(seats) == commitment.seats_root(seats)
    assert commitment.seats_root({}) == commitment.NO_SEATS_ROOT
    with pytest.raises(RequestError, match="seats"):
        commitment.seats_root({"seat 1": b""})


@pytest.mark.parametrize("length", [1, 31, 33, 64])
def test_a_seat_key_of_another_length_is_refused(length):
    """Empty says that the seat has none."""
    with pytest.raises(RequestError, match=f"has {length} bytes; expected the 32") as refused:
        commitment.seats_root({"seat-1": b"", "seat-2": bytes(length)})
    assert refused.value.field == "seats"


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_contribution_of_another_length_is_refused(length):
    """A shorter one could be guessed, a longer one be made to fit."""
    with pytest.raises(RequestError, match=f"has {length} bytes; expected 32") as refused:
        cut.contribution_leaf(bytes(32), "seat-1", bytes(length))
    assert refused.value.field == "value"


@pytest.mark.parametrize("length", [0, 16, 31])
def test_a_short_claim_key_is_refused(length):
    """The error names length and remedy, and no byte of the key."""
    with pytest.raises(RequestError, match=f"has {length} bytes; expected 32 or more") as refused:
        claim.derive_claim(b"k" * length, "t", "1")
    assert refused.value.field == "claim_key"
    assert "kkkk" not in str(refused.value)


@pytest.mark.parametrize("length", [0, 15, 17, 32])
def test_a_claim_of_another_length_is_refused(length):
    """The error names field, length and remedy."""
    with pytest.raises(RequestError, match=f"has {length} bytes; expected 16") as refused:
        claim.claim_digest(b"X", bytes(length))
    assert refused.value.field == "claim"


def test_claims_differ_by_table_hand_and_place():
    """One key serves every call."""
    key = bytes(32)
    claims = {
        claim.derive_claim(key, "t", "1"),
        claim.derive_claim(key, "t", "2"),
        claim.derive_claim(key, "u", "1"),
        claim.derive_claim(key, "t", "1", place=1),
        claim.derive_claim(bytes(33), "t1", "1"),
    }
    assert len(claims) == 5
    assert naive.derive_claim(key, "t", "1", 9) == claim.derive_claim(key, "t", "1", 9)


@pytest.mark.parametrize("size", [1, 52, 432])
def test_items_are_four_bytes_each_and_come_back(size):
    """One step for all items is `u32` of each."""
    items = tuple(range(size))[::-1]
    encoded = b"".join(item.to_bytes(4, "big") for item in items)
    assert encoded == commitment.encode_items(items)
    assert items == commitment.decode_items(encoded)
