"""The gate: when a seed is released, from what, and what a hold says."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.credited import CreditedBlock
from entropyd.entropy.gate import Gate, GatedSeed, Hold, HoldReason, SourceFacts, SourceUse
from entropyd.entropy.policy import GatePolicy, UserShortfall
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.entropy.user import UserLimits
from entropyd.errors import ConfigError, InternalError
from entropyd.rbg.construction import SeedConstruction

SECOND = 10**9
NOW = 1000 * SECOND
TENANT = "room"

QUANTIS = SourceFacts(
    NoiseSourceInfo("quantis", "quantis-usb", SourceKind.HARDWARE, 8, 6000, "by the operator"),
    serial="132244A410",
    state=SourceState.HEALTHY,
    current_millibits=6000,
    required=True,
)
SERIAL = replace(
    QUANTIS,
    info=NoiseSourceInfo("tty", "serial", SourceKind.HARDWARE, 8, 500, "measured"),
    serial="FT0001",
    current_millibits=500,
    required=False,
)
COUNTER = bytes(range(256)) * 40


def gate_with(*, samples=0, sources=(QUANTIS,), instantiated=True, **policy):
    """Return a gate that knows `sources`, with `samples` of the first one waiting."""
    limits = UserLimits(burst=10_000)
    gate = Gate(GatePolicy(**{"user_limits": limits} | policy))
    for facts in sources:
        gate.set_source(facts.info.source_id, facts)
    if instantiated:
        deliver(gate, bytes(75), source=sources[0].info.source_id)
        assert isinstance(gate.try_instantiate(NOW), GatedSeed)
    if samples:
        deliver(gate, COUNTER[:samples], source=sources[0].info.source_id)
    return gate


def policy_with(**arguments):
    return GatePolicy(**arguments)


def deliver(gate, samples, *, source="quantis", credit=6000, at=NOW):
    gate.deliver(CreditedBlock(source, samples, credit, at))


def rich(salt):
    """A blob that counts for more than one user may."""
    return bytes((n + salt) % 256 for n in range(200))


def four_users(gate, salt=0):
    for number, user in enumerate(("ann", "bob", "cy", "dee")):
        gate.add_user_blob(TENANT, user, rich(10 * salt + number), NOW)


def released(gate, seeds=1, now=NOW):
    answer = gate.try_release(TENANT, seeds, now)
    assert not isinstance(answer, Hold), answer
    return answer


def held(gate, seeds=1, now=NOW):
    """Return the hold, which `check` must foretell and which must spend nothing."""
    before = gate.level_millibits(now), gate.user_millibits(TENANT, now)
    hold = gate.try_release(TENANT, seeds, now)
    assert isinstance(hold, Hold), hold
    assert hold == gate.check(TENANT, seeds, now)
    assert before == (gate.level_millibits(now), gate.user_millibits(TENANT, now))
    return hold


# --- several draws at once -----------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    samples=st.integers(0, 400),
    users=st.integers(0, 12),
    shortfall=st.sampled_from(UserShortfall),
    most=st.integers(1, 6),
)
def test_several_draws_get_what_as_many_calls_would_get(samples, users, shortfall, most):
    """The same seeds, the same hold of the first, and the same left over."""

    def gate():
        one = gate_with(samples=samples, user_shortfall=shortfall)
        for number in range(users):
            one.add_user_blob(TENANT, f"user-{number}", rich(number), NOW)
        return one

    together, apart = gate(), gate()
    some = together.try_release_some(TENANT, most, NOW)
    calls: list[GatedSeed] = []
    while len(calls) < most and not isinstance(one := apart.try_release(TENANT, 1, NOW), Hold):
        calls += one
    if isinstance(some, Hold):
        assert [] == calls
        assert some == apart.check(TENANT, 1, NOW)
    else:
        assert calls == list(some)
    assert apart.level_millibits(NOW) == together.level_millibits(NOW)
    assert apart.user_millibits(TENANT, NOW) == together.user_millibits(TENANT, NOW)


# --- batches -------------------------------------------------------------------------


def batch_released(gate, hands, now=NOW):
    answer = gate.try_release_batch(TENANT, hands, now)
    assert not isinstance(answer, Hold), answer
    return answer


def batch_held(gate, hands, now=NOW):
    """Return the hold of a batch, which `check_batch` foretells and which spends nothing."""
    before = gate.level_millibits(now), gate.user_millibits(TENANT, now)
    hold = gate.try_release_batch(TENANT, hands, now)
    assert isinstance(hold, Hold), hold
    assert hold == gate.check_batch(TENANT, hands, now)
    assert before == (gate.level_millibits(now), gate.user_millibits(TENANT, now))
    return hold


def sizes(seed):
    return [sum(len(samples) for _, samples in part) for part in (seed.hardware, seed.cover)]


def test_a_batch_costs_a_seed_more_than_its_hands():
    """Three hands are four seeds of 96 samples, no sample twice, in order of arrival."""
    gate = gate_with(samples=4 * 96)
    assert gate.check_batch(TENANT, 3, NOW) is None
    batch = batch_released(gate, 3)
    assert [sizes(seed) for seed in (batch.shared, *batch.hands)] == [[54, 42]] * 4
    parts = [part for seed in (batch.shared, *batch.hands) for part in (seed.hardware, seed.cover)]
    assert COUNTER[: 4 * 96] == b"".join(samples for part in parts for _, samples in part)
    assert gate.level_millibits(NOW) == 0


def test_a_batch_gets_all_or_none():
    """One sample less than four seeds hold a batch of three; two can be had."""
    gate = gate_with(samples=4 * 96 - 1)
    hold = batch_held(gate, 3)
    assert (hold.why, hold.available_millibits) == (HoldReason.HARDWARE_SHORT, 383 * 6000)
    assert hold.needed_millibits == hold.available_millibits + 1
    assert len(batch_released(gate, 2).hands) == 2


def test_users_give_to_what_a_batch_shares():
    """Their data covers the reseed; every hand is covered by hardware for all of it."""
    gate = gate_with(samples=54 + 2 * 96)
    four_users(gate)
    batch = batch_released(gate, 2)
    assert [sizes(seed) for seed in (batch.shared, *batch.hands)] == [[54, 0], [54, 42], [54, 42]]
    assert len(batch.shared.user) == 4
    assert [seed.user for seed in batch.hands] == [(), ()]
    assert {use.entropy_class for seed in batch.hands for use in seed.uses} == {"hardware", "cover"}
    assert gate.user_millibits(TENANT, NOW) == 0


def test_a_batch_waits_for_the_users_of_its_reseed():
    """Under `wait` it needs what one seed needs of them; hardware covers its hands."""
    gate = gate_with(samples=54 + 2 * 96, user_shortfall=UserShortfall.WAIT)
    hold = batch_held(gate, 2)
    assert (hold.why, hold.needed_millibits) == (HoldReason.USER_SHORT, 249_000)
    four_users(gate)
    assert [sizes(seed) for seed in batch_released(gate, 2).hands] == [[54, 42]] * 2


def test_a_batch_under_ignore_has_no_cover():
    """The policy that asks users for nothing asks hardware for nothing in their place."""
    gate = gate_with(samples=3 * 54, user_shortfall=UserShortfall.IGNORE)
    batch = batch_released(gate, 2)
    assert [sizes(seed) for seed in (batch.shared, *batch.hands)] == [[54, 0]] * 3


@pytest.mark.parametrize("hands", [0, -1])
def test_a_batch_has_at_least_one_hand(hands):
    with pytest.raises(InternalError, match="expected at least 1"):
        gate_with(samples=960).try_release_batch(TENANT, hands, NOW)


def test_a_batch_that_no_reservoir_holds_is_known_before():
    """96 samples a seed, one seed more than hands; nobody can say where no source has credit."""
    gate = gate_with(reservoir_bytes=128 * 1024)
    most = 128 * 1024 // 96 - 1
    assert [True, False] == [gate.fits_batch(hands) for hands in (most, most + 1)]
    ignoring = gate_with(reservoir_bytes=128 * 1024, user_shortfall=UserShortfall.IGNORE)
    most = 128 * 1024 // 54 - 1
    assert [True, False] == [ignoring.fits_batch(hands) for hands in (most, most + 1)]
    assert gate_with(sources=(), instantiated=False).fits_batch(10**6)


# --- what a seed costs ---------------------------------------------------------------


def test_a_seed_without_users_costs_54_samples_and_42_of_cover():
    """At 6 bits a byte: 320 bits are 54 samples, the missing 249 are 42 more."""
    gate = gate_with(samples=96)
    [seed] = released(gate)
    assert seed.hardware == (("quantis", COUNTER[:54]),)
    assert seed.cover == (("quantis", COUNTER[54:96]),)
    assert seed.user == ()
    assert [(u.entropy_class, u.samples, u.credited_millibits) for u in seed.uses] == [
        ("hardware", 54, 324_000),
        ("cover", 42, 252_000),
    ]
    assert gate.level_millibits(NOW) == 0


def test_one_sample_less_holds():
    """95 samples are worth 570 bits, more than 569, and still one whole sample too few."""
    hold = held(gate_with(samples=95))
    assert (
        hold.why,
        hold.needed_millibits,
        hold.available_millibits,
    ) == (HoldReason.HARDWARE_SHORT, 570_001, 570_000)
    assert "awaited: more samples from 'quantis'" in hold.text


def test_users_that_gave_enough_need_no_cover():
    """Four users at their cap are 249 bits: 54 samples of hardware are enough."""
    gate = gate_with(samples=54)
    four_users(gate)
    [seed] = released(gate)
    assert (seed.hardware, seed.cover) == ((("quantis", COUNTER[:54]),), ())
    assert [user for user, _ in seed.user] == ["ann", "bob", "cy", "dee"]


def test_users_that_gave_less_are_covered_for_the_rest():
    """Three users leave 62.25 bits to cover: 11 samples; their data is mixed."""
    gate = gate_with(samples=54 + 11)
    for number, user in enumerate(("ann", "bob", "cy")):
        gate.add_user_blob(TENANT, user, rich(number), NOW)
    [seed] = released(gate)
    assert seed.cover == (("quantis", COUNTER[54:65]),)
    assert seed.user == (("ann", rich(0)), ("bob", rich(1)), ("cy", rich(2)))


def test_user_data_never_lowers_the_hardware_floor():
    """However much the users give, 53 samples of hardware are not 320 bits."""
    gate = gate_with(samples=53)
    four_users(gate)
    assert held(gate).why is HoldReason.HARDWARE_SHORT


def test_wait_holds_for_the_users():
    """With user_shortfall wait there is no seed before the users gave 249 bits."""
    gate = gate_with(samples=1000, user_shortfall=UserShortfall.WAIT)
    gate.add_user_blob(TENANT, "ann", rich(9), NOW)
    hold = held(gate)
    assert (
        hold.why,
        hold.needed_millibits,
        hold.available_millibits,
    ) == (HoldReason.USER_SHORT, 249_000, 62_250)
    assert "62 of 249 bits" in hold.text
    four_users(gate)
    [seed] = released(gate)
    assert (seed.cover, len(seed.user)) == ((), 4)


def test_wait_holds_for_every_seed_of_the_draw():
    """Users who gave enough for one seed have not given enough for two."""
    gate = gate_with(samples=1000, user_shortfall=UserShortfall.WAIT)
    four_users(gate)
    hold = held(gate, seeds=2)
    assert (hold.needed_millibits, hold.available_millibits) == (498_000, 249_000)
    assert len(released(gate)) == 1


def test_ignore_asks_for_none_and_mixes_what_is_there():
    """With user_shortfall ignore 54 samples are enough, and user data is in the seed."""
    gate = gate_with(samples=54, user_shortfall=UserShortfall.IGNORE)
    gate.add_user_blob(TENANT, "ann", b"hello", NOW)
    [seed] = released(gate)
    assert (seed.cover, seed.user) == ((), (("ann", b"hello"),))
    assert gate.degraded


def test_user_data_enters_one_seed():
    """What one draw mixed in is gone for the next, and for the pool."""
    gate = gate_with(samples=300)
    four_users(gate)
    assert [len(seed.user) for seed in released(gate, seeds=2)] == [4, 0]
    assert [seed.user for seed in released(gate)] == [()]
    assert gate.user_millibits(TENANT, NOW) == 0


def test_a_tenants_users_are_its_own():
    """Another tenant's draw takes nothing from them."""
    gate = gate_with(samples=192)
    gate.add_user_blob(TENANT, "ann", b"hello", NOW)
    [other] = gate.try_release("other-room", 1, NOW)
    assert other.user == ()
    assert gate.user_millibits("other-room", NOW) == 0
    assert [seed.user for seed in released(gate)] == [(("ann", b"hello"),)]


