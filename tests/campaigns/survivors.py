"""Opens what survived a power loss, as the next daemon would, and judges what it holds."""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from entropyd.client import Deal
from entropyd.config import load
from entropyd.daemon.ledger import open_ledger
from entropyd.errors import EntropydError
from entropyd.service.wire import shuffle
from entropyd.v1 import shuffle_service_pb2
from tests.campaigns.crash_replay import Disk, Image, Kept, operations
from tests.campaigns.order import follow
from tests.campaigns.syscall_trace import Call
from tests.system.harness import Daemon

TENANT = "acme"
Held = Mapping[str, shuffle_service_pb2.Shuffle]


class Survivors:
    """Judges images of a state directory against what callers were answered."""

    def __init__(self, scratch: Path, deals: Mapping[str, Deal]) -> None:
        """Judge hands.

        Args:
            scratch: an empty directory, best in memory: each image is written there.
            deals: every hand that was ever asked for, as it was answered sooner or later.
        """
        self._home = scratch
        self._config = load(Daemon(scratch).write_config())
        self._deals = deals
        self._known: dict[tuple[tuple[str, bytes], ...] | None, Held | EntropydError] = {}

    def faults(self, image: Image | None, answered: Sequence[str]) -> Iterator[str]:
        """Say what is wrong with an image: lost, differing, repeated or missing numbers.

        Args:
            image: the files by path; None if the directory is not there.
            answered: the hands that had been answered.
        """
        held = self._held(image)
        if isinstance(held, EntropydError):
            yield f"does not open: {held}"
            return
        for hand in answered:
            if hand not in held:
                yield f"{hand} was answered and is lost"
        for hand, message in held.items():
            if message != self._deals[hand].message:
                yield f"{hand} differs from what was answered"
        numbers = defaultdict(list)
        for message in held.values():
            numbers[message.key.table].append(message.sequence)
        for table, found in numbers.items():
            if sorted(found) != list(range(1, len(found) + 1)):
                yield f"{table} has numbers {sorted(found)}"

    def _held(self, image: Image | None) -> Held | EntropydError:
        """Return what an image holds; open each image once."""
        key = None if image is None else tuple(sorted(image.items()))
        if key not in self._known:
            self._known[key] = self._open(image)
        return self._known[key]

    def _open(self, image: Image | None) -> Held | EntropydError:
        self._lay_out(image)
        try:
            with open_ledger(self._config) as ledger:
                found = {hand: ledger.find(TENANT, hand) for hand in self._deals}
                held = {
                    hand: shuffle_service_pb2.Shuffle.FromString(shuffle(record))
                    for hand, record in found.items()
                    if record
                }
                assert ledger.count() == len(held), "a hand is recorded twice, or was never asked"
                return held
        except EntropydError as error:
            return error

    def _lay_out(self, image: Image | None) -> None:
        state = self._home / "state"
        shutil.rmtree(state, ignore_errors=True)
        if image is None:
            return
        state.mkdir(mode=0o700)
        for path, content in image.items():
            file = state / Path(path).name
            file.write_bytes(content)
            file.chmod(0o600)


def faults(
    calls: Sequence[Call],
    deals: Mapping[str, Deal],
    state: Path,
    survivors: Survivors,
    shares: Sequence[float],
) -> list[str]:
    """Cut a history before its first and after every operation; say what is wrong, and where.

    Args:
        calls: the history.
        deals: what the callers were answered.
        state: the state directory.
        survivors: judges.
        shares: how much survives of what was not synchronised; each cut is judged with each.
    """
    found = []
    disk = Disk(state)
    changes = operations(calls, state)
    sent = [(_line_sent(way.answer), hand) for hand, way in follow(calls, deals, state).items()]
    for at in range(len(changes) + 1):
        if at:
            disk.apply(changes[at - 1])
        # The power fails just before the next operation takes effect: whatever
        # began to leave until then counts as seen.
        next_line = changes[at].ended if at < len(changes) else None
        answered = [hand for line, hand in sent if next_line is None or line < next_line]
        for share in shares:
            image = disk.survivor(Kept(share, seed=at))
            where = f"after {at} operations, {share} of the younger ones kept"
            found += [f"{where}: {fault}" for fault in survivors.faults(image, answered)]
    return found


def _line_sent(answer: Call | None) -> int:
    assert answer is not None, "an answer was not found in what was sent"
    return answer.begun
