"""`[[listener]]` and `[[client]]`: where calls come in, and who may call.

A listener tells callers apart in one of three ways, and in no other:

    plain, with `tenant` and `roles`    whoever reaches it: the file system, or the machine, decides
    plain, or with `tls`                by the token that a call brings
    with `tls` and its `client_ca`      by the name in the certificate of the connection

What a token or a name may do stands in `[[client]]`. Plain text is for unix
sockets and the loopback; on any other address it is refused here, before
anything can bind it.

Spec: DESIGN 11.
"""

import ipaddress
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    model_validator,
)

from entropyd.config.endpoints import Endpoint, UnixEndpoint, parse_endpoint
from entropyd.config.values import Id, Table, check_place, in_production, place_path, refuse_twice

# Four times what the queue holds by default: the queue's own refusal, which knows why and until
# when, comes first for one kind of call; this bounds all kinds together.
DEFAULT_MAX_CALLS = 16_384
MAX_MAX_CALLS = 1_000_000

_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DNS_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", re.ASCII)
# RFC 3986: a scheme, and characters that a URI has; the whole is compared, byte for byte.
_URI = re.compile(r"[a-z][a-z0-9+.-]*://[!-~]{1,2000}", re.ASCII)


class Role(StrEnum):
    """What a caller may do: exactly what some method asks for."""

    DEAL_ALL = "deal_all"
    DEAL = "deal"
    REVEAL = "reveal"
    VOID = "void"
    DRAW = "draw"
    CONTRIBUTE = "contribute"
    AUDIT = "audit"
    ADMIN = "admin"


SOME_ROLES = "a list of at least one of " + ", ".join(f'"{role}"' for role in Role)


def _parse_endpoint(value: object, info: ValidationInfo) -> Endpoint:
    return parse_endpoint(value, production=in_production(info))


def _parse_token_hash(value: object) -> str:
    # The value is not shown: somebody will paste the token itself.
    if not isinstance(value, str) or _SHA256.fullmatch(value) is None:
        raise ValueError(
            "is no SHA-256; expected 64 digits of lower-case hex, as told by"
            ' printf %s "$TOKEN" | sha256sum'
        )
    return value


def _parse_san(value: object) -> str:
    if isinstance(value, str) and (_URI.fullmatch(value) or _is_dns_name(value)):
        return value
    raise ValueError(
        'is no name of a certificate; expected a DNS name such as "poker-1.example", in lower case'
        ' and without wildcards, or a URI such as "spiffe://example/poker"'
    )


def _is_dns_name(value: str) -> bool:
    if _DNS_NAME.fullmatch(value) is None:
        return False
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return True
    return False


def _some_once(roles: tuple[Role, ...]) -> tuple[Role, ...]:
    if not roles:
        raise ValueError("is empty; expected at least one role")
    refuse_twice(roles)
    return roles


Place = Annotated[str, AfterValidator(check_place)]
Roles = Annotated[
    tuple[Annotated[Role, Field(strict=False)], ...],
    Field(
        strict=False,
        description=SOME_ROLES,
    ),
    AfterValidator(_some_once),
]
MaxCalls = Annotated[
    int,
    Field(
        ge=1,
        le=MAX_MAX_CALLS,
        description="a whole number from 1 to 1000000: calls at the same time; more are refused",
    ),
]


class Tls(Table):
    """`tls` of a listener: what it proves itself with, and whose certificates it takes.

    The files are looked at twice a second, and a changed certificate is shown to
    connections from then on; those that stand are not touched.
    """

    cert: Place = Field(
        description='the path of a PEM file, or "credential:NAME": the certificate, and those that'
        " lead from it to its authority"
    )
    key: Place = Field(description='the path of a PEM file, or "credential:NAME": its private key')
    client_ca: Place | None = Field(
        default=None,
        description='the path of a PEM file, or "credential:NAME": the authorities of clients;'
        " with it every client needs a certificate, without it every call a token",
    )

    def paths(self, key: str, credentials_directory: str | None) -> tuple[Path, Path, Path | None]:
        """Return the files of certificate, key and client authorities.

        Args:
            key: where this table stands, such as `listener[0].tls`, for the error text.
            credentials_directory: `$CREDENTIALS_DIRECTORY`, None where it is not set.

        Raises:
            ConfigError: a credential is named and the service manager passed none.
        """
        authorities = None
        if self.client_ca is not None:
            authorities = place_path(f"{key}.client_ca", self.client_ca, credentials_directory)
        return (
            place_path(f"{key}.cert", self.cert, credentials_directory),
            place_path(f"{key}.key", self.key, credentials_directory),
            authorities,
        )


class Asks(StrEnum):
    """What a listener tells its callers apart by."""

    NOTHING = "nothing"
    TOKEN = "token"  # noqa: S105  the word, not one
    CERTIFICATE = "certificate"


