"""HMAC_DRBG with SHA-256 or SHA-512.

Methods, arguments and the order of the checks are the standard's. What is
left out on purpose: there is no entropy source inside. Whoever holds an
instance reseeds it, and gets prediction resistance by reseeding before
generating; an instance is never copied, so no two callers share a state.

An instance belongs to one thread. Python cannot wipe memory: uninstantiating
drops the references to the working state, and no more is promised.

Spec: SP 800-90A Rev. 1, sections 8.3, 9 and 10.1.2, table 2.
"""

from collections.abc import Callable
from enum import Enum
from typing import NoReturn

from entropyd.errors import (
    DrbgInputError,
    InternalError,
    NotInstantiatedError,
    RequestTooLargeError,
    ReseedRequiredError,
)
from entropyd.keyed_hash import digest

# HMAC(key, message, hash name). An argument, so that a test can hand in a
# broken one and see that the known-answer tests notice.
HmacFunction = Callable[[bytes, bytes, str], bytes]

SECURITY_STRENGTH = 256
SUPPORTED_SECURITY_STRENGTHS = (112, 128, 192, 256)

# SP 800-90A, table 2. `MAX_INPUT_BYTES` is its 2**35 bits, which bound each of
# entropy_input, personalization_string and additional_input.
MAX_NUMBER_OF_BITS_PER_REQUEST = 1 << 19
MAX_RESEED_INTERVAL = 1 << 48
MAX_INPUT_BYTES = 1 << 32


class HashFunction(Enum):
    """An approved hash function: its name for `hmac`, and outlen in bytes (table 2)."""

    SHA_256 = ("sha256", 32)
    SHA_512 = ("sha512", 64)

    @property
    def outlen_bytes(self) -> int:
        """Return the length of one output block, in bytes."""
        return self.value[1]


class _State(Enum):
    UNINSTANTIATED = "uninstantiated"
    INSTANTIATED = "instantiated"
    ERROR = "error"


