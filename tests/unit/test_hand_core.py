"""HandService without a transport: every step once, every wrong order named, five calls a hand."""

import asyncio
import base64
from dataclasses import replace
from typing import Any

import pytest

from entropyd.draw.cards import Deck
from entropyd.errors import (
    EntropyHoldError,
    HandNotFoundError,
    HandSpentError,
    LedgerUnavailableError,
    NotDealtError,
    PermissionDeniedError,
    PlaceDealtError,
    PlanDepartedError,
    RequestError,
    RevealForbiddenError,
    ShuttingDownError,
    TableFullError,
    WindowOpenError,
    WrongNodeError,
    WrongPlaceError,
    WrongStateError,
)
from entropyd.hands.card_proof import CardProof, check_card
from entropyd.hands.commitment import decode_items
from entropyd.hands.rules import decode as decode_rules
from entropyd.ledger.contract import EventKind
from entropyd.log.events import Event
from entropyd.log.seat_note import Outcome
from entropyd.runtime.hand_store import HandStore
from entropyd.service.hand_lookups import binding_of
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import types_pb2
from tests.fakes.dealing import SECOND
from tests.fakes.hand_desk import (
    AUDITOR,
    HOUR,
    LIMITS,
    OUTSIDER,
    PLAYER,
    SERVER,
    HandDesk,
    Player,
    claim,
    deal_request,
    key,
    note_of,
    open_request,
    receipt_of,
)
from tests.fakes.ledger import FaultyLedger, MemoryDisk, MemoryLedger
from tests.fakes.manual_time import settle

ANN, BOB, CAT = Player("seat-1"), Player("seat-2", keyed=True), Player("seat-10")
SEATS = (ANN, BOB, CAT)


async def refused(kind, call, match=None):
    with pytest.raises(kind, match=match) as told:
        await call
    return told.value


def check(desk, card, hand):
    """Check a card as a player's software does, against what is public."""
    proof = CardProof(
        card.place, card.leaf_index, int.from_bytes(card.item, "big"), card.salt, tuple(card.path)
    )
    check_card(
        proof,
        binding=binding_of(desk.kept(hand.opened.key.hand)),
        size=hand.opened.size,
        deck_root=hand.opened.deck_root,
        cut=decode_items(hand.sealed.cut),
    )


# --- whole hands ------------------------------------------------------------------------


def test_a_full_hand_takes_five_calls():
    """Contributions with the deal, flop, turn, river, and the close that opens the next one."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS)).hand
        desk.said.clear()
        answer = await desk.contribute(
            opened.opened,
            *(player.speaks(opened.opened.open_hash) for player in SEATS),
            deal=deal_request(0, *((player.seat, 2) for player in SEATS)),
        )
        flop = await desk.deal(6, ("burn", 1), ("board", 3))
        turn = await desk.deal(10, ("burn", 1), ("board", 1))
        river = await desk.deal(12, ("burn", 1), ("board", 1))
        closed = await desk.close(next=open_request("h-2", players=SEATS))
        return opened, answer, [flop, turn, river], closed

    opened, answer, deals, closed = desk.run(scenario)
    assert 5 == len(desk.said)
    assert (pb.HAND_STATE_OPEN, pb.HAND_STATE_SEALED, pb.HAND_STATE_CLOSED) == (
        opened.state,
        answer.hand.state,
        closed.hand.state,
    )
    assert ["", "", ""] == [outcome.refused for outcome in answer.outcomes]
    cards = [*answer.dealt.cards, *(card for deal in deals for card in deal.cards)]
    assert list(range(14)) == [card.place for card in cards]
    items = [card.item for card in cards if card.recipient != "burn"]
    assert 11 == len(items) == len(set(items))
    for card in cards:
        if card.recipient != "burn":
            check(desk, card, closed.hand)
    assert (14, 14) == (closed.hand.ended.dealt, receipt_of(closed.hand.ended.receipt).dealt)
    assert (pb.HAND_STATE_OPEN, 2) == (closed.next.hand.state, closed.next.hand.opened.sequence)


def test_every_step_has_its_signed_receipt_in_the_log():
    """Open, roll, seal and close stand in the log where they say, signed by the receipts key."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS, sealed=True)).hand.opened
        rolled = await desk.contribute(
            opened, *(player.seals(opened.open_hash) for player in SEATS)
        )
        sealed = await desk.contribute(opened, *(player.opens() for player in SEATS))
        return opened, rolled.hand, sealed.hand, (await desk.close()).hand

    opened, rolled, sealed, closed = desk.run(scenario)
    assert (pb.HAND_STATE_ROLLED, pb.HAND_STATE_SEALED) == (rolled.state, sealed.state)
    found = [opened.receipt, rolled.roll.receipt, sealed.sealed.receipt, closed.ended.receipt]
    events = [Event.OPEN, Event.ROLL, Event.SEAL, Event.CLOSE]
    assert events == [receipt_of(signed).event for signed in found]
    assert {opened.open_hash} == {receipt_of(signed).open_hash for signed in found}
    for signed in found:
        text = desk.store.receipt(signed.log_index).decode()
        assert signed.note.startswith(f"{text}\n")
    assert sealed.sealed.root == rolled.roll.root == receipt_of(found[2]).contributions_root


def test_nobody_contributes_and_the_hand_is_sealed_as_it_is_opened():
    """One step, two receipts; nothing is cut."""
    desk = HandDesk()
    answer = desk.run(desk.open)
    hand = answer.hand
    assert (pb.HAND_STATE_SEALED, False) == (hand.state, answer.replayed)
    assert list(range(52)) == list(decode_items(hand.sealed.cut))
    assert hand.sealed.receipt.log_index == hand.opened.receipt.log_index + 1
    assert not hand.opened.HasField("deadline")
    assert ["open"] == desk.counted.steps


