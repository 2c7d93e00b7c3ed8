"""Promise 2, on the real daemon and a real SQLite file: recorded before it is shown.

Killing a daemon cannot show a missing fsync, because the kernel keeps what was
written. So its system calls are recorded, and two things are shown of them: of
every hand that was answered, a sync of the ledger ended between its write and
its answer; and whatever a disk may hold after a power loss at any moment of
the recording, the ledger opens and holds every hand that was answered by then.
Then it is killed 200 times all the same, at every step of a hand's way.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from entropyd.client import Deal, Refusal
from tests.campaigns.altered_daemon import altered
from tests.campaigns.callers import deal
from tests.campaigns.kill import Campaign
from tests.campaigns.lives import Phase, Plan, plans
from tests.campaigns.order import LOG_NAME, breaches, follow
from tests.campaigns.phased_daemon import BEFORE_ANSWER
from tests.campaigns.survivors import Survivors, faults
from tests.campaigns.syscall_trace import SYNCS, Call, read_trace, strace
from tests.system.harness import running

QUICK = "first_assessment_samples = 1024"


@dataclass(frozen=True)
class Recording:
    """What a daemon did in one or several lives, and what its callers were answered."""

    state: Path
    calls: Sequence[Call]
    deals: Mapping[str, Deal]

    def breaches(self) -> dict[str, str]:
        return breaches(self.calls, self.deals, self.state)

    def without(self, unwanted: Callable[[Call], bool]) -> "Recording":
        """Return the same recording without the calls of a kind."""
        return replace(self, calls=[call for call in self.calls if not unwanted(call)])


def record(
    home: Path, *alterations: str, callers: int, hands: int, ends: Sequence[str] = ("terminate",)
) -> Recording:
    """Trace a daemon from its start to its end, with hands dealt in between, once for each end."""
    home.mkdir()
    calls: list[Call] = []
    deals: dict[str, Deal] = {}
    for life, end in enumerate(ends):
        trace = home / f"trace{life}"
        prefix = (*strace(trace), *(altered(*alterations) if alterations else ()))
        with running(home, prefix=prefix, source_extra=QUICK) as daemon:
            deals |= deal(daemon, callers=callers, hands=hands, name=f"hand-{life}")
            getattr(daemon, end)()
            calls += read_trace(trace, daemon, first_line=last_line(calls) + 1)
    assert len(deals) == callers * hands * len(ends)
    return Recording(home / "state", calls, deals)


def last_line(calls: Sequence[Call]) -> int:
    return max((call.ended or call.begun for call in calls), default=-1)


@pytest.fixture(scope="module")
def recording(homes: Path) -> Recording:
    """The daemon as it is, under 64 callers of 3 hands each."""
    return record(homes / "as-it-is", callers=64, hands=3)


@pytest.fixture(scope="module")
def three_lives(homes: Path) -> Recording:
    """Begun, stopped, begun again, killed, begun again, stopped; and many checkpoints."""
    ends = ("terminate", "kill", "terminate")
    return record(homes / "lives", "small-log", callers=8, hands=4, ends=ends)


@pytest.fixture(scope="module")
def killed_in_a_sync(homes: Path) -> Recording:
    """A hand whose daemon is killed as it begins to synchronise it, and that the next one answers.

    strace kills when the ledger's writer thread enters its fortieth fdatasync.
    The kernel has the row and the next daemon finds it; the disk has no promise.
    """
    home = homes / "in-sync"
    home.mkdir()
    deals: list[Deal] = []
    trace = home / "trace0"
    prefix = strace(trace, "-e", "inject=fdatasync:signal=SIGKILL:when=40")
    with running(home, prefix=prefix, source_extra=QUICK) as daemon, daemon.client() as client:
        with suppress(Refusal):
            for number in range(64):
                deals.append(client.shuffle("table", f"hand-{number}", timeout_s=2))
        assert daemon.ended() == -9
        calls = read_trace(trace, daemon)
    trace = home / "trace1"
    with (
        running(home, prefix=strace(trace), source_extra=QUICK) as daemon,
        daemon.client() as client,
    ):
        deals.append(client.shuffle("table", f"hand-{len(deals)}"))
        daemon.kill()
        calls += read_trace(trace, daemon, first_line=last_line(calls) + 1)
    assert deals[-1].replayed
    return Recording(home / "state", calls, {deal.hand: deal for deal in deals})


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory in memory: thousands of files are written and synchronised there."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as path:
        yield Path(path)


# --- the order of the system calls -------------------------------------------


def test_every_answer_waits_for_its_sync(recording: Recording):
    """A sync of the log ended after a hand's row and its commit were written, before it was sent.

    Shows the order of the system calls of one run under 64 callers. That kernel
    and disk honour a sync is taken on trust.
    """
    assert recording.breaches() == {}


def test_every_answer_waits_for_its_sync_in_every_life(three_lives: Recording):
    """The same after a restart, after a kill, and while the log is copied and begun again."""
    assert three_lives.breaches() == {}


def test_what_a_kill_left_unsynchronised_waits_for_a_sync_too(killed_in_a_sync: Recording):
    """A row that only the kernel has is synchronised by the next daemon before it is shown."""
    assert killed_in_a_sync.breaches() == {}


def test_the_recording_is_of_concurrent_callers(recording: Recording):
    """Hands shared commits: the order was not kept only because they came one by one."""
    ways = follow(recording.calls, recording.deals, recording.state)
    syncs = {way.sync.begun for way in ways.values() if way.sync is not None}
    assert 192 == len(ways)
    assert len(syncs) < 192


def is_sync_of_log(call: Call) -> bool:
    return call.name in SYNCS and call.path.endswith(LOG_NAME)


def is_write_to_log(call: Call) -> bool:
    return call.name == "pwrite64" and call.path.endswith(LOG_NAME)


def is_send(call: Call) -> bool:
    return call.name == "sendmsg"


@pytest.mark.parametrize(
    ("unwanted", "breach"),
    [
        (is_sync_of_log, "the log was never synchronised after its transaction"),
        (is_write_to_log, "its row was never written to the log"),
        (is_send, "its answer was not found in what was sent"),
    ],
)
def test_a_call_that_is_missing_is_a_breach(
    recording: Recording, unwanted: Callable[[Call], bool], breach: str
):
    """A trace without the syncs, the writes or the answers condemns every hand."""
    assert dict.fromkeys(recording.deals, breach) == recording.without(unwanted).breaches()


def test_one_sync_that_is_missing_is_a_breach(recording: Recording):
    """Taking out the last sync that was waited for condemns the hands that it covered, no other."""
    ways = follow(recording.calls, recording.deals, recording.state)
    last = max((way.sync for way in ways.values() if way.sync), key=lambda sync: sync.begun)
    covered = {hand for hand, way in ways.items() if way.sync == last}
    assert covered == recording.without(lambda call: call == last).breaches().keys()


def test_one_answer_that_comes_early_is_a_breach(recording: Recording):
    """An answer moved to just before the end of its hand's sync condemns that hand."""
    ways = follow(recording.calls, recording.deals, recording.state)
    hand, way = next(iter(ways.items()))
    assert way.sync is not None
    assert way.sync.ended is not None
    early = way.sync.ended - 1
    calls = [replace(call, begun=early) if call == way.answer else call for call in recording.calls]
    breach = f"it was sent at line {early}, synchronised at {way.sync.ended}"
    assert breach == replace(recording, calls=calls).breaches()[hand]


