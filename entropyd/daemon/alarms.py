"""`entropyd alarms`: what devices sent when their health tests fired, from the ledger."""

import json
import os
from pathlib import Path

from entropyd.config import Config
from entropyd.daemon.ledger import open_ledger
from entropyd.errors import ConfigError
from entropyd.ledger.contract import AlarmWindow


def show_alarms(config: Config, directory: Path | None) -> list[str]:
    """Return a line for each alarm whose window is kept, oldest first, and write the windows out.

    Args:
        config: names the ledger.
        directory: gets a file for each window, raw, one byte a sample; None for none.

    Raises:
        LedgerConflictError: the daemon runs.
        LedgerDamagedError: a window does not decrypt.
        ConfigError: a file cannot be written, or is there already.
    """
    with open_ledger(config) as ledger:
        windows = ledger.alarm_windows()
    return [_show(number, window, directory) for number, window in enumerate(windows, 1)]


def _show(number: int, window: AlarmWindow, directory: Path | None) -> str:
    detail = json.loads(window.event.detail)
    test, severity = detail["test"], detail["severity"]
    told = (
        f"{window.event.subject}: {test} {severity} at sample {detail['sample_index']},"
        f" {len(window.samples)} samples of its window"
    )
    if directory is None:
        return told
    path = directory / f"{number:02d}-{test}-{severity}.bin"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(window.samples)
    except OSError as error:
        raise ConfigError(
            f"alarm window {path}: cannot be written ({error.strerror}); name an empty directory"
        ) from error
    return f"{told}: {path}"
