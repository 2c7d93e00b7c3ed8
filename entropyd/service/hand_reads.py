"""What HandService tells of hands without changing them: states, lists, and cards that are shown.

Order of the checks: permission, then form, then existence.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager

from entropyd.errors import NotFoundError
from entropyd.ledger.contract import EventKind
from entropyd.runtime.hand_turns import HandName
from entropyd.runtime.hands import Hands
from entropyd.runtime.kept_hands import KeptHand
from entropyd.service.hand_feed import HandFeed
from entropyd.service.hand_messages import HandMessages, cards, revealed
from entropyd.service.hand_orders import name_of, places_of
from entropyd.service.hand_pages import HandPages
from entropyd.service.identity import Call, Role
from entropyd.service.reads import EventStore, keep_read
from entropyd.v1 import hand_service_pb2 as pb

READERS = (Role.DEAL, Role.CONTRIBUTE, Role.AUDIT)


class HandReads:
    """Reads hands, and shows their cards to those who may see them."""

    def __init__(
        self,
        hands: Hands,
        messages: HandMessages,
        feed: HandFeed,
        *,
        events: EventStore,
        wall_ns: Callable[[], int],
    ) -> None:
        """Make it.

        Args:
            hands: finds them.
            messages: makes messages of them.
            feed: wakes whoever watches.
            events: keeps what was shown to whom.
            wall_ns: wall clock, for claims only.
        """
        self._hands = hands
        self._messages = messages
        self._feed = feed
        self._events = events
        self._wall_ns = wall_ns
        self._pages = HandPages(hands.store, messages)

    # --- states ---------------------------------------------------------------------------

    async def get_hand(self, request: pb.GetHandRequest, call: Call) -> pb.GetHandResponse:
        """Answer `GetHand`. Never changes anything."""
        call.identity.require(*READERS)
        name = name_of(request.key, call.identity.tenant)
        with self._on_this_node(name):
            return pb.GetHandResponse(hand=self._messages.hand(self._get(name)))

    async def list_hands(self, request: pb.ListHandsRequest, call: Call) -> pb.ListHandsResponse:
        """Answer `ListHands`."""
        call.identity.require(Role.DEAL, Role.AUDIT)
        return await self._pages.page(request, call.identity.tenant)

    async def watch_hand(
        self, requests: AsyncIterator[pb.WatchHandRequest], call: Call
    ) -> AsyncGenerator[pb.WatchHandResponse, None]:
        """Answer `WatchHand`."""
        call.identity.require(*READERS)
        request = await anext(requests)
        name = name_of(request.key, call.identity.tenant)
        with self._on_this_node(name):
            async with aclosing(self._feed.watch(name, lambda: self._get(name))) as told:
                async for kept in told:
                    yield pb.WatchHandResponse(hand=self._messages.hand(kept))

    # --- cards ----------------------------------------------------------------------------

    async def show_cards(self, request: pb.ShowCardsRequest, call: Call) -> pb.ShowCardsResponse:
        """Answer `ShowCards`. The read is in the ledger before a card leaves."""
        call.identity.require(Role.REVEAL)
        name, places = name_of(request.key, call.identity.tenant), places_of(request)
        with self._on_this_node(name):
            kept = self._get(name)
        self._hands.store.family(kept.hand).require_shown(places)
        deck = self._hands.store.deck(kept.hand)
        await self._record_read(name, {"role": Role.REVEAL, "places": places})
        return pb.ShowCardsResponse(
            cards=cards(kept.hand, deck, places, proofs=True, burned=True),
            hand=self._messages.hand(kept),
        )

    async def reveal_hand(self, request: pb.RevealHandRequest, call: Call) -> pb.RevealHandResponse:
        """Answer `RevealHand`. The read is in the ledger before a secret leaves."""
        call.identity.require(Role.REVEAL)
        name = name_of(request.key, call.identity.tenant)
        with self._on_this_node(name):
            kept = self._get(name)
        self._hands.store.family(kept.hand).require_reveal()
        deck = self._hands.store.deck(kept.hand)
        await self._record_read(name, {"role": Role.REVEAL, "all": True})
        return pb.RevealHandResponse(
            revealed=revealed(deck.secrets), hand=self._messages.hand(kept)
        )

    # --- what these share -------------------------------------------------------------------

    def _get(self, name: HandName) -> KeptHand:
        return self._hands.store.get(name.tenant, name.table, name.hand)

    async def _record_read(self, name: HandName, detail: dict[str, object]) -> None:
        """Return when the ledger has it; raises as `keep_read`."""
        await keep_read(
            self._events,
            EventKind.HAND_READ,
            f"{name.tenant}/{name.hand}",
            detail,
            at_ns=self._wall_ns(),
            durable=True,
        )

    @contextmanager
    def _on_this_node(self, name: HandName) -> Iterator[None]:
        """Tell of what is not found whether another node may have it.

        Raises:
            WrongNodeError: the table is another node's.
        """
        try:
            yield
        except NotFoundError:
            self._hands.require_served(name.table)
            raise
