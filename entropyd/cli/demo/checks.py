"""The third act: anybody checks the hand and the log offline, and false copies are refused."""

import copy
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from entropyd.cli.demo.checkout import Checkout
from entropyd.cli.demo.house import target_of
from entropyd.cli.demo.stage import fail, require, run, say, title, until
from entropyd.cli.demo.table import SHOWN, Played
from entropyd.client import Client
from entropyd.hands.cut import sort_leaves
from entropyd.log.checkpoint import Checkpoint
from entropyd.log.signed_note import SignedNote

# The first time what drives the browser comes from the package index.
BROWSER_PATIENCE_S = 180.0

File = dict[str, Any]


@dataclass(frozen=True)
class Exhibit:
    """A file that is checked.

    Attributes:
        path: where it is.
        what: for people.
        true: whether it must verify.
    """

    path: Path
    what: str
    true: bool


def check_everything(played: Played, dealer: Client, home: Path, checkout: Checkout) -> None:
    """Check the hand of seat-1, two false copies of it and the log: by command and by page."""
    exhibits = [*_hands(played.hand_file, home), _log(played, dealer, home)]
    keys = [played.receipt_key, played.log_key]
    title("entropyctl verify FILE --key KEY: offline, under the operator's keys and no others")
    for exhibit in exhibits:
        _by_command(exhibit, keys)
    title("the page for players, verify.html from disk, in Chromium: the same files and keys")
    _by_page(exhibits, keys, home, checkout)


def _hands(kept: Path, home: Path) -> list[Exhibit]:
    true = json.loads(kept.read_text("utf-8"))
    other_card, other_value = copy.deepcopy(true), copy.deepcopy(true)
    card = next(card for card in other_card["cards"] if card["place"] == SHOWN)
    # Another card of the deck: the shown one is claimed to have been it.
    card["item"] = (card["item"] + 1) % 52
    leaves = [bytes.fromhex(leaf) for leaf in true["leaves"]]
    leaves[0] = leaves[0][:-1] + bytes([leaves[0][-1] ^ 1])
    # In order again: nobody finds it by that.
    other_value["leaves"] = [leaf.hex() for leaf in sort_leaves(leaves)]
    return [
        Exhibit(_write(home, "hand.json", true), "the hand that seat-1's software kept", true=True),
        Exhibit(
            _write(home, "other-card.json", other_card),
            f"a copy, in which the card shown at place {SHOWN} is another",
            true=False,
        ),
        Exhibit(
            _write(home, "other-contribution.json", other_value),
            "a copy, in which one bit of a contribution is another",
            true=False,
        ),
    ]


def _write(home: Path, name: str, file: File) -> Path:
    path = home / name
    path.write_text(json.dumps(file, indent=1) + "\n", "utf-8")
    return path


def _log(played: Played, dealer: Client, home: Path) -> Exhibit:
    """Export the log up to the end of the hand, once a checkpoint covers it: within a second."""
    last, path = played.hand.receipts["close"].index, home / "log.json"
    there = ["--target", target_of(home), "--claim-key", str(home / "claim.key")]
    until("a checkpoint covers the hand", lambda: _logged(dealer) > last)
    done = run(_entropyctl("log", "export", "0", str(last), str(path), *there))
    require(done.returncode == 0, f"entropyctl log export: {done.stderr}")
    return Exhibit(path, f"entries 0 to {last} of the log, under its checkpoint", true=True)


def _logged(dealer: Client) -> int:
    """Return how many entries the newest checkpoint covers."""
    note = SignedNote.decode(dealer.log().head().checkpoint.encode())
    return Checkpoint.decode(note.text).size


def _by_command(exhibit: Exhibit, keys: list[str]) -> None:
    given = [part for key in keys for part in ("--key", key)]
    done = run(_entropyctl("verify", str(exhibit.path), *given))
    say(f"{exhibit.path.name}: {exhibit.what}")
    lines = done.stdout.splitlines()
    require(
        done.returncode == (0 if exhibit.true else 1) and bool(lines),
        f"entropyctl verify ended with {done.returncode}: {done.stdout}{done.stderr}",
    )
    checks = [line for line in lines if line.startswith("checked  ")]
    if exhibit.true:
        say(f"  {lines[0]}: {len(checks)} checks, {lines[1]}")
    else:
        require(lines[0] == "does not verify", f"{exhibit.path.name} verifies")
        for line in lines:
            say(f"  {line}")


def _by_page(exhibits: list[Exhibit], keys: list[str], home: Path, checkout: Checkout) -> None:
    key_file = home / "keys.txt"
    key_file.write_text("\n".join(keys) + "\n", "ascii")
    files = [str(exhibit.path) for exhibit in exhibits]
    command = [sys.executable, "-m", "tests.web.look", str(key_file), *files]
    done = run(command, where=checkout.root, patience_s=BROWSER_PATIENCE_S)
    if done.returncode != 0:
        fail(f"the page in Chromium: {done.stderr.strip()[-2000:]}")
    for exhibit, line in zip(exhibits, done.stdout.splitlines(), strict=True):
        told = json.loads(line)
        expected = "match" if exhibit.true else "mismatch"
        require(
            told["verdict"] == expected,
            f"the page says {told['verdict']} of {exhibit.path.name}; expected {expected}",
        )
        say(f"{exhibit.path.name}: {told['said'].split(chr(10))[-2]}")
        for reason in _differences(told["report"].splitlines()):
            say(f"  {reason}")


def _differences(report: Sequence[str]) -> Iterator[str]:
    """Yield what the page says differs, and the line below it that says how and where."""
    lines = [line.strip() for line in report if line.strip()]
    for line, below in pairwise(lines):
        if line.startswith("✗"):
            yield f"{line.strip('✗ ')}. {below}"


def _entropyctl(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "entropyd.cli.entropyctl", *arguments]
