# ruff: noqa: N803 - names are the document's letters
"""Draws through the naive reference, watched: which branches of the protocol does a draw take?

A branch is found by looking at the bits that were taken, never by what a case
says of itself. `ALL_BRANCHES` is the list that the vectors must cover.
"""

from dataclasses import dataclass, field

from tests.reference import naive

BLOCK_BITS = 512

ALL_BRANCHES = frozenset(
    {
        # one draw
        "masked:bound-1-takes-nothing",
        "masked:accepted-at-once",
        "masked:accepted-largest",  # v = k - 1
        "masked:rejected",
        "masked:rejected-smallest",  # v = k
        "masked:rejected-5-in-a-row",
        "masked:power-of-two",
        "masked:above-2^32",
        "masked:across-blocks",
        "word32:bound-1-takes-a-word",
        "word32:accepted-at-once",
        "word32:rejected",
        "word32:rejected-5-in-a-row",
        "word32:power-of-two",
        "word32:bound-2^32",
        # one keystream
        "masked:second-block",
        "masked:third-block",
        "word32:second-block",
        "word32:third-block",
        # one list
        "empty-list",
        "list-without-bits",
        "segment-full",  # ends at 249 exactly
        "segment-short",  # the next bound would have brought it above 249
        "segment-drops-bits",
        "second-segment",
        "ten-segments",
        "sample-ends-at-bound-1",
    }
)


class WatchedBits(naive.Bits):
    """Remembers what was taken: (number of the first bit, value, number of bits)."""

    def __init__(self, S_s, X, s):
        super().__init__(S_s, X, s)
        self.takes = []

    def take(self, number_of_bits):
        first = self.taken
        bits = super().take(number_of_bits)
        self.takes.append((first, int(bits, 2), number_of_bits))
        return bits


@dataclass
class Trace:
    """What a list of draws did."""

    values: list[int] = field(default_factory=list)
    bits: list[int] = field(default_factory=list)
    segment_bounds: list[int] = field(default_factory=list)
    branches: set[str] = field(default_factory=set)


def trace(bounds, seeds, X, sampler):
    """Draw `bounds` as `naive.draw_list` does and return the Trace."""
    seen = Trace()
    segments = naive.segments_of(bounds)
    for s, segment in enumerate(segments):
        bits = WatchedBits(seeds[s], X, s)
        for k in segment:
            bits.takes.clear()
            seen.values.append({"masked": naive.masked, "word32": naive.word32}[sampler](bits, k))
            seen.branches |= branches_of_draw(sampler, k, bits.takes)
        seen.bits.append(bits.taken)
        seen.segment_bounds.append(len(segment))
    seen.branches |= branches_of_list(segments, seen.bits)
    return seen


def branches_of_draw(sampler, k, takes):
    if k == 1:
        what = "takes-a-word" if takes else "takes-nothing"
        return {f"{sampler}:bound-1-{what}"}
    found = {"accepted-at-once" if len(takes) == 1 else "rejected"}
    if len(takes) > 5:
        found.add("rejected-5-in-a-row")
    if k & (k - 1) == 0:
        found.add("power-of-two")
    if k == 2**32 and sampler == "word32":
        found.add("bound-2^32")
    for first, _, count in takes:
        found |= branches_of_take(first, first + count - 1, sampler)
    if sampler == "masked":
        found |= branches_of_mask(k, takes)
    return {f"{sampler}:{name}" for name in found}


def branches_of_take(first, last, sampler):
    found = set()
    if sampler == "masked" and first // BLOCK_BITS != last // BLOCK_BITS:
        found.add("across-blocks")
    if last // BLOCK_BITS >= 1:
        found.add("second-block")
    if last // BLOCK_BITS >= 2:
        found.add("third-block")
    return found


def branches_of_mask(k, takes):
    found = set()
    *rejected, (_, accepted, _) = takes
    if accepted == k - 1:
        found.add("accepted-largest")
    if any(v == k for _, v, _ in rejected):
        found.add("rejected-smallest")
    if k > 2**32:
        found.add("above-2^32")
    return found


def branches_of_list(segments, bits):
    found = set()
    counted = [sum(naive.b(k) for k in segment) for segment in segments]
    if segments == [[]]:
        found.add("empty-list")
    elif counted == [0]:
        found.add("list-without-bits")
    if segments[-1][-2:] == [2, 1]:
        found.add("sample-ends-at-bound-1")
    if 249 in counted:
        found.add("segment-full")
    if any(count < 249 for count in counted[:-1]):
        found.add("segment-short")
    if any(taken % BLOCK_BITS for taken in bits[:-1]):
        found.add("segment-drops-bits")
    if len(segments) > 1:
        found.add("second-segment")
    if len(segments) >= 10:
        found.add("ten-segments")
    return found
