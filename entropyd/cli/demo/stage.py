"""What the acts of the demo have in common: what they print, how they wait, how they fail."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from entropyd.client import Client, Refusal

# For each thing that is waited for. A machine under load takes ten times what an idle one does.
PATIENCE_S = 60.0

console = Console(highlight=False, soft_wrap=True)


def title(text: str) -> None:
    """Begin an act."""
    console.print(f"\n[bold]-- {text}[/]")


def say(text: str) -> None:
    """Print a line as it is."""
    console.print(text, markup=False)


def fail(text: str) -> NoReturn:
    """End the demo: say what went wrong, exit code 1."""
    say(f"demo: failed: {text}")
    sys.exit(1)


def require(condition: bool, text: str) -> None:
    """End the demo where something that must hold does not."""
    if not condition:
        fail(text)


def can_deal(dealer: Client) -> bool:
    """Whether the daemon answers, and would deal."""
    try:
        return dealer.status(timeout_s=1.0).can_deal
    except Refusal:
        return False


def until(
    what: str, condition: Callable[[], bool], daemon: "subprocess.Popen[bytes] | None" = None
) -> None:
    """Wait for something, and end the demo where it does not come."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if daemon is not None and daemon.poll() is not None:
            fail(f"the daemon ended with exit code {daemon.returncode}")
        require(time.monotonic() < deadline, f"{what}: not within {PATIENCE_S:.0f} s")
        time.sleep(0.02)


def run(
    command: Sequence[str], where: Path | None = None, *, patience_s: float = PATIENCE_S
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, and return what it printed; one that hangs is killed."""
    process = subprocess.Popen(
        command,
        cwd=where,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        out, err = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        fail(f"{' '.join(command[:4])} ...: not within {patience_s:.0f} s")
    finally:
        if process.poll() is None:
            # With what it started: a browser is a dozen processes.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return subprocess.CompletedProcess(command, process.returncode, out, err)
