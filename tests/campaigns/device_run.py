"""One run of the campaign: the real daemon, its real sockets, and what it answered and recorded."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from entropyd.client import Client, Deal
from entropyd.config import load
from entropyd.daemon.ledger import open_ledger
from entropyd.ledger.contract import HandRecord
from entropyd.v1 import entropy_service_pb2, types_pb2
from tests.campaigns import device_calls as calls
from tests.campaigns.device_calls import Call, Files
from tests.system.harness import Daemon, until

ENTRY = Path(__file__).with_name("device_daemon.py")

# Nothing grows old and nothing is pushed out: what is stirred, and between which draws, would
# then depend on the clock. The gate itself is the production one, to the last default.
GATE = 'max_sample_age = "1h"\nreservoir_bytes = "64MiB"'
SOURCE = "first_assessment_samples = 65536\nclaim_bits_per_sample = 6.0"
READ_BYTES = 4096


@dataclass(frozen=True)
class Played:
    """One run.

    Attributes:
        calls: the calls made, with what `Replug` found.
        answers: of each Shuffle, in order.
        records: what the ledger holds for each of them, secrets included.
        status: after the last hand, before the daemon was stopped.
        tape: what the emulated device sent, in all.
    """

    calls: tuple[Call, ...]
    answers: tuple[Deal, ...]
    records: tuple[HandRecord, ...]
    status: entropy_service_pb2.GetStatusResponse
    tape: bytes

    @property
    def decks(self) -> list[tuple[bytes, ...]]:
        """What makes each hand this hand and no other: order, commitments, seeds and keys."""
        return [
            (
                answer.message.items,
                answer.commitment,
                answer.deck_root,
                answer.open_hash,
                record.draft.seeds,
                record.draft.blinding,
                record.draft.salt_key,
            )
            for answer, record in zip(self.answers, self.records, strict=True)
        ]


class RecordedDaemon(Daemon):
    """The harness's daemon, with a file for getrandom."""

    def start(self, *, wait: bool = True) -> Daemon:
        """Start it, and unless told otherwise wait until it can deal."""
        command = [sys.executable, str(ENTRY), str(self.write_config())]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, str(self.home / "getrandom")], stdout=log, stderr=log
            )
        if wait:
            self.wait_until_dealing()
        return self


def play(files: Files, plan: tuple[Call, ...], *, rate: int = calls.RATE) -> Played:
    """Start a daemon on the recordings, make the calls one by one, stop it, read its ledger.

    Args:
        files: the recordings.
        plan: what to call.
        rate: bytes a second of the emulated device.
    """
    with _daemon(files, rate) as daemon:
        lines = [json.loads(line) for line in files.users.splitlines()]
        answers: list[Deal] = []
        made: list[Call] = []
        with daemon.client() as client:
            for call in plan:
                match call:
                    case calls.Forward(line):
                        _forward(client, lines[line])
                    case calls.Deal():
                        answers.append(_deal(client, call))
                made.append(_replug(daemon) if isinstance(call, calls.Replug) else call)
            status = client.status()
        assert daemon.terminate() == 0, daemon.log
        return Played(
            calls=tuple(made),
            answers=tuple(answers),
            records=_records(daemon, [answer.hand for answer in answers]),
            status=status,
            tape=(daemon.home / "tape").read_bytes(),
        )


@contextmanager
def _daemon(files: Files, rate: int) -> Iterator[Daemon]:
    with tempfile.TemporaryDirectory(prefix="ed-") as path:  # a socket's path is short
        home = Path(path)
        (home / "capture").write_bytes(files.capture)
        (home / "getrandom").write_bytes(files.getrandom)
        options = (
            f', recording = "{home}/capture", tape = "{home}/tape", rate = {rate},'
            f" read_bytes = {READ_BYTES}"
        )
        daemon = RecordedDaemon(home, options=options, source_extra=SOURCE, gate=GATE)
        try:
            yield daemon.start()
        except Exception as error:
            error.add_note(daemon.log)
            raise
        finally:
            if daemon.process is not None and daemon.process.poll() is None:
                daemon.kill()


def _forward(client: Client, line: dict[str, object]) -> None:
    match line:
        case {"user": str(user), "blob": str(blob)}:
            client.add_user_entropy(user, blob=bytes.fromhex(blob))
        case {"user": str(user), "events": list(events)}:
            client.add_user_entropy(user, events=[(x, y, time_us) for x, y, time_us in events])
        case _:
            raise AssertionError(f"no such line: {line}")


def _deal(client: Client, call: calls.Deal) -> Deal:
    return client.shuffle(
        call.table, call.hand, deck=call.deck, decks=call.decks, removed=call.removed
    )


def _replug(daemon: Daemon) -> calls.Replug:
    """Pull the device out, see that dealing is held, plug it in, wait until it can deal again.

    /readyz says no only after a turn of the watch that found dealing held, and each turn begins
    by stirring: what the loss left is stirred in before the device is plugged in again.
    """
    daemon.faults("F9")
    until("the source is lost", lambda: _source(daemon).state == types_pb2.SOURCE_STATE_LOST)
    until("dealing is held", lambda: daemon.http("/readyz")[0] == 503)
    found = calls.Replug(
        samples=_source(daemon).samples, sent=(daemon.home / "tape").stat().st_size
    )
    daemon.faults()
    daemon.wait_until_dealing()
    return found


def _source(daemon: Daemon) -> entropy_service_pb2.SourceStatus:
    return daemon.status().sources[0]


def _records(daemon: Daemon, hands: list[str]) -> tuple[HandRecord, ...]:
    records = []
    with open_ledger(load(daemon.home / "entropyd.toml")) as ledger:
        for hand in hands:
            record = ledger.find("acme", hand, with_secrets=True)
            assert record is not None, f"{hand} was answered and is not recorded"
            records.append(record)
    return tuple(records)