def test_a_draw_of_many_seeds_gets_all_or_none():
    """Each seed has samples of its own, in order; one too few and nothing is spent."""
    gate = gate_with(samples=3 * 96 - 1)
    held(gate, seeds=3)
    deliver(gate, COUNTER[287:288])
    seeds = released(gate, seeds=3)
    whole = b"".join(s.hardware[0][1] + s.cover[0][1] for s in seeds)
    assert whole == COUNTER[:288]
    assert [len(seed.hardware[0][1]) for seed in seeds] == [54, 54, 54]


def test_several_sources_share_a_seed_by_age():
    """Older samples go first, and each source is named once in a class."""
    gate = gate_with(sources=(QUANTIS, SERIAL))
    deliver(gate, b"s" * 300, source="tty", credit=500, at=NOW - 5)
    deliver(gate, COUNTER[:96])
    [seed] = released(gate)
    assert seed.hardware == (("tty", b"s" * 300), ("quantis", COUNTER[:29]))
    assert seed.cover == (("quantis", COUNTER[29:71]),)


def test_provenance_says_where_the_bits_came_from():
    """Sources by name, driver, serial, age and state; users by number, never by name."""
    gate = gate_with(user_shortfall=UserShortfall.COVER)
    deliver(gate, COUNTER[:40], at=NOW - 2 * SECOND)
    deliver(gate, COUNTER[:60], at=NOW - SECOND)
    gate.add_user_blob(TENANT, "ann", b"abcdefg", NOW - 3 * SECOND)
    gate.add_user_blob(TENANT, "bob", b"ab", NOW)
    [seed] = released(gate)
    device = ("quantis", "hardware", "quantis-usb", "132244A410")
    assert seed.uses == (
        SourceUse("hardware", *device, 54, 324_000, 2 * SECOND, SourceState.HEALTHY),
        SourceUse("cover", *device, 41, 246_000, SECOND, SourceState.HEALTHY),
        SourceUse("user", "users", "user", "", "", 9, 3_500, 3 * SECOND, None, users=2),
    )


