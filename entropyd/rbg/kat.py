"""Known-answer tests: run at start, before anything is drawn.

They go through the production code with inputs whose outputs others
published. A failure is fatal: the processor, OpenSSL or this program does not
compute what the standards say, and nothing it outputs means anything. Stages
above hand in tests of their own; they all run here.

Spec: SP 800-90A, section 11.3.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from entropyd.errors import NotInstantiatedError, SelfTestError
from entropyd.keyed_hash import digest
from entropyd.rbg.hmac_drbg import HashFunction, HmacDrbg, HmacFunction

# A function from a message to its SHA-512.
Sha512Function = Callable[[bytes], bytes]


def sha512(message: bytes) -> bytes:
    """Return the SHA-512 that production uses."""
    return hashlib.sha512(message).digest()


@dataclass(frozen=True, slots=True)
class KnownAnswerTest:
    """One computation and what it must give.

    Attributes:
        name: for the error text, such as `HMAC-SHA-512`.
        compute: the computation, through production code.
        expected: the published result; no secret.
    """

    name: str
    compute: Callable[[], bytes]
    expected: bytes


# NIST, Cryptographic Standards and Guidelines, Examples with Intermediate Values,
# SHA-512, one block (the example of FIPS 180-2, appendix C.1).
SHA512_MESSAGE = b"abc"
SHA512_DIGEST = bytes.fromhex(
    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
    "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
)

# RFC 4231, section 4.3, test case 2.
HMAC_KEY = b"Jefe"
HMAC_MESSAGE = b"what do ya want for nothing?"
HMAC_DIGEST = bytes.fromhex(
    "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
    "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
)

# NIST CAVP drbgtestvectors, CAVS 14.3, HMAC_DRBG pr_false, group [SHA-512] with
# personalization and additional input, COUNT = 0. Of all CAVP groups this kind
# takes every branch of instantiate, reseed and generate.
ENTROPY_INPUT = bytes.fromhex("da740cbc36057a8e282ae717fe7dfbb245e9e5d49908a0119c5dbcf0a1f2d5ab")
NONCE = bytes.fromhex("46561ff612217ba3ff91baa06d4b5440")
PERSONALIZATION = bytes.fromhex("fc227293523ecb5b1e28c87863626627d958acc558a672b148ce19e2abd2dde4")
RESEED_ENTROPY = bytes.fromhex("1d61d4d8a41c3254b92104fd555adae0569d1835bb52657ec7fbba0fe03579c5")
RESEED_ADDITIONAL = bytes.fromhex(
    "b9ed8e35ad018a375b61189c8d365b00507cb1b4510d21cac212356b5bbaa8b2"
)
FIRST_ADDITIONAL = bytes.fromhex("b7998998eaf9e5d34e64ff7f03de765b31f407899d20535573e670c1b402c26a")
SECOND_ADDITIONAL = bytes.fromhex(
    "2089d49d63e0c4df58879d0cb1ba998e5b3d1a7786b785e7cf13ca5ea5e33cfd"
)
RETURNED_BITS = bytes.fromhex(
    "5b70f3e4da95264233efbab155b828d4e231b67cc92757feca407cc9615a6608"
    "71cb07ad1a2e9a99412feda8ee34dc9c57fa08d3f8225b30d29887d20907d123"
    "30fffd14d1697ba0756d37491b0a8814106e46c8677d49d9157109c402ad0c24"
    "7a2f50cd5d99e538c850b906937a05dbb8888d984bc77f6ca00b0e3bc97b16d6"
    "d25814a54aa12143afddd8b2263690565d545f4137e593bb3ca88a37b0aadf79"
    "726b95c61906257e6dc47acd5b6b7e4b534243b13c16ad5a0a1163c0099fce43"
    "f428cd27c3e6463cf5e9a9621f4b3d0b3d4654316f4707675df39278d5783823"
    "049477dcce8c57fdbd576711c91301e9bd6bb0d3e72dc46d480ed8f61fd63811"
)
REFUSED = b"refused"


def known_answer_tests(
    *, sha512_function: Sha512Function = sha512, hmac_function: HmacFunction = digest
) -> tuple[KnownAnswerTest, ...]:
    """Return the tests of this stage, lowest primitive first.

    Args:
        sha512_function: the hash to test; another one in tests only.
        hmac_function: the HMAC to test, alone and inside the DRBG.
    """
    return (
        KnownAnswerTest("SHA-512", lambda: sha512_function(SHA512_MESSAGE), SHA512_DIGEST),
        KnownAnswerTest(
            "HMAC-SHA-512", lambda: hmac_function(HMAC_KEY, HMAC_MESSAGE, "sha512"), HMAC_DIGEST
        ),
        KnownAnswerTest("HMAC_DRBG SHA-512", lambda: _drbg_output(hmac_function), RETURNED_BITS),
        KnownAnswerTest(
            "HMAC_DRBG uninstantiate", lambda: _output_after_uninstantiate(hmac_function), REFUSED
        ),
    )


def run_known_answer_tests(
    more: Iterable[KnownAnswerTest] = (),
    *,
    sha512_function: Sha512Function = sha512,
    hmac_function: HmacFunction = digest,
) -> None:
    """Run every known-answer test, those of this stage first.

    Args:
        more: tests of the stages above.
        sha512_function: see `known_answer_tests`.
        hmac_function: see `known_answer_tests`.

    Raises:
        SelfTestError: one failed; the text names it. Nothing may be output;
            the process must end.
    """
    tests = known_answer_tests(sha512_function=sha512_function, hmac_function=hmac_function)
    for test in (*tests, *more):
        try:
            computed = test.compute()
        except Exception as error:
            raise SelfTestError(
                f"known-answer test {test.name} raised {type(error).__name__}; expected its"
                " published answer, replace this machine's OpenSSL or this program"
            ) from error
        if computed != test.expected:
            raise SelfTestError(
                f"known-answer test {test.name} gave another answer than published;"
                " replace this machine's OpenSSL or this program"
            )


def _instantiated(hmac_function: HmacFunction) -> HmacDrbg:
    drbg = HmacDrbg(HashFunction.SHA_512, hmac_function=hmac_function)
    drbg.instantiate(ENTROPY_INPUT, NONCE, PERSONALIZATION)
    return drbg


def _drbg_output(hmac_function: HmacFunction) -> bytes:
    """Follow CAVP's pr_false procedure: the second of two requests is compared."""
    drbg = _instantiated(hmac_function)
    drbg.reseed(RESEED_ENTROPY, RESEED_ADDITIONAL)
    drbg.generate(8 * len(RETURNED_BITS), FIRST_ADDITIONAL)
    return drbg.generate(8 * len(RETURNED_BITS), SECOND_ADDITIONAL)


def _output_after_uninstantiate(hmac_function: HmacFunction) -> bytes:
    """SP 800-90A, section 11.3.5: nothing comes from an instance that was uninstantiated."""
    drbg = _instantiated(hmac_function)
    drbg.uninstantiate()
    try:
        return drbg.generate(8)
    except NotInstantiatedError:
        return REFUSED