def test_a_sync_that_failed_is_none(recording: Recording):
    """An fdatasync that returned an error does not count."""
    calls = [replace(call, result=-1) if is_sync_of_log(call) else call for call in recording.calls]
    assert recording.deals.keys() == replace(recording, calls=calls).breaches().keys()


# --- what a power loss leaves ------------------------------------------------

NOTHING, EVERYTHING = 0.0, 1.0


def replay(recording: Recording, scratch: Path, *shares: float) -> list[str]:
    survivors = Survivors(scratch, recording.deals)
    return faults(recording.calls, recording.deals, recording.state, survivors, shares)


@pytest.mark.parametrize("name", ["recording", "three_lives", "killed_in_a_sync"])
def test_a_power_loss_loses_no_answered_hand(
    name: str, scratch: Path, request: pytest.FixtureRequest
):
    """Cut after every operation, with everything lost that was not synchronised: all is there.

    The ledger opens, every hand answered by then is there byte for byte, every
    other hand that is there is the one that was answered later, and the numbers
    at each table have no gap. A name counts as lost until its directory was
    synchronised. A disk that ignores flushes is not covered.
    """
    assert replay(request.getfixturevalue(name), scratch, NOTHING) == []


@pytest.mark.parametrize("share", [0.2, 0.8, EVERYTHING])
def test_what_else_a_power_loss_keeps_loses_no_answered_hand(
    three_lives: Recording, scratch: Path, share: float
):
    """The same with some of the younger writes and names kept, down to single sectors, or all."""
    assert replay(three_lives, scratch, share) == []


