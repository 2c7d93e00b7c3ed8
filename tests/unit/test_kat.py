"""Known-answer tests: they pass on a sound machine, and a broken primitive makes them fail."""

import hashlib
import hmac
from pathlib import Path

import pytest

from entropyd.errors import SelfTestError
from entropyd.rbg import kat
from entropyd.rbg.kat import KnownAnswerTest, known_answer_tests, run_known_answer_tests

CAVP = Path(__file__).parent.parent / "vectors" / "drbg" / "cavp_hmac_drbg_pr_false.rsp"


def flipped(digest):
    return digest[:-1] + bytes([digest[-1] ^ 1])


def test_a_sound_machine_passes():
    """Every test of this stage passes on production's own primitives."""
    run_known_answer_tests()
    names = [test.name for test in known_answer_tests()]
    assert names == [
        "SHA-512",
        "HMAC-SHA-512",
        "HMAC_DRBG SHA-512",
        "HMAC_DRBG uninstantiate",
    ]


def test_a_broken_sha512_is_named():
    """One flipped bit in SHA-512 is found, and the error names the primitive."""
    with pytest.raises(SelfTestError, match="known-answer test SHA-512 gave another answer"):
        run_known_answer_tests(sha512_function=lambda m: flipped(hashlib.sha512(m).digest()))


def test_a_broken_hmac_is_named():
    """One flipped bit in HMAC-SHA-512 is found before the DRBG is tried."""
    with pytest.raises(SelfTestError, match="known-answer test HMAC-SHA-512 gave"):
        run_known_answer_tests(hmac_function=lambda *given: flipped(hmac.digest(*given)))


class WornHmac:
    """HMAC that is right for the first calls and wrong in one bit of one later call."""

    def __init__(self, wrong_call):
        self.wrong_call, self.calls = wrong_call, 0

    def __call__(self, key, message, name):
        self.calls += 1
        digest = hmac.digest(key, message, name)
        return flipped(digest) if self.calls == self.wrong_call else digest


# One call for HMAC-SHA-512; then the DRBG: instantiate 4, reseed 4, and two
# requests of 4 + 4 blocks (2048 bits) + 4. The last V is not output any more.
@pytest.mark.parametrize("wrong_call", range(2, 1 + 4 + 4 + 12 + 8 + 1))
def test_any_single_wrong_call_inside_the_drbg_is_found(wrong_call):
    """Whichever HMAC call of instantiate, reseed or generate is wrong, its output differs."""
    with pytest.raises(SelfTestError, match="known-answer test HMAC_DRBG SHA-512 gave"):
        run_known_answer_tests(hmac_function=WornHmac(wrong_call))


def test_a_raising_primitive_is_a_failed_test():
    """A primitive that raises is reported as the failed test, with its cause."""

    def missing(_message):
        raise ValueError("unsupported hash type")

    with pytest.raises(SelfTestError, match="SHA-512 raised ValueError") as caught:
        run_known_answer_tests(sha512_function=missing)
    assert isinstance(caught.value.__cause__, ValueError)


def test_tests_of_other_stages_run_too():
    """A test handed in runs after the others, and its failure is fatal as well."""
    ran = []

    def compute():
        ran.append("draw")
        return b"right"

    run_known_answer_tests([KnownAnswerTest("masked draw", compute, b"right")])
    with pytest.raises(SelfTestError, match="known-answer test masked draw"):
        run_known_answer_tests([KnownAnswerTest("masked draw", compute, b"other")])
    assert ran == ["draw", "draw"]
    assert SelfTestError.fatal


def test_the_embedded_vector_is_the_published_one():
    """Every constant of the DRBG test stands in one COUNT of NIST's file, in order."""
    constants = (
        kat.ENTROPY_INPUT,
        kat.NONCE,
        kat.PERSONALIZATION,
        kat.RESEED_ENTROPY,
        kat.RESEED_ADDITIONAL,
        kat.FIRST_ADDITIONAL,
        kat.SECOND_ADDITIONAL,
        kat.RETURNED_BITS,
    )
    counts = CAVP.read_text().split("COUNT = ")
    values = [
        [line.split("= ")[1] for line in count.splitlines()[1:] if "= " in line and line[0] != "["]
        for count in counts
    ]
    assert [constant.hex() for constant in constants] in values
