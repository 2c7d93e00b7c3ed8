"""A step and its subject as rows of the ledger, and back: what is encrypted, what is checked."""

from entropyd.encoding import check_id
from entropyd.errors import InternalError, RequestError
from entropyd.ledger.subjects import StepDraft


def check_step(draft: StepDraft) -> None:
    """Refuse a draft that could not be read back.

    Raises:
        InternalError: tenant or name is no id, a text cannot be written, or `expected` is below 0.
            Whoever made the draft is broken. Nothing was written.
    """
    try:
        check_id("tenant", draft.tenant)
        check_id("name", draft.name)
        for text in (draft.step, draft.key, draft.label):
            text.encode("utf-8")
    except RequestError as error:
        raise _broken(draft, f"its {error.field} is no id") from error
    except UnicodeEncodeError as error:
        raise _broken(draft, "a text is not Unicode") from error
    if not draft.step:
        raise _broken(draft, "it does not say what kind of step it is")
    if draft.expected is not None and draft.expected < 0:
        raise _broken(draft, f"it expects {draft.expected} steps")


def _broken(draft: StepDraft, what: str) -> InternalError:
    return InternalError(
        f"draft of a step of {draft.kind} {draft.name!r}: {what}; nothing was written"
    )
