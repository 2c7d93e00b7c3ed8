"""Hands under kill -9: recorded before told, whichever step of whichever hand is under way.

`python -m tests.campaigns.kill_hands` kills more often.
"""

import asyncio
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.campaigns.kill_hands import HandCampaign
from tests.campaigns.lives import DEALING, Plan, until
from tests.campaigns.phased_daemon import (
    AFTER_COMMIT,
    BEFORE_ANSWER,
    BEFORE_COMMIT,
    IN_COMMIT,
    NOWHERE,
)

# Each point once, with hands in other states each time.
KILLS = (
    Plan(AFTER_COMMIT, count=8),
    Plan(BEFORE_COMMIT, count=20),
    Plan(IN_COMMIT, count=30),
    Plan(BEFORE_ANSWER, count=20),
    Plan(DEALING, delay_s=0.3),
)


@pytest.mark.timeout(300)
def test_kills_lose_repeat_and_change_nothing(homes: Path):
    """Every answered step is answered again with the same bytes; the log is verified.

    The counts are printed (-rP).
    """
    home = homes / "hand-kills"
    home.mkdir()
    tally = asyncio.run(HandCampaign(home).run(KILLS))
    print(tally.table())
    assert Counter(plan.point for plan in KILLS) == tally.kills
    assert tally.wrong == 0, tally.table()
    assert tally.played >= 12
    assert tally.asked_again > tally.answered > 100
    assert tally.states.total() > 0


class SetBack(HandCampaign):
    """The same campaign, but the third life begins with the state that the first has left."""

    def _start(self, point: str, count: int) -> Path:
        state, saved = self.daemon.home / "state", self.daemon.home / "saved"
        if self._lives == 1:
            shutil.copytree(state, saved)
        elif self._lives == 2:
            shutil.rmtree(state)
            saved.rename(state)
        return super()._start(point, count)

    async def _last_life(self) -> None:
        self._start(NOWHERE, 1)
        await until(self._is_listening, "listening")
        await self.judge()
        self.hands.leave()


@pytest.mark.timeout(300)
def test_a_daemon_that_forgets_is_seen(homes: Path):
    """What was answered between is lost or, where its callers asked again, told otherwise."""
    home = homes / "forgets"
    home.mkdir()
    plans = [Plan(AFTER_COMMIT, count=3), Plan(AFTER_COMMIT, count=25)]
    tally = asyncio.run(SetBack(home).run(plans))
    assert tally.lost > 0, tally.table()
