"""EntropyService without a transport: user entropy in, levels out, values never."""

import asyncio
from collections import Counter

import pytest

from entropyd.entropy.entropy_source import SourceStatus
from entropyd.entropy.health import Failure, HealthTest, Verdict
from entropyd.entropy.health_history import HealthHistory
from entropyd.entropy.policy import UserShortfall
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.errors import (
    EntropydError,
    OverloadError,
    PermissionDeniedError,
    RequestError,
    ShuttingDownError,
)
from entropyd.runtime.reader import Report
from entropyd.service.entropy_core import EntropyCore
from entropyd.service.identity import Call, Identity, Role
from entropyd.v1 import entropy_service_pb2, types_pb2
from tests.fakes.dealing import QUANTIS, SECOND, Table
from tests.fakes.manual_time import START_NS, play, settle

ROOM = Identity("room", frozenset({Role.CONTRIBUTE}))
POKER = Identity("room", frozenset({Role.DEAL_ALL}))
SPARE = NoiseSourceInfo("spare", "serial", SourceKind.HARDWARE, 8, 500, "measured")
BLOB = bytes(range(200))


class Reports:
    """Stands in for the intake: the last report of every source."""

    def __init__(self) -> None:
        self.last_reports: dict[str, Report] = {}


class Desk:
    def __init__(self, *, infos=(QUANTIS.info, SPARE), **policy) -> None:
        self.table = Table(**policy)
        self.reports = Reports()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.held_since_ns: int | None = None
        self.core = EntropyCore(
            gate=self.table.gate,
            intake=self.reports,  # type: ignore[arg-type]
            dealer=self.table.dealer,
            hands=self.table.ledger,
            observer=self,
            infos={info.source_id: info for info in infos},
            required={info.source_id: info is QUANTIS.info for info in infos},
            node="dc1-a",
            version="1.2.3",
            clock_ns=self.table.clock,
        )

    def contributed(self, tenant: str, outcome: str) -> None:
        self.outcomes[tenant, outcome] += 1

    async def give(self, user="ann", *, who=ROOM, **fields):
        request = entropy_service_pb2.AddUserEntropyRequest(user=user, **fields)
        return await self.core.add_user_entropy(request, Call(who, None))

    def given(self, *args, **fields):
        return play(self.table.clock, lambda: self.give(*args, **fields))

    def refused(self, *args, **fields) -> EntropydError:
        with pytest.raises(EntropydError) as caught:
            self.given(*args, **fields)
        return caught.value

    def status(self, who=ROOM) -> entropy_service_pb2.GetStatusResponse:
        request = entropy_service_pb2.GetStatusRequest()
        return play(self.table.clock, lambda: self.core.get_status(request, Call(who, None)))


# --- user entropy --------------------------------------------------------------------------


def test_a_blob_is_estimated_and_pooled_for_the_callers_tenant():
    desk = Desk()
    answer = desk.given(blob=BLOB)
    assert answer.estimated_millibits > 0
    assert desk.table.gate.user_millibits("room", START_NS) == answer.pooled_millibits > 0
    assert 0 == desk.table.gate.user_millibits("other", START_NS)
    assert {("room", "accepted"): 1} == desk.outcomes


def test_events_are_taken_as_position_and_time():
    desk = Desk()
    events = [
        entropy_service_pb2.UserEvent(
            x=17 * n % 101, y=29 * n % 97, time_us=16_000 * n + n * n % 83
        )
        for n in range(100)
    ]
    assert desk.given(events=events).estimated_millibits > 0
    assert {("room", "accepted"): 1} == desk.outcomes


def test_what_was_seen_before_counts_for_nothing():
    """A repetition is no error, and told as worth 0."""
    desk = Desk()
    first = desk.given(blob=BLOB)
    again = desk.given("bob", blob=BLOB)
    assert 0 == again.estimated_millibits
    assert first.pooled_millibits == again.pooled_millibits
    assert {("room", "accepted"): 1, ("room", "replayed"): 1} == desk.outcomes


@pytest.mark.parametrize(
    "fields",
    [{}, {"blob": b""}, {"blob": b"x", "events": [entropy_service_pb2.UserEvent(x=1)]}],
    ids=["nothing", "empty", "both"],
)
def test_exactly_one_of_blob_and_events_is_asked_for(fields):
    desk = Desk()
    error = desk.refused(**fields)
    assert isinstance(error, RequestError)
    assert "blob" == error.field
    assert "`blob` and `events`" in str(error)
    assert {("room", "refused"): 1} == desk.outcomes


