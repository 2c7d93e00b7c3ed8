"""Where the daemon listens, as a value: a unix socket, or a TCP port.

Off the loopback cards would cross a network: `is_local` says where nothing but
TLS may be spoken.
"""

import ipaddress
import re
from dataclasses import dataclass

# struct sockaddr_un holds 108 bytes, the last of them a zero (unix(7)).
MAX_SOCKET_PATH_BYTES = 107

_TCP = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+)):([0-9]{1,5})", re.ASCII)


@dataclass(frozen=True)
class UnixEndpoint:
    """A unix socket; whoever may open it is who it was made for.

    Attributes:
        path: its path, absolute in production.
    """

    path: str

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return True

    @property
    def target(self) -> str:
        """The address as gRPC writes it."""
        return f"unix:{self.path}"


@dataclass(frozen=True)
class TcpEndpoint:
    """A TCP port.

    Attributes:
        host: a literal address, IPv4 or IPv6, without brackets; 0.0.0.0 and :: are every one.
        port: 0 (any free port, in development only) to 65535.
    """

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def target(self) -> str:
        """The address as gRPC and URLs write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Endpoint = UnixEndpoint | TcpEndpoint


def parse_endpoint(value: object, *, production: bool) -> Endpoint:
    """Return the endpoint written as "unix:/path", "127.0.0.1:7443" or "[::]:7443".

    Raises:
        ValueError: none of these.
    """
    if isinstance(value, str) and value.startswith("unix:"):
        return _parse_unix(value.removeprefix("unix:"), production=production)
    return parse_tcp(value, production=production)


def parse_tcp(value: object, *, production: bool) -> TcpEndpoint:
    """Return a TCP endpoint. Names are refused: what they resolve to can change.

    Raises:
        ValueError: no address and port.
    """
    match = _TCP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError('is no address; expected one such as "127.0.0.1:7443" or "[::1]:7443"')
    host, port = match[1] or match[2], int(match[3])
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise ValueError(
            f'has the host name "{host}"; expected a literal address, 127.0.0.1 or [::1]'
        ) from error
    _check_port(port, production=production)
    return TcpEndpoint(str(address), port)


def parse_local_tcp(value: object, *, production: bool) -> TcpEndpoint:
    """Return a TCP endpoint on the loopback, for what is never told to other machines.

    Raises:
        ValueError: no address and port, or not on the loopback.
    """
    endpoint = parse_tcp(value, production=production)
    if not endpoint.is_local:
        raise ValueError(f"is {value}, not on the loopback; expected 127.0.0.1 or [::1]")
    return endpoint


def _check_port(port: int, *, production: bool) -> None:
    lowest = 1 if production else 0
    if not lowest <= port <= 65535:
        raise ValueError(f"has port {port}; expected {lowest} to 65535")


def _parse_unix(path: str, *, production: bool) -> UnixEndpoint:
    if not path or "\0" in path or path.startswith("//"):
        raise ValueError('has no usable path; expected one such as "unix:/run/entropyd/poker.sock"')
    if len(path.encode()) > MAX_SOCKET_PATH_BYTES:
        raise ValueError(
            f"has a path of {len(path.encode())} bytes; expected at most {MAX_SOCKET_PATH_BYTES}"
        )
    if production and not path.startswith("/"):
        raise ValueError(f'has the relative path "{path}"; expected an absolute one in production')
    return UnixEndpoint(path)
