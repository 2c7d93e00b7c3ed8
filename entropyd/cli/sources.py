"""`entropyd capture`: what an operator does with one source while the daemon is stopped."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from entropyd import daemon
from entropyd.config import load

DEFAULT_CONFIG = Path("/etc/entropyd/entropyd.toml")


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module to `entropyd`."""
    app.command()(capture)


def capture(
    source: Annotated[str, typer.Option(help="Its `id` in the configuration.")],
    samples: Annotated[int, typer.Option(help="How many at least; whole reads are written.")],
    out: Annotated[Path, typer.Option(help="File to make; it must not exist yet.")],
    config: Annotated[Path, typer.Option("--config", "-c", help="TOML file.")] = DEFAULT_CONFIG,
) -> None:
    """Write raw samples of a device to a file, for assessments. The daemon must be stopped.

    They are what the driver got from the device, before anything else, and are spent by it:
    nothing is ever dealt from them. Driver `replay` plays the file.
    """
    print(daemon.capture_samples(load(config), source, samples, out, utc=_utc))


def _utc() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