# --- which sources count ------------------------------------------------------------------

STATES = {
    SourceState.LOST: HoldReason.SOURCE_LOST,
    SourceState.STARTUP: HoldReason.SOURCE_STARTUP,
    SourceState.ASSESSING: HoldReason.SOURCE_ASSESSING,
    SourceState.FAILED: HoldReason.SOURCE_FAILED,
}


@pytest.mark.parametrize("state", STATES)
def test_a_required_source_that_is_not_healthy_holds_everything(state):
    """However much credit another source has, the hold names the required one."""
    gate = gate_with(sources=(SERIAL, QUANTIS), instantiated=False)
    deliver(gate, bytes(5000), source="tty", credit=500)
    assert isinstance(gate.try_instantiate(NOW), GatedSeed)
    gate.set_source("quantis", replace(QUANTIS, state=state, detail="errno 19"))
    hold = held(gate)
    assert hold.why is STATES[state]
    assert hold.text.startswith("source 'quantis' ")
    assert "awaited: " in hold.text
    assert hold.text.endswith("(errno 19)")
    assert gate.degraded
    gate.set_source("quantis", QUANTIS)
    assert not gate.degraded
    released(gate)


@pytest.mark.parametrize("state", STATES)
def test_a_source_that_is_not_healthy_does_not_count(state):
    """Its samples are withdrawn at once; they come back neither with its health nor later."""
    gate = gate_with(samples=500)
    gate.set_source("quantis", replace(QUANTIS, state=state))
    assert gate.level_millibits(NOW) == 0
    deliver(gate, COUNTER[:500])
    gate.set_source("quantis", QUANTIS)
    assert gate.level_millibits(NOW) == 0
    assert held(gate).why is HoldReason.HARDWARE_SHORT
    assert gate.take_stir().hardware == (("quantis", COUNTER[:500] * 2),)


