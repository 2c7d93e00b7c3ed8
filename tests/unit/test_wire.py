"""The bytes of answers are those that protobuf writes for the same messages."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropyd.draw.cards import DECKS, Deck, cards_text
from entropyd.hands.commitment import decode_items, encode_items
from entropyd.hands.rules import Rules
from entropyd.ledger.contract import HandRecord
from entropyd.runtime.orders import Dealt
from entropyd.service import fields, wire
from entropyd.v1 import shuffle_service_pb2, types_pb2
from tests.fakes.drafts import make_draft

ids = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=128)
decks = st.builds(
    lambda name, decks, removed: Deck(name, decks, tuple(sorted(DECKS[name][i] for i in removed))),
    st.sampled_from(sorted(DECKS)),
    st.integers(1, 8),
    st.sets(st.integers(0, 33)),
)


@st.composite
def records(draw) -> HandRecord:
    deck = draw(decks)
    items = draw(st.permutations(range(deck.size)))
    provenance = types_pb2.Provenance(
        sources=[types_pb2.SourceUse(source=name) for name in draw(st.lists(ids, max_size=3))],
        seeds=draw(st.integers(0, 20)),
    )
    draft = dataclasses.replace(
        make_draft(draw(ids)),
        table=draw(ids),
        rules=Rules(deck=deck).encode(),
        size=deck.size,
        items=encode_items(items),
        provenance=provenance.SerializeToString(deterministic=True),
    )
    hashed = draw(st.binary(min_size=32, max_size=32))
    index = draw(st.none() | st.integers(2, 2**63 - 1))
    return HandRecord(draw(st.integers(1, 2**64 - 1)), hashed, draft, index)


def message(record: HandRecord, deck: Deck) -> shuffle_service_pb2.Shuffle:
    """Return the message as it is said in the proto, field by field."""
    draft = record.draft
    cards = deck.cards(decode_items(draft.items))
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
        log_index=record.log_index or 0,
    )


def deck_of(record: HandRecord) -> Deck:
    lines = dict(line.split("=") for line in record.draft.rules.decode("ascii").splitlines())
    removed = tuple(map(int, lines.get("removed", "").split(","))) if "removed" in lines else ()
    return Deck(lines["deck"], int(lines["decks"]), removed)


@given(record=records(), replayed=st.booleans())
def test_answers_are_what_protobuf_writes(record, replayed):
    """Shuffle, GetShuffle, and one hand of a batch and of a stream."""
    told = message(record, deck_of(record))
    dealt = Dealt(record, replayed)
    response = shuffle_service_pb2.ShuffleResponse(shuffle=told, replayed=replayed)
    assert told.SerializeToString(deterministic=True) == wire.shuffle(record)
    assert response.SerializeToString(deterministic=True) == wire.response(dealt)
    get = shuffle_service_pb2.GetShuffleResponse(shuffle=told)
    assert get.SerializeToString(deterministic=True) == wire.get_response(record)
    answer = shuffle_service_pb2.HandAnswer(key=told.key, dealt=response)
    assert answer.SerializeToString(deterministic=True) == wire.hand_answer(dealt)
    batch = shuffle_service_pb2.BatchShuffleResponse(hands=[response, response])
    assert batch.SerializeToString(deterministic=True) == wire.batch_response(
        [wire.response(dealt)] * 2
    )
    stream = shuffle_service_pb2.StreamShufflesResponse(answers=[answer])
    assert stream.SerializeToString(deterministic=True) == wire.stream_response(
        [wire.hand_answer(dealt)]
    )


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**14 - 1, 2**14, 2**63, 2**64 - 1])
def test_numbers_are_written_seven_bits_a_byte(value):
    """As in a field of a message that protobuf makes; 0 is left out there."""
    made = shuffle_service_pb2.Shuffle(sequence=value).SerializeToString()
    assert made == fields.number_field(6, value)
