"""Provenance: what each source gave to a draw, added up and no more than was given."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.entropy.gate import GatedBatch, GatedSeed, SourceUse
from entropyd.entropy.gated import USER_KIND, USERS_SOURCE_ID, HoldReason
from entropyd.entropy.source import SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.log.source_line import SourceCodec
from entropyd.rbg.conditioning import EntropyClass
from entropyd.service.provenance import (
    CLASSES,
    KINDS,
    STATES,
    encode_provenance,
    receipt_sources,
)
from entropyd.v1 import types_pb2

DRAWN_AT_NS = 1_700_000_000_123_456_789
MS = 10**6


def use(entropy_class="hardware", source="quantis", **changes) -> SourceUse:
    values: dict[str, Any] = {
        "kind": SourceKind.HARDWARE,
        "driver": "quantis-usb",
        "serial": "S1",
        "samples": 54,
        "credited_millibits": 324_000,
        "oldest_age_ns": 5 * MS,
        "health": SourceState.HEALTHY,
    }
    return SourceUse(entropy_class, source, **(values | changes))


def users(samples=300, millibits=249_000, age_ns=7 * MS) -> SourceUse:
    return SourceUse(
        "user", USERS_SOURCE_ID, USER_KIND, "", "", samples, millibits, age_ns, None, users=4
    )


def provenance(*seeds, degraded=False) -> types_pb2.Provenance:
    gated = [GatedSeed((), (), (), tuple(uses)) for uses in seeds]
    [encoded] = encode_provenance(
        [gated], DRAWN_AT_NS, node="dc1-a", policy="p=1", degraded=degraded
    )
    message = types_pb2.Provenance.FromString(encoded)
    assert message.SerializeToString(deterministic=True) == encoded
    return message


def rows(message) -> list[tuple[object, ...]]:
    return [
        (
            getattr(source, "class"),
            source.source,
            source.samples,
            source.credited_millibits,
            source.age.ToNanoseconds(),
        )
        for source in message.sources
    ]


def test_one_seed_tells_what_each_class_took():
    message = provenance([use(), use("cover", samples=42, credited_millibits=252_000)])
    assert [
        (types_pb2.SOURCE_CLASS_HARDWARE, "quantis", 54, 324_000, 5 * MS),
        (types_pb2.SOURCE_CLASS_COVER, "quantis", 42, 252_000, 5 * MS),
        (types_pb2.SOURCE_CLASS_OS, "getrandom", 64, 0, 0),
    ] == rows(message)
    first = message.sources[0]
    assert (
        "quantis-usb",
        "S1",
        types_pb2.SOURCE_STATE_HEALTHY,
        types_pb2.SOURCE_KIND_HARDWARE,
    ) == (
        first.driver,
        first.serial,
        first.health,
        first.kind,
    )


def test_seeds_are_added_up_by_source_and_class_with_the_age_of_the_oldest():
    """The age is the highest, whichever seed has it; the system gives 64 bytes a seed."""
    message = provenance(
        [use(oldest_age_ns=5 * MS)],
        [use(oldest_age_ns=9 * MS), use(source="tty", driver="serial", serial="FT1")],
        [use(oldest_age_ns=1 * MS)],
    )
    assert [
        (types_pb2.SOURCE_CLASS_HARDWARE, "quantis", 3 * 54, 3 * 324_000, 9 * MS),
        (types_pb2.SOURCE_CLASS_HARDWARE, "tty", 54, 324_000, 5 * MS),
        (types_pb2.SOURCE_CLASS_OS, "getrandom", 3 * 64, 0, 0),
    ] == rows(message)
    assert 3 == message.seeds


def test_users_are_one_entry_and_none_is_named():
    message = provenance([use(), users()], [use(), users(samples=20)])
    entry = message.sources[1]
    assert (types_pb2.SOURCE_CLASS_USER, "users", 320, 498_000, 7 * MS) == rows(message)[1]
    assert ("", "", types_pb2.SOURCE_STATE_UNSPECIFIED, types_pb2.SOURCE_KIND_USER) == (
        entry.driver,
        entry.serial,
        entry.health,
        entry.kind,
    )


def test_the_draw_tells_node_policy_time_and_construction():
    message = provenance([use()])
    assert ("dc1-a", "p=1", DRAWN_AT_NS, types_pb2.CONSTRUCTION_SINGLE, 1) == (
        message.node,
        message.policy,
        message.drawn_at.ToNanoseconds(),
        message.construction,
        message.seeds,
    )


@pytest.mark.parametrize(
    ("kind", "mock"),
    [(SourceKind.HARDWARE, False), (SourceKind.MOCK, True), (SourceKind.REPLAY, True)],
)
def test_a_simulated_source_makes_the_draw_mock(kind, mock):
    """One sample of one is enough, in whatever class and seed."""
    message = provenance([use()], [use(), use("cover", source="other", kind=kind)])
    assert mock == message.mock


@pytest.mark.parametrize("degraded", [True, False])
def test_degraded_is_told_as_the_gate_says(degraded):
    assert degraded == provenance([use()], degraded=degraded).degraded


def test_every_class_kind_and_state_has_its_number_on_the_wire():
    """And no two the same; None is what users and the system have for a state."""
    assert set(EntropyClass) == set(CLASSES)
    assert {*SourceKind, USER_KIND} == set(KINDS)
    assert {*SourceState, None} == set(STATES)
    for table in (CLASSES, KINDS, STATES):
        assert len(table) == len(set(table.values()))


def test_the_same_draw_has_the_same_bytes():
    """They are stored once and answered as stored."""
    seeds = [GatedSeed((), (), (), (use(), users()))]
    encoded = [
        encode_provenance([seeds, seeds], DRAWN_AT_NS, node="n", policy="p", degraded=False)
        for _ in range(2)
    ]
    assert encoded[0] == encoded[1]
    assert encoded[0][0] == encoded[0][1]


def test_hands_of_a_batch_tell_their_own_and_what_they_share():
    """The system's bytes are in what they share alone; a mock there is a mock of each."""
    own = [GatedSeed((), (), (), (use(samples=number),)) for number in (54, 55)]
    shared = GatedSeed((), (), (), (use(source="tty", kind=SourceKind.MOCK), users()))
    batch = GatedBatch(shared, tuple(own))
    encoded = encode_provenance(
        [[seed] for seed in own], DRAWN_AT_NS, node="n", policy="p", degraded=True, batch=batch
    )
    messages = [types_pb2.Provenance.FromString(one) for one in encoded]
    for message, one, samples in zip(messages, encoded, (54, 55), strict=True):
        assert message.SerializeToString(deterministic=True) == one
        assert [(types_pb2.SOURCE_CLASS_HARDWARE, "quantis", samples, 324_000, 5 * MS)] == rows(
            message
        )
        assert ["tty", "users", "getrandom"] == [use.source for use in message.shared_sources]
        assert (types_pb2.CONSTRUCTION_BATCH, 2, 1, True, True) == (
            message.construction,
            message.batch_hands,
            message.seeds,
            message.mock,
            message.degraded,
        )


