"""A seed from several sources: each gives all that one would, so all but one may be worthless."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.config import check
from entropyd.entropy.gate import Gate, GatedSeed, Hold, HoldReason
from entropyd.entropy.policy import GatePolicy, UserShortfall
from entropyd.entropy.reservoir import FromEach
from entropyd.entropy.source_state import SourceState
from entropyd.errors import ConfigError
from tests.unit.test_gate import NOW, QUANTIS, TENANT, batch_released, deliver, held, released

OTHER = replace(QUANTIS, info=replace(QUANTIS.info, source_id="other"), required=False)
THIRD = replace(QUANTIS, info=replace(QUANTIS.info, source_id="third"), required=False)
# 320 bits at 6 a sample, and 448 to instantiate.
SEED_SAMPLES, FIRST_SAMPLES = 54, 75


def gate_of(*sources, sources_needed=2, **policy):
    policy.setdefault("user_shortfall", UserShortfall.IGNORE)
    gate = Gate(GatePolicy(min_hardware_sources=sources_needed, **policy))
    for facts in sources:
        gate.set_source(facts.info.source_id, facts)
    return gate


def ready(*sources, **policy):
    """A gate that released its instantiation, with nothing left."""
    gate = gate_of(*sources, **policy)
    for facts in sources:
        deliver(gate, bytes(FIRST_SAMPLES), source=facts.info.source_id)
    assert isinstance(gate.try_instantiate(NOW), GatedSeed)
    for facts in sources:
        gate.withdraw(facts.info.source_id)
    return gate


def shares(seed):
    """What each source gave to class hardware."""
    return {name: len(samples) for name, samples in seed.hardware}


def test_each_source_gives_all_that_one_would():
    gate = ready(QUANTIS, OTHER)
    deliver(gate, bytes(200))
    deliver(gate, bytes(200), source="other")
    (seed,) = released(gate)
    assert {"quantis": SEED_SAMPLES, "other": SEED_SAMPLES} == shares(seed)
    assert [324_000, 324_000] == [use.credited_millibits for use in seed.uses]


def test_a_rich_source_does_not_stand_in_for_a_poor_one():
    """A sample short in one of them, and the seed is held, whatever the other has."""
    gate = ready(QUANTIS, OTHER)
    deliver(gate, bytes(5000))
    deliver(gate, bytes(SEED_SAMPLES - 1), source="other")
    hold = held(gate)
    assert HoldReason.HARDWARE_SHORT is hold.why
    assert "from each of 2 sources; 'quantis' has 30000, 'other' has 318" in hold.text
    assert hold.needed_millibits > hold.available_millibits
    deliver(gate, b"\0", source="other")
    assert {"quantis", "other"} == set(shares(released(gate)[0]))


def test_the_instantiation_takes_from_each_too():
    gate = gate_of(QUANTIS, OTHER)
    deliver(gate, bytes(1000))
    assert isinstance(gate.try_instantiate(NOW), Hold)
    deliver(gate, bytes(FIRST_SAMPLES), source="other")
    seed = gate.try_instantiate(NOW)
    assert isinstance(seed, GatedSeed)
    assert {"quantis": FIRST_SAMPLES, "other": FIRST_SAMPLES} == shares(seed)


def test_with_a_source_too_few_the_hold_names_its_fault():
    gate = ready(QUANTIS, OTHER)
    deliver(gate, bytes(5000))
    gate.set_source("other", replace(OTHER, state=SourceState.LOST))
    hold = held(gate)
    assert HoldReason.SOURCE_LOST is hold.why
    assert "'other' is lost" in hold.text


def test_with_a_source_to_spare_a_loss_does_not_hold():
    gate = ready(QUANTIS, OTHER, THIRD)
    for facts in (QUANTIS, OTHER, THIRD):
        deliver(gate, bytes(200), source=facts.info.source_id)
    gate.set_source("other", replace(OTHER, state=SourceState.LOST))
    assert {"quantis", "third"} == set(shares(released(gate)[0]))
    assert gate.degraded


def test_cover_comes_from_any_source():
    """The missing user bits are asked of nobody in particular."""
    gate = ready(QUANTIS, OTHER, user_shortfall=UserShortfall.COVER)
    deliver(gate, bytes(SEED_SAMPLES + 42))
    deliver(gate, bytes(SEED_SAMPLES), source="other")
    (seed,) = released(gate)
    assert [("quantis", 42)] == [(name, len(samples)) for name, samples in seed.cover]


def test_every_hand_of_a_batch_has_its_own_from_each():
    gate = ready(QUANTIS, OTHER)
    for name in ("quantis", "other"):
        deliver(gate, bytes(3 * SEED_SAMPLES), source=name)
    batch = batch_released(gate, 2)
    for seed in (batch.shared, *batch.hands):
        assert {"quantis": SEED_SAMPLES, "other": SEED_SAMPLES} == shares(seed)
    assert 0 == gate.level_millibits(NOW)


def test_a_batch_fits_by_what_each_source_gives():
    """At 6 bits two sources give 108 samples a hand; the reservoir holds 131,072."""
    gate = ready(QUANTIS, OTHER, reservoir_bytes=1 << 17)
    assert gate.fits_batch(131_072 // 108 - 1)
    assert not gate.fits_batch(131_072 // 108)


@settings(max_examples=150, deadline=None)
@given(
    levels=st.tuples(*[st.integers(0, 300)] * 3),
    needed=st.integers(1, 3),
    most=st.integers(1, 8),
)
def test_as_many_seeds_as_any_choice_of_sources_could_give(levels, needed, most):
    """The fullest first: what is left holds no further seed, and nothing was given twice."""
    sources = (QUANTIS, OTHER, THIRD)
    gate = ready(*sources, sources_needed=needed)
    names = [facts.info.source_id for facts in sources]
    for name, samples in zip(names, levels, strict=True):
        if samples:
            deliver(gate, bytes(samples), source=name)
    answer = gate.try_release_some(TENANT, most, NOW)
    seeds = () if isinstance(answer, Hold) else answer
    for seed in seeds:
        if needed > 1:
            assert needed == len(seed.hardware)
            assert {SEED_SAMPLES} == set(shares(seed).values())
    if needed == 1:
        assert min(most, sum(levels) // SEED_SAMPLES) == len(seeds)
        return
    # Each source has so many shares; a seed takes one of each of `needed` sources.
    possible = 0
    left = [samples // SEED_SAMPLES for samples in levels]
    while sum(share > 0 for share in left) >= needed:
        left.sort(reverse=True)
        left = [share - (place < needed) for place, share in enumerate(left)]
        possible += 1
    assert min(most, possible) == len(seeds)


def test_several_seeds_at_once_are_those_of_as_many_calls():
    together, apart = ready(QUANTIS, OTHER), ready(QUANTIS, OTHER)
    for gate in (together, apart):
        deliver(gate, bytes(range(200)))
        deliver(gate, bytes(range(150)), source="other")
    some = together.try_release_some(TENANT, 9, NOW)
    assert not isinstance(some, Hold)
    assert [released(apart)[0] for _ in some] == list(some)
    assert isinstance(apart.check(TENANT, 1, NOW), Hold)


def test_what_a_seed_costs_and_what_the_receipt_says():
    policy = GatePolicy(min_hardware_sources=3)
    assert (3 * 320 + 249) * 1000 == policy.seed_millibits
    assert "hardware=320 from each of 3 user=249 shortfall=cover" == policy.describe()
    assert "hardware=320 user=249 shortfall=cover" == GatePolicy().describe()
    assert 960 == FromEach(320, 3).total
    with pytest.raises(ConfigError, match="min_hardware_sources is 0"):
        GatePolicy(min_hardware_sources=0)


def test_more_sources_than_are_configured_are_refused():
    text = """
    [node]
    name = "dc1-a"
    [gate]
    min_hardware_sources = 2
    [[source]]
    id = "q"
    driver = "quantis-usb"
    [[listener]]
    address = "unix:/run/entropyd/poker.sock"
    tenant = "room"
    roles = ["deal_all"]
    """
    with pytest.raises(ConfigError, match="min_hardware_sources is 2, and 1 sources are conf"):
        check(text)
    other = '[[source]]\nid = "r"\ndriver = "quantis-usb"\noptions = { serial = "B" }\n'
    two = text.replace("[[listener]]", other + "[[listener]]")
    assert 2 == check(two).gate.min_hardware_sources
