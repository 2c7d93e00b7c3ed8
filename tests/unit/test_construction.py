"""The seed construction: its bytes, rebuilt by hand, and its error state."""

import hashlib
import hmac
import struct
from dataclasses import dataclass, replace

import pytest

from entropyd.errors import (
    DrbgInputError,
    InternalError,
    NotInstantiatedError,
    RequestError,
    RequestTooLargeError,
    SelfTestError,
)
from entropyd.rbg.construction import (
    ConstructionState,
    DrawSeeds,
    GrowingSeeds,
    SeedConstruction,
)
from entropyd.rbg.hmac_drbg import HmacDrbg

ORIGIN = "log.example/entropyd"
X = b"entropyd/hand/v1 stand-in"
NONCE = bytes(range(32))
OS = [bytes([number]) * 64 for number in range(8)]


@dataclass(frozen=True)
class Samples:
    """What a gate would release."""

    hardware: tuple[tuple[str, bytes], ...] = ()
    cover: tuple[tuple[str, bytes], ...] = ()
    user: tuple[tuple[str, bytes], ...] = ()


FIRST = Samples((("quantis", b"h" * 75),))
SEEDS = [
    Samples(
        hardware=(("quantis", bytes([n]) * 54), ("serial", bytes([n + 1]) * 10)),
        cover=(("quantis", bytes([n + 2]) * 42),),
        user=(("zoe", b"z"), ("ann", b"a")),
    )
    for n in range(3)
]


def prefixed(data):
    return struct.pack(">I", len(data)) + data


class ByHand:
    """The construction written from docs/protocol.md and SP 800-90A alone."""

    def __init__(self, origin, first, os_samples, nonce):
        self.K, self.V = bytes(64), b"\x01" * 64
        text = prefixed(b"entropyd/drbg/v1") + prefixed(origin.encode())
        self.update(self.entropy(first, os_samples) + nonce + text)

    def update(self, data):
        for mark in (b"\x00", b"\x01") if data else (b"\x00",):
            self.K = hmac.new(self.K, self.V + mark + data, "sha512").digest()
            self.V = hmac.new(self.K, self.V, "sha512").digest()

    def entropy(self, samples, os_samples):
        classes = [
            (b"hardware", samples.hardware),
            (b"cover", samples.cover),
            (b"user", samples.user),
            (b"os", (("getrandom", os_samples),) if os_samples else ()),
        ]
        parts = []
        for name, sources in classes:
            message = prefixed(b"entropyd/condition/v1") + prefixed(name)
            for source_id, data in sorted(sources):
                message += prefixed(source_id.encode()) + prefixed(data)
            parts.append(hashlib.sha512(message).digest())
        return b"".join(parts)

    def generate(self, count):
        output = b""
        while len(output) < count:
            self.V = hmac.new(self.K, self.V, "sha512").digest()
            output += self.V
        self.update(b"")
        return output[:count]

    def batch(self, shared, os_samples, bindings, hands):
        label = prefixed(b"entropyd/batch/v1") + struct.pack(">I", len(hands))
        self.update(self.entropy(shared, os_samples) + label)
        output = b"".join(
            self.generate(128 * min(512, len(hands) - first)) for first in range(0, len(hands), 512)
        )
        for number, (x, samples) in enumerate(zip(bindings, hands, strict=True)):
            own = output[128 * number :][:128]
            message = prefixed(b"entropyd/batch-seed/v1") + prefixed(x)
            message += self.entropy(samples, b"")[:128]
            seed = hmac.new(own[:64], message, "sha512").digest()
            yield DrawSeeds((seed,), own[64:96], own[96:])

    def stir(self, samples):
        self.update(self.entropy(samples, b"") + prefixed(b"entropyd/stir/v1"))

    def part(self, x, segment, samples, fresh, blocks=1):
        binding = prefixed(b"entropyd/seed/v1") + prefixed(x) + struct.pack(">I", segment)
        self.update(self.entropy(samples, fresh) + binding)
        return self.generate(64 * blocks)

    def seed_draw(self, x, gated, os_samples):
        output = b""
        for s, (samples, fresh) in enumerate(zip(gated, os_samples, strict=True)):
            output += self.part(x, s, samples, fresh, 2 if s == len(gated) - 1 else 1)
        seeds, keys = output[:-64], output[-64:]
        blocks = tuple(seeds[at : at + 64] for at in range(0, len(seeds), 64))
        return DrawSeeds(blocks, keys[:32], keys[32:])


def ready(**arguments):
    construction = SeedConstruction(ORIGIN, **arguments)
    construction.instantiate(FIRST, OS[0], NONCE)
    return construction