uses = st.builds(
    use,
    st.sampled_from(["hardware", "cover"]),
    st.sampled_from(["quantis", "tty"]),
    samples=st.integers(1, 100),
    credited_millibits=st.integers(0, 10**6),
    oldest_age_ns=st.integers(0, 60 * 10**9),
)


@given(st.lists(st.lists(uses, max_size=4), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_nothing_is_lost_or_made_in_adding_up(seeds):
    """Samples and credit of every source and class are the sums of the seeds' own."""
    message = provenance(*seeds)
    told = {(row[0], row[1]): row[2:] for row in rows(message)}
    assert len(told) == len(message.sources)
    expected: dict[tuple[object, str], list[int]] = {
        (types_pb2.SOURCE_CLASS_OS, "getrandom"): [64 * len(seeds), 0, 0]
    }
    for each in (each for seed in seeds for each in seed):
        key = CLASSES[EntropyClass(each.entropy_class)], each.source_id
        sums = expected.setdefault(key, [0, 0, 0])
        sums[0] += each.samples
        sums[1] += each.credited_millibits
        sums[2] = max(sums[2], each.oldest_age_ns)
    assert {key: tuple(sums) for key, sums in expected.items()} == told


def test_hold_reasons_are_upper_snake():
    """They are what status and ErrorInfo tell programs."""
    assert all(reason.isupper() and reason.isidentifier() for reason in HoldReason)


# --- as receipts tell it -----------------------------------------------------------------


def lines(*seeds, batch=None) -> list[str]:
    gated = [GatedSeed((), (), (), tuple(uses)) for uses in seeds]
    [sources] = receipt_sources([gated], policy="p=1", degraded=False, batch=batch)
    return [SourceCodec().encode("source", line) for line in sources.lines]


def test_a_receipt_tells_what_the_answer_does_in_whole_bits_and_milliseconds():
    assert [
        (
            "class=hardware kind=hardware driver=quantis-usb serial=S1 samples=108 credited=649"
            " age=9 health=healthy"
        ),
        "class=user kind=user driver= serial= samples=300 credited=249 age=7 health=none",
        "class=os kind=os driver= serial= samples=128 credited=0 age=0 health=none",
    ] == lines(
        [use(credited_millibits=324_999, oldest_age_ns=9 * MS + 999_999), users()],
        [use(credited_millibits=324_999)],
    )


def test_the_receipt_of_a_hand_of_a_batch_tells_what_they_share():
    shared = GatedSeed((), (), (), (use(samples=75, credited_millibits=450_000), users()))
    own = GatedSeed((), (), (), (use(),))
    assert [
        (
            "class=hardware kind=hardware driver=quantis-usb serial=S1 samples=54 credited=324"
            " age=5 health=healthy"
        ),
        (
            "class=batch-hardware kind=hardware driver=quantis-usb serial=S1 samples=75"
            " credited=450 age=5 health=healthy"
        ),
        "class=batch-user kind=user driver= serial= samples=300 credited=249 age=7 health=none",
        "class=batch-os kind=os driver= serial= samples=64 credited=0 age=0 health=none",
    ] == lines([use()], batch=GatedBatch(shared, (own,)))


@pytest.mark.parametrize("state", SourceState)
@pytest.mark.parametrize("kind", SourceKind)
def test_every_kind_and_state_has_its_word_in_a_receipt(kind, state):
    [line, _] = lines([use(kind=kind, health=state)])
    assert f" kind={kind} " in line
    assert line.endswith(f" health={state}")
