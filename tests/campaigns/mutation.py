"""Edits a copy of this tree and runs named tests in it.

A mutant counts as dead only if its named test failed by an assertion of its own. An import error, a
fixture that broke, a time-out or a stray exception say nothing about what the test looks for.

An edit names the text that it replaces, which must stand in its file exactly once: a mutant whose
place was rewritten is an error until somebody looks, and cannot rot unseen.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.campaigns import copy_plugin

ROOT = Path(__file__).parents[2]
COPIED = ("entropyd", "drivers", "tests", "docs", "pyproject.toml")

# A named test takes seconds. A mutant may make it wait for ever.
TEST_TIMEOUT_S = 120
RUN_TIMEOUT_S = 180

PYTEST_OPTIONS = (
    "--quiet",
    "--no-header",
    "--exitfirst",
    f"--timeout={TEST_TIMEOUT_S}",
    *("-p", "no:randomly"),
    *("-p", "no:xdist"),
    *("-p", "no:cacheprovider"),
    *("-p", copy_plugin.__name__),
)

# How pytest words the end of a test by what it asserts, and by `pytest.raises`.
ASSERTIONS = ("assert ", "AssertionError", "Failed: DID NOT RAISE")


@dataclass(frozen=True)
class Edit:
    """One replacement in one file of the production code."""

    file: str
    old: str
    new: str

    def applied_to(self, text: str) -> str:
        """Return the file's text with the edit made."""
        times = text.count(self.old)
        assert times == 1, (
            f"{self.file}: the text that the mutant replaces stands there {times} times, expected"
            f" once; the code moved on, so point the mutant at its new place:\n{self.old}"
        )
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Mutant:
    """A defect, and the test that must see it.

    Attributes:
        name: the defect in a few words.
        edits: what makes it; more than one where something else would catch the first.
        test: node id of the test that must fail.
    """

    name: str
    edits: tuple[Edit, ...]
    test: str

    @property
    def files(self) -> str:
        """The files it changes, each once."""
        return ", ".join(dict.fromkeys(edit.file for edit in self.edits))


@dataclass(frozen=True)
class Case:
    """One test of a run: `outcome` is passed, failure, error or skipped."""

    name: str
    outcome: str
    message: str

    @property
    def asserted(self) -> bool:
        """Whether it failed, and by an assertion."""
        return self.outcome == "failure" and self.message.startswith(ASSERTIONS)


@dataclass(frozen=True)
class Run:
    """What pytest said of some tests, and how many seconds it took."""

    cases: tuple[Case, ...]
    seconds: float
    output: str

    def all_passed(self) -> bool:
        """Whether there were tests and each of them passed."""
        return bool(self.cases) and all(case.outcome == "passed" for case in self.cases)

    def cause_of_death(self) -> str:
        """Return the first line of the assertion that failed; fail if there is none."""
        assert self.cases, f"no test ran: {self.output}"
        ends = [case for case in self.cases if case.outcome != "passed"]
        assert ends, f"survived: {len(self.cases)} passed"
        for case in ends:
            assert case.asserted, f"{case.name}: {case.outcome}, no assertion: {case.message}"
        return ends[0].message.partition("\n")[0]


class Tree:
    """A private copy of the tree. Owned by whoever made it; one run at a time."""

    def __init__(self, scratch: Path) -> None:
        """Copy the tree to below `scratch`."""
        self._scratch = scratch
        self.root = scratch / "tree"
        for name in COPIED:
            source, target = ROOT / name, self.root / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Change the copy, and change it back."""
        originals: dict[Path, str] = {}
        try:
            for edit in mutant.edits:
                path = self.root / edit.file
                text = path.read_text("utf-8")
                originals.setdefault(path, text)
                path.write_text(edit.applied_to(text), "utf-8")
            yield
        finally:
            for path, text in originals.items():
                path.write_text(text, "utf-8")

    def run(self, tests: Sequence[str], *, paths: Sequence[str] = (".", "drivers")) -> Run:
        """Run tests of the copy, up to the first that fails, against the code of the copy.

        Args:
            tests: node ids.
            paths: where in the copy Python looks before it finds an installed entropyd.
        """
        report = self._scratch / "report.xml"
        report.unlink(missing_ok=True)
        options = (*PYTEST_OPTIONS, f"--junitxml={report}", f"--basetemp={self._scratch}/tmp")
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self.root,
            env=self._environment(paths),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
        seconds = time.monotonic() - began
        assert done.returncode in {0, 1}, f"pytest ended with {done.returncode}: {done.stdout}"
        return Run(_cases(report), seconds, done.stdout)

    def kill(self, mutant: Mutant) -> Run:
        """Run a mutant's named test against it."""
        with self.mutated(mutant):
            return self.run([mutant.test])

    def _environment(self, paths: Sequence[str]) -> dict[str, str]:
        ours = {
            "PYTHONPATH": os.pathsep.join(str(self.root / path) for path in paths),
            # A file that is changed and changed back within a second, to one of equal length,
            # would be taken for what its stale bytecode says.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        outer = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        return outer | ours


@contextmanager
def copied_tree() -> Iterator[Tree]:
    """Yield a copy of the tree that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        yield Tree(Path(scratch))


def _cases(report: Path) -> tuple[Case, ...]:
    return tuple(_case(element) for element in ET.parse(report).iter("testcase"))


def _case(element: ET.Element) -> Case:
    name = f"{element.get('classname')}::{element.get('name')}"
    for outcome in ("error", "failure", "skipped"):
        found = element.find(outcome)
        if found is not None:
            return Case(name, outcome, found.get("message", ""))
    return Case(name, "passed", "")
