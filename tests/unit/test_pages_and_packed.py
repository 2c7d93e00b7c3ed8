"""Tokens of pages, and the bytes of steps: what is read back is what was written, or is refused."""

import pytest

from entropyd.errors import LedgerDamagedError, RequestError
from entropyd.ledger.packed import (
    pack,
    pack_counts,
    pack_texts,
    unpack,
    unpack_counts,
    unpack_texts,
)
from entropyd.service.pages import MAX_PAGE, number_of, page_size, token_after


@pytest.mark.parametrize("number", [0, 1, 1000, 2**63 - 1])
def test_a_token_leads_to_the_number_that_it_was_made_of(number):
    assert number_of(token_after(number)) == number


@pytest.mark.parametrize(
    "token", ["x", "=", "é", "Mg", "LTE=", token_after(10**19), token_after(2**63)]
)
def test_a_token_that_is_none_of_ours_is_refused(token):
    """2^63 has as many digits as the largest number of a ledger, and SQLite cannot take it."""
    with pytest.raises(RequestError) as refused:
        number_of(token)
    assert refused.value.field == "page_token"


def test_a_page_has_a_size():
    assert [page_size(size) for size in (0, 1, MAX_PAGE + 1)] == [100, 1, MAX_PAGE]
    with pytest.raises(RequestError, match="page_size"):
        page_size(-1)


def test_fields_are_read_back_whatever_they_hold():
    fields = [b"", b"a", bytes(300), pack(b"inner", b"")]
    assert unpack(pack(*fields), "it") == fields
    assert unpack_texts(pack_texts(["ż", "", "b"]), "it") == ("ż", "", "b")
    assert unpack_counts(pack_counts((0, 2**32 - 1))) == (0, 2**32 - 1)


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_bytes_that_were_cut_are_damage(cut):
    with pytest.raises(LedgerDamagedError, match="it"):
        unpack(pack(b"abcdef")[:-cut], "it")
