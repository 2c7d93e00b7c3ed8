"""How a client connects: in plain text on this machine, in TLS to any other, with a token or not.

A token is never sent where others could read it: over plain text only to a
unix socket or the loopback.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from entropyd.client.service_config import CHANNEL_OPTIONS

Options = tuple[tuple[str, str | int], ...]
Metadata = tuple[tuple[str, str], ...]

# RFC 6750, 2.1: what a bearer token is made of.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{1,4096}=*", re.ASCII)


@dataclass(frozen=True)
class Tls:
    """What to expect of the daemon, and what to show it.

    Attributes:
        ca: PEM of the authorities that the daemon's certificate may come from.
        cert: PEM of the client's certificate and those that lead to its authority; None where the
            listener asks for a token.
        key: PEM of its private key.
        server_name: the name that the daemon's certificate must have; by default the target's.
    """

    ca: bytes = field(repr=False)
    cert: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    server_name: str | None = None

    def __post_init__(self) -> None:
        """Refuse half of a pair."""
        if (self.cert is None) != (self.key is None):
            raise ValueError("give both of cert and key, or neither")

    @classmethod
    def load(
        cls,
        *,
        ca: str | Path,
        cert: str | Path | None = None,
        key: str | Path | None = None,
        server_name: str | None = None,
    ) -> "Tls":
        """Return what PEM files hold.

        Raises:
            OSError: one cannot be read.
        """
        return cls(
            ca=Path(ca).read_bytes(),
            cert=None if cert is None else Path(cert).read_bytes(),
            key=None if key is None else Path(key).read_bytes(),
            server_name=server_name,
        )

    def credentials(self) -> grpc.ChannelCredentials:
        """Return the same for gRPC."""
        return grpc.ssl_channel_credentials(self.ca, self.key, self.cert)

    def options(self) -> Options:
        """Return the channel's options."""
        if self.server_name is None:
            return CHANNEL_OPTIONS
        return (*CHANNEL_OPTIONS, ("grpc.ssl_target_name_override", self.server_name))


def open_channel(target: str, tls: Tls | None) -> grpc.Channel:
    """Return a channel for threads; it connects with its first call."""
    if tls is None:
        return grpc.insecure_channel(target, options=CHANNEL_OPTIONS)
    return grpc.secure_channel(target, tls.credentials(), options=tls.options())


def open_aio_channel(target: str, tls: Tls | None) -> grpc.aio.Channel:
    """Return a channel for asyncio; it connects with its first call."""
    if tls is None:
        return grpc.aio.insecure_channel(target, options=CHANNEL_OPTIONS)
    return grpc.aio.secure_channel(target, tls.credentials(), options=tls.options())


def token_metadata(target: str, tls: Tls | None, token: str | None) -> Metadata | None:
    """Return what each call brings to say who makes it.

    Raises:
        ValueError: the token is none, or would cross a network in the clear.
    """
    if token is None:
        return None
    if _TOKEN.fullmatch(token) is None:
        raise ValueError("token: expected letters, digits and -._~+/ alone, such as 64 of hex")
    if tls is None and not _is_local(target):
        raise ValueError(f"token: would go to {target} in the clear; give tls as well")
    return (("authorization", f"Bearer {token}"),)


def _is_local(target: str) -> bool:
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    host = target.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
