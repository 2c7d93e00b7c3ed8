"""The world of the scenes, played once for all tests that look at it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.monitoring.scenes import World, played


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Five daemons after half a minute of bad days, and the Prometheus that watched them."""
    with tempfile.TemporaryDirectory(prefix="ed-") as path, played(Path(path)) as world:
        yield world
