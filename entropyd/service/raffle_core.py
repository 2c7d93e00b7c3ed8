"""RaffleService without a transport: seals, draws once, and reads back.

Order of the checks: permission, then form, then deadline, then existence, as
of draws. A list is recorded before any seed of its draw exists; the raffles of
a tenant are sealed one after the other, so that their numbers have no gap.
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from entropyd.encoding import check_id
from entropyd.errors import (
    InternalError,
    RaffleNotFoundError,
    RaffleSealedError,
    RequestError,
)
from entropyd.games.claims import raffle_claim_digest
from entropyd.games.raffle import RAFFLE_DRAW, RaffleRules, canonical_entries, raffle_binding
from entropyd.ledger.contract import EventKind, StepReader
from entropyd.ledger.packed import pack_texts
from entropyd.ledger.subjects import StepDraft, StepRecorded, SubjectKind
from entropyd.rbg.construction import DrawSeeds
from entropyd.runtime.apart import apart
from entropyd.runtime.orders import StepOrder
from entropyd.runtime.shared_turns import SharedTurns
from entropyd.runtime.step_calls import StepCalls
from entropyd.service.draw_answers import opening
from entropyd.service.draw_core import DrawObserver
from entropyd.service.draw_entries import with_raffle_entry, with_seal_entry
from entropyd.service.draw_orders import drawn_outcome, is_heavy, record_of, settle
from entropyd.service.draw_records import DrawRecord, read_draw
from entropyd.service.draw_wishes import Prepared, sampler_of
from entropyd.service.identity import Call, Role
from entropyd.service.lists import Lists
from entropyd.service.patience import Patience
from entropyd.service.raffle_records import (
    ALL_RAFFLES,
    SEAL_STEP,
    Sealed,
    drawn_steps,
    read_sealed,
    seal_steps,
)
from entropyd.service.reads import EventStore, keep_read
from entropyd.v1 import draw_service_pb2, types_pb2
from entropyd.v1 import raffle_service_pb2 as pb


@dataclass(frozen=True, slots=True)
class _SealWish:
    tenant: str
    raffle: str
    claim_digest: bytes = field(repr=False)
    rules: RaffleRules
    packed_entries: bytes = field(repr=False)
    large: "draw_service_pb2.Large.ValueType"


class RaffleCore:
    """Seals and draws raffles."""

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
        """Make a core; see `DrawCore`."""
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

    async def seal_entries(
        self, request: pb.SealEntriesRequest, call: Call
    ) -> pb.SealEntriesResponse:
        """Answer `SealEntries`. See the proto for what it raises."""
        call.identity.require(Role.DRAW)
        texts = len(request.entries)
        with self._lists.room(texts):
            wish = await self._lists.apart(texts, lambda: _wish(request, call.identity.tenant))
            answer_by_ns = self._patience.answer_by_ns(call)
            with self._calls.call() as arrived_ns:
                found = self._sealed(wish)
                replayed = found is not None
                sealed = found or await self._seal(wish, answer_by_ns)
                if replayed:
                    self._calls.note_replayed(arrived_ns)
            return pb.SealEntriesResponse(raffle=_raffle(sealed, None), replayed=replayed)

    async def draw(self, request: pb.DrawRequest, call: Call) -> pb.DrawResponse:
        """Answer `Draw`. See the proto for what it raises."""
        call.identity.require(Role.DRAW)
        tenant, raffle = call.identity.tenant, request.raffle
        digest = raffle_claim_digest(tenant, raffle, request.claim)
        answer_by_ns = self._patience.answer_by_ns(call)
        with self._calls.call() as arrived_ns:
            sealed = await self._require(tenant, raffle, digest)
            if request.entries_hash and request.entries_hash != sealed.rules.entries:
                raise RequestError(
                    "entries_hash",
                    f"is not that of the sealed entries, {sealed.rules.entries.hex()}; the raffle"
                    " can be drawn from those alone",
                )
            record, replayed = await self._find_or_draw(tenant, sealed, digest, answer_by_ns)
            if replayed:
                self._calls.note_replayed(arrived_ns)
        told = await self._lists.apart(sealed.rules.n, lambda: _raffle(sealed, record))
        return pb.DrawResponse(raffle=told, replayed=replayed)

    async def get_raffle(self, request: pb.GetRaffleRequest, call: Call) -> pb.GetRaffleResponse:
        """Answer `GetRaffle`. Never draws; the read goes into the ledger, an auditor's before."""
        call.identity.require(Role.DRAW, Role.AUDIT)
        tenant, raffle = call.identity.tenant, request.raffle
        check_id("raffle", raffle)
        auditing = Role.AUDIT in call.identity.roles and not request.claim
        digest = None if auditing else raffle_claim_digest(tenant, raffle, request.claim)
        sealed = await self._require(tenant, raffle, digest)
        record = self._drawn(tenant, raffle)
        await self._keep_read(call, request, auditing=auditing)
        return await self._lists.apart(
            sealed.rules.n, lambda: _told(tenant, sealed, record, request)
        )

    # --- sealing -------------------------------------------------------------------

    def _sealed(self, wish: _SealWish) -> Sealed | None:
        """Return a raffle that was sealed as it is asked for, or None."""
        found = self._find(wish.tenant, wish.raffle, wish.claim_digest)
        if found is None:
            return None
        rules = found.rules
        as_asked = RaffleRules(
            entries=wish.rules.entries,
            n=wish.rules.n,
            winners=wish.rules.winners,
            alternates=wish.rules.alternates,
            sampler=wish.rules.sampler,
            computational=rules.computational
            and wish.large == draw_service_pb2.LARGE_COMPUTATIONAL,
        )
        if rules == as_asked:
            return found
        raise _sealed_otherwise(wish.raffle)

    async def _seal(self, wish: _SealWish, answer_by_ns: int) -> Sealed:
        rules = await self._settled(wish)
        end_turn = await self._turn(wish, answer_by_ns)
        recording = None
        try:
            found = self._sealed(wish)
            if found is not None:
                return found
            listed = self._ledger.subject(SubjectKind.RAFFLES, wish.tenant, ALL_RAFFLES)
            number = 1 if listed is None else listed.steps + 1
            sealed = Sealed(wish.raffle, number, rules, wish.packed_entries, self._wall_ns())
            listed_step, own = seal_steps(wish.tenant, sealed, wish.claim_digest)
            drafts = (listed_step, with_seal_entry(own, sealed, self._log))
            recording = self._calls.record(wish.tenant, wish.raffle, drafts)
            recording.listen(lambda _decided: end_turn())
        finally:
            if recording is None:
                end_turn()
        outcomes = await self._calls.outcomes(recording, answer_by_ns)
        match outcomes:
            case [StepRecorded(), StepRecorded(record=recorded)]:
                return read_sealed(wish.raffle, recorded)
        raise InternalError(f"raffle {wish.raffle!r} was sealed while nobody had the turn")

    async def _settled(self, wish: _SealWish) -> RaffleRules:
        if is_heavy(wish.rules):
            settled = await apart(lambda: settle(wish.rules, wish.large, self._large_seeds))
        else:
            settled = settle(wish.rules, wish.large, self._large_seeds)
        if not isinstance(settled.rules, RaffleRules):
            raise InternalError("the rules of a raffle became others")
        return settled.rules

    async def _turn(self, wish: _SealWish, answer_by_ns: int) -> Callable[[], None]:
        patience_s = (answer_by_ns - self._clock_ns()) / 1e9
        try:
            return await self._turns.take(wish.tenant, alone=True, patience_s=patience_s)
        except TimeoutError:
            raise self._calls.busy("other raffles are sealed first") from None

    # --- drawing --------------------------------------------------------------------

    async def _find_or_draw(
        self, tenant: str, sealed: Sealed, claim_digest: bytes, answer_by_ns: int
    ) -> tuple[DrawRecord, bool]:
        key = ("raffle", tenant, sealed.raffle)
        # Its seeds are counted before it is looked up: from then on nobody else has a turn.
        order = await self._order(tenant, sealed, claim_digest, key)
        while True:
            found = self._drawn(tenant, sealed.raffle)
            if found is not None:
                return found, True
            other = self._calls.in_progress(key)
            if other is None:
                break
            await self._calls.follow(other, answer_by_ns)
        [outcome] = await self._calls.outcomes(self._calls.enqueue(order), answer_by_ns)
        if not isinstance(outcome, StepRecorded):
            raise InternalError(f"raffle {sealed.raffle!r} was drawn by nobody")
        self._observer.drew(sealed.rules.kind)
        return read_draw(outcome.record), False

    async def _order(
        self, tenant: str, sealed: Sealed, claim_digest: bytes, key: tuple[str, ...]
    ) -> StepOrder:
        rules = sealed.rules
        heavy = is_heavy(rules)
        seeds = await apart(rules.seeds_needed) if heavy else rules.seeds_needed()
        binding = raffle_binding(tenant, sealed.raffle, rules)
        return StepOrder(
            tenant=tenant,
            place=sealed.raffle,
            key=key,
            binding=binding,
            seeds=seeds,
            make=partial(_steps, self._log, tenant, sealed, claim_digest, binding),
            heavy=heavy,
            # Sealed as it is, it is waited for whatever `large_seeds` is by now.
            gathers=seeds > self._large_seeds,
        )

    # --- finding --------------------------------------------------------------------

    def _find(self, tenant: str, raffle: str, claim_digest: bytes | None) -> Sealed | None:
        """Return a raffle to whoever may have it, or None if it was never sealed."""
        subject = self._ledger.subject(SubjectKind.RAFFLE, tenant, raffle)
        if subject is None:
            return None
        if claim_digest is not None and not hmac.compare_digest(subject.state, claim_digest):
            raise _sealed_otherwise(raffle)
        step = self._ledger.step(SubjectKind.RAFFLE, tenant, raffle, SEAL_STEP)
        if step is None:
            raise InternalError(f"raffle {raffle!r} has steps and was never sealed")
        return read_sealed(raffle, step)

    async def _require(self, tenant: str, raffle: str, claim_digest: bytes | None) -> Sealed:
        # How long its list is, is not known before: the ledger is read on another thread.
        found = await apart(lambda: self._find(tenant, raffle, claim_digest))
        if found is None:
            self._calls.require_served(raffle)
            raise RaffleNotFoundError(
                f"raffle {raffle!r} was never sealed here; SealEntries seals it"
            )
        return found

    def _drawn(self, tenant: str, raffle: str) -> DrawRecord | None:
        step = self._ledger.step(SubjectKind.RAFFLE, tenant, raffle, RAFFLE_DRAW)
        return None if step is None else read_draw(step)

    async def _keep_read(self, call: Call, request: pb.GetRaffleRequest, *, auditing: bool) -> None:
        role = Role.AUDIT if auditing or Role.DRAW not in call.identity.roles else Role.DRAW
        await keep_read(
            self._events,
            EventKind.RAFFLE_READ,
            f"{call.identity.tenant}/{request.raffle}",
            {"role": role, "entries": request.entries, "opening": request.opening},
            at_ns=self._wall_ns(),
            durable=auditing,
        )


