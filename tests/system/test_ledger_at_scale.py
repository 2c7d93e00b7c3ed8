"""Every command of `entropyd ledger` on a hundred thousand hands, one after the other.

As by hand on ten million: `python -m bench.make_ledger --hands 10000000 DEST`, then these commands.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.make_ledger import TENANT, hand_name, make_ledger
from entropyd import units
from entropyd.config import load
from entropyd.daemon.ledger import open_ledger
from entropyd.errors import SecretsDestroyedError
from entropyd.ledger.contract import AlreadySpent, Recorded
from entropyd.ledger.retention import day_of
from tests.fakes.drafts import make_draft

HANDS = 100_000
EVERY = 50
# A hundred days: two months are closed, and the first day's secrets have been kept long enough.
DAYS = 100


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("scale") / "home"
    make_ledger(home, HANDS, every=EVERY, days=DAYS)
    config = home / "entropyd.toml"
    kept = '[ledger]\nhot_for = "35d"\nsecrets_for = "90d"\n'
    config.write_text(config.read_text().replace("[ledger]\n", kept))
    return home


def command(home: Path, *arguments: str) -> str:
    """Run `entropyd ledger`, which succeeds, and return what it says."""
    program = [sys.executable, "-m", "entropyd.cli.entropyd", "ledger", *arguments]
    done = subprocess.run(
        [*program, "--config", str(home / "entropyd.toml")],
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_years_pass_in_a_minute(home: Path):
    """Backup, check, archive, destruction, restore of what is left, rollback: all hands remain."""
    sample = str(HANDS // EVERY)
    before = time.time_ns()
    assert f"{HANDS} hand(s)" in command(home, "backup", str(home / "first"))
    sound = command(home, "check", "--sample", sample)
    assert f"sound. {HANDS} hand(s) at 1000 table(s) without a gap, 0 of them" in sound
    assert f"{HANDS // EVERY} decrypted" in sound

    archived = command(home, "archive")
    assert "archived: hands 1 to " in archived
    last = int(archived.split(" to ")[1].split()[0])
    assert HANDS * 0.34 < last < HANDS * 0.66
    destroyed = command(home, "destroy-secrets", "--before", day_of(before - 91 * units.DAY))
    gone = int(destroyed.split("hands up to ")[1].split(",")[0])
    assert HANDS * 0.07 < gone < HANDS * 0.1

    sound = command(home, "check", "--sample", sample)
    assert f"{last} of them archived" in sound
    assert f"{gone} without secrets" in sound
    command(home, "backup", str(home / "second"))
    (home / "state" / "ledger.sqlite3").unlink()
    assert f"restored, {HANDS} hand(s)" in command(home, "restore", str(home / "second"))
    assert f"sound. {HANDS} hand(s)" in command(home, "check", "--sample", sample)
    # Overwritten where it left: no room was lost, none is needed for what comes.
    assert (home / "second").stat().st_size <= (home / "first").stat().st_size + 2**20
    _deal_on(home, last, gone)


def _deal_on(home: Path, last: int, gone: int) -> None:
    """Archived, destroyed and hot hands are what they were, and new ones follow them."""
    archived = last - (last - 1) % EVERY
    hot = HANDS - EVERY + 1
    with open_ledger(load(home / "entropyd.toml")) as ledger:
        for number in (archived, hot):
            record = ledger.find(TENANT, hand_name(number), with_secrets=True)
            assert record is not None
            assert record.sequence == (number - 1) // 1000 + 1
        with pytest.raises(SecretsDestroyedError):
            ledger.find(TENANT, hand_name(gone))
        spent, new = ledger.commit(
            [
                make_draft(hand_name(archived), tenant=TENANT, table="elsewhere"),
                make_draft("new", tenant=TENANT, table="table-0"),
            ]
        )
    assert isinstance(spent, AlreadySpent)
    assert isinstance(new, Recorded)
    assert new.record.sequence == HANDS // 1000 + 1
