"""A pytest plugin for runs in a copy of the tree.

Nothing under test may come from outside the directory that pytest runs in: an editable install
leads to the developer's own tree, and the run would judge code that nobody changed.

Property tests stop at the first example that fails. Nobody reads a smaller one, and searching for
it takes a minute.
"""

import sys
from pathlib import Path

import pytest
from hypothesis import Phase, settings

OURS = {"entropyd", "entropyd_drivers", "tests"}
# No exit code of pytest's own.
STRANGERS_FOUND = 70


def pytest_configure() -> None:
    """Set how property tests run, before any of them is imported."""
    settings.register_profile(
        "copy",
        database=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate),
        report_multiple_bugs=False,
    )
    settings.load_profile("copy")


def strangers(root: Path) -> list[str]:
    """Return the files of our modules that were not imported from below `root`."""
    files = [
        str(module.__file__)
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] in OURS and getattr(module, "__file__", None)
    ]
    return [file for file in files if not Path(file).resolve().is_relative_to(root.resolve())]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the whole run if it judged another tree."""
    found = strangers(session.config.rootpath)
    if found:
        print("imported from outside the copy:", *found, sep="\n  ")
        session.exitstatus = STRANGERS_FOUND
