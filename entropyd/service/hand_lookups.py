"""What an opening takes from other hands of its table: a void one's O, or another's discards.

Spec: docs/protocol.md, "Draw games: a hand from another's discards".
"""

from dataclasses import replace

from entropyd.errors import NotDealtError, WrongStateError
from entropyd.hands.binding import hand_binding
from entropyd.hands.child import child_digest, child_salt
from entropyd.hands.hand import Hand, HandState
from entropyd.hands.rules import Parent, Rules, rules_hash
from entropyd.runtime.hand_steps import OpenAsk
from entropyd.runtime.hand_store import HandStore
from entropyd.service.hand_orders import OpenWish


def binding_of(hand: Hand) -> bytes:
    """Return X of a hand."""
    opened = hand.opened
    return hand_binding(opened.tenant, opened.table, opened.hand, rules_hash(opened.rules.encode()))


def ask_of(wish: OpenWish, store: HandStore) -> OpenAsk:
    """Return a wish with what it names looked up.

    Raises:
        HandNotFoundError: it names a hand that was not opened at its table.
        WrongStateError: the hand to be replaced is not void.
        NotDealtError: a discarded place was never dealt.
        RequestError: the rules of the discards contradict themselves.
    """
    rules, discards = wish.rules, None
    if wish.replaces:
        rules = replace(rules, replaces=_void_open_hash(wish, store))
    if wish.parent:
        rules, discards = _of_discards(wish, rules, store)
    return OpenAsk(
        tenant=wish.name.tenant,
        table=wish.name.table,
        hand=wish.name.hand,
        rules=rules,
        seats=wish.seats,
        window_ns=wish.window_ns,
        parent=wish.parent,
        discards=discards,
    )


def _void_open_hash(wish: OpenWish, store: HandStore) -> bytes:
    hand = store.get(wish.name.tenant, wish.name.table, wish.replaces).hand
    if hand.state is not HandState.VOID:
        raise WrongStateError(
            f"hand {wish.replaces!r} is {hand.state.upper()}; expected VOID when another hand"
            " replaces it"
        )
    return hand.opened.open_hash


def _of_discards(wish: OpenWish, rules: Rules, store: HandStore) -> tuple[Rules, tuple[int, ...]]:
    parent = store.get(wish.name.tenant, wish.name.table, wish.parent).hand
    if wish.places[-1] >= parent.dealt:
        raise NotDealtError(
            f"hand {wish.parent!r} is {parent.state.upper()}, and {parent.dealt} places of it were"
            f" dealt: place {wish.places[-1]} was not discarded"
        )
    deck = store.deck(parent)
    salt = child_salt(deck.secrets.salt_key, binding_of(parent), wish.name.hand)
    digest = child_digest(parent.opened.open_hash, wish.places, salt)
    discards = tuple(deck.secrets.items[deck.cut[place]] for place in wish.places)
    own = replace(rules, deck=parent.opened.rules.deck, parent=Parent(digest, len(wish.places)))
    return own, discards
