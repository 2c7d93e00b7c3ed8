"""`entropyd capture` and `alarms`: raw samples for whoever assesses or examines a device."""

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
    app.command()(alarms)


def capture(
    source: Annotated[str, typer.Option(help="Its `id` in the configuration.")],
    samples: Annotated[int, typer.Option(help="How many at least; whole reads are written.")],
    out: Annotated[Path, typer.Option(help="File to make; it must not exist yet.")],
    bare: Annotated[
        bool, typer.Option("--bare", help="The samples alone, for assessment tools.")
    ] = False,
    config: Annotated[Path, typer.Option("--config", "-c", help="TOML file.")] = DEFAULT_CONFIG,
) -> None:
    """Write raw samples of a device to a file, for assessments. The daemon must be stopped.

    They are what the driver got from the device, before anything else, and are spent by it:
    nothing is ever dealt from them. Driver `replay` plays the file, unless it is bare.
    """
    print(daemon.capture_samples(load(config), source, samples, out, utc=_utc, bare=bare))


def alarms(
    out: Annotated[
        Path | None, typer.Option(help="Directory that gets the samples, a file for each alarm.")
    ] = None,
    config: Annotated[Path, typer.Option("--config", "-c", help="TOML file.")] = DEFAULT_CONFIG,
) -> None:
    """Show the last health alarms with the samples that fired. The daemon must be stopped.

    The ledger keeps the windows of the newest 64, encrypted. None of their samples was dealt from.
    """
    lines = daemon.show_alarms(load(config), out)
    print("\n".join(lines) or "no alarm has left a window")


def _utc() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