@pytest.mark.parametrize(
    ("user", "fields", "field"),
    [
        ("", {"blob": b"x"}, "user"),
        ("a b", {"blob": b"x"}, "user"),
        ("ann", {"blob": bytes(1025)}, "blob"),
        ("ann", {"events": [entropy_service_pb2.UserEvent()] * 257}, "events"),
    ],
    ids=["no user", "bad user", "long blob", "many events"],
)
def test_bad_form_names_its_field_and_is_counted(user, fields, field):
    desk = Desk()
    error = desk.refused(user, **fields)
    assert isinstance(error, RequestError)
    assert field == error.field
    assert {("room", "refused"): 1} == desk.outcomes
    assert 0 == desk.table.gate.user_millibits("room", START_NS)


def test_who_sends_too_much_is_limited_and_counted_so():
    """The burst of one user; another one is not touched."""
    desk = Desk()
    for n in range(16):
        desk.given(blob=bytes([n, *range(50)]))
    assert isinstance(desk.refused(blob=b"one too many"), OverloadError)
    desk.given("bob", blob=b"somebody else")
    assert 1 == desk.outcomes["room", "limited"]
    assert 17 == desk.outcomes["room", "accepted"]


def test_the_role_comes_before_everything_and_is_not_counted():
    """A caller without it learns nothing, and cannot fill the counters of a tenant."""
    desk = Desk()
    assert isinstance(desk.refused("", who=POKER), PermissionDeniedError)
    assert {} == desk.outcomes


def test_users_who_gave_enough_wake_the_waiters():
    """With `user_shortfall = wait` the draw is made in the call that brought the last bit."""
    desk = Desk(user_shortfall=UserShortfall.WAIT)

    async def scenario():
        desk.table.deliver(96)
        call = asyncio.create_task(desk.table.call())
        await settle()
        drawn = []
        for number, user in enumerate(("ann", "bob", "cy", "dee")):
            drawn.append(len(desk.table.writer.submitted))
            await desk.give(user, blob=bytes((n + number) % 256 for n in range(200)))
        await call
        return drawn

    assert [0, 0, 0, 0] == play(desk.table.clock, scenario)
    assert 1 == len(desk.table.writer.submitted)


# --- status -----------------------------------------------------------------------------------


def test_status_of_a_daemon_that_can_deal():
    desk = Desk()
    desk.table.deliver(200)
    status = desk.status(POKER)
    assert (True, "", "", 0) == (
        status.can_deal,
        status.hold_reason,
        status.hold_text,
        status.held_for.ToNanoseconds(),
    )
    assert ("dc1-a", "1.2.3", "hardware=320 user=249 shortfall=cover", False) == (
        status.node,
        status.version,
        status.policy,
        status.mock,
    )
    assert (0, 0) == (status.waiters, status.hands)


def test_status_of_a_daemon_that_holds_says_why_and_since_when():
    desk = Desk()
    desk.table.stand(state=SourceState.LOST, detail="the cable is out")
    desk.held_since_ns = START_NS - 3 * SECOND
    status = desk.status()
    assert (False, "SOURCE_LOST", 3 * SECOND) == (
        status.can_deal,
        status.hold_reason,
        status.held_for.ToNanoseconds(),
    )
    assert "the cable is out" in status.hold_text


def test_a_hold_that_nobody_has_noted_yet_has_just_begun():
    desk = Desk()
    desk.table.stand(state=SourceState.LOST)
    assert 0 == desk.status().held_for.ToNanoseconds()


def test_status_counts_waiters_hands_and_the_tenants_own_users():
    desk = Desk()

    async def scenario():
        desk.table.feed()
        await desk.table.call("drawn")
        waiting = asyncio.create_task(desk.table.call("waits"))
        await settle()
        await desk.give(blob=BLOB)
        mine, theirs = [
            await desk.core.get_status(entropy_service_pb2.GetStatusRequest(), Call(who, None))
            for who in (ROOM, Identity("other", frozenset()))
        ]
        waiting.cancel()
        return mine, theirs

    mine, theirs = play(desk.table.clock, scenario)
    assert (1, 1) == (mine.waiters, mine.hands)
    assert mine.user_pooled_millibits > 0 == theirs.user_pooled_millibits


def test_every_configured_source_is_there_from_the_start():
    """Before its first report it is lost: no data is not good news."""
    desk = Desk()
    desk.table.deliver(10)
    quantis, spare = desk.status().sources
    assert ("quantis", "quantis-usb", True, 6000, 60_000) == (
        quantis.source,
        quantis.driver,
        quantis.required,
        quantis.claimed_millibits,
        quantis.reservoir_millibits,
    )
    assert ("spare", False, types_pb2.SOURCE_STATE_LOST, 0) == (
        spare.source,
        spare.required,
        spare.state,
        spare.reservoir_millibits,
    )
    assert not spare.HasField("last_good_age")