@pytest.mark.parametrize(
    ("deck", "size"),
    [
        (types_pb2.Deck(name="short36"), 36),
        (types_pb2.Deck(name="standard54"), 54),
        (types_pb2.Deck(decks=8), 416),
        (types_pb2.Deck(removed=[0, 51]), 50),
    ],
)
def test_other_decks(deck, size):
    """Short decks, jokers, shoes and removed cards, dealt to the last card and not beyond."""
    desk = HandDesk(60)

    async def scenario():
        opened = (await desk.open(deck=deck)).hand
        whole = await desk.deal(0, ("seat-1", size))
        await refused(RequestError, desk.deal(size, ("seat-1", 1)), "deals")
        return opened, whole

    opened, whole = desk.run(scenario)
    assert size == opened.opened.size == whole.dealt
    own = Deck(deck.name or "standard52", deck.decks or 1, tuple(deck.removed))
    items = [int.from_bytes(card.item, "big") for card in whole.cards]
    assert list(range(size)) == sorted(items)
    assert b"".join(card.card for card in whole.cards) == own.cards(items)
    for card in whole.cards:
        check(desk, card, opened)


def test_a_hand_after_a_step_is_what_another_life_reads_of_it():
    """What answers while the daemon runs is no more than what it recorded, in every state."""
    desk, states = HandDesk(), []

    def both(hand: str = "h-1") -> None:
        kept: Any = desk.store.find("room", hand)
        assert kept == HandStore(desk.table.ledger).find("room", hand)
        states.append(kept.hand.state)

    async def scenario():
        opened = (await desk.open(players=SEATS, sealed=True)).hand.opened
        both()
        await desk.contribute(opened, *(player.seals(opened.open_hash) for player in SEATS))
        both()
        await desk.contribute(opened, *(player.opens() for player in SEATS))
        both()
        await desk.deal(0, ("seat-1", 2), ("seat-2", 2))
        await desk.deal(4, ("burn", 1), ("board", 3))
        both()
        parent = pb.Parent(hand="h-1", places=[1, 2])
        await desk.open("child", parent=parent)
        both("child")
        await desk.void("child")
        both("child")
        both()
        await desk.close()
        both()

    desk.run(scenario)
    assert ["open", "rolled", "sealed", "sealed", "sealed", "void", "sealed", "closed"] == states


# --- every step again -------------------------------------------------------------------


def test_every_step_again_gets_the_same_answer_and_records_nothing():
    """A retry of any call finds what was recorded, also when the hand has gone on."""
    desk = HandDesk()

    async def scenario():
        requests: list[tuple[str, Any]] = [
            ("open_hand", open_request(players=SEATS, reveal_after_close=True)),
        ]
        opened = (await desk.ask(*requests[0])).hand.opened
        spoken = [player.speaks(opened.open_hash) for player in SEATS]
        requests += [
            (
                "contribute",
                pb.ContributeRequest(key=key(), open_hash=opened.open_hash, contributions=spoken),
            ),
            ("seal_hand", pb.SealHandRequest(key=key())),
            ("deal_cards", deal_request(0, ("seat-1", 2), ("burn", 1))),
            ("deal_cards", deal_request(3, ("board", 3))),
            ("show_cards", pb.ShowCardsRequest(key=key(), places=[0, 1])),
            ("close_hand", pb.CloseHandRequest(key=key())),
            ("reveal_hand", pb.RevealHandRequest(key=key())),
        ]
        for request in requests[1:]:
            await desk.ask(*request)
        first, size = list(desk.said), len(desk.table.writer.steps)
        desk.said.clear()
        for request in requests:
            await desk.ask(*request)
        assert size == len(desk.table.writer.steps)
        return first, desk.said

    first, again = desk.run(scenario)
    assert again[0].replayed
    assert first[1].outcomes == again[1].outcomes
    assert list(first[3].cards) == list(again[3].cards)
    assert list(first[4].cards) == list(again[4].cards)
    assert [True, True] == [again[3].replayed, again[4].replayed]
    assert first[6] == again[6]
    assert first[7].revealed == again[7].revealed
    assert again[0].hand == again[6].hand == again[7].hand


def test_a_restarted_daemon_answers_the_same():
    """Whatever was recorded is found by another process on the same ledger, to the byte."""
    disk = MemoryDisk()
    desk = HandDesk(ledger=MemoryLedger(disk))

    async def scenario(desk):
        opened = (await desk.open(players=(ANN,))).hand.opened
        spoken = ANN.speaks(opened.open_hash)
        await desk.contribute(opened, spoken)
        await desk.deal(0, ("seat-1", 2))
        return [await desk.get(), await desk.deal(0, ("seat-1", 2))]

    before = desk.run(lambda: scenario(desk))
    desk.table.ledger.close()
    after = HandDesk(0, ledger=MemoryLedger(disk))
    after.table.clock.now_ns = desk.table.clock.now_ns
    assert before == after.run(lambda: scenario(after))


# --- every wrong order ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "step", "kind", "match"),
    [
        ("open", "seal", WindowOpenError, "is OPEN"),
        ("open", "deal", WrongStateError, "is OPEN; expected SEALED"),
        ("open", "show", NotDealtError, "is OPEN"),
        ("open", "close", WrongStateError, "is OPEN; expected SEALED"),
        ("open", "reveal", WrongStateError, "is OPEN; expected CLOSED"),
        ("rolled", "deal", WrongStateError, "is ROLLED; expected SEALED"),
        ("rolled", "show", NotDealtError, "is ROLLED"),
        ("rolled", "close", WrongStateError, "is ROLLED; expected SEALED"),
        ("rolled", "reveal", WrongStateError, "is ROLLED; expected CLOSED"),
        ("sealed", "reveal", WrongStateError, "is SEALED; expected CLOSED"),
        ("sealed", "show", NotDealtError, "is SEALED"),
        ("closed", "deal", WrongStateError, "is CLOSED; expected SEALED"),
        ("closed", "void", WrongStateError, "is CLOSED; expected"),
        ("void", "deal", WrongStateError, "is VOID; expected SEALED"),
        ("void", "show", NotDealtError, "is VOID"),
        ("void", "close", WrongStateError, "is VOID; expected SEALED"),
        ("void", "reveal", WrongStateError, "is VOID; expected CLOSED"),
        ("void", "void", WrongStateError, "is VOID; expected"),
    ],
)
def test_a_step_out_of_order_is_refused_and_names_the_state(state, step, kind, match):
    """FAILED_PRECONDITION, and nothing is recorded."""
    desk = HandDesk()

    async def scenario():
        await bring_to(desk, state)
        before = len(desk.table.writer.steps)
        await refused(kind, take(desk, step), match)
        assert before == len(desk.table.writer.steps)

    desk.run(scenario)


