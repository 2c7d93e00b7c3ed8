"""A player at the demo's table: a program of examples/player/ in a process of its own.

It is told of nothing but its own seat, and checks everything before it answers.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from entropyd.cli.demo.checkout import Checkout
from entropyd.cli.demo.stage import PATIENCE_S, fail

Message = dict[str, Any]


class Seat:
    """A running program, and what the demo knows of it.

    Attributes:
        name: its seat.
        language: what it is written in, for people.
        public_key: of its own key, 32 bytes.
        hand_file: what it writes after each step.
    """

    def __init__(self, name: str, language: str, command: Sequence[str], home: Path) -> None:
        """Make its directory and key. `start` runs it.

        Args:
            name: its seat.
            language: of the program.
            command: the program, which takes its configuration as the last argument.
            home: where its directory is made.
        """
        self.name, self.language, self._command = name, language, command
        self._home = home / name
        self._home.mkdir(mode=0o700)
        key = Ed25519PrivateKey.generate()
        self._key_seed = key.private_bytes_raw()
        self.public_key = key.public_key().public_bytes_raw()
        self.hand_file = self._home / "hand.json"
        self._process: subprocess.Popen[str] | None = None

    def start(self, table: Message) -> None:
        """Run it, with what its player knows of the table, `seat` aside."""
        config = self._home / "config.json"
        settings = {
            "table": {**table, "seat": self.name},
            "key_seed": self._key_seed.hex(),
            "secrets": str(self._home),
            "hand_file": str(self.hand_file),
        }
        config.touch(mode=0o600)
        config.write_text(json.dumps(settings))
        self._process = subprocess.Popen(
            [*self._command, str(config)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, message: Message) -> Message:
        """Give it a message, and return its answer with the cards that it knows."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            fail(f"{self.name} was told something before its program ran")
        # A pipe cannot be read for a while only: who keeps it waiting is killed, and it ends.
        watch = threading.Timer(PATIENCE_S, process.kill)
        watch.start()
        try:
            print(json.dumps(message), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        answer: Message = json.loads(line) if line else {"refused": "its program ended"}
        if "refused" in answer:
            fail(f"{self.name} ({self.language}) at {message['type']}: {answer['refused']}")
        return answer

    def leave(self) -> None:
        """End the program, by force if it does not end by itself."""
        if self._process is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=PATIENCE_S)
        self._process.kill()
        self._process.wait()


@contextmanager
def seated(home: Path, checkout: Checkout) -> Iterator[tuple[Seat, Seat]]:
    """Two players for the length of a block, each with its program, as its readers run it."""
    python, js = checkout.player / "python" / "play.py", checkout.player / "js" / "play.mjs"
    node = (str(checkout.node), "--no-warnings")
    players = (
        Seat("seat-1", "Python", (sys.executable, str(python)), home),
        Seat("seat-2", "JavaScript", (*node, str(js)), home),
    )
    try:
        yield players
    finally:
        for player in players:
            player.leave()
