"""Who calls: the listener a call came in by names the tenant and its roles.

grpcio shows no peer credentials of a unix socket, so each configured identity
has a listener of its own, and the file system's owner, group and mode decide
who reaches it.

Spec: DESIGN 11.
"""

from dataclasses import dataclass

from entropyd.config import Role
from entropyd.errors import PermissionDeniedError

__all__ = ["Call", "Identity", "Role"]


@dataclass(frozen=True)
class Identity:
    """Whoever reaches one listener.

    Attributes:
        tenant: whose hands they are; an id.
        roles: what may be done with them.
    """

    tenant: str
    roles: frozenset[Role]

    def require(self, *any_of: Role) -> None:
        """Let through an identity that has one of the roles.

        Raises:
            PermissionDeniedError: it has none. Nothing was looked up.
        """
        if self.roles.isdisjoint(any_of):
            raise PermissionDeniedError(
                f"tenant {self.tenant!r} lacks the role {' or '.join(any_of)} on this listener;"
                " add it to `roles` of the [[listener]] in the daemon's configuration"
            )


@dataclass(frozen=True)
class Call:
    """One call as the servicer core sees it, whatever carried it.

    Attributes:
        identity: who calls.
        deadline_ns: monotonic time at which the caller stops listening; None if it set none.
    """

    identity: Identity
    deadline_ns: int | None