def test_the_replayed_history_copies_its_log_and_begins_it_again(three_lives: Recording):
    """The log was begun at least as often again as each of the three lives begins one."""
    headers = [c for c in three_lives.calls if is_write_to_log(c) and c.offset == 0]
    assert len(headers) >= 6


@pytest.mark.parametrize("name", ["", "ledger.sqlite3", "ledger.sqlite3-wal"])
def test_the_replay_needs_every_sync(three_lives: Recording, scratch: Path, name: str):
    """Without the syncs of the directory, the database or the log, answered hands are lost."""
    path = str(three_lives.state / name)
    forgetful = three_lives.without(lambda call: call.name in SYNCS and call.path == path)
    assert any("is lost" in fault for fault in replay(forgetful, scratch, NOTHING))


def test_a_daemon_that_does_not_sync_is_caught(homes: Path, scratch: Path):
    """With synchronous=OFF no row is synchronised, and a power loss loses answered hands."""
    mutant = record(homes / "off", "synchronous-off", callers=8, hands=2)
    assert mutant.deals.keys() == mutant.breaches().keys()
    assert any("is lost" in fault for fault in replay(mutant, scratch, NOTHING))


def test_commit_after_answer_is_caught(homes: Path, scratch: Path):
    """A daemon that answers, then commits: every hand is condemned, and the replay loses some."""
    mutant = record(homes / "late", "commit-after-answer", callers=8, hands=2)
    assert mutant.deals.keys() == mutant.breaches().keys()
    assert any("is lost" in fault for fault in replay(mutant, scratch, NOTHING))


# --- what a kill leaves ------------------------------------------------------

KILLS = 200


@pytest.mark.timeout(1200)
def test_two_hundred_kills_lose_repeat_and_change_nothing(homes: Path):
    """After 200 kill -9 under 64 callers every answered hand is the same, and each is one hand.

    A kill leaves what was written, synchronised or not: this shows the order of
    the daemon's steps and its recovery, not that anything reached a disk. The
    counts by phase are printed (-rP).
    """
    home = homes / "kills"
    home.mkdir()
    tally = asyncio.run(Campaign(home).run(plans(KILLS, seed=1)))
    print(tally.table())
    assert KILLS == sum(tally.kills.values())
    for phase in (Phase.WAITING, Phase.DRAWN, Phase.COMMITTED):
        assert tally.kills_that_hit(phase) >= 20, phase
    wrong = (tally.lost, tally.repeated, tally.differing, tally.missing, tally.contradicted)
    assert (0, 0, 0, 0, 0) == wrong
    assert tally.answered > KILLS


def test_kills_find_a_commit_after_the_answer(homes: Path):
    """The same campaign condemns a daemon that commits after it has answered."""
    home = homes / "late-kills"
    home.mkdir()
    campaign = Campaign(home, "commit-after-answer")
    tally = asyncio.run(campaign.run([Plan(BEFORE_ANSWER, count=8)] * 4))
    assert tally.lost > 0
