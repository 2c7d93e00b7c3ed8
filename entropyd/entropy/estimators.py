"""Three of the standard's estimators of min-entropy: collision, Markov and t-tuple.

Each looks for one way of being predictable that a count of single values does
not show: equal neighbours, one bit that tells the next, tuples that come too
often. None can show that samples are not predictable.

`sequence_estimate` is what the running assessment asks: all three at once, with
the length of tuples limited so that its cost is. Of a million bytes it takes 75
ms of a core: done once for each million, 3.7 % of one at 500,000 B/s, and a
first look at 65,536 bytes 8 ms. GAP: at 30 MB/s it would take two cores; a
driver for such a card has to let it look less often.

Floating point is used for estimates only, never where something is drawn.

Spec: SP 800-90B, sections 6.3.2, 6.3.3 and 6.3.5; each is compared with NIST's own tool.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from entropyd.entropy.bitstring import BYTE_VALUES, Bitstring, Counts, Samples

# The upper end of the two-sided 99 % confidence interval is the 99.5 % quantile of the normal
# distribution. The standard (6.3.1, step 2) prints it as 2.576; NIST's assessment tool computes
# with the unrounded value, and so do we: its published figures are then met to 1e-12, where the
# rounded one is off by 2e-5 bit at 10,000 samples and by less than 1e-5 from 65,536 on.
Z_99_5 = 2.5758293035489008

# SPEC: 6.3.5, step 1: the longest tuples counted are those of which one occurs at least 35 times.
TUPLE_CUTOFF = 35
# SPEC: 6.3.3, step 3: the probability of the most likely sequence of 128 bits.
MARKOV_BITS = 128

# Up to here all tuples are counted at once: 2**18 counts are 2 MiB, and lie in a core's cache.
# Counting 2**20 takes twice the time, and on fair bits lowers the estimate by 0.012.
_MOST_DENSE_BITS = 18

Index = npt.NDArray[np.intp]


def sequence_estimate(samples: bytes, sample_bits: int) -> float:
    """Return the lowest of the three estimates, in bits a sample, at limited cost.

    Tuples are looked at up to 18 bits, and up to two samples.

    Args:
        samples: at least 35, one byte each.
        sample_bits: width of a sample, 1 or 8.
    """
    bits = Bitstring.of(samples, sample_bits)
    pairs, of_tuples = _pairs_and_tuples(bits)
    of_a_bit = min(collision_estimate(bits), markov_of_pairs(pairs, bits.last(1)), of_tuples)
    if sample_bits == 1:
        return of_a_bit
    return min(symbol_tuple_estimate(samples, longest=2), sample_bits * of_a_bit)


def confident_min_entropy(p: float, samples: int) -> float:
    """Return -log2 of the upper end of the confidence interval of a probability.

    Spec: SP 800-90B, section 6.3.1, step 2: p_u = min(1, p + 2.576 sqrt(p (1-p) / (L-1))).

    Args:
        p: the probability as it was observed, above 0 and at most 1.
        samples: how many were observed, at least 2.
    """
    p_u = min(1.0, p + Z_99_5 * math.sqrt(p * (1 - p) / (samples - 1)))
    return abs(math.log2(p_u))  # log2(1) is 0.0, of which the negative would print as -0


def collision_estimate(bits: Bitstring) -> float:
    """Return the collision estimate, in bits of min-entropy a bit, 0 to 1.

    Spec: SP 800-90B, section 6.3.2.

    Args:
        bits: at least 6, so that there are two collisions.
    """
    return collision_of_counts(*bits.collisions())


def collision_of_counts(twos: int, threes: int) -> float:
    """Return the collision estimate from how many collisions took two bits, and how many three.

    The mean number of bits until one comes twice is 2 + 2 p (1 - p), whose
    solution for p is the standard's step 8 in closed form.
    """
    found = twos + threes
    mean = (2 * twos + 3 * threes) / found
    squares = 4 * twos + 9 * threes
    deviation = math.sqrt(max(0.0, (squares - found * mean * mean) / (found - 1)))
    lower = mean - Z_99_5 * deviation / math.sqrt(found)
    # A mean above 2.5 is more than fair bits have: p stays a half.
    p = 0.5 + math.sqrt(max(0.0, 1.25 - 0.5 * lower))
    return abs(math.log2(min(1.0, p)))


def markov_estimate(bits: Bitstring) -> float:
    """Return the Markov estimate, in bits of min-entropy a bit, 0 to 1; at least two bits."""
    return markov_of_pairs(bits.tuple_counts(2), bits.last(1))


def markov_of_pairs(pairs: Counts, last: int) -> float:
    """Return the Markov estimate from the counts of 00, 01, 10, 11 and the last bit.

    The six sequences of 128 bits of which one is the most likely of all: one
    value throughout, the two by turns, or one value after the other.

    Spec: SP 800-90B, section 6.3.3.
    """
    from_0, from_1 = int(pairs[0] + pairs[1]), int(pairs[2] + pairs[3])
    share_1 = (from_1 + last) / (from_0 + from_1 + 1)
    p = [
        _log2(int(count) / total) if total else -math.inf
        for count, total in zip(pairs, (from_0, from_0, from_1, from_1), strict=True)
    ]
    p_00, p_01, p_10, p_11 = p
    n = MARKOV_BITS
    first_0, first_1 = _log2(1 - share_1), _log2(share_1)
    likeliest = max(
        first_0 + _times(n - 1, p_00),
        first_0 + _times(n // 2, p_01) + _times(n // 2 - 1, p_10),
        first_0 + p_01 + _times(n - 2, p_11),
        first_1 + p_10 + _times(n - 2, p_00),
        first_1 + _times(n // 2, p_10) + _times(n // 2 - 1, p_01),
        first_1 + _times(n - 1, p_11),
    )
    return min(1.0, abs(likeliest) / n)


def bit_tuple_estimate(bits: Bitstring, *, longest: int | None = None) -> float:
    """Return the t-tuple estimate of a bit string, in bits of min-entropy a bit, 0 to 1.

    Args:
        bits: at least 35.
        longest: the longest tuples looked at; None for all that the standard
            looks at. A limit can only raise the estimate, and bounds its cost:
            a string that repeats itself has frequent tuples of any length.
    """
    return _estimate(_bit_tuples(bits, longest), bits.length)


def symbol_tuple_estimate(samples: bytes, *, longest: int | None = None) -> float:
    """Return the t-tuple estimate of samples as they are, in bits a sample.

    Infinite where no value occurs 35 times: then it says nothing about them.

    Args:
        samples: one byte each.
        longest: as above, in samples; at least 2.
    """
    symbols = np.frombuffer(samples, np.uint8)
    return _estimate(_symbol_tuples(symbols, longest), len(symbols))


def _pairs_and_tuples(bits: Bitstring) -> tuple[Counts, float]:
    """Return the counts of pairs, and the t-tuple estimate up to as many bits as are cheap."""
    dense = _dense_bits(bits)
    counts = bits.tuple_counts(dense)
    pairs = counts.reshape(4, -1).sum(axis=1)
    # The pairs that begin so near the end that no longer tuple does.
    for size in range(dense - 1, 1, -1):
        pairs[bits.last(size) >> (size - 2)] += 1
    return pairs, _estimate(_shorter(bits, counts, dense), bits.length)


def _estimate(tuples: Iterator[tuple[int, int]], length: int) -> float:
    """Return the estimate from (size, most occurrences of one tuple of that size).

    Infinite where there is none: too few samples for this estimator to say anything.

    Spec: SP 800-90B, section 6.3.5, steps 2 to 5.
    """
    shares = [(count / (length - size + 1)) ** (1 / size) for size, count in tuples]
    return confident_min_entropy(max(shares), length) if shares else math.inf


def _dense_bits(bits: Bitstring) -> int:
    """Return a size of which fair bits have about eight of each tuple, so that none counts."""
    return max(2, min(_MOST_DENSE_BITS, (bits.length // 8).bit_length()))


def _bit_tuples(bits: Bitstring, longest: int | None) -> Iterator[tuple[int, int]]:
    """Yield (size, most occurrences) for each size that counts."""
    dense = min(_dense_bits(bits), longest or _MOST_DENSE_BITS)
    counts = bits.tuple_counts(dense)
    yield from _shorter(bits, counts, dense)
    if counts.max() < TUPLE_CUTOFF or longest == dense:
        return
    symbols = bits.unpacked()
    values = np.zeros(bits.length - dense + 1, np.intp)
    for place in range(dense):
        values = values * 2 + symbols[place : place + len(values)]
    frequent = counts >= TUPLE_CUTOFF
    rank = np.cumsum(frequent) - 1
    start = np.flatnonzero(frequent[values])
    yield from _longer(symbols, 2, start, rank[values[start]], dense, longest)


def _symbol_tuples(symbols: Samples, longest: int | None) -> Iterator[tuple[int, int]]:
    """Yield (size, most occurrences) for each size that counts."""
    singles = np.bincount(symbols, minlength=BYTE_VALUES)
    if singles.max() < TUPLE_CUTOFF:
        return
    yield 1, int(singles.max())
    pairs = symbols[:-1].astype(np.intp) * BYTE_VALUES + symbols[1:]
    counts = np.bincount(pairs, minlength=1)
    if counts.max() < TUPLE_CUTOFF:
        return
    yield 2, int(counts.max())
    frequent = counts >= TUPLE_CUTOFF
    start = np.flatnonzero(frequent[pairs])
    rank = np.cumsum(frequent) - 1
    yield from _longer(symbols, BYTE_VALUES, start, rank[pairs[start]], 2, longest)


def _shorter(bits: Bitstring, counts: Counts, size: int) -> Iterator[tuple[int, int]]:
    """Yield (size, most occurrences) from `size` down, given its counts; those that count."""
    while size:
        most = int(counts.max())
        if most >= TUPLE_CUTOFF:
            yield size, most
        size -= 1
        counts = counts.reshape(-1, 2).sum(axis=1)
        # Where the last tuple of this size begins, none that is longer does.
        counts[bits.last(size)] += 1


def _longer(  # noqa: PLR0917  one walk, begun by two callers in the middle
    symbols: Samples, values: int, start: Index, tuples: Index, size: int, longest: int | None
) -> Iterator[tuple[int, int]]:
    """Yield (size, most occurrences) from `size` + 1 up, until none occurs often enough.

    Args:
        symbols: the string.
        values: how many values a symbol can have.
        start: where tuples of `size` begin that occur often enough.
        tuples: which ones these are, as numbers from 0.
        size: their size.
        longest: where to end anyway.
    """
    while longest is None or size < longest:
        fits = start < len(symbols) - size
        start, tuples = start[fits], tuples[fits]
        tuples = tuples * values + symbols[start + size]
        counts = np.bincount(tuples, minlength=1)
        size += 1
        if counts.max() < TUPLE_CUTOFF:
            return
        yield size, int(counts.max())
        frequent = counts >= TUPLE_CUTOFF
        stays = frequent[tuples]
        start = start[stays]
        tuples = (np.cumsum(frequent) - 1)[tuples[stays]]


def _log2(p: float) -> float:
    return math.log2(p) if p > 0 else -math.inf


def _times(count: int, log: float) -> float:
    return count * log if count else 0.0
