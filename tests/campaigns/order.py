"""Was every answered hand written, committed and synchronised before it was sent?

For each hand four things are looked up in a trace, and a hand for which one of
them is missing counts as a breach like a hand for which their order is wrong:

    row     the first frame of the write-ahead log that holds the hand's open hash, or what else
            marks the row of something that is no hand
    commit  the first frame, that one or a later one, that ends a transaction
    sync    the first fsync or fdatasync of the log that began after that frame was written
    answer  the first data to anywhere but the state directory that holds anything of the
            deck: its cards, its items, C, D or O

The sync must have returned 0, and have returned before the answer was begun.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from entropyd.client import Deal
from tests.campaigns.syscall_trace import SENDS, SURPRISES, SYNCS, Call

LOG_NAME = "ledger.sqlite3-wal"
# SQLite's file format, section 4.1: a header of 32 bytes, then frames of a
# header of 24 bytes and a page of 4,096. Bytes 4 to 7 of a frame's header are
# the size of the database after a commit, and 0 in a frame that does not end one.
LOG_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
PAGE_BYTES = 4096
FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES


@dataclass(frozen=True)
class Frame:
    """One page in the log.

    Attributes:
        page: the call that wrote it, after its header.
        ends: whether it ends a transaction.
    """

    page: Call
    ends: bool


@dataclass(frozen=True)
class Way:
    """How one hand went out; what was not found is None."""

    row: Frame | None
    commit: Frame | None
    sync: Call | None
    answer: Call | None

    def breach(self) -> str | None:
        """Say what is wrong with it, or None."""
        if self.row is None:
            return "its row was never written to the log"
        if self.commit is None:
            return "no transaction was ended after its row"
        if self.sync is None or self.sync.ended is None:
            return "the log was never synchronised after its transaction"
        if self.answer is None:
            return "its answer was not found in what was sent"
        if self.sync.ended > self.answer.begun:
            return f"it was sent at line {self.answer.begun}, synchronised at {self.sync.ended}"
        return None


def breaches(calls: Sequence[Call], deals: Mapping[str, Deal], state: Path) -> dict[str, str]:
    """Return what is wrong, by hand. Empty means that promise 2 was kept."""
    return broken(follow(calls, deals, state))


def broken(ways: Mapping[str, Way]) -> dict[str, str]:
    """Return what is wrong with ways, by name."""
    found = {name: way.breach() for name, way in ways.items()}
    return {name: breach for name, breach in found.items() if breach is not None}


def follow(calls: Sequence[Call], deals: Mapping[str, Deal], state: Path) -> dict[str, Way]:
    """Return the way of every hand.

    Args:
        calls: a trace, in the order in which the calls began.
        deals: what the callers were answered, by hand.
        state: the state directory.
    """
    wanted = {hand: Marks(deal.open_hash, marks(deal)) for hand, deal in deals.items()}
    return ways(calls, wanted, state)


@dataclass(frozen=True)
class Marks:
    """What something is known by.

    Attributes:
        row: what stands in the clear in its row, and in no other before it.
        answer: what can only come from its answer; one of them is enough.
    """

    row: bytes
    answer: Sequence[bytes]


def ways(calls: Sequence[Call], wanted: Mapping[str, Marks], state: Path) -> dict[str, Way]:
    """Return the way of everything that is wanted, by its name; arguments as of `follow`."""
    surprises = {call.name for call in calls if call.name in SURPRISES and call.result != -1}
    assert not surprises, f"the trace has calls that may hide an effect: {surprises}"
    log = [call for call in calls if call.path == str(state / LOG_NAME)]
    frames = _frames(log)
    syncs = [call for call in log if call.name in SYNCS and call.result == 0]
    sent = _Sent(calls, state)
    return {
        name: _way(frames, syncs, marks.row, sent.first(marks.answer))
        for name, marks in wanted.items()
    }


def marks(deal: Deal) -> tuple[bytes, ...]:
    """Return byte strings that can only come from this deck."""
    message = deal.message
    digests = (message.commitment, message.deck_root, message.open_hash)
    return (message.cards, message.text.encode(), message.items, *digests)


def _way(
    frames: Sequence[Frame], syncs: Sequence[Call], row_mark: bytes, answer: Call | None
) -> Way:
    held = [at for at, frame in enumerate(frames) if row_mark in frame.page.data]
    if not held:
        return Way(None, None, None, answer)
    row = frames[held[0]]
    commit = next((frame for frame in frames[held[0] :] if frame.ends), None)
    if commit is None or commit.page.ended is None:
        return Way(row, None, None, answer)
    written = commit.page.ended
    return Way(row, commit, next((sync for sync in syncs if sync.begun > written), None), answer)


def _frames(log: Sequence[Call]) -> list[Frame]:
    """Return the frames that the calls on the log wrote, in order.

    A header and its page are written one after the other. Any other way of
    writing the log is none that this can judge.
    """
    writes = (call for call in log if call.name in SENDS)
    frames = []
    for header in writes:
        if (len(header.data), header.offset) == (LOG_HEADER_BYTES, 0):
            continue
        page = next(writes)
        assert (header.offset - LOG_HEADER_BYTES) % FRAME_BYTES == 0
        assert (len(header.data), len(page.data)) == (FRAME_HEADER_BYTES, PAGE_BYTES)
        assert page.offset == header.offset + FRAME_HEADER_BYTES
        frames.append(Frame(page, ends=any(header.data[4:8])))
    return frames


class _Sent:
    """Everything that left for anywhere but the state directory, joined for each descriptor.

    Joined, because what is looked for may begin in one call and end in the next.
    """

    def __init__(self, calls: Sequence[Call], state: Path) -> None:
        self._calls: dict[str, list[Call]] = defaultdict(list)
        for call in calls:
            if call.name in SENDS and not call.path.startswith(f"{state}/"):
                self._calls[call.path].append(call)
        self._data = {
            path: b"".join(call.data for call in sends) for path, sends in self._calls.items()
        }
        self._starts = {path: _starts(sends) for path, sends in self._calls.items()}

    def first(self, wanted: Sequence[bytes]) -> Call | None:
        """Return the first call that holds the beginning of anything wanted."""
        holders = [
            self._calls[path][bisect_right(self._starts[path], at) - 1]
            for path, data in self._data.items()
            for mark in wanted
            if (at := data.find(mark)) >= 0
        ]
        return min(holders, key=lambda call: call.begun, default=None)


def _starts(sends: Sequence[Call]) -> list[int]:
    starts, at = [], 0
    for call in sends:
        starts.append(at)
        at += len(call.data)
    return starts
