"""Raffles: one list, one hash, whoever reads it; and what cannot be on it."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import RequestError
from entropyd.games.claims import (
    derive_match_claim,
    derive_raffle_claim,
    match_claim_digest,
    raffle_claim_digest,
)
from entropyd.games.raffle import (
    MAX_ENTRIES_BYTES,
    RaffleRules,
    canonical_entries,
    published_entries,
    raffle_binding,
)
from tests.reference import naive, naive_draws

texts = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=8)


@settings(deadline=None, max_examples=300)
@given(given_texts=texts, data=st.data())
def test_any_list_is_read_as_the_reference_reads_it_whatever_its_order(given_texts, data):
    """The same entries and E, or refused by both; and the canonical list is its own."""
    shuffled = data.draw(st.permutations(given_texts))
    try:
        expected = naive_draws.canonical_entries(given_texts)
    except naive.Refused:
        with pytest.raises(RequestError):
            canonical_entries(shuffled)
        return
    entries = canonical_entries(shuffled)
    assert expected == [*entries.texts]
    assert naive_draws.entries_hash_E(expected) == entries.digest
    assert entries == published_entries(entries.texts)


def test_every_code_point_at_an_end_and_inside_is_read_as_the_reference_reads_it():
    """All of Unicode: what is white space, what is refused, what stands."""
    for code in (*range(0x3100), *range(0xD7F0, 0xE010), *range(0xFFF0, 0x10010), 0x10FFFF):
        for text in (chr(code), f"a{chr(code)}", f"{chr(code)}a", f"a{chr(code)}b"):
            try:
                expected = naive_draws.canonical_entries([text])
            except (naive.Refused, UnicodeEncodeError):
                expected = None
            try:
                entries = [*canonical_entries([text]).texts]
            except RequestError:
                entries = None
            assert expected == entries, f"U+{code:04X}"


def test_entries_are_sorted_by_their_bytes_and_not_by_a_language():
    """Upper case first, then lower case, then what has two bytes."""
    assert canonical_entries(["\u00e9", "b", "Z", "a", "10", "9"]).texts == (
        *("10", "9", "Z", "a", "b", "\u00e9"),
    )


def test_equal_entries_are_refused_and_both_lines_named():
    """With the remedy; the entries themselves, which may be names, are not in the text."""
    with pytest.raises(RequestError) as refused:
        canonical_entries(["Zo\u00eb", "Anna", "Bo", " Zoe\u0308 "])
    assert str(refused.value) == (
        "entries: lines 1 and 4 are equal in canonical form; expected each entry once,"
        " add a ticket number to both"
    )


def test_an_entry_that_nobody_can_read_is_refused_and_its_line_named():
    """The code point is said: it cannot be seen."""
    with pytest.raises(RequestError, match=r"line 2 has U\+E000"):
        canonical_entries(["a", "b\ue000"])
    with pytest.raises(RequestError, match=unicodedata.unidata_version):
        canonical_entries(["\u0378"])


def test_the_largest_lists_are_taken_and_larger_ones_are_not():
    """100,000 entries; one MiB; 256 bytes an entry."""
    many = [str(number) for number in range(100_000)]
    assert len(canonical_entries(many)) == 100_000
    assert len(canonical_entries(["\u00e9" * 128])) == 1
    full = [f"{number:0256}" for number in range(MAX_ENTRIES_BYTES // 256)]
    assert len(canonical_entries(full)) == 4096
    for too_much in ([*many, "x"], [*full, "x"], ["\u00e9" * 128 + "a"]):
        with pytest.raises(RequestError) as refused:
            canonical_entries(too_much)
        assert refused.value.field == "entries"


@pytest.mark.parametrize(
    "published", [["b", "a"], [" a"], ["a", "b "], ["e\u0301"], ["a", "a"], []]
)
def test_a_published_list_must_be_canonical_as_it_stands(published):
    """A verifier repairs nothing."""
    with pytest.raises(RequestError) as refused:
        published_entries(published)
    assert refused.value.field == "entries"


def test_names_are_not_in_the_text_of_a_list():
    """They may be people's."""
    assert "Anna" not in repr(canonical_entries(["Anna"]))


def test_other_entries_other_numbers_and_other_raffles_are_other_draws():
    """Everything that was sealed is in X."""
    entries = canonical_entries(["a", "b", "c"])
    rules = RaffleRules(entries=entries.digest, n=3, winners=1, alternates=1)
    other = RaffleRules(entries=canonical_entries(["a", "b", "d"]).digest, n=3, winners=1)
    more = RaffleRules(entries=entries.digest, n=3, winners=2, alternates=1)
    X = {
        raffle_binding("acme", "r", rules),
        raffle_binding("acme", "r", other),
        raffle_binding("acme", "r", more),
        raffle_binding("acme", "r2", rules),
        raffle_binding("acme2", "r", rules),
    }
    assert len(X) == 5


@pytest.mark.parametrize("raffle", ["", " ", "a b", "r" * 129, "\u00e9"])
def test_a_raffle_id_that_is_none_is_refused(raffle):
    """In the terms of a raffle, not of a match."""
    rules = RaffleRules(entries=bytes(32), n=3, winners=1)
    for make in (
        lambda: raffle_binding("acme", raffle, rules),
        lambda: raffle_claim_digest("acme", raffle, bytes(16)),
        lambda: derive_raffle_claim(bytes(32), raffle),
    ):
        with pytest.raises(RequestError) as refused:
            make()
        assert refused.value.field == "raffle"


# --- Claims --------------------------------------------------------------------


def test_a_claim_of_a_match_is_none_of_a_raffle_of_the_same_name():
    """Nor is its digest; nor are those of another tenant or name."""
    key, claim = bytes(range(32)), bytes(16)
    assert derive_match_claim(key, "m") != derive_raffle_claim(key, "m")
    digests = {
        match_claim_digest("acme", "m", claim),
        match_claim_digest("acme", "n", claim),
        match_claim_digest("acme2", "m", claim),
        raffle_claim_digest("acme", "m", claim),
    }
    assert len(digests) == 4


@pytest.mark.parametrize("derive", [derive_match_claim, derive_raffle_claim])
def test_a_short_claim_key_is_refused(derive):
    """31 bytes and none; 32 and more are taken."""
    for length in (0, 16, 31):
        with pytest.raises(RequestError) as refused:
            derive(bytes(length), "m")
        assert refused.value.field == "claim_key"
    assert {len(derive(bytes(32), "m")), len(derive(bytes(64), "m"))} == {16}


@pytest.mark.parametrize("digest_of", [match_claim_digest, raffle_claim_digest])
@pytest.mark.parametrize("length", [0, 15, 17, 32])
def test_a_claim_of_another_length_is_refused(digest_of, length):
    """As for hands."""
    with pytest.raises(RequestError) as refused:
        digest_of("acme", "m", bytes(length))
    assert refused.value.field == "claim"


def test_ids_of_matches_are_ids():
    """Named as the request has them."""
    for field, ids in (("tenant", ("a b", "m")), ("key.match", ("acme", ""))):
        with pytest.raises(RequestError) as refused:
            match_claim_digest(*ids, bytes(16))
        assert refused.value.field == field
