"""A draw as a step of its match, and the match after it: their bytes, and back.

In the clear stand the hashes, where the bits came from, and rules that tell
nothing of a result. The counts of a bag tell what earlier draws took: they are
kept encrypted, like results and seeds, and like the names that a caller gave.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from entropyd.encoding import u64
from entropyd.errors import LedgerDamagedError, RequestError
from entropyd.games import draw_rules
from entropyd.games.bags import BagRules, BagState
from entropyd.games.draw_kind import DrawRules
from entropyd.ledger.packed import (
    pack,
    pack_counts,
    pack_texts,
    unpack,
    unpack_counts,
    unpack_texts,
)
from entropyd.ledger.subjects import StepRecord, Subject
from entropyd.rbg.construction import SEED_BYTES

DRAW_STEP = "draw"


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """What is kept of a draw.

    Attributes:
        rules: its rules.
        commitment, result_root: C and D.
        provenance: as answered.
        result: as committed.
        packed_labels: of the list, or of the kinds of a bag; none where none were given. There may
            be 100,000: whoever needs them reads `labels`.
        returns: kinds that were put back into the bag before it.
        left: tiles in the bag after it; 0 for other kinds.
        seeds, blinding, salt_key: S_0, S_1, ..., r and K.
        log_index: of its receipt; None of a draw that has none.
    """

    rules: DrawRules
    commitment: bytes
    result_root: bytes
    provenance: bytes
    result: bytes = field(repr=False)
    packed_labels: bytes = field(repr=False)
    returns: tuple[int, ...] = field(repr=False)
    left: int = field(repr=False)
    seeds: tuple[bytes, ...] = field(repr=False)
    blinding: bytes = field(repr=False)
    salt_key: bytes = field(repr=False)
    log_index: int | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels as texts; LedgerDamagedError if they are none."""
        return unpack_texts(self.packed_labels, "labels of a draw")

    @property
    def public(self) -> bytes:
        """What is kept in the clear."""
        rules = b"" if isinstance(self.rules, BagRules) else self.rules.encode()
        told = pack(rules, self.commitment, self.result_root, self.provenance)
        return told + pack_index(self.log_index)

    @property
    def secret(self) -> bytes:
        """What is kept encrypted."""
        rules = self.rules.encode() if isinstance(self.rules, BagRules) else b""
        return pack(
            rules,
            self.result,
            self.packed_labels,
            pack_counts(self.returns),
            pack_counts((self.left,)),
            b"".join(self.seeds),
            self.blinding,
            self.salt_key,
        )


@dataclass(frozen=True, slots=True)
class ToldDraw:
    """What is kept of a draw in the clear.

    Attributes:
        rules: its rules, encoded; empty of a bag, whose counts tell what earlier draws took.
        commitment, result_root: C and D.
        provenance: as answered.
        log_index: of its receipt; None of a draw that has none.
    """

    rules: bytes
    commitment: bytes
    result_root: bytes
    provenance: bytes
    log_index: int | None


def read_told_draw(step: StepRecord) -> ToldDraw:
    """Return what a step kept in the clear, also of one without its secret.

    Raises:
        LedgerDamagedError: it kept something else.
    """
    what = f"draw {step.key!r}"
    try:
        rules, commitment, result_root, provenance, *index = unpack(step.public, what)
    except ValueError as error:
        raise LedgerDamagedError(f"{what}: has other fields than a draw") from error
    return ToldDraw(rules, commitment, result_root, provenance, unpack_index(index, what))


def read_draw(step: StepRecord) -> DrawRecord:
    """Return what a step kept.

    Raises:
        LedgerDamagedError: it kept something else.
    """
    what = f"draw {step.key!r}"
    told = read_told_draw(step)
    try:
        rules, result, labels, returns, left, seeds, blinding, salt_key = unpack(step.secret, what)
        read = draw_rules.decode(told.rules or rules)
    except (ValueError, RequestError) as error:
        raise LedgerDamagedError(f"{what}: has other fields than a draw") from error
    return DrawRecord(
        rules=read,
        commitment=told.commitment,
        result_root=told.result_root,
        provenance=told.provenance,
        result=result,
        packed_labels=labels,
        returns=unpack_counts(returns),
        left=sum(unpack_counts(left)),
        seeds=tuple(seeds[at : at + SEED_BYTES] for at in range(0, len(seeds), SEED_BYTES)),
        blinding=blinding,
        salt_key=salt_key,
        log_index=told.log_index,
    )


def pack_index(log_index: int | None) -> bytes:
    """Return the last field of what is kept in the clear: of a receipt's index, none without."""
    return b"" if log_index is None else pack(u64(log_index))


def unpack_index(fields: Sequence[bytes], what: str) -> int | None:
    """Return the index of a receipt that a step kept, None if it kept none.

    Raises:
        LedgerDamagedError: it kept something else.
    """
    if not fields:
        return None
    if len(fields) > 1 or len(fields[0]) != len(u64(0)):
        raise LedgerDamagedError(f"{what}: has other fields than an index of the log")
    return int.from_bytes(fields[0], "big")


@dataclass(frozen=True, slots=True)
class Bag:
    """A bag of a match.

    Attributes:
        state: what is in it, and what was at first.
        labels: of its kinds.
    """

    state: BagState
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MatchState:
    """A match after its last draw.

    Attributes:
        claim_digest: whose it is.
        steps: how many draws it has.
        bags: its bags by their ids.
    """

    claim_digest: bytes = field(repr=False)
    steps: int = 0
    bags: Mapping[str, Bag] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def secret(self) -> bytes:
        """The bags, which are kept encrypted."""
        return pack(
            *[
                pack(
                    name.encode("ascii"),
                    bag.state.tiles.encode("ascii"),
                    pack_counts(bag.state.first),
                    pack_counts(bag.state.left),
                    pack_texts(bag.labels),
                )
                for name, bag in self.bags.items()
            ]
        )


def read_match(subject: Subject) -> MatchState:
    """Return a match as its last step left it.

    Raises:
        LedgerDamagedError: the snapshot is none of a match.
    """
    what = f"match {subject.name!r}"
    bags: dict[str, Bag] = {}
    for packed in unpack(subject.state_secret, what):
        try:
            name, tiles, first, left, labels = unpack(packed, what)
        except ValueError as error:
            raise LedgerDamagedError(f"{what}: has other fields than a bag") from error
        state = BagState(tiles.decode("ascii"), unpack_counts(first), unpack_counts(left))
        bags[name.decode("ascii")] = Bag(state, unpack_texts(labels, what))
    return MatchState(subject.state, subject.steps, MappingProxyType(bags))
