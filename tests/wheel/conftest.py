"""One wheel for all tests of this folder, built from a copy of the checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Everything but what git does not keep and what no build looks at: tests and bench are copied, so
# that it shows if they get in.
LEFT_OUT = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "dist", "node_modules", "results", "*.egg-info"
)


def copy_checkout(to: Path) -> Path:
    """Copy what a build can see; return where."""
    shutil.copytree(ROOT, to, ignore=LEFT_OUT)
    shutil.copy(ROOT / ".gitignore", to)
    return to


def build(source: Path, to: Path, *, umask: int = 0o022, **environment: str) -> Path:
    """Build the wheel of a copy with the pinned backend; return its path."""
    inherited = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(to)],
        cwd=source,
        env={**inherited, **environment},
        umask=umask,
        check=True,
        capture_output=True,
    )
    (wheel,) = to.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def source(tmp_path_factory) -> Path:
    """A copy of the checkout: nobody edits it meanwhile."""
    return copy_checkout(tmp_path_factory.mktemp("checkout") / "first")


@pytest.fixture(scope="session")
def wheel(source: Path, tmp_path_factory) -> Path:
    """The wheel of that copy."""
    return build(source, tmp_path_factory.mktemp("dist"))
