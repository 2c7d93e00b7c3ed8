"""Fixtures of the campaigns."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def homes() -> Iterator[Path]:
    """A short directory for daemons' homes: the path of a unix socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="ed-") as path:
        yield Path(path)
