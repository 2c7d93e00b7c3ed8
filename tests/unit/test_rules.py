"""Rules: one spelling, refused or understood."""

import json
from pathlib import Path

import pytest

from entropyd.draw.cards import Deck
from entropyd.draw.samplers import Sampler
from entropyd.errors import RequestError
from entropyd.hands import rules
from entropyd.hands.rules import Contributions, Reveal, Rules
from tests.reference import naive

VECTORS = json.loads((Path(__file__).parents[2] / "docs/vectors/rules.json").read_text("utf-8"))
SHUFFLE = (
    b"contributions=none\ndeck=standard52\ndecks=1\nproofs=deck\nreveal=never\nsampler=masked\n"
)


def test_the_rules_of_a_shuffle():
    """The defaults are those of one 52-card deck, dealt whole."""
    assert Rules().encode() == SHUFFLE
    assert Rules() == rules.decode(SHUFFLE)
    assert naive.rules_hash(SHUFFLE) == rules.rules_hash(SHUFFLE)


def test_removed_cards_stand_between_proofs_and_reveal():
    """Lines are in byte order of their names."""
    encoded = Rules(deck=Deck("short36", 2, (4, 51))).encode()
    expected = SHUFFLE.replace(b"standard52\ndecks=1", b"short36\ndecks=2")
    assert expected.replace(b"reveal", b"removed=4,51\nreveal") == encoded


@pytest.mark.parametrize("sampler", list(Sampler))
@pytest.mark.parametrize("reveal", list(Reveal))
@pytest.mark.parametrize("contributions", list(Contributions))
@pytest.mark.parametrize("deck", [Deck(), Deck("standard54", 8, (0, 52)), Deck("short36", 2)])
def test_rules_come_back_as_they_were(deck, contributions, reveal, sampler):
    """Decoding undoes encoding for every combination that may be."""
    proofs = [False, True] if contributions is Contributions.NONE else [False]
    for whole in proofs:
        given = Rules(deck, contributions, reveal, sampler, whole_deck_proof=whole)
        assert given == rules.decode(given.encode())


@pytest.mark.parametrize("case", VECTORS["accepted"], ids=lambda case: case["rules_hash"][:8])
def test_accepted_vectors(case):
    """Each decodes, encodes to the same bytes, and has the published hash and size."""
    encoded = case["rules"].encode("ascii")
    decoded = rules.decode(encoded)
    assert encoded == decoded.encode()
    assert case["rules_hash"] == rules.rules_hash(encoded).hex()
    assert case["n"] == decoded.size


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: case["reason"])
def test_refused_vectors(case):
    """Nothing is repaired; the error names the line and shows no control character."""
    with pytest.raises(RequestError) as refused:
        rules.decode(bytes.fromhex(case["rules_hex"]))
    field = {"deck.name": "rules.deck"}.get(refused.value.field, refused.value.field)
    assert case["field"] == field.split(".")[-1]
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("position", range(len(SHUFFLE)))
def test_no_single_byte_can_be_changed_unnoticed(position):
    """Any other byte gives rules that are refused, or other rules with another hash."""
    for other in {SHUFFLE[position] ^ 1, SHUFFLE[position] ^ 0x20, 0x0A, 0x20, 0x3D, 0x80}:
        changed = SHUFFLE[:position] + bytes([other]) + SHUFFLE[position + 1 :]
        if changed == SHUFFLE:
            continue
        try:
            decoded = rules.decode(changed)
        except RequestError:
            continue
        assert decoded != Rules()
        assert changed == decoded.encode()


@pytest.mark.parametrize(
    ("encoded", "field"),
    [
        (SHUFFLE.replace(b"decks=1", b"decks=9"), "deck.decks"),
        (SHUFFLE.replace(b"decks=1", b"decks=01"), "rules.decks"),
        (SHUFFLE.replace(b"standard52", b"tarot"), "deck.name"),
        (SHUFFLE.replace(b"never", b"later"), "rules.reveal"),
        (SHUFFLE.replace(b"masked", b"modulo"), "rules.sampler"),
        (SHUFFLE.replace(b"=none", b"=open"), "rules.proofs"),
        (SHUFFLE.replace(b"proofs=deck", b"proofs=card"), "rules.proofs"),
        (SHUFFLE.replace(b"sampler=masked\n", b""), "rules.sampler"),
        (SHUFFLE + b"zebra=1\n", "rules.zebra"),
        (b"x" * 33 + b"=1\n", "rules"),
        (b"deck=" + b"x" * 1025 + b"\n", "rules"),
        (b"=1\n", "rules"),
    ],
)
def test_the_field_is_named(encoded, field):
    """Whoever wrote the rules is told where to look."""
    with pytest.raises(RequestError) as refused:
        rules.decode(encoded)
    assert field == refused.value.field


def test_contributions_and_a_proof_of_the_whole_deck_exclude_each_other():
    """Only a hand that is dealt whole may leave out the proofs of single cards."""
    with pytest.raises(RequestError, match="leave one of them out"):
        Rules(contributions=Contributions.SEALED)


@pytest.mark.parametrize(
    ("deck", "segments"),
    [(Deck(), 1), (Deck("standard54"), 2), (Deck("short36"), 1), (Deck(decks=6), 10)],
)
def test_the_number_of_seeds_is_known_from_the_rules(deck, segments):
    """The gate is asked for all of them before any seed exists."""
    assert segments == rules.segments_needed(Rules(deck))
