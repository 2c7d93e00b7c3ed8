"""`make demo` from its first line to `demo: ok`, and what it says where something is missing."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from entropyd.cli.demo import checkout

ROOT = Path(__file__).parents[2]
# What a newcomer must see, in this order.
SEEN = (
    "can deal after ",
    "Shuffle hand-3",
    "identical, byte for byte, from the ledger",
    "held after ",
    "resumed by itself after ",
    "seat-1 sits down: Python",
    "seat-2 sits down: JavaScript",
    "opened hand-5: deck root ",
    "roll closed, receipt ",
    "both opened their secrets, which cut the deck",
    "place 4: burned",
    "to board, checked by both seats",
    "shown to everybody: place 1, ",
    "closed after 8 of 52 cards, receipt ",
    "-- entropyctl verify ",
    "hand.json: the hand that seat-1's software kept\n  verifies: ",
    "place 1 is another\n  does not verify\n  cards[1]: inclusion: ",
    "a contribution is another\n  does not verify\n  leaves: have another R",
    "of the log, under its checkpoint\n  verifies: ",
    "-- the page for players",
    "hand.json: It matches.\n",
    "other-card.json: It does NOT match.\n  Cards shown (6)",
    "other-contribution.json: It does NOT match.\n  Contributions: ",
    "log.json: It matches.\n",
    "drained and gone in ",
    "demo: ok",
)


def heirs_of(name):
    """Return the processes that were started with this HOME, by anybody in between."""
    wanted, found = f"HOME={name}".encode(), []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # It has ended, or is another user's.
            if wanted in environment.read_bytes().split(b"\0"):
                found.append(environment.parent.joinpath("cmdline").read_text())
    return found


def test_the_demo_from_its_first_line_to_ok(home):
    """Every act in its order, and no file or process of it left."""
    playing = subprocess.Popen(
        [sys.executable, "-m", "entropyd.cli.demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home)},
    )
    out, err = playing.communicate(timeout=280)
    assert (0, "") == (playing.returncode, err), out
    at = 0
    for expected in SEEN:
        found = out.find(expected, at)
        assert found >= at, f"{expected!r} is missing after:\n{out[:at]}"
        at = found
    assert out.endswith("demo: ok\n")
    assert [] == list(home.glob("entropyd-demo-*"))
    assert [] == heirs_of(str(home))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("_ROOT", "none", "run `make demo` in a checkout, a package has no examples"),
        ("CHROMIUM", "none", "install it as root: apt-get install chromium"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_played(
    monkeypatch, capsys, tmp_path, name, value, said
):
    """With the remedy, and as a failure."""
    monkeypatch.setattr(checkout, name, tmp_path / value)
    with pytest.raises(SystemExit) as ended:
        checkout.find_checkout()
    assert 1 == ended.value.code
    out = capsys.readouterr().out
    assert out.startswith("demo: failed: ")
    assert said in out
