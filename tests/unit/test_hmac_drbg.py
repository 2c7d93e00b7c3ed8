"""HMAC_DRBG against every published vector kept here, a second implementation, and its limits."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import (
    DrbgInputError,
    InternalError,
    NotInstantiatedError,
    RequestTooLargeError,
    ReseedRequiredError,
)
from entropyd.rbg.hmac_drbg import (
    MAX_INPUT_BYTES,
    MAX_NUMBER_OF_BITS_PER_REQUEST,
    MAX_RESEED_INTERVAL,
    HashFunction,
    HmacDrbg,
)

VECTORS = Path(__file__).parent.parent / "vectors" / "drbg"
HASHES = {
    "SHA-256": HashFunction.SHA_256,
    "SHA-512": HashFunction.SHA_512,
    "SHA2-256": HashFunction.SHA_256,
    "SHA2-512": HashFunction.SHA_512,
}
ENTROPY = bytes(range(32))
NONCE = bytes(range(100, 116))


def instantiated(**arguments):
    drbg = HmacDrbg(**arguments)
    drbg.instantiate(ENTROPY, NONCE)
    return drbg


# --- a second implementation -------------------------------------------------


class NaiveHmacDrbg:
    """Written from SP 800-90A, 10.1.2, and RFC 2104 alone: no hmac module, no shared code."""

    def __init__(self, hash_name, entropy_input, nonce, personalization_string):
        self.hash_name = hash_name
        self.outlen = {"sha256": 32, "sha512": 64}[hash_name]
        self.block = {"sha256": 64, "sha512": 128}[hash_name]
        self.Key = b"\x00" * self.outlen
        self.V = b"\x01" * self.outlen
        self.update(entropy_input + nonce + personalization_string)
        self.reseed_counter = 1

    def H(self, message):
        return hashlib.new(self.hash_name, message).digest()

    def HMAC(self, key, message):
        key = self.H(key) if len(key) > self.block else key
        key = key + b"\x00" * (self.block - len(key))
        inner = self.H(bytes(k ^ 0x36 for k in key) + message)
        return self.H(bytes(k ^ 0x5C for k in key) + inner)

    def update(self, provided_data):
        self.Key = self.HMAC(self.Key, self.V + b"\x00" + provided_data)
        self.V = self.HMAC(self.Key, self.V)
        if provided_data == b"":
            return
        self.Key = self.HMAC(self.Key, self.V + b"\x01" + provided_data)
        self.V = self.HMAC(self.Key, self.V)

    def reseed(self, entropy_input, additional_input):
        self.update(entropy_input + additional_input)
        self.reseed_counter = 1

    def generate(self, number_of_bytes, additional_input):
        if additional_input != b"":
            self.update(additional_input)
        temp = b""
        while len(temp) < number_of_bytes:
            self.V = self.HMAC(self.Key, self.V)
            temp = temp + self.V
        self.update(additional_input)
        self.reseed_counter += 1
        return temp[:number_of_bytes]


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("reseed"), st.binary(min_size=32, max_size=200), st.binary(max_size=150)),
        st.tuples(st.just("generate"), st.integers(1, 300), st.binary(max_size=150)),
    ),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(list(HashFunction)),
    st.binary(min_size=32, max_size=300),
    st.binary(min_size=16, max_size=40),
    st.binary(max_size=80),
    OPERATIONS,
)
def test_equals_a_naive_implementation_after_any_calls(hash_function, entropy, nonce, text, calls):
    """Output and working state agree with the second implementation after every call."""
    drbg = HmacDrbg(hash_function)
    drbg.instantiate(entropy, nonce, text)
    naive = NaiveHmacDrbg(hash_function.value[0], entropy, nonce, text)
    for name, first, additional_input in calls:
        if name == "reseed":
            drbg.reseed(first, additional_input)
            naive.reseed(first, additional_input)
        else:
            expected = naive.generate(first, additional_input)
            assert expected == drbg.generate(8 * first, additional_input)
        assert (naive.V, naive.Key) == (drbg._v, drbg._key)
        assert naive.reseed_counter == drbg.reseed_counter


# --- NIST CAVP ---------------------------------------------------------------

GROUP_HEADER = re.compile(r"\[(SHA-\d+)\]")


def cavp_cases(file_name: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield (hash, [(name, value), ...]) for each COUNT, lines in the order of the file.

    A line `** RESEED:` stands as the pair ("**", "RESEED").
    """
    hash_name = ""
    lines: list[tuple[str, str]] = []
    for line in [*(VECTORS / file_name).read_text().splitlines(), "COUNT = end"]:
        if header := GROUP_HEADER.fullmatch(line):
            next_hash = header.group(1)
            if lines:
                yield hash_name, lines
            hash_name, lines = next_hash, []
        elif line.startswith("COUNT ="):
            if lines:
                yield hash_name, lines
            lines = []
        elif line.startswith("** "):
            lines.append(("**", line[3:].rstrip(":")))
        elif " =" in line and not line.startswith(("[", "#")):
            name, _, value = line.partition("=")
            lines.append((name.strip(), value.strip()))