async def bring_to(desk, state):
    """Open a hand and bring it into a state."""
    opened = (await desk.open(players=SEATS, sealed=True, reveal_after_close=True)).hand.opened
    if state in {"open", "void"}:
        if state == "void":
            await desk.void()
        return opened
    await desk.contribute(opened, *(player.seals(opened.open_hash) for player in SEATS))
    if state == "rolled":
        return opened
    await desk.contribute(opened, *(player.opens() for player in SEATS))
    if state == "closed":
        await desk.close()
    return opened


def take(desk, step):
    match step:
        case "seal":
            return desk.ask("seal_hand", pb.SealHandRequest(key=key()))
        case "deal":
            return desk.deal(0, ("seat-1", 1))
        case "show":
            return desk.show(0)
        case "close":
            return desk.close()
        case "reveal":
            return desk.ask("reveal_hand", pb.RevealHandRequest(key=key()))
        case _:
            return desk.void(reason="another reason")


def test_a_contribution_in_any_other_state_gets_a_note():
    """Too late is no error of the call: the seat can show what it was told."""
    for state in ("rolled", "sealed", "closed", "void"):
        desk = HandDesk()

        async def scenario(desk=desk, state=state):
            opened = await bring_to(desk, state)
            stranger = Player("seat-1")
            stranger.value = bytes(31) + b"x"
            return await desk.contribute(opened, stranger.seals(opened.open_hash))

        [outcome] = desk.run(scenario).outcomes
        assert "window-over" == outcome.refused == note_of(outcome).reason


# --- contributions ----------------------------------------------------------------------


def test_every_bad_contribution_is_refused_in_a_signed_note():
    """Another hand, an unknown seat, a wrong signature, twice, copied, in the wrong form."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS)).hand.opened
        other = replace_hash(opened)
        told = {}

        async def say(what, *spoken, to=opened):
            told[what] = (await desk.contribute(to, *spoken)).outcomes[0]

        await say("other-hand", ANN.speaks(opened.open_hash), to=other)
        await say("unknown-seat", Player("seat-9").speaks(opened.open_hash))
        unsigned = BOB.speaks(opened.open_hash)
        unsigned.signature = bytes(64)
        await say("bad-signature", unsigned)
        await say("wrong-form", ANN.seals(opened.open_hash))
        await say("", ANN.speaks(opened.open_hash))
        changed = ANN.speaks(opened.open_hash)
        changed.value = bytes(32)
        await say("already-spoken", changed)
        return opened, told, await desk.get()

    opened, told, hand = desk.run(scenario)
    assert list(told) == [outcome.refused for outcome in told.values()]
    notes = [note_of(outcome) for outcome in told.values()]
    assert {opened.open_hash} == {note.open_hash for note in notes}
    assert [what or None for what in told] == [note.reason for note in notes]
    assert ["seat-1"] == list(hand.contributed)
    accepted = notes[list(told).index("")]
    assert Outcome.ACCEPTED is accepted.outcome


def replace_hash(opened):
    other = pb.Opened()
    other.CopyFrom(opened)
    other.open_hash = bytes(32)
    return other


def test_a_copied_leaf_hash_is_refused():
    """Who sends another seat's leaf hash is no contributor, with a valid signature or without."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS, sealed=True)).hand.opened
        await desk.contribute(opened, ANN.seals(opened.open_hash))
        copied = pb.Contribution(seat="seat-10", leaf_hash=ANN.seals(opened.open_hash).leaf_hash)
        early = await desk.contribute(opened, ANN.opens())
        return (await desk.contribute(opened, copied)).outcomes[0], early.outcomes[0]

    copied, early = desk.run(scenario)
    assert ("copied", "wrong-form") == (copied.refused, early.refused)


def test_an_accepted_contribution_stands_beside_a_refused_one():
    """One call for all seats: each gets its own note."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS)).hand.opened
        spoken = [ANN.speaks(opened.open_hash), Player("seat-9").speaks(opened.open_hash)]
        return await desk.contribute(opened, *spoken)

    answer = desk.run(scenario)
    assert ["", "unknown-seat"] == [outcome.refused for outcome in answer.outcomes]
    assert ["seat-1"] == list(answer.hand.contributed)


def test_a_deal_that_comes_with_contributions_may_be_refused_alone():
    """What was accepted stays accepted; the answer says why nothing was dealt."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=(ANN,), plan=["board"])).hand.opened
        spoken = ANN.speaks(opened.open_hash)
        return await desk.contribute(opened, spoken, deal=deal_request(0, ("seat-1", 1)))

    answer = desk.run(scenario)
    assert ("", "PLAN_DEPARTED") == (answer.outcomes[0].refused, answer.deal_refusal.reason)
    assert (pb.HAND_STATE_SEALED, 0) == (answer.hand.state, answer.hand.dealt)


