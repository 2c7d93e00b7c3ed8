"""Rounds after the secrets of their steps were destroyed: what was revealed still tells them."""

import pytest

from entropyd.errors import SecretsDestroyedError
from entropyd.ledger.step_destruction import destroy_steps_through
from entropyd.v1 import fair_service_pb2 as pb
from tests.contract.ledger_child import open_ledger
from tests.unit.test_fair_core import Desk


def request_of(name):
    return pb.GetRoundRequest(key=pb.RoundKey(player="ann", round=name))


async def listed(desk, pair):
    answer = await desk.ask("list_rounds", pb.ListRoundsRequest(player="ann", pair=pair))
    return list(answer.rounds)


def test_rounds_of_a_revealed_pair_are_told_for_as_long_as_the_ledger_lives(tmp_path):
    """Shoes and mines are kept encrypted while their pair is a secret, and destroyed with that.

    What they were follows from the seed that was shown: the answers are those of before. Of a
    pair that was never revealed, nobody can tell them any more.
    """
    ledger = open_ledger(tmp_path / "state")
    desk = Desk(ledger=ledger)

    async def scenario():
        await desk.begin()
        for name, game in (("deal", pb.GAME_BLACKJACK), ("spin", pb.GAME_ROULETTE)):
            await desk.play(name, game=game)
        await desk.mines("dig")
        await desk.close("deal")
        await desk.close("dig")
        await desk.rotate(1)
        before = await listed(desk, 1)
        await desk.choose()
        await desk.mines("later")
        await desk.close("later")
        spent = len(desk.steps())
        await desk.play("last", game=pb.GAME_ROULETTE)
        [*_, last] = ledger.maintain(lambda c, _: list(destroy_steps_through(c, spent, at_ns=7)))
        assert spent == last
        again = [(await desk.ask("get_round", request_of(one.key.round))).round for one in before]
        replay = await desk.play("deal", game=pb.GAME_BLACKJACK)
        with pytest.raises(SecretsDestroyedError, match="never revealed; its nonce stays spent"):
            await desk.ask("get_round", request_of("later"))
        return before, again, await listed(desk, 1), replay

    before, again, page, replay = desk.run(scenario)
    ledger.close()
    assert ["deal", "spin", "dig"] == [one.key.round for one in before]
    assert 312 == len(before[0].blackjack.shoe)
    assert before == again == page
    assert (True, before[0]) == (replay.replayed, replay.round)