def replay_cavp(hash_name, lines):
    """Do what the lines say, compare what they state, return how many values were compared.

    `ReturnedBits` and the V and Key of the intermediate files follow the input
    lines of their call, so the call is made when its last input has been read.
    """
    drbg = HmacDrbg(HASHES[hash_name])
    values = dict(lines)
    length = 2 * len(values["ReturnedBits"]) * 2  # four bits a hexadecimal digit
    given_: dict[str, bytes] = {}
    returned = b""
    compared = 0
    for index, (name, text) in enumerate(lines):
        following = lines[index + 1][0] if index + 1 < len(lines) else ""
        if name == "**":
            continue
        if name in {"V", "Key"}:
            assert bytes.fromhex(text) == {"V": drbg._v, "Key": drbg._key}[name]
            compared += 1
            continue
        if name == "ReturnedBits":
            assert bytes.fromhex(text) == returned
            compared += 1
            continue
        given_[name] = bytes.fromhex(text)
        if name == "PersonalizationString":
            drbg.instantiate(given_["EntropyInput"], given_["Nonce"], given_[name])
        elif name == "AdditionalInputReseed":
            drbg.reseed(given_["EntropyInputReseed"], given_[name])
        elif name == "EntropyInputPR":
            drbg.reseed(given_[name], given_["AdditionalInput"])
            returned = drbg.generate(length)
        elif name == "AdditionalInput" and following != "EntropyInputPR":
            returned = drbg.generate(length, given_[name])
    return compared


@pytest.mark.parametrize(
    ("file_name", "cases", "values"),
    [
        # (hashes 2) x (personalization 2) x (additional input 2) groups, 6 COUNTs each; one value.
        ("cavp_hmac_drbg_no_reseed.rsp", 48, 1),
        ("cavp_hmac_drbg_pr_false.rsp", 48, 1),
        ("cavp_hmac_drbg_pr_true.rsp", 48, 1),
        # One COUNT each; V and Key after each of 3 calls (4 with a reseed), and the output.
        ("cavp_hmac_drbg_no_reseed.intermediate.txt", 8, 7),
        ("cavp_hmac_drbg_pr_false.intermediate.txt", 8, 9),
        ("cavp_hmac_drbg_pr_true.intermediate.txt", 8, 7),
    ],
)
def test_cavp(file_name, cases, values):
    """Every COUNT of the file gives its output and, where listed, its working states."""
    compared = [replay_cavp(hash_name, lines) for hash_name, lines in cavp_cases(file_name)]
    assert [values] * cases == compared


# --- NIST ACVP ---------------------------------------------------------------

ACVP = json.loads((VECTORS / "acvp_hmacDRBG_SP800-90Ar1.json").read_text())["testGroups"]


