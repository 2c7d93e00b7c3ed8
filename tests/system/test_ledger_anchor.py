"""A ledger that ends before its anchor is not dealt from, until somebody adopts it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from entropyd.client import Client, HandAsk
from entropyd.client.hand_file import hand_file
from entropyd.client.log_file import log_file
from entropyd.config import load
from entropyd.daemon.ledger import open_ledger, open_unanchored
from entropyd.errors import RequestError
from entropyd.ledger.anchor import read_anchor
from entropyd.ledger.contract import EventKind
from entropyd.verify import check_proof
from tests.system.custom import custom_daemon
from tests.system.harness import Daemon, until
from tests.system.wire import Wire, order, question

EXIT_DATA, EXIT_CONFIG = 65, 78


@pytest.fixture
def anchored(home: Path) -> Iterator[Daemon]:
    """A daemon with an anchor beside its state directory."""
    (home / "elsewhere").mkdir()
    change = {'min_free = "16MiB"': 'min_free = "16MiB"\nanchor = "{home}/elsewhere/anchor"'}
    daemon = custom_daemon(home, change)
    yield daemon
    if daemon.process is not None and daemon.process.poll() is None:
        daemon.kill()


def command(daemon: Daemon, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `entropyd ledger`."""
    program = [sys.executable, "-m", "entropyd.cli.entropyd", "ledger", *arguments]
    return subprocess.run(
        [*program, "--config", str(daemon.write_config())],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def deal(daemon: Daemon, *hands: str) -> None:
    with Wire(daemon) as wire:
        for hand in hands:
            wire.shuffle(order("t", hand))


def restore_an_older_state(daemon: Daemon) -> None:
    """Deal a hand, keep the state directory, deal two more, put back what was kept."""
    daemon.start()
    deal(daemon, "h1")
    assert daemon.terminate() == 0
    shutil.copytree(daemon.home / "state", daemon.home / "kept")
    daemon.start()
    deal(daemon, "h2", "h3")
    assert daemon.terminate() == 0
    shutil.rmtree(daemon.home / "state")
    shutil.move(daemon.home / "kept", daemon.home / "state")


def test_the_anchor_follows_within_a_second_and_at_the_stop(anchored: Daemon):
    path = anchored.home / "elsewhere" / "anchor"
    anchored.start()
    deal(anchored, "h1", "h2")

    def hands() -> int:
        anchor = read_anchor(path)
        return anchor.position.hands if anchor else -1

    until("the anchor saw both hands", lambda: hands() == 2, patience_s=5)
    deal(anchored, "h3")
    assert anchored.terminate() == 0
    anchor = read_anchor(path)
    assert anchor is not None
    with open_ledger(load(anchored.home / "entropyd.toml")) as ledger:
        assert ledger.position() == anchor.position
        assert ledger.origin() == anchor.origin


def test_a_restored_backup_does_not_start_until_it_is_adopted(anchored: Daemon):
    """Exit code 65 and both numbers; after the adoption it deals, and its first event says why."""
    restore_an_older_state(anchored)
    anchored.start(wait=False)
    assert anchored.ended() == EXIT_DATA
    last = anchored.log.splitlines()[-1]
    assert "ends with hand 1, its anchor saw hand 3: 2 hand(s) are missing" in last
    assert "entropyd ledger adopt --reason TEXT" in last

    adopted = command(anchored, "adopt", "--reason", "the disk died, the backup is of May")
    assert (adopted.returncode, adopted.stderr) == (0, "")
    assert "adopted: the ledger ends with hand 1" in adopted.stdout
    assert "voids hands that are open in it, and reveals the seeds of pairs" in adopted.stdout
    anchored.start()
    deal(anchored, "h2")
    with Wire(anchored) as wire:
        assert wire.get(question("t", "h1")).sequence == 1
    assert anchored.terminate() == 0
    with open_ledger(load(anchored.home / "entropyd.toml")) as ledger:
        [event] = ledger.events(EventKind.LEDGER_ADOPTED)
        assert ledger.count() == 2
        origin = ledger.origin()
    told = json.loads(event.detail)
    assert told["reason"] == "the disk died, the backup is of May"
    assert (told["ledger"]["hands"], told["anchor"]["hands"]) == (1, 3)
    assert told["origin"]["now"] == origin != told["origin"]["before"]


def test_a_second_restore_of_the_same_backup_is_noticed_too(anchored: Daemon):
    """After an adoption the anchor knows the new origin, and the backup has the old one."""
    restore_an_older_state(anchored)
    shutil.copytree(anchored.home / "state", anchored.home / "kept")
    assert command(anchored, "adopt", "--reason", "lost").returncode == 0
    shutil.rmtree(anchored.home / "state")
    shutil.move(anchored.home / "kept", anchored.home / "state")
    anchored.start(wait=False)
    assert anchored.ended() == EXIT_DATA
    assert "its anchor saw origin" in anchored.log.splitlines()[-1]


def test_a_missing_anchor_is_missed(anchored: Daemon):
    """Its disk is not mounted, or somebody wants a backup to pass."""
    anchored.start()
    assert anchored.terminate() == 0
    elsewhere = anchored.home / "elsewhere"
    (elsewhere / "anchor").rename(elsewhere / "away")
    anchored.start(wait=False)
    assert anchored.ended() == EXIT_DATA
    assert "had an anchor that is not there: mount its disk" in anchored.log.splitlines()[-1]
    elsewhere.rename(anchored.home / "unmounted")
    anchored.start(wait=False)
    assert anchored.ended() == EXIT_CONFIG
    assert "its directory is missing; mount its disk" in anchored.log.splitlines()[-1]
    (anchored.home / "unmounted").rename(elsewhere)
    (elsewhere / "away").rename(elsewhere / "anchor")
    anchored.start()


def test_a_ledger_that_lost_nothing_is_not_adopted(anchored: Daemon):
    anchored.start()
    beside = command(anchored, "adopt", "--reason", "none")
    assert beside.returncode == 75
    assert "is held by pid" in beside.stderr
    assert anchored.terminate() == 0
    refused = command(anchored, "adopt", "--reason", "none")
    assert refused.returncode == EXIT_DATA
    assert "there is nothing to adopt, start the daemon" in refused.stderr
    assert command(anchored, "adopt", "--reason", " ").returncode == 70


def test_kill_9_leaves_an_anchor_that_the_ledger_reaches(anchored: Daemon):
    """The anchor lags at most: whatever it saw survived the kill."""
    for life in range(3):
        anchored.start()
        deal(anchored, *(f"{life}-{number}" for number in range(30)))
        anchored.kill()
    anchored.start()
    with Wire(anchored) as wire:
        assert wire.get(question("t", "2-29")).sequence == 90
    assert anchored.terminate() == 0
    with open_unanchored(load(anchored.home / "entropyd.toml")) as ledger:
        assert ledger.events(EventKind.LEDGER_ADOPTED) == []


def test_a_backup_of_a_dealing_daemon_is_restored_and_what_it_lacks_is_told(anchored: Daemon):
    """The whole bad day by commands: backup, loss, restore, refusal to start, adoption, dealing."""
    home = anchored.home
    anchored.start()
    deal(anchored, "h1")
    saved = command(anchored, "backup", str(home / "saved"))
    assert (saved.returncode, saved.stderr) == (0, "")
    assert "saved: 1 hand(s)" in saved.stdout
    assert "The master key is not in it" in saved.stdout
    again = command(anchored, "backup", str(home / "saved"))
    assert (again.returncode, "exists" in again.stderr) == (EXIT_DATA, True)
    deal(anchored, "h2")
    beside = command(anchored, "restore", str(home / "saved"))
    assert (beside.returncode, "is held by pid" in beside.stderr) == (75, True)
    assert anchored.terminate() == 0
    older = command(anchored, "restore", str(home / "saved"))
    assert older.returncode == EXIT_DATA
    assert "ends with hand 2 and event" in older.stderr

    (home / "state" / "ledger.sqlite3").unlink()
    restored = command(anchored, "restore", str(home / "saved"))
    assert (restored.returncode, restored.stderr) == (0, "")
    assert "restored, 1 hand(s)" in restored.stdout
    assert "but it ends with hand 1, its anchor saw hand 2: 1 hand(s) are missing" in (
        restored.stdout
    )
    anchored.start(wait=False)
    assert anchored.ended() == EXIT_DATA
    assert command(anchored, "adopt", "--reason", "the file was lost").returncode == 0
    anchored.start()
    deal(anchored, "h2")


def test_after_an_adoption_files_are_of_one_log_each(anchored: Daemon):
    """The keys of the new log signed nothing of the old one, and no file says that they did.

    A hand that was open is void: nobody knows what was dealt of it in what is missing.
    """
    home = anchored.home
    anchored.start()
    with anchored.client(socket_name="dealer.sock") as client:
        client.hands().open(HandAsk("t", "old"))
        client.hands().close("t", "old")
        client.hands().open(HandAsk("t", "open"))
    assert 0 == command(anchored, "backup", str(home / "saved")).returncode
    deal(anchored, "lost")
    assert 0 == anchored.terminate()
    (home / "state" / "ledger.sqlite3").unlink()
    command(anchored, "restore", str(home / "saved"))
    assert 0 == command(anchored, "adopt", "--reason", "the file was lost").returncode
    anchored.start()
    with anchored.client(socket_name="dealer.sock") as client:
        old = client.hands().get("t", "old")
        until("a checkpoint is signed", lambda: signed(client) > old.receipts["close"].index)
        with pytest.raises(RequestError, match=r"entry 0 is of log .*begin behind it"):
            log_file(client.log(), 0, old.receipts["close"].index + 1)
        begin = client.hands().get("t", "open").receipts["seal"].index + 1
        until("a checkpoint is signed", lambda: signed(client) > begin)
        check_proof(json.dumps(log_file(client.log(), begin, begin)).encode())
        report = check_proof(json.dumps(hand_file(client.log(), old)).encode())
        until("it is void", lambda: client.hands().get("t", "open").reason == "adopted")
        void = client.hands().get("t", "open")
        check_proof(json.dumps(hand_file(client.log(), void)).encode())
    assert "closed, 0 cards dealt" in report.subject


def signed(client: Client) -> int:
    """How many entries the newest checkpoint covers."""
    return int(client.log().head().checkpoint.splitlines()[1])


def test_an_anchor_that_cannot_be_written_ages_and_dealing_goes_on(anchored: Daemon):
    """One line in the log when it begins and when it ends; the metric tells for how long."""
    anchored.start()
    until("the anchor is young", lambda: 0 < anchored.metric("entropyd_ledger_anchor_age_seconds"))
    elsewhere = anchored.home / "elsewhere"
    elsewhere.rename(anchored.home / "unmounted")
    deal(anchored, "h1")
    until("the anchor is old", lambda: anchored.metric("entropyd_ledger_anchor_age_seconds") > 2.5)
    deal(anchored, "h2")
    (anchored.home / "unmounted").rename(elsewhere)
    until("it is kept again", lambda: "anchor kept again" in anchored.log)
    until(
        "the anchor is young", lambda: anchored.metric("entropyd_ledger_anchor_age_seconds") < 2.5
    )
    assert anchored.log.count("anchor not kept") == 1
    assert anchored.terminate() == 0
    anchor = read_anchor(elsewhere / "anchor")
    assert anchor is not None
    assert anchor.position.hands == 2
