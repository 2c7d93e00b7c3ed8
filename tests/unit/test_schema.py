"""The schema: the conventions of its protos, and that no caller can choose a card.

Walked over the descriptors, so that a field that is added tomorrow is walked too.
"""

from collections.abc import Iterator

import pytest
from google.protobuf import descriptor_pb2, duration_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from entropyd.v1 import (
    draw_service_pb2,
    entropy_service_pb2,
    fair_service_pb2,
    hand_service_pb2,
    ledger_service_pb2,
    raffle_service_pb2,
    shuffle_service_pb2,
    types_pb2,
)

FILES: tuple[FileDescriptor, ...] = (
    draw_service_pb2.DESCRIPTOR,
    fair_service_pb2.DESCRIPTOR,
    hand_service_pb2.DESCRIPTOR,
    ledger_service_pb2.DESCRIPTOR,
    raffle_service_pb2.DESCRIPTOR,
    entropy_service_pb2.DESCRIPTOR,
    shuffle_service_pb2.DESCRIPTOR,
    types_pb2.DESCRIPTOR,
)
# What may come in, each with the reason why it chooses neither deck, seed nor position. A field
# that is not here fails the test: whoever adds one says here why it may be.
INPUTS = {
    "ShuffleRequest.key": "which hand",
    "ShuffleRequest.deck": "which cards are in the deck, hashed into the draw as rules",
    "ShuffleRequest.claim": "who may read it again; not an input of the draw",
    "ShuffleRequest.card_proofs": "how the deck is proved; rules",
    "GetShuffleRequest.key": "which hand",
    "GetShuffleRequest.claim": "who reads",
    "HandKey.table": "an id, bound into X; X is an additional input beside 320 bits of hardware",
    "HandKey.hand": "an id, bound into X; unique for ever, so it cannot be tried again",
    "Deck.name": "a whole named deck",
    "Deck.decks": "how many copies of it",
    "Deck.removed": "cards that are in no copy; what is left is still shuffled whole",
    "BatchShuffleRequest.hands": "which hands; their order gives each its k_j, which is secret",
    "StreamShufflesRequest.hands": "which hands",
    "OpenHandRequest.key": "which hand; opened once",
    "OpenHandRequest.deck": "as of Shuffle; rules",
    "OpenHandRequest.contributions": "whether seats may move what is committed already; rules",
    "OpenHandRequest.seats": "which; in A, before the deck is committed",
    "OpenHandRequest.contribute_for": "how long they may",
    "OpenHandRequest.reveal_after_close": "whether all of it may be shown afterwards; rules",
    "OpenHandRequest.plan": "whom places must go to, said before any card is known; rules",
    "OpenHandRequest.replaces": "a void hand, for the record; rules",
    "OpenHandRequest.parent": "whose discards are shuffled instead of a deck; rules, by a hash",
    "Parent.hand": "which hand",
    "Parent.places": "which of its dealt places; all of them are shuffled whole",
    "Seat.seat": "an id",
    "Seat.public_key": "what checks that the seat itself spoke",
    "ContributeRequest.key": "which hand",
    "ContributeRequest.open_hash": "only compared with O",
    "ContributeRequest.contributions": "moves the committed cards, as all of them together say",
    "ContributeRequest.deal": "as DealCards, after the cut is fixed",
    "Contribution.seat": "whose",
    "Contribution.value": "a seat's part of the cut; the deck was committed before",
    "Contribution.leaf_hash": "that part, sealed",
    "Contribution.signature": "the seat's own",
    "SealHandRequest.key": "which hand",
    "DealCardsRequest.key": "which hand",
    "DealCardsRequest.first_place": "only compared with the next place",
    "DealCardsRequest.deals": "whom the next cards go to, not which they are",
    "DealCardsRequest.claim": "who may have them again",
    "DealCardsRequest.without_proofs": "whether proofs come along",
    "Deal.recipient": "an id",
    "Deal.count": "how many of the next places",
    "ShowCardsRequest.key": "which hand",
    "ShowCardsRequest.places": "which of the dealt ones are shown",
    "RevealHandRequest.key": "which hand, closed",
    "CloseHandRequest.key": "which hand",
    "CloseHandRequest.next": "as OpenHand",
    "VoidHandRequest.key": "which hand; its id stays spent, and the void is public",
    "VoidHandRequest.reason": "for people",
    "GetHandRequest.key": "which hand",
    "ListHandsRequest.table_prefix": "of which tables",
    "ListHandsRequest.state": "which of them",
    "ListHandsRequest.page_size": "how many",
    "ListHandsRequest.page_token": "where to go on",
    "WatchHandRequest.key": "which hand",
    "DrawIntegersRequest.key": "which draw",
    "DrawIntegersRequest.claim": "whose the match is; not an input of the draw",
    "DrawIntegersRequest.count": "how many numbers, hashed into the draw as rules",
    "DrawIntegersRequest.low": "added to every number",
    "DrawIntegersRequest.bound": "how many numbers may come, each equally likely; rules",
    "DrawIntegersRequest.sampler": "which of two uniform rules; rules",
    "DrawIntegersRequest.large": "to wait for all seeds, or to draw from one and say so; rules",
    "DrawKey.match": "an id, bound into X",
    "DrawKey.draw": "an id, bound into X; drawn once, so it cannot be tried again",
    "RollDiceRequest.key": "which draw",
    "RollDiceRequest.claim": "as of DrawIntegers",
    "RollDiceRequest.dice": "how many, of how many faces; rules",
    "RollDiceRequest.sampler": "as of DrawIntegers",
    "RollDiceRequest.large": "as of DrawIntegers",
    "Dice.count": "how many",
    "Dice.faces": "each equally likely",
    "ShuffleItemsRequest.key": "which draw",
    "ShuffleItemsRequest.claim": "as of DrawIntegers",
    "ShuffleItemsRequest.n": "how many items; rules",
    "ShuffleItemsRequest.labels": "what they are called; rules, by their hash",
    "ShuffleItemsRequest.sampler": "as of DrawIntegers",
    "ShuffleItemsRequest.large": "as of DrawIntegers",
    "SampleRequest.key": "which draw",
    "SampleRequest.claim": "as of DrawIntegers",
    "SampleRequest.n": "of how many; rules",
    "SampleRequest.labels": "as of ShuffleItems",
    "SampleRequest.count": "how many; rules",
    "SampleRequest.sampler": "as of DrawIntegers",
    "SampleRequest.large": "as of DrawIntegers",
    "DrawFromBagRequest.key": "which draw",
    "DrawFromBagRequest.claim": "as of DrawIntegers",
    "DrawFromBagRequest.bag": "which bag of the match; rules",
    "DrawFromBagRequest.contents": "what it holds at first; rules, and never changed",
    "DrawFromBagRequest.count": "how many tiles; rules",
    "DrawFromBagRequest.returns": "tiles that were drawn before and are put back; rules",
    "DrawFromBagRequest.sampler": "as of DrawIntegers",
    "DrawFromBagRequest.large": "as of DrawIntegers",
    "BagContents.preset": "a whole named set",
    "BagContents.tiles": "its kinds",
    "TileKind.label": "what stands on it",
    "TileKind.count": "how many",
    "ListDrawsRequest.match": "which match",
    "ListDrawsRequest.claim": "who reads",
    "ListDrawsRequest.page_size": "how much of it",
    "ListDrawsRequest.page_token": "where to go on",
    "ReplayMatchRequest.match": "which match",
    "ReplayMatchRequest.claim": "who reads",
    "ReplayMatchRequest.openings": "with what was drawn from: only what was shown already",
    "ReplayMatchRequest.page_size": "how much of it",
    "ReplayMatchRequest.page_token": "where to go on",
    "SealEntriesRequest.raffle": "an id, bound into X; sealed once",
    "SealEntriesRequest.claim": "who may draw it and read it again",
    "SealEntriesRequest.entries": "the list, recorded before any seed of its draw exists",
    "SealEntriesRequest.winners": "how many; rules, sealed",
    "SealEntriesRequest.alternates": "how many; rules, sealed",
    "SealEntriesRequest.sampler": "as of DrawIntegers, sealed",
    "SealEntriesRequest.large": "as of DrawIntegers, sealed",
    "DrawRequest.raffle": "which raffle; drawn once",
    "DrawRequest.claim": "who draws",
    "DrawRequest.entries_hash": "only compared with the sealed one",
    "GetReceiptRequest.log_index": "which receipt, of what happened",
    "ListReceiptsRequest.first_index": "from which on",
    "ListReceiptsRequest.page_size": "how many",
    "ListReceiptsRequest.page_token": "where to go on",
    "GetInclusionProofRequest.log_index": "of which leaf",
    "GetInclusionProofRequest.tree_size": "in which tree",
    "GetConsistencyProofRequest.first_size": "of which tree",
    "GetConsistencyProofRequest.second_size": "with which",
    "GetRaffleRequest.raffle": "which raffle",
    "GetRaffleRequest.claim": "who reads",
    "GetRaffleRequest.entries": "with the list",
    "GetRaffleRequest.opening": "with what it was drawn from, once it was",
    "OpenPairRequest.player": "whose line; an id",
    "OpenPairRequest.profile": "which of two schemes makes rounds of seeds",
    "SetClientSeedRequest.player": "whose line",
    "SetClientSeedRequest.server_hash": "only compared with the one that is shown",
    "SetClientSeedRequest.client_seed": "the player's part; the server's was hashed before",
    "PlayRoundRequest.key": "which round; played once",
    "PlayRoundRequest.game": "which game; rules",
    "PlayRoundRequest.machine": "which slot machine; rules",
    "PlayRoundRequest.mines": "how many; rules",
    "PlayRoundRequest.expected_nonce": "only compared with the next one: the daemon numbers rounds",
    "RoundKey.player": "whose line",
    "RoundKey.round": "an id; once played it stays played",
    "CloseRoundRequest.key": "which round",
    "VoidRoundRequest.key": "which round; its nonce stays consumed",
    "VoidRoundRequest.reason": "for people",
    "RotatePairRequest.player": "whose line",
    "RotatePairRequest.pair": "only compared with the present one",
    "GetPairRequest.player": "whose line",
    "GetRoundRequest.key": "which round",
    "ListRoundsRequest.player": "whose line",
    "ListRoundsRequest.pair": "which pair",
    "ListRoundsRequest.page_size": "how much",
    "ListRoundsRequest.page_token": "where to go on",
    "ListPairsRequest.player": "whose line",
    "ListPairsRequest.page_size": "how much",
    "ListPairsRequest.page_token": "where to go on",
    "ListPairsRequest.overdue_only": "which of them",
    "AddUserEntropyRequest.user": "whose; limits are counted by it",
    "AddUserEntropyRequest.blob": "mixed beside hardware that has been credited in full",
    "AddUserEntropyRequest.events": "as blob",
    "UserEvent.x": "as blob",
    "UserEvent.y": "as blob",
    "UserEvent.time_us": "as blob",
}