def test_what_was_not_sealed_is_not_dealt_by_a_contribution():
    """Other seats are awaited: no card, and no refusal either."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS)).hand.opened
        spoken = ANN.speaks(opened.open_hash)
        return await desk.contribute(opened, spoken, deal=deal_request(0, ("seat-1", 1)))

    answer = desk.run(scenario)
    assert (False, False) == (answer.HasField("dealt"), answer.HasField("deal_refusal"))


# --- dealing ----------------------------------------------------------------------------


def test_a_burned_card_does_not_leave_before_the_hand_is_closed():
    """No item, card, salt or path; after the close it may be shown."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        [burned] = (await desk.deal(0, ("burn", 1))).cards
        await refused(NotDealtError, desk.show(0), "place 0 was not dealt to anybody")
        await desk.close()
        return burned, await desk.show(0, 51)

    burned, shown = desk.run(scenario)
    assert (b"", b"", b"", []) == (burned.item, burned.card, burned.salt, list(burned.path))
    assert ["burn", ""] == [card.recipient for card in shown.cards]
    for card in shown.cards:
        check(desk, card, shown.hand)


def test_proofs_may_be_left_out_and_shown_later():
    """The cards are the same."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        bare = await desk.deal(0, ("seat-1", 2), without_proofs=True)
        return bare, await desk.show(0, 1)

    bare, shown = desk.run(scenario)
    assert [(b"", [])] * 2 == [(card.salt, list(card.path)) for card in bare.cards]
    assert [card.item for card in bare.cards] == [card.item for card in shown.cards]


def test_another_claim_for_a_dealt_place_is_an_alarm():
    """So are other recipients; the honest call fails loudly, also beside contributions."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=(ANN,))).hand.opened
        spoken = ANN.speaks(opened.open_hash)
        await desk.contribute(opened, spoken)
        stolen = deal_request(0, ("seat-6", 2), whose="thief")
        await desk.ask("deal_cards", stolen)
        await refused(PlaceDealtError, desk.deal(0, ("seat-1", 2)), "treat it as an alarm")
        again = desk.contribute(opened, spoken, deal=deal_request(0, ("seat-1", 2)))
        await refused(PlaceDealtError, again)
        other = deal_request(0, ("seat-1", 2), whose="thief")
        await refused(PlaceDealtError, desk.ask("deal_cards", other))

    desk.run(scenario)
    assert [("room", "t-1", "h-1", 0)] * 3 == desk.counted.alarms


def test_a_place_that_is_not_the_next_is_refused():
    """A gap names the place that is expected."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        await refused(WrongPlaceError, desk.deal(1, ("seat-1", 1)), "expected first_place 0")

    desk.run(scenario)


def test_a_plan_is_followed():
    """Beyond its end anybody may be dealt to."""
    desk = HandDesk()

    async def scenario():
        await desk.open(plan=["seat-1", "board"])
        await refused(PlanDepartedError, desk.deal(0, ("seat-2", 1)))
        return await desk.deal(0, ("seat-1", 1), ("board", 1), ("seat-2", 1))

    assert 3 == desk.run(scenario).dealt


def test_calls_at_the_same_time_deal_one_after_the_other():
    """Two retries of one call and one for the next places: each place leaves once."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        same = [desk.deal(0, ("seat-1", 2)) for _ in range(2)]
        return await asyncio.gather(*same, desk.deal(2, ("seat-2", 2)))

    first, again, following = desk.run(scenario)
    assert list(first.cards) == list(again.cards)
    assert [0, 1, 2, 3] == [card.place for card in (*first.cards, *following.cards)]
    assert 3 == len(desk.table.writer.steps)


# --- showing and revealing --------------------------------------------------------------


def test_a_reveal_shows_what_the_deck_follows_from():
    """Only where the rules say so; the commitment and the order follow."""
    desk = HandDesk()

    async def scenario():
        await desk.open(reveal_after_close=True)
        dealt = await desk.deal(0, ("seat-1", 2))
        await desk.close()
        revealed = await desk.ask("reveal_hand", pb.RevealHandRequest(key=key()))
        await desk.open("h-2")
        await desk.close("h-2")
        never = desk.ask("reveal_hand", pb.RevealHandRequest(key=key("h-2")))
        await refused(RevealForbiddenError, never, "reveal=never")
        return dealt, revealed

    dealt, answer = desk.run(scenario)
    items = decode_items(answer.revealed.items)
    assert [items[card.leaf_index].to_bytes(4, "big") for card in dealt.cards] == [
        card.item for card in dealt.cards
    ]
    secrets = desk.store.deck(desk.kept()).secrets
    assert secrets.seeds == answer.revealed.seeds


def test_nothing_is_shown_that_the_ledger_could_not_record():
    """Who may show cards cannot do so unseen by filling the disk first."""
    ledger = FaultyLedger(MemoryLedger())
    desk = HandDesk(ledger=ledger)

    async def scenario():
        await desk.open(reveal_after_close=True)
        await desk.deal(0, ("seat-1", 2))
        await desk.close()
        for call in (desk.show(0), take(desk, "reveal")):
            ledger.fail_not_written = 1
            await refused(LedgerUnavailableError, call)
        assert [] == desk.table.writer.events
        return await desk.show(0)

    assert 1 == len(desk.run(scenario).cards)
    assert 1 == len(desk.table.writer.events)


def test_what_was_shown_goes_into_the_ledger():
    """Every show and every reveal, with the places."""
    desk = HandDesk()

    async def scenario():
        await desk.open(reveal_after_close=True)
        await desk.deal(0, ("seat-1", 2))
        await desk.show(1)
        await desk.close()
        await desk.ask("reveal_hand", pb.RevealHandRequest(key=key()))

    desk.run(scenario)
    told = [(event.kind, event.subject, event.detail) for event in desk.table.writer.events]
    assert [
        (EventKind.HAND_READ, "room/h-1", '{"role": "reveal", "places": [1]}'),
        (EventKind.HAND_READ, "room/h-1", '{"role": "reveal", "all": true}'),
    ] == told