@pytest.mark.parametrize("segments", [1, 2, 3])
def test_seeds_equal_those_computed_by_hand(segments):
    """Two draws in a row give the seeds, r and K that the protocol's text gives."""
    construction, by_hand = ready(), ByHand(ORIGIN, FIRST, OS[0], NONCE)
    for x in (X, b"another hand"):
        expected = by_hand.seed_draw(x, SEEDS[:segments], OS[:segments])
        assert expected == construction.seed_draw(x, SEEDS[:segments], OS[:segments])


@pytest.mark.parametrize("parts", [[3], [1, 2], [2, 1], [1, 1, 1]])
def test_seeds_made_in_parts_are_the_same(parts):
    """However the samples of three seeds come in, the seeds, r and K are those of one draw."""
    construction, whole = ready(), ready().seed_draw(X, SEEDS, OS[:3])
    growing = GrowingSeeds(X, 3)
    for count in parts:
        first = 3 - growing.missing
        part = slice(first, first + count)
        construction.seed_part(growing, SEEDS[part], OS[:3][part])
    assert growing.missing == 0
    assert whole == growing.drawn()


def test_other_draws_may_be_made_between_the_parts_of_one():
    """Each draw then has the seeds that follow from the order in which they were made."""
    construction, by_hand = ready(), ByHand(ORIGIN, FIRST, OS[0], NONCE)
    growing = GrowingSeeds(X, 2)
    construction.seed_part(growing, SEEDS[:1], OS[:1])
    between = construction.seed_draw(b"another", SEEDS[1:2], OS[1:2])
    construction.seed_part(growing, SEEDS[2:], OS[2:3])
    first = by_hand.part(X, 0, SEEDS[0], OS[0])
    assert between == by_hand.seed_draw(b"another", SEEDS[1:2], OS[1:2])
    last = by_hand.part(X, 1, SEEDS[2], OS[2], blocks=2)
    assert growing.drawn() == DrawSeeds((first, last[:64]), last[64:96], last[96:])


@pytest.mark.parametrize("count", [0, 3])
def test_a_part_that_does_not_fit_latches(count):
    """No seed is made that nobody lacks, and none of nothing."""
    construction, growing = ready(), GrowingSeeds(X, 2)
    with pytest.raises(InternalError, match=f"{count} gated seeds .* lacks 2"):
        construction.seed_part(growing, SEEDS[:count], OS[:count])
    assert_dead(construction)


def test_stirring_equals_the_computation_by_hand():
    """A stir is a reseed that later seeds depend on."""
    construction, by_hand = ready(), ByHand(ORIGIN, FIRST, OS[0], NONCE)
    stirred = Samples(hardware=(("quantis", b"old"),), user=(("tenant ann", b"older"),))
    by_hand.stir(stirred)
    construction.stir(stirred)
    expected = by_hand.seed_draw(X, SEEDS[:1], OS[:1])
    assert expected == construction.seed_draw(X, SEEDS[:1], OS[:1])
    assert expected != ready().seed_draw(X, SEEDS[:1], OS[:1])


def test_lengths_of_what_comes_out():
    """64 bytes a segment, 32 of blinding, 32 of salt key, all of them different."""
    drawn = ready().seed_draw(X, SEEDS, OS[:3])
    assert [len(part) for part in (*drawn.seeds, drawn.blinding, drawn.salt_key)] == [
        64,
        64,
        64,
        32,
        32,
    ]
    assert len({*(seed[:32] for seed in drawn.seeds), drawn.blinding, drawn.salt_key}) == 5


def flip(data):
    return bytes([data[0] ^ 1]) + data[1:]


