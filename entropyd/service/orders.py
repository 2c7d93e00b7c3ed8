"""From requests to checked orders, for the dealer."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from entropyd.draw.cards import Deck
from entropyd.errors import RequestError
from entropyd.hands.binding import hand_binding
from entropyd.hands.claim import claim_digest
from entropyd.hands.rules import Rules, rules_hash, segments_needed
from entropyd.runtime.orders import DrawOrder
from entropyd.service.shuffle_proofs import refuse_card_proofs
from entropyd.v1 import shuffle_service_pb2

# 96,096 samples of a Quantis at 6 bits a byte, which the default reservoir holds twice, and 0.2 s
# of its output; the commit of as many rows takes some 40 ms.
MAX_HANDS = 1000


def order_of(request: shuffle_service_pb2.ShuffleRequest, tenant: str) -> DrawOrder:
    """Return what one hand's request asks for.

    Raises:
        RequestError: an id, the deck or the claim is malformed.
    """
    wanted, key = request.deck, request.key
    rules, encoded, digest, seeds = _rules(
        wanted.name or "standard52",
        wanted.decks or 1,
        tuple(wanted.removed),
        card_proofs=request.card_proofs,
    )
    binding = hand_binding(tenant, key.table, key.hand, digest)
    return DrawOrder(
        tenant=tenant,
        table=key.table,
        hand=key.hand,
        rules=rules,
        encoded_rules=encoded,
        binding=binding,
        seeds=seeds,
        claim_digest=claim_digest(binding, request.claim),
    )


def check_count(hands: Sequence[shuffle_service_pb2.ShuffleRequest]) -> None:
    """Refuse a message without hands, or with too many.

    Raises:
        RequestError: names `hands`.
    """
    if not 1 <= len(hands) <= MAX_HANDS:
        raise RequestError("hands", f"has {len(hands)}; expected 1 to {MAX_HANDS} hands")


def batch_orders(
    hands: Sequence[shuffle_service_pb2.ShuffleRequest], tenant: str
) -> Iterator[DrawOrder]:
    """Yield what each hand of a batch asks for.

    Raises:
        RequestError: one is malformed, takes more than a seed, or stands there twice. The field
            begins with the hand's place: `hands[3].key.hand`.
    """
    places: dict[str, int] = {}
    for place, request in enumerate(hands):
        field = f"hands[{place}]"
        try:
            refuse_card_proofs(request)
            order = order_of(request, tenant)
        except RequestError as error:
            raise RequestError(
                f"{field}.{error.field}", str(error).removeprefix(f"{error.field}: ")
            ) from error
        if order.seeds != 1:
            raise RequestError(
                f"{field}.deck",
                f"takes {order.seeds} seeds; expected one deck of at most 52 cards, which takes"
                " one: ask Shuffle or StreamShuffles for this hand",
            )
        first = places.setdefault(order.hand, place)
        if first != place:
            raise RequestError(
                f"{field}.key.hand",
                f"is the hand of hands[{first}] too; expected each hand once",
            )
        yield order


# A room deals a handful of decks; errors are not cached, so a bad request stays an error.
@lru_cache(maxsize=256)
def _rules(
    name: str, decks: int, removed: tuple[int, ...], *, card_proofs: bool
) -> tuple[Rules, bytes, bytes, int]:
    deck = Deck(name=name, decks=decks, removed=removed)
    rules = Rules(deck=deck, whole_deck_proof=not card_proofs)
    encoded = rules.encode()
    return rules, encoded, rules_hash(encoded), segments_needed(rules)
