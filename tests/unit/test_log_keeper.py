"""Checkpoints: one for all that was appended, and none for a log that does not go on."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from entropyd.errors import LedgerDamagedError, LedgerUnavailableError
from entropyd.log.checkpoint import SeenCheckpoint, open_checkpoint
from entropyd.log.frontier import Node
from entropyd.log.keys import SigningKey
from entropyd.log.merkle import leaf_hash, root
from entropyd.log.proofs import nodes_of
from entropyd.log.signer import LogSigner, Term
from entropyd.runtime.log_keeper import LogKeeper
from tests.fakes.manual_time import ManualClock

ORIGIN = "dc1"
OLD, NEW = (SigningKey.from_seed(ORIGIN, bytes([seed]) * 32) for seed in (1, 2))
RECEIPTS = SigningKey.from_seed(f"{ORIGIN}/receipts", bytes(32))
SIGNER = LogSigner(ORIGIN, (Term(RECEIPTS),), (Term(OLD),))


class Tree:
    """A log in memory, which may be away, or become another."""

    def __init__(self, leaves: Sequence[bytes] = ()) -> None:
        self.leaves = list(leaves)
        self.away = False

    def log_size(self) -> int:
        if self.away:
            raise LedgerUnavailableError("away")
        return len(self.leaves)

    def log_nodes(self, nodes: Sequence[Node]) -> list[bytes]:
        read: Callable[[Node], bytes] = nodes_of([leaf_hash(leaf) for leaf in self.leaves])
        return [read(node) for node in nodes]


class Bench:
    """A keeper over a tree, and all that it told."""

    def __init__(self, tree: Tree, signer: LogSigner = SIGNER) -> None:
        self.tree = tree
        self.clock = ManualClock()
        self.kept: list[bytes] = []
        self.stood: list[tuple[int, int, float]] = []
        self.keeper = LogKeeper(
            tree, signer, observer=self, keep=self.kept.append, clock_ns=self.clock
        )

    def log_stood(self, *, size: int, signed: int, unsigned_age_s: float) -> None:
        self.stood.append((size, signed, unsigned_age_s))

    def seen(self) -> list[SeenCheckpoint]:
        return [open_checkpoint(note, [OLD.key]) for note in self.kept]


def leaves(count: int) -> list[bytes]:
    return [b"leaf %d" % number for number in range(count)]


def test_one_checkpoint_covers_all_that_was_appended():
    bench = Bench(Tree(leaves(4)))
    bench.keeper.look()
    bench.tree.leaves = leaves(1004)
    bench.keeper.look()
    assert [(4, root(leaves(4))), (1004, root(leaves(1004)))] == [
        (seen.checkpoint.size, seen.checkpoint.root) for seen in bench.seen()
    ]
    assert bench.keeper.signed is not None
    assert bench.kept[-1] == bench.keeper.signed.note


def test_nothing_is_signed_where_nothing_was_appended():
    bench = Bench(Tree(leaves(4)))
    bench.keeper.look()
    bench.keeper.look()
    assert 1 == len(bench.kept)
    empty = Bench(Tree())
    empty.keeper.look()
    assert ([], None) == (empty.kept, empty.keeper.signed)


def test_every_size_goes_on_from_the_one_before():
    bench = Bench(Tree())
    for size in range(1, 40):
        bench.tree.leaves = leaves(size)
        bench.keeper.look()
    sizes = [seen.checkpoint.size for seen in bench.seen()]
    assert all(before + 1 == after for before, after in pairwise(sizes))


@pytest.mark.parametrize(
    "changed",
    [leaves(3), [*leaves(4)[:3], b"other"], [b"other", *leaves(9)[1:]], leaves(9)[1:]],
    ids=["shorter", "of another last", "longer and of another first", "without the first"],
)
def test_a_log_that_does_not_go_on_gets_no_signature(changed):
    bench = Bench(Tree(leaves(4)))
    bench.keeper.look()
    bench.tree.leaves = changed
    if len(changed) == 4:
        # Of the same size it shows with the next entry.
        bench.keeper.look()
        bench.tree.leaves = [*changed, b"next"]
    with pytest.raises(LedgerDamagedError, match="does not go on from its 4 entries"):
        bench.keeper.look()
    assert 1 == len(bench.kept)


def test_while_the_ledger_is_away_the_time_runs_on_and_what_was_signed_stays():
    bench = Bench(Tree(leaves(4)))
    bench.keeper.look()
    bench.tree.away = True
    bench.clock.advance(3.0)
    bench.keeper.look()
    assert (4, 4, 3.0) == bench.stood[-1]
    assert 3.0 == bench.keeper.unsigned_age_s
    bench.tree.away = False
    bench.keeper.look()
    assert (4, 4, 0.0) == bench.stood[-1]


def test_the_first_checkpoint_after_a_change_of_keys_is_signed_by_both():
    signer = LogSigner(ORIGIN, (Term(RECEIPTS),), (Term(OLD), Term(NEW, 3)))
    bench = Bench(Tree(leaves(4)), signer)
    bench.keeper.look()
    bench.tree.leaves = leaves(5)
    bench.keeper.look()
    signed_by = [open_checkpoint(note, [OLD.key, NEW.key]).signed_by for note in bench.kept]
    assert [(OLD.key, NEW.key), (NEW.key,)] == signed_by
