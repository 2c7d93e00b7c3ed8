"""The self-test command: every test is made to fire, and a failure is told and counts."""

import subprocess
import sys
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from entropyd.cli import entropyctl, entropyd
from entropyd.cli.selftest import (
    EXIT_FAILED,
    TESTS,
    add_command,
    induced_failures,
    known_answers,
    play,
)
from entropyd.entropy.health import HealthTest
from entropyd.errors import SelfTestError


def run(*arguments):
    """The command, as both programs have it."""
    app = typer.Typer()
    app.callback()(lambda: None)
    add_command(app)
    return CliRunner().invoke(app, ["selftest", *arguments], env={"COLUMNS": "200"})


def test_everything_passes_and_is_listed():
    """A line for the known answers and one for each induced failure."""
    result = run()
    assert 0 == result.exit_code, result.output
    for script in induced_failures():
        assert script.name in result.output
    assert "known answers" in result.output
    assert f"selftest: ok, {len(induced_failures()) + 1} of" in result.output


@pytest.mark.parametrize("test", TESTS)
def test_a_test_is_induced_by_name(test):
    """Only what makes it fire is played, with the paragraph that says why."""
    result = run("--induce", test)
    assert 0 == result.exit_code, result.output
    assert f"{test} " in result.output
    assert "known answers" not in result.output
    scripts = [s for s in induced_failures() if test in {alarm[0] for alarm in s.alarms()}]
    assert len(scripts) >= 2
    assert all(script.paragraph in result.output for script in scripts)


def test_every_health_test_can_be_induced():
    assert {*map(str, HealthTest), "rate"} == set(TESTS)


def test_an_unknown_test_is_a_mistake_of_the_caller():
    result = run("--induce", "luck")
    assert 2 == result.exit_code
    assert "rct" in result.output


def test_a_test_that_does_not_fire_fails(monkeypatch):
    """One script that expects an alarm too many: told, named, and exit code 70."""
    good = induced_failures()
    last = good[-1]
    bad = replace(last, name="not-as-it-says", lines=(*last.lines, ("state", "molten")))
    monkeypatch.setattr("entropyd.cli.selftest.induced_failures", lambda: [*good[:2], bad])
    result = run()
    assert EXIT_FAILED == result.exit_code
    assert "failed: not-as-it-says; do not deal with this installation" in result.output
    assert "expected molten" in result.output


def test_a_wrong_answer_fails():
    def wrong():
        raise SelfTestError("known answer `sha-512`: wrong")

    finding = known_answers(wrong)
    assert (False, "known answer `sha-512`: wrong") == (finding.passed, finding.told)
    assert known_answers().passed


def test_what_fired_is_told_with_its_sample():
    (script,) = [s for s in induced_failures() if s.name == "rct-intermittent"]
    assert "rct intermittent at 3" in play(script).told


@pytest.mark.parametrize("program", [entropyd, entropyctl], ids=["entropyd", "entropyctl"])
def test_both_programs_have_it(program):
    ran = subprocess.run(
        [sys.executable, "-m", program.__name__, "selftest", "--induce", "lag"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == ran.returncode, ran.stderr
    assert "selftest: ok" in ran.stdout
