"""The keeper writes when the ledger moved, tells trouble once, and goes on."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Queue

import pytest

from entropyd.errors import CheckpointInvalidError, LedgerUnavailableError
from entropyd.ledger.anchor import Anchor, read_anchor
from entropyd.ledger.chain import EMPTY, Position
from entropyd.log.checkpoint import Checkpoint
from entropyd.runtime.anchor_keeper import AnchorKeeper

FAST_S = 0.005
PATIENCE_S = 10.0


class Ledger:
    """Stands where it is told, and says how often it was asked."""

    def __init__(self) -> None:
        self.position = Position(1, EMPTY, 1)
        self.error: LedgerUnavailableError | None = None
        self.asked: Queue[Position] = Queue()

    def current(self) -> Anchor:
        if self.error is not None:
            raise self.error
        self.asked.put(self.position)
        return Anchor("00" * 16, self.position)

    def is_asked(self, times: int = 2) -> None:
        """Wait for whole rounds of the keeper: what it saw before the last has been written."""
        while not self.asked.empty():
            self.asked.get_nowait()
        for _ in range(times):
            self.asked.get(timeout=PATIENCE_S)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mount" / "anchor"


def keep(path: Path, ledger: Ledger, report: Callable[[str | None], None]) -> AnchorKeeper:
    keeper = AnchorKeeper(
        path, ledger.current, report=report, clock_ns=time.monotonic_ns, interval_s=FAST_S
    )
    keeper.start()
    return keeper


def test_the_anchor_follows_the_ledger_and_is_written_at_the_end(path):
    path.parent.mkdir()
    ledger, told = Ledger(), Queue[str | None]()
    keeper = keep(path, ledger, told.put)
    ledger.is_asked()
    assert Anchor("00" * 16, Position(1, EMPTY, 1)) == read_anchor(path)
    ledger.position = replace(ledger.position, hands=2)
    keeper.stop()
    assert Anchor("00" * 16, Position(2, EMPTY, 1)) == read_anchor(path)
    assert told.empty()


def test_a_ledger_that_stands_still_writes_nothing(path):
    path.parent.mkdir()
    ledger = Ledger()
    keeper = keep(path, ledger, Queue[str | None]().put)
    ledger.is_asked()
    written = path.stat().st_ino
    ledger.is_asked(5)
    assert written == path.stat().st_ino
    keeper.stop()


def test_a_disk_that_goes_away_is_told_once_and_its_return_too(path):
    """The ledger is asked on: it goes on meanwhile."""
    ledger, told = Ledger(), Queue[str | None]()
    keeper = keep(path, ledger, told.put)
    trouble = told.get(timeout=PATIENCE_S)
    assert trouble is not None
    assert "cannot be written" in trouble
    began = keeper.age_s
    ledger.is_asked(5)
    assert told.empty()
    assert keeper.age_s > began
    path.parent.mkdir()
    assert told.get(timeout=PATIENCE_S) is None
    assert Anchor("00" * 16, Position(1, EMPTY, 1)) == read_anchor(path)
    keeper.stop()


def test_a_ledger_that_cannot_be_read_moves_no_anchor(path):
    path.parent.mkdir()
    ledger, told = Ledger(), Queue[str | None]()
    ledger.error = LedgerUnavailableError("its disk is gone")
    keeper = keep(path, ledger, told.put)
    assert "its disk is gone" == told.get(timeout=PATIENCE_S)
    assert read_anchor(path) is None
    ledger.error = None
    assert told.get(timeout=PATIENCE_S) is None
    keeper.stop()


CHECKPOINTS = [
    Checkpoint("entropyd.example/log", size, bytes(range(32))).encode()
    + "\n\u2014 x AAAA\n".encode()
    for size in (7, 8)
]


def test_the_last_checkpoint_that_was_given_is_kept(path):
    """The one of the start until there is another; it alone is reason enough to write."""
    path.parent.mkdir()
    ledger, told = Ledger(), Queue[str | None]()
    keeper = AnchorKeeper(
        path,
        ledger.current,
        report=told.put,
        clock_ns=time.monotonic_ns,
        interval_s=FAST_S,
        checkpoint=CHECKPOINTS[0],
    )
    keeper.start()
    ledger.is_asked()
    assert Anchor("00" * 16, Position(1, EMPTY, 1), CHECKPOINTS[0]) == read_anchor(path)
    keeper.keep_checkpoint(CHECKPOINTS[1])
    ledger.is_asked()
    assert Anchor("00" * 16, Position(1, EMPTY, 1), CHECKPOINTS[1]) == read_anchor(path)
    keeper.stop()
    assert told.empty()


def test_what_is_no_checkpoint_is_not_kept(path):
    """Or the next start would find no anchor in its file."""
    path.parent.mkdir()
    ledger, told = Ledger(), Queue[str | None]()
    keeper = keep(path, ledger, told.put)
    keeper.keep_checkpoint(CHECKPOINTS[0])
    for wrong in (b"", b"x\n\ny\n", CHECKPOINTS[1].partition(b"\n\n")[0] + b"\n"):
        with pytest.raises(CheckpointInvalidError):
            keeper.keep_checkpoint(wrong)
    keeper.stop()
    assert Anchor("00" * 16, Position(1, EMPTY, 1), CHECKPOINTS[0]) == read_anchor(path)
