"""Secrets under keys of their own, and the file of the master key."""

import hmac
import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from entropyd.errors import ConfigError, LedgerDamagedError
from entropyd.ledger.secrets import INFO, SecretBox, load_or_create_master_key

MASTER_KEY = bytes(range(32))
BOX = SecretBox(MASTER_KEY)
NAMES = {"binding": b"X", "state": b"dealt", "field": b"items"}


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=400))
def test_what_was_sealed_opens(plaintext):
    """A secret comes back; sealed, it is 48 bytes longer: salt and tag."""
    sealed = BOX.seal(plaintext, **NAMES)
    assert plaintext == BOX.open(sealed, row="hands/1", **NAMES)
    assert len(plaintext) + 48 == len(sealed)


def test_the_construction_is_the_documented_one():
    """HKDF-SHA-512 from RFC 5869's two steps, AES-256-GCM, zero nonce, prefixed names."""
    sealed = BOX.seal(b"secret", **NAMES)
    salt, ciphertext = sealed[:32], sealed[32:]
    pseudorandom_key = hmac.digest(salt, MASTER_KEY, "sha512")
    key = hmac.digest(pseudorandom_key, b"entropyd/ledger-secret/v1\x01", "sha512")[:32]
    aad = b"\0\0\0\x01X" + b"\0\0\0\x05dealt" + b"\0\0\0\x05items"
    assert b"secret" == AESGCM(key).decrypt(bytes(12), ciphertext, aad)
    assert b"entropyd/ledger-secret/v1" == INFO


def test_a_proof_is_the_documented_one():
    """HMAC-SHA-256 over prefixed names and data, under a key of HKDF's that has no salt."""
    pseudorandom_key = hmac.digest(bytes(64), MASTER_KEY, "sha512")
    key = hmac.digest(pseudorandom_key, b"entropyd/ledger-proof/v1\x01", "sha512")[:32]
    names = b"\0\0\0\x01X" + b"\0\0\0\x05dealt" + b"\0\0\0\x05items"
    expected = hmac.digest(key, names + b"\0\0\0\x05clear", "sha256")
    assert expected == BOX.proof(b"clear", **NAMES)


def test_every_part_of_a_proof_counts():
    """Data, names and key; also the same letters split elsewhere."""
    proofs = [
        BOX.proof(b"clear", **NAMES),
        BOX.proof(b"cleaR", **NAMES),
        BOX.proof(b"clear", **NAMES | {"binding": b"Y"}),
        BOX.proof(b"clear", **NAMES | {"state": b"open"}),
        BOX.proof(b"clear", **NAMES | {"field": b"opening"}),
        BOX.proof(b"clear", **NAMES | {"binding": b"Xd", "state": b"ealt"}),
        BOX.proof(b"sclear", **NAMES | {"field": b"item"}),
        SecretBox(bytes(32)).proof(b"clear", **NAMES),
    ]
    assert len(proofs) == len(set(proofs))


def test_every_encryption_has_a_salt_of_its_own():
    """With one salt twice, a zero nonce would meet one key twice."""
    salts = {BOX.seal(b"the same", **NAMES)[:32] for _ in range(100)}
    assert len(salts) == 100


@pytest.mark.parametrize(
    "other",
    [
        {"binding": b"Y"},
        {"state": b"open"},
        {"field": b"opening"},
        {"binding": b"Xd", "state": b"ealt"},
    ],
    ids=str,
)
def test_a_secret_moved_elsewhere_does_not_open(other):
    """Another hand, state or column, or the same letters split elsewhere."""
    sealed = BOX.seal(b"secret", **NAMES)
    with pytest.raises(LedgerDamagedError, match="does not decrypt"):
        BOX.open(sealed, row="hands/1", **(NAMES | other))


def test_any_changed_or_missing_byte_is_noticed_and_nothing_told():
    """The error names row and field and quotes no byte."""
    sealed = BOX.seal(b"secret", **NAMES)
    damaged = [sealed[:n] + bytes([sealed[n] ^ 1]) + sealed[n + 1 :] for n in range(len(sealed))]
    damaged += [sealed[:n] for n in range(len(sealed))] + [sealed + b"\0"]
    for bad in damaged:
        with pytest.raises(LedgerDamagedError, match="ledger row hands/1, field items") as error:
            BOX.open(bad, row="hands/1", **NAMES)
        assert "secret" not in str(error.value)


def test_another_master_key_opens_nothing():
    sealed = BOX.seal(b"secret", **NAMES)
    with pytest.raises(LedgerDamagedError, match="master key is not the one"):
        SecretBox(bytes(32)).open(sealed, row="hands/1", **NAMES)


@pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
def test_a_master_key_of_another_length_is_refused(length):
    with pytest.raises(ConfigError, match=f"has {length} bytes"):
        SecretBox(bytes(length))


# --- the file --------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "master.key"


def test_a_key_is_generated_once_and_is_private(path):
    key = load_or_create_master_key(path, create=True)
    assert 32 == len(key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert key == load_or_create_master_key(path, create=True)
    assert key == load_or_create_master_key(path, create=False)
    assert [path] == list(path.parent.iterdir())


def test_two_generated_keys_differ(tmp_path):
    keys = {load_or_create_master_key(tmp_path / name, create=True) for name in ("a", "b", "c")}
    assert len(keys) == 3


def test_what_an_interrupted_start_left_is_written_anew(path):
    path.with_name("master.key.unfinished").write_bytes(b"half")
    assert 32 == len(load_or_create_master_key(path, create=True))
    assert [path] == list(path.parent.iterdir())


def test_a_missing_key_is_never_generated_unasked(path):
    with pytest.raises(ConfigError, match="expected a file of 32 random bytes"):
        load_or_create_master_key(path, create=False)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", bytes(31), bytes(33), b"0" * 64])
def test_a_key_file_of_another_length_is_refused_and_kept(path, content):
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="expected exactly 32"):
        load_or_create_master_key(path, create=True)
    assert content == path.read_bytes()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o666, 0o440])
def test_a_key_file_that_others_may_read_is_refused_with_the_remedy(path, mode):
    path.write_bytes(bytes(32))
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"mode {mode:04o}.*chmod 600 {path}"):
        load_or_create_master_key(path, create=True)


@pytest.mark.parametrize("mode", [0o400, 0o440])
def test_a_systemd_credential_is_taken(path, mode, monkeypatch):
    """0400, or 0440 where systemd gives access by an access control entry."""
    path.write_bytes(MASTER_KEY)
    path.chmod(mode)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(path.parent))
    assert MASTER_KEY == load_or_create_master_key(path, create=False)


@pytest.mark.parametrize("mode", [0o444, 0o460])
def test_a_credential_that_others_may_read_is_refused(path, mode, monkeypatch):
    path.write_bytes(MASTER_KEY)
    path.chmod(mode)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(path.parent))
    with pytest.raises(ConfigError, match="others may read it"):
        load_or_create_master_key(path, create=False)


def test_a_key_file_of_another_user_is_refused(path, monkeypatch):
    path.write_bytes(MASTER_KEY)
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigError, match="belongs to uid"):
        load_or_create_master_key(path, create=False)
