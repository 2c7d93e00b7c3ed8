"""How the ledger keeps secrets: every one encrypted under a key of its own.

Seeds, blinding, salt key and cards lie in the ledger only as this module
writes them. The master key comes from a file that only the daemon may read; it
encrypts nothing itself.

GAP: Python cannot wipe memory. Master key and plaintexts stay in the process
until their memory is used again.

Spec: DESIGN, section 11.
"""

import hmac
import os
import stat
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from entropyd.encoding import lp
from entropyd.errors import ConfigError, LedgerDamagedError
from entropyd.ledger.state_dir import sync_directory

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
        return hmac.digest(self._proof_key, message, "sha256")

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
        _create_master_key(path)
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise ConfigError(
            f"master key {path}: {error.strerror}; expected a file of {MASTER_KEY_BYTES} random"
            " bytes, readable by the daemon alone"
        ) from error
    with open(descriptor, "rb") as file:
        _check_privacy(path, os.fstat(descriptor))
        key = file.read(MASTER_KEY_BYTES + 1)
    if len(key) != MASTER_KEY_BYTES:
        found = f"{len(key)} bytes" if len(key) < MASTER_KEY_BYTES else "more bytes"
        raise ConfigError(
            f"master key {path}: has {found}; expected exactly {MASTER_KEY_BYTES}: restore the file"
            " from its backup, without it no stored hand can be answered"
        )
    return key


def _check_privacy(path: Path, status: os.stat_result) -> None:
    """Refuse a key file that anybody but its owner may read."""
    mode = stat.S_IMODE(status.st_mode)
    # systemd gives a credential to a service user by an access control entry on
    # a file of root with mode 0400. Such an entry makes the group bits show the
    # entry's mask: 0440 there lets no group read.
    forbidden = 0o037 if _is_systemd_credential(path) else 0o077
    if mode & forbidden:
        raise ConfigError(
            f"master key {path}: has mode {mode:04o}, others may read it; run chmod 600 {path}"
        )
    if status.st_uid not in (0, os.geteuid()):
        raise ConfigError(
            f"master key {path}: belongs to uid {status.st_uid}; expected uid {os.geteuid()}: run"
            f" chown {os.geteuid()} {path}"
        )


def _is_systemd_credential(path: Path) -> bool:
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    return bool(directory) and path.parent == Path(str(directory))


def _create_master_key(path: Path) -> None:
    """Generate a key file that exists whole or not at all, also after a crash."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(os.urandom(MASTER_KEY_BYTES))
        file.flush()
        os.fsync(descriptor)
    # If we die before the rename, the next start makes another key, and nothing
    # was encrypted under this one. After the sync of the directory the key
    # survives power loss, before the first secret is written.
    unfinished.rename(path)
    sync_directory(path.parent)