CHANGES = {
    "hardware": lambda s: replace(s, hardware=(("quantis", flip(s.hardware[0][1])), s.hardware[1])),
    "second hardware source": lambda s: replace(
        s, hardware=(s.hardware[0], ("serial", flip(s.hardware[1][1])))
    ),
    "cover": lambda s: replace(s, cover=(("quantis", flip(s.cover[0][1])),)),
    "user": lambda s: replace(s, user=(("zoe", b"y"), ("ann", b"a"))),
    "user's name": lambda s: replace(s, user=(("zoe", b"z"), ("bob", b"a"))),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("segment", [0, 1, 2])
def test_reseed_skipped_or_class_dropped_would_be_seen(change, segment):
    """Mutants "reseed skipped" and "a class dropped from conditioning".

    One bit of one class of segment s leaves the seeds before it as they were,
    and changes seed s, every later one, r and K.
    """
    plain = ready().seed_draw(X, SEEDS, OS[:3])
    changed_seeds = list(SEEDS)
    changed_seeds[segment] = CHANGES[change](SEEDS[segment])
    changed = ready().seed_draw(X, changed_seeds, OS[:3])
    differs = [a != b for a, b in zip(plain.seeds, changed.seeds, strict=True)]
    assert [number >= segment for number in range(3)] == differs
    assert plain.blinding != changed.blinding
    assert plain.salt_key != changed.salt_key


def test_os_samples_are_mixed_into_every_seed():
    """One bit of a segment's getrandom changes its seed."""
    plain = ready().seed_draw(X, SEEDS[:2], OS[:2])
    changed = ready().seed_draw(X, SEEDS[:2], [OS[0], flip(OS[1])])
    assert [a != b for a, b in zip(plain.seeds, changed.seeds, strict=True)] == [False, True]


@pytest.mark.parametrize(("origin", "nonce"), [("log.example/other", NONCE), (ORIGIN, flip(NONCE))])
def test_instances_differ_by_origin_and_nonce(origin, nonce):
    """Another log, or another nonce, has other seeds from the same samples."""
    construction = SeedConstruction(origin)
    construction.instantiate(FIRST, OS[0], nonce)
    assert construction.seed_draw(X, SEEDS, OS[:3]) != ready().seed_draw(X, SEEDS, OS[:3])


def test_x_is_bound_into_the_seed():
    """The same samples for another hand give other seeds."""
    assert ready().seed_draw(X, SEEDS, OS[:3]) != ready().seed_draw(X + b"!", SEEDS, OS[:3])


# --- states -------------------------------------------------------------------


def assert_dead(construction):
    """There is no output, and no way back."""
    assert construction.state is ConstructionState.ERROR
    for operation in (
        lambda: construction.seed_draw(X, SEEDS[:1], OS[:1]),
        lambda: construction.stir(Samples()),
        lambda: construction.instantiate(FIRST, OS[0], NONCE),
    ):
        with pytest.raises(NotInstantiatedError, match="state error; expected ready"):
            operation()


def test_nothing_comes_before_instantiation():
    """Asking too early is refused, and does no harm."""
    construction = SeedConstruction(ORIGIN)
    for operation in (
        lambda: construction.seed_draw(X, SEEDS[:1], OS[:1]),
        lambda: construction.stir(Samples()),
    ):
        with pytest.raises(NotInstantiatedError, match="state uninstantiated"):
            operation()
    construction.instantiate(FIRST, OS[0], NONCE)
    assert construction.instantiated
    assert ready().seed_draw(X, SEEDS, OS[:3]) == construction.seed_draw(X, SEEDS, OS[:3])


def test_a_failed_known_answer_test_latches():
    """The tests run before the DRBG is instantiated; a failure is final."""

    def broken():
        raise SelfTestError("known-answer test SHA-512 gave another answer than published")

    construction = SeedConstruction(ORIGIN, self_test=broken)
    with pytest.raises(SelfTestError):
        construction.instantiate(FIRST, OS[0], NONCE)
    assert_dead(construction)


def test_known_answer_tests_run_at_every_start():
    """Instantiating runs them, once."""
    runs = []
    ready(self_test=lambda: runs.append("run"))
    assert runs == ["run"]


def test_instantiating_twice_latches():
    """A second instantiation is a defect, and a defect ends all output."""
    construction = ready()
    with pytest.raises(InternalError, match="instantiated already"):
        construction.instantiate(FIRST, OS[0], NONCE)
    assert_dead(construction)


@pytest.mark.parametrize(
    ("gated", "os_samples", "text"),
    [
        ([], [], "0 gated seeds"),
        (SEEDS[:2], OS[:1], "2 gated seeds with 1 samples"),
        (SEEDS[:1], [b"short"], "sample of getrandom has 5 bytes; expected 64"),
        ([Samples(hardware=(("q", b"1"), ("q", b"2")))], OS[:1], "'q' stands twice"),
    ],
)
def test_a_malformed_draw_latches(gated, os_samples, text):
    """Nothing comes of a draw with a wrong shape, nor of any after it."""
    construction = ready()
    with pytest.raises(InternalError, match=text):
        construction.seed_draw(X, gated, os_samples)
    assert_dead(construction)


def test_a_short_nonce_latches():
    """The nonce is 32 bytes, no fewer."""
    construction = SeedConstruction(ORIGIN)
    with pytest.raises(InternalError, match="nonce has 31 bytes; expected 32"):
        construction.instantiate(FIRST, OS[0], NONCE[1:])
    assert_dead(construction)


class LateHmac:
    """HMAC that fails from a given call on."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, key, message, name):
        self.calls -= 1
        if self.calls < 0:
            raise MemoryError
        return hmac.digest(key, message, name)


# instantiate 4 calls; a seed: reseed 4, blocks 2, update 2.
@pytest.mark.parametrize("calls", range(12))
def test_any_failure_inside_the_drbg_latches(calls):
    """Wherever the hash function fails, there is no output ever after."""
    construction = SeedConstruction(ORIGIN, drbg=HmacDrbg(hmac_function=LateHmac(calls)))
    with pytest.raises(MemoryError):  # noqa: PT012 - either may be the one that fails
        construction.instantiate(FIRST, OS[0], NONCE)
        construction.seed_draw(X, SEEDS[:1], OS[:1])
    assert_dead(construction)


def test_a_failure_while_stirring_latches():
    """A stir that fails half way leaves a state that nothing may come from."""
    construction = ready(drbg=HmacDrbg(hmac_function=LateHmac(5)))
    with pytest.raises(MemoryError):
        construction.stir(Samples())
    assert_dead(construction)


@pytest.mark.parametrize("error", [RequestTooLargeError, DrbgInputError])
def test_a_refusal_by_the_drbg_latches(error):
    """A DrbgError is a defect above it: it ends all output."""

    class Refusing(HmacDrbg):
        __slots__ = ()

        def generate(self, requested_number_of_bits, additional_input=b""):
            raise error("refused")

    construction = ready(drbg=Refusing())
    with pytest.raises(error):
        construction.seed_draw(X, SEEDS[:1], OS[:1])
    assert_dead(construction)


def test_origin_is_an_id():
    """A log's name with a space is refused."""
    with pytest.raises(RequestError, match="origin"):
        SeedConstruction("my log")


def test_texts_hold_no_secret():
    """Seeds and keys are in no repr."""
    drawn = ready().seed_draw(X, SEEDS, OS[:3])
    assert repr(drawn) == "DrawSeeds()"


# --- batches -----------------------------------------------------------------


def batch_of(count):
    """Return bindings and samples of so many hands."""
    bindings = [b"hand %d" % number for number in range(count)]
    return bindings, [replace(SEEDS[number % 3], user=()) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 512, 513])
