"""What is public of a hand holds nothing secret: every field of every message, in every state."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from entropyd.hands.binding import hand_binding
from entropyd.hands.child import child_salt
from entropyd.hands.claim import claim_digest
from entropyd.hands.commitment import card_leaves, card_salts, encode_items
from entropyd.hands.contributions import Contribution, Spoken
from entropyd.hands.rules import rules_hash
from entropyd.log.merkle import leaf_hash
from entropyd.service.hand_lookups import binding_of
from entropyd.service.hand_orders import deal_wish, open_wish
from entropyd.v1 import hand_service_pb2 as pb
from tests.fakes.hand_desk import (
    AUDITOR,
    HandDesk,
    Player,
    claim,
    deal_request,
    key,
    open_request,
)

SEATS = (Player("seat-1"), Player("seat-2", keyed=True))
# Whoever adds a field to what is public says here that nothing secret can stand in it.
PUBLIC = {
    "Hand": "state opened contributed roll sealed dealt ended",
    "Opened": "key rules sequence size commitment deck_root seats_root open_hash seats deadline"
    " receipt provenance",
    "Seat": "seat public_key",
    "Roll": "root leaf_hashes deadline receipt",
    "Sealed": "root leaves cut receipt",
    "Ended": "dealt deals_root reason receipt",
    "SignedReceipt": "note log_index",
    "HandKey": "table hand",
    "Provenance": "sources policy construction mock degraded node drawn_at seeds batch_hands"
    " shared_sources",
    "SourceUse": "class kind driver serial samples credited_millibits age health source",
    "Duration": "seconds nanos",
    "Timestamp": "seconds nanos",
}


def messages_in(described: Descriptor) -> Iterator[Descriptor]:
    """Return a message and all that it can hold."""
    yield described
    for field in described.fields:
        if field.message_type is not None:
            yield from messages_in(field.message_type)


def test_what_is_public_has_these_fields_and_no_other():
    """Field by field, as the proto has them."""
    found = {
        described.name: " ".join(field.name for field in described.fields)
        for described in messages_in(pb.Hand.DESCRIPTOR)
    }
    assert PUBLIC == found


def values_in(message: Message) -> Iterator[Any]:
    """Return every value that a message holds, at any depth."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated else [value]:
            if isinstance(one, Message):
                yield from values_in(one)
            else:
                yield one


def secrets_of(desk: HandDesk) -> dict[str, bytes]:
    """Return what nobody may read of hand h-1 before it is shown."""
    hand = desk.kept()
    deck = desk.store.deck(hand)
    opened = hand.opened
    binding = hand_binding("room", "t-1", "h-1", rules_hash(opened.rules.encode()))
    own = deck.secrets
    named = {
        "seeds": own.seeds,
        "r": own.blinding,
        "K": own.salt_key,
        "items": encode_items(own.items),
        "cards": opened.rules.deck.cards(own.items),
        "claim": claim(),
        "claim digest": claim_digest(binding, claim()),
    }
    if deck.cut:
        named["order dealt"] = encode_items([own.items[index] for index in deck.cut])
    for index, salt in enumerate(card_salts(binding, own.salt_key, opened.size)):
        named[f"salt {index}"] = salt
    for index, leaf in enumerate(card_leaves(binding, own.salt_key, own.items)):
        named[f"leaf {index}"], named[f"leaf hash {index}"] = leaf, leaf_hash(leaf)
    return named


def found_in(secrets: dict[str, bytes], message: Message) -> set[str]:
    """Return the names of the secrets that stand in a message, as bytes or as hex."""
    found = set()
    for value in values_in(message):
        raw = value.encode() if isinstance(value, str) else value
        if isinstance(raw, bytes):
            found |= {
                name
                for name, secret in secrets.items()
                if secret in raw or secret.hex().encode() in raw.lower()
            }
    return found


