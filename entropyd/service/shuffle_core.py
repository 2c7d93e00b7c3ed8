"""ShuffleService without a transport: checks and deals, one hand, a batch, or a stream.

Requests are messages, answers are the bytes of theirs (see `wire`).

Order of the checks: permission, then form, then deadline, then existence. A
caller without the role learns nothing of what exists, and whatever is refused
here has spent nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from entropyd.errors import HandNotFoundError
from entropyd.hands.binding import hand_binding
from entropyd.hands.claim import claim_digest
from entropyd.hands.rules import rules_hash
from entropyd.ledger.contract import EventKind
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.orders import judge
from entropyd.service.identity import Call, Role
from entropyd.service.orders import batch_orders, check_count, order_of
from entropyd.service.patience import Patience
from entropyd.service.reads import EventStore, keep_read
from entropyd.service.shuffle_proofs import has_card_proofs, proofs_fields
from entropyd.service.shuffle_stream import ShuffleStream
from entropyd.service.wire import batch_response, get_response, response
from entropyd.v1 import shuffle_service_pb2

# Of a batch, so many are checked, or made messages of, before others have their turn: 2 ms.
HANDS_A_TURN = 128


class ShuffleCore:
    """Deals whole decks.

    Attributes:
        patience: how long its calls wait, and those of the cores that share it.
    """

    def __init__(
        self,
        dealer: Dealer,
        *,
        events: EventStore,
        clock_ns: Callable[[], int],
        wall_ns: Callable[[], int],
        max_hold_ns: int,
        answer_before_deadline_ns: int,
    ) -> None:
        """Make a core.

        Args:
            dealer: finds and draws.
            events: keeps who read what back.
            clock_ns: monotonic clock.
            wall_ns: wall clock, for claims only.
            max_hold_ns: the longest that a call waits for entropy.
            answer_before_deadline_ns: how long before its deadline a caller is told to come back.
        """
        self._dealer = dealer
        self._events = events
        self._wall_ns = wall_ns
        self.patience = Patience(
            clock_ns,
            max_hold_ns=max_hold_ns,
            answer_before_deadline_ns=answer_before_deadline_ns,
        )

    async def shuffle(self, request: shuffle_service_pb2.ShuffleRequest, call: Call) -> bytes:
        """Answer `Shuffle`. See the proto for what it raises."""
        call.identity.require(Role.DEAL_ALL)
        order = order_of(request, call.identity.tenant)
        dealt = await self._dealer.deal(order, answer_by_ns=self.patience.answer_by_ns(call))
        if order.rules.whole_deck_proof:
            return response(dealt)
        return response(dealt) + proofs_fields(3, self._dealer.with_secrets(dealt.record))

    async def batch_shuffle(
        self, request: shuffle_service_pb2.BatchShuffleRequest, call: Call
    ) -> bytes:
        """Answer `BatchShuffle`. Others have their turn between parts of the work."""
        call.identity.require(Role.DEAL_ALL)
        check_count(request.hands)
        answer_by_ns = self.patience.answer_by_ns(call)
        orders = []
        for order in batch_orders(request.hands, call.identity.tenant):
            orders.append(order)
            if len(orders) % HANDS_A_TURN == 0:
                await asyncio.sleep(0)
        dealt = await self._dealer.deal_batch(orders, answer_by_ns=answer_by_ns)
        hands: list[bytes] = []
        for first in range(0, len(dealt), HANDS_A_TURN):
            hands += map(response, dealt[first : first + HANDS_A_TURN])
            await asyncio.sleep(0)
        return batch_response(hands)

    async def stream_shuffles(
        self, requests: AsyncIterator[shuffle_service_pb2.StreamShufflesRequest], call: Call
    ) -> AsyncGenerator[bytes, None]:
        """Answer `StreamShuffles`. See the proto for what it raises."""
        call.identity.require(Role.DEAL_ALL)
        stream = ShuffleStream(
            self._dealer, call.identity.tenant, lambda: self.patience.of_stream(call)
        )
        async with aclosing(stream.answers(requests)) as answers:
            async for answer in answers:
                yield answer

    async def get_shuffle(
        self, request: shuffle_service_pb2.GetShuffleRequest, call: Call
    ) -> bytes:
        """Answer `GetShuffle`. Never draws; the read goes into the ledger, an auditor's before."""
        call.identity.require(Role.DEAL_ALL, Role.AUDIT)
        tenant, key = call.identity.tenant, request.key
        auditing = Role.AUDIT in call.identity.roles and not request.claim
        # The form first: what is malformed is told as such and not as a hand that does not exist.
        form = hand_binding(tenant, key.table, key.hand, b"")
        if not auditing:
            claim_digest(form, request.claim)
        record = self._dealer.find(tenant, key.table, key.hand)
        binding = hand_binding(tenant, key.table, key.hand, rules_hash(record.draft.rules))
        if not auditing:
            judge(record, binding, claim_digest(binding, request.claim))
        elif binding != record.draft.binding:
            raise HandNotFoundError(f"hand {key.hand!r} was not drawn at table {key.table!r}")
        # The role that let the call in: an auditor who shows a claim is still an auditor.
        role = (
            Role.DEAL_ALL if Role.DEAL_ALL in call.identity.roles and not auditing else Role.AUDIT
        )
        await keep_read(
            self._events,
            EventKind.HAND_READ,
            f"{tenant}/{key.hand}",
            {"role": role},
            at_ns=self._wall_ns(),
            durable=auditing,
        )
        if not has_card_proofs(record):
            return get_response(record)
        return get_response(record) + proofs_fields(2, self._dealer.with_secrets(record))
