"""The command `entropyctl` against a real daemon, from outside."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.system.harness import Daemon, running, until

HOLD = """\
entropyctl: UNAVAILABLE: dealing is held: source 'quantis' is lost;"""


@pytest.fixture(scope="module")
def dealing() -> Iterator[Daemon]:
    """One daemon for all tests of this module; each uses hands of its own."""
    with TemporaryDirectory(prefix="ed-") as home, running(Path(home)) as daemon:
        yield daemon


def entropyctl(
    daemon: Daemon, *arguments: str, socket: str = "poker.sock", key: str = "claim.key", **run
) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own and return how it ended."""
    environment = {
        **os.environ,
        "COLUMNS": "200",
        "ENTROPYCTL_TARGET": f"unix:{daemon.home}/{socket}",
        "ENTROPYCTL_CLAIM_KEY": str(daemon.home / key),
    }
    return subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyctl", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
        **run,
    )


def test_status_is_watched_until_the_daemon_stops(home: Path):
    """A line for each change, and then why there are no more."""
    with running(home) as daemon:
        watching = subprocess.Popen(
            [sys.executable, "-m", "entropyd.cli.entropyctl", "status", "--watch"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "ENTROPYCTL_TARGET": daemon.target,
                "ENTROPYCTL_CLAIM_KEY": str(home / "claim.key"),
            },
        )
        assert watching.stdout is not None
        assert "can deal" in watching.stdout.readline()
        daemon.faults("F1:nak")
        assert any("holding" in line and "SOURCE_LOST" in line for line in watching.stdout)
        daemon.terminate()
        _, told = watching.communicate(timeout=30)
    assert 1 == watching.returncode
    assert "the daemon is stopping; watch again" in told


def test_status_for_people_and_for_programs(dealing: Daemon):
    shown = entropyctl(dealing, "status")
    assert (0, "") == (shown.returncode, shown.stderr)
    assert "can deal  test  hardware=320 user=249 shortfall=cover" in shown.stdout
    assert "TEST0001" in shown.stdout
    told = entropyctl(dealing, "status", "--json")
    status = json.loads(told.stdout)
    assert (True, "test", True) == (status["can_deal"], status["node"], status["mock"])
    [source] = status["sources"]
    assert ("quantis", "TEST0001", "SOURCE_STATE_HEALTHY") == (
        source["source"],
        source["serial"],
        source["state"],
    )


def test_a_hand_is_dealt_and_shown_again_as_it_was(dealing: Daemon):
    """The same id and the same claim key: the same deck, and the text says that it is old."""
    first = entropyctl(dealing, "shuffle", "table-1", "again")
    second = entropyctl(dealing, "shuffle", "table-1", "again")
    assert (0, 0, "", "") == (first.returncode, second.returncode, first.stderr, second.stderr)
    assert "drawn now" in first.stdout
    assert first.stdout.replace("drawn now", "from the ledger") == second.stdout


def test_a_deal_for_programs(dealing: Daemon):
    """A shoe of two decks: ids, text and items agree; provenance names the device."""
    told = entropyctl(dealing, "shuffle", "table-1", "shoe", "--decks", "2", "--json")
    deal = json.loads(told.stdout)
    assert sorted([*range(52)] * 2) == sorted(deal["cards"])
    assert 104 == len(deal["text"].split())
    assert deal["cards"] == [
        int.from_bytes(item, "big") % 52
        for item in (bytes.fromhex(deal["items"][at : at + 8]) for at in range(0, 8 * 104, 8))
    ]
    assert not deal["replayed"]
    sources = {use["class"]: use for use in deal["provenance"]["sources"]}
    assert "TEST0001" == sources["SOURCE_CLASS_HARDWARE"]["serial"]


def test_another_claim_key_gets_no_card(dealing: Daemon):
    assert 0 == entropyctl(dealing, "shuffle", "table-1", "mine").returncode
    refused = entropyctl(dealing, "shuffle", "table-1", "mine", key="other.key")
    assert (1, "") == (refused.returncode, refused.stdout)
    assert refused.stderr.startswith("entropyctl: ALREADY_EXISTS: hand 'mine' was drawn before")


def test_user_entropy_from_standard_input_and_from_a_file(dealing: Daemon):
    """A blob that was seen before counts for nothing, wherever it came from."""
    file = dealing.home / "noise"
    file.write_text("".join(chr(33 + 7 * n % 89) for n in range(200)))
    first = entropyctl(dealing, "add-entropy", "ann", input=file.read_text())
    assert (0, "") == (first.returncode, first.stderr)
    assert first.stdout.startswith("taken, estimated at ")
    again = entropyctl(dealing, "add-entropy", "bob", str(file), "--json")
    assert "0" == json.loads(again.stdout)["estimated_millibits"]


def test_a_role_that_is_missing_is_told(dealing: Daemon):
    refused = entropyctl(dealing, "shuffle", "table-1", "h", socket="audit.sock")
    assert 1 == refused.returncode
    assert "PERMISSION_DENIED: tenant 'acme' lacks the role deal_all" in refused.stderr


def test_a_hold_is_told_with_its_reason_and_its_end(dealing: Daemon):
    """Status says why; a deal is refused with the time to come back; recorded hands still come."""
    assert 0 == entropyctl(dealing, "shuffle", "table-1", "before").returncode
    dealing.faults("F9")
    try:
        until("dealing is held", lambda: dealing.http("/readyz")[0] == 503)
        status = json.loads(entropyctl(dealing, "status", "--json").stdout)
        held = entropyctl(dealing, "shuffle", "table-1", "during", "--timeout", "1")
        recorded = entropyctl(dealing, "shuffle", "table-1", "before")
    finally:
        dealing.faults()
        dealing.wait_until_dealing()
    assert (False, "SOURCE_LOST") == (status["can_deal"], status["hold_reason"])
    assert (1, "") == (held.returncode, held.stdout)
    assert held.stderr.startswith(HOLD)
    assert "entropyctl: ask again in 2.0 s\n" in held.stderr
    assert 0 == recorded.returncode
    assert "from the ledger" in recorded.stdout
    assert "drawn now" in entropyctl(dealing, "shuffle", "table-1", "during").stdout
