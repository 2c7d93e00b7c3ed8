"""The commands for people against a real daemon, and what they save against the verifier."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.system.harness import Daemon, running


@pytest.fixture(scope="module")
def dealing() -> Iterator[Daemon]:
    """One daemon for all tests of this module; each draws in matches of its own."""
    with TemporaryDirectory(prefix="ed-") as home, running(Path(home)) as daemon:
        yield daemon


def entropyctl(daemon: Daemon, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own and return how it ended."""
    environment = {
        **os.environ,
        "COLUMNS": "200",
        "ENTROPYCTL_TARGET": daemon.target,
        "ENTROPYCTL_CLAIM_KEY": str(daemon.home / "claim.key"),
    }
    return subprocess.run(
        [sys.executable, "-m", "entropyd.cli.entropyctl", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=60,
    )


def verified(daemon: Daemon, path: Path) -> str:
    """The result that the verifier tells of a file."""
    done = entropyctl(daemon, "verify", path, "--json")
    [finding] = json.loads(done.stdout)
    assert (0, True) == (done.returncode, finding["verifies"])
    return str(finding["result"])


@pytest.mark.parametrize(
    "command",
    [
        "roll 2d6,d20",
        "pick 0-18446744073709551615 --count 3",
        "pick 0-4294967295 --sampler word32",
        "order a b c d",
        "cards 5",
        "bag polish --draw 7",
        "bag red=3,blue=5 --draw 8",
    ],
)
def test_what_is_drawn_is_what_its_proof_says(dealing: Daemon, tmp_path: Path, command: str):
    proof = tmp_path / "proof.json"
    done = entropyctl(dealing, *command.split(), "--json", "--save", proof)
    told = json.loads(done.stdout)
    assert (0, False, True) == (done.returncode, told["replayed"], told["mock"])
    assert verified(dealing, proof).split() == list(map(str, told["result"]))


def test_the_same_match_and_id_give_the_same_roll_again(dealing: Daemon):
    first = entropyctl(dealing, "roll", "20d6", "--match", "ludo/1", "-q")
    again = entropyctl(dealing, "roll", "20d6", "--match", "ludo/1", "-q")
    other = entropyctl(dealing, "roll", "21d6", "--match", "ludo/1", "-q")
    assert (0, first.stdout) == (again.returncode, again.stdout)
    assert (1, "") == (other.returncode, other.stdout)
    assert "ALREADY_EXISTS" in other.stderr


def test_a_bag_is_drawn_empty_over_a_match_and_the_match_proved(dealing: Daemon, tmp_path: Path):
    for number in range(1, 5):
        words = ("bag", "dominoes", "--draw", 7, "--match", "tiles", "--id", f"hand-{number}")
        done = entropyctl(dealing, *words, "--json")
        assert 28 - 7 * number == json.loads(done.stdout)["left"]
    fifth = entropyctl(dealing, "bag", "dominoes", "--match", "tiles", "--id", "hand-5")
    assert (1, "") == (fifth.returncode, fifth.stdout)
    match = tmp_path / "match.json"
    shown = entropyctl(dealing, "replay", "tiles", "--save", match)
    assert (0, 4) == (shown.returncode, len(shown.stdout.splitlines()))
    verified(dealing, match)
    drawn = [tile for one in json.loads(match.read_text())["draws"] for tile in one["result"]]
    assert sorted(map(str, range(28))) == sorted(drawn)


def test_a_raffle_is_drawn_from_the_list_that_was_sealed(dealing: Daemon, tmp_path: Path):
    entries, proof = tmp_path / "entries.txt", tmp_path / "raffle.json"
    entries.write_text("Dan\nAnn\nBob\nEve\nĆma\n", "utf-8")
    words = ("raffle", entries, "--winners", 2, "--alternates", 1, "--match", "spring")
    done = entropyctl(dealing, *words, "--save", proof)
    assert 0 == done.returncode
    assert done.stderr.startswith("entropyctl: sealed: 5 entries, hash ")
    assert done.stdout == entropyctl(dealing, *words).stdout
    winners, alternate = verified(dealing, proof).split("; standing by: ")
    lines = [f"{place}. {name}" for place, name in enumerate(winners.split(", "), 1)]
    assert [*lines, f"alternate 1. {alternate}"] == done.stdout.splitlines()
    entries.write_text("Dan\nAnn\nBob\nMallory\n", "utf-8")
    changed = entropyctl(dealing, *words)
    assert (1, "") == (changed.returncode, changed.stdout)


def test_a_proof_that_was_touched_is_refused(dealing: Daemon, tmp_path: Path):
    proof = tmp_path / "proof.json"
    entropyctl(dealing, "roll", "d6", "--save", proof)
    file = json.loads(proof.read_text())
    file["result"] = [str(1 + int(file["result"][0]) % 6)]
    proof.write_text(json.dumps(file))
    done = entropyctl(dealing, "verify", proof)
    assert 1 == done.returncode
    assert "does not verify\nresult[0]: " in done.stdout


def test_a_draw_of_very_many_seeds_says_both_ways_out(dealing: Daemon, tmp_path: Path):
    words = ("pick", "0-18446744073709551615", "--count", 1000)
    refused = entropyctl(dealing, *words)
    assert (1, "") == (refused.returncode, refused.stdout)
    assert "COMPUTATIONAL" in refused.stderr
    assert "WAIT" in refused.stderr
    assert "--large wait or --large computational" in refused.stderr
    proof = tmp_path / "proof.json"
    done = entropyctl(dealing, *words, "--large", "computational", "-q", "--save", proof)
    assert (0, 1000) == (done.returncode, len(done.stdout.split()))
    told = entropyctl(dealing, "verify", proof).stdout
    assert "seeds=computational" in told
