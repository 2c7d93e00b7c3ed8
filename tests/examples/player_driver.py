"""Runs the Python player for the tests: one JSON object a line in, one out, as player_driver.mjs.

`sit` begins a hand, `take` gives it a message, `look` returns cards and hand file.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "player" / "python"))


def answers() -> None:
    from player import DoNotAct, Player, Table  # type: ignore[import-not-found]  # noqa: PLC0415

    player: Any = None
    for line in sys.stdin:
        order = json.loads(line)
        out: dict[str, Any] = {}
        if order["do"] == "sit":
            seed = bytes.fromhex(order["key_seed"])
            key = Ed25519PrivateKey.from_private_bytes(seed) if seed else None
            clock = partial(int, order["now_ms"])
            player = Player(Table(**order["table"]), Path(order["secrets"]), key, clock)
        elif order["do"] == "take":
            try:
                out = {"answer": player.take(order["message"])}
            except DoNotAct as refused:
                out = {"refused": [refused.step, refused.check], "text": str(refused)}
        else:
            cards = {str(place): card for place, card in player.cards.items()}
            out = {"cards": cards, "file": player.hand_file()}
        print(json.dumps(out), flush=True)


if __name__ == "__main__":
    answers()
