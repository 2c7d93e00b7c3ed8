# ruff: noqa: INP001 - programs to copy from, not a package
"""A seat as a process of its own: `python play.py CONFIG.json`.

Reads the poker server's messages from standard input, one JSON object a line,
and answers each with a line: `{"answer": ...}`, or `{"refused": ...}` and exit
code 1. CONFIG.json is described in ../README.md; where it is wrong the exit code is 2.
"""

import json
import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from player import DoNotAct, Player, Table

from entropyd.errors import KeyInvalidError


def main(config_file: str) -> int:
    """Play a hand, and write its file after each step."""
    try:
        player, hand_file = _sit(json.loads(Path(config_file).read_bytes()))
    except (OSError, TypeError, ValueError, LookupError, KeyInvalidError) as error:
        print(f"{config_file}: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    for line in sys.stdin.buffer:
        try:
            answer = player.take(_message(line))
        except DoNotAct as refused:
            _say({"refused": str(refused), "step": refused.step, "check": refused.check})
            return 1
        hand_file.write_text(json.dumps(player.hand_file(), indent=1) + "\n")
        _say({"answer": answer, "cards": player.cards})
    return 0


def _sit(config: dict[str, Any]) -> tuple[Player, Path]:
    seed = bytes.fromhex(config["key_seed"])
    key = Ed25519PrivateKey.from_private_bytes(seed) if seed else None
    player = Player(Table(**config["table"]), Path(config["secrets"]), key)
    return player, Path(config["hand_file"])


def _message(line: bytes) -> Any:
    """Return what a line says; None, which no step takes, where it is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _say(answer: object) -> None:
    print(json.dumps(answer), flush=True)  # noqa: T201 - it is a filter


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "CONFIG.json"))
