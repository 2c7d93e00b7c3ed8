"""Conditioning: the bytes of e_class, rebuilt here by hand."""

import hashlib
import struct
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropyd.errors import InternalError
from entropyd.rbg.conditioning import EntropyClass, condition, entropy_input

SAMPLES = b"some samples"


def prefixed(data):
    return struct.pack(">I", len(data)) + data


def e_class(name, sources):
    """Compute e_class as docs/protocol.md writes it, sources given in byte order."""
    message = prefixed(b"entropyd/condition/v1") + prefixed(name)
    for source_id, samples in sources:
        message += prefixed(source_id) + prefixed(samples)
    return hashlib.sha512(message).digest()


def test_classes_and_their_order():
    """Hardware, cover, user, os: the order in which they enter the DRBG."""
    assert [c.value for c in EntropyClass] == ["hardware", "cover", "user", "os"]


def test_class_without_samples_is_hashed_too():
    """An empty class is the hash of its label and name."""
    assert e_class(b"cover", []) == condition(EntropyClass.COVER, [])


@pytest.mark.parametrize("entropy_class", list(EntropyClass))
def test_a_source_without_samples_is_refused(entropy_class):
    """Naming it would give another hash than leaving it out, and verifiers could not agree."""
    with pytest.raises(InternalError, match="'u' has no samples in class"):
        condition(entropy_class, [("t", b"1"), ("u", b"")])


def test_sources_stand_in_byte_order_of_their_ids():
    """However the sources come, upper case stands before lower, and a prefix first."""
    ordered = [("B", b"1"), ("a", b"2"), ("a-", b"3"), ("aa", b"4"), ("~", b"5")]
    expected = e_class(b"hardware", [(name.encode(), data) for name, data in ordered])
    for order in permutations(ordered):
        assert expected == condition(EntropyClass.HARDWARE, order)


def test_a_source_may_stand_in_a_class_only_once():
    """Two entries of one source have no order that everybody would agree on."""
    with pytest.raises(InternalError, match="'q' stands twice in class hardware"):
        condition(EntropyClass.HARDWARE, [("q", b"1"), ("r", b"0"), ("q", b"2")])


def test_entropy_input_is_the_four_classes_in_order():
    """e_hardware || e_cover || e_user || e_os, each of its own samples."""
    expected = (
        e_class(b"hardware", [(b"q", b"1")])
        + e_class(b"cover", [(b"q", b"2")])
        + e_class(b"user", [(b"u", b"3")])
        + e_class(b"os", [(b"getrandom", b"4")])
    )
    computed = entropy_input(
        os=[("getrandom", b"4")], user=[("u", b"3")], cover=[("q", b"2")], hardware=[("q", b"1")]
    )
    assert expected == computed


@pytest.mark.parametrize("name", ["hardware", "cover", "user", "os"])
def test_dropping_a_class_from_conditioning_changes_its_part(name):
    """Mutant "a class dropped from conditioning": each class moves its own 64 bytes alone."""
    empty = entropy_input()
    place = ["hardware", "cover", "user", "os"].index(name)
    with_samples = entropy_input(**{name: [("q", SAMPLES)]})
    changed = [
        empty[64 * part : 64 * part + 64] != with_samples[64 * part : 64 * part + 64]
        for part in range(4)
    ]
    assert [part == place for part in range(4)] == changed


SOURCES = st.dictionaries(
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=8),
    st.binary(min_size=1, max_size=12),
    max_size=4,
)


@given(SOURCES, SOURCES)
def test_different_sources_never_meet(first, second):
    """No two different sets of samples have the same message, so none can imitate another."""
    same = condition(EntropyClass.USER, first.items()) == condition(
        EntropyClass.USER, second.items()
    )
    assert (first == second) == same
