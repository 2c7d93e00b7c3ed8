"""How the ledger keeps secrets: every one encrypted under a key of its own.

Seeds, blinding, salt key and cards lie in the ledger only as this module
writes them. The master key comes from a file that only the daemon may read; it
encrypts nothing itself.

GAP: Python cannot wipe memory. Master key and plaintexts stay in the process
until their memory is used again.

Spec: DESIGN, section 11.
"""

import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from entropyd.encoding import lp
from entropyd.errors import ConfigError, LedgerDamagedError
from entropyd.keyed_hash import digest
from entropyd.ledger.key_file import read_key_file, write_key_file

MASTER_KEY_BYTES = 32
SALT_BYTES = 32
TAG_BYTES = 16
# HKDF's info: what keys derived from this master key are used for. Any other
# use of the master key must take another label.
INFO = b"entropyd/ledger-secret/v1"
# The other use: proofs of what stands in the clear.
PROOF_INFO = b"entropyd/ledger-proof/v1"
# A nonce must not meet the same key twice, and no key is ever used twice: each
# comes from 32 fresh random bytes of salt. So the nonce may be constant, and no
# counter has to survive a crash or a restored backup. Salts collide with
# probability below 2^-128 over 2^64 encryptions.
NONCE = bytes(12)


class SecretBox:
    """Encrypts and decrypts single secrets of the ledger. Stateless; any thread.

    A sealed secret is salt (32 bytes) || ciphertext || tag (16 bytes).
    """

    def __init__(self, master_key: bytes) -> None:
        """Use `master_key`, 32 uniformly random bytes.

        Raises:
            ConfigError: the key has another length.
        """
        if len(master_key) != MASTER_KEY_BYTES:
            raise ConfigError(
                f"master key has {len(master_key)} bytes; expected {MASTER_KEY_BYTES} random bytes"
            )
        self._master_key = master_key
        # One key for all proofs: HMAC, unlike the cipher, may use a key as often as it likes.
        self._proof_key = HKDF(hashes.SHA512(), 32, None, PROOF_INFO).derive(master_key)

    @staticmethod
    def salts(count: int) -> list[bytes]:
        """Return fresh salts, drawn in one call: each call lets other threads run first."""
        drawn = os.urandom(SALT_BYTES * count)
        return [drawn[at : at + SALT_BYTES] for at in range(0, len(drawn), SALT_BYTES)]

    def seal(
        self,
        plaintext: bytes,
        *,
        binding: bytes,
        state: bytes,
        field: bytes,
        salt: bytes | None = None,
    ) -> bytes:
        """Encrypt one secret of one hand.

        The additional data name hand, state and field, so that a ciphertext
        moved to another row or column does not decrypt there.

        Args:
            plaintext: the secret.
            binding: X of the hand.
            state: state of the hand in which the secret was written, such as `dealt`.
            field: column of the secret, such as `opening`.
            salt: one of `salts` that is used for nothing else; drawn here unless given.
        """
        [salt] = [salt] if salt is not None else self.salts(1)
        aad = lp(binding) + lp(state) + lp(field)
        return salt + AESGCM(self._key(salt)).encrypt(NONCE, plaintext, aad)

    def open(self, sealed: bytes, *, binding: bytes, state: bytes, field: bytes, row: str) -> bytes:
        """Decrypt what `seal` returned for the same binding, state and field.

        Args:
            sealed: salt, ciphertext and tag.
            binding: X of the hand.
            state: as it was sealed with.
            field: as it was sealed with; names the column in the error text.
            row: where it was read, such as `hands/17`, for the error text.

        Raises:
            LedgerDamagedError: it does not decrypt: another master key, or
                row, column or ciphertext were changed. Nothing is returned.
        """
        salt, ciphertext = sealed[:SALT_BYTES], sealed[SALT_BYTES:]
        aad = lp(binding) + lp(state) + lp(field)
        try:
            return AESGCM(self._key(salt)).decrypt(NONCE, ciphertext, aad)
        except InvalidTag as error:
            raise LedgerDamagedError(
                f"ledger row {row}, field {field.decode('ascii')}: does not decrypt; the master key"
                " is not the one it was written with, or the row was changed: restore both from"
                " one backup"
            ) from error

    def proof(self, data: bytes, *, binding: bytes, state: bytes, field: bytes) -> bytes:
        """Return 32 bytes that only who has the master key can make: what was written is unchanged.

        Args:
            data: what stands in the clear.
            binding: what names the record.
            state: state of the record in which it was written.
            field: what of the record it covers.
        """
        message = lp(binding) + lp(state) + lp(field) + lp(data)
        return digest(self._proof_key, message, "sha256")

    def _key(self, salt: bytes) -> bytes:
        return HKDF(hashes.SHA512(), 32, salt, INFO).derive(self._master_key)


def load_or_create_master_key(path: Path, *, create: bool) -> bytes:
    """Return the master key in `path`, a file of exactly 32 random bytes.

    The caller holds the state directory, so nobody else creates the file meanwhile.

    Args:
        path: `master.key` in the state directory, or a systemd credential.
        create: generate the key if the file does not exist (development).

    Raises:
        ConfigError: the file is missing, unreadable, of another length, or
            others may read it. The text has the remedy.
    """
    if create and not path.exists():
        # If we die before it has its name, the next start makes another key, and nothing was
        # encrypted under this one.
        write_key_file(path, os.urandom(MASTER_KEY_BYTES))
    key = read_key_file("master key", path, MASTER_KEY_BYTES)
    if len(key) != MASTER_KEY_BYTES:
        found = f"{len(key)} bytes" if len(key) < MASTER_KEY_BYTES else "more bytes"
        raise ConfigError(
            f"master key {path}: has {found}; expected exactly {MASTER_KEY_BYTES}: restore the file"
            " from its backup, without it no stored hand can be answered"
        )
    return key