def _wish(request: pb.SealEntriesRequest, tenant: str) -> _SealWish:
    digest = raffle_claim_digest(tenant, request.raffle, request.claim)
    sampler = sampler_of(request.sampler)
    entries = canonical_entries(request.entries)
    rules = RaffleRules(
        entries=entries.digest,
        n=len(entries),
        winners=request.winners,
        alternates=request.alternates,
        sampler=sampler,
    )
    packed = pack_texts(entries.texts)
    return _SealWish(tenant, request.raffle, digest, rules, packed, request.large)


def _sealed_otherwise(raffle: str) -> RaffleSealedError:
    return RaffleSealedError(
        f"raffle {raffle!r} was sealed with other entries, numbers or another claim; it stays as it"
        " is: use a new raffle id, and if no other program draws for this tenant, treat it as an"
        " alarm"
    )


def _steps(  # noqa: PLR0917  the first five are bound where the order is made
    log: str,
    tenant: str,
    sealed: Sealed,
    claim_digest: bytes,
    binding: bytes,
    seeds: DrawSeeds,
    provenance: bytes,
    drawn_at_ns: int,
) -> Sequence[StepDraft]:
    outcome = drawn_outcome(sealed.rules, binding, seeds)
    record = record_of(Prepared(sealed.rules, ()), outcome, seeds, provenance)
    [draft] = drawn_steps(tenant, sealed.raffle, claim_digest, record, drawn_at_ns)
    return [with_raffle_entry(draft, record, sealed.rules.entries, log)]


