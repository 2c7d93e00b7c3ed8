"""`entropyd ledger`: what an operator does to the record.

The daemon must be stopped, except for `backup`. Exit codes as those of `entropyd`; 65 says that
nothing was done because history would be lost.
"""

from pathlib import Path
from typing import Annotated

import typer

from entropyd.config import load
from entropyd.daemon import ledger_care, ledger_years

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False
)

ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="TOML file.")]
DEFAULT_CONFIG = Path("/etc/entropyd/entropyd.toml")


@app.command()
def backup(
    destination: Annotated[Path, typer.Argument(help="A file that does not exist yet.")],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Copy the ledger as it is at this moment, while the daemon goes on.

    The copy is synchronised and read back before it gets its name. Not in it: the master key,
    without which no hand of it can be answered, and archives, which are copied once when they are
    made. It needs as much room as the ledger takes.
    """
    print(ledger_care.back_up(load(config), destination))


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="A file that `backup` made.")],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Put a backup in place of a ledger that is lost or damaged.

    Over a newer ledger it is refused: the hands between would be dealt a second time. What was
    there is renamed, not removed. The master key has to be the one of the backup.
    """
    print(ledger_care.restore(load(config), source))


@app.command()
def check(
    sample: Annotated[
        int | None, typer.Option(help="Decrypt so many records, evenly over all; else every one.")
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Read the ledger and its archives from the first hand to the last, and judge all of it.

    Numbers without gaps, the running hash, every open hash, every spent id, every archive's
    digest, and that secrets decrypt: some 20,000 hands a second, 50,000 with a small sample. Then
    the steps of matches, raffles and seed pairs likewise.
    """
    print(ledger_years.check(load(config), sample))


@app.command()
def archive(
    before: Annotated[
        str | None,
        typer.Option(help="A month such as 2026-05; by default the latest that hot_for allows."),
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Move the hands of closed months from the ledger into read-only files beside it.

    They are answered from there as before, and their ids stay spent. Matches, raffles and seed
    pairs stay in the ledger. A run that is interrupted is simply repeated.
    """
    print(ledger_years.archive(load(config), before))


@app.command("destroy-secrets")
def destroy_secrets(
    before: Annotated[str, typer.Option(help="A day such as 2026-05-31.")],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Destroy cards, seeds and all that decides them, of archived hands drawn before a day.

    Likewise the secrets of matches, raffles and seed pairs, step by step. For ever: nobody can
    answer or replay these again. What is public of them remains, their ids stay spent, and the
    destruction is an event of the ledger. What is younger than secrets_for is spared.
    """
    print(ledger_years.destroy_secrets(load(config), before))


@app.command()
def adopt(
    reason: Annotated[str, typer.Option(help="Why the rest is given up; kept in the ledger.")],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Go on with a ledger that ends before its anchor, under a new origin.

    Only when nothing newer can be restored: hands that are missing can be dealt a second time, and
    whoever kept a receipt of one will see that. The first event of the new origin names the gap.
    """
    print(ledger_care.adopt(load(config), reason))


@app.command()
def downgrade(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Bring the file back by one schema version, for the entropyd before this one.

    Refused if it holds matches, raffles or seed pairs, which that one does not know. Else nothing
    is lost and nothing copied: the older program does not look at what is newer. Make a backup
    before any upgrade all the same.
    """
    print(ledger_care.downgrade(load(config)))