def test_a_lost_source_that_is_not_required_does_not_hold():
    """The others go on; the draw is degraded."""
    gate = gate_with(samples=96, sources=(QUANTIS, SERIAL))
    gate.set_source("tty", replace(SERIAL, state=SourceState.LOST))
    assert gate.degraded
    released(gate)


def test_if_no_source_counts_the_hold_says_why():
    """Sources that are not required still explain a dry gate, gravest first."""
    lost = replace(SERIAL, state=SourceState.LOST)
    starting = replace(QUANTIS, state=SourceState.STARTUP, required=False)
    gate = gate_with(sources=(replace(QUANTIS, required=False), SERIAL))
    gate.set_source("tty", lost)
    gate.set_source("quantis", starting)
    hold = held(gate)
    assert (hold.why, hold.text[:12]) == (HoldReason.SOURCE_LOST, "source 'tty'")


def test_without_any_source_the_gate_is_shut():
    """A gate that knows no source holds."""
    hold = Gate(GatePolicy()).try_instantiate(NOW)
    assert isinstance(hold, Hold)
    assert (hold.why, hold.available_millibits) == (HoldReason.HARDWARE_SHORT, 0)


@pytest.mark.parametrize("kind", [SourceKind.MOCK, SourceKind.REPLAY, SourceKind.OS])
def test_only_hardware_counts(kind):
    """Emulators, recordings and the operating system are never dealt from unasked."""
    facts = replace(QUANTIS, info=replace(QUANTIS.info, kind=kind), required=False)
    gate = gate_with(sources=(facts,), instantiated=False)
    deliver(gate, COUNTER[:1000])
    hold = gate.try_instantiate(NOW)
    assert isinstance(hold, Hold)
    assert hold.why is HoldReason.SOURCE_NOT_ALLOWED
    assert f"is of kind {kind}" in hold.text


