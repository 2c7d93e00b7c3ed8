"""The running hash: whatever was recorded, in whatever order, has a link of its own."""

from hashlib import sha256
from itertools import permutations

from entropyd.ledger.chain import EMPTY, base, next_link, next_step_link

O1, O2, T1, T2 = (sha256(name.encode()).digest() for name in ("O1", "O2", "T1", "T2"))


def test_a_link_is_the_hash_that_its_definition_says():
    """Label, link before, number, O, digest of the rest: each behind its length but the number."""
    message = b"".join(
        (
            b"\x00\x00\x00\x18entropyd/ledger-chain/v1",
            b"\x00\x00\x00\x20" + EMPTY,
            b"\x00\x00\x00\x00\x00\x00\x00\x01",
            b"\x00\x00\x00\x20" + O1,
            b"\x00\x00\x00\x20" + T1,
        )
    )
    assert sha256(message).digest() == next_link(EMPTY, 1, O1, T1)


def test_no_two_arguments_make_one_link():
    """Each argument counts, and none can be exchanged for another."""
    hashes = (EMPTY, O1, O2, T1)
    links = {next_link(a, n, b, c) for a, b, c in permutations(hashes, 3) for n in (1, 2)}
    links |= {base(n, a, b) for a, b in permutations(hashes, 2) for n in (1, 2)}
    assert 4 * 3 * 2 * 2 + 4 * 3 * 2 == len(links)


def test_a_link_of_a_step_is_the_hash_that_its_definition_says():
    """Another label, so that no hand's link is a step's."""
    message = b"".join(
        (
            b"\x00\x00\x00\x18entropyd/ledger-steps/v1",
            b"\x00\x00\x00\x20" + EMPTY,
            b"\x00\x00\x00\x07subject",
            b"\x00\x00\x00\x20" + T1,
        )
    )
    assert sha256(message).digest() == next_step_link(EMPTY, b"subject", T1)


def test_order_counts():
    one = next_link(next_link(EMPTY, 1, O1, T1), 2, O2, T2)
    other = next_link(next_link(EMPTY, 1, O2, T2), 2, O1, T1)
    assert one != other
