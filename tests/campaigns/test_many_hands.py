"""Promise 2 for batches and streams: recorded before shown, whatever happens in between.

The two campaigns of test_recorded_before_shown.py, with callers that ask for
many hands at once.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from entropyd.client import Deal
from tests.campaigns.altered_daemon import altered
from tests.campaigns.kill import Campaign
from tests.campaigns.lives import Phase, plans
from tests.campaigns.many_callers import ManyCallers, deal_many
from tests.campaigns.syscall_trace import Call, read_trace, strace
from tests.campaigns.test_recorded_before_shown import (
    EVERYTHING,
    NOTHING,
    QUICK,
    Recording,
    last_line,
    replay,
)
from tests.system.harness import running

KILLS = 40


def record_many(home: Path, *alterations: str, ends: tuple[str, ...] = ("terminate",)) -> Recording:
    """Trace a daemon from its start to its end, once for each end, with many hands in between."""
    home.mkdir()
    calls: list[Call] = []
    deals: dict[str, Deal] = {}
    for life, end in enumerate(ends):
        trace = home / f"trace{life}"
        prefix = (*strace(trace), *(altered(*alterations) if alterations else ()))
        with running(home, prefix=prefix, source_extra=QUICK) as daemon:
            deals |= deal_many(daemon, hands=20, name=f"hand-{life}")
            getattr(daemon, end)()
            calls += read_trace(trace, daemon, first_line=last_line(calls) + 1)
    assert len(deals) == len(ends) * 121
    return Recording(home / "state", calls, deals)


@pytest.fixture(scope="module")
def recording(homes: Path) -> Recording:
    """Two lives, the first of which ends by a kill; with many checkpoints."""
    return record_many(homes / "many", "small-log", ends=("kill", "terminate"))


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory in memory: thousands of files are written and synchronised there."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as path:
        yield Path(path)


def test_every_answer_of_a_batch_and_of_a_stream_waits_for_its_sync(recording: Recording):
    """A sync of the log ended between the write of a hand's row and the sending of its answer."""
    assert recording.breaches() == {}


@pytest.mark.parametrize("share", [NOTHING, EVERYTHING])
def test_a_power_loss_loses_no_answered_hand(recording: Recording, scratch: Path, share: float):
    """Cut after every operation: whatever is kept of the younger writes, all answered is there."""
    assert replay(recording, scratch, share) == []


def test_commit_after_answer_is_caught(homes: Path, scratch: Path):
    """A daemon that answers, then commits: every hand is condemned, and the replay loses some."""
    mutant = record_many(homes / "late", "commit-after-answer")
    assert mutant.breaches()
    assert any("is lost" in fault for fault in replay(mutant, scratch, NOTHING))


@pytest.mark.timeout(600)
def test_kills_lose_repeat_and_change_nothing(homes: Path):
    """After 40 kill -9 every answered hand is the same, and each is one hand.

    Every batch is all there or not at all: its hands have numbers, and no number
    of a table is missing.
    """
    home = homes / "kills"
    home.mkdir()
    campaign = Campaign(home, callers=ManyCallers)
    tally = asyncio.run(campaign.run(plans(KILLS, seed=3)))
    print(tally.table())
    assert KILLS == sum(tally.kills.values())
    for phase in (Phase.WAITING, Phase.DRAWN, Phase.COMMITTED):
        assert tally.kills_that_hit(phase) >= 4, phase
    wrong = (tally.lost, tally.repeated, tally.differing, tally.missing, tally.contradicted)
    assert (0, 0, 0, 0, 0) == wrong
    assert tally.answered > 2 * KILLS
    ways = Counter(int(hand.split("-")[1]) % 3 for hand in campaign.hands.answers)
    assert {0, 1, 2} == set(ways)
