"""The most common value estimate equals NIST's tool, and the sliding window slides."""

import hashlib
import json
import lzma
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.assessment import (
    SlidingAssessment,
    assess,
    bitstring_estimate,
    literal_estimate,
    most_common_value,
)
from entropyd.entropy.estimators import sequence_estimate
from tests.fakes.noise import noise

VECTORS = Path(__file__).parents[1] / "vectors" / "sp800_90b"
EXPECTED = json.loads((VECTORS / "ea_expected.json").read_text())["files"]
KEPT = {name: entry for name, entry in EXPECTED.items() if entry["sample_file_kept_here"]}
NIST_TOLERANCE = 1e-6  # of the selftest of NIST's tool


def samples_of(entry):
    """Read a sample file, and check that it is the one NIST assessed."""
    path = VECTORS / entry["sample_file_kept_here"]
    samples = path.read_bytes()
    if path.suffix == ".xz":
        samples = lzma.decompress(samples)
    assert entry["sha256"] == hashlib.sha256(samples).hexdigest()
    return samples


def histogram(samples):
    return np.bincount(np.frombuffer(samples, np.uint8), minlength=256)


def test_six_sample_files_are_kept():
    assert len(KEPT) == 6


@pytest.mark.parametrize("name", sorted(KEPT))
def test_estimates_equal_those_of_the_nist_tool(name):
    """Literal for every file, Bitstring where a symbol is wider than a bit, to NIST's tolerance."""
    entry = KEPT[name]
    counts, bits = histogram(samples_of(entry)), entry["bits_per_symbol"]
    literal = entry["estimates"]["Literal"]["Most Common Value"]["min entropy"]
    assert pytest.approx(literal, abs=NIST_TOLERANCE) == literal_estimate(counts)
    if bits > 1:
        bitstring = entry["estimates"]["Bitstring"]["Most Common Value"]["min entropy"]
        assert pytest.approx(bitstring, abs=NIST_TOLERANCE) == bitstring_estimate(counts, bits)
        expected = min(literal, bits * bitstring)
        assert pytest.approx(expected, abs=NIST_TOLERANCE) == assess(counts, bits)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_formula_equals_the_nist_tool_on_every_published_count(name):
    """Also for the files that are too large to keep: mode count in, p_u's entropy out."""
    entry = EXPECTED[name]
    for kind, estimates in entry["estimates"].items():
        figures = estimates["Most Common Value"]
        length = entry["samples"] * (entry["bits_per_symbol"] if kind == "Bitstring" else 1)
        estimate = most_common_value(figures["Mode count"], length)
        assert pytest.approx(figures["min entropy"], abs=NIST_TOLERANCE) == estimate


def test_a_million_samples_through_the_window_are_the_tool_s_million():
    """The production window, fed in device-sized blocks, ends on the same figure, rounded down."""
    entry = KEPT["truerand_1bit"]
    samples = samples_of(entry)
    sliding = SlidingAssessment(1, first=65_536, window=1_000_000)
    for start in range(0, len(samples), 8192):
        sliding.add(samples[start : start + 8192])
    figures = entry["estimates"]["Literal"]
    ours = ("Most Common Value", "Collision", "Markov", "t-Tuple")
    expected = min(figures[name]["min entropy"] for name in ours)
    assert (1_000_000, math.floor(1000 * expected)) == (sliding.samples, sliding.millibits)


def test_a_constant_source_has_no_entropy():
    assert most_common_value(1000, 1000) == 0.0
    assert str(most_common_value(1000, 1000)) == "0.0"


def test_a_biased_bit_lowers_bytes_below_their_literal_estimate():
    """Bytes with one bit always set: 128 values equally often, but one bit in eight is no coin."""
    counts = histogram(bytes(range(128, 256)) * 1000)
    assert literal_estimate(counts) > 8 * bitstring_estimate(counts, 8)
    assert 8 * bitstring_estimate(counts, 8) == assess(counts, 8)


def test_no_assessment_before_the_first():
    """65,535 samples say nothing; one more says something."""
    sliding = SlidingAssessment(8, first=65_536, window=1_000_000)
    samples = noise(65_536, "first")
    sliding.add(samples[:-1])
    assert (sliding.millibits, sliding.samples, sliding.until_due) == (None, 0, 1)
    sliding.add(samples[-1:])
    assert sliding.samples == 65_536
    assert 7000 < (sliding.millibits or 0) < 8000


def whole(samples):
    """All estimates, of a window as a whole."""
    return math.floor(1000 * min(assess(histogram(samples), 8), sequence_estimate(samples, 8)))


def test_what_left_the_window_no_longer_counts():
    """A stuck past lowers the estimate until exactly a window of good samples has come."""
    good = noise(10_000, "good")
    sliding = SlidingAssessment(8, first=1024, window=10_000)
    sliding.add(b"\0" * 10_000)
    assert sliding.millibits == 0
    for start in range(0, 9900, 100):
        sliding.add(good[start : start + 100])
    assert (sliding.samples, sliding.millibits) == (10_000, 0)
    sliding.add(good[9900:10_000])
    assert whole(good) == sliding.millibits


def test_order_counts_although_no_value_is_frequent():
    """A counter: every value as often as the others, and each one told by the one before it."""
    counter = bytes(range(256)) * 256
    sliding = SlidingAssessment(8, first=65_536, window=1_000_000)
    sliding.add(counter)
    assert assess(histogram(counter), 8) > 7.5
    assert (sliding.millibits or 0) < 4100


def test_order_is_looked_at_once_a_window():
    """A counter that begins after the first assessment shows when a window has passed."""
    sliding = SlidingAssessment(8, first=2000, window=10_000)
    sliding.add(noise(2000, "first"))
    first = sliding.millibits or 0
    counter = bytes(range(250)) * 32
    sliding.add(counter[:7900])
    assert first == sliding.millibits
    sliding.add(counter[7900:])
    assert (sliding.millibits or 0) < first - 500


@settings(max_examples=40, deadline=None)
@given(
    samples=st.binary(max_size=400).map(lambda seed: seed * 12),
    lengths=st.lists(st.integers(0, 900), max_size=12),
)
def test_assessments_do_not_depend_on_how_samples_are_cut(samples, lengths):
    """At each multiple of a step the same figure, the one of the last window counted afresh."""
    first, window, step = 1030, 1500, 15
    sliding = SlidingAssessment(8, first=first, window=window)
    position = 0
    for length in [*lengths, len(samples)]:
        part = samples[position : position + length]
        position += len(part)
        sliding.add(part)
        expected = None
        if position >= first:
            end = max(first, position // step * step)
            looked_at = samples[max(0, end // step * step - window) : end]
            ordered = samples[:first]
            if position >= window:
                ordered = samples[position // window * window - window :][:window]
            of_order = sequence_estimate(ordered, 8)
            expected = math.floor(1000 * min(assess(histogram(looked_at), 8), of_order))
        assert expected == sliding.millibits
