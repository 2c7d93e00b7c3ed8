"""Receipts of draws and raffles: a step with its entry in the log, completed in its transaction.

What is kept in the clear of a step names the index of its receipt, so that an
answer from the record does, too.

Spec: docs/protocol.md, "Receipts".
"""

from dataclasses import replace
from typing import Any

from entropyd.games.bags import BagRules
from entropyd.games.draw_kind import DrawRules
from entropyd.hands.receipts import NS_A_MS
from entropyd.hands.rules import rules_hash
from entropyd.ledger.entries import Assigned, Completed
from entropyd.ledger.subjects import StepDraft
from entropyd.log.events import Event
from entropyd.log.receipt import Receipt
from entropyd.service.draw_records import DrawRecord
from entropyd.service.raffle_records import Sealed
from entropyd.service.receipt_sources import sources_of


def with_draw_entry(draft: StepDraft, record: DrawRecord, log: str) -> StepDraft:
    """Return the step of a draw of a match, completed with its receipt.

    Args:
        draft: as it stands without.
        record: what it keeps.
        log: origin of the log.
    """

    def complete(assigned: Assigned) -> Completed:
        text = Receipt(
            log=log,
            index=assigned.index,
            event=Event.DRAW,
            match=draft.name,
            draw=draft.key,
            number=assigned.number,
            rules_hash=_told_hash(record.rules),
            **_drawn(draft, record),
        ).encode()
        public = replace(record, log_index=assigned.index).public
        return Completed(public, draft.state, (text,))

    return replace(draft, complete=complete)


def with_raffle_entry(draft: StepDraft, record: DrawRecord, entries: bytes, log: str) -> StepDraft:
    """Return the step of the draw of a raffle, completed with its receipt; `entries` is E."""

    def complete(assigned: Assigned) -> Completed:
        text = Receipt(
            log=log,
            index=assigned.index,
            event=Event.DRAW,
            raffle=draft.name,
            entries=entries,
            rules_hash=_hash(record.rules),
            **_drawn(draft, record),
        ).encode()
        public = replace(record, log_index=assigned.index).public
        return Completed(public, draft.state, (text,))

    return replace(draft, complete=complete)


def with_seal_entry(draft: StepDraft, sealed: Sealed, log: str) -> StepDraft:
    """Return the step that seals a raffle, completed with its receipt."""

    def complete(assigned: Assigned) -> Completed:
        text = Receipt(
            log=log,
            index=assigned.index,
            event=Event.SEAL,
            tenant=draft.tenant,
            raffle=sealed.raffle,
            rules_hash=_hash(sealed.rules),
            entries=sealed.rules.entries,
            time_ms=draft.at_ns // NS_A_MS,
        ).encode()
        public = replace(sealed, log_index=assigned.index).public
        return Completed(public, draft.state, (text,))

    return replace(draft, complete=complete)


def _drawn(draft: StepDraft, record: DrawRecord) -> dict[str, Any]:
    sources = sources_of(record.provenance)
    return {
        "tenant": draft.tenant,
        "commitment": record.commitment,
        "deck_root": record.result_root,
        "policy": sources.policy,
        "sources": sources.lines,
        "computational": record.rules.computational,
        "degraded": sources.degraded,
        "time_ms": draft.at_ns // NS_A_MS,
    }


def _told_hash(rules: DrawRules) -> bytes | None:
    """Return the hash of rules that a receipt may tell: none from a bag.

    Its rules say what the bag holds, and all that it may hold can be tried: the hash would tell who
    reads the log what is left in it, while the match goes on.
    """
    return None if isinstance(rules, BagRules) else _hash(rules)


def _hash(rules: DrawRules) -> bytes:
    return rules_hash(rules.encode())