def _raffle(sealed: Sealed, record: DrawRecord | None) -> pb.Raffle:
    rules = sealed.rules
    told = pb.Raffle(
        raffle=sealed.raffle,
        number=sealed.number,
        entries_hash=rules.entries,
        n=rules.n,
        winners=rules.winners,
        alternates=rules.alternates,
        rules=rules.encode().decode("ascii"),
        result=None if record is None else _result(sealed, record),
        log_index=sealed.log_index or 0,
    )
    told.sealed_at.FromNanoseconds(sealed.at_ns)
    return told


def _result(sealed: Sealed, record: DrawRecord) -> pb.RaffleResult:
    items = sealed.rules.decode_result(record.result)
    entries = sealed.entries
    texts = [entries[item] for item in items]
    winners = sealed.rules.winners
    return pb.RaffleResult(
        items=items,
        winners=texts[:winners],
        alternates=texts[winners:],
        commitment=record.commitment,
        result_root=record.result_root,
        provenance=types_pb2.Provenance.FromString(record.provenance),
        log_index=record.log_index or 0,
    )


def _told(
    tenant: str, sealed: Sealed, record: DrawRecord | None, request: pb.GetRaffleRequest
) -> pb.GetRaffleResponse:
    return pb.GetRaffleResponse(
        raffle=_raffle(sealed, record),
        entries=sealed.entries if request.entries else (),
        opening=opening(record) if record is not None and request.opening else None,
        tenant=tenant,
    )