@pytest.mark.parametrize("kind", [SourceKind.MOCK, SourceKind.REPLAY])
def test_simulated_sources_count_where_the_policy_allows_them(kind):
    """Development deals from an emulator, and the provenance says so."""
    facts = replace(QUANTIS, info=replace(QUANTIS.info, kind=kind))
    gate = gate_with(sources=(facts,), samples=96, allow_simulated=True)
    assert {use.kind for use in released(gate)[0].uses} == {str(kind)}


def test_the_operating_system_counts_nowhere():
    """Allowing simulated sources does not make the OS's generator one."""
    facts = replace(QUANTIS, info=replace(QUANTIS.info, kind=SourceKind.OS))
    gate = gate_with(sources=(facts,), instantiated=False, allow_simulated=True)
    deliver(gate, COUNTER[:1000])
    assert isinstance(gate.try_instantiate(NOW), Hold)


def test_credit_that_fell_counts_for_samples_that_came_before():
    """Samples are dealt at the lower of their credit at arrival and now."""
    gate = gate_with(samples=200)
    gate.set_source("quantis", replace(QUANTIS, current_millibits=4000))
    assert gate.level_millibits(NOW) == 800_000
    assert gate.source_level_millibits("quantis", NOW) == 800_000
    assert gate.source_level_millibits("unknown", NOW) == 0
    [seed] = released(gate)
    assert [len(seed.hardware[0][1]), len(seed.cover[0][1])] == [80, 63]


def test_a_source_without_credit_does_not_count():
    """A healthy source that was assessed at 0 holds dealing, if it is required."""
    gate = gate_with(samples=200)
    gate.set_source("quantis", replace(QUANTIS, current_millibits=0))
    assert held(gate).why is HoldReason.SOURCE_ASSESSING


def test_withdrawal_empties_the_reservoir():
    """An alarm takes the credit from every waiting sample; new ones count again."""
    gate = gate_with(samples=200)
    gate.withdraw("quantis")
    assert held(gate).available_millibits == 0
    deliver(gate, COUNTER[:96])
    assert released(gate)[0].hardware == (("quantis", COUNTER[:54]),)


