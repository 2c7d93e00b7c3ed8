"""The clients that a configuration names, found by what they show.

A configuration that is read again replaces all of them at once. Whoever asked
before the replacement asks again before an answer leaves, so that a token that
was revoked while its call ran gets nothing.

Spec: DESIGN 11.
"""

import hashlib
import hmac
from collections.abc import Collection, Sequence

from entropyd.config import Client
from entropyd.errors import UnauthenticatedError
from entropyd.service.identity import Identity

# How much of a token's hash names it in the log: enough to find its line in the configuration.
SHOWN_DIGITS = 8


class Directory:
    """Who may call. Owned by the event loop's thread."""

    def __init__(self, clients: Sequence[Client] = ()) -> None:
        """Make a directory of `clients`."""
        self.replace(clients)

    def replace(self, clients: Sequence[Client]) -> None:
        """Forget everybody and know `clients` instead."""
        self._by_digest = [
            (bytes.fromhex(client.token_sha256), identity_of(client))
            for client in clients
            if client.token_sha256 is not None
        ]
        self._by_name = {
            client.san: identity_of(client) for client in clients if client.san is not None
        }

    def by_token_digest(self, digest: bytes) -> Identity:
        """Return who has the token with this SHA-256.

        Raises:
            UnauthenticatedError: nobody, or nobody any more.
        """
        found = None
        # All are compared, in constant time each: how long it takes tells nothing of any of them.
        for known, identity in self._by_digest:
            if hmac.compare_digest(known, digest):
                found = identity
        if found is None:
            raise UnauthenticatedError(
                "the token is not known, or not any more; expected one whose SHA-256 is in a"
                " [[client]] of the daemon's configuration"
            )
        return found

    def by_names(self, names: Collection[str]) -> Identity:
        """Return who has a certificate with these subject alternative names.

        Raises:
            UnauthenticatedError: nobody, nobody any more, or more than one.
        """
        found = [self._by_name[name] for name in sorted(set(names)) if name in self._by_name]
        if len(found) == 1:
            return found[0]
        what = "no [[client]]" if not found else f"{len(found)} [[client]] tables"
        raise UnauthenticatedError(
            f"{what} of the daemon's configuration has a `san` that is among the DNS names and"
            " URIs of the client's certificate; expected exactly one"
        )


def token_digest(token: str) -> bytes:
    """Return what a directory knows of a token: the SHA-256 of its ASCII bytes."""
    return hashlib.sha256(token.encode()).digest()


def identity_of(client: Client) -> Identity:
    """Return what a table [[client]] stands for."""
    name = f"token {client.token_sha256[:SHOWN_DIGITS]}" if client.token_sha256 else client.san
    return Identity(
        client.tenant, frozenset(client.roles), name=name or "", max_calls=client.max_calls
    )
