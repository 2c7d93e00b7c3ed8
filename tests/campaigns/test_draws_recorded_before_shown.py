"""Promise 2 for draws, raffles and rounds: recorded before shown, and what a kill leaves.

The machinery of test_recorded_before_shown.py: system calls in their order, and
then kills.
"""

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from entropyd.client import Client, Refusal
from entropyd.v1 import fair_service_pb2 as fair
from tests.campaigns.altered_daemon import AHEAD_S, altered
from tests.campaigns.drawing_book import Kind
from tests.campaigns.kill_draws import DrawCampaign
from tests.campaigns.lives import DEALING, STARTING, Plan, until
from tests.campaigns.order import LOG_NAME, Marks, broken, ways
from tests.campaigns.phased_daemon import (
    AFTER_COMMIT,
    BEFORE_ANSWER,
    BEFORE_COMMIT,
    IN_COMMIT,
    NOWHERE,
    WAITING,
)
from tests.campaigns.syscall_trace import SYNCS, Call, read_trace, strace
from tests.system.harness import running

QUICK = "first_assessment_samples = 1024"
TURNS = 4
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Recording:
    """What a daemon did, and what marks each thing that its callers were answered."""

    state: Path
    calls: Sequence[Call]
    marks: Mapping[str, Marks]

    def breaches(self) -> dict[str, str]:
        return broken(ways(self.calls, self.marks, self.state))

    def without(self, unwanted: Callable[[Call], bool]) -> "Recording":
        """Return the same recording without the calls of a kind."""
        return replace(self, calls=[call for call in self.calls if not unwanted(call)])


@dataclass(frozen=True)
class Desk:
    """Makes calls of every kind.

    Attributes:
        client: makes them.
        pause_s: between two of them.
    """

    client: Client
    pause_s: float

    def ask(self, call: Callable[..., Answer], *given: Any, **settings: Any) -> Answer:
        """Make a call, and pause."""
        try:
            return call(*given, **settings)
        finally:
            time.sleep(self.pause_s)

    def draw(self, turn: int) -> dict[str, Marks]:
        """Draw in every way; a draw is known by its hashes."""
        draws, match = self.client.draws(), f"match-{turn % 2}"
        drawn = {
            "dice": self.ask(draws.roll_dice, match, f"dice-{turn}", [(2, 6)]),
            "numbers": self.ask(draws.draw_integers, match, f"numbers-{turn}", bound=2**64),
            "order": self.ask(draws.shuffle_items, match, f"order-{turn}", size=52),
            "sample": self.ask(draws.sample, match, f"sample-{turn}", 6, size=49),
            "tiles": self.ask(
                draws.draw_from_bag, match, f"tiles-{turn}", "bag", 7, preset="english"
            ),
        }
        return {
            f"{name} {turn}": Marks(one.commitment, (one.commitment, one.result_root))
            for name, one in drawn.items()
        }

    def draw_raffle(self, turn: int) -> dict[str, Marks]:
        """Seal and draw; the sealing is known by the hash of the entries."""
        raffles = self.client.raffles()
        entries = [f"ticket {turn}-{number}" for number in range(20)]
        sealed = self.ask(raffles.seal_entries, f"raffle-{turn}", entries, winners=3)
        won = self.ask(raffles.draw_raffle, f"raffle-{turn}")
        return {
            f"sealing {turn}": Marks(sealed.entries_hash, (sealed.entries_hash,)),
            f"raffle {turn}": Marks(won.commitment, (won.commitment, won.result_root)),
        }

    def play(self, turn: int) -> dict[str, Marks]:
        """Play; a round is known by its id, which the daemon tells nobody before it answers."""
        calls, player = self.client.fair(), f"player-{turn % 2}"
        with suppress(Refusal):
            # The altered daemon looks for its line before it has committed it, and finds none.
            self.ask(calls.open_pair, player)
        pair = self.ask(calls.open_pair, player)
        self.ask(calls.set_client_seed, player, "chosen", server_hash=pair.server_hash)
        marks = {}
        for game in ("roulette", "dice_poker", "blackjack"):
            name = f"the-only-round-{turn}-of-{game}"
            self.ask(calls.play_round, player, name, game)
            if game == "blackjack":
                self.ask(calls.close_round, player, name)
            key = fair.RoundKey(player=player, round=name)
            marks[f"{game} {turn}"] = Marks(name.encode(), (key.SerializeToString(),))
        return marks


