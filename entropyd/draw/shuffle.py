"""Orders and samples of n numbered items.

The algorithm is Durstenfeld's form of the Fisher-Yates shuffle, from the end.
Step i chooses among i + 1 places, its own among them; choosing below i would
be Sattolo's algorithm, in which no item can stay where it is.

Spec: docs/protocol.md, "Shuffle and sample".
"""

from collections.abc import Iterable, Iterator, Sequence

from entropyd.draw.keystream import Keystream
from entropyd.draw.samplers import SAMPLERS, Sampler
from entropyd.draw.segments import sample_bounds, split, split_shuffle
from entropyd.errors import InternalError


def draw_values(
    segments: Sequence[Sequence[int]], seeds: Sequence[bytes], binding: bytes, sampler: Sampler
) -> Iterator[int]:
    """Yield a value for every bound, in order, each segment from its own seed.

    Each segment begins at the first bit of its own keystream. Bits that are
    left at its end are dropped with it.

    Args:
        segments: bounds as `segments.split` cut them.
        seeds: S_0, S_1, ...: 64 bytes a segment. Secret.
        binding: X of the draw.
        sampler: the rule of the draw.

    Yields:
        Values, each below its bound.

    Raises:
        InternalError: not one seed a segment; or a draw was rejected 128 times
            and everything drawn is void.
    """
    if len(seeds) != len(segments):
        raise InternalError(f"{len(seeds)} seeds; expected {len(segments)}, one a segment")
    below = SAMPLERS[sampler]
    for number, (seed, bounds) in enumerate(zip(seeds, segments, strict=True)):
        stream = Keystream(seed, binding, number)
        for bound in bounds:
            yield below(stream, bound)


def permute(size: int, values: Iterable[int]) -> list[int]:
    """Return [0, ..., size - 1] after the swaps of a shuffle.

    Args:
        size: number of items, at least 1.
        values: values drawn below size, size - 1, ..., 2, one a step.

    Returns:
        The order; place 0 is the top of the deck and is dealt first.
    """
    order = list(range(size))
    for place, chosen in zip(range(size - 1, 0, -1), values, strict=True):
        order[place], order[chosen] = order[chosen], order[place]
    return order


def choose(size: int, count: int, values: Iterable[int]) -> list[int]:
    """Return what the first `count` steps of a shuffle put in the last places, last place first.

    Only places that a step wrote are kept: any other still holds its own
    number. So a sample of a few of 2^32 items costs a few steps, and no list.

    Args:
        size: number of items, at least 1.
        count: how many to choose, 1 to `size`.
        values: values drawn below size, size - 1, ..., size - count + 1, one a step.

    Returns:
        The items chosen, each once.
    """
    moved: dict[int, int] = {}
    items = []
    for place, chosen in zip(range(size - 1, size - count - 1, -1), values, strict=True):
        items.append(moved.get(chosen, chosen))
        # Later steps choose below `place`: what stood there moves to where the item was taken
        # from. If that is `place` itself nothing reads it again.
        moved[chosen] = moved.pop(place, place)
    return items


def shuffle(
    size: int, seeds: Sequence[bytes], binding: bytes, sampler: Sampler = Sampler.MASKED
) -> list[int]:
    """Draw one order of `size` items.

    Args:
        size: number of items, at least 1.
        seeds: 64 bytes for each segment of `split_shuffle(size)`. Secret.
        binding: X of the draw.
        sampler: the rule of the draw.

    Returns:
        The items in dealing order. Secret until dealt.

    Raises:
        InternalError: as `draw_values`; or `size` is below 1.
    """
    if size < 1:
        raise InternalError(f"shuffle of {size} items; expected at least 1")
    return permute(size, draw_values(split_shuffle(size), seeds, binding, sampler))


def sample(
    size: int,
    count: int,
    seeds: Sequence[bytes],
    binding: bytes,
    sampler: Sampler = Sampler.MASKED,
) -> list[int]:
    """Draw `count` of `size` items, in the order in which they were chosen.

    These are the first steps of the shuffle: it fills its last places first,
    and a sample is read from there.

    Args:
        size: number of items, at least 1.
        count: how many to draw, 1 to `size`.
        seeds: 64 bytes for each segment of `split(sample_bounds(size, count))`.
        binding: X of the draw.
        sampler: the rule of the draw.

    Returns:
        The items drawn, each once.

    Raises:
        InternalError: as `draw_values`; or `count` is outside its range.
    """
    if not 1 <= count <= size:
        raise InternalError(f"sample of {count} of {size} items; expected 1 to {size}")
    values = draw_values(split(sample_bounds(size, count)), seeds, binding, sampler)
    return choose(size, count, values)