# What is called like a secret, and why it may leave.
SHOWN_AFTER = {
    "CardProof.salt": "of a card that its caller gets, or that was shown",
    "DealtCard.salt": "as CardProof.salt",
    "Revealed.seeds": "of a closed hand whose rules say reveal=after_close",
    "Revealed.blinding": "as its seeds",
    "Revealed.salt_key": "as its seeds",
    "DrawOpening.seeds": "of a draw whose result was shown, to whoever may read the match",
    "DrawOpening.blinding": "as its seeds",
    "DrawOpening.salt_key": "as its seeds",
    "RevealedPair.server_seed": "of a pair that nothing can be played on any more",
    "Pair.client_seed": "the player's own, and public",
    "Pair.next_nonce": "a number of rounds",
    "Round.client_seed": "the player's own, and public",
    "Round.nonce": "the number of the round",
    "Round.seeds": "the word `computational`",
}


def messages(scope: FileDescriptor | Descriptor) -> Iterator[Descriptor]:
    nested = (
        scope.message_types_by_name
        if isinstance(scope, FileDescriptor)
        else scope.nested_types_by_name
    )
    for message in nested.values():
        yield message
        yield from messages(message)


MESSAGES = [message for file in FILES for message in messages(file)]
FIELDS = [field for message in MESSAGES for field in message.fields]
ENUMS = [enum for file in FILES for enum in file.enum_types_by_name.values()] + [
    enum for message in MESSAGES for enum in message.enum_types_by_name.values()
]
SERVICES = [service for file in FILES for service in file.services_by_name.values()]
METHODS = [method for service in SERVICES for method in service.methods]


