"""ShuffleService without a transport: checks, deals, and turns records into messages.

Order of the checks: permission, then form, then deadline, then existence. A
caller without the role learns nothing of what exists, and whatever is refused
here has spent nothing.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from entropyd.draw.cards import Deck, cards_text
from entropyd.errors import HandNotFoundError, RequestError
from entropyd.hands.binding import hand_binding
from entropyd.hands.claim import claim_digest
from entropyd.hands.rules import Rules, decode, rules_hash, segments_needed
from entropyd.ledger.contract import Event, EventKind, HandRecord
from entropyd.runtime.dealer import Dealer
from entropyd.runtime.orders import DrawOrder, judge
from entropyd.service.identity import Call, Role
from entropyd.v1 import shuffle_service_pb2, types_pb2


class EventStore(Protocol):
    """What the core needs of the ledger's writer."""

    def note(self, event: Event) -> None:
        """Remember an event with the next commit; see `GroupCommitWriter.note`."""
        ...


class ShuffleCore:
    """Deals whole decks."""

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
        self._clock_ns = clock_ns
        self._wall_ns = wall_ns
        self._max_hold_ns = max_hold_ns
        self._answer_before_ns = answer_before_deadline_ns

    def set_patience(self, *, max_hold_ns: int, answer_before_deadline_ns: int) -> None:
        """Take other limits for calls to come; what waits already keeps its own."""
        self._max_hold_ns = max_hold_ns
        self._answer_before_ns = answer_before_deadline_ns

    async def shuffle(
        self, request: shuffle_service_pb2.ShuffleRequest, call: Call
    ) -> shuffle_service_pb2.ShuffleResponse:
        """Answer `Shuffle`. See the proto for what it raises."""
        call.identity.require(Role.DEAL_ALL)
        order = _order(request, call.identity.tenant)
        dealt = await self._dealer.deal(order, answer_by_ns=self._answer_by_ns(call))
        return shuffle_service_pb2.ShuffleResponse(
            shuffle=shuffle_message(dealt.record), replayed=dealt.replayed
        )

    async def get_shuffle(
        self, request: shuffle_service_pb2.GetShuffleRequest, call: Call
    ) -> shuffle_service_pb2.GetShuffleResponse:
        """Answer `GetShuffle`. Never draws; the read goes into the ledger."""
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
        self._events.note(
            Event(
                kind=EventKind.HAND_READ,
                subject=f"{tenant}/{key.hand}",
                detail=json.dumps({"role": role}),
                at_ns=self._wall_ns(),
            )
        )
        return shuffle_service_pb2.GetShuffleResponse(shuffle=shuffle_message(record))

    def _answer_by_ns(self, call: Call) -> int:
        """Return when a waiting call is told to come back: before its deadline, or at the limit.

        Raises:
            RequestError: there is no deadline, or too little time to answer in.
        """
        now_ns = self._clock_ns()
        if call.deadline_ns is None:
            raise RequestError(
                "deadline", "there is none; set one, 10 s is a good value, so that no call hangs"
            )
        answer_by_ns = call.deadline_ns - self._answer_before_ns
        if answer_by_ns <= now_ns:
            left_ms = max(0, call.deadline_ns - now_ns) // 1_000_000
            raise RequestError(
                "deadline",
                f"{left_ms} ms are left; expected more than"
                f" {self._answer_before_ns // 1_000_000} ms, 10 s is a good value",
            )
        return min(answer_by_ns, now_ns + self._max_hold_ns)


def shuffle_message(record: HandRecord) -> shuffle_service_pb2.Shuffle:
    """Return a record as its message: the same bytes for the same record."""
    draft = record.draft
    deck = _deck(draft.rules)
    cards = deck.packed_cards(draft.items)
    return shuffle_service_pb2.Shuffle(
        key=types_pb2.HandKey(table=draft.table, hand=draft.hand),
        deck=types_pb2.Deck(name=deck.name, decks=deck.decks, removed=deck.removed),
        cards=cards,
        text=cards_text(cards),
        items=draft.items,
        sequence=record.sequence,
        commitment=draft.commitment,
        deck_root=draft.deck_root,
        open_hash=record.open_hash,
        rules=draft.rules.decode("ascii"),
        provenance=types_pb2.Provenance.FromString(draft.provenance),
    )


def _order(request: shuffle_service_pb2.ShuffleRequest, tenant: str) -> DrawOrder:
    wanted = request.deck
    rules, encoded, digest, seeds = _rules(
        wanted.name or "standard52", wanted.decks or 1, tuple(wanted.removed)
    )
    binding = hand_binding(tenant, request.key.table, request.key.hand, digest)
    return DrawOrder(
        tenant=tenant,
        table=request.key.table,
        hand=request.key.hand,
        rules=rules,
        encoded_rules=encoded,
        binding=binding,
        seeds=seeds,
        claim_digest=claim_digest(binding, request.claim),
    )


@lru_cache(maxsize=256)
def _deck(rules: bytes) -> Deck:
    return decode(rules).deck


# A room deals a handful of decks; errors are not cached, so a bad request stays an error.
@lru_cache(maxsize=256)
def _rules(name: str, decks: int, removed: tuple[int, ...]) -> tuple[Rules, bytes, bytes, int]:
    rules = Rules(deck=Deck(name=name, decks=decks, removed=removed))
    encoded = rules.encode()
    return rules, encoded, rules_hash(encoded), segments_needed(rules)
