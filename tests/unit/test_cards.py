"""Cards, decks and shoes, and what is said of those that cannot be."""

import pytest

from entropyd.draw.cards import DECKS, Deck, card_id, card_text, cards_text
from entropyd.errors import InternalError, RequestError
from tests.reference import naive


def test_the_54_cards_have_these_texts():
    """Spelled out once, so that no table checks itself."""
    texts = (
        "2c 3c 4c 5c 6c 7c 8c 9c Tc Jc Qc Kc Ac 2d 3d 4d 5d 6d 7d 8d 9d Td Jd Qd Kd Ad"
        " 2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh Ah 2s 3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As X1 X2"
    )
    expected = texts.split()
    assert expected == [card_text(card) for card in range(54)]
    assert list(range(54)) == [card_id("cards", text) for text in expected]


@pytest.mark.parametrize("card", [-1, 54, 255])
def test_there_is_no_other_card_id(card):
    """A negative index would quietly be a joker."""
    with pytest.raises(InternalError, match="expected 0 to 53"):
        card_text(card)


@pytest.mark.parametrize("text", ["", "as", "AS", "10c", "1c", "X3", "A", "A♠", " As", "As "])
def test_there_is_no_other_spelling(text):
    """Case and spaces are not repaired, and the error says how cards are written."""
    with pytest.raises(RequestError, match="such as As or Td") as refused:
        card_id("removed[0]", text)
    assert refused.value.field == "removed[0]"


def test_the_decks_are_these_three():
    """Names, sizes and ids; the short deck begins at the sixes."""
    assert {name: len(ids) for name, ids in DECKS.items()} == {
        "short36": 36,
        "standard52": 52,
        "standard54": 54,
    }
    for name, ids in DECKS.items():
        assert naive.deck_ids(name, []) == list(ids)
    assert " ".join(map(card_text, DECKS["short36"][:9])) == "6c 7c 8c 9c Tc Jc Qc Kc Ac"


@pytest.mark.parametrize(
    ("name", "decks", "removed"),
    [
        ("standard52", 1, ()),
        ("standard54", 8, ()),
        ("short36", 3, (4, 51)),
        ("standard52", 2, (0, 13, 26, 39)),
        ("standard54", 1, tuple(range(52))),
    ],
)
def test_items_of_a_shoe_are_copies_of_the_list_that_is_left(name, decks, removed):
    """Item t is card t mod m of copy t div m; what is removed is removed from every copy."""
    deck = Deck(name, decks, removed)
    ids = naive.deck_ids(name, removed)
    assert decks * len(ids) == deck.size
    assert ids * decks == list(deck.cards(range(deck.size)))
    assert [naive.card_of(item, name, removed) for item in (0, deck.size - 1)] == list(
        deck.cards([0, deck.size - 1])
    )


@pytest.mark.parametrize("item", [-1, 52, 2**32 - 1])
def test_an_item_of_another_deck_is_a_defect(item):
    """Neither end wraps around."""
    with pytest.raises(InternalError, match="item"):
        Deck().cards([0, item])


@pytest.mark.parametrize(
    ("field", "arguments", "message"),
    [
        ("deck.name", ("standard53",), "expected one of short36, standard52, standard54"),
        ("deck.name", ("",), "expected one of"),
        ("deck.name", ("Standard52",), "there is no deck 'Standard52'"),
        ("deck.name", ("\u2660" * 99,), "there is no deck"),
        ("deck.decks", ("standard52", 0), "is 0; expected 1 to 8"),
        ("deck.decks", ("standard52", 9), "is 9; expected 1 to 8"),
        ("deck.decks", ("standard52", -1), "expected 1 to 8"),
        ("deck.removed", ("standard52", 1, (52,)), "card id 52 is not in standard52"),
        ("deck.removed", ("standard52", 1, (-1,)), "card id -1 is not in standard52"),
        ("deck.removed", ("short36", 1, (3,)), "card id 3 is not in short36"),
        ("deck.removed", ("standard54", 1, (54,)), "card id 54 is not in standard54"),
        ("deck.removed", ("standard52", 1, (3, 2)), "2 stands after 3; expected ascending"),
        ("deck.removed", ("standard52", 1, (3, 3)), "3 stands after 3"),
        ("deck.removed", ("standard52", 1, tuple(range(51))), "leaves 1 of the 52 cards"),
        ("deck.removed", ("short36", 8, DECKS["short36"]), "leaves 0 of the 36 cards"),
    ],
)
def test_a_deck_that_cannot_be_dealt_is_refused(field, arguments, message):
    """The error names field, limit and remedy, and shows only printable ASCII."""
    with pytest.raises(RequestError) as refused:
        Deck(*arguments)
    assert field == refused.value.field
    assert message in str(refused.value)
    assert str(refused.value).isascii()
    assert len(str(refused.value)) < 300


def test_two_cards_may_be_left():
    """The smallest deck that has something to decide."""
    assert Deck("standard52", 1, tuple(range(50))).size == 2
    assert Deck("standard54", 8).size == 432


def test_cards_are_read_as_each_is():
    """A deck's text is its cards' texts, and no other byte has one."""
    cards = bytes(range(54))
    assert " ".join(map(card_text, cards)) == cards_text(cards)
    assert cards_text(b"") == ""
    with pytest.raises(InternalError, match="card id 54"):
        cards_text(bytes((0, 54)))
