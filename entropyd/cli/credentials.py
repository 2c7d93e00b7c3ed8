"""What `entropyctl` shows a daemon on another machine, or one that asks for a token."""

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from entropyd.cli.version import Version
from entropyd.client import Tls


class Shown(TypedDict):
    """The arguments of a client that say who calls."""

    tls: Tls | None
    token: str | None


_SHOWN: ContextVar[Shown] = ContextVar("shown")


def remember(
    ca: Annotated[
        Path | None,
        typer.Option(envvar="ENTROPYCTL_CA", help="Authorities of the daemon, PEM: speak TLS."),
    ] = None,
    cert: Annotated[
        Path | None, typer.Option(envvar="ENTROPYCTL_CERT", help="Your certificate, PEM.")
    ] = None,
    key: Annotated[Path | None, typer.Option(envvar="ENTROPYCTL_KEY", help="Its key, PEM.")] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(envvar="ENTROPYCTL_TOKEN_FILE", help="A file that holds your token alone."),
    ] = None,
    version: Version = False,  # noqa: ARG001  answered before this runs
) -> None:
    """Read what all commands show; run before each of them."""
    if ca is None and (cert is not None or key is not None):
        raise typer.BadParameter("--cert and --key need --ca")
    # A token on the command line could be read by everybody who lists processes.
    token = None if token_file is None else token_file.read_text("ascii").strip()
    tls = None if ca is None else Tls.load(ca=ca, cert=cert, key=key)
    _SHOWN.set(Shown(tls=tls, token=token))


def shown() -> Shown:
    """Return what `remember` read for the command that runs."""
    return _SHOWN.get()
