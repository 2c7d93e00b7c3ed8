"""The typed clients of HandService against a real daemon."""

import asyncio

import pytest

from entropyd.client import (
    AsyncClient,
    Client,
    Contributions,
    HandAsk,
    Refusal,
    SeatContribution,
)
from entropyd.hands.binding import hand_binding
from entropyd.hands.card_proof import check_card
from entropyd.hands.claim import derive_claim
from entropyd.hands.rules import decode, rules_hash
from tests.fakes.hand_desk import Player
from tests.system.harness import running

ANN, BOB = Player("seat-1"), Player("seat-2", keyed=True)
SEATS = {player.seat: player.as_seat.public_key for player in (ANN, BOB)}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with running(tmp_path_factory.mktemp("client-hands")) as daemon:
        yield daemon


@pytest.fixture
def client(daemon):
    with daemon.client(socket_name="dealer.sock") as client:
        yield client


def value_of(player: Player, open_hash: bytes) -> SeatContribution:
    return SeatContribution(player.seat, value=player.value, signature=player.signature(open_hash))


def sealed_of(player: Player, open_hash: bytes) -> SeatContribution:
    told = player.seals(open_hash)
    return SeatContribution(player.seat, leaf_hash=told.leaf_hash, signature=told.signature)


def test_a_hand_through_the_client(client):
    """Open, contribute and deal, show, close with the next, reveal; receipts and cards typed."""
    hands = client.hands()
    asked = HandAsk(
        "a",
        "a-1",
        contributions=Contributions.OPEN,
        seats=SEATS,
        reveal_after_close=True,
        removed=[0],
    )
    opened = hands.open(asked)
    assert ("open", 51, SEATS, ["open"]) == (
        opened.state,
        opened.size,
        dict(opened.seats),
        list(opened.receipts),
    )
    assert hands.open(asked) == opened
    spoken = [value_of(player, opened.open_hash) for player in (ANN, BOB)]
    answer = hands.contribute("a", "a-1", opened.open_hash, spoken, deals=[("seat-1", 2)])
    assert ["", ""] == [outcome.refused for outcome in answer.outcomes]
    assert ("sealed", 2, None) == (answer.hand.state, len(answer.hand.leaves), answer.refusal)
    assert answer.dealt is not None
    assert sorted(answer.hand.cut) == list(range(51))
    board = hands.deal("a", "a-1", 2, [("burn", 1), ("board", 3)])
    assert ("", 6, False) == (board.cards[0].card, board.dealt, board.replayed)
    assert hands.deal("a", "a-1", 2, [("burn", 1), ("board", 3)]).cards == board.cards
    shown = hands.show("a", "a-1", [3, 4])
    assert [card.card for card in board.cards[1:3]] == [card.card for card in shown]
    closed = hands.close("a", "a-1", following=HandAsk("a", "a-2"))
    assert closed.following is not None
    assert ("closed", "sealed") == (closed.hand.state, closed.following.state)
    assert ["open", "seal", "close"] == list(closed.hand.receipts)
    revealed = hands.reveal("a", "a-1")
    assert [revealed.items[card.leaf_index] for card in shown] == [card.item for card in shown]
    assert ("void", "misdeal") == (
        hands.void("a", "a-2", "misdeal").state,
        hands.get("a", "a-2").reason,
    )


def test_sealed_contributions_through_the_client(client):
    """Leaf hashes, the roll, the values."""
    hands = client.hands()
    opened = hands.open(
        HandAsk("b", "b-1", contributions=Contributions.SEALED, seats=SEATS, contribute_for_s=9.5)
    )
    assert opened.deadline_s is not None
    spoken = [sealed_of(player, opened.open_hash) for player in (ANN, BOB)]
    rolled = hands.contribute("b", "b-1", opened.open_hash, spoken).hand
    assert ("rolled", 2) == (rolled.state, len(rolled.leaf_hashes))
    assert rolled.roll_deadline_s is not None
    values = [SeatContribution(player.seat, player.value) for player in (ANN, BOB)]
    assert "sealed" == hands.contribute("b", "b-1", opened.open_hash, values).hand.state
    assert "sealed" == hands.seal("b", "b-1").state


def test_claims_come_from_the_claim_key_by_place(daemon, client):
    """Another key gets PLACE_DEALT; so the daemon was sent the claim of section 13.1."""
    hands = client.hands()
    hands.open(HandAsk("c", "c-1"))
    hands.deal("c", "c-1", 0, [("seat-1", 1)])
    hands.deal("c", "c-1", 1, [("seat-1", 1)])
    with Client(
        f"unix:{daemon.home}/dealer.sock", claim_key_file=daemon.home / "other.key"
    ) as other:
        for place in (0, 1):
            with pytest.raises(Refusal) as told:
                other.hands().deal("c", "c-1", place, [("seat-1", 1)])
            assert "PLACE_DEALT" == told.value.reason
        key = other._requests.claim_key
        assert derive_claim(key.key, "c", "c-1", 1) == key.claim("c", "c-1", 1)


