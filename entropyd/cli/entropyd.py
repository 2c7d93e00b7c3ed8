"""`entropyd`: the daemon.

Exit codes: 0 only after it was asked to stop; 78 the configuration is wrong;
75 another daemon holds the state directory; 65 the ledger is not the one that its
anchor saw, or a command would lose history: nothing was changed, and a person has
to decide; 70 anything else, after which the service manager starts it again.
"""

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from entropyd import daemon
from entropyd.cli import ledger, selftest, sources
from entropyd.cli.version import Version
from entropyd.config import load
from entropyd.errors import (
    ConfigError,
    EntropydError,
    LedgerBehindAnchorError,
    LedgerConflictError,
    LedgerRefusedError,
)

# Typer's own tracebacks show local variables: keys and seeds are some.
app = typer.Typer(
    no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False
)

app.add_typer(ledger.app, name="ledger")
sources.add_commands(app)
selftest.add_command(app)

# sysexits.h: EX_DATAERR, EX_SOFTWARE, EX_TEMPFAIL, EX_CONFIG
EXIT_DATA = 65
EXIT_SOFTWARE = 70
EXIT_LOCKED = 75
EXIT_CONFIG = 78

ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="TOML file.")]
DEFAULT_CONFIG = Path("/etc/entropyd/entropyd.toml")


@app.callback(help=__doc__)
def options(version: Version = False) -> None:
    """Take the options of no command."""


@app.command()
def serve(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Run the daemon in the foreground until SIGTERM or SIGINT; SIGHUP reads the file again."""
    daemon.run(load(config), config_file=config)


@app.command("check-config")
def check_config(file: Annotated[Path, typer.Argument(help="TOML file.")]) -> None:
    """Say whether a configuration file is right, and if not, every line that is wrong."""
    checked = load(file)
    daemon.plan_sources(checked)
    print(f"{file}: ok, node {checked.node.name}, {len(checked.sources)} source(s)")


@app.command("reset-source")
def reset_source(
    source: Annotated[str, typer.Argument(help="Its `id` in the configuration.")],
    reason: Annotated[str, typer.Option(help="Why it may be trusted again; kept in the ledger.")],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Take the latch off a source that failed permanently. The daemon must be stopped.

    The source still has to pass its start-up test before anything is dealt
    from it. The reset and its reason stay in the ledger.
    """
    print(daemon.reset_source(load(config), source, reason))


def main() -> None:
    """Run a command; end with an exit code that the service manager understands."""
    try:
        app()
    except ConfigError as error:
        print(f"entropyd: {error}", file=sys.stderr)
        sys.exit(EXIT_CONFIG)
    except LedgerConflictError as error:
        print(f"entropyd: {error}", file=sys.stderr)
        sys.exit(EXIT_LOCKED)
    except (LedgerBehindAnchorError, LedgerRefusedError) as error:
        print(f"entropyd: {error}", file=sys.stderr)
        sys.exit(EXIT_DATA)
    except EntropydError as error:
        print(f"entropyd: {error}", file=sys.stderr)
        sys.exit(EXIT_SOFTWARE)
    except Exception:  # noqa: BLE001  the one catch-all of the process: 1 would be nobody's code
        traceback.print_exc()
        sys.exit(EXIT_SOFTWARE)


if __name__ == "__main__":
    main()