def test_samples_that_grew_old_are_stirred():
    """What nobody dealt from in time is handed over once, users' data too."""
    gate = gate_with(samples=96, max_sample_age_ns=SECOND)
    gate.add_user_blob(TENANT, "ann", b"hello", NOW)
    gate.add_user_blob("other", "ann", b"hullo", NOW)
    late = NOW + 60 * SECOND
    assert held(gate, now=late).available_millibits == 0
    gate.expire(late)
    stirred = gate.take_stir()
    assert stirred.hardware == (("quantis", COUNTER[:96]),)
    assert stirred.user == (("room ann", b"hello"), ("other ann", b"hullo"))
    assert not gate.take_stir()


# --- instantiation, policy, misuse -----------------------------------------------------


def test_instantiation_costs_448_bits():
    """75 samples at 6 bits, no cover and no users; 74 hold."""
    gate = gate_with(instantiated=False)
    deliver(gate, COUNTER[:74])
    hold = gate.try_instantiate(NOW)
    assert isinstance(hold, Hold)
    assert (hold.needed_millibits, hold.available_millibits) == (448_000, 444_000)
    deliver(gate, COUNTER[74:80])
    seed = gate.try_instantiate(NOW)
    assert isinstance(seed, GatedSeed)
    assert (seed.hardware, seed.cover, seed.user) == ((("quantis", COUNTER[:75]),), (), ())
    assert gate.level_millibits(NOW) == 30_000


def test_nothing_is_released_before_instantiation():
    """However much there is, a draw holds until the DRBG has had its own."""
    gate = gate_with(instantiated=False)
    deliver(gate, COUNTER[:500])
    assert (held(gate).why, gate.instantiated) == (HoldReason.NOT_INSTANTIATED, False)


def test_instantiation_holds_for_a_required_source():
    """The start waits for every required source."""
    gate = gate_with(instantiated=False, sources=(SERIAL, QUANTIS))
    deliver(gate, bytes(5000), source="tty", credit=500)
    gate.set_source("quantis", replace(QUANTIS, state=SourceState.STARTUP))
    hold = gate.try_instantiate(NOW)
    assert isinstance(hold, Hold)
    assert hold.why is HoldReason.SOURCE_STARTUP


def test_instantiating_twice_is_a_defect():
    """The samples of an instantiation are released once."""
    with pytest.raises(InternalError, match="released an instantiation before"):
        gate_with(samples=100).try_instantiate(NOW)


@pytest.mark.parametrize("seeds", [0, -1])
def test_a_draw_has_at_least_one_seed(seeds):
    """Asking for none is a defect."""
    with pytest.raises(InternalError, match="expected at least 1"):
        gate_with().try_release(TENANT, seeds, NOW)


@pytest.mark.parametrize(
    ("name", "floor"), [("hardware_bits", 320), ("user_bits", 249), ("instantiate_bits", 448)]
)
def test_a_lowered_gate_is_refused(name, floor):
    """Each floor holds to the bit, except in development, where 1 is the least."""
    policy_with(**{name: floor})
    with pytest.raises(ConfigError, match=f"gate.{name} is {floor - 1}; expected at least {floor}"):
        policy_with(**{name: floor - 1})
    policy_with(**{name: 1}, development=True)
    with pytest.raises(ConfigError, match=f"gate.{name} is 0; expected at least 1"):
        policy_with(**{name: 0}, development=True)


@pytest.mark.parametrize("bad", [{"reservoir_bytes": 1000}, {"max_sample_age_ns": 0}])
def test_a_reservoir_that_cannot_hold_a_draw_is_refused(bad):
    """A reservoir too small, or an age of nothing, would hold for ever."""
    with pytest.raises(ConfigError, match="reservoir_bytes"):
        policy_with(**bad)


def test_policy_in_one_line():
    """The line that receipts and status carry, and the most that a seed costs."""
    assert GatePolicy().describe() == "hardware=320 user=249 shortfall=cover"
    assert GatePolicy().seed_millibits == 569_000
    assert GatePolicy(user_shortfall=UserShortfall.WAIT).seed_millibits == 320_000


def test_texts_hold_no_samples():
    """A released seed shows its provenance only."""
    gate = gate_with()
    deliver(gate, b"secret" * 20)
    gate.add_user_blob(TENANT, "ann", b"private", NOW)
    text = repr(released(gate))
    assert "secret" not in text
    assert "private" not in text
    assert "ann" not in text


