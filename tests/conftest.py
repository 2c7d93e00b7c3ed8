"""Suite-wide rules: a test skipped without a listed reason fails the run."""

import tomllib
from pathlib import Path

import pytest

ALLOWED = tomllib.loads((Path(__file__).parent / "skips.toml").read_text()).get("skip", [])


def _is_listed(report: pytest.TestReport | pytest.CollectReport) -> bool:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return any(report.nodeid.startswith(s["test"]) and s["reason"] in reason for s in ALLOWED)


class SkipGuard:
    """Counts skips that nobody wrote down."""

    def __init__(self) -> None:
        self.unlisted: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail") and not _is_listed(report):
            self.unlisted.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped and not _is_listed(report):
            self.unlisted.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unlisted and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid in self.unlisted:
            terminalreporter.write_line(f"skipped without a reason in tests/skips.toml: {nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipGuard(), "skip-guard")