class Listener(Table):
    """`[[listener]]`: one server. At least one."""

    address: Annotated[Endpoint, BeforeValidator(_parse_endpoint)] = Field(
        description='"unix:/run/entropyd/poker.sock", "127.0.0.1:7443", or with tls "[::]:7443"'
    )
    tenant: Id | None = Field(
        default=None,
        description="whose hands are dealt here, an id; without tenant and roles, and with tls,"
        " each caller says who it is",
    )
    roles: Roles | None = Field(
        default=None,
        description=SOME_ROLES,
    )
    tls: Tls | None = Field(
        default=None, description='a table { cert = "...", key = "...", client_ca = "..." }'
    )
    max_calls: MaxCalls = Field(default=DEFAULT_MAX_CALLS)
    mode: Literal["0600", "0660"] = Field(
        default="0660",
        description='"0660" or "0600": who may open the socket; never others, since the socket is'
        " the credential",
    )
    owner: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="the user who owns the socket, by default the daemon's; another one takes"
        " CAP_CHOWN, so prefer group",
    )
    group: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="the group that may open the socket, by default the daemon's own; one that the"
        " daemon is in",
    )

    @property
    def asks(self) -> Asks:
        """What its callers are told apart by."""
        if self.tls is not None and self.tls.client_ca is not None:
            return Asks.CERTIFICATE
        return Asks.TOKEN if self.tenant is None else Asks.NOTHING

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if self.tls is None and not self.address.is_local:
            raise ValueError(
                f"address is {self.address.target}, not on the loopback: cards and claims would"
                " cross the network in the clear. TLS is required there; give"
                ' tls = { cert = "...", key = "..." }, or listen on 127.0.0.1, [::1] or a unix'
                " socket"
            )
        if self.tls is not None and isinstance(self.address, UnixEndpoint):
            raise ValueError("tls: a unix socket is no network; remove it, or listen on TCP")
        return self

    @model_validator(mode="after")
    def _knows_its_callers(self) -> Self:
        given = [name for name in ("tenant", "roles") if getattr(self, name) is not None]
        if self.tls is not None and given:
            raise ValueError(
                f"{' and '.join(given)}: whoever can connect would have them; say them in a"
                " [[client]] with the san of its certificate or the token_sha256 of its token"
            )
        if len(given) == 1:
            raise ValueError(
                f"has {given[0]} alone; expected tenant and roles, or neither where calls bring"
                " tokens"
            )
        return self

    @model_validator(mode="after")
    def _has_a_file(self) -> Self:
        given = sorted(self.model_fields_set & {"mode", "owner", "group"})
        if given and not isinstance(self.address, UnixEndpoint):
            raise ValueError(
                f"{', '.join(given)}: only a unix socket has one; remove it, or listen on unix:"
            )
        return self


class Client(Table):
    """`[[client]]`: one who may call, by certificate or by token. Read again on SIGHUP."""

    san: Annotated[str, BeforeValidator(_parse_san)] | None = Field(
        default=None,
        description="a DNS name or URI of the subject alternative names of its certificate",
    )
    token_sha256: Annotated[str, BeforeValidator(_parse_token_hash)] | None = Field(
        default=None,
        description="the SHA-256 of its token in hex: the file never holds the token",
    )
    tenant: Id = Field(description="whose hands it deals, an id")
    roles: Roles
    max_calls: MaxCalls = Field(default=DEFAULT_MAX_CALLS)

    @model_validator(mode="after")
    def _has_one_credential(self) -> Self:
        if (self.san is None) == (self.token_sha256 is None):
            raise ValueError("expected exactly one of san and token_sha256")
        return self


def refuse_unused(listeners: Sequence[Listener], clients: Sequence[Client]) -> None:
    """Raise a ValueError unless each client can come in somewhere.

    A listener that nobody can come in by is right: that is what is left when
    the last token was revoked.
    """
    asked = {listener.asks for listener in listeners}
    for client in clients:
        if client.san is None and Asks.TOKEN not in asked:
            raise ValueError(
                "client: one has a token_sha256, and no [[listener]] asks for tokens; expected one"
                " without tenant and roles"
            )
        if client.san is not None and Asks.CERTIFICATE not in asked:
            raise ValueError(
                "client: one has a san, and no [[listener]] asks for certificates; expected"
                " one whose tls has a client_ca"
            )


def tenants_of(listeners: Sequence[Listener], clients: Sequence[Client]) -> tuple[str, ...]:
    """Return the tenants whose hands can be dealt, each once, in order."""
    named = {listener.tenant for listener in listeners} | {client.tenant for client in clients}
    return tuple(sorted(tenant for tenant in named if tenant is not None))
