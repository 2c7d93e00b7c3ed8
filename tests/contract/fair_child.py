"""A process that plays rounds of seed pairs on a SQLite ledger, for a test that kills it.

    python -m tests.contract.fair_child DIRECTORY

It goes on where the process before it ended, plays rounds of three players and names each as soon
as it is answered.
"""

import asyncio
import os
import sys
from pathlib import Path

from entropyd.errors import PairNotFoundError
from entropyd.games.pair_steps import LineOwner
from entropyd.v1 import fair_service_pb2 as pb
from tests.contract.ledger_child import open_ledger
from tests.unit.test_fair_core import Desk

PLAYERS = ("ann", "bob", "cid")


def round_of(number: int) -> str:
    return f"r-{number}"


async def play_for_ever(desk: Desk, player: str) -> None:
    """Play, and name each round with its nonce and outcome."""
    number = 0
    try:
        number = desk.records.line(LineOwner("site", player)).next_nonce
    except PairNotFoundError:
        await desk.begin(player)
    while True:
        answer = await desk.play(round_of(number), pb.GAME_MINES, player, mines=1)
        key = pb.RoundKey(player=player, round=round_of(number))
        await desk.ask("close_round", pb.CloseRoundRequest(key=key))
        told = answer.round.SerializeToString(deterministic=True).hex()
        os.write(1, f"{player} {number} {told}\n".encode())
        number += 1


async def main(desk: Desk) -> None:
    await asyncio.gather(*(play_for_ever(desk, player) for player in PLAYERS))


if __name__ == "__main__":
    ledger = open_ledger(Path(sys.argv[1]))
    asyncio.run(main(Desk(ledger=ledger, max_rounds=100_000)))
