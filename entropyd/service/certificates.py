"""The certificate that a listener shows, read again when its files change.

gRPC asks for a new one whenever a connection is made, on a thread of its own;
there nothing is read or decided, so that no handshake waits for a disk.
The event loop looks at the files twice a second. A pair that cannot be used
changes nothing: the one before stays, and connections that stand never notice.

Spec: DESIGN 11; field-notes 91 (nothing forks here).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from entropyd.errors import ConfigError

# A chain of five certificates of 4096-bit keys, and the explanations that people put before them,
# are 20 KiB; a file with all public authorities is 250 KiB.
MAX_FILE_BYTES = 2**20


@dataclass(frozen=True)
class TlsFiles:
    """Where the PEM files of a listener are.

    Attributes:
        cert: its certificate, and those that lead to its authority.
        key: its private key.
        client_ca: the authorities of its clients; None if they need no certificate.
    """

    cert: Path
    key: Path
    client_ca: Path | None

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file there is."""
        return tuple(path for path in (self.cert, self.key, self.client_ca) if path is not None)


@dataclass(frozen=True)
class _Pair:
    """A certificate and key that belong together and can be used now."""

    configuration: grpc.ServerCertificateConfiguration
    contents: tuple[bytes, ...]
    not_after: datetime

    def __repr__(self) -> str:
        return f"_Pair(not_after={self.not_after})"


@dataclass(frozen=True)
class Look:
    """What a look at the files told.

    Attributes:
        changed: another pair is shown from now on.
        trouble: what is wrong with the files; empty if nothing, or if it was told before.
    """

    changed: bool = False
    trouble: str = ""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Certificates:
    """What one TLS listener shows. Owned by the event loop's thread; `fetch` by any."""

    def __init__(
        self, files: TlsFiles, *, listener: str, now: Callable[[], datetime] = _utc_now
    ) -> None:
        """Read the files.

        Args:
            files: where they are.
            listener: its address, for error texts.
            now: the wall clock, which certificates go by.

        Raises:
            ConfigError: they cannot be used; the text has the remedy.
        """
        self._files = files
        self._listener = listener
        self._now = now
        self._trouble = ""
        self._stamps = _stamps(files)
        self._pair = self._read()
        self._to_hand_over: grpc.ServerCertificateConfiguration | None = None

    @property
    def not_after(self) -> datetime:
        """When the certificate that is shown expires."""
        return self._pair.not_after

    @property
    def stale(self) -> bool:
        """Whether the files cannot be used, and the pair before is shown."""
        return bool(self._trouble)

    def fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what connections are shown from now on, None if that has not changed.

        Called on gRPC's threads, one at a time. None is not only quicker: whenever
        it is handed a configuration, gRPC's core replaces an object that the thread
        of another connection may just be using (grpc/grpc#36693). Handed one for
        each connection, it crashes after some hundred of them at the same time.

        GAP: so it could still at the moment of a change, if a connection is made
        within the same microseconds; in 1,900 changes under 1,500 connections a
        second it did not. The service manager would start the daemon again.
        """
        handed_over, self._to_hand_over = self._to_hand_over, None
        return handed_over

    def credentials(self) -> grpc.ServerCredentials:
        """Return what makes a port of gRPC speak TLS and ask `fetch` for every connection."""
        # The stubs do not know that None stands for "as before".
        fetch: Any = self.fetch
        return grpc.dynamic_ssl_server_credentials(
            self._pair.configuration,
            fetch,
            require_client_authentication=self._files.client_ca is not None,
        )

    def look(self) -> Look:
        """Read the files again if they changed, or were wrong the last time."""
        stamps = _stamps(self._files)
        if stamps == self._stamps and not self._trouble:
            return Look()
        # Before reading: what is written meanwhile is seen by the next look.
        self._stamps = stamps
        try:
            pair = self._read()
        except ConfigError as error:
            told, self._trouble = self._trouble, str(error)
            return Look(trouble="" if told == self._trouble else self._trouble)
        recovered, self._trouble = bool(self._trouble), ""
        changed = pair.contents != self._pair.contents
        self._pair = pair
        if changed:
            self._to_hand_over = pair.configuration
        return Look(changed=changed or recovered)

    def _read(self) -> _Pair:
        try:
            contents = tuple(_content(path) for path in self._files.all)
        except OSError as error:
            raise self._unusable(
                f"{error.filename} cannot be read ({error.strerror}); give the path of a file that"
                " the daemon's user may read"
            ) from error
        cert, key, *authorities = contents
        leaf = self._certificates(cert, self._files.cert)[0]
        self._refuse_expired(leaf)
        self._refuse_foreign(key, leaf)
        if self._files.client_ca is not None:
            self._certificates(authorities[0], self._files.client_ca)
        configuration = grpc.ssl_server_certificate_configuration(
            [(key, cert)], root_certificates=authorities[0] if authorities else None
        )
        return _Pair(configuration, contents, leaf.not_valid_after_utc)

    def _certificates(self, pem: bytes, path: Path) -> list[x509.Certificate]:
        try:
            return x509.load_pem_x509_certificates(pem)
        except ValueError as error:
            raise self._unusable(f"{path} holds no certificate in PEM; expected one") from error

    def _refuse_expired(self, leaf: x509.Certificate) -> None:
        if not leaf.not_valid_before_utc <= self._now() <= leaf.not_valid_after_utc:
            raise self._unusable(
                f"the certificate in {self._files.cert} is valid from"
                f" {leaf.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ} to"
                f" {leaf.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}; expected one that is valid now"
            )

    def _refuse_foreign(self, pem: bytes, leaf: x509.Certificate) -> None:
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise self._unusable(
                f"{self._files.key} holds no private key in PEM without a password; expected one"
            ) from error
        if key.public_key() != leaf.public_key():
            raise self._unusable(
                f"the key in {self._files.key} is not the one of the certificate in"
                f" {self._files.cert}, which stands first there; expected a pair"
            )

    def _unusable(self, text: str) -> ConfigError:
        return ConfigError(f"listener {self._listener}: {text}")


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE_BYTES)


def _stamps(files: TlsFiles) -> tuple[tuple[int, ...], ...]:
    """Return what tells that a file was written or replaced, empty where it is not there."""
    return tuple(_stamp(path) for path in files.all)


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
