"""Who calls, and what that allows."""

from dataclasses import dataclass

from entropyd.config import Role
from entropyd.errors import PermissionDeniedError

__all__ = ["Call", "Identity", "Role"]


@dataclass(frozen=True)
class Identity:
    """Whoever calls, as the configuration has it.

    Attributes:
        tenant: whose hands they are; an id.
        roles: what may be done with them.
        name: which [[listener]] or [[client]] it is; two identities differ in it.
        max_calls: how many calls it may have at the same time.
    """

    tenant: str
    roles: frozenset[Role]
    name: str = ""
    max_calls: int = 2**31 - 1

    def require(self, *any_of: Role) -> None:
        """Let through an identity that has one of the roles.

        Raises:
            PermissionDeniedError: it has none. Nothing was looked up.
        """
        if self.roles.isdisjoint(any_of):
            raise PermissionDeniedError(
                f"tenant {self.tenant!r} lacks the role {' or '.join(any_of)} here; add it to"
                " `roles` of the [[listener]] or [[client]] in the daemon's configuration"
            )

    def covers(self, earlier: "Identity") -> bool:
        """Whether whoever is this now may still do all that it could when it was `earlier`."""
        return self.tenant == earlier.tenant and self.roles >= earlier.roles


@dataclass(frozen=True)
class Call:
    """One call as the servicer core sees it, whatever carried it.

    Attributes:
        identity: who calls.
        deadline_ns: monotonic time at which the caller stops listening; None if it set none.
    """

    identity: Identity
    deadline_ns: int | None
