"""The commands for people, as `entropyctl` has them."""

import typer

from entropyd.cli.people import draws, raffles, replay

PANEL = "For people"
COMMANDS = (
    draws.roll,
    draws.pick,
    draws.order,
    draws.cards,
    draws.bag,
    draws.flip,
    raffles.raffle,
    replay.replay,
)


def add_commands(app: typer.Typer) -> None:
    """Add them to `app`."""
    for command in COMMANDS:
        app.command(rich_help_panel=PANEL)(command)
