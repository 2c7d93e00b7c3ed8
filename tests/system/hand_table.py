"""Calls to HandService of a real daemon, as a game server's and players' stubs make them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from entropyd.hands.binding import hand_binding
from entropyd.hands.card_proof import CardProof, check_card
from entropyd.hands.commitment import decode_items
from entropyd.hands.rules import decode, rules_hash
from entropyd.log.receipt import Receipt
from entropyd.log.signed_note import SignedNote
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import hand_service_pb2_grpc, types_pb2
from tests.fakes.hand_desk import Player, deal_request, key, open_request
from tests.system.drawing import Told
from tests.system.harness import Daemon

TIMEOUT_S = 10.0
ANN, BOB, CAT = Player("seat-1"), Player("seat-2", keyed=True), Player("seat-10")
SEATS = (ANN, BOB, CAT)


class HandTable:
    """Stubs of the game server's listener, of the players' and of the auditor's."""

    def __init__(self, *channels: grpc.Channel) -> None:
        self.dealer, self.players, self.auditor = map(
            hand_service_pb2_grpc.HandServiceStub, channels
        )

    def open(self, hand: str = "h-1", **more: Any) -> Any:
        return self.dealer.OpenHand(open_request(hand, **more), timeout=TIMEOUT_S)

    def contribute(self, opened: Any, *spoken: pb.Contribution, **more: Any) -> Any:
        request = pb.ContributeRequest(
            key=opened.key, open_hash=opened.open_hash, contributions=spoken, **more
        )
        stub = self.dealer if more else self.players
        return stub.Contribute(request, timeout=TIMEOUT_S)

    def seal(self, hand: str = "h-1") -> Any:
        return self.dealer.SealHand(pb.SealHandRequest(key=key(hand)), timeout=TIMEOUT_S).hand

    def deal(self, first: int, *deals: tuple[str, int], **more: Any) -> Any:
        return self.dealer.DealCards(deal_request(first, *deals, **more), timeout=TIMEOUT_S)

    def show(self, *places: int, hand: str = "h-1") -> Any:
        request = pb.ShowCardsRequest(key=key(hand), places=places)
        return self.dealer.ShowCards(request, timeout=TIMEOUT_S)

    def reveal(self, hand: str = "h-1") -> Any:
        return self.dealer.RevealHand(pb.RevealHandRequest(key=key(hand)), timeout=TIMEOUT_S)

    def close(self, hand: str = "h-1", **more: Any) -> Any:
        return self.dealer.CloseHand(pb.CloseHandRequest(key=key(hand), **more), timeout=TIMEOUT_S)

    def void(self, hand: str = "h-1", reason: str = "misdeal") -> Any:
        request = pb.VoidHandRequest(key=key(hand), reason=reason)
        return self.dealer.VoidHand(request, timeout=TIMEOUT_S).hand

    def get(self, hand: str = "h-1") -> Any:
        return self.auditor.GetHand(pb.GetHandRequest(key=key(hand)), timeout=TIMEOUT_S).hand

    def listed(self, **request: Any) -> list[str]:
        answer = self.dealer.ListHands(pb.ListHandsRequest(**request), timeout=TIMEOUT_S)
        return [hand.opened.key.hand for hand in answer.hands]


@contextmanager
def seated(daemon: Daemon) -> Iterator[HandTable]:
    """Stubs for the length of a block."""
    sockets = ("dealer.sock", "poker.sock", "audit.sock")
    channels = [grpc.insecure_channel(f"unix:{daemon.home}/{socket}") for socket in sockets]
    try:
        yield HandTable(*channels)
    finally:
        for channel in channels:
            channel.close()


def told(call: Any) -> Told:
    """Return how a call was refused; one that was answered fails the test."""
    try:
        answer = call()
    except grpc.RpcError as error:
        return Told(error)
    raise AssertionError(f"was answered: {answer}")


def binding_of(hand: Any, tenant: str = "acme") -> bytes:
    """Return X, from what is public."""
    opened = hand.opened
    digest = rules_hash(opened.rules.encode())
    return hand_binding(tenant, opened.key.table, opened.key.hand, digest)


def check(hand: Any, *cards: pb.DealtCard) -> None:
    """Check cards as a player's software does."""
    for card in cards:
        item = int.from_bytes(card.item, "big")
        check_card(
            CardProof(card.place, card.leaf_index, item, card.salt, tuple(card.path)),
            binding=binding_of(hand),
            size=hand.opened.size,
            deck_root=hand.opened.deck_root,
            cut=decode_items(hand.sealed.cut),
        )
        assert decode(hand.opened.rules.encode()).deck.cards([item]) == card.card


def text_of(signed: types_pb2.SignedReceipt) -> Receipt:
    """Return what a receipt says; its signature is the log's affair."""
    receipt = Receipt.decode(SignedNote.decode(signed.note.encode()).text)
    assert receipt.index == signed.log_index
    return receipt
