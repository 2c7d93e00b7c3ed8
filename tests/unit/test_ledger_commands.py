"""`entropyd ledger`: what the commands over the years print, refuse, and exit with."""

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from entropyd import units
from entropyd.cli import entropyd
from entropyd.config import load
from entropyd.daemon.ledger import open_ledger, set_anchor
from entropyd.errors import LedgerBehindAnchorError, SecretsDestroyedError
from entropyd.ledger.anchor import read_anchor
from entropyd.ledger.contract import EventKind
from entropyd.ledger.retention import day_of, month_of
from entropyd.ledger.state_dir import StateDirectory
from entropyd.ledger.subjects import SubjectKind
from tests.fakes.drafts import make_draft
from tests.fakes.step_drafts import make_step

Command = Callable[..., tuple[int, str, str]]

DAYS = 100
NOW = time.time_ns()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose state is the test's own, with an anchor."""
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "entropyd.toml"
    path.write_text(
        f'[node]\nname = "n"\nstate_dir = "{tmp_path}/state"\n[mode]\nproduction = false\n'
        '[[source]]\nid = "m"\ndriver = "mock"\nclaim_bits_per_sample = 4.0\nclaim_note = "n"\n'
        f'[[listener]]\naddress = "unix:{tmp_path}/x.sock"\ntenant = "a"\nroles = ["deal_all"]\n'
        f'[ledger]\nmin_free = "16MiB"\nanchor = "{tmp_path}/elsewhere/anchor"\n'
        'hot_for = "35d"\nsecrets_for = "80d"\n[keys]\nat_rest = ""\n'
    )
    return path


@pytest.fixture
def run(monkeypatch, capsys, config) -> Command:
    """Run a command of `entropyd ledger`; return exit code, standard output and error."""

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["entropyd", "ledger", *arguments, "-c", str(config)])
        with pytest.raises(SystemExit) as ended:
            entropyd.main()
        out, err = capsys.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return code or 0, out, err

    return command


def days_ago(days: int) -> int:
    return NOW - days * units.DAY


@pytest.fixture
def dealt(config: Path) -> None:
    """A hand a day for a hundred days, the last of today."""
    with open_ledger(load(config)) as ledger:
        ledger.commit(
            [
                replace(make_draft(f"h{days}"), drawn_at_ns=days_ago(days))
                for days in reversed(range(DAYS))
            ]
        )


def closed_before(boundary: str) -> int:
    """Return how many of the hands were drawn before a day."""
    return sum(day_of(days_ago(days)) < boundary for days in range(DAYS))


def test_closed_months_are_archived_and_checked(run, config, dealt):
    """By default as much as hot_for allows; the anchor follows; a second run finds nothing."""
    boundary = month_of(days_ago(35)) + "-01"
    code, out, err = run("archive")
    assert (0, "") == (code, err)
    closed = closed_before(boundary)
    assert f"archived: hands 1 to {closed} of the ledger" in out
    assert "copy them from" in out
    anchor = read_anchor(load(config).ledger.anchor or Path())
    assert anchor is not None
    assert (DAYS, 1) == (anchor.position.hands, anchor.position.events)
    assert (0, f"no hand before {boundary[:7]} is hot, nothing to archive\n", "") == run("archive")
    code, out, _ = run("check")
    assert 0 == code
    assert f"sound. {DAYS} hand(s) at 1 table(s) without a gap, {closed} of them archived" in out
    assert f"{DAYS} decrypted, 0 without secrets" in out
    assert "20 decrypted" in run("check", "--sample", "20")[1]


def test_what_hot_for_and_secrets_for_keep_is_refused(run, dealt):
    code, _, err = run("archive", "--before", month_of(days_ago(-40)))
    assert 65 == code
    assert f"hot_for keeps them; expected at most {month_of(days_ago(35))}" in err
    code, _, err = run("destroy-secrets", "--before", day_of(days_ago(79)))
    assert 65 == code
    assert f"secrets_for keeps them; expected at most {day_of(days_ago(80))}" in err