def test_acvp_has_every_group():
    """The file holds 8 groups of 4 tests: both hashes, both lengths, with and without PR."""
    expected = [
        (mode, pr, bits, 4)
        for mode in ("SHA2-256", "SHA2-512")
        for pr in (False, True)
        for bits in (512, 768)
    ]
    kinds = [(g["mode"], g["predResistance"], g["returnedBitsLen"], len(g["tests"])) for g in ACVP]
    assert expected == sorted(kinds)


@pytest.mark.parametrize("group", ACVP, ids=lambda group: f"tg{group['tgId']}")
def test_acvp(group):
    """Each ACVP test gives its output; PR is a reseed with the additional input, then none."""
    for test in group["tests"]:
        drbg = HmacDrbg(HASHES[group["mode"]])
        drbg.instantiate(
            *(bytes.fromhex(test[k]) for k in ("entropyInput", "nonce", "persoString"))
        )
        returned = b""
        for step in test["otherInput"]:
            entropy = bytes.fromhex(step["entropyInput"])
            additional_input = bytes.fromhex(step["additionalInput"])
            if step["intendedUse"] == "reSeed":
                drbg.reseed(entropy, additional_input)
                continue
            if group["predResistance"]:
                drbg.reseed(entropy, additional_input)
                additional_input = b""
            returned = drbg.generate(group["returnedBitsLen"], additional_input)
        assert bytes.fromhex(test["returnedBits"]) == returned


# --- the worked examples of the NIST toolkit ----------------------------------

TOOLKIT = (VECTORS / "nist_toolkit_HMAC_DRBG_SHA-256_worked.txt").read_text()


def toolkit_examples():
    return re.split(r"^HMAC_DRBG\n", TOOLKIT, flags=re.MULTILINE)[1:]


def toolkit_value(text, name, occurrence=0):
    """Return the bytes of the hexadecimal lines after the given occurrence of `name`."""
    pattern = re.compile(rf"^{re.escape(name)}\s*\n((?:[0-9A-F ]+\n|-+\n)+)", re.MULTILINE)
    digits = pattern.findall(text)[occurrence]
    return bytes.fromhex("".join(re.findall(r"[0-9A-F]", digits)))


def toolkit_states(text):
    """Return (Key, V) after each instantiate and reseed, where the file prints both."""
    pattern = re.compile(
        r"Update \(Key, V\):\n(?:-+\n)*Key is\n((?:[0-9A-F ]+\n|-+\n)+)V is\n((?:[0-9A-F ]+\n)+)"
    )
    clean = [tuple(re.sub(r"[^0-9A-F]", "", part) for part in hit) for hit in pattern.findall(text)]
    return [(bytes.fromhex(key), bytes.fromhex(v)) for key, v in clean]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_nist_toolkit_worked_example(number):
    """The three step-by-step examples: without PR, with PR, with PR and every input."""
    text = toolkit_examples()[number]
    prediction_resistance = number > 0
    with_strings = "PersonalizationString =\n" in text
    with_additional = "AdditionalInput1 =\n" in text
    personalization = toolkit_value(text, "PersonalizationString =") if with_strings else b""
    drbg = HmacDrbg(HashFunction.SHA_256)
    drbg.instantiate(
        toolkit_value(text, "EntropyInput ="),
        toolkit_value(text, "Nonce ="),
        personalization,
        requested_instantiation_security_strength=128,
    )
    states = [(drbg._key, drbg._v)]
    returned = []
    for call in (1, 2):
        additional = toolkit_value(text, f"AdditionalInput{call} =") if with_additional else b""
        if prediction_resistance:
            entropy = toolkit_value(text, f"EntropyInput{call} (for Reseed{call}) =")
            drbg.reseed(entropy, additional)
            states.append((drbg._key, drbg._v))
            additional = b""
        returned.append(drbg.generate(512, additional))
    assert [toolkit_value(text, "rnd_val is", call) for call in (0, 1)] == returned
    assert toolkit_states(text) == states