def test_a_batch_equals_the_computation_by_hand(count):
    """One reseed for all, a request for every 512, a seed from each hand's own samples."""
    construction, by_hand = ready(), ByHand(ORIGIN, FIRST, OS[0], NONCE)
    made = construction.seed_batch(SEEDS[0], OS[0], *batch_of(count))
    assert list(by_hand.batch(SEEDS[0], OS[0], *batch_of(count))) == made
    # And what comes after it goes on from where it ended.
    expected = by_hand.seed_draw(X, SEEDS[1:2], OS[1:2])
    assert expected == construction.seed_draw(X, SEEDS[1:2], OS[1:2])


@pytest.mark.parametrize("change", ["shared", "os", "hardware", "cover", "binding"])
def test_what_a_batch_is_made_from_is_in_its_seeds(change):
    """What is shared reaches every hand, what is a hand's own that hand alone."""
    bindings, hands = batch_of(3)
    shared, fresh = SEEDS[0], OS[0]
    before = ready().seed_batch(shared, fresh, bindings, hands)
    match change:
        case "shared":
            shared = replace(shared, user=(("zoe", b"y"),))
        case "os":
            fresh = OS[1]
        case "binding":
            bindings[1] += b"!"
        case _:
            hands[1] = replace(hands[1], **{change: (("quantis", b"other"),)})
    after = ready().seed_batch(shared, fresh, bindings, hands)
    changed = [old.seeds != new.seeds for old, new in zip(before, after, strict=True)]
    keys = [old.blinding != new.blinding for old, new in zip(before, after, strict=True)]
    of_all = change in {"shared", "os"}
    assert changed == [of_all, True, of_all]
    assert keys == [of_all] * 3


@pytest.mark.parametrize(
    ("bindings", "hands"),
    [([], []), ([X], []), ([X], [SEEDS[0], SEEDS[1]]), ([X], [Samples((("q", b""),))])],
)
def test_a_malformed_batch_latches(bindings, hands):
    """No hands, not as many as bindings, or a source without samples: a defect, and the end."""
    construction = ready()
    with pytest.raises(InternalError):
        construction.seed_batch(SEEDS[0], OS[0], bindings, hands)
    assert construction.state is ConstructionState.ERROR
    with pytest.raises(NotInstantiatedError):
        construction.seed_batch(SEEDS[0], OS[0], [X], [SEEDS[0]])