def test_secrets_are_destroyed_behind_the_archive_only(run, config, dealt):
    day = day_of(days_ago(80))
    code, _, err = run("destroy-secrets", "--before", day)
    assert 65 == code
    assert "are still hot; run `entropyd ledger archive` first" in err
    # A month that is 80 days old has been closed for more than 35.
    assert 0 == run("archive")[0]
    expired = closed_before(day)
    code, out, err = run("destroy-secrets", "--before", day)
    assert (0, "") == (code, err)
    assert f"cards and seeds of the ledger's hands up to {expired}, in 1 archive(s)" in out
    assert "Backups and copies" in out
    again = run("destroy-secrets", "--before", day)
    assert (
        0,
        f"no archived hand and no step before {day} has secrets, nothing to destroy\n",
        "",
    ) == again
    assert f"{DAYS - expired} decrypted, {expired} without secrets" in run("check")[1]
    with open_ledger(load(config)) as ledger:
        assert 1 == len(ledger.events(EventKind.SECRETS_DESTROYED))


def test_secrets_of_steps_are_destroyed_without_an_archive(run, config):
    """A match a day for a hundred days: what is older than the day goes, and the check says so."""
    steps = [make_step(f"m{days}", at_ns=days_ago(days), key="k") for days in reversed(range(DAYS))]
    with open_ledger(load(config)) as ledger:
        ledger.commit(steps)
    assert (0, "no hands, nothing to archive\n", "") == run("archive")
    assert 65 == run("destroy-secrets", "--before", day_of(days_ago(79)))[0]
    day = day_of(days_ago(80))
    expired = closed_before(day)
    code, out, err = run("destroy-secrets", "--before", day)
    assert (0, "") == (code, err)
    assert f"destroyed: secrets of the ledger's steps up to {expired}. Their ids stay" in out
    assert "no step before" in run("destroy-secrets", "--before", day)[1]
    checked = run("check")[1]
    assert f"{DAYS} step(s) of {DAYS} match(es), raffles and seed pairs" in checked
    assert f"{DAYS - expired} decrypted, {expired} without secrets; 1 event(s)" in checked
    anchor = read_anchor(load(config).ledger.anchor or Path())
    assert anchor is not None
    assert DAYS == anchor.position.steps
    with open_ledger(load(config)) as ledger:
        with pytest.raises(SecretsDestroyedError):
            ledger.step(SubjectKind.MATCH, "room", "m99", "k")
        assert ledger.step(SubjectKind.MATCH, "room", "m3", "k") is not None


def test_an_archive_leaves_steps_where_they_are_and_says_so(run, config, dealt):
    with open_ledger(load(config)) as ledger:
        ledger.commit([make_step(at_ns=days_ago(0))])
    code, out, _ = run("archive")
    assert 0 == code
    assert "Matches, raffles and seed pairs stay in the ledger" in out
    with open_ledger(load(config)) as ledger:
        assert ledger.subject(SubjectKind.MATCH, "room", "match-1") is not None


def test_a_backup_that_lost_steps_does_not_start_and_is_adopted_with_their_number(
    run, config, dealt, tmp_path
):
    """The anchor saw them; hands and events are all there."""
    loaded = load(config)
    run("backup", str(tmp_path / "saved"))
    with open_ledger(loaded) as ledger:
        ledger.commit([make_step(), make_step()])
        set_anchor(loaded, ledger)
    (loaded.node.state_dir / "ledger.sqlite3").unlink()
    code, out, _ = run("restore", str(tmp_path / "saved"))
    assert 0 == code
    missing = "ends with step 0 of its draws, its anchor saw step 2: 2 step(s) are missing"
    assert f"but it {missing}" in out
    with pytest.raises(LedgerBehindAnchorError, match=re.escape(missing)), open_ledger(loaded):
        pass
    assert 0 == run("adopt", "--reason", "the disk is gone")[0]
    with open_ledger(loaded) as ledger:
        [event] = ledger.events(EventKind.LEDGER_ADOPTED)
    detail = json.loads(event.detail)
    assert (0, 2) == (detail["ledger"]["steps"], detail["anchor"]["steps"])


