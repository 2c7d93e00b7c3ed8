"""What the commands of `entropyctl` have in common: options, exit codes, a connection."""

from pathlib import Path
from typing import Annotated

import typer

from entropyd.cli import credentials
from entropyd.client import Client

DEFAULT_TARGET = "unix:/run/entropyd/poker.sock"
DEFAULT_CLAIM_KEY = Path("~/.config/entropyd/claim.key").expanduser()

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_NOT_REACHED = 3

Target = Annotated[
    str,
    typer.Option("--target", "-t", envvar="ENTROPYCTL_TARGET", help="unix:/path or host:port."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
ClaimKeyFile = Annotated[
    Path,
    typer.Option(
        "--claim-key",
        envvar="ENTROPYCTL_CLAIM_KEY",
        help="Your claim key, made if there is none. Without it no deck can be read again.",
    ),
]
Timeout = Annotated[float, typer.Option(help="Seconds to wait, in all.")]


def connect(target: str, claim_key_file: Path) -> Client:
    """Return a client that shows what the command line says of its caller."""
    make_room_for(claim_key_file)
    return Client(target, claim_key_file=claim_key_file, **credentials.shown())


def make_room_for(claim_key_file: Path) -> None:
    """Make the directory of the claim key if there is none."""
    claim_key_file.parent.mkdir(parents=True, exist_ok=True)
