"""A daemon with every kind of door, and the keys to them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from entropyd.client import Client, Tls
from tests.fakes.certificates import Authority, Pair
from tests.system.harness import CONFIG, Daemon, free_port

# What the daemon's certificate says, whatever address it is reached by.
SERVER_NAME = "entropyd.test"
NO_RETRIES = (("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1))

LISTENERS = """
[[listener]]
address = "0.0.0.0:{certificates}"
tls = {{ cert = "{home}/server.pem", key = "{home}/server.key", client_ca = "{home}/clients.pem" }}

[[listener]]
address = "[::]:{tokens}"
tls = {{ cert = "{home}/server.pem", key = "{home}/server.key" }}

[[listener]]
address = "127.0.0.1:{plain}"
"""


def token_of(name: str) -> str:
    """Return the token of the client `name`."""
    return hashlib.sha256(f"token of {name}".encode()).hexdigest()


def client_table(key: str, value: str, roles: Iterable[str], *, tenant: str = "acme") -> str:
    """Return a table [[client]]."""
    names = ", ".join(f'"{role}"' for role in roles)
    return f'\n[[client]]\n{key} = "{value}"\ntenant = "{tenant}"\nroles = [{names}]\n'


def token_table(name: str, roles: Iterable[str], *, tenant: str = "acme") -> str:
    """Return a table [[client]] for the token of `name`."""
    digest = hashlib.sha256(token_of(name).encode()).hexdigest()
    return client_table("token_sha256", digest, roles, tenant=tenant)


@dataclass
class Doors:
    """Where the doors are, and the authorities behind their certificates.

    Attributes:
        home: the daemon's directory, where its certificate is too.
        certificates, tokens, plain: ports of the listeners that ask for a certificate, for a
            token in TLS, and for a token in plain text.
    """

    home: Path
    certificates: int = field(default_factory=free_port)
    tokens: int = field(default_factory=free_port)
    plain: int = field(default_factory=free_port)
    servers: Authority = field(default_factory=lambda: Authority("servers"))
    clients: Authority = field(default_factory=lambda: Authority("clients"))

    def daemon(self, clients: str, *, listeners: str = "") -> Daemon:
        """Return a daemon that is not started yet: the harness's sockets, and these doors."""
        self.servers.issue(SERVER_NAME).write(self.home, "server")
        (self.home / "clients.pem").write_bytes(self.clients.pem)
        port = free_port()
        text = CONFIG.format(home=self.home, options="", source_extra="", gate="", http_port=port)
        doors = LISTENERS.format(
            home=self.home,
            certificates=self.certificates,
            tokens=self.tokens,
            plain=self.plain,
        )
        return Daemon(self.home, config=text + doors + listeners + clients, http_port=port)

    def tls(self, shown: Pair | None = None) -> Tls:
        """Return what a client expects and shows."""
        return Tls(
            ca=self.servers.pem,
            cert=None if shown is None else shown.cert,
            key=None if shown is None else shown.key,
            server_name=SERVER_NAME,
        )

    def channel(self, port: int, shown: Pair | None = None) -> grpc.Channel:
        """Return a channel without retries, in TLS unless the door is the plain one."""
        target = f"127.0.0.1:{port}"
        if port == self.plain:
            return grpc.insecure_channel(target, NO_RETRIES)
        tls = self.tls(shown)
        return grpc.secure_channel(target, tls.credentials(), (*tls.options(), *NO_RETRIES))

    def client(self, port: int, shown: Pair | None = None, token: str | None = None) -> Client:
        """Return the project's own client, with the harness's claim key."""
        return Client(
            f"127.0.0.1:{port}",
            claim_key_file=self.home / "claim.key",
            tls=None if port == self.plain else self.tls(shown),
            token=token,
        )
