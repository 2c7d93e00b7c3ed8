"""The keystream: blocks, bit order, takes across blocks."""

import pytest

from entropyd.draw.keystream import BLOCK_BITS, Keystream
from entropyd.errors import InternalError
from tests.reference import naive

SEED = bytes(range(64))
X = b"a binding"


def bits_of_block(number, segment=0):
    message = naive.LP(b"entropyd/stream/v1") + naive.LP(X)
    message += naive.u32(segment) + naive.u64(number)
    return "".join(f"{byte:08b}" for byte in naive.hmac_sha512(SEED, message))


def take_all(stream, counts):
    return "".join(f"{stream.take(count):0{count}b}" for count in counts)


def test_bits_come_most_significant_first_from_block_zero_on():
    """Four blocks taken bit by bit are the bits of HMAC of counters 0 to 3."""
    expected = "".join(bits_of_block(number) for number in range(4))
    assert expected == take_all(Keystream(SEED, X, 0), [1] * 4 * BLOCK_BITS)


@pytest.mark.parametrize("count", [3, 5, 6, 7, 32, 249, 511, 512, 513, 1030])
def test_takes_of_any_width_read_the_same_bits(count):
    """However many bits a take has, also more than two blocks, none is skipped or repeated."""
    takes = 4 * BLOCK_BITS // count
    expected = "".join(bits_of_block(number) for number in range(4))[: takes * count]
    assert expected == take_all(Keystream(SEED, X, 0), [count] * takes)


def test_a_take_runs_across_the_end_of_a_block():
    """The first bits of block 1 follow the last bits of block 0 inside one value."""
    stream = Keystream(SEED, X, 0)
    stream.take(509)
    assert int(bits_of_block(0)[509:] + bits_of_block(1)[:4], 2) == stream.take(7)


def test_segments_and_bindings_have_streams_of_their_own():
    """Neither another segment nor another binding under the same seed repeats a block."""
    streams = [Keystream(SEED, X, 0), Keystream(SEED, X, 1), Keystream(SEED, b"b", 0)]
    assert len({stream.take(BLOCK_BITS) for stream in streams}) == 3
    assert bits_of_block(0, segment=7) == take_all(Keystream(SEED, X, 7), [BLOCK_BITS])


@pytest.mark.parametrize("length", [0, 32, 63, 65, 128])
def test_a_seed_of_another_length_is_refused(length):
    """HMAC would take any key, and draw an order that no verifier finds."""
    with pytest.raises(InternalError, match=f"seed of {length} bytes"):
        Keystream(bytes(length), X, 0)


def test_no_secret_in_its_text():
    """The representation shows neither seed nor window."""
    stream = Keystream(SEED, X, 0)
    stream.take(1)
    assert SEED.hex() not in repr(stream)
    assert not hasattr(stream, "__dict__")
