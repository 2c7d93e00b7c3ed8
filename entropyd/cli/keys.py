"""`entropyctl keys`: the keys that sign receipts and the log.

`show` asks the daemon; the others work on files, with the daemon running or not.
"""

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
from entropyd.ledger.log_key_files import generate_keys, rotate_key

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False
)


@app.command()
def show(
    target: Target = DEFAULT_TARGET,
    claim_key_file: ClaimKeyFile = DEFAULT_CLAIM_KEY,
    timeout: Timeout = 5.0,
) -> None:
    """Print the verifier keys of the log, for players and verifiers to keep. They are no secret.

    Those of checkpoints, then those of receipts; where there are several of a name, the last signs.
    Publish them where a player finds them without you: whoever has them from the daemon alone
    knows only that it agrees with itself.
    """
    with connect(target, claim_key_file) as client:
        print("\n".join(client.log(timeout_s=timeout).head().verifier_keys))


@app.command()
def generate(
    directory: Annotated[Path, typer.Argument(help="Gets receipts.key and checkpoints.key.")],
) -> None:
    """Make both keys of a new log, each in a file of mode 0600. No file is written over."""
    print("\n".join(f"{path}: made" for path in generate_keys(directory)))


@app.command()
def rotate(
    file: Annotated[Path, typer.Argument(help="receipts.key or checkpoints.key.")],
) -> None:
    """Put a new key behind those in a file; it signs from the daemon's next start on.

    The change is an entry of the log, signed by both keys. The old ones stay in the file: what was
    entered under them is signed by them, whenever somebody asks for it.
    """
    count = rotate_key(file)
    print(f"{file}: holds {count} keys; restart the daemon, then publish `entropyctl keys show`")
