"""Thousands who wait: served in order and by turns, more refused at once, one draw a hand."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import grpc
import pytest

from entropyd.v1 import (
    entropy_service_pb2,
    entropy_service_pb2_grpc,
    shuffle_service_pb2,
    shuffle_service_pb2_grpc,
)
from tests.system.harness import Daemon, running, until
from tests.system.wire import (
    DRAWN,
    NO_RETRIES,
    Told,
    Wire,
    assert_numbers_have_no_gaps,
    order,
    rows,
)

WAIT_S = 120.0
GATE = 'max_hold = "1m"'
# Two tenants share the queue of 4,096.
SHARE = 2048

Response = shuffle_service_pb2.ShuffleResponse


class Crowd:
    """Callers of one tenant in one event loop."""

    def __init__(self, daemon: Daemon, socket: str, table: str) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix:{daemon.home}/{socket}", NO_RETRIES)
        self._shuffles = shuffle_service_pb2_grpc.ShuffleServiceStub(self._channel)
        self._entropy = entropy_service_pb2_grpc.EntropyServiceStub(self._channel)
        self.table = table

    def ask(self, hand: str) -> Awaitable[Response]:
        """Begin a call for a hand; it waits for its deck."""
        call: Awaitable[Response] = self._shuffles.Shuffle(order(self.table, hand), timeout=WAIT_S)
        return call

    async def waiters(self) -> int:
        """Return how many callers wait, of all tenants."""
        request = entropy_service_pb2.GetStatusRequest()
        status = await self._entropy.GetStatus(request, timeout=WAIT_S)
        return int(status.waiters)

    async def until_waiting(self, count: int) -> None:
        """Wait until so many callers wait."""
        began = time.monotonic()
        while await self.waiters() != count:
            assert time.monotonic() - began < WAIT_S, f"{count} never waited at a time"
            await asyncio.sleep(0.01)

    async def refused(self, hand: str) -> tuple[Told, float]:
        """Ask for a hand that must be refused; return how, and after how many seconds."""
        began = time.monotonic()
        try:
            await self.ask(hand)
        except grpc.aio.AioRpcError as error:
            return Told.by(error), time.monotonic() - began
        raise AssertionError(f"{hand} was dealt")

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()


@pytest.fixture
def patient() -> Iterator[Daemon]:
    """A daemon in which calls may wait for a minute."""
    with (
        tempfile.TemporaryDirectory(prefix="ed-") as path,
        running(Path(path), gate=GATE) as daemon,
    ):
        yield daemon


def hold(daemon: Daemon) -> None:
    """Empty the pool: the device is unplugged, and what it gave has no credit."""
    daemon.faults("F9")
    with Wire(daemon) as wire:
        until("the device is lost", lambda: wire.source_state() == "lost")


def drawn_order(daemon: Daemon, *tenants: str) -> list[tuple[str, str]]:
    """Return (tenant, hand) of some tenants in the order in which they were drawn."""
    return [(row[1], row[3]) for row in rows(daemon, DRAWN) if row[1] in tenants]


async def everybody(daemon: Daemon, scene: Callable[[Crowd, Crowd], Awaitable[None]]) -> None:
    """Run a scene with callers of both tenants."""
    acme, globex = Crowd(daemon, "poker.sock", "t-acme"), Crowd(daemon, "other.sock", "t-globex")
    try:
        await scene(acme, globex)
    finally:
        await acme.close()
        await globex.close()


def test_4096_waiters(patient: Daemon, record_property: Callable[[str, object], None]):
    """The queue takes 4,096, in order; whoever comes then is told to come back, at once."""
    hold(patient)
    crowd_of = 64  # arrivals are only known to be in order from one crowd to the next

    async def scene(acme: Crowd, globex: Crowd) -> None:
        calls: list[Awaitable[Response]] = []
        for number in range(0, SHARE, crowd_of):
            for tenant in (acme, globex):
                calls += [tenant.ask(f"{number + n:04d}") for n in range(crowd_of)]
            await acme.until_waiting(len(calls))
        assert len(calls) == 2 * SHARE
        delays = []
        for tenant in (acme, globex) * 10:
            refusal, took_s = await tenant.refused("one-too-many")
            assert (refusal.code, refusal.reason) == (
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "OVERLOADED",
            )
            assert "callers wait" in refusal.message
            assert "ask again later" in refusal.message
            assert refusal.retry_s is not None
            delays.append(took_s)
        record_property("refused_after_ms", round(sorted(delays)[len(delays) // 2] * 1000, 2))
        assert await acme.waiters() == 2 * SHARE, "refused while the others go on waiting"
        # The aim is 50 ms. A machine that is shared can only be asked for the order of magnitude.
        assert sorted(delays)[len(delays) // 2] < 0.5
        patient.faults()
        answers = await asyncio.gather(*calls)
        assert not any(answer.replayed for answer in answers)

    asyncio.run(everybody(patient, scene))
    drawn = drawn_order(patient, "acme", "globex")
    assert len(drawn) == 2 * SHARE
    for tenant in ("acme", "globex"):
        crowds = [int(hand) // crowd_of for who, hand in drawn if who == tenant]
        assert crowds == sorted(crowds), "a later crowd was served before an earlier one"
    turns = [who for who, _ in drawn]
    assert all(first != second for first, second in zip(turns[::2], turns[1::2], strict=True))
    assert_numbers_have_no_gaps(patient)
    assert patient.metric('entropyd_draws_total{outcome="overloaded"}') == 20
    assert patient.metric('entropyd_draws_total{outcome="recorded"}') == 2 * SHARE


def test_a_burst_beyond_the_queue(patient: Daemon):
    """6,000 calls at the same moment: as many as may wait do, all others are told so by us."""
    hold(patient)

    async def scene(acme: Crowd, globex: Crowd) -> None:
        calls = [asyncio.ensure_future(acme.ask(f"burst-{n}")) for n in range(6000)]
        ended = asyncio.Semaphore(0)
        for call in calls:
            call.add_done_callback(lambda _: ended.release())
        for _ in range(6000 - SHARE):
            await asyncio.wait_for(ended.acquire(), WAIT_S)
        assert await globex.waiters() == SHARE
        patient.faults()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        refusals = [Told.by(error) for error in outcomes if isinstance(error, grpc.RpcError)]
        assert len(refusals) == 6000 - SHARE
        assert {refusal.reason for refusal in refusals} == {"OVERLOADED"}

    asyncio.run(everybody(patient, scene))
    assert len(drawn_order(patient, "acme")) == SHARE
    assert_numbers_have_no_gaps(patient)


def test_slow_device_serves_in_order(patient: Daemon):
    """At a tenth of the rate 600 callers are served as entropy comes in, the first one first."""
    hold(patient)
    crowd_of = 60
    seen: list[int] = []

    async def scene(acme: Crowd, globex: Crowd) -> None:
        calls: list[asyncio.Future[Response]] = []
        for number in range(0, 600, crowd_of):
            calls += [asyncio.ensure_future(acme.ask(f"{number + n}")) for n in range(crowd_of)]
            await acme.until_waiting(len(calls))
        patient.faults("F19:drop")
        everyone = asyncio.gather(*calls)
        while not everyone.done():
            seen.append(await globex.waiters())
            await asyncio.sleep(0.01)
        await everyone

    asyncio.run(everybody(patient, scene))
    crowds = [int(hand) // crowd_of for _, hand in drawn_order(patient, "acme")]
    assert len(crowds) == 600
    assert crowds == sorted(crowds)
    assert any(0 < waiting < 600 for waiting in seen), "nobody had to wait for entropy"
    assert seen == sorted(seen, reverse=True), "the queue only shrinks"


def test_tenants_take_turns(patient: Daemon):
    """A tenant with ten waiters is through after twenty draws, however many wait before it."""
    hold(patient)

    async def scene(acme: Crowd, globex: Crowd) -> None:
        many = [acme.ask(f"{n:03d}") for n in range(200)]
        await acme.until_waiting(200)
        few = [globex.ask(f"{n:03d}") for n in range(10)]
        await acme.until_waiting(210)
        patient.faults()
        await asyncio.gather(*many, *few)

    asyncio.run(everybody(patient, scene))
    drawn = drawn_order(patient, "acme", "globex")
    places = [place for place, (tenant, _) in enumerate(drawn) if tenant == "globex"]
    assert places == list(range(1, 21, 2))


@pytest.mark.parametrize("held", [False, True], ids=["dealing", "held"])
def test_1000_callers_of_one_hand(patient: Daemon, held: bool):
    """One of them draws, 999 get what it drew, byte for byte."""
    if held:
        hold(patient)

    async def scene(acme: Crowd, globex: Crowd) -> None:
        calls = [acme.ask("the-one-hand") for _ in range(1000)]
        if held:
            await acme.until_waiting(1)
            await asyncio.sleep(0.5)
            patient.faults()
        answers = await asyncio.gather(*calls)
        assert sorted(answer.replayed for answer in answers) == [False] + [True] * 999
        assert len({a.shuffle.SerializeToString(deterministic=True) for a in answers}) == 1

    asyncio.run(everybody(patient, scene))
    assert drawn_order(patient, "acme") == [("acme", "the-one-hand")]
    assert patient.metric('entropyd_draws_total{outcome="recorded"}') == 1
    assert patient.metric('entropyd_draws_total{outcome="replayed"}') == 999
    assert patient.metric("entropyd_drbg_reseeds_total") == 1


def test_callers_who_hang_up_leave_nothing(patient: Daemon):
    """200 who hang up while they wait are gone from the queue, and their hands are undrawn."""
    hold(patient)

    async def scene(acme: Crowd, globex: Crowd) -> None:
        leaving = [asyncio.ensure_future(acme.ask(f"leaves-{n}")) for n in range(200)]
        staying = [asyncio.ensure_future(acme.ask(f"stays-{n}")) for n in range(20)]
        await acme.until_waiting(220)
        for call in leaving:
            call.cancel()
        await acme.until_waiting(20)
        patient.faults()
        answers = await asyncio.gather(*staying)
        assert sorted(answer.shuffle.sequence for answer in answers) == list(range(1, 21))

    asyncio.run(everybody(patient, scene))
    assert {hand for _, hand in drawn_order(patient, "acme")} == {f"stays-{n}" for n in range(20)}