@pytest.mark.parametrize("places", [[], [1, 0], [0, 0], [52]])
def test_places_that_are_none_are_refused(places):
    """Not ascending, twice, beyond the deck, or none at all."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        await desk.close()
        await refused(RequestError, desk.show(*places), "places")

    desk.run(scenario)


# --- limits of tables -------------------------------------------------------------------


def test_a_table_has_so_many_open_hands_and_no_more():
    """Also when they are asked for at the same time; a close makes room."""
    desk = HandDesk()

    async def scenario():
        calls = [desk.open(f"h-{number}") for number in (1, 2, 3)]
        told = await asyncio.gather(*calls, return_exceptions=True)
        full = [one for one in told if isinstance(one, TableFullError)]
        assert 1 == len(full)
        assert "per_table_open" in str(full[0])
        await desk.close("h-1")
        await desk.open("h-4")
        await desk.open("elsewhere", table="t-2")

    desk.run(scenario)


def test_one_hand_of_a_table_is_dealt_at_a_time():
    """Also when two begin at the same time; the next may begin when the first has ended."""
    desk = HandDesk()

    async def scenario():
        await desk.open("h-1")
        await desk.open("h-2")
        told = await asyncio.gather(
            desk.deal(0, ("seat-1", 1), hand="h-1"),
            desk.deal(0, ("seat-1", 1), hand="h-2"),
            return_exceptions=True,
        )
        assert ["DealCardsResponse", "TableFullError"] == [type(one).__name__ for one in told]
        await desk.void("h-1")
        await desk.deal(0, ("seat-1", 1), hand="h-2")

    desk.run(scenario)


def test_limits_are_counted_again_after_a_restart():
    """What another process opened takes its room."""
    disk = MemoryDisk()
    desk = HandDesk(ledger=MemoryLedger(disk))

    async def before():
        await desk.open("h-1")
        await desk.open("h-2")
        await desk.deal(0, ("seat-1", 1), hand="h-1")

    desk.run(before)
    desk.table.ledger.close()
    after = HandDesk(ledger=MemoryLedger(disk))
    after.table.clock.now_ns = desk.table.clock.now_ns

    async def scenario():
        await refused(TableFullError, after.open("h-3"))
        await refused(TableFullError, after.deal(0, ("seat-1", 1), hand="h-2"))

    after.run(scenario)


# --- hands in place of others -----------------------------------------------------------


def test_a_hand_may_stand_in_place_of_a_void_one():
    """Its rules and its receipt name the void one's O; one that is not void is refused."""
    desk = HandDesk()

    async def scenario():
        first = (await desk.open("h-1")).hand
        await refused(WrongStateError, desk.open("h-2", replaces="h-1"), "expected VOID")
        await refused(HandNotFoundError, desk.open("h-2", replaces="h-0"))
        await desk.void("h-1")
        return first, (await desk.open("h-2", replaces="h-1")).hand

    first, second = desk.run(scenario)
    assert first.opened.open_hash == decode_rules(second.opened.rules.encode()).replaces
    assert first.opened.open_hash == receipt_of(second.opened.receipt).replaces


def test_a_draw_game_goes_on_from_discards():
    """The child deals the parent's discards and no other card; a retry finds it."""
    desk = HandDesk()

    async def scenario():
        await desk.open("h-1", deck=types_pb2.Deck(name="short36"))
        dealt = await desk.deal(0, ("seat-1", 5), ("seat-2", 5))
        places = [1, 3, 4, 7]
        parent = pb.Parent(hand="h-1", places=places)
        await refused(NotDealtError, desk.open("h-2", parent=pb.Parent(hand="h-1", places=[1, 10])))
        child = (await desk.open("h-2", parent=parent)).hand
        cards = (await desk.deal(0, ("seat-1", 4), hand="h-2")).cards
        await desk.close("h-2")
        await desk.close("h-1")
        again = await desk.open("h-2", parent=parent)
        await refused(WrongStateError, desk.open("h-3", parent=parent), "is CLOSED")
        other = pb.Parent(hand="h-1", places=[1, 3, 4, 8])
        await refused(HandSpentError, desk.open("h-2", parent=other))
        return dealt, places, child, cards, again

    dealt, places, child, cards, again = desk.run(scenario)
    assert sorted(dealt.cards[place].item for place in places) == sorted(
        card.item for card in cards
    )
    assert {card.card for card in cards} == {dealt.cards[place].card for place in places}
    rules = decode_rules(child.opened.rules.encode())
    assert ("short36", 4, True) == (rules.deck.name, child.opened.size, again.replayed)
    assert rules.parent is not None
    assert rules.parent.digest == receipt_of(child.opened.receipt).parent


# --- time -------------------------------------------------------------------------------


def test_a_window_ends_at_its_deadline_without_anybody_asking():
    """The sweep seals; who never spoke is in no roll."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS)).hand.opened
        await desk.contribute(opened, ANN.speaks(opened.open_hash))
        await sweep_until(desk, 30)
        return await desk.get()

    hand = desk.run(scenario)
    assert (pb.HAND_STATE_SEALED, 1) == (hand.state, len(hand.sealed.leaves))
    assert ["open", "contribute", "sealed"] == desk.counted.steps


def test_an_unopened_leaf_voids_the_hand_without_anybody_asking():
    """In public: the receipt says unopened."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS, sealed=True)).hand.opened
        await desk.contribute(opened, *(player.seals(opened.open_hash) for player in SEATS))
        await desk.contribute(opened, ANN.opens())
        await sweep_until(desk, 31)
        return await desk.get()

    hand = desk.run(scenario)
    assert (pb.HAND_STATE_VOID, "unopened") == (hand.state, hand.ended.reason)
    assert "unopened" == receipt_of(hand.ended.receipt).reason
    assert ["unopened"] == desk.counted.voids