def name_of(field: FieldDescriptor) -> str:
    assert field.containing_type is not None
    return f"{field.containing_type.name}.{field.name}"


def reachable(message: Descriptor) -> Iterator[FieldDescriptor]:
    """Every field that can be set by sending `message`."""
    for field in message.fields:
        yield field
        if field.message_type is not None and field.message_type.file in FILES:
            yield from reachable(field.message_type)


# --- nobody chooses -------------------------------------------------------------------------


def test_no_request_has_a_field_that_is_not_known_to_choose_nothing():
    """No deck, no seed, no position, no order, no nonce: the fields that come in are these."""
    incoming = {name_of(field) for method in METHODS for field in reachable(method.input_type)}
    assert set(INPUTS) == incoming


def test_no_request_takes_what_is_open_to_anything():
    """An Any, a Struct, a map or an oneof of extensions would carry what the list above forbids."""
    for method in METHODS:
        for field in reachable(method.input_type):
            if field.message_type is not None:
                # A span of time carries nothing else.
                assert field.message_type.file in (*FILES, duration_pb2.DESCRIPTOR)
                assert not field.message_type.GetOptions().map_entry
        assert not method.input_type.is_extendable


# --- conventions --------------------------------------------------------------------------------


def test_the_walk_finds_the_services():
    assert {"DrawService": 7, "EntropyService": 3, "FairService": 10, "HandService": 11} | {
        "RaffleService": 3,
        "LedgerService": 5,
        "ShuffleService": 4,
    } == {service.name: len(service.methods) for service in SERVICES}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_has_a_request_and_a_response_of_its_own(method):
    """Named after it, in its file, used by no other: either can grow without the others."""
    assert (f"{method.name}Request", f"{method.name}Response") == (
        method.input_type.name,
        method.output_type.name,
    )
    used = [message for each in METHODS for message in (each.input_type, each.output_type)]
    assert (1, 1) == (used.count(method.input_type), used.count(method.output_type))
    assert (method.name == "StreamShuffles") == method.client_streaming
    assert (
        method.name in {"StreamShuffles", "WatchStatus", "WatchHand"}
    ) == method.server_streaming


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_files_are_where_their_package_says_with_one_service_each(file):
    assert "entropyd.v1" == file.package
    assert file.name.startswith("entropyd/v1/")
    assert len(file.services_by_name) <= 1


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.name)
def test_the_zero_of_an_enum_says_nothing_and_the_others_carry_its_name(enum):
    """SourceState -> SOURCE_STATE_UNSPECIFIED = 0: an absent value is never taken for a state."""
    prefix = "".join(f"_{c}" if c.isupper() else c.upper() for c in enum.name).strip("_") + "_"
    assert f"{prefix}UNSPECIFIED" == enum.values_by_number[0].name
    assert all(value.name.startswith(prefix) for value in enum.values)
    assert len(enum.values) == len({value.number for value in enum.values})


