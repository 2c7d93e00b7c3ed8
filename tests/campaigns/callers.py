"""Concurrent callers that want a few hands each."""

import asyncio
from collections.abc import Sequence

from entropyd.client import AsyncClient, Deal
from tests.system.harness import Daemon

TABLES = 8


def deal(daemon: Daemon, *, callers: int, hands: int, name: str) -> dict[str, Deal]:
    """Let `callers` callers ask for `hands` hands each, one after the other; return all answers.

    Args:
        daemon: who deals.
        callers: how many ask at the same time.
        hands: how many each asks for.
        name: begins the hands' ids.
    """

    async def run() -> Sequence[Deal]:
        async with AsyncClient(daemon.target, claim_key_file=daemon.home / "claim.key") as client:

            async def caller(number: int) -> list[Deal]:
                table = f"table-{number % TABLES}"
                ids = [f"{name}-{number}-{turn}" for turn in range(hands)]
                return [await client.shuffle(table, hand) for hand in ids]

            dealt = await asyncio.gather(*(caller(number) for number in range(callers)))
            return [deal for deals in dealt for deal in deals]

    return {deal.hand: deal for deal in asyncio.run(run())}
