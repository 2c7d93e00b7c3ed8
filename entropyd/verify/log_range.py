"""The check of a range of a log: entries in order, under a checkpoint, and that the log only grew.

Spec: docs/protocol.md, "The log file".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from entropyd.errors import ProofMalformedError, ProofMismatchError
from entropyd.log.checkpoint import SeenCheckpoint
from entropyd.log.events import Event
from entropyd.log.frontier import Frontier
from entropyd.log.keys import VerifierKey
from entropyd.log.merkle import HASH_BYTES, MAX_SIZE, leaf_hash
from entropyd.log.proofs import verify_consistency
from entropyd.log.receipt import Receipt, key_names
from entropyd.log.trust import TrustedLog
from entropyd.verify.fields import Fields
from entropyd.verify.keyring import NOT_TRUSTED, KeyRing, located, read_keys
from entropyd.verify.log_story import Story
from entropyd.verify.report import ONE_AUDIENCE, Kind, Report

_FORKED = "the log was forked, or an entry was changed, left out or added"


@dataclass(frozen=True, slots=True)
class PresentedLog:
    """A log file. Only its form was looked at.

    Attributes:
        origin: name of the log.
        keys: that the file names.
        first: index of the first entry.
        entries: texts, some of them signed notes.
        frontier: roots of the perfect subtrees before the first entry.
        checkpoint: a signed note.
        consistency: from the end of the range to the checkpoint.
        older: another checkpoint and the proof from it; None if there is none.
    """

    origin: str
    keys: tuple[VerifierKey, ...]
    first: int
    entries: tuple[bytes, ...]
    frontier: tuple[bytes, ...]
    checkpoint: bytes
    consistency: tuple[bytes, ...]
    older: tuple[bytes, tuple[bytes, ...]] | None


def check_log(fields: Fields, given: Sequence[VerifierKey]) -> Report:
    """Check a range of a log.

    Args:
        fields: a log file.
        given: keys that the verifier trusts; none, and the file's own are used, and the report says
            so.

    Raises:
        ProofMalformedError: the file has a form that no range has.
        ProofMismatchError: something does not follow; names the first part, and the usual cause.
    """
    presented = _read(fields)
    ring = KeyRing(presented.keys, tuple(given))
    story = Story(from_beginning=presented.first == 0)
    log, grown = _check_entries(presented, _trusted_log(presented, ring), story)
    seen = _check_checkpoint(presented, ring, log, grown)
    return _report(presented, ring, seen, story)


def _read(fields: Fields) -> PresentedLog:
    older = None
    presented = PresentedLog(
        origin=fields.id("origin"),
        keys=read_keys(fields),
        first=fields.decimal("first"),
        entries=tuple(text.encode("utf-8") for text in fields.texts("entries")),
        frontier=fields.hexes("frontier", HASH_BYTES),
        checkpoint=fields.text("checkpoint").encode("utf-8"),
        consistency=fields.hexes("consistency", HASH_BYTES),
        older=_read_older(fields.nested("older")) if fields.has("older") else older,
    )
    fields.finish()
    if presented.first + len(presented.entries) > MAX_SIZE:
        fields.refuse("first", "is beyond the end of any log")
    return presented


def _read_older(fields: Fields) -> tuple[bytes, tuple[bytes, ...]]:
    older = (
        fields.text("checkpoint").encode("utf-8"),
        fields.hexes("consistency", HASH_BYTES),
    )
    fields.finish()
    return older


def _trusted_log(presented: PresentedLog, ring: KeyRing) -> TrustedLog:
    """Return the log under the keys in force at the first entry."""
    keys = [_key(presented, ring, name) for name in key_names(presented.origin)]
    with located("keys"):
        return TrustedLog.given(*keys)


def _key(presented: PresentedLog, ring: KeyRing, name: str) -> VerifierKey:
    named = KeyRing(presented.keys, ()).of(name)
    if len(named) != 1:
        raise ProofMalformedError(f"has {len(named)} keys {name}; expected one", field="keys")
    if not ring.trusted:
        return named[0]
    given = ring.of(name)
    chosen = given if len(given) == 1 else [key for key in given if key == named[0]]
    if len(chosen) != 1:
        raise ProofMismatchError(
            f"key {name} of the file was not given",
            field="keys",
            causes=("it is another log, or its key changed before or after this range",),
        )
    return chosen[0]


def _check_entries(
    presented: PresentedLog, log: TrustedLog, story: Story
) -> tuple[TrustedLog, Frontier]:
    """Return what is trusted at the end of the range, and the tree there; tell it to `story`."""
    if not presented.entries and (presented.first or presented.frontier):
        raise ProofMismatchError("is there without entries", field="frontier")
    leaves = []
    for number, entry in enumerate(presented.entries):
        part = f"entries[{number}]"
        with located(part):
            receipt, log = _entry(entry, presented.first + number, log)
        story.goes_on(part, receipt)
        leaves.append(leaf_hash(receipt.leaf()))
    with located("frontier"):
        grown = Frontier(presented.first, presented.frontier)
    for leaf in leaves:
        grown = grown.append(leaf)
    return log, grown


def _entry(entry: bytes, index: int, log: TrustedLog) -> tuple[Receipt, TrustedLog]:
    signed = b"\n\n" in entry
    receipt = log.open_receipt(entry) if signed else Receipt.decode(entry)
    if receipt.log != log.origin or receipt.index != index:
        raise ProofMismatchError(f"is entry {receipt.index} of {receipt.log}; expected {index}")
    if receipt.event is Event.KEY and receipt.previous is not None and not signed:
        raise ProofMismatchError("changes a key, and is not signed")
    return receipt, log.follow(receipt)


def _check_checkpoint(
    presented: PresentedLog, ring: KeyRing, log: TrustedLog, grown: Frontier
) -> SeenCheckpoint:
    with located("checkpoint"):
        seen = log.open_checkpoint(presented.checkpoint, ring.witnesses)
        if seen.checkpoint.size < grown.size:
            raise ProofMismatchError(f"is of {seen.checkpoint.size} entries, before the range ends")
    with located("consistency", _FORKED):
        _check_growth(presented, grown, seen)
    if presented.older is not None:
        note, proof = presented.older
        with located("older"):
            before = log.open_checkpoint(note).checkpoint
        with located("older", _FORKED):
            now = seen.checkpoint
            verify_consistency(before.size, now.size, before.root, now.root, proof)
    return seen


def _check_growth(presented: PresentedLog, grown: Frontier, seen: SeenCheckpoint) -> None:
    if grown.size:
        now = seen.checkpoint
        verify_consistency(grown.size, now.size, grown.root(), now.root, presented.consistency)
    elif presented.consistency:
        raise ProofMismatchError("is there without entries")


def _report(presented: PresentedLog, ring: KeyRing, seen: SeenCheckpoint, story: Story) -> Report:
    count, size = len(presented.entries), seen.checkpoint.size
    return Report(
        kind=Kind.LOG,
        subject=f"log {presented.origin}, {_span(presented)}, {size} entries in all",
        result=f"root {seen.checkpoint.root.hex()}",
        checked=tuple(_checked(presented, ring, seen, count, story)),
        not_checked=tuple(_not_checked(presented, ring, seen, count, story)),
    )


def _span(presented: PresentedLog) -> str:
    if not presented.entries:
        return "no entries"
    return f"entries {presented.first} to {presented.first + len(presented.entries) - 1}"


def _checked(
    presented: PresentedLog, ring: KeyRing, seen: SeenCheckpoint, count: int, story: Story
) -> Iterator[str]:
    whose = "a key that was given" if ring.trusted else "a key that the file itself names"
    yield f"the checkpoint, under {whose}; {seen.signers()}"
    if count:
        yield f"{count} entries: their indices, their signatures where they have some, their keys"
        yield "hands of each table and draws of each match follow each other without a gap"
        if story.raffles:
            yield f"{len(story.raffles)} raffles: each sealed once at most, then drawn once at most"
        yield "the entries are in the log of that checkpoint, none left out between them"
    if presented.older is not None:
        yield "the log of the older checkpoint is the beginning of it"


def _not_checked(
    presented: PresentedLog, ring: KeyRing, seen: SeenCheckpoint, count: int, story: Story
) -> Iterator[str]:
    if not ring.trusted:
        yield NOT_TRUSTED
    if not seen.cosignatures:
        yield ONE_AUDIENCE
    if presented.first:
        yield f"entries before {presented.first}: numbers of tables are compared from there on"
    hands_before = sum(story.tables.values())
    if hands_before:
        yield f"hands that tables had before this log, as they say: {hands_before}"
    if story.unsealed:
        yield f"that raffles were sealed before their draw: of {story.unsealed} not in this range"
    if presented.first + count < seen.checkpoint.size:
        yield f"entries from {presented.first + count} on: they are under the checkpoint, not here"
    yield "that the entries are true: hand, draw and round files show what follows from them"
