"""Where one seed ends and the next begins.

One seed decides among at most 2**249 outcomes, so that each of them is met by
about 2**71 values of a seed gated on 320 bits. A draw that could have more
outcomes is cut into segments with a seed each. The cut depends on the bounds
alone: how many seeds a draw needs is known before any of them exists.

Spec: docs/protocol.md, "Segments".
"""

from collections.abc import Iterable
from functools import lru_cache

from entropyd.errors import InternalError

# The sum of ceil(log2 k) over k = 2..52: a 52-card deck is exactly one segment.
# tests/unit/test_segments.py recomputes it.
SEGMENT_BITS = 249


def counted_bits(bound: int) -> int:
    """Return b(k) = ceil(log2 k) for a bound k of at least 1, whatever the sampler."""
    return (bound - 1).bit_length()


def split(bounds: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """Return `bounds` cut into segments, in order.

    A new segment begins whenever the next bound would bring the present one
    above SEGMENT_BITS. There is always a first segment, also for a list that
    counts no bits: its draw spends a seed like any other.

    Args:
        bounds: bounds of the draws, each 1 to 2**249.

    Returns:
        The segments, at least one; only the first may be empty.

    Raises:
        InternalError: a bound is outside its range: below 1 nothing can be
            drawn, above 2**249 no segment can hold it.
    """
    segments: list[tuple[int, ...]] = []
    segment: list[int] = []
    counted = 0
    for bound in bounds:
        bits = counted_bits(bound)
        if bound < 1 or bits > SEGMENT_BITS:
            raise InternalError(f"bound of {bits} bits or below 1; expected 1 to 2^{SEGMENT_BITS}")
        if counted + bits > SEGMENT_BITS:
            segments.append(tuple(segment))
            segment, counted = [], 0
        segment.append(bound)
        counted += bits
    return (*segments, tuple(segment))


def fits_one_segment(bounds: Iterable[int]) -> bool:
    """Return whether `split` would leave `bounds` whole; looks no further than it must."""
    counted = 0
    for bound in bounds:
        counted += counted_bits(bound)
        if counted > SEGMENT_BITS:
            return False
    return True


def shuffle_bounds(size: int) -> range:
    """Return the bounds of a shuffle of `size` items: size, size - 1, ..., 2."""
    return range(size, 1, -1)


def sample_bounds(size: int, count: int) -> range:
    """Return the bounds of a sample of `count` of `size` items: size, ..., size - count + 1."""
    return range(size, size - count, -1)


@lru_cache(maxsize=512)
def split_shuffle(size: int) -> tuple[tuple[int, ...], ...]:
    """Return the segments of a shuffle of `size` items. Cached: shoes come in few sizes."""
    return split(shuffle_bounds(size))