async def go_through(desk: HandDesk, *, sealed: bool) -> list[Any]:
    """Take a hand through every state, and return everything public that was answered."""
    told: list[Any] = []

    async def look() -> None:
        told.append(await desk.get())
        request = pb.ListHandsRequest(table_prefix="t-")
        told.append(await desk.ask("list_hands", request, AUDITOR))

    told.append(await desk.open(players=SEATS, sealed=sealed, reveal_after_close=True))
    opened = told[0].hand.opened
    await look()
    if sealed:
        for player in SEATS:
            told.append(await desk.contribute(opened, player.seals(opened.open_hash)))
            await look()
    for player in SEATS:
        spoken = player.opens() if sealed else player.speaks(opened.open_hash)
        told.append(await desk.contribute(opened, spoken))
        await look()
    told.append(await desk.ask("seal_hand", pb.SealHandRequest(key=key())))
    await desk.deal(0, ("seat-1", 2), ("burn", 1))
    await look()
    return told


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("end", ["close", "void", "expire"])
def test_nothing_public_holds_a_secret(sealed, end):
    """Every value of every public message of a hand's whole life."""
    desk = HandDesk()

    async def scenario():
        told = await go_through(desk, sealed=sealed)
        match end:
            case "close":
                told.append(await desk.close(next=open_request("h-2")))
            case "void":
                told.append(await desk.void())
            case _:
                desk.table.clock.advance(3600)
                desk.sweep.tick()
        return [*told, await desk.get()]

    told = desk.run(scenario)
    secrets = secrets_of(desk)
    assert [set()] * len(told) == [found_in(secrets, message) for message in told]


@pytest.mark.parametrize("sealed", [False, True])
def test_a_value_that_was_not_opened_stays_with_the_daemon(sealed):
    """A contribution is public when the hand is sealed, and not before."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS, sealed=sealed)).hand.opened
        if sealed:
            await desk.contribute(opened, *(player.seals(opened.open_hash) for player in SEATS))
        first = SEATS[0]
        spoken = first.opens() if sealed else first.speaks(opened.open_hash)
        await desk.contribute(opened, spoken)
        before = await desk.get()
        second = SEATS[1]
        spoken = second.opens() if sealed else second.speaks(opened.open_hash)
        return before, (await desk.contribute(opened, spoken)).hand

    before, after = desk.run(scenario)
    values = {player.seat: player.value for player in SEATS}
    assert set() == found_in(values, before)
    assert set(values) == found_in(values, after)


def test_the_search_finds_what_is_there():
    """In what is secret every secret of the cards that it is about, and of no other card."""
    desk = HandDesk()

    async def scenario():
        await desk.open(reveal_after_close=True)
        dealt = await desk.deal(0, ("seat-1", 2), ("burn", 1))
        await desk.close()
        return dealt, await desk.ask("reveal_hand", pb.RevealHandRequest(key=key()))

    dealt, revealed = desk.run(scenario)
    secrets = secrets_of(desk)
    # Under NONE place and leaf are one number; the neighbour's leaf hash begins each path.
    salts = {name for name in found_in(secrets, dealt) if name.startswith("salt")}
    assert {"salt 0", "salt 1"} == salts
    assert {"seeds", "r", "K", "items", "order dealt"} == found_in(secrets, revealed)


def test_a_claim_stands_in_no_text_of_a_request():
    """What is logged of a request that fails is its wish."""
    wish = deal_wish(deal_request(0, ("seat-1", 2)))
    assert claim() == wish.claim
    assert repr(claim()) not in repr(wish)
    assert claim().hex() not in repr(wish)


def test_discards_and_values_stand_in_no_text_of_a_request():
    """Nor do the values that are opened before all are."""
    parent = pb.Parent(hand="h-0", places=[17, 23])
    wish = open_wish(open_request("h-1", parent=parent), "room")
    assert (17, 23) == wish.places
    assert "17" not in repr(wish)
    assert "23" not in repr(wish)
    player = SEATS[0]
    said = Contribution(player.seat, value=player.value)
    spoken = Spoken(bytes(32), player.leaf(bytes(32)))
    for text in (repr(said), repr(spoken)):
        assert repr(player.value)[2:-1] not in text
        assert player.value.hex() not in text


def test_nothing_public_says_which_places_a_child_is_dealt_from():
    """Its rules and receipt name a digest; the salt of it stays with the daemon."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        dealt = await desk.deal(0, ("seat-1", 9))
        child = await desk.open("h-2", parent=pb.Parent(hand="h-1", places=[1, 3, 4]))
        lists = await desk.ask("list_hands", pb.ListHandsRequest(), AUDITOR)
        return dealt, [child, lists, await desk.get("h-1"), await desk.get("h-2")]

    dealt, public = desk.run(scenario)
    parent = desk.store.deck(desk.kept("h-1")).secrets
    salt = child_salt(parent.salt_key, binding_of(desk.kept("h-1")), "h-2")
    items = [dealt.cards[place].item for place in (1, 3, 4)]
    secrets = {"salt": salt, "discards": b"".join(items)}
    for message in public:
        assert set() == found_in(secrets, message)