def test_a_ledger_with_steps_has_no_way_back(run, config, dealt):
    with open_ledger(load(config)) as ledger:
        ledger.commit([make_step()])
    code, _, err = run("downgrade")
    assert 65 == code
    assert "holds 1 step(s) of matches, raffles or seed pairs" in err
    assert 0 == run("check")[0]


def test_a_clock_that_cannot_be_right_archives_and_destroys_nothing(run, dealt, monkeypatch):
    """Set back it is refused; set ahead, the last hand's time counts."""
    monkeypatch.setattr(time, "time_ns", lambda: days_ago(3000))
    for command in (("archive",), ("destroy-secrets", "--before", "2000-01-01")):
        code, _, err = run(*command)
        assert 65 == code
        assert "set the clock" in err
    monkeypatch.setattr(time, "time_ns", lambda: days_ago(-3000))
    code, _, err = run("destroy-secrets", "--before", day_of(days_ago(70)))
    assert 65 == code
    assert f"expected at most {day_of(days_ago(80))}" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("archive", "--before", "May"), "before: is 'May'; expected a month such as 2026-05"),
        (("destroy-secrets", "--before", "x"), "before: is 'x'; expected a day such as"),
        (("check", "--sample", "0"), "sample: is 0; expected a whole number from 1"),
    ],
)
def test_what_cannot_be_read_is_refused(run, dealt, arguments, says):
    code, _, err = run(*arguments)
    assert 70 == code
    assert says in err


def test_an_empty_ledger_has_nothing_to_do(run):
    assert (0, "no hands, nothing to archive\n", "") == run("archive")
    assert (0, "no hands and no steps, nothing to destroy\n", "") == run(
        "destroy-secrets", "--before", "2026-01-01"
    )
    assert "sound. 0 hand(s) at 0 table(s)" in run("check")[1]


@pytest.mark.parametrize(
    "arguments",
    [("archive",), ("check",), ("destroy-secrets", "--before", "2026-01-01"), ("downgrade",),
     ("adopt", "--reason", "r"), ("restore", "file")],
)  # fmt: skip
def test_a_running_daemon_keeps_all_but_backup_out(run, config, dealt, tmp_path, arguments):
    with StateDirectory.hold(load(config).node.state_dir):
        code, _, err = run(*arguments)
        assert 75 == code
        assert "is held by pid" in err
        assert 0 == run("backup", str(tmp_path / "saved"))[0]


def test_a_downgrade_says_which_version_and_what_not_to_start(run, dealt):
    code, out, _ = run("downgrade")
    assert 0 == code
    assert "has schema version 2 now; start only the entropyd before this one" in out
    assert 65 == run("downgrade")[0]
    assert f"sound. {DAYS} hand(s)" in run("check")[1]


def test_a_damaged_ledger_fails_its_check(run, config, dealt):
    path = load(config).node.state_dir / "ledger.sqlite3"
    path.write_bytes(path.read_bytes()[:-8192])
    code, _, err = run("check")
    assert 70 == code
    assert "is damaged" in err


def test_a_restore_names_archives_that_are_missing(run, config, dealt, tmp_path):
    """A backup holds none: they are copied once when they are made."""
    run("archive")
    run("backup", str(tmp_path / "saved"))
    state = load(config).node.state_dir
    (state / "ledger.sqlite3").unlink()
    [archive] = (state / "archives").iterdir()
    archive.rename(tmp_path / archive.name)
    code, out, _ = run("restore", str(tmp_path / "saved"))
    assert 0 == code
    assert f"archive {archive.name} is missing in {state / 'archives'}: copy it there" in out
    code, _, err = run("check")
    assert 70 == code
    assert "copied there from its backup" in err
    (tmp_path / archive.name).rename(archive)
    assert 0 == run("check")[0]
