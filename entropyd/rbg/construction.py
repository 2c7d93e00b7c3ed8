"""The construction around the DRBG: how gated samples become the seeds of one draw.

An RBG2(P) of SP 800-90C in shape: one HMAC_DRBG with SHA-512, reseeded from
the physical source for every seed (prediction resistance), never forked. No
full-entropy output is claimed. Hands of one segment that are drawn together
share a reseed, and each keeps samples of its own.

This module decides nothing about entropy: the gate vouches that every seed's
samples carry the credit that the policy asks for, and the caller brings fresh
output of the operating system's generator, which is mixed and never counted.

Spec: docs/protocol.md, "RBG"; SP 800-90C, section 5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn, Protocol, TypeVar

from entropyd.encoding import check_id, lp, u32
from entropyd.errors import InternalError, NotInstantiatedError
from entropyd.keyed_hash import digest
from entropyd.rbg.conditioning import EntropyClass, SourceSamples, condition, entropy_input
from entropyd.rbg.hmac_drbg import MAX_NUMBER_OF_BITS_PER_REQUEST, HashFunction, HmacDrbg
from entropyd.rbg.kat import run_known_answer_tests

PERSONALIZATION_LABEL = b"entropyd/drbg/v1"
SEED_LABEL = b"entropyd/seed/v1"
STIR_LABEL = b"entropyd/stir/v1"
BATCH_LABEL = b"entropyd/batch/v1"
BATCH_SEED_LABEL = lp(b"entropyd/batch-seed/v1")

# The one source of class `os`: getrandom(2), 64 bytes for every seed, which is
# what SHA-512 can carry of it.
OS_SOURCE_ID = "getrandom"
OS_SAMPLE_BYTES = 64
# Twice what half the security strength asks of a nonce.
NONCE_BYTES = 32

SEED_BYTES = 64
BLINDING_BYTES = 32
SALT_KEY_BYTES = 32
# A seed or k_j, then r, then K.
HAND_BYTES = SEED_BYTES + BLINDING_BYTES + SALT_KEY_BYTES
# 512: what one request of SP 800-90A may ask for.
HANDS_A_REQUEST = MAX_NUMBER_OF_BITS_PER_REQUEST // (8 * HAND_BYTES)

T = TypeVar("T")


class HandSamples(Protocol):
    """The samples of one hand of a batch, as the gate released them. Each source once a class."""

    @property
    def hardware(self) -> Sequence[SourceSamples]:
        """Samples whose credit opened the gate."""
        ...

    @property
    def cover(self) -> Sequence[SourceSamples]:
        """Hardware samples that stand in for missing user bits."""
        ...


class GatedSamples(HandSamples, Protocol):
    """The samples of one seed, as the gate released them. Each source once a class."""

    @property
    def user(self) -> Sequence[SourceSamples]:
        """User data by user id."""
        ...


class StirredSamples(Protocol):
    """Samples that will never be dealt from. Each source once a class."""

    @property
    def hardware(self) -> Sequence[SourceSamples]:
        """Samples by source."""
        ...

    @property
    def user(self) -> Sequence[SourceSamples]:
        """User data by user."""
        ...


@dataclass(frozen=True, slots=True)
class DrawSeeds:
    """What one draw is made from. Every field is secret until revealed.

    Attributes:
        seeds: S_0, S_1, ...: 64 bytes for each segment.
        blinding: r, 32 bytes: blinds the commitment.
        salt_key: K, 32 bytes: salts the leaves of the deck root.
    """

    seeds: tuple[bytes, ...] = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)


class GrowingSeeds:
    """The seeds of one draw whose samples come in parts. Made by `SeedConstruction.seed_part`.

    Attributes:
        binding: X of the draw.
        segments: how many seeds it takes, at least 1.
    """

    __slots__ = ("_output", "binding", "segments")

    def __init__(self, binding: bytes, segments: int) -> None:
        """Begin without seeds."""
        self.binding = binding
        self.segments = segments
        self._output: list[bytes] = []

    @property
    def missing(self) -> int:
        """How many seeds are still to be made."""
        return self.segments - len(self._output)

    def add(self, output: bytes) -> None:
        """Take what the generator gave for the next segment."""
        self._output.append(output)

    def drawn(self) -> DrawSeeds:
        """Return the seeds and the keys, which the last request gave; nothing may be missing."""
        *firsts, last = self._output
        keys = last[SEED_BYTES:]
        return DrawSeeds((*firsts, last[:SEED_BYTES]), keys[:BLINDING_BYTES], keys[BLINDING_BYTES:])


class ConstructionState(Enum):
    """Where a construction stands. `ERROR` is final."""

    UNINSTANTIATED = "uninstantiated"
    READY = "ready"
    ERROR = "error"


class SeedConstruction:
    """The daemon's one DRBG and the only ways in and out of it.

    Owned by the event-loop thread. Whatever is raised after an operation has
    begun, by a known-answer test, the DRBG or a defect, latches the error
    state: there is no output from then on, and the process must be restarted.
    """

    def __init__(
        self,
        origin: str,
        *,
        self_test: Callable[[], None] = run_known_answer_tests,
        drbg: HmacDrbg | None = None,
    ) -> None:
        """Prepare a construction for the log named `origin`.

        Args:
            origin: name of the log whose draws come from here; an id.
            self_test: runs every known-answer test and raises if one fails.
            drbg: the SHA-512 instance to use; another one in tests only.

        Raises:
            RequestError: `origin` is not an id.
        """
        self._personalization_string = lp(PERSONALIZATION_LABEL) + lp(check_id("origin", origin))
        self._self_test = self_test
        self._drbg = drbg or HmacDrbg(HashFunction.SHA_512)
        self._state = ConstructionState.UNINSTANTIATED

    @property
    def state(self) -> ConstructionState:
        """Where the construction stands."""
        return self._state

    @property
    def instantiated(self) -> bool:
        """Whether seeds can be made."""
        return self._state is ConstructionState.READY

    def instantiate(self, gated: GatedSamples, os_samples: bytes, nonce: bytes) -> None:
        """Run the known-answer tests, then instantiate the DRBG.

        Args:
            gated: samples that the gate released for instantiation: at least
                448 credited bits of class hardware, strength 256 plus half of
                it for the nonce plus the 64-bit margin of SP 800-90C.
            os_samples: 64 fresh bytes of getrandom.
            nonce: 32 more fresh bytes of getrandom.

        Raises:
            SelfTestError: a known-answer test failed. Error state.
            InternalError: instantiated before, or a length is wrong. Error state.
            NotInstantiatedError: in the error state already.
        """
        if self._state is ConstructionState.ERROR:
            self._refuse()
        try:
            if self._state is not ConstructionState.UNINSTANTIATED:
                raise InternalError("construction is instantiated already; expected to be once")
            self._self_test()
            _check_bytes("nonce", nonce, NONCE_BYTES)
            entropy = _seed_entropy(gated, os_samples)
            self._drbg.instantiate(entropy, nonce, self._personalization_string)
        except BaseException:
            self.enter_error_state()
            raise
        self._state = ConstructionState.READY

    def seed_draw(
        self, x: bytes, gated: Sequence[GatedSamples], os_samples: Sequence[bytes]
    ) -> DrawSeeds:
        """Make the seeds of one draw: a reseed from fresh samples for every segment.

        Segment s: reseed(the four e_class, LP("entropyd/seed/v1") || LP(X) ||
        u32(s)), then generate 64 bytes. The last request asks for 128: seed,
        blinding, salt key. Inside one request a later block is HMAC of an
        earlier one under a key that the request then throws away, so revealing
        the first block tells nothing about the second.

        Args:
            x: X, which binds everything that the draw depends on.
            gated: what the gate released for each segment, in order; at least one.
            os_samples: 64 fresh bytes of getrandom for each segment.

        Returns:
            The seeds, one a segment, and the draw's two keys.

        Raises:
            NotInstantiatedError: not instantiated yet, or in the error state.
                Nothing was output; the samples must count as spent.
            InternalError: a length is wrong. Error state.
            DrbgError: the DRBG refused. Error state.
        """
        return self._guarded(lambda: self._seed_draw(x, gated, os_samples))

    def seed_part(
        self, growing: GrowingSeeds, gated: Sequence[GatedSamples], os_samples: Sequence[bytes]
    ) -> None:
        """Make the next seeds of a draw, as `seed_draw` makes them. Others may be made in between.

        Args:
            growing: what was made of it so far.
            gated: what the gate released for the next segments, in order; at least one, and no
                more than are missing.
            os_samples: 64 fresh bytes of getrandom for each of them.

        Raises:
            NotInstantiatedError: not instantiated yet, or in the error state.
                Nothing was output; the samples must count as spent.
            InternalError: a length is wrong, or more came than are missing. Error state.
            DrbgError: the DRBG refused. Error state.
        """
        self._guarded(lambda: self._seed_part(growing, gated, os_samples))

    def seed_batch(
        self,
        shared: GatedSamples,
        os_samples: bytes,
        bindings: Sequence[bytes],
        hands: Sequence[HandSamples],
    ) -> list[DrawSeeds]:
        """Make the seeds of hands of one segment each, all from one reseed.

        reseed(the four e_class of `shared`, LP("entropyd/batch/v1") || u32(N)),
        then k_j, r_j, K_j of every hand, 512 hands a request. The seed of a hand
        is HMAC-SHA-512(k_j, LP("entropyd/batch-seed/v1") || LP(X_j) ||
        e_hardware,j || e_cover,j): who knows the generator's state still lacks
        what the hand's own samples hold.

        Args:
            shared: what the gate released for the reseed, a seed's worth.
            os_samples: 64 fresh bytes of getrandom.
            bindings: X of each hand. The caller vouches that its draw has one segment.
            hands: what the gate released for each hand, in the same order; at least one.

        Returns:
            One for each hand, in order.

        Raises:
            NotInstantiatedError: not instantiated yet, or in the error state.
                Nothing was output; the samples must count as spent.
            InternalError: a length is wrong. Error state.
            DrbgError: the DRBG refused. Error state.
        """
        return self._guarded(lambda: self._seed_batch(shared, os_samples, bindings, hands))

    def stir(self, stirred: StirredSamples) -> None:
        """Mix in samples that will never be dealt from: too old, pushed out, or mistrusted.

        reseed(entropy_input = the four e_class, `hardware` and `user` of the
        stirred samples, `cover` and `os` without any; additional_input =
        LP("entropyd/stir/v1")). No credit is given: this cannot open the gate,
        and every seed has a reseed of its own after it. It cannot do harm
        either: who chose every stirred byte still does not know the key.

        Args:
            stirred: the samples.

        Raises:
            NotInstantiatedError: not instantiated yet, or in the error state.
                Nothing was stirred.
            InternalError: a source stands twice in a class. Error state.
            DrbgError: the DRBG refused. Error state.
        """
        self._guarded(
            lambda: self._drbg.reseed(
                entropy_input(hardware=stirred.hardware, user=stirred.user), lp(STIR_LABEL)
            )
        )

    def enter_error_state(self) -> None:
        """Drop the DRBG's state for good; there is no output from here any more."""
        self._state = ConstructionState.ERROR
        self._drbg.enter_error_state()

    def _guarded(self, operation: Callable[[], T]) -> T:
        """Return what `operation` makes. If it fails, nothing is ever made again."""
        if self._state is not ConstructionState.READY:
            self._refuse()
        try:
            return operation()
        except BaseException:
            self.enter_error_state()
            raise

    def _seed_batch(
        self,
        shared: GatedSamples,
        os_samples: bytes,
        bindings: Sequence[bytes],
        hands: Sequence[HandSamples],
    ) -> list[DrawSeeds]:
        if not hands or len(hands) != len(bindings):
            raise InternalError(
                f"{len(hands)} gated hands with {len(bindings)} bindings; expected as many of both,"
                " at least one"
            )
        entropy = _seed_entropy(shared, os_samples)
        self._drbg.reseed(entropy, lp(BATCH_LABEL) + u32(len(hands)))
        output = b"".join(
            self._drbg.generate(8 * HAND_BYTES * min(HANDS_A_REQUEST, len(hands) - first))
            for first in range(0, len(hands), HANDS_A_REQUEST)
        )
        return [
            _hand_seed(output[HAND_BYTES * j : HAND_BYTES * (j + 1)], x, samples)
            for j, (x, samples) in enumerate(zip(bindings, hands, strict=True))
        ]

    def _seed_draw(
        self, x: bytes, gated: Sequence[GatedSamples], os_samples: Sequence[bytes]
    ) -> DrawSeeds:
        growing = GrowingSeeds(x, len(gated))
        self._seed_part(growing, gated, os_samples)
        return growing.drawn()

    def _seed_part(
        self, growing: GrowingSeeds, gated: Sequence[GatedSamples], os_samples: Sequence[bytes]
    ) -> None:
        missing = growing.missing
        if not 1 <= len(gated) <= missing or len(gated) != len(os_samples):
            raise InternalError(
                f"{len(gated)} gated seeds with {len(os_samples)} samples of getrandom for a draw"
                f" that lacks {missing}; expected as many of both, at least one"
            )
        binding = lp(SEED_LABEL) + lp(growing.binding)
        first = growing.segments - missing
        last = growing.segments - 1
        for segment, (samples, fresh) in enumerate(zip(gated, os_samples, strict=True), first):
            self._drbg.reseed(_seed_entropy(samples, fresh), binding + u32(segment))
            growing.add(self._drbg.generate(8 * (HAND_BYTES if segment == last else SEED_BYTES)))

    def _refuse(self) -> NoReturn:
        raise NotInstantiatedError(
            f"the seed construction is in state {self._state.value}; expected ready:"
            " instantiate it, or restart the daemon if it is in its error state"
        )


def _hand_seed(own: bytes, x: bytes, samples: HandSamples) -> DrawSeeds:
    """Return S_j, r_j, K_j from k_j || r_j || K_j and what the hand was gated on."""
    k, keys = own[:SEED_BYTES], own[SEED_BYTES:]
    entropy = condition(EntropyClass.HARDWARE, samples.hardware) + condition(
        EntropyClass.COVER, samples.cover
    )
    seed = digest(k, BATCH_SEED_LABEL + lp(x) + entropy, "sha512")
    return DrawSeeds((seed,), keys[:BLINDING_BYTES], keys[BLINDING_BYTES:])


def _seed_entropy(gated: GatedSamples, os_samples: bytes) -> bytes:
    _check_bytes("sample of getrandom", os_samples, OS_SAMPLE_BYTES)
    return entropy_input(
        hardware=gated.hardware,
        cover=gated.cover,
        user=gated.user,
        os=((OS_SOURCE_ID, os_samples),),
    )


def _check_bytes(name: str, value: bytes, expected: int) -> None:
    if len(value) != expected:
        raise InternalError(f"{name} has {len(value)} bytes; expected {expected}")