def test_a_source_is_told_as_its_last_report_says():
    desk = Desk()
    kinds = [(HealthTest.REPETITION_COUNT, Verdict.INTERMITTENT)]
    history = HealthHistory()
    for test, verdict in kinds * 2:
        history = history.with_alarm(Failure(test, verdict, 8, 1))
    status = SourceStatus(
        source_id="quantis",
        state=SourceState.ASSESSING,
        since_ns=0,
        samples_total=1000,
        credited_total=600,
        discarded_total=400,
        claimed_millibits=6000,
        assessed_millibits=7100,
        current_millibits=6000,
        samples_assessed=600,
        last_good_ns=START_NS - 2 * SECOND,
        history=history,
    )
    desk.reports.last_reports["quantis"] = Report(
        "quantis", "S9", status, None, lost=False, detail="was out", fault="", reopens=4
    )
    [told] = [source for source in desk.status().sources if source.source == "quantis"]
    assert ("S9", types_pb2.SOURCE_STATE_ASSESSING, "was out", 1000, 600, 7100, 2, 4) == (
        told.serial,
        told.state,
        told.detail,
        told.samples,
        told.credited_samples,
        told.assessed_millibits,
        told.alarms,
        told.reopens,
    )
    assert 2 * SECOND == told.last_good_age.ToNanoseconds()


@pytest.mark.parametrize("kind", [SourceKind.MOCK, SourceKind.REPLAY])
def test_one_simulated_source_makes_the_node_one_for_play(kind):
    mock = NoiseSourceInfo("m", "mock", kind, 8, 1000, "made up")
    assert Desk(infos=(QUANTIS.info, mock)).status().mock
    assert not Desk().status().mock


def test_anybody_who_reaches_a_listener_may_ask_for_status():
    assert "dc1-a" == Desk().status(Identity("room", frozenset())).node


# --- watching ------------------------------------------------------------------------------


class Watcher:
    """Keeps the statuses that a watch told."""

    def __init__(self, desk: Desk, who=ROOM) -> None:
        self.told: list[entropy_service_pb2.GetStatusResponse] = []
        self.error: EntropydError | None = None
        self.task = asyncio.create_task(self._watch(desk, who))

    async def _watch(self, desk: Desk, who: Identity) -> None:
        async def requests():
            yield entropy_service_pb2.WatchStatusRequest()

        try:
            async for response in desk.core.watch_status(requests(), Call(who, None)):
                self.told.append(response.status)
        except EntropydError as error:
            self.error = error


def test_a_watcher_is_told_now_and_when_it_changed():
    """A source lost and back; levels, counts and ages that move wake nobody."""
    desk = Desk()

    async def scenario():
        desk.table.deliver(960)
        watcher = Watcher(desk)
        await settle()
        for change in (
            lambda: desk.table.deliver(960),
            lambda: desk.table.gate.add_user_blob("room", "ann", BLOB, desk.table.clock()),
            lambda: desk.table.stand(state=SourceState.LOST),
            lambda: None,
            desk.table.stand,
        ):
            change()
            desk.table.deliver(960)
            desk.core.feed.poll()
            await settle()
        watcher.task.cancel()
        return watcher

    told = play(desk.table.clock, scenario).told
    assert [True, False, True] == [status.can_deal for status in told]
    assert "SOURCE_LOST" == told[1].hold_reason


def test_watchers_are_told_together_and_each_of_its_own_tenant():
    desk = Desk(user_shortfall=UserShortfall.WAIT)
    other = Identity("other", frozenset({Role.AUDIT}))

    async def scenario():
        desk.table.deliver(960)
        watchers = [Watcher(desk), Watcher(desk), Watcher(desk, other)]
        await settle()
        for user in ("ann", "bob", "cy", "dee"):
            desk.table.gate.add_user_blob("room", user, BLOB + user.encode(), desk.table.clock())
        desk.core.feed.poll()
        await settle()
        for watcher in watchers:
            watcher.task.cancel()
        await settle()
        desk.core.feed.poll()
        return watchers

    told = [
        [status.can_deal for status in watcher.told] for watcher in play(desk.table.clock, scenario)
    ]
    assert [[False, True], [False, True], [False]] == told


def test_a_watch_ends_when_the_daemon_stops():
    desk = Desk()

    async def scenario():
        watcher = Watcher(desk)
        await settle()
        desk.table.dealer.drain()
        await watcher.task
        return watcher

    watcher = play(desk.table.clock, scenario)
    assert 1 == len(watcher.told)
    assert type(watcher.error) is ShuttingDownError


def test_a_status_that_nobody_watches_is_not_computed():
    desk = Desk()
    desk.table.ledger.close()
    desk.core.feed.poll()
