"""`entropyd` and `entropyctl`, as they are installed: each says what it lacks to run.

The base install is the client and what checks proofs, for programs. What only
people need, or only the daemon, are extras of it.
"""

import sys
from importlib import import_module
from typing import NoReturn

# sysexits.h: EX_UNAVAILABLE, a support program or file does not exist.
EXIT_UNAVAILABLE = 69
# What a shell calls the end by SIGINT: 128 and its number.
EXIT_INTERRUPTED = 130


def entropyctl() -> None:
    """Run `entropyctl`."""
    _run("entropyctl", extra="cli")


def entropyd() -> None:
    """Run `entropyd`."""
    _run("entropyd", extra="daemon")


def _run(program: str, *, extra: str) -> None:
    try:
        module = import_module(f"entropyd.cli.{program}")
    except ModuleNotFoundError as error:
        _lacks(program, extra, error)
    except KeyboardInterrupt:
        # Loading takes a moment, and nothing was begun: not worth a traceback.
        sys.exit(EXIT_INTERRUPTED)
    module.main()


def _lacks(program: str, extra: str, error: ModuleNotFoundError) -> NoReturn:
    """End the process with the remedy; a module of our own that is missing is a defect."""
    if error.name is None or error.name.partition(".")[0] == "entropyd":
        raise error
    remedy = f"pip install 'entropyd[{extra}]'"
    print(f"{program}: {error.name} is not installed, which it needs: {remedy}", file=sys.stderr)
    sys.exit(EXIT_UNAVAILABLE)