def test_a_hand_expires_without_anybody_asking_also_after_a_restart():
    """The receipt says expired and how many cards had been dealt; the id stays spent."""
    disk = MemoryDisk()
    desk = HandDesk(ledger=MemoryLedger(disk))

    async def before():
        await desk.open()
        await desk.deal(0, ("seat-1", 2))

    desk.run(before)
    desk.table.ledger.close()
    after = HandDesk(ledger=MemoryLedger(disk))
    after.table.clock.now_ns = desk.table.clock.now_ns + HOUR

    async def scenario():
        await sweep_until(after, 1)
        hand = await after.get()
        await refused(HandSpentError, after.open(players=(ANN,)))
        return hand

    hand = after.run(scenario)
    assert (pb.HAND_STATE_VOID, "expired", 2) == (hand.state, hand.ended.reason, hand.ended.dealt)
    assert "expired" == receipt_of(hand.ended.receipt).reason
    assert 0 == len(after.sweep)


async def sweep_until(desk, seconds):
    """Tick for some time, as the daemon does."""
    for _ in range(seconds * 10 + 2):
        desk.sweep.tick()
        await settle()
        await asyncio.sleep(0.1)


def test_whoever_asks_after_a_deadline_finds_the_hand_as_time_made_it():
    """No sweep is needed: the step is recorded first, then the call is judged."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS)).hand.opened
        desk.table.clock.advance(30)
        late = await desk.contribute(opened, ANN.speaks(opened.open_hash))
        sealed = await desk.ask("seal_hand", pb.SealHandRequest(key=key()))
        return late, sealed

    late, sealed = desk.run(scenario)
    assert "window-over" == late.outcomes[0].refused
    assert pb.HAND_STATE_SEALED == late.hand.state == sealed.hand.state


def test_who_seals_a_hand_at_its_deadline_gets_the_roll_that_this_closed():
    """With its receipt, for the seats of it; and again, as long as values are awaited."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=SEATS, sealed=True)).hand.opened
        await desk.contribute(opened, ANN.seals(opened.open_hash), BOB.seals(opened.open_hash))
        await refused(WindowOpenError, take(desk, "seal"), "is OPEN: 1 seats have not spoken")
        desk.table.clock.advance(30)
        rolled = [(await take(desk, "seal")).hand for _ in range(2)]
        desk.table.clock.advance(31)
        return rolled, (await take(desk, "seal")).hand

    (first, again), void = desk.run(scenario)
    assert first == again
    assert (pb.HAND_STATE_ROLLED, 2) == (first.state, receipt_of(first.roll.receipt).contributions)
    assert (pb.HAND_STATE_VOID, "unopened") == (void.state, void.ended.reason)


def test_a_hand_that_is_due_while_the_ledger_fails_is_advanced_later():
    """Tried again a second later, until it is recorded."""
    ledger = FaultyLedger(MemoryLedger())
    desk = HandDesk(ledger=ledger)

    async def scenario():
        await desk.open(players=SEATS)
        desk.table.clock.advance(30)
        ledger.fail_not_written = 1
        desk.sweep.tick()
        await settle()
        assert pb.HAND_STATE_OPEN == (await desk.get()).state
        await sweep_until(desk, 3)
        return await desk.get()

    assert pb.HAND_STATE_SEALED == desk.run(scenario).state


def test_other_limits_hold_for_hands_that_are_open():
    """A shorter expiry is looked at again; a longer one too."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        desk.table.clock.advance(60)
        desk.hands.limits = replace(LIMITS, expire_after_ns=60 * SECOND)
        desk.sweep.rescan()
        await sweep_until(desk, 1)
        return await desk.get()

    assert "expired" == desk.run(scenario).ended.reason


# --- hold and stop ----------------------------------------------------------------------


def test_an_opening_waits_at_the_gate_and_goes_on_when_entropy_comes():
    """Held, then opened; a caller whose time is over spent nothing."""
    desk = HandDesk(0)

    async def scenario():
        await refused(EntropyHoldError, desk.open())
        assert desk.store.find("room", "h-1") is None
        waiting = asyncio.ensure_future(desk.open())
        await settle()
        desk.table.feed()
        return await waiting

    assert pb.HAND_STATE_SEALED == desk.run(scenario).hand.state


def test_a_daemon_that_drains_makes_no_step_and_still_answers_what_is_recorded():
    """UNAVAILABLE for what is new, the recorded cards for who asks again."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        dealt = await desk.deal(0, ("seat-1", 2))
        desk.table.dealer.drain()
        desk.sweep.stop()
        await refused(ShuttingDownError, desk.deal(2, ("seat-1", 2)))
        await refused(ShuttingDownError, desk.open("h-2"))
        return dealt, await desk.deal(0, ("seat-1", 2))

    dealt, again = desk.run(scenario)
    assert list(dealt.cards) == list(again.cards)


def test_a_step_that_was_not_confirmed_is_found_or_made_by_the_retry():
    """Written or not: the same cards, one step."""
    for written in (False, True):
        ledger = FaultyLedger(MemoryLedger())
        desk = HandDesk(ledger=ledger)

        async def scenario(desk=desk, ledger=ledger, written=written):
            await desk.open()
            ledger.fail_but_written, ledger.fail_not_written = int(written), int(not written)
            await refused(LedgerUnavailableError, desk.deal(0, ("seat-1", 2)))
            desk.table.clock.advance(2)
            await settle()
            return await desk.deal(0, ("seat-1", 2))

        answer = desk.run(scenario)
        assert (written, 2) == (answer.replayed, answer.dealt)
        assert (1,) == tuple({len(desk.kept().runs)})


def test_a_cancelled_caller_leaves_its_step_to_be_found():
    """The turn ends with the record: nobody makes a step of an old hand."""
    desk = HandDesk()

    async def scenario():
        await desk.open()
        desk.table.writer.held = True
        call = asyncio.ensure_future(desk.deal(0, ("seat-1", 2)))
        await settle()
        call.cancel()
        await settle()
        again = asyncio.ensure_future(desk.deal(0, ("seat-1", 2)))
        await settle()
        assert not again.done()
        desk.table.writer.held = False
        desk.table.writer.commit_all()
        return await again

    assert desk.run(scenario).replayed


