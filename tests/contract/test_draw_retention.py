"""Matches after the secrets of their draws were destroyed: what was in the clear is listed."""

import asyncio

import pytest

from entropyd.errors import SecretsDestroyedError
from entropyd.ledger.step_destruction import destroy_steps_through
from entropyd.v1 import draw_service_pb2 as pb
from tests.contract.ledger_child import open_ledger
from tests.fakes.dealing import MINE
from tests.unit.test_draw_core import AUDITOR, PLAYER, Desk


async def listed(desk, token="", size=0, who=PLAYER, claim=MINE):
    request = pb.ListDrawsRequest(match="m", claim=claim, page_size=size, page_token=token)
    return await desk.draws.list_draws(request, desk.call(who))


async def replayed(desk, token=""):
    request = pb.ReplayMatchRequest(match="m", claim=MINE, page_token=token)
    return await desk.draws.replay_match(request, desk.call())


def test_destroyed_draws_are_listed_and_those_after_them_are_replayed(tmp_path):
    """Their hashes stay, and their rules, but for a bag's: its counts told what was taken."""
    ledger = open_ledger(tmp_path / "state")
    desk = Desk(ledger=ledger)

    async def run():
        await desk.roll("dice")
        await desk.tiles("tiles")
        await desk.roll("later")
        before = list((await listed(desk)).draws)
        ledger.maintain(lambda c, _: list(destroy_steps_through(c, 2, at_ns=7)))
        first = await listed(desk, size=2)
        rest = await listed(desk, first.next_page_token)
        with pytest.raises(SecretsDestroyedError, match="match 'm', step 1"):
            await replayed(desk)
        page = await replayed(desk, first.next_page_token)
        ledger.maintain(lambda c, _: list(destroy_steps_through(c, 3, at_ns=8)))
        return before, first, rest, page, await listed(desk, who=AUDITOR, claim=b"")

    before, first, rest, page, ended = asyncio.run(run())
    ledger.close()
    assert all(draw.rules for draw in before)
    before[1].rules = ""
    assert before == [*first.draws, *rest.draws] == list(ended.draws)
    assert ["later"] == [one.draw.key.draw for one in page.draws]
    assert "" == rest.next_page_token == page.next_page_token
