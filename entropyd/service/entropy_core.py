"""EntropyService without a transport: user entropy in, status out."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Protocol

from entropyd.entropy.gate import Gate
from entropyd.entropy.source import NoiseSourceInfo, SourceKind
from entropyd.entropy.source_state import SourceState
from entropyd.entropy.user import Added
from entropyd.errors import OverloadError, RequestError, ShuttingDownError
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.intake import Intake
from entropyd.runtime.reader import Report
from entropyd.service.identity import Call, Role
from entropyd.service.provenance import KINDS, STATES, duration
from entropyd.service.status_feed import StatusFeed
from entropyd.v1 import entropy_service_pb2


class HandCounter(Protocol):
    """What status needs of the ledger."""

    def count(self) -> int:
        """See `Ledger.count`."""
        ...


class EntropyObserver(Protocol):
    """Who counts user entropy, and knows since when dealing has been held."""

    @property
    def held_since_ns(self) -> int | None:
        """Monotonic time at which the present hold began; None while dealing is possible."""
        ...

    def contributed(self, tenant: str, outcome: str) -> None:
        """Note what became of user entropy: `accepted`, `replayed`, `limited` or `refused`."""
        ...


class EntropyCore:
    """Takes user entropy in and tells how entropy stands.

    Attributes:
        feed: wakes those that watch the status; to be polled a few times a second.
    """

    def __init__(
        self,
        *,
        gate: Gate,
        intake: Intake,
        dealer: Dealer,
        hands: HandCounter,
        observer: EntropyObserver,
        infos: Mapping[str, NoiseSourceInfo],
        required: Mapping[str, bool],
        node: str,
        version: str,
        clock_ns: Callable[[], int],
    ) -> None:
        """Make a core.

        Args:
            gate: takes user entropy and knows the levels.
            intake: has the last report of every source.
            dealer: knows who waits, and is woken by user entropy.
            hands: counts recorded hands.
            observer: counts, and says since when dealing is held.
            infos: every configured source by id.
            required: whether dealing holds without it.
            node: name of the node.
            version: the daemon's version.
            clock_ns: monotonic clock.
        """
        self._gate = gate
        self._intake = intake
        self._dealer = dealer
        self._hands = hands
        self._observer = observer
        self._infos = infos
        self._required = required
        self._node = node
        self._version = version
        self._clock_ns = clock_ns
        self.feed = StatusFeed(self._status, dealer.draining)

    async def add_user_entropy(
        self, request: entropy_service_pb2.AddUserEntropyRequest, call: Call
    ) -> entropy_service_pb2.AddUserEntropyResponse:
        """Answer `AddUserEntropy`."""
        call.identity.require(Role.CONTRIBUTE)
        tenant, now_ns = call.identity.tenant, self._clock_ns()
        try:
            added = self._add(request, tenant, now_ns)
        except (RequestError, OverloadError) as error:
            limited = isinstance(error, OverloadError)
            self._observer.contributed(tenant, "limited" if limited else "refused")
            raise
        self._observer.contributed(tenant, "replayed" if added.replayed else "accepted")
        pooled = self._gate.user_millibits(tenant, now_ns)
        self._dealer.pump()
        return entropy_service_pb2.AddUserEntropyResponse(
            estimated_millibits=added.estimated_millibits, pooled_millibits=pooled
        )

    async def get_status(
        self, _request: entropy_service_pb2.GetStatusRequest, call: Call
    ) -> entropy_service_pb2.GetStatusResponse:
        """Answer `GetStatus`. Any identity may ask; it tells levels, never values."""
        return self._status(call.identity.tenant)

    async def watch_status(
        self, _requests: AsyncIterator[entropy_service_pb2.WatchStatusRequest], call: Call
    ) -> AsyncGenerator[entropy_service_pb2.WatchStatusResponse, None]:
        """Answer `WatchStatus`, until the daemon stops."""
        async with aclosing(self.feed.watch(call.identity.tenant)) as statuses:
            async for status in statuses:
                yield entropy_service_pb2.WatchStatusResponse(status=status)
        raise ShuttingDownError("the daemon is stopping; watch again when it is back")

    def _status(self, tenant: str) -> entropy_service_pb2.GetStatusResponse:
        now_ns = self._clock_ns()
        hold = self._dealer.hold(tenant)
        since_ns = self._observer.held_since_ns
        simulated = {SourceKind.MOCK, SourceKind.REPLAY}
        return entropy_service_pb2.GetStatusResponse(
            can_deal=hold is None,
            hold_reason="" if hold is None else hold.why,
            hold_text="" if hold is None else hold.text,
            held_for=duration(0 if hold is None or since_ns is None else now_ns - since_ns),
            sources=[self._source(source_id, now_ns) for source_id in self._infos],
            waiters=self._dealer.waiters,
            hands=self._hands.count(),
            policy=self._gate.policy.describe(),
            node=self._node,
            version=self._version,
            mock=any(info.kind in simulated for info in self._infos.values()),
            user_pooled_millibits=self._gate.user_millibits(tenant, now_ns),
        )

    def _add(
        self, request: entropy_service_pb2.AddUserEntropyRequest, tenant: str, now_ns: int
    ) -> Added:
        if bool(request.blob) == bool(request.events):
            raise RequestError(
                "blob", "give exactly one of `blob` and `events`, and not an empty one"
            )
        if request.blob:
            return self._gate.add_user_blob(tenant, request.user, request.blob, now_ns)
        events = [(event.x, event.y, event.time_us) for event in request.events]
        return self._gate.add_user_events(tenant, request.user, events, now_ns)

    def _source(self, source_id: str, now_ns: int) -> entropy_service_pb2.SourceStatus:
        info = self._infos[source_id]
        message = entropy_service_pb2.SourceStatus(
            source=source_id,
            driver=info.driver,
            kind=KINDS[info.kind],
            state=STATES[SourceState.LOST],
            required=self._required[source_id],
            claimed_millibits=info.claimed_millibits,
            reservoir_millibits=self._gate.source_level_millibits(source_id, now_ns),
        )
        report = self._intake.last_reports.get(source_id)
        if report is not None:
            _add_report(message, report, now_ns)
        return message


def _add_report(message: entropy_service_pb2.SourceStatus, report: Report, now_ns: int) -> None:
    status = report.status
    message.serial = report.serial
    message.state = STATES[status.state]
    message.detail = report.detail
    message.samples = status.samples_total
    message.credited_samples = status.credited_total
    message.assessed_millibits = status.assessed_millibits or 0
    message.alarms = sum(status.history.alarms.values())
    message.reopens = report.reopens
    if status.last_good_ns is not None:
        message.last_good_age.FromNanoseconds(now_ns - status.last_good_ns)
