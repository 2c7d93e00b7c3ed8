"""`--version`, of both programs."""

from typing import Annotated

import typer

from entropyd import __version__


def _say_version(asked: bool) -> None:
    if asked:
        print(f"entropyd {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version",
        callback=_say_version,
        is_eager=True,
        help="Print this program's version.",
    ),
]