# --- reading ----------------------------------------------------------------------------


def test_lists_are_in_order_of_table_and_number_page_by_page():
    """By prefix and state; the pages together hold every hand once."""
    desk = HandDesk(limits=replace(LIMITS, open=9))

    async def scenario():
        for table in ("t-2", "t-1", "u-1"):
            for number in range(3):
                await desk.open(f"{table}-{number}", table=table)
        await desk.close("t-1-1")
        found, token = [], ""
        while True:
            page = await desk.ask(
                "list_hands",
                pb.ListHandsRequest(table_prefix="t-", page_size=2, page_token=token),
            )
            found += [hand.opened.key.hand for hand in page.hands]
            token = page.next_page_token
            if not token:
                break
        closed = await desk.ask("list_hands", pb.ListHandsRequest(state=pb.HAND_STATE_CLOSED))
        return found, [hand.opened.key.hand for hand in closed.hands]

    found, closed = desk.run(scenario)
    assert ["t-1-0", "t-1-1", "t-1-2", "t-2-0", "t-2-1", "t-2-2"] == found
    assert ["t-1-1"] == closed


@pytest.mark.parametrize("text", ["9223372036854775808 t-1", "x t-1", "1", "1 t 1", "-1 t-1"])
def test_a_page_token_of_hands_that_is_none_of_ours_is_refused(text):
    """A number that SQLite cannot take ends a daemon that looks for it."""
    desk = HandDesk()
    token = base64.urlsafe_b64encode(text.encode()).decode()

    async def scenario():
        await desk.ask("list_hands", pb.ListHandsRequest(page_token=token))

    with pytest.raises(RequestError) as refused:
        desk.run(scenario)
    assert "page_token" == refused.value.field


def test_a_watcher_is_told_of_every_state_until_the_end():
    """And then the stream ends; a watcher of an ended hand is told once."""
    desk = HandDesk()

    async def scenario():
        async def requests():
            yield pb.WatchHandRequest(key=key())

        async def watch():
            told = desk.core.watch_hand(requests(), desk.call(PLAYER, None))
            return [(answer.hand.state, answer.hand.dealt) async for answer in told]

        opened = (await desk.open(players=(ANN,))).hand.opened
        watching = asyncio.ensure_future(watch())
        await settle()
        await desk.contribute(opened, ANN.speaks(opened.open_hash))
        await settle()
        await desk.deal(0, ("seat-1", 2))
        await settle()
        await desk.close()
        return await watching, await watch()

    told, again = desk.run(scenario)
    assert [
        (pb.HAND_STATE_OPEN, 0),
        (pb.HAND_STATE_SEALED, 0),
        (pb.HAND_STATE_SEALED, 2),
        (pb.HAND_STATE_CLOSED, 2),
    ] == told
    assert [(pb.HAND_STATE_CLOSED, 2)] == again


def test_a_hand_of_another_node_is_told_as_such():
    """Not found, and its table is not served here."""
    desk = HandDesk(tables=("t-1",))

    async def scenario():
        request = pb.GetHandRequest(key=key("h-1", "t-2"))
        await refused(WrongNodeError, desk.ask("get_hand", request))
        await refused(WrongNodeError, desk.open("h-1", table="t-2"))
        await refused(HandNotFoundError, desk.get("h-9"))

    desk.run(scenario)


# --- who may, and what is malformed -----------------------------------------------------


ROLES = {
    "open_hand": (pb.OpenHandRequest, {"deal"}),
    "contribute": (pb.ContributeRequest, {"deal", "contribute"}),
    "seal_hand": (pb.SealHandRequest, {"deal"}),
    "deal_cards": (pb.DealCardsRequest, {"deal"}),
    "show_cards": (pb.ShowCardsRequest, {"reveal"}),
    "reveal_hand": (pb.RevealHandRequest, {"reveal"}),
    "close_hand": (pb.CloseHandRequest, {"deal"}),
    "void_hand": (pb.VoidHandRequest, {"void"}),
    "get_hand": (pb.GetHandRequest, {"deal", "contribute", "audit"}),
    "list_hands": (pb.ListHandsRequest, {"deal", "audit"}),
}


@pytest.mark.parametrize("method", ROLES)
def test_permission_comes_before_form(method):
    """An empty request of whoever lacks the role is refused for that."""
    desk = HandDesk()
    request, needed = ROLES[method]
    for who in (SERVER, PLAYER, AUDITOR, OUTSIDER):
        expected = (
            RequestError if {str(role) for role in who.roles} & needed else (PermissionDeniedError)
        )
        if method == "list_hands" and expected is RequestError:
            continue
        desk.run(lambda who=who, kind=expected: refused(kind, desk.ask(method, request(), who)))


def test_a_contributor_may_not_deal():
    """The deal beside a contribution takes the role of a dealer."""
    desk = HandDesk()

    async def scenario():
        opened = (await desk.open(players=(ANN,))).hand.opened
        request = pb.ContributeRequest(
            key=key(),
            open_hash=opened.open_hash,
            contributions=[ANN.speaks(opened.open_hash)],
            deal=deal_request(0, ("seat-1", 1)),
        )
        await refused(PermissionDeniedError, desk.ask("contribute", request, PLAYER))
        assert not (await desk.get()).contributed

    desk.run(scenario)


BAD_OPENINGS: dict[str, dict[str, Any]] = {
    "key.hand": {"hand": ""},
    "key.table": {"table": "a b"},
    "seats": {"contributions": pb.CONTRIBUTIONS_MODE_OPEN},
    "deck.name": {"deck": types_pb2.Deck(name="tarot")},
    "rules.plan": {"plan": ["a,b"]},
    "parent.places": {"parent": pb.Parent(hand="h-0", places=[3])},
    "parent.hand": {"parent": pb.Parent(places=[3, 4])},
    "contributions": {"contributions": 9},
    "replaces": {"replaces": "\n"},
    "contribute_for": {"players": SEATS, "seconds": 601},
}


