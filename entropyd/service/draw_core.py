"""DrawService without a transport: checks, finds or draws, and reads back.

Order of the checks: permission, then form, then deadline, then existence. A
caller without the role learns nothing of what exists, and whatever is refused
here has spent nothing.

A draw takes its turn at its match. Draws that leave the match as it is have it
together; the first draw of a match, and one from a bag, has it alone, so that
what it was made of still holds when it is recorded. The turn ends with the
record, whether its caller still waits or not.
"""

import hmac
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from entropyd.encoding import check_id
from entropyd.errors import (
    DrawSpentError,
    InternalError,
    MatchNotFoundError,
    MatchTakenError,
    SecretsDestroyedError,
)
from entropyd.games.claims import match_claim_digest
from entropyd.ledger.contract import EventKind, StepReader
from entropyd.ledger.subjects import (
    StepConflict,
    StepRecord,
    StepRecorded,
    StepTaken,
    Subject,
    SubjectKind,
)
from entropyd.runtime.apart import apart
from entropyd.runtime.shared_turns import SharedTurns
from entropyd.runtime.step_calls import StepCalls
from entropyd.runtime.waiter import StepWaiter
from entropyd.service import draw_wishes
from entropyd.service.draw_answers import opening, recorded_draw, summary
from entropyd.service.draw_orders import Settled, is_heavy, match_order, settle
from entropyd.service.draw_records import (
    DrawRecord,
    MatchState,
    read_draw,
    read_match,
    read_told_draw,
)
from entropyd.service.draw_wishes import Wish
from entropyd.service.identity import Call, Role
from entropyd.service.lists import Lists
from entropyd.service.pages import number_of, page_size, token_after
from entropyd.service.patience import Patience
from entropyd.service.reads import EventStore, keep_read
from entropyd.v1 import draw_service_pb2 as pb

# A page ends where the next draw would bring it above this: the largest draw has 2.5 MiB, and an
# answer has room for 4 MiB.
PAGE_BYTES = 1024 * 1024
# So many records are read in one go.
READ_AT_ONCE = 16

Asked = TypeVar("Asked")


class DrawObserver(Protocol):
    """Who counts draws by their kinds."""

    def drew(self, kind: str) -> None:
        """Note that a draw was recorded. Called on the loop's thread; must not block."""
        ...