def test_no_number_is_a_floating_one():
    """Credit is whole thousandths of a bit, time is Duration and Timestamp."""
    floating = {FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE}
    assert FIELDS
    assert [] == [name_of(field) for field in FIELDS if field.cpp_type in floating]


def test_cards_travel_as_bytes():
    """A number that is zero is left out in places: the 2c would make a message shorter."""
    fields = shuffle_service_pb2.Shuffle.DESCRIPTOR.fields_by_name
    for name in ("cards", "items"):
        assert FieldDescriptor.TYPE_BYTES == fields[name].type
        assert not fields[name].is_repeated


def test_answers_carry_no_secret():
    """Neither seed, blinding nor salt key has a field; what is called commitment is its hash."""
    forbidden = ("seed", "blind", "salt", "secret", "key_", "private", "nonce", "claim")
    leaving = {name_of(field) for method in METHODS for field in reachable(method.output_type)}
    # The count of seeds is no seed; the claimed credit is no claim.
    leaving -= {"Provenance.seeds", "SourceStatus.claimed_millibits"}
    leaving -= set(SHOWN_AFTER)
    assert [] == [
        name
        for name in sorted(leaving)
        if any(word in name.partition(".")[2] for word in forbidden)
    ]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name)
def test_field_numbers_begin_at_one_without_gaps_or_have_a_reserved_number_for_each(message):
    """A number that was used once is never used for something else."""
    numbers = {field.number for field in message.fields}
    proto = _proto_of(message)
    reserved = {n for span in proto.reserved_range for n in range(span.start, span.end)}
    assert set(range(1, len(numbers | reserved) + 1)) == numbers | reserved


def _proto_of(message: Descriptor):
    proto = descriptor_pb2.DescriptorProto()
    message.CopyToProto(proto)
    return proto