# --- limits, states, and what must never be shown ------------------------------


def test_limits_are_those_of_table_2():
    """2**19 bits a request, 2**48 requests, 2**35 bits an input, strength 256."""
    limits = (MAX_NUMBER_OF_BITS_PER_REQUEST, MAX_RESEED_INTERVAL, 8 * MAX_INPUT_BYTES)
    assert limits == (2**19, 2**48, 2**35)
    assert instantiated().security_strength == 256


def test_longest_request_is_served_and_one_byte_more_is_not():
    """The limit itself is allowed; a refused request changes nothing."""
    drbg, twin = instantiated(), instantiated()
    assert len(drbg.generate(2**19)) == 2**16
    with pytest.raises(RequestTooLargeError, match="524296 bits requested"):
        drbg.generate(2**19 + 8)
    twin.generate(2**19)
    assert twin.generate(512) == drbg.generate(512)


@pytest.mark.parametrize("bits", [0, -8, 7, 12, 513])
def test_requests_are_whole_bytes(bits):
    """A request that is not a positive multiple of 8 is refused and changes nothing."""
    drbg = instantiated()
    with pytest.raises(DrbgInputError, match="positive multiple of 8"):
        drbg.generate(bits)
    assert instantiated().generate(512) == drbg.generate(512)


@pytest.mark.parametrize(
    ("entropy_bytes", "nonce_bytes", "name"), [(31, 16, "entropy_input"), (32, 15, "nonce")]
)
def test_strength_256_asks_for_256_bits_and_a_128_bit_nonce(entropy_bytes, nonce_bytes, name):
    """One byte less than the minimum leaves the instance uninstantiated."""
    drbg = HmacDrbg()
    with pytest.raises(DrbgInputError, match=f"{name} has"):
        drbg.instantiate(bytes(entropy_bytes), bytes(nonce_bytes))
    with pytest.raises(NotInstantiatedError):
        drbg.generate(8)
    drbg.instantiate(bytes(32), bytes(16))
    assert len(drbg.generate(8)) == 1


def test_reseed_asks_for_256_bits():
    """A short reseed is refused and changes nothing."""
    drbg = instantiated()
    with pytest.raises(DrbgInputError, match="entropy_input has 248 bits; expected at least 256"):
        drbg.reseed(bytes(31))
    assert instantiated().generate(512) == drbg.generate(512)


@pytest.mark.parametrize("strength", [0, 255, 257, 512])
def test_unsupported_strength_is_refused(strength):
    """The standard knows four strengths, and no more than 256 for these hashes."""
    with pytest.raises(DrbgInputError, match=f"security strength {strength} bits"):
        HmacDrbg().instantiate(ENTROPY, NONCE, requested_instantiation_security_strength=strength)


class LongBytes(bytes):
    """Bytes that say they are longer than table 2 allows, without the memory."""

    def __len__(self):
        return 2**32 + 1


def test_overlong_inputs_are_refused():
    """2**35 bits bound every input; a refusal changes nothing."""
    drbg = HmacDrbg()
    with pytest.raises(RequestTooLargeError, match="personalization_string has 4294967297 bytes"):
        drbg.instantiate(ENTROPY, NONCE, LongBytes())
    drbg.instantiate(ENTROPY, NONCE)
    with pytest.raises(RequestTooLargeError, match="entropy_input"):
        drbg.reseed(LongBytes())
    with pytest.raises(RequestTooLargeError, match="additional_input"):
        drbg.reseed(ENTROPY, LongBytes())
    with pytest.raises(RequestTooLargeError, match="additional_input"):
        drbg.generate(8, LongBytes())
    assert instantiated().generate(512) == drbg.generate(512)


