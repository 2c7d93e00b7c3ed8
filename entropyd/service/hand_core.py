"""HandService without a transport: checks, makes or finds steps, and answers from the record.

Order of the checks: permission, then form, then deadline, then existence. A
caller without the role learns nothing of what exists, and whatever is refused
here has changed nothing.
"""

from collections.abc import Callable

from entropyd.errors import EntropydError, PlaceDealtError, RequestError
from entropyd.hands.claim import claim_digest
from entropyd.hands.hand import OWN_REASONS, check_reason
from entropyd.runtime.hand_turns import HandName
from entropyd.runtime.hands import Hands
from entropyd.runtime.kept_hands import KeptHand
from entropyd.service.error_table import refusal
from entropyd.service.hand_feed import HandFeed
from entropyd.service.hand_lookups import ask_of, binding_of
from entropyd.service.hand_messages import HandMessages, cards
from entropyd.service.hand_orders import (
    DealWish,
    OpenWish,
    contributions_of,
    deal_wish,
    name_of,
    open_wish,
    within,
)
from entropyd.service.hand_reads import HandReads
from entropyd.service.identity import Call, Role
from entropyd.service.patience import Patience
from entropyd.service.reads import EventStore
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2


class HandCore(HandReads):
    """Deals hands card by card."""

    def __init__(
        self,
        hands: Hands,
        messages: HandMessages,
        feed: HandFeed,
        *,
        events: EventStore,
        patience: Patience,
        wall_ns: Callable[[], int],
    ) -> None:
        """Make a core.

        Args:
            hands: makes the steps.
            messages: makes messages of them.
            feed: wakes whoever watches.
            events: keeps what was shown to whom.
            patience: how long calls wait.
            wall_ns: wall clock, for claims only.
        """
        super().__init__(hands, messages, feed, events=events, wall_ns=wall_ns)
        self._patience = patience

    # --- opening and contributing -------------------------------------------------------

    async def open_hand(self, request: pb.OpenHandRequest, call: Call) -> pb.OpenHandResponse:
        """Answer `OpenHand`. See the proto for what it raises."""
        call.identity.require(Role.DEAL)
        wish = open_wish(request, call.identity.tenant)
        return await self._open(wish, self._patience.answer_by_ns(call))

    async def contribute(self, request: pb.ContributeRequest, call: Call) -> pb.ContributeResponse:
        """Answer `Contribute`. What it accepts stays accepted, also where it cannot deal."""
        call.identity.require(Role.DEAL, Role.CONTRIBUTE)
        name = name_of(request.key, call.identity.tenant)
        arrived = contributions_of(request)
        deal = _deal_beside(request, call)
        answer_by_ns = self._patience.answer_by_ns(call)
        with self._on_this_node(name):
            kept, judged = await self._hands.contribute(
                name, arrived, request.open_hash, answer_by_ns
            )
        answer = pb.ContributeResponse(
            outcomes=[
                self._messages.outcome(one.seat, verdict)
                for one, verdict in zip(arrived, judged, strict=True)
            ]
        )
        if deal is not None and kept.hand.is_cut:
            kept = await self._deal_too(answer, name, deal, kept, answer_by_ns)
        answer.hand.CopyFrom(self._messages.hand(kept))
        return answer

    async def seal_hand(self, request: pb.SealHandRequest, call: Call) -> pb.SealHandResponse:
        """Answer `SealHand`."""
        name, answer_by_ns = self._step(request.key, call, Role.DEAL)
        with self._on_this_node(name):
            kept = await self._hands.end_window(name, answer_by_ns)
        return pb.SealHandResponse(hand=self._messages.hand(kept))

    # --- cards ----------------------------------------------------------------------------

    async def deal_cards(self, request: pb.DealCardsRequest, call: Call) -> pb.DealCardsResponse:
        """Answer `DealCards`. Whoever asks gets the cards of what is recorded."""
        call.identity.require(Role.DEAL)
        name, wish = name_of(request.key, call.identity.tenant), deal_wish(request)
        answer_by_ns = self._patience.answer_by_ns(call)
        with self._on_this_node(name):
            _, dealt = await self._deal(name, wish, answer_by_ns)
        return dealt

    # --- ending ---------------------------------------------------------------------------

    async def close_hand(self, request: pb.CloseHandRequest, call: Call) -> pb.CloseHandResponse:
        """Answer `CloseHand`. Closed is closed, also where the next cannot be opened."""
        call.identity.require(Role.DEAL)
        name = name_of(request.key, call.identity.tenant)
        following = _next_wish(request, name)
        answer_by_ns = self._patience.answer_by_ns(call)
        with self._on_this_node(name):
            kept = await self._hands.close(name, answer_by_ns)
        answer = pb.CloseHandResponse(hand=self._messages.hand(kept))
        if following is not None:
            try:
                answer.next.CopyFrom(await self._open(following, answer_by_ns))
            except EntropydError as error:
                if error.fatal:
                    raise
                answer.next_refusal.CopyFrom(refusal(error))
        return answer

    async def void_hand(self, request: pb.VoidHandRequest, call: Call) -> pb.VoidHandResponse:
        """Answer `VoidHand`."""
        call.identity.require(Role.VOID)
        name = name_of(request.key, call.identity.tenant)
        _check_callers_reason(request.reason)
        answer_by_ns = self._patience.answer_by_ns(call)
        with self._on_this_node(name):
            kept = await self._hands.void(name, request.reason, answer_by_ns)
        return pb.VoidHandResponse(hand=self._messages.hand(kept))

    # --- what these share --------------------------------------------------------------------

    async def _open(self, wish: OpenWish, answer_by_ns: int) -> pb.OpenHandResponse:
        with self._on_this_node(wish.name):
            ask = ask_of(wish, self._hands.store)
        kept, replayed = await self._hands.open(ask, answer_by_ns)
        return pb.OpenHandResponse(hand=self._messages.hand(kept), replayed=replayed)

    async def _deal(
        self, name: HandName, wish: DealWish, answer_by_ns: int
    ) -> tuple[KeptHand, pb.DealCardsResponse]:
        kept, replayed = await self._hands.deal(
            name,
            wish.first_place,
            wish.recipients,
            lambda hand: claim_digest(binding_of(hand), wish.claim),
            answer_by_ns,
        )
        places = range(wish.first_place, wish.first_place + len(wish.recipients))
        deck = self._hands.store.deck(kept.hand)
        return kept, pb.DealCardsResponse(
            cards=cards(kept.hand, deck, places, proofs=not wish.without_proofs, burned=False),
            dealt=kept.hand.dealt,
            replayed=replayed,
        )

    async def _deal_too(
        self,
        answer: pb.ContributeResponse,
        name: HandName,
        wish: DealWish,
        kept: KeptHand,
        answer_by_ns: int,
    ) -> KeptHand:
        """Deal in the call that contributed, or say why not; return the hand after it.

        Raises:
            PlaceDealtError: loud, for it is an alarm.
        """
        try:
            kept, dealt = await self._deal(name, wish, answer_by_ns)
        except PlaceDealtError:
            raise
        except EntropydError as error:
            if error.fatal:
                raise
            answer.deal_refusal.CopyFrom(refusal(error))
        else:
            answer.dealt.CopyFrom(dealt)
        return kept

    def _step(self, key: types_pb2.HandKey, call: Call, *roles: Role) -> tuple[HandName, int]:
        call.identity.require(*roles)
        name = name_of(key, call.identity.tenant)
        return name, self._patience.answer_by_ns(call)


def _check_callers_reason(reason: str) -> None:
    """Refuse a reason that no receipt can have, or that the daemon alone gives.

    Raises:
        RequestError: names `reason`.
    """
    check_reason(reason)
    if reason in OWN_REASONS:
        raise RequestError("reason", f"{reason!r} is the daemon's own; expected yours")


def _deal_beside(request: pb.ContributeRequest, call: Call) -> DealWish | None:
    """Return what is to be dealt with the contributions, if the caller may."""
    if not request.HasField("deal"):
        return None
    call.identity.require(Role.DEAL)
    if request.deal.HasField("key") and request.deal.key != request.key:
        raise RequestError("deal.key", "is another hand's; expected that of the request, or none")
    with within("deal"):
        return deal_wish(request.deal)


def _next_wish(request: pb.CloseHandRequest, name: HandName) -> OpenWish | None:
    if not request.HasField("next"):
        return None
    with within("next"):
        wish = open_wish(request.next, name.tenant)
    if wish.name.table != name.table or wish.name.hand == name.hand:
        raise RequestError("next.key", "expected another hand of the same table")
    return wish
