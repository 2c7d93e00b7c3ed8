"""`entropyd selftest`, `entropyctl selftest`: shows that what must compute and fire does.

Known answers, from hash to hand, and every induced failure, played into the
health machine that tests devices. It runs in this process: no daemon is
asked, none is disturbed, and no device is opened.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from entropyd.entropy.health import HealthTest
from entropyd.entropy.induced.script import Replay, Script, parse_script
from entropyd.errors import SelfTestError
from entropyd.hands.known_answers import draw_known_answers
from entropyd.rbg.kat import run_known_answer_tests

# What sysexits.h calls a software error.
EXIT_FAILED = 70

RATE = "rate"
TESTS = (*(str(test) for test in HealthTest), RATE)


@dataclass(frozen=True)
class Finding:
    """One line of the table.

    Attributes:
        name: what was tried.
        told: what it did, for people.
        passed: whether that is what it must do.
    """

    name: str
    told: str
    passed: bool


def add_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command()(selftest)


def selftest(
    induce: Annotated[
        str | None,
        typer.Option(help=f"Only show that this test fires: {', '.join(TESTS)}."),
    ] = None,
) -> None:
    """Compute every known answer and make every health test fire, here and now.

    Ends with 0 if all is as it must be, and with 70 if not.
    """
    if induce is not None and induce not in TESTS:
        raise typer.BadParameter(f"is {induce}; expected one of {', '.join(TESTS)}")
    scripts = induced_failures()
    if induce is None:
        findings = [known_answers(), *map(play, scripts)]
    else:
        chosen = [script for script in scripts if induce in {alarm[0] for alarm in script.alarms()}]
        for script in chosen:
            print(f"{script.name}\n{script.paragraph}\n")
        findings = list(map(play, chosen))
    _print(findings)
    failed = [finding.name for finding in findings if not finding.passed]
    if failed:
        print(f"selftest: failed: {', '.join(failed)}; do not deal with this installation")
        raise typer.Exit(EXIT_FAILED)
    print(f"selftest: ok, {len(findings)} of {len(findings)}")


def known_answers(
    run: Callable[[], None] = lambda: run_known_answer_tests(draw_known_answers()),
) -> Finding:
    """Compute what the daemon computes before it listens."""
    try:
        run()
    except SelfTestError as error:
        return Finding("known answers", str(error), passed=False)
    return Finding("known answers", "every one computed, from hash to hand", passed=True)


def induced_failures() -> list[Script]:
    """Return every script that this installation has, by name."""
    paths = files("entropyd.entropy.induced").iterdir()
    named = sorted((path.name, path) for path in paths if path.name.endswith(".txt"))
    return [parse_script(name.removesuffix(".txt"), path.read_text()) for name, path in named]


def play(script: Script) -> Finding:
    """Play a script, and return what fired."""
    try:
        replay = Replay(script)
    except SelfTestError as error:
        return Finding(script.name, str(error), passed=False)
    fired: Iterable[str] = (
        f"{alarm.test} {alarm.severity} at {alarm.sample_index}" for alarm in replay.alarms
    )
    rates = (f"rate {change.rate} at {change.samples_per_s}/s" for change in replay.rates)
    return Finding(script.name, "; ".join((*fired, *rates)), passed=True)


def _print(findings: Sequence[Finding]) -> None:
    table = Table("", "what", "told", box=None)
    for finding in findings:
        mark = "[green]ok[/]" if finding.passed else "[bold red]FAILED[/]"
        table.add_row(mark, finding.name, finding.told)
    Console().print(table)
