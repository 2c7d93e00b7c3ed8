"""The receipts of a hand: what the operator signs at each of its steps.

A receipt is made when its index in the log is known, in the transaction of the
step that it is about, from the hand after that step.

Spec: docs/protocol.md, "Receipts".
"""

from dataclasses import dataclass
from typing import Any

from entropyd.errors import InternalError
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.rules import Contributions, rules_hash
from entropyd.log.events import Event
from entropyd.log.receipt import HANDS_BEFORE, Receipt
from entropyd.log.source_line import Setting, SourceLine

NS_A_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the bits of a draw came from, as its receipt says it.

    Attributes:
        policy: the gate in force, in a line.
        lines: what each source gave.
        degraded: a configured source did not count, or users were waived.
    """

    policy: str
    lines: tuple[SourceLine, ...]
    degraded: bool = False


def table_receipt(
    *,
    log: str,
    index: int,
    tenant: str,
    table: str,
    policy: str,
    settings: tuple[Setting, ...],
    hands_before: int,
    ms: int,
) -> bytes:
    """Return the text that begins a table in a log, before its first hand there.

    `hands_before` is how many hands the table had before, which are not in this log.
    """
    if hands_before:
        told = Setting(HANDS_BEFORE, str(hands_before))
        settings = tuple(sorted((*settings, told), key=lambda setting: setting.name))
    return Receipt(
        log=log,
        index=index,
        event=Event.TABLE,
        tenant=tenant,
        table=table,
        policy=policy,
        settings=settings,
        time_ms=ms,
    ).encode()


def open_receipt(hand: Hand, log: str, index: int, sources: Sources, ms: int) -> bytes:
    """Return the text that fixes a hand before anybody contributes to it."""
    opened = hand.opened
    contributing = opened.rules.contributions is not Contributions.NONE
    return Receipt(
        log=log,
        index=index,
        event=Event.OPEN,
        **_which(hand),
        rules_hash=rules_hash(opened.rules.encode()),
        n=opened.size,
        commitment=opened.commitment,
        deck_root=opened.deck_root,
        seats_root=opened.seats_root,
        deadline_ms=opened.deadline_ns // NS_A_MS if contributing else None,
        parent=opened.rules.parent.digest if opened.rules.parent else None,
        replaces=opened.rules.replaces or None,
        policy=sources.policy,
        sources=sources.lines,
        degraded=sources.degraded,
        time_ms=ms,
    ).encode()


def roll_receipt(hand: Hand, log: str, index: int, ms: int) -> bytes:
    """Return the text that closes the roll of sealed contributions."""
    if hand.roll is None:
        raise InternalError("a roll receipt of a hand without a roll")
    return Receipt(
        log=log,
        index=index,
        event=Event.ROLL,
        **_which(hand),
        contributions=len(hand.roll.leaf_hashes),
        contributions_root=hand.roll.root,
        deadline_ms=hand.roll.deadline_ns // NS_A_MS,
        time_ms=ms,
    ).encode()


def seal_receipt(hand: Hand, log: str, index: int, ms: int) -> bytes:
    """Return the text that fixes the cut, before the first card leaves."""
    if hand.roll is None:
        raise InternalError("a seal receipt of a hand without a roll")
    return Receipt(
        log=log,
        index=index,
        event=Event.SEAL,
        **_which(hand),
        contributions=len(hand.roll.leaf_hashes),
        contributions_root=hand.roll.root,
        time_ms=ms,
    ).encode()


def end_receipt(hand: Hand, log: str, index: int, ms: int) -> bytes:
    """Return the text that ends a hand, closed or void."""
    if hand.state not in {HandState.CLOSED, HandState.VOID}:
        raise InternalError(f"an end receipt of a hand that is {hand.state}")
    return Receipt(
        log=log,
        index=index,
        event=Event.CLOSE if hand.state is HandState.CLOSED else Event.VOID,
        **_which(hand),
        dealt=hand.dealt,
        deals_root=hand.deals_root,
        reason=hand.reason or None,
        time_ms=ms,
    ).encode()


def _which(hand: Hand) -> dict[str, Any]:
    opened = hand.opened
    return {
        "tenant": opened.tenant,
        "table": opened.table,
        "hand": opened.hand,
        "sequence": opened.sequence,
        "open_hash": opened.open_hash,
    }
