"""FairService without a transport: checks, makes or finds steps, and reads back.

Order of the checks: permission, then form, then deadline, then existence. A
caller without the role learns nothing of what exists, and whatever is refused
here has changed nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from entropyd.encoding import check_id
from entropyd.errors import NotFoundError, RequestError, RoundSpentError, WrongStateError
from entropyd.games.pair_line import PairLine, check_reason
from entropyd.games.pair_records import ROTATED, EndRecord, decode_reveal
from entropyd.games.pair_steps import LineOwner
from entropyd.games.seed_pair import check_client_seed
from entropyd.runtime.apart import apart
from entropyd.runtime.fair import FairLines
from entropyd.runtime.fair_sweep import FairSweep
from entropyd.runtime.line_records import LineRecords, RoundView
from entropyd.service.fair_messages import (
    pair_message,
    profile_of,
    revealed_message,
    round_ask,
    round_message,
    shown_hash,
)
from entropyd.service.fair_pages import FairPages
from entropyd.service.identity import Call, Role
from entropyd.service.patience import Patience
from entropyd.v1 import fair_service_pb2 as pb
from entropyd.v1 import types_pb2


class FairCore:
    """Plays rounds from seed pairs."""

    def __init__(
        self,
        lines: FairLines,
        records: LineRecords,
        sweep: FairSweep,
        *,
        patience: Patience,
        wall_ns: Callable[[], int],
    ) -> None:
        """Make a core.

        Args:
            lines: makes the steps.
            records: reads them back.
            sweep: says which pairs are overdue; the daemon has it reveal them.
            patience: how long calls wait.
            wall_ns: wall clock, for what is overdue.
        """
        self._lines = lines
        self._records = records
        self._sweep = sweep
        self._patience = patience
        self._wall_ns = wall_ns
        self._pages = FairPages(records, self._pair)

    # --- pairs -------------------------------------------------------------------------

    async def open_pair(self, request: pb.OpenPairRequest, call: Call) -> pb.OpenPairResponse:
        """Answer `OpenPair`. See the proto for what it raises."""
        owner = _owner(request.player, call, Role.DRAW)
        profile = profile_of(request.profile, self._lines.limits.profile)
        opened = await self._lines.open(owner, profile, self._patience.answer_by_ns(call))
        return pb.OpenPairResponse(
            pair=self._present(owner),
            replayed=opened.replayed,
            provenance=_provenance(self._records.opening(owner)),
        )

    async def set_client_seed(
        self, request: pb.SetClientSeedRequest, call: Call
    ) -> pb.SetClientSeedResponse:
        """Answer `SetClientSeed`."""
        owner = _owner(request.player, call, Role.DRAW)
        check_client_seed("client_seed", request.client_seed)
        shown, answer_by_ns = shown_hash(request), self._patience.answer_by_ns(call)
        with self._on_this_node(owner):
            await self._lines.set_client_seed(owner, shown, request.client_seed, answer_by_ns)
            return pb.SetClientSeedResponse(pair=self._present(owner))

    async def rotate_pair(self, request: pb.RotatePairRequest, call: Call) -> pb.RotatePairResponse:
        """Answer `RotatePair`."""
        owner = _owner(request.player, call, Role.DRAW)
        if not request.pair:
            raise RequestError("pair", "is missing; name the pair that is to be revealed")
        answer_by_ns = self._patience.answer_by_ns(call)
        with self._on_this_node(owner):
            made = await self._lines.rotate(owner, request.pair, ROTATED, answer_by_ns)
        revealed = decode_reveal(made.record.public)
        return pb.RotatePairResponse(
            revealed=revealed_message(owner.player, revealed, made.record.at_ns),
            pair=self._present(owner),
            replayed=made.replayed,
            provenance=_provenance(revealed.provenance),
        )

    async def get_pair(self, request: pb.GetPairRequest, call: Call) -> pb.GetPairResponse:
        """Answer `GetPair`. Never changes anything."""
        owner = _owner(request.player, call, Role.DRAW, Role.AUDIT)
        with self._on_this_node(owner):
            return pb.GetPairResponse(pair=self._present(owner))

    # --- rounds ------------------------------------------------------------------------

    async def play_round(self, request: pb.PlayRoundRequest, call: Call) -> pb.PlayRoundResponse:
        """Answer `PlayRound`. Whoever asks gets what is recorded, never what was computed."""
        owner = _owner(request.key.player, call, Role.DRAW, field="key.player")
        ask, answer_by_ns = round_ask(request), self._patience.answer_by_ns(call)
        with self._on_this_node(owner):
            made = await self._lines.play(owner, ask, answer_by_ns)
        view = self._records.view(owner, made.record)
        if not ask.is_of(view.record):
            raise RoundSpentError(
                f"round {ask.round_id!r} was played with other rules; it stays as it is: use a new"
                " round id"
            )
        return pb.PlayRoundResponse(round=round_message(owner.player, view), replayed=made.replayed)

    async def close_round(self, request: pb.CloseRoundRequest, call: Call) -> pb.CloseRoundResponse:
        """Answer `CloseRound`."""
        view, owner = await self._end(request.key, "", call)
        return pb.CloseRoundResponse(round=round_message(owner.player, view))

    async def void_round(self, request: pb.VoidRoundRequest, call: Call) -> pb.VoidRoundResponse:
        """Answer `VoidRound`."""
        call.identity.require(Role.DRAW)
        reason = check_reason(request.reason)
        view, owner = await self._end(request.key, reason, call)
        return pb.VoidRoundResponse(round=round_message(owner.player, view))

    async def get_round(self, request: pb.GetRoundRequest, call: Call) -> pb.GetRoundResponse:
        """Answer `GetRound`. The seed is there once its pair was rotated, and not before."""
        owner = _owner(request.key.player, call, Role.DRAW, Role.AUDIT, field="key.player")
        check_id("key.round", request.key.round)
        with self._on_this_node(owner):
            view = self._records.round(owner, request.key.round)
        revealed = self._records.revealed(owner, view.record.pair)
        return pb.GetRoundResponse(
            round=round_message(owner.player, view),
            revealed=None if revealed is None else revealed_message(owner.player, *revealed),
        )

    # --- lists -------------------------------------------------------------------------

    async def list_rounds(self, request: pb.ListRoundsRequest, call: Call) -> pb.ListRoundsResponse:
        """Answer `ListRounds`."""
        owner = _owner(request.player, call, Role.DRAW, Role.AUDIT)
        with self._on_this_node(owner):
            return await apart(lambda: self._pages.rounds(request, owner))

    async def list_pairs(self, request: pb.ListPairsRequest, call: Call) -> pb.ListPairsResponse:
        """Answer `ListPairs`."""
        call.identity.require(Role.DRAW, Role.AUDIT)
        if not request.player:
            tenant = call.identity.tenant
            return await apart(lambda: self._pages.present_pairs(request, tenant))
        owner = _owner(request.player, call, Role.DRAW, Role.AUDIT)
        with self._on_this_node(owner):
            return await apart(lambda: self._pages.pairs_of(request, owner))

    # --- what these share --------------------------------------------------------------

    async def _end(
        self, key: pb.RoundKey, void_reason: str, call: Call
    ) -> tuple[RoundView, LineOwner]:
        owner = _owner(key.player, call, Role.DRAW, field="key.player")
        check_id("key.round", key.round)
        answer_by_ns = self._patience.answer_by_ns(call)
        with self._on_this_node(owner):
            view = self._records.round(owner, key.round)
        if view.is_open:
            await self._lines.end(owner, EndRecord(key.round, void_reason), answer_by_ns)
            view = self._records.round(owner, key.round)
        if view.void_reason != void_reason:
            ended = f"voided as {view.void_reason!r}" if view.void_reason else "CLOSED"
            raise WrongStateError(f"round {key.round!r} is {ended} already and stays so")
        return view, owner

    def _present(self, owner: LineOwner) -> pb.Pair:
        return self._pair(owner, self._records.line(owner))

    def _pair(self, owner: LineOwner, line: PairLine) -> pb.Pair:
        overdue = self._sweep.is_overdue(owner, line, self._wall_ns())
        return pair_message(owner.player, line, overdue=overdue)

    @contextmanager
    def _on_this_node(self, owner: LineOwner) -> Iterator[None]:
        """Tell of what is not found whether another node may have it.

        Raises:
            WrongNodeError: the player is another node's.
        """
        try:
            yield
        except NotFoundError:
            self._lines.require_served(owner)
            raise


def _owner(player: str, call: Call, *roles: Role, field: str = "player") -> LineOwner:
    """Return whose line, if the caller may.

    Raises:
        PermissionDeniedError: it may not.
        RequestError: the player is no id; names `field`.
    """
    call.identity.require(*roles)
    check_id(field, player)
    return LineOwner(call.identity.tenant, player)


def _provenance(encoded: bytes) -> types_pb2.Provenance:
    return types_pb2.Provenance.FromString(encoded)
