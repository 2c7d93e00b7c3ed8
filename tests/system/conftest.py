"""Fixtures of the system tests."""

import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.system.harness import Daemon, running
from tests.system.wire import Wire

# The end of a daemon's log: some thirty of its lines.
LOG_SHOWN = 8000


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows what its daemons said: their homes are gone before anybody looks."""
    report = yield
    if report.failed:
        daemons = [one for one in item.funcargs.values() if isinstance(one, Daemon)]  # type: ignore[attr-defined]
        for daemon in daemons:
            if (daemon.home / "log").exists():
                report.sections.append((f"log of {daemon.home}", daemon.log[-LOG_SHOWN:]))
    return report


@pytest.fixture
def home() -> Iterator[Path]:
    """A short directory: the path of a unix socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="ed-") as path:
        yield Path(path)


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    """A daemon that is not started yet, and is gone when the test ends."""
    daemon = Daemon(home)
    yield daemon
    if daemon.process is not None and daemon.process.poll() is None:
        daemon.kill()


@pytest.fixture(scope="module")
def dealing() -> Iterator[Daemon]:
    """A daemon that deals, shared by tests that leave it dealing."""
    with tempfile.TemporaryDirectory(prefix="ed-") as path, running(Path(path)) as daemon:
        yield daemon


@pytest.fixture
def wire(dealing: Daemon) -> Iterator[Wire]:
    """The poker server's connection to the shared daemon."""
    with Wire(dealing) as wire:
        yield wire
