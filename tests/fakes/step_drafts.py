"""Drafts of steps for tests: everything follows from the names, nothing is random."""

from hashlib import sha256

from entropyd.ledger.subjects import StepDraft, SubjectKind


def make_step(
    name: str = "match-1",
    *,
    kind: SubjectKind = SubjectKind.MATCH,
    tenant: str = "room",
    expected: int | None = None,
    key: str = "",
    attempt: int = 1,
    label: str = "",
    secret: bool = True,
    at_ns: int = 1_700_000_000_000_000_000,
) -> StepDraft:
    """Return a draft; another `attempt` is another step, whatever its key."""

    def made(what: str) -> bytes:
        return sha256(f"{what}/{kind}/{tenant}/{name}/{key}/{attempt}".encode()).digest()

    return StepDraft(
        kind=kind,
        tenant=tenant,
        name=name,
        expected=expected,
        step="draw",
        key=key,
        public=made("public"),
        secret=made("secret") if secret else b"",
        state=made("state"),
        state_secret=made("state secret") if secret else b"",
        label=label,
        at_ns=at_ns,
    )
