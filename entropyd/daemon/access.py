"""Who may come in where: doors made from the configuration, and what changes while it runs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from entropyd.config import Asks, Client, Config, Listener
from entropyd.ops.logs import get_logger
from entropyd.service.authentication import Authenticator, ByCertificate, ByListener, ByToken
from entropyd.service.certificates import Certificates, TlsFiles
from entropyd.service.directory import Directory
from entropyd.service.identity import Identity


@dataclass(frozen=True)
class Door:
    """How one listener tells its callers apart, and what it shows them.

    Attributes:
        authenticator: finds out who calls.
        certificates: what it shows in TLS; None for plain text.
    """

    authenticator: Authenticator
    certificates: Certificates | None


class CertificateObserver(Protocol):
    """Who shows how certificates stand."""

    def certificate(self, listener: str, *, not_after_unix_s: float, stale: bool) -> None:
        """Note what a listener shows: until when, and whether its files are of no use."""
        ...


class Access:
    """The directory and the doors of a daemon. Owned by the event loop's thread."""

    def __init__(self, config: Config, observer: CertificateObserver) -> None:
        """Know the clients of `config`; `door` makes the doors of its listeners."""
        self._observer = observer
        self._directory = Directory(config.clients)
        self._shown: list[tuple[str, Certificates]] = []
        self._log = get_logger("access")

    def door(self, listener: Listener) -> Door:
        """Return the door of a listener.

        Raises:
            ConfigError: its certificate cannot be used.
        """
        certificates = self._certificates(listener)
        match listener.asks:
            case Asks.CERTIFICATE:
                return Door(ByCertificate(self._directory), certificates)
            case Asks.TOKEN:
                return Door(ByToken(self._directory), certificates)
            case Asks.NOTHING:
                return Door(ByListener(_identity(listener)), certificates)

    def replace_clients(self, clients: Sequence[Client]) -> None:
        """Let in `clients` and nobody else, from this moment on."""
        self._directory.replace(clients)

    def look(self) -> None:
        """Look whether certificates changed. A line in the log for each that did, or cannot."""
        for address, certificates in self._shown:
            look = certificates.look()
            if look.trouble:
                self._log.error("certificate stays as it was", reason=look.trouble)
            elif look.changed:
                self._log.info(
                    "certificate read again",
                    address=address,
                    not_after=f"{certificates.not_after:%Y-%m-%dT%H:%M:%SZ}",
                )
            self._show(address, certificates)

    def _certificates(self, listener: Listener) -> Certificates | None:
        if listener.tls is None:
            return None
        address = listener.address.target
        paths = listener.tls.paths(
            f"listener {address} tls", os.environ.get("CREDENTIALS_DIRECTORY")
        )
        certificates = Certificates(TlsFiles(*paths), listener=address)
        self._shown.append((address, certificates))
        self._show(address, certificates)
        return certificates

    def _show(self, address: str, certificates: Certificates) -> None:
        ends = certificates.not_after.timestamp()
        self._observer.certificate(address, not_after_unix_s=ends, stale=certificates.stale)


def _identity(listener: Listener) -> Identity:
    return Identity(
        listener.tenant or "", frozenset(listener.roles or ()), name=listener.address.target
    )
