"""Drafts with entries of the log, for tests: texts with the lines by which a ledger knows them."""

from collections.abc import Callable
from dataclasses import replace

from entropyd.ledger.contract import Event, EventKind, HandDraft
from entropyd.ledger.entries import Assigned, Completed
from entropyd.ledger.subjects import StepDraft, SubjectKind
from tests.fakes.drafts import make_draft
from tests.fakes.step_drafts import make_step


def text(index: int, event: str, **lines: object) -> bytes:
    """Return a text with these lines, in their order."""
    told = {"log": "entropyd.example/log", "index": index, "event": event, **lines}
    return "".join(f"{name}: {value}\n" for name, value in told.items()).encode()


def table_text(tenant: str, table: str, index: int, hands_before: int = 0) -> bytes:
    """Return the text of a table that had so many hands before its first in the log."""
    told = {"setting": f"hands_before {hands_before}"} if hands_before else {}
    return text(index, "table", tenant=tenant, table=table, **told)


def close_text(draft: HandDraft, index: int, sequence: int, open_hash: bytes) -> bytes:
    """Return the text of a hand that is dealt whole."""
    return text(
        index,
        "close",
        tenant=draft.tenant,
        table=draft.table,
        hand=draft.hand,
        sequence=sequence,
        O=open_hash.hex(),
        delivery="whole-deck",
    )


def logged_draft(hand: str = "hand-1", *, table: str = "table-1", attempt: int = 1) -> HandDraft:
    """Return a draft of a hand that has a receipt."""
    draft = make_draft(hand, table=table, attempt=attempt)
    return replace(draft, entry=lambda index, q, o: close_text(draft, index, q, o))


def opening(
    hand: str = "hand-1",
    *,
    table: str = "table-1",
    tenant: str = "room",
    key: str = "open",
    label: str = "open",
    attempt: int = 1,
    entries: int = 1,
) -> StepDraft:
    """Return a draft that opens a hand which is dealt card by card."""
    draft = make_step(
        hand,
        kind=SubjectKind.HAND,
        tenant=tenant,
        expected=0,
        key=key,
        label=label,
        attempt=attempt,
    )

    def complete(got: Assigned) -> Completed:
        lines = {"tenant": tenant, "table": table, "hand": hand, "sequence": got.sequence}
        texts = [text(got.index, "open", **lines)]
        texts += [text(got.index + n, "roll", **lines) for n in range(1, entries)]
        return completed(draft, got, tuple(texts[:entries]))

    return replace(draft, step="open", table=table, complete=complete)


def going_on(
    name: str = "hand-1",
    *,
    kind: SubjectKind = SubjectKind.HAND,
    expected: int = 1,
    key: str = "",
    label: str = "dealing",
    attempt: int = 1,
    entries: int = 1,
) -> StepDraft:
    """Return a draft of a later step, or of a subject of another kind, with so many entries."""
    draft = make_step(name, kind=kind, expected=expected, key=key, label=label, attempt=attempt)

    def complete(got: Assigned) -> Completed:
        texts = [text(got.index + n, "seal", tenant="room", hand=name) for n in range(entries)]
        return completed(draft, got, tuple(texts))

    return replace(draft, complete=complete)


def completed(draft: StepDraft, got: Assigned, entries: tuple[bytes, ...]) -> Completed:
    """Return a step that says what it got."""
    told = b"%d/%d/" % (got.sequence, got.index)
    return Completed(told + draft.public, told + draft.state, entries)


def noted(number: int = 1) -> Event:
    """Return an event that has an entry."""
    return Event(
        EventKind.HEALTH_ALARM,
        f"q{number}",
        "{}",
        number,
        entry=lambda index: text(index, "health", reason=number),
    )


def never(*_: object) -> bytes:
    """Make no entry of a draft that is refused: whoever calls this fails the test."""
    raise AssertionError("an entry was made of what is not recorded")


def refused_opening(opened: StepDraft) -> StepDraft:
    """Return an opening that must not be completed."""
    fail: Callable[[Assigned], Completed] = lambda got: Completed(b"", b"", (never(got),))  # noqa: E731
    return replace(opened, complete=fail)
