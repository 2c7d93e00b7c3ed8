"""The log of a real daemon: everything has its receipt, and history does not change unseen."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from entropyd.client import Client, Deal
from entropyd.ledger.log_key_files import rotate_key
from entropyd.ledger.sqlite_log import node_id
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.events import Event
from entropyd.log.frontier import Node
from entropyd.log.keys import SigningKey
from entropyd.log.signed_note import sign
from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, refused, running
from tests.system.log_reader import LogReader

EXIT_DATA = 65
HANDS = 1000


@pytest.fixture
def anchored(home: Path) -> Iterator[Daemon]:
    """A daemon with an anchor beside its state directory."""
    (home / "elsewhere").mkdir()
    change = {'min_free = "16MiB"': 'min_free = "16MiB"\nanchor = "{home}/elsewhere/anchor"'}
    daemon = custom_daemon(home, change)
    yield daemon
    if daemon.process is not None and daemon.process.poll() is None:
        daemon.kill()


def entropyctl(daemon: Daemon, *arguments: str) -> str:
    """Run `entropyctl` at the daemon, and return what it printed."""
    target = ["--target", daemon.target, "--claim-key", str(daemon.home / "claim.key")]
    done = subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyctl", *arguments, *target],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def texts(client: Client) -> list[str]:
    return [signed.note for signed in client.log().receipts()]


def shuffled(client: Client, count: int, prefix: str) -> list[Deal]:
    """Deal hands in one batch."""
    return client.shuffle_batch([("t", f"{prefix}{number}") for number in range(count)])


# --- receipts ---------------------------------------------------------------------------


def test_all_that_is_drawn_has_a_receipt_that_verifies(home):
    """By the same code that a player's verifier runs, with keys that were taken first."""
    with running(home) as daemon, daemon.client() as client:
        reader = LogReader(client)
        deal = client.shuffle("t", "h1")
        dealt = reader.receipt(client, deal.log_index)
        assert (Event.CLOSE, "t", "h1", 1, deal.message.open_hash) == (
            dealt.event,
            dealt.table,
            dealt.hand,
            dealt.sequence,
            dealt.open_hash,
        )
        table = reader.receipt(client, deal.log_index - 1)
        assert (Event.TABLE, "t") == (table.event, table.table)
        again = client.shuffle("t", "h1")
        assert deal.log_index == again.log_index
        for one in shuffled(client, 10, "b"):
            assert one.message.open_hash == reader.receipt(client, one.log_index).open_hash


def test_draws_and_raffles_have_receipts_that_verify(home):
    with running(home) as daemon, daemon.client() as client:
        reader = LogReader(client)
        draws, raffles = client.draws(), client.raffles()
        rolled = [draws.roll_dice("m", name, [(2, 6)]) for name in ("1", "2")]
        raffles.seal_entries("r", ["ann", "bob", "cy"], winners=1)
        raffle = raffles.draw_raffle("r")
        indices = [drawn.log_index for drawn in rolled]
        indices += [raffle.log_index, raffle.draw_log_index]
        receipts = [reader.receipt(client, index) for index in indices]
        assert [("m", "1", 1), ("m", "2", 2), (None, None, None), (None, None, None)] == [
            (receipt.match, receipt.draw, receipt.number) for receipt in receipts
        ]
        assert [None, None, "r", "r"] == [receipt.raffle for receipt in receipts]
        assert [Event.DRAW, Event.DRAW, Event.SEAL, Event.DRAW] == [
            receipt.event for receipt in receipts
        ]
        assert "ann" not in "".join(texts(client))


