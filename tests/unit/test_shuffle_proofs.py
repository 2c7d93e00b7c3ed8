"""Proofs of single cards of a deck that is dealt whole: on request, where one hand is asked for."""

import pytest

from entropyd.errors import HandSpentError, RequestError
from entropyd.hands.binding import hand_binding
from entropyd.hands.card_proof import CardProof, check_card
from entropyd.hands.commitment import decode_items
from entropyd.hands.rules import decode, rules_hash
from entropyd.service.identity import Call
from entropyd.service.orders import batch_orders
from entropyd.service.shuffle_proofs import refuse_card_proofs
from entropyd.v1 import shuffle_service_pb2, types_pb2
from tests.fakes.dealing import MINE, SECOND
from tests.fakes.manual_time import START_NS
from tests.unit.test_shuffle_core import AUDITOR, POKER, Desk, hand_key


def request(*, card_proofs=True, deck=None):
    return shuffle_service_pb2.ShuffleRequest(
        key=hand_key(), claim=MINE, deck=deck, card_proofs=card_proofs
    )


async def shuffle(desk, **asked):
    call = Call(POKER, START_NS + 10 * SECOND)
    answer = await desk.core.shuffle(request(**asked), call)
    return shuffle_service_pb2.ShuffleResponse.FromString(answer)


def check(answer):
    """Check every card as whoever is shown it does."""
    deck = answer.shuffle
    rules = decode(deck.rules.encode())
    assert not rules.whole_deck_proof
    binding = hand_binding("room", "table-7", "hand-1", rules_hash(deck.rules.encode()))
    items = decode_items(deck.items)
    assert len(items) == len(answer.proofs)
    for place, (item, proof) in enumerate(zip(items, answer.proofs, strict=True)):
        check_card(
            CardProof(place, place, item, proof.salt, tuple(proof.path)),
            binding=binding,
            size=len(items),
            deck_root=deck.deck_root,
            cut=range(len(items)),
        )


@pytest.mark.parametrize(
    "deck", [None, types_pb2.Deck(name="short36"), types_pb2.Deck(name="standard54", removed=[3])]
)
def test_every_card_is_proved_alone(deck):
    """By its salt and path, against D of the answer; again, and read back."""
    desk = Desk(2)
    first, again, read = desk.play(
        shuffle(desk, deck=deck), shuffle(desk, deck=deck), desk.get(AUDITOR, b"")
    )
    check(first)
    assert (False, True) == (first.replayed, again.replayed)
    assert list(first.proofs) == list(again.proofs) == list(read.proofs)
    assert first.shuffle == again.shuffle == read.shuffle


def test_without_being_asked_for_there_are_none():
    """The rules say proofs=deck, as ever."""
    desk = Desk()
    first, read = desk.play(shuffle(desk, card_proofs=False), desk.get())
    assert "proofs=deck" in first.shuffle.rules
    assert [] == list(first.proofs) == list(read.proofs)


def test_a_hand_has_proofs_or_has_none():
    """Asking for the other is asking for another deck."""
    for card_proofs in (False, True):
        desk = Desk(2)
        _, other = desk.play(
            shuffle(desk, card_proofs=card_proofs), shuffle(desk, card_proofs=not card_proofs)
        )
        assert isinstance(other, HandSpentError)


def test_hands_of_many_have_none():
    """A batch is refused by the place of the hand; of a stream the hand alone."""
    with pytest.raises(RequestError) as told:
        list(batch_orders([request(card_proofs=False), request()], "room"))
    assert "hands[1].card_proofs" == told.value.field
    with pytest.raises(RequestError) as told:
        refuse_card_proofs(request())
    assert "card_proofs" == told.value.field