@pytest.mark.parametrize("field", BAD_OPENINGS)
def test_a_malformed_opening_is_refused_by_the_name_of_its_field(field):
    """Nothing was drawn."""
    desk = HandDesk()

    async def scenario():
        level = desk.table.level
        error = await refused(RequestError, desk.open(**BAD_OPENINGS[field]))
        assert (field, level) == (error.field, desk.table.level)
        nested = pb.CloseHandRequest(key=key("h-0"), next=open_request(**BAD_OPENINGS[field]))
        error = await refused(RequestError, desk.ask("close_hand", nested))
        assert f"next.{field}" == error.field

    desk.run(scenario)


def test_seats_and_windows_that_contradict_the_mode_are_refused():
    """Under NONE neither; twice a seat; a key of another length; a window of half a millisecond."""
    desk = HandDesk()
    window: dict[str, Any] = {"contribute_for": {"seconds": 5, "nanos": 500_000}}
    mode: dict[str, Any] = {"contributions": pb.CONTRIBUTIONS_MODE_OPEN}

    async def scenario():
        for field, more in (
            ("seats", {"seats": [pb.Seat(seat="a")]}),
            ("contribute_for", {"contribute_for": {"seconds": 5}}),
            ("contribute_for", {"seats": [pb.Seat(seat="a")], **mode, **window}),
            ("seats", {"seats": [pb.Seat(seat="a"), pb.Seat(seat="a")], **mode}),
            ("seats", {"seats": [pb.Seat(seat="a", public_key=bytes(31))], **mode}),
            ("deck", {"deck": types_pb2.Deck(), "parent": pb.Parent(hand="x", places=[1, 2])}),
        ):
            request = pb.OpenHandRequest(key=key(), **more)
            error = await refused(RequestError, desk.ask("open_hand", request))
            assert field == error.field

    desk.run(scenario)


def test_malformed_steps_are_refused_by_the_name_of_their_field():
    """Claims, deals, contributions, reasons, tokens, and no deadline."""
    desk = HandDesk()
    no_claim = pb.DealCardsRequest(key=key(), deals=[pb.Deal(recipient="a", count=1)])
    nobody = pb.DealCardsRequest(key=key(), claim=claim())
    nothing = pb.DealCardsRequest(key=key(), claim=claim(), deals=[pb.Deal(recipient="a")])
    too_many = pb.DealCardsRequest(
        key=key(), claim=claim(), deals=[pb.Deal(recipient="a", count=433)]
    )
    spoken = pb.Contribution(seat="seat-1", value=bytes(32))
    both = pb.Contribution(seat="seat-1", value=bytes(32), leaf_hash=bytes(32))
    said: dict[str, Any] = {"key": key(), "open_hash": bytes(32)}
    unknown: Any = 77
    cases = (
        ("claim", "deal_cards", no_claim),
        ("deals", "deal_cards", nobody),
        ("deals", "deal_cards", nothing),
        ("deals", "deal_cards", too_many),
        ("open_hash", "contribute", pb.ContributeRequest(key=key(), contributions=[spoken])),
        ("contributions", "contribute", pb.ContributeRequest(**said)),
        ("contributions", "contribute", pb.ContributeRequest(contributions=[both], **said)),
        ("contributions", "contribute", pb.ContributeRequest(contributions=[spoken] * 2, **said)),
        (
            "deal.claim",
            "contribute",
            pb.ContributeRequest(
                contributions=[spoken], deal=pb.DealCardsRequest(deals=no_claim.deals), **said
            ),
        ),
        (
            "deal.key",
            "contribute",
            pb.ContributeRequest(
                contributions=[spoken], deal=deal_request(0, ("a", 1), hand="h-2"), **said
            ),
        ),
        ("reason", "void_hand", pb.VoidHandRequest(key=key())),
        ("reason", "void_hand", pb.VoidHandRequest(key=key(), reason="x" * 257)),
        # Only time says so: a seat that did not open would be blamed by whoever voids.
        ("reason", "void_hand", pb.VoidHandRequest(key=key(), reason="unopened")),
        ("reason", "void_hand", pb.VoidHandRequest(key=key(), reason="expired")),
        ("next.key", "close_hand", pb.CloseHandRequest(key=key(), next=open_request("h-1"))),
        ("page_token", "list_hands", pb.ListHandsRequest(page_token="?")),
        ("page_size", "list_hands", pb.ListHandsRequest(page_size=-1)),
        ("state", "list_hands", pb.ListHandsRequest(state=unknown)),
    )

    async def scenario():
        for field, method, request in cases:
            error = await refused(RequestError, desk.ask(method, request))
            assert field == error.field
        error = await refused(RequestError, desk.ask("open_hand", open_request(), seconds=None))
        assert "deadline" == error.field

    desk.run(scenario)


def test_an_id_is_spent_once_by_either_service():
    """A hand that Shuffle dealt cannot be opened, and the other way round."""
    desk = HandDesk()

    async def scenario():
        await desk.table.call("h-1", table="t-1")
        await refused(HandSpentError, desk.open("h-1"), "Shuffle")
        await desk.open("h-2")
        await refused(HandSpentError, desk.table.call("h-2", table="t-1"))
        await refused(HandSpentError, desk.open("h-2", reveal_after_close=True))
        await refused(HandSpentError, desk.open("h-2", table="t-2"))
        assert 2 == desk.kept("h-2").opened.sequence

    desk.run(scenario)


def test_an_opening_that_fails_gives_its_room_back():
    """Held or overloaded, nothing of the table stays counted."""
    desk = HandDesk(0, limits=replace(LIMITS, open=1))

    async def scenario():
        await refused(EntropyHoldError, desk.open("h-1"))
        desk.table.feed()
        await desk.open("h-2")

    desk.run(scenario)