class HmacDrbg:
    """One HMAC_DRBG instance: Key, V, reseed_counter and what guards them.

    Any failure inside an operation, of whatever kind, puts the instance into
    the error state: the working state may be half updated, and output from it
    would not be the standard's. The error state ends only with the object.
    """

    __slots__ = (
        "_hmac",
        "_key",
        "_name",
        "_outlen",
        "_reseed_counter",
        "_reseed_interval",
        "_security_strength",
        "_state",
        "_v",
    )

    def __init__(
        self,
        hash_function: HashFunction = HashFunction.SHA_512,
        *,
        reseed_interval: int = MAX_RESEED_INTERVAL,
        hmac_function: HmacFunction = digest,
    ) -> None:
        if not 1 <= reseed_interval <= MAX_RESEED_INTERVAL:
            raise DrbgInputError(
                f"reseed_interval is {reseed_interval}; expected 1 to {MAX_RESEED_INTERVAL}"
            )
        self._name, self._outlen = hash_function.value
        self._reseed_interval = reseed_interval
        self._hmac = hmac_function
        self._state = _State.UNINSTANTIATED
        self._forget()

    def __repr__(self) -> str:
        """Return the state's name, never the state."""
        return f"<HmacDrbg {self._name} {self._state.value}>"

    @property
    def reseed_counter(self) -> int:
        """Return the generate requests since the last (re)seeding, plus 1; 0 without a state."""
        return self._reseed_counter

    @property
    def security_strength(self) -> int:
        """Return the strength it was instantiated at, in bits; 0 without a state."""
        return self._security_strength

    def instantiate(
        self,
        entropy_input: bytes,
        nonce: bytes,
        personalization_string: bytes = b"",
        *,
        requested_instantiation_security_strength: int = SECURITY_STRENGTH,
    ) -> None:
        """Make the initial working state.

        Spec: SP 800-90A, sections 9.1 and 10.1.2.3; 8.6.7 for the nonce.

        Args:
            entropy_input: at least `security_strength` bits of min-entropy in
                at least as many bits; the caller vouches for the entropy.
            nonce: at least half of `security_strength` bits.
            personalization_string: tells this instance from others; not secret.
            requested_instantiation_security_strength: 112, 128, 192 or 256 bits.

        Raises:
            DrbgInputError: an input is too short, or the strength unsupported.
                Nothing changed.
            RequestTooLargeError: an input is above 2**35 bits. Nothing changed.
            NotInstantiatedError: in the error state. Throw the instance away.
            InternalError: already instantiated.
        """
        if self._state is _State.ERROR:
            self._refuse()
        if self._state is _State.INSTANTIATED:
            raise InternalError("drbg is instantiated already; expected to uninstantiate it first")
        strength = requested_instantiation_security_strength
        if strength not in SUPPORTED_SECURITY_STRENGTHS:
            raise DrbgInputError(
                f"security strength {strength} bits; expected one of {SUPPORTED_SECURITY_STRENGTHS}"
            )
        _check_length("entropy_input", entropy_input, strength)
        _check_length("nonce", nonce, strength // 2)
        _check_length("personalization_string", personalization_string, 0)
        self._key, self._v = bytes(self._outlen), b"\x01" * self._outlen
        self._seed(entropy_input + nonce + personalization_string)
        self._security_strength = strength
        self._state = _State.INSTANTIATED

    def reseed(self, entropy_input: bytes, additional_input: bytes = b"") -> None:
        """Mix fresh entropy into the working state; restart the reseed counter.

        Spec: SP 800-90A, sections 9.2 and 10.1.2.4.

        Args:
            entropy_input: at least `security_strength` bits of min-entropy,
                where the reseed is to count as one; the caller vouches for it.
            additional_input: whatever binds this reseed to its purpose.

        Raises:
            NotInstantiatedError: not instantiated, or in the error state.
            DrbgInputError: entropy_input is shorter than the strength. Nothing changed.
            RequestTooLargeError: an input is above 2**35 bits. Nothing changed.
        """
        if self._state is not _State.INSTANTIATED:
            self._refuse()
        _check_length("entropy_input", entropy_input, self._security_strength)
        _check_length("additional_input", additional_input, 0)
        self._seed(entropy_input + additional_input)

    def generate(self, requested_number_of_bits: int, additional_input: bytes = b"") -> bytes:
        """Return pseudorandom bits, and move on so that they cannot be recomputed.

        There is no `prediction_resistance_request`: who wants it calls
        `reseed` with the additional input, then this without, which is what
        section 9.3.1 does (steps 7.1 to 7.4).

        Spec: SP 800-90A, sections 9.3 and 10.1.2.5.

        Args:
            requested_number_of_bits: a multiple of 8, from 8 to 2**19.
            additional_input: mixed in before and after; may be empty.

        Returns:
            The bits, as `requested_number_of_bits` / 8 bytes.

        Raises:
            NotInstantiatedError: not instantiated, or in the error state.
            RequestTooLargeError: above 2**19 bits, or additional_input above
                2**35. Nothing changed.
            DrbgInputError: not a multiple of 8, or below 8. Nothing changed.
            ReseedRequiredError: `reseed_interval` requests were served; reseed.
            InternalError: the hash function repeats itself. Error state.
        """
        if self._state is not _State.INSTANTIATED:
            self._refuse()
        self._check_request(requested_number_of_bits, additional_input)
        try:
            if additional_input:
                self._update(additional_input)
            returned_bits = self._blocks(requested_number_of_bits // 8)
            self._update(additional_input)
        except BaseException:
            self.enter_error_state()
            raise
        self._reseed_counter += 1
        return returned_bits

    def uninstantiate(self) -> None:
        """Drop the working state. A later `instantiate` starts afresh.

        Spec: SP 800-90A, section 9.4. An error state stays one.
        """
        if self._state is not _State.ERROR:
            self._state = _State.UNINSTANTIATED
        self._forget()

    def enter_error_state(self) -> None:
        """Drop the working state for good: no operation succeeds any more.

        Called by the instance itself when an operation fails half way, and by
        its owner when a known-answer test does.

        Spec: SP 800-90A, section 11.3.
        """
        self._state = _State.ERROR
        self._forget()

    def _forget(self) -> None:
        self._key = self._v = b""
        self._reseed_counter = 0
        self._security_strength = 0

    def _refuse(self) -> NoReturn:
        raise NotInstantiatedError(
            f"drbg is {'in its error state' if self._state is _State.ERROR else 'not instantiated'}"
            "; expected an instance that was instantiated and has not failed"
        )

    def _check_request(self, requested_number_of_bits: int, additional_input: bytes) -> None:
        if requested_number_of_bits > MAX_NUMBER_OF_BITS_PER_REQUEST:
            raise RequestTooLargeError(
                f"{requested_number_of_bits} bits requested; expected at most"
                f" {MAX_NUMBER_OF_BITS_PER_REQUEST}, use several requests"
            )
        if requested_number_of_bits < 8 or requested_number_of_bits % 8:
            raise DrbgInputError(
                f"{requested_number_of_bits} bits requested; expected a positive multiple of 8"
            )
        _check_length("additional_input", additional_input, 0)
        if self._reseed_counter > self._reseed_interval:
            raise ReseedRequiredError(
                f"{self._reseed_interval} requests since the last reseed; reseed with fresh entropy"
            )

    def _seed(self, seed_material: bytes) -> None:
        try:
            self._update(seed_material)
        except BaseException:
            self.enter_error_state()
            raise
        self._reseed_counter = 1

    def _update(self, provided_data: bytes) -> None:
        """HMAC_DRBG_Update (SP 800-90A, section 10.1.2.2)."""
        self._next_key(b"\x00" + provided_data)
        self._next_v()
        if provided_data:
            self._next_key(b"\x01" + provided_data)
            self._next_v()

    def _next_key(self, suffix: bytes) -> None:
        self._key = self._hmac(self._key, self._v + suffix, self._name)
        if len(self._key) != self._outlen:
            raise InternalError(f"hmac-{self._name} did not return {self._outlen} bytes")

    def _next_v(self) -> None:
        previous = self._v
        self._v = self._hmac(self._key, previous, self._name)
        # A keyed function that maps V to itself would repeat one block for ever;
        # a sound one does so with probability 2**-256 or less.
        if self._v == previous or len(self._v) != self._outlen:
            raise InternalError(f"hmac-{self._name} repeats itself or is cut short; it is broken")

    def _blocks(self, length: int) -> bytes:
        """Return the leftmost `length` bytes of V, V', V'' ... (10.1.2.5, step 4)."""
        temp = bytearray()
        while len(temp) < length:
            self._next_v()
            temp += self._v
        return bytes(temp[:length])


def _check_length(name: str, value: bytes, min_bits: int) -> None:
    if len(value) * 8 < min_bits:
        raise DrbgInputError(f"{name} has {len(value) * 8} bits; expected at least {min_bits}")
    if len(value) > MAX_INPUT_BYTES:
        raise RequestTooLargeError(
            f"{name} has {len(value)} bytes; expected at most {MAX_INPUT_BYTES}"
        )