def test_reseed_interval_ends_and_a_reseed_restarts_it():
    """After reseed_interval requests only a reseed brings output again."""
    drbg = instantiated(reseed_interval=3)
    for _ in range(3):
        drbg.generate(8)
    with pytest.raises(ReseedRequiredError, match="3 requests since the last reseed"):
        drbg.generate(8)
    drbg.reseed(ENTROPY)
    assert drbg.reseed_counter == 1
    assert len(drbg.generate(8)) == 1


def test_default_reseed_interval_is_2_to_the_48():
    """Request 2**48 is served, the next one is not."""
    drbg = instantiated()
    drbg._reseed_counter = 2**48
    drbg.generate(8)
    with pytest.raises(ReseedRequiredError):
        drbg.generate(8)


@pytest.mark.parametrize("interval", [0, 2**48 + 1])
def test_reseed_interval_is_bounded(interval):
    """A reseed interval beyond table 2, or none, is refused."""
    with pytest.raises(DrbgInputError, match="reseed_interval"):
        HmacDrbg(reseed_interval=interval)


def test_nothing_comes_before_instantiate_or_after_uninstantiate():
    """Both states refuse every operation; a new instantiate starts afresh."""
    drbg = HmacDrbg()
    for _ in range(2):
        with pytest.raises(NotInstantiatedError, match="drbg is not instantiated"):
            drbg.generate(8)
        with pytest.raises(NotInstantiatedError):
            drbg.reseed(ENTROPY)
        drbg.instantiate(ENTROPY, NONCE)
        drbg.generate(8)
        drbg.uninstantiate()
        assert (drbg._key, drbg._v, drbg.reseed_counter) == (b"", b"", 0)
    drbg.instantiate(ENTROPY, NONCE)
    assert instantiated().generate(512) == drbg.generate(512)


def test_an_instance_is_not_instantiated_over():
    """A second instantiate would throw a state away silently; it is a defect."""
    drbg = instantiated()
    with pytest.raises(InternalError, match="instantiated already"):
        drbg.instantiate(ENTROPY, NONCE)


def test_error_state_is_final():
    """Neither uninstantiate nor instantiate leads out of the error state."""
    drbg = instantiated()
    drbg.enter_error_state()
    drbg.uninstantiate()
    for operation in (
        lambda: drbg.generate(8),
        lambda: drbg.reseed(ENTROPY),
        lambda: drbg.instantiate(ENTROPY, NONCE),
    ):
        with pytest.raises(NotInstantiatedError, match="error state"):
            operation()
    assert (drbg._key, drbg._v) == (b"", b"")


class FailingHmac:
    """An HMAC that works `calls` times and then fails the given way."""

    def __init__(self, calls, failure):
        self.calls, self.failure = calls, failure

    def __call__(self, key, message, name):
        self.calls -= 1
        if self.calls >= 0:
            return hashlib.new(name, key + message).digest()
        return self.failure(message)


def out_of_memory(_message):
    raise MemoryError


FAILURES = {
    "raises": (out_of_memory, MemoryError),
    "short": (lambda _message: b"short", InternalError),
    "identity": (lambda message: message, InternalError),
}


# instantiate calls it 4 times, reseed 4, a generate of two blocks 2 + 2.
@pytest.mark.parametrize("calls", range(12))
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_half_way_latches_the_error_state(calls, failure):
    """Whichever call of the hash function fails, and however, nothing comes out afterwards."""
    broken, error = FAILURES[failure]
    drbg = HmacDrbg(hmac_function=FailingHmac(calls, broken))
    with pytest.raises(error):  # noqa: PT012 - any of the three may be the one that fails
        drbg.instantiate(ENTROPY, NONCE)
        drbg.reseed(ENTROPY)
        drbg.generate(1024)
    with pytest.raises(NotInstantiatedError, match="error state"):
        drbg.generate(8)


def test_repr_shows_no_state():
    """The text of an instance names its hash and state only."""
    drbg = instantiated()
    assert repr(drbg) == "<HmacDrbg sha512 instantiated>"
    assert not hasattr(drbg, "__dict__")
