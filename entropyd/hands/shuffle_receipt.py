"""The only receipt of a hand that one call deals whole, made fast.

It is the text that `Receipt` writes for it: a test compares them. What hands of
one moment share is spelled once, by the codecs of `Receipt`; the rest is ids
and hashes, which have one spelling.

Spec: docs/protocol.md, "Receipts".
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from entropyd.hands.receipts import Sources
from entropyd.hands.rules import decode, rules_hash
from entropyd.log.instants import Time
from entropyd.log.merkle import EMPTY_ROOT
from entropyd.log.source_line import SourceCodec, SourceLine
from entropyd.log.values import OutsideText

# Index, sequence and open hash to the text.
EntryText = Callable[[int, int, bytes], bytes]

_SEATS = f"A: {EMPTY_ROOT.hex()}\n"
_TIME = Time()
_POLICY = OutsideText()
_SOURCE = SourceCodec()


def whole_deck_receipt(
    *,
    log: str,
    tenant: str,
    table: str,
    hand: str,
    rules: bytes,
    commitment: bytes,
    deck_root: bytes,
    sources: Sources,
    ms: int,
) -> EntryText:
    """Return what makes the text, once the hand has its numbers.

    Args:
        log: origin.
        tenant: id.
        table: id.
        hand: id.
        rules: canonical lines.
        commitment: C.
        deck_root: D.
        sources: where its bits came from.
        ms: wall clock, milliseconds since 1970.
    """
    drawn, dealt = _by_rules(rules)
    gate = _gate(sources.policy)
    lines = _sources(sources.lines)
    end = f"degraded: yes\n{_time(ms)}" if sources.degraded else _time(ms)

    def text(index: int, sequence: int, open_hash: bytes) -> bytes:
        return (
            f"entropyd-receipt: v1\nlog: {log}\nindex: {index}\nevent: close\ntenant: {tenant}\n"
            f"table: {table}\nhand: {hand}\nsequence: {sequence}\n{drawn}C: {commitment.hex()}\n"
            f"D: {deck_root.hex()}\n{_SEATS}O: {open_hash.hex()}\n{dealt}{gate}{lines}{end}"
        ).encode("ascii")

    return text


@lru_cache(maxsize=256)
def _by_rules(rules: bytes) -> tuple[str, str]:
    """Return the lines that follow from the rules: before C, and after O."""
    size = decode(rules).size
    return (
        f"rules: {rules_hash(rules).hex()}\nn: {size}\n",
        f"delivery: whole-deck\ndealt: {size}\n",
    )


@lru_cache(maxsize=16)
def _gate(policy: str) -> str:
    return f"policy: {_POLICY.encode('policy', policy)}\n"


# Hands of one moment have samples of the same blocks, and most often of one millisecond.
@lru_cache(maxsize=256)
def _sources(lines: tuple[SourceLine, ...]) -> str:
    return "".join([_source(line) for line in lines])


def _source(line: SourceLine) -> str:
    """Return a line: what is the same for most draws, and in it the age."""
    before, after = _around_age(replace(line, age_ms=0))
    return f"{before}{line.age_ms}{after}"


@lru_cache(maxsize=1024)
def _around_age(line: SourceLine) -> tuple[str, str]:
    text = _SOURCE.encode("source", line)
    # No part has a space, so this one stands there once.
    before, _, after = text.partition(" age=0 ")
    return f"source: {before} age=", f" {after}\n"


# Hands of one commit are of a few milliseconds.
@lru_cache(maxsize=64)
def _time(ms: int) -> str:
    return f"time: {_TIME.encode('time', ms)}\n"
