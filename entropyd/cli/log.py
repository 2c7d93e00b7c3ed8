"""`entropyctl log`: receipts, checkpoints, and ranges of the log for whoever verifies them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from entropyd.cli.options import (
    DEFAULT_CLAIM_KEY,
    DEFAULT_TARGET,
    ClaimKeyFile,
    Target,
    Timeout,
    connect,
)
from entropyd.cli.people.told import save
from entropyd.client.log_file import log_file
from entropyd.client.log_growth import grown_from
from entropyd.log.signed_note import MAX_NOTE_BYTES

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False
)


@app.command()
def checkpoint(
    target: Target = DEFAULT_TARGET,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 5.0,
) -> None:
    """Print the newest signed checkpoint."""
    with connect(target, claim_key_file) as client:
        sys.stdout.write(client.log(timeout_s=timeout).head().checkpoint)


@app.command()
def receipt(
    index: Annotated[int, typer.Argument(min=0, help="As an answer named it.")],
    target: Target = DEFAULT_TARGET,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 5.0,
) -> None:
    """Print a receipt as a signed note, as `entropyctl verify` takes it."""
    with connect(target, claim_key_file) as client:
        sys.stdout.write(client.log(timeout_s=timeout).receipt(index).note)


@app.command()
def export(
    first: Annotated[int, typer.Argument(min=0, help="Index of the first entry.")],
    last: Annotated[int, typer.Argument(min=0, help="Index of the last entry.")],
    file: Annotated[Path, typer.Argument(help="A file that is not there yet.")],
    older: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            readable=True,
            help="A checkpoint that you kept: proves that the log only grew since.",
        ),
    ] = None,
    target: Target = DEFAULT_TARGET,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 5.0,
) -> None:
    """Write a range of the log, with its proofs, to a file that `entropyctl verify` checks."""
    with connect(target, claim_key_file) as client:
        log = client.log(timeout_s=timeout)
        told = log_file(log, first, last)
        if older is not None:
            told |= {"older": grown_from(log, _kept(older), str(told["checkpoint"]))}
        save(file, told)
    print(f"{file}: entries {first} to {last}")


def _kept(checkpoint: Path) -> bytes:
    """Return a checkpoint, or as much of a file as shows that it is none."""
    with checkpoint.open("rb") as opened:
        return opened.read(MAX_NOTE_BYTES + 1)