class DrawCore:
    """Draws in matches."""

    def __init__(
        self,
        calls: StepCalls,
        *,
        ledger: StepReader,
        events: EventStore,
        observer: DrawObserver,
        patience: Patience,
        lists: Lists,
        clock_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        large_seeds: int,
        log: str,
    ) -> None:
        """Make a core.

        Args:
            calls: where draws are asked for.
            ledger: finds what was drawn.
            events: keeps who read what back.
            observer: counts.
            patience: how long calls wait.
            lists: has room for calls with long lists.
            clock_ns: monotonic clock.
            wall_ns: wall clock, for claims only.
            large_seeds: a draw of more seeds is large.
            log: origin of the log.
        """
        self._calls = calls
        self._ledger = ledger
        self._events = events
        self._observer = observer
        self._patience = patience
        self._lists = lists
        self._clock_ns = clock_ns
        self._wall_ns = wall_ns
        self._large_seeds = large_seeds
        self._log = log
        self._turns = SharedTurns()

    async def draw_integers(
        self, request: pb.DrawIntegersRequest, call: Call
    ) -> pb.DrawIntegersResponse:
        """Answer `DrawIntegers`. See the proto for what it raises."""
        drawn, replayed = await self._draw(draw_wishes.integers, request, 0, call)
        return pb.DrawIntegersResponse(draw=drawn, replayed=replayed)

    async def roll_dice(self, request: pb.RollDiceRequest, call: Call) -> pb.RollDiceResponse:
        """Answer `RollDice`."""
        drawn, replayed = await self._draw(draw_wishes.dice, request, 0, call)
        return pb.RollDiceResponse(draw=drawn, replayed=replayed)

    async def shuffle_items(
        self, request: pb.ShuffleItemsRequest, call: Call
    ) -> pb.ShuffleItemsResponse:
        """Answer `ShuffleItems`."""
        labels = len(request.labels)
        drawn, replayed = await self._draw(draw_wishes.items, request, labels, call)
        return pb.ShuffleItemsResponse(draw=drawn, replayed=replayed)

    async def sample(self, request: pb.SampleRequest, call: Call) -> pb.SampleResponse:
        """Answer `Sample`."""
        labels = len(request.labels)
        drawn, replayed = await self._draw(draw_wishes.sample, request, labels, call)
        return pb.SampleResponse(draw=drawn, replayed=replayed)

    async def draw_from_bag(
        self, request: pb.DrawFromBagRequest, call: Call
    ) -> pb.DrawFromBagResponse:
        """Answer `DrawFromBag`."""
        labels = len(request.contents.tiles)
        drawn, replayed = await self._draw(draw_wishes.tiles, request, labels, call)
        return pb.DrawFromBagResponse(draw=drawn, replayed=replayed)

    async def list_draws(self, request: pb.ListDrawsRequest, call: Call) -> pb.ListDrawsResponse:
        """Answer `ListDraws`. Never draws; tells of draws whose secrets are destroyed too."""
        match, size = request.match, page_size(request.page_size)
        after = self._page(match, request.claim, request.page_token, call)
        tenant = call.identity.tenant
        # One more than asked for says whether there are more.
        found = await apart(lambda: self._summaries(tenant, match, after, size + 1))
        draws, more = found[:size], len(found) > size
        return pb.ListDrawsResponse(
            draws=draws, next_page_token=token_after(draws[-1].number) if more else ""
        )

    async def replay_match(
        self, request: pb.ReplayMatchRequest, call: Call
    ) -> pb.ReplayMatchResponse:
        """Answer `ReplayMatch`. Never draws; the read goes into the ledger, an auditor's before."""
        match, size = request.match, page_size(request.page_size)
        after = self._page(match, request.claim, request.page_token, call)
        tenant = call.identity.tenant
        found, more = await self._read(tenant, match, after, size)
        draws = [
            pb.ReplayedDraw(
                draw=recorded_draw(match, step, record),
                opening=opening(record) if request.openings else None,
            )
            for step, record in found
        ]
        await self._keep_read(call, match, openings=request.openings, claimed=bool(request.claim))
        return pb.ReplayMatchResponse(
            draws=draws,
            next_page_token=token_after(draws[-1].draw.number) if more else "",
            tenant=tenant,
        )

    # --- drawing -----------------------------------------------------------------

    async def _draw(
        self, wish_of: Callable[[Asked, str], Wish], request: Asked, labels: int, call: Call
    ) -> tuple[pb.RecordedDraw, bool]:
        call.identity.require(Role.DRAW)
        with self._lists.room(labels):
            wish = await self._lists.apart(labels, lambda: wish_of(request, call.identity.tenant))
            answer_by_ns = self._patience.answer_by_ns(call)
            with self._calls.call() as arrived_ns:
                step, replayed = await self._find_or_draw(wish, answer_by_ns)
                if replayed:
                    self._calls.note_replayed(arrived_ns)
            return await self._lists.apart(
                len(step.secret) // 16, lambda: (_answer(wish.match, step), replayed)
            )

    async def _find_or_draw(self, wish: Wish, answer_by_ns: int) -> tuple[StepRecord, bool]:
        while True:
            match, found = self._find(wish)
            if found is not None:
                return found, True
            other = self._calls.in_progress(wish.key)
            if other is not None:
                await self._calls.follow(other, answer_by_ns)
                continue
            waiter = await self._enqueue(wish, match, answer_by_ns)
            if waiter is not None:
                return await self._outcome(wish, waiter, answer_by_ns)

    async def _enqueue(
        self, wish: Wish, match: MatchState | None, answer_by_ns: int
    ) -> StepWaiter | None:
        """Take a turn and let the draw wait; None if somebody else was first meanwhile.

        `match` was read just now: who waited for the turn reads it again.
        """
        alone = wish.changes_bags or match is None
        end_turn = self._turns.take_now((wish.tenant, wish.match), alone=alone)
        waited = end_turn is None
        if end_turn is None:
            end_turn = await self._turn(wish, answer_by_ns, alone=alone)
        waiter: StepWaiter | None = None
        try:
            waiter = await self._enqueue_in_turn(wish, match, look_again=waited)
        finally:
            if waiter is None or waiter.decided:
                end_turn()
            else:
                waiter.listen(lambda _decided: end_turn())
        return waiter

    async def _enqueue_in_turn(
        self, wish: Wish, match: MatchState | None, *, look_again: bool
    ) -> StepWaiter | None:
        if look_again:
            if self._calls.in_progress(wish.key) is not None:
                return None
            match, found = self._find(wish)
            if found is not None:
                return None
        match = match or MatchState(wish.claim_digest)
        prepared = wish.prepare(match)
        settled = await self._settle(wish, prepared)
        # Others that have the turn too may have begun the same draw while seeds were counted.
        if self._calls.in_progress(wish.key) is not None:
            return None
        return self._calls.enqueue(match_order(wish, prepared, settled, match, self._log))

    async def _settle(self, wish: Wish, prepared: draw_wishes.Prepared) -> Settled:
        rules = prepared.rules
        if is_heavy(rules):
            return await apart(lambda: settle(rules, wish.large, self._large_seeds))
        return settle(rules, wish.large, self._large_seeds)

    async def _turn(self, wish: Wish, answer_by_ns: int, *, alone: bool) -> Callable[[], None]:
        patience_s = (answer_by_ns - self._clock_ns()) / 1e9
        try:
            return await self._turns.take(
                (wish.tenant, wish.match), alone=alone, patience_s=patience_s
            )
        except TimeoutError:
            raise self._calls.busy(f"other draws of match {wish.match!r} go first") from None

    async def _outcome(
        self, wish: Wish, waiter: StepWaiter, answer_by_ns: int
    ) -> tuple[StepRecord, bool]:
        [outcome] = await self._calls.outcomes(waiter, answer_by_ns)
        match outcome:
            case StepRecorded(record):
                self._observer.drew(wish.kind)
                return record, False
            case StepTaken():
                _, found = self._find(wish)
                if found is not None:
                    return found, True
            case StepConflict():
                pass
        raise InternalError(f"match {wish.match!r} changed while nobody had its turn")

    # --- finding ------------------------------------------------------------------

    def _match_of(self, tenant: str, match: str, claim_digest: bytes | None) -> MatchState | None:
        subject = self._ledger.subject(SubjectKind.MATCH, tenant, match)
        if subject is None:
            return None
        _require_claim(subject, claim_digest)
        return read_match(subject)

    def _find(self, wish: Wish) -> tuple[MatchState | None, StepRecord | None]:
        """Return a draw's match, if it goes on, and the draw if it was made as it is asked for."""
        match = self._match_of(wish.tenant, wish.match, wish.claim_digest)
        if match is None:
            return None, None
        step = self._ledger.step(SubjectKind.MATCH, wish.tenant, wish.match, wish.draw)
        if step is None or wish.made(read_draw(step), match):
            return match, step
        raise DrawSpentError(
            f"draw {wish.draw!r} of match {wish.match!r} was made with other parameters; it stays"
            " as it is: use a new draw id"
        )

    # --- reading back ---------------------------------------------------------------

    def _page(self, match: str, claim: bytes, token: str, call: Call) -> int:
        """Check who reads a match back; return after which draw the page begins."""
        call.identity.require(Role.DRAW, Role.AUDIT)
        tenant = call.identity.tenant
        check_id("match", match)
        auditing = Role.AUDIT in call.identity.roles and not claim
        digest = None if auditing else match_claim_digest(tenant, match, claim)
        after = number_of(token)
        # Of the matches that begin with this name it comes first, without its secret: what is in
        # the bag now says nothing here, and may be destroyed.
        told = self._ledger.subjects(SubjectKind.MATCH, tenant, match, None, "", 1)
        if not told or told[0].name != match:
            self._calls.require_served(match)
            raise MatchNotFoundError(f"nobody drew in match {match!r} here")
        _require_claim(told[0], digest)
        return after

    def _summaries(
        self, tenant: str, match: str, after: int, limit: int
    ) -> Sequence[pb.DrawSummary]:
        told = self._ledger.told_steps(SubjectKind.MATCH, tenant, match, after, limit)
        return [summary(match, step, self._rules_of(tenant, match, step)) for step in told]

    def _rules_of(self, tenant: str, match: str, told: StepRecord) -> str:
        """Return a draw's rules as text; those of a bag are empty once they are destroyed."""
        rules = read_told_draw(told).rules
        if not rules:
            try:
                step = self._ledger.step(SubjectKind.MATCH, tenant, match, told.key)
            except SecretsDestroyedError:
                return ""
            rules = b"" if step is None else read_draw(step).rules.encode()
        return rules.decode("ascii")

    async def _read(
        self, tenant: str, match: str, after: int, size: int
    ) -> tuple[Sequence[tuple[StepRecord, DrawRecord]], bool]:
        """Return the draws of a page, and whether there are more."""
        return await apart(lambda: self._read_page(tenant, match, after, size))

    def _read_page(
        self, tenant: str, match: str, after: int, size: int
    ) -> tuple[Sequence[tuple[StepRecord, DrawRecord]], bool]:
        found: list[tuple[StepRecord, DrawRecord]] = []
        taken = 0
        while True:
            steps = self._ledger.steps(SubjectKind.MATCH, tenant, match, after, READ_AT_ONCE)
            for step in steps:
                taken += len(step.public) + len(step.secret)
                if found and (len(found) == size or taken > PAGE_BYTES):
                    return found, True
                found.append((step, read_draw(step)))
                after = step.number
            if not steps:
                return found, False

    async def _keep_read(self, call: Call, match: str, *, openings: bool, claimed: bool) -> None:
        auditing = Role.AUDIT in call.identity.roles and not claimed
        role = Role.AUDIT if auditing or Role.DRAW not in call.identity.roles else Role.DRAW
        await keep_read(
            self._events,
            EventKind.MATCH_READ,
            f"{call.identity.tenant}/{match}",
            {"role": role, "openings": openings},
            at_ns=self._wall_ns(),
            durable=auditing,
        )


def _require_claim(match: Subject, digest: bytes | None) -> None:
    """Refuse another claim than the one that drew in a match first; None is an auditor's."""
    if digest is not None and not hmac.compare_digest(match.state, digest):
        raise MatchTakenError(
            f"match {match.name!r} is another claim's, which drew in it first; use another match"
            " id, and if no other program draws for this tenant, treat it as an alarm"
        )


def _answer(match: str, step: StepRecord) -> pb.RecordedDraw:
    return recorded_draw(match, step, read_draw(step))
