"""How a listener tells its callers apart: by itself, by their token, by their certificate.

Each way has one class. What a call shows is read once, when it begins, and is
looked up again before its answer leaves: `Caller.identity` says who it is *now*.

Spec: DESIGN 11; RFC 6750, section 2.1 (bearer tokens).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol

import grpc
from cryptography import x509

from entropyd.errors import UnauthenticatedError
from entropyd.service.directory import Directory, token_digest
from entropyd.service.identity import Identity

Context = grpc.aio.ServicerContext[Any, Any]

TOKEN_KEY = "authorization"  # noqa: S105  the name of a header, not a token

# RFC 6750, 2.1: the scheme is compared without regard to case, the rest is a b64token. 32 random
# bytes are 64 digits of hex; tokens that some issuers sign are longer, and metadata holds 8 KiB.
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]{1,4096}=*)", re.ASCII)

# As many as there are connections of clients with certificates of their own; each is some 2 KiB.
CERTIFICATES_REMEMBERED = 1024


class Caller(Protocol):
    """Whoever made one call."""

    def identity(self) -> Identity:
        """Return who it is now.

        Raises:
            UnauthenticatedError: nobody we know, or nobody we still know.
        """
        ...


class Authenticator(Protocol):
    """Finds out who makes a call."""

    def caller(self, context: Context) -> Caller:
        """Return whoever made the call.

        Raises:
            UnauthenticatedError: it does not show what this listener asks for.
        """
        ...


class ByListener:
    """Whoever reaches the listener is one identity: the file system, or the machine, decides."""

    def __init__(self, identity: Identity) -> None:
        """Make every caller `identity`."""
        self._identity = identity

    def caller(self, context: Context) -> Caller:
        """Return the one; see `Authenticator.caller`."""
        # Ignored, a revoked token would still seem to work.
        if _authorizations(context):
            raise UnauthenticatedError(
                "this listener has an identity of its own and takes no token; leave"
                " `authorization` out, or call the listener that takes tokens"
            )
        return self

    def identity(self) -> Identity:
        """Return who it is; see `Caller.identity`."""
        return self._identity


@dataclass(frozen=True)
class _TokenBearer:
    digest: bytes = field(repr=False)
    directory: Directory = field(repr=False)

    def identity(self) -> Identity:
        return self.directory.by_token_digest(self.digest)


class ByToken:
    """Each call brings a bearer token."""

    def __init__(self, directory: Directory) -> None:
        """Look tokens up in `directory`."""
        self._directory = directory

    def caller(self, context: Context) -> Caller:
        """Return who brings the token; see `Authenticator.caller`."""
        brought = _authorizations(context)
        if not brought:
            raise UnauthenticatedError(
                "no token; expected the metadata `authorization: Bearer TOKEN` with every call"
            )
        match = _BEARER.fullmatch(brought[0]) if len(brought) == 1 else None
        if match is None:
            raise UnauthenticatedError(
                "`authorization` is not in form; expected it once, as `Bearer TOKEN`"
            )
        return _TokenBearer(token_digest(match[1]), self._directory)


@dataclass(frozen=True)
class _Presented:
    """What of a verified certificate matters to us."""

    names: frozenset[str]
    not_after: datetime


@dataclass(frozen=True)
class _CertificateHolder:
    presented: _Presented
    directory: Directory = field(repr=False)
    now: Callable[[], datetime] = field(repr=False)

    def identity(self) -> Identity:
        # TLS looked when the connection was made, and a connection can outlive its certificate.
        if self.now() > self.presented.not_after:
            raise UnauthenticatedError(
                "the client's certificate has expired; renew it and connect again"
            )
        return self.directory.by_names(self.presented.names)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ByCertificate:
    """Each connection has a client certificate, which TLS verified up to our authorities."""

    def __init__(self, directory: Directory, *, now: Callable[[], datetime] = _utc_now) -> None:
        """Look names up in `directory`; `now` is the wall clock, which certificates go by."""
        self._directory = directory
        self._now = now

    def caller(self, context: Context) -> Caller:
        """Return whose certificate it is; see `Authenticator.caller`."""
        if _authorizations(context):
            raise UnauthenticatedError(
                "this listener asks for certificates and takes no token; leave `authorization`"
                " out, or call the listener that takes tokens"
            )
        shown = tuple(context.auth_context().get("x509_pem_cert") or ())
        if len(shown) != 1:
            raise UnauthenticatedError("no certificate; expected one with the connection")
        return _CertificateHolder(_presented(bytes(shown[0])), self._directory, self._now)


def _authorizations(context: Context) -> list[str]:
    metadata = context.invocation_metadata() or ()
    return [str(value) for key, value in metadata if key == TOKEN_KEY]


@lru_cache(maxsize=CERTIFICATES_REMEMBERED)
def _presented(pem: bytes) -> _Presented:
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        dns = names.get_values_for_type(x509.DNSName)
        uris = names.get_values_for_type(x509.UniformResourceIdentifier)
        not_after = certificate.not_valid_after_utc
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension) as error:
        raise UnauthenticatedError(
            "the client's certificate has no subject alternative name that can be read; expected"
            " a DNS name or a URI"
        ) from error
    # DNS names are compared without regard to case (RFC 4343), URIs byte for byte.
    return _Presented(frozenset([name.lower() for name in dns] + uris), not_after)