# --- conservation ---------------------------------------------------------------------------


# Weighted so that half of the examples deal twice or more: spent twice shows at the second seed.
KINDS = [*["deliver", "release", "user"] * 5, "credit", "withdraw", "wait"]
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 255)), min_size=10, max_size=25)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(UserShortfall)), STEPS)
def test_credit_spent_twice_would_be_seen(shortfall, steps):
    """Mutant "credit spent twice": no sample enters two seeds, and every seed was paid for.

    The n-th sample delivered holds the number n. Over any sequence of events
    the samples dealt are strictly ascending, each seed's classes are worth what
    the policy asks at the credit of the moment, and dealt, stirred and waiting
    samples add up to those delivered.
    """
    gate = gate_with(user_shortfall=shortfall, max_sample_age_ns=100)
    gate.expire(NOW)
    gate.take_stir()
    now, credit, number, dealt, stirred = NOW, 6000, 0, [], 0
    for step, amount in steps:
        if step == "deliver":
            # Two samples to a number, so that 65,536 of them tell each other apart.
            numbers = range(number, number + 100 + amount)
            number = numbers.stop
            deliver(gate, b"".join(n.to_bytes(2, "big") for n in numbers), credit=credit, at=now)
        elif step == "user":
            gate.add_user_blob(TENANT, f"user{amount % 5}", rich(amount), now)
        elif step == "credit":
            credit = 3000 + 20 * amount
            gate.set_source("quantis", replace(QUANTIS, current_millibits=credit))
        elif step == "withdraw":
            gate.withdraw("quantis")
            assert gate.level_millibits(now) == 0
        elif step == "wait":
            now += 1 + amount % 40
        else:
            before = gate.level_millibits(now)
            answer = gate.try_release(TENANT, 1 + amount % 3, now)
            if isinstance(answer, Hold):
                assert before == gate.level_millibits(now)
                continue
            uses = [use for seed in answer for use in seed.uses]
            paid = sum(use.credited_millibits for use in uses if use.entropy_class != "user")
            assert before - paid == gate.level_millibits(now) >= 0
            for seed in answer:
                check_paid(seed, shortfall)
                dealt += [data for _, data in (*seed.hardware, *seed.cover)]
        gate.expire(now)
        stirred += sum(len(data) for _, data in gate.take_stir().hardware)
    spent = b"".join(dealt)
    assert 2 * number == len(spent) + stirred + gate._reservoir.waiting_bytes
    check_ascending(dealt, number)


def check_paid(seed, shortfall):
    """A seed has 320 bits of hardware, and 249 of users and cover together where asked."""
    worth = {"hardware": 0, "cover": 0, "user": 0}
    for use in seed.uses:
        worth[use.entropy_class] += use.credited_millibits
    assert worth["hardware"] >= 320_000
    if shortfall is not UserShortfall.IGNORE:
        assert worth["user"] + worth["cover"] >= 249_000
    if shortfall is not UserShortfall.COVER:
        assert worth["cover"] == 0


def check_ascending(dealt, count):
    """Find each piece in the stream of samples, always behind the one before it."""
    stream = b"".join(n.to_bytes(2, "big") for n in range(count))
    place = 0
    for piece in dealt:
        found = stream.find(piece, place)
        assert found >= place, "a sample was dealt twice, or out of order"
        place = found + len(piece)


def test_gate_and_construction_fit():
    """What the gate releases and stirs is what the construction takes."""
    gate = gate_with(instantiated=False)
    deliver(gate, COUNTER[:75])
    construction = SeedConstruction("log.example/entropyd")
    first = gate.try_instantiate(NOW)
    assert isinstance(first, GatedSeed)
    construction.instantiate(first, bytes(64), bytes(32))
    deliver(gate, COUNTER[:400])
    four_users(gate)
    drawn = construction.seed_draw(b"x", released(gate, seeds=2), [bytes(64)] * 2)
    gate.withdraw("quantis")
    construction.stir(gate.take_stir())
    assert [len(seed) for seed in drawn.seeds] == [64, 64]