def test_refusals_of_a_next_hand_and_of_a_deal_come_as_refusals(client):
    """What was done stands; why the rest was not is typed."""
    hands = client.hands()
    for hand in ("d-1", "d-2", "d-3"):
        if hand != "d-3":
            hands.open(HandAsk("d", hand))
    closed = hands.close("d", "d-1", following=HandAsk("d", "d-2", reveal_after_close=True))
    assert closed.refusal is not None
    assert (None, "HAND_SPENT") == (closed.following, closed.refusal.reason)
    assert ["d-1", "d-2"] == [hand.hand for hand in hands.listed(table_prefix="d")]
    assert ["d-2"] == [hand.hand for hand in hands.listed(table_prefix="d", state="sealed")]


def test_the_same_for_asyncio(daemon):
    """Every method once, and a watcher that is told until the end."""

    async def scenario():
        async with AsyncClient(
            f"unix:{daemon.home}/dealer.sock", claim_key_file=daemon.home / "claim.key"
        ) as client:
            hands = client.hands()
            seats = {ANN.seat: b""}
            asked = HandAsk(
                "e",
                "e-1",
                contributions=Contributions.OPEN,
                seats=seats,
                reveal_after_close=True,
            )
            opened = await hands.open(asked)

            async def watch():
                return [hand.state async for hand in hands.watch("e", "e-1", timeout_s=30)]

            watching = asyncio.create_task(watch())
            await asyncio.sleep(0.5)
            spoken = [value_of(ANN, opened.open_hash)]
            sealed = await hands.contribute("e", "e-1", opened.open_hash, spoken)
            await hands.seal("e", "e-1")
            dealt = await hands.deal("e", "e-1", 0, [("seat-1", 2)], proofs=False)
            shown = await hands.show("e", "e-1", [0, 1])
            closed = await hands.close("e", "e-1", following=HandAsk("e", "e-2"))
            await hands.void("e", "e-2", "misdeal")
            listed = [hand.hand async for hand in hands.listed(table_prefix="e")]
            with pytest.raises(Refusal) as told:
                await hands.get("e", "e-9")
            return (
                sealed,
                dealt,
                shown,
                closed,
                await hands.reveal("e", "e-1"),
                listed,
                await watching,
                told.value.reason,
            )

    sealed, dealt, shown, closed, revealed, listed, states, reason = asyncio.run(scenario())
    assert "sealed" == sealed.hand.state
    assert [card.card for card in dealt.cards] == [card.card for card in shown]
    assert closed.hand == revealed.hand
    assert ["e-1", "e-2"] == listed
    assert ("open", "closed", "HAND_NOT_FOUND") == (states[0], states[-1], reason)


def test_a_watcher_of_the_client_ends_with_the_hand(client):
    """The last one that it is told is closed."""
    hands = client.hands()
    hands.open(HandAsk("f", "f-1"))
    hands.close("f", "f-1")
    assert ["closed"] == [hand.state for hand in hands.watch("f", "f-1", timeout_s=10)]


def test_a_whole_deck_with_proofs_through_the_client(daemon):
    """Every card is checked alone against D; read back they are the same."""
    with daemon.client() as client:
        deal = client.shuffle("g", "g-1", deck="short36", card_proofs=True)
        read = client.get_shuffle("g", "g-1")
        with pytest.raises(Refusal) as told:
            client.shuffle("g", "g-1", deck="short36")
        again = asyncio.run(_shuffle_again(daemon))
    rules = deal.rules.encode()
    binding = hand_binding("acme", "g", "g-1", rules_hash(rules))
    # What is proved is the item, and the item is the card.
    proved = decode(rules).deck.cards([proof.item for proof in deal.proofs])
    assert deal.card_ids == tuple(proved)
    for proof in deal.proofs:
        check_card(proof, binding=binding, size=36, deck_root=deal.deck_root, cut=range(36))
    assert (deal.proofs, deal.proofs) == (read.proofs, again.proofs)
    assert "HAND_SPENT" == told.value.reason


async def _shuffle_again(daemon):
    key_file = daemon.home / "claim.key"
    async with AsyncClient(daemon.target, claim_key_file=key_file) as client:
        return await client.shuffle("g", "g-1", deck="short36", card_proofs=True)
