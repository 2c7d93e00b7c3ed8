"""What the drivers deliver in spite of a fault is seen by whom the fault table says."""

import pytest

from entropyd.entropy.assessment import SlidingAssessment
from entropyd.entropy.cutoffs import cutoffs_for
from entropyd.entropy.health import HealthTests
from entropyd.entropy.rate import SPAN_NS, Rate, RateWatch
from entropyd_drivers.emulated_faults import make_fault
from entropyd_drivers.noise import SeededNoise
from tests.drivers.expected import QUANTIS, SEEN_BY, SERIAL
from tests.drivers.test_serial_faults import as_samples, as_text

CLAIM = 6000
CUTOFFS = cutoffs_for(CLAIM, sample_bits=8, intermittent_alpha_log2=-40, permanent_alpha_log2=-60)
PACKET = 512
# One block of the drift test before the fault, and one with it.
PACKETS = 65_536 // PACKET
MODES = {"F21:text": as_text, "F21:samples": as_samples}
IN_THE_STREAM = sorted(spec for spec in SEEN_BY if not spec.startswith("F19"))


def altered(spec, noise):
    """65,536 samples with the fault in them, as the device sends them."""
    alter = MODES[spec] if spec in MODES else make_fault(spec).alters
    sent = b""
    while len(sent) < 65_536:
        sent += alter(noise.take(PACKET))
    return sent[:65_536]


@pytest.mark.parametrize("spec", IN_THE_STREAM)
def test_the_stream_is_seen_by_these_and_no_others(spec):
    """A healthy block, then one with the fault; and what the faulty one is assessed at."""
    noise = SeededNoise(b"seen")
    tests = HealthTests(CUTOFFS)
    assert tests.feed(noise.take(65_536)) == []
    faulty = altered(spec, noise)
    seen = {str(failure.test) for failure in tests.feed(faulty)}
    assessment = SlidingAssessment(8, first=65_536, window=1_000_000)
    assessment.add(faulty)
    if (assessment.millibits or 0) < CLAIM:
        seen.add("assessment")
    assert SEEN_BY[spec] == seen


@pytest.mark.parametrize("spec", ["F19:drop", "F19:burst"])
def test_the_rate_is_seen_where_its_mean_changes(spec):
    watch = RateWatch("quantis", 500_000)
    watch.begin(0)
    watch.note(make_fault(spec).rate(500_000) * (10 if spec == "F19:drop" else 1), 0)
    watch.note(0, SPAN_NS)
    assert ("rate" in SEEN_BY[spec]) == (watch.rate is Rate.SLOW)


def test_every_fault_of_the_stream_says_who_sees_it():
    """Stuck, biased, mixed with others, too slow, in another mode: none is left out."""
    delivered = {
        spec
        for table in (QUANTIS, SERIAL)
        for spec in table
        if spec.split(":")[0] in {"F16", "F17", "F18", "F19"} or spec in MODES
    }
    assert set(SEEN_BY) == delivered