def record(home: Path, *alterations: str, turns: int = TURNS, pause_s: float = 0.0) -> Recording:
    """Trace a daemon from its start to its end, with some of everything in between."""
    home.mkdir()
    trace = home / "trace"
    prefix = (*strace(trace), *(altered(*alterations) if alterations else ()))
    marks: dict[str, Marks] = {}
    with running(home, prefix=prefix, source_extra=QUICK) as daemon:
        with daemon.client() as client:
            desk = Desk(client, pause_s)
            for turn in range(turns):
                marks |= desk.draw(turn) | desk.draw_raffle(turn) | desk.play(turn)
        daemon.terminate()
        calls = read_trace(trace, daemon)
    return Recording(home / "state", calls, marks)


@pytest.fixture(scope="module")
def recording(homes: Path) -> Recording:
    """The daemon as it is, with many checkpoints."""
    return record(homes / "draws", "small-log")


# --- the order of the system calls -------------------------------------------


def test_every_answer_waits_for_its_sync(recording: Recording):
    """A sync of the log ended between the write of what was drawn or played and its answer."""
    assert TURNS * 10 == len(recording.marks)
    assert recording.breaches() == {}


def is_sync_of_log(call: Call) -> bool:
    return call.name in SYNCS and call.path.endswith(LOG_NAME)


def is_write_to_log(call: Call) -> bool:
    return call.name == "pwrite64" and call.path.endswith(LOG_NAME)


@pytest.mark.parametrize(
    ("unwanted", "breach"),
    [
        (is_sync_of_log, "the log was never synchronised after its transaction"),
        (is_write_to_log, "its row was never written to the log"),
    ],
)
def test_a_call_that_is_missing_is_a_breach(
    recording: Recording, unwanted: Callable[[Call], bool], breach: str
):
    """A trace without the syncs or the writes condemns every one of them."""
    assert dict.fromkeys(recording.marks, breach) == recording.without(unwanted).breaches()


def test_commit_after_answer_is_caught(homes: Path):
    """A daemon that answers, then commits: every draw, raffle and round is condemned.

    Each call waits until what the one before it did is there.
    """
    mutant = record(homes / "late-draws", "commit-after-answer", turns=1, pause_s=3 * AHEAD_S)
    assert mutant.marks.keys() == mutant.breaches().keys()


# --- what a kill leaves ------------------------------------------------------

# One at each point and at each random moment, and one more where what is recorded is not yet told.
KILLS = (
    Plan(WAITING, count=4),
    Plan(BEFORE_COMMIT, count=40),
    Plan(AFTER_COMMIT, count=40),
    Plan(DEALING, delay_s=0.6),
    Plan(IN_COMMIT, count=40),
    Plan(STARTING, delay_s=0.3),
    Plan(BEFORE_ANSWER, count=60),
    Plan(AFTER_COMMIT, count=60),
)


@pytest.mark.timeout(300)
def test_kills_lose_repeat_and_change_nothing(homes: Path):
    """After each of eight kills everything that was answered is there, the same and numbered.

    A kill leaves what was written, synchronised or not. The counts by kind are
    printed (-rP).
    """
    home = homes / "draw-kills"
    home.mkdir()
    tally = asyncio.run(DrawCampaign(home).run(KILLS))
    print(tally.table())
    assert Counter(plan.point for plan in KILLS) == tally.kills
    assert tally.wrong == 0, tally.table()
    for kind in Kind:
        assert tally.answered[kind] > len(KILLS), kind
        assert tally.judge.asked_again[kind] > tally.answered[kind], kind


class SetBack(DrawCampaign):
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
        self.drawing.leave()


def test_a_ledger_that_was_set_back_is_condemned(homes: Path):
    """What the second life answered is lost and comes otherwise, and the campaign says so."""
    home = homes / "set-back"
    home.mkdir()
    tally = asyncio.run(SetBack(home).run([Plan(BEFORE_ANSWER, count=60)] * 2))
    assert tally.judge.lost[Kind.ROUND] > 0, tally.table()
    assert tally.differing[Kind.ROUND] > 0, tally.table()