def test_a_thousand_hands_are_under_one_checkpoint_within_a_second(home):
    """One signature for all of them, and each is proved to be there."""
    with running(home) as daemon, daemon.client() as client:
        reader = LogReader(client)
        client.shuffle("t", "h")
        reader.covered(client, 5)
        before = daemon.metric("entropyd_log_signed_size")
        dealt = shuffled(client, HANDS, "h")
        began = time.monotonic()
        last = max(one.log_index for one in dealt)
        seen = reader.covered(client, last)
        assert time.monotonic() - began < 2.0
        assert HANDS <= seen.size - before
        for one in dealt[:: HANDS // 10]:
            reader.receipt(client, one.log_index)
        assert seen.size == daemon.metric("entropyd_log_size")
        assert daemon.metric("entropyd_log_unsigned_age_seconds") < 2.0


def test_receipts_of_another_tenant_are_not_shown(home):
    with (
        running(home) as daemon,
        daemon.client() as ours,
        daemon.client(socket_name="other.sock") as theirs,
    ):
        index = ours.shuffle("t", "h").log_index
        refusal = refused(lambda: theirs.log().receipt(index))
        assert "RECEIPT_NOT_FOUND" == refusal.reason
        assert [note for note in texts(theirs) if "acme" in note] == []
        assert {"key", "build", "policy"} == {
            note.partition("event: ")[2].partition("\n")[0] for note in texts(theirs)
        }
        reader = LogReader(theirs)
        assert index < reader.covered(theirs, index).size


def test_no_secret_is_in_the_log(home):
    """Neither of a draw, nor a key, nor what callers showed."""
    with running(home) as daemon, daemon.client() as client:
        client.shuffle("t", "h")
        client.draws().roll_dice("m", "1", [(2, 6)])
        opened = client.draws().replay_match("m", openings=True).draws[0].opening
        logged = "".join(texts(client)).encode()
        state = home / "state"
        secrets = [(state / name).read_bytes() for name in ("receipts.key", "checkpoints.key")]
        secrets += [(state / "master.key").read_bytes(), (home / "claim.key").read_bytes()]
        assert opened is not None
        secrets += [*opened.seeds, opened.blinding, opened.salt_key]
        for secret in secrets:
            assert secret not in logged
            assert secret.hex().encode() not in logged
        assert not [secret for secret in secrets if secret.hex() in daemon.log]


# --- history ----------------------------------------------------------------------------


def test_history_goes_on_through_a_restart_and_a_kill(home):
    """Every checkpoint begins with the one that was held before the daemon ended."""
    with running(home) as daemon:
        with daemon.client() as client:
            reader = LogReader(client)
            before = client.shuffle("t", "h1").log_index
            reader.receipt(client, before)
        assert daemon.terminate() == 0
        daemon.start()
        with daemon.client() as client:
            after = client.shuffle("t", "h2").log_index
            reader.receipt(client, after)
            assert before + 1 == after
        daemon.kill()
        daemon.start()
        with daemon.client() as client:
            reader.receipt(client, before)
            last = client.shuffle("t", "h3")
            assert (after + 1, 3) == (last.log_index, last.message.sequence)
            reader.receipt(client, last.log_index)


def test_keys_change_under_the_eyes_of_a_verifier(home):
    """It follows both changes from the keys that it had, and still opens what is older."""
    with running(home) as daemon:
        with daemon.client() as client:
            reader = LogReader(client)
            old = client.shuffle("t", "h1").log_index
            reader.receipt(client, old)
        assert daemon.terminate() == 0
        rotate_key(home / "state" / "receipts.key")
        rotate_key(home / "state" / "checkpoints.key")
        daemon.start()
        with daemon.client() as client:
            # The first checkpoint after it is signed by both, and so is the entry.
            reader.advance(client)
            reader.follow(client)
            new = client.shuffle("t", "h2").log_index
            assert 2 == reader.receipt(client, new).sequence
            reader.receipt(client, old)
            shown = entropyctl(daemon, "keys", "show").splitlines()
            assert 4 == len(shown)
            keys = [reader.trusted.checkpoint_keys[-1].key, reader.trusted.receipt_keys[-1].key]
            assert [key.encode() for key in keys] == shown[1::2]


def cut_the_log(state: Path, _anchor: Path) -> None:
    with sqlite3.connect(state / "ledger.sqlite3") as ledger:
        ledger.execute("DELETE FROM log_entries WHERE idx = (SELECT max(idx) FROM log_entries)")


def edit_the_tree(state: Path, _anchor: Path) -> None:
    with sqlite3.connect(state / "ledger.sqlite3") as ledger:
        ledger.execute("UPDATE log_nodes SET hash = zeroblob(32)")


def fork_the_checkpoint(state: Path, anchor: Path) -> None:
    """Put one into the anchor that the daemon's own key signed for another tree of that size."""
    told, _, note = anchor.read_bytes().partition(b"\n\n")
    head = Checkpoint.decode(note.partition(b"\n\n")[0] + b"\n")
    signing = SigningKey.from_seed(head.origin, (state / "checkpoints.key").read_bytes())
    forked = sign(Checkpoint(head.origin, head.size, b"f" * 32).encode(), signing)
    anchor.write_bytes(told + b"\n\n" + forked.encode())


@pytest.mark.parametrize("change", [cut_the_log, edit_the_tree, fork_the_checkpoint])
def test_a_log_that_is_not_what_was_signed_is_refused_at_start(
    anchored: Daemon, change: Callable[[Path, Path], None]
) -> None:
    """An entry removed, the tree edited, a checkpoint of another history."""
    anchored.start()
    with anchored.client() as client:
        for number in range(20):
            client.shuffle("t", f"h{number}")
    assert anchored.terminate() == 0
    change(anchored.home / "state", anchored.home / "elsewhere" / "anchor")
    anchored.start(wait=False)
    assert EXIT_DATA == anchored.ended(patience_s=30.0)
    assert "signed for" in anchored.log.splitlines()[-1]


def test_an_edited_row_is_never_shown(home):
    """Its leaf is another one than the tree has. Whoever asks is told, and the daemon ends."""
    with running(home) as daemon:
        with daemon.client() as client:
            index = client.shuffle("t", "h1").log_index
        assert daemon.terminate() == 0
        with sqlite3.connect(home / "state" / "ledger.sqlite3") as ledger:
            ledger.execute(
                "UPDATE log_nodes SET hash = zeroblob(32) WHERE id = ?", (node_id(Node(0, index)),)
            )
        daemon.start()
        with daemon.client() as client:
            refusal = refused(lambda: client.log().receipt(index))
        assert (grpc.StatusCode.DATA_LOSS, "LEDGER_DAMAGED") == (refusal.code, refusal.reason)


# --- for verifiers ------------------------------------------------------------------------


def test_what_the_command_prints_is_what_verifiers_take(home):
    with running(home) as daemon, daemon.client() as client:
        reader = LogReader(client)
        index = client.shuffle("t", "h1").log_index
        reader.covered(client, index)
        note = entropyctl(daemon, "log", "receipt", str(index))
        assert index == reader.trusted.open_receipt(note.encode()).index
        checkpoint = entropyctl(daemon, "log", "checkpoint")
        assert index < reader.trusted.open_checkpoint(checkpoint.encode()).checkpoint.size


@pytest.mark.parametrize("rotated", [False, True])
def test_an_exported_range_is_verified_and_an_edited_one_is_not(home, rotated):
    with running(home) as daemon:
        with daemon.client() as client:
            LogReader(client).covered(client, client.shuffle("t", "h1").log_index)
        kept = home / "kept.note"
        kept.write_text(entropyctl(daemon, "log", "checkpoint"))
        if rotated:
            assert daemon.terminate() == 0
            rotate_key(home / "state" / "receipts.key")
            rotate_key(home / "state" / "checkpoints.key")
            daemon.start()
        with daemon.client() as client:
            last = client.shuffle("t", "h2").log_index
            while (
                Checkpoint.decode(
                    client.log().head().checkpoint.partition("\n\n")[0].encode() + b"\n"
                ).size
                <= last
            ):
                time.sleep(0.05)
        file = home / "since.json"
        since = ("--older", str(kept))
        entropyctl(daemon, "log", "export", "0", str(last), str(file), *since)
        assert "the log of the older checkpoint is the beginning of it" in verify(file).stdout
        for first in (0, 3, last):
            file = home / f"from-{first}.json"
            entropyctl(daemon, "log", "export", str(first), str(last), str(file))
            assert 0 == verify(file).returncode, verify(file).stdout
            content = json.loads(file.read_text())
            content["entries"][-1] = content["entries"][-1].replace("dealt: 52", "dealt: 51")
            file.write_text(json.dumps(content))
            assert 0 != verify(file).returncode


def verify(file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyctl", "verify", str(file)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
