"""`entropyctl shuffle --count`: outcomes of a real daemon, whole, in order, and given again."""

import csv
import hashlib
import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from entropyd.draw.cards import card_text
from tests.system.harness import Daemon, running, until

COUNT = 500
TEXTS = [card_text(card) for card in range(52)]


@pytest.fixture(scope="module")
def dealing() -> Iterator[Daemon]:
    """One daemon for all tests of this module; each uses runs of its own."""
    with TemporaryDirectory(prefix="ed-") as home, running(Path(home)) as daemon:
        yield daemon


def command(daemon: Daemon, *arguments: object) -> tuple[list[str], dict[str, str]]:
    # The laboratory's own tenant: another listener than the poker server's.
    environment = {
        "ENTROPYCTL_TARGET": f"unix:{daemon.home}/other.sock",
        "ENTROPYCTL_CLAIM_KEY": str(daemon.home / "lab.key"),
    }
    start = [sys.executable, "-m", "entropyd.cli.entropyctl", "shuffle"]
    return [*start, *map(str, arguments)], {**os.environ, **environment}


def shuffle(daemon: Daemon, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process of its own and return how it ended."""
    line, environment = command(daemon, *arguments)
    return subprocess.run(line, capture_output=True, check=False, env=environment, timeout=120)


def rows(written: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(written.decode("ascii"))))


def test_a_run_is_whole_and_given_again_to_the_byte(dealing: Daemon):
    """As CSV, again, and as bare card ids: the same decks; the table's numbers have no gap."""
    first = shuffle(dealing, "--count", COUNT, "--format", "csv", "--run", "first")
    assert 0 == first.returncode, first.stderr
    header, *decks = rows(first.stdout)
    assert ["hand", "sequence", *(f"card_{place}" for place in range(1, 53))] == header
    assert [f"first/{number:08}" for number in range(1, COUNT + 1)] == [row[0] for row in decks]
    assert list(range(1, COUNT + 1)) == sorted(int(row[1]) for row in decks)
    assert all(sorted(TEXTS) == sorted(row[2:]) for row in decks)
    assert COUNT == len({tuple(row[2:]) for row in decks})

    again = shuffle(dealing, "--count", COUNT, "--run", "first")
    assert first.stdout == again.stdout
    assert f"0 decks drawn now, {COUNT} from the ledger".encode() in again.stderr

    bare = shuffle(dealing, "--count", COUNT, "--run", "first", "--format", "bin")
    assert 52 * COUNT == len(bare.stdout)
    assert bare.stdout == bytes(TEXTS.index(card) for row in decks for card in row[2:])


def test_decks_are_hands_of_the_listeners_tenant_and_of_no_other(dealing: Daemon):
    """The laboratory's table is in its own tenant; the poker server's numbers go on undisturbed."""
    assert 0 == shuffle(dealing, "--count", 3, "--run", "own").returncode
    with dealing.client() as poker:
        assert 1 == poker.shuffle("lab/own", "own/00000001").sequence


def test_a_run_that_was_killed_goes_on(dealing: Daemon):
    """Kill -9 amid a run: what was drawn comes from the ledger, and nothing is drawn twice."""
    before = dealing.status().hands
    line, environment = command(dealing, "--count", 2 * COUNT, "--run", "killed")
    with subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL) as process:
        until("some are drawn", lambda: dealing.status().hands > before + 50)
        process.send_signal(signal.SIGKILL)
    whole = shuffle(dealing, "--count", 2 * COUNT, "--run", "killed")
    assert 0 == whole.returncode, whole.stderr
    told = re.search(rb"(\d+) decks drawn now, (\d+) from the ledger", whole.stderr)
    assert told is not None
    drawn, replayed = map(int, told.groups())
    assert (2 * COUNT, True) == (drawn + replayed, replayed >= 50)
    assert before + 2 * COUNT == dealing.status().hands
    numbers = sorted(int(row[1]) for row in rows(whole.stdout)[1:])
    assert list(range(1, 2 * COUNT + 1)) == numbers


def test_one_call_at_a_time_draws_in_the_order_of_the_output(dealing: Daemon):
    told = shuffle(dealing, "--count", 20, "--in-flight", 1)
    assert [str(number) for number in range(1, 21)] == [row[1] for row in rows(told.stdout)[1:]]


def test_a_file_is_made_whole_for_its_owner_and_never_written_over(dealing: Daemon):
    """Its digest is told; a second run into the same file is refused and draws nothing."""
    out = dealing.home / "decks.bin"
    arguments = ("--count", 10, "--format", "bin", "--deck", "short36", "--decks", 2, "--out", out)
    made = shuffle(dealing, *arguments)
    assert (0, b"") == (made.returncode, made.stdout)
    written = out.read_bytes()
    assert (720, 0o600) == (len(written), out.stat().st_mode & 0o777)
    assert f"SHA-256 of the output {hashlib.sha256(written).hexdigest()}".encode() in made.stderr
    assert b"this says nothing of a device" in made.stderr

    before = dealing.status().hands
    refused = shuffle(dealing, *arguments)
    assert 2 == refused.returncode
    assert b"File exists" in refused.stderr
    assert (written, before) == (out.read_bytes(), dealing.status().hands)


def test_a_hold_is_waited_out_and_leaves_no_gap(dealing: Daemon):
    """Unplugged and plugged in again during a run: it ends whole."""
    line, environment = command(dealing, "--count", COUNT, "--timeout", 60, "--run", "held")
    dealing.faults("F9")
    try:
        until("dealing is held", lambda: dealing.http("/readyz")[0] == 503)
        with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE) as process:
            until("calls wait", lambda: dealing.status().waiters == 64)
            dealing.faults()
            out, _ = process.communicate(timeout=60)
    finally:
        dealing.faults()
        dealing.wait_until_dealing()
    assert (0, COUNT) == (process.returncode, len(rows(out)) - 1)


def test_a_hold_without_end_is_told_with_how_to_go_on(dealing: Daemon):
    """Exit code 1, no file, and the name under which the run goes on."""
    out = dealing.home / "never.csv"
    dealing.faults("F9")
    try:
        until("dealing is held", lambda: dealing.http("/readyz")[0] == 503)
        held = shuffle(dealing, "--count", 5, "--timeout", 1, "--out", out, "--run", "stuck")
    finally:
        dealing.faults()
        dealing.wait_until_dealing()
    assert (1, False) == (held.returncode, out.exists())
    assert b"run stuck: ended after 0 decks; --run stuck gives them again" in held.stderr
    assert b"entropyctl: UNAVAILABLE: dealing is held" in held.stderr


def test_what_cannot_be_is_2_and_nobody_there_is_3(dealing: Daemon):
    """A hand beside --count, a run whose name is no id, and a daemon that is not there."""
    both = shuffle(dealing, "table", "hand", "--count", 1)
    assert (2, b"") == (both.returncode, both.stdout)
    no_id = shuffle(dealing, "--count", 1, "--run", "a b")
    assert (2, b"") == (no_id.returncode, no_id.stdout)
    assert b"key.hand" in no_id.stderr or b"key.table" in no_id.stderr
    nobody = shuffle(dealing, "--count", 1, "--timeout", 1, "-t", "unix:/nobody")
    assert (3, b"") == (nobody.returncode, nobody.stdout)
