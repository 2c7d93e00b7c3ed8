"""HandService of a real daemon: whole hands, every refusal, time, restarts, kill -9."""

import threading
import time
from typing import Any

import grpc
import pytest

from entropyd.draw.cards import Deck
from entropyd.hands.commitment import decode_items
from entropyd.log.events import Event
from entropyd.v1 import hand_service_pb2 as pb
from entropyd.v1 import ledger_service_pb2, ledger_service_pb2_grpc, types_pb2
from tests.fakes.hand_desk import Player, claim, deal_request, key, open_request
from tests.system.hand_table import (
    ANN,
    CAT,
    SEATS,
    TIMEOUT_S,
    HandTable,
    binding_of,
    check,
    seated,
    text_of,
    told,
)
from tests.system.harness import CONFIG, Daemon, running, started, until

Code = grpc.StatusCode
# A device that comes back is assessed again first, on a busy machine for a minute.
RECOVERY_S = 60.0


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with running(tmp_path_factory.mktemp("hands")) as daemon:
        yield daemon


@pytest.fixture
def table(daemon):
    with seated(daemon) as table:
        yield table


def test_a_hand_of_three_players_takes_five_calls(daemon, table):
    """Every card of it is checked from what is public, and every receipt is in the log."""
    opened = table.open("a-1", table="a", players=SEATS).hand
    played = table.contribute(
        opened.opened,
        *(player.speaks(opened.opened.open_hash) for player in SEATS),
        deal=at("a", deal_request(0, *((player.seat, 2) for player in SEATS), hand="a-1")),
    )
    assert ["", "", ""] == [outcome.refused for outcome in played.outcomes]
    cards = list(played.dealt.cards)
    for first, count in ((6, 3), (10, 1), (12, 1)):
        request = at("a", deal_request(first, ("burn", 1), ("board", count), hand="a-1"))
        cards += table.dealer.DealCards(request, timeout=TIMEOUT_S).cards
    end = pb.CloseHandRequest(key=key("a-1", "a"), next=open_request("a-2", table="a"))
    closed = table.dealer.CloseHand(end, timeout=TIMEOUT_S)
    assert (pb.HAND_STATE_CLOSED, pb.HAND_STATE_SEALED) == (
        closed.hand.state,
        closed.next.hand.state,
    )
    shown = [card for card in cards if card.recipient != "burn"]
    check(closed.hand, *shown)
    assert 11 == len({card.item for card in shown})
    hand = closed.hand
    found = [hand.opened.receipt, hand.sealed.receipt, hand.ended.receipt]
    assert [Event.OPEN, Event.SEAL, Event.CLOSE] == [text_of(one).event for one in found]
    with grpc.insecure_channel(f"unix:{daemon.home}/audit.sock") as channel:
        log = ledger_service_pb2_grpc.LedgerServiceStub(channel)
        for signed in found:
            asked = ledger_service_pb2.GetReceiptRequest(log_index=signed.log_index)
            assert signed == log.GetReceipt(asked, timeout=TIMEOUT_S).receipt


def at(place: str, request: pb.DealCardsRequest) -> pb.DealCardsRequest:
    request.key.table = place
    return request


def test_sealed_contributions_move_the_cards(table):
    """A roll that is logged first; then the values; and one seat without which nobody knew it."""
    opened = table.open("b-1", table="b", players=SEATS, sealed=True).hand.opened
    rolled = table.contribute(opened, *(player.seals(opened.open_hash) for player in SEATS)).hand
    assert (pb.HAND_STATE_ROLLED, Event.ROLL) == (rolled.state, text_of(rolled.roll.receipt).event)
    sealed = table.contribute(opened, *(player.opens() for player in SEATS)).hand
    assert (pb.HAND_STATE_SEALED, 3) == (sealed.state, len(sealed.sealed.leaves))
    assert list(range(52)) != list(decode_items(sealed.sealed.cut))
    assert list(range(52)) == sorted(decode_items(sealed.sealed.cut))


@pytest.mark.parametrize(
    ("name", "deck", "size"),
    [
        ("short", types_pb2.Deck(name="short36"), 36),
        ("jokers", types_pb2.Deck(name="standard54"), 54),
        ("shoe", types_pb2.Deck(decks=6), 312),
        ("removed", types_pb2.Deck(removed=[0, 1, 2, 51]), 48),
    ],
)
def test_other_decks_to_the_last_card(table, name, deck, size):
    """Each card once, all proved, none beyond."""
    hand = table.open(name, table=name, deck=deck).hand
    request = at(name, deal_request(0, ("seat-1", size), hand=name))
    cards = table.dealer.DealCards(request, timeout=TIMEOUT_S).cards
    check(hand, *cards)
    own = Deck(deck.name or "standard52", deck.decks or 1, tuple(deck.removed))
    assert sorted(own.cards(range(size))) == sorted(b"".join(card.card for card in cards))
    beyond = at(name, deal_request(size, ("seat-1", 1), hand=name))
    refusal = told(lambda: table.dealer.DealCards(beyond, timeout=TIMEOUT_S))
    assert (Code.INVALID_ARGUMENT, "deals") == (refusal.code, refusal.field)


def test_what_bad_input_gets(table):
    """Each refused by its name, and nothing of it happened."""
    table.open("h-1", reveal_after_close=False)
    table.deal(0, ("seat-1", 2), ("burn", 1))
    refusals = {
        "PLACE_DEALT": lambda: table.deal(0, ("seat-1", 2), ("burn", 1), whose="thief"),
        "WRONG_PLACE": lambda: table.deal(9, ("seat-1", 1)),
        "NOT_DEALT": lambda: table.show(3),
        "REVEAL_FORBIDDEN": table.reveal,
        "HAND_SPENT": lambda: table.open("h-1", players=SEATS),
        "HAND_NOT_FOUND": lambda: table.get("h-0"),
    }
    assert list(refusals) == [told(call).reason for call in refusals.values()]
    assert "NOT_DEALT" == told(lambda: table.show(2)).reason
    table.open("h-2")
    assert "TABLE_FULL" == told(lambda: table.open("h-3")).reason
    assert "TABLE_FULL" == told(lambda: table.deal(0, ("seat-1", 1), hand="h-2")).reason
    request = pb.VoidHandRequest(key=key("h-1"), reason="mine")
    refusal = told(lambda: table.players.VoidHand(request, timeout=TIMEOUT_S))
    assert (Code.PERMISSION_DENIED, "ROLE_MISSING") == (refusal.code, refusal.reason)
    assert 3 == table.get().dealt
    table.close("h-1")
    for call in (lambda: table.deal(3, ("seat-1", 1)), table.void):
        refusal = told(call)
        assert (Code.FAILED_PRECONDITION, "WRONG_STATE") == (refusal.code, refusal.reason)
        assert "is CLOSED" in refusal.text
    table.void("h-2")


def test_a_stolen_credential_that_deals_first_makes_the_honest_call_fail_loudly(daemon, table):
    """ALREADY_EXISTS, a metric, and one line of the log."""
    before = daemon.metric("entropyd_hand_place_alarms_total")
    table.open("c-1", table="c")
    stolen = at("c", deal_request(0, ("seat-6", 2), hand="c-1", whose="thief"))
    table.dealer.DealCards(stolen, timeout=TIMEOUT_S)
    honest = at("c", deal_request(0, ("seat-1", 2), hand="c-1"))
    refusal = told(lambda: table.dealer.DealCards(honest, timeout=TIMEOUT_S))
    assert (Code.ALREADY_EXISTS, "PLACE_DEALT") == (refusal.code, refusal.reason)
    assert before + 1 == daemon.metric("entropyd_hand_place_alarms_total")
    lines = [line for line in daemon.log.splitlines() if "is another program dealing" in line]
    assert 1 <= len(lines)
    assert '"hand": "c-1"' in lines[-1]


def test_a_draw_game_goes_on_from_discards_and_a_void_hand_is_replaced(table):
    """The child is dealt while its parent is; what replaces a void hand names its O."""
    deck = types_pb2.Deck(name="short36")
    table.dealer.OpenHand(open_request("d-1", table="d", deck=deck), timeout=TIMEOUT_S)
    first = at("d", deal_request(0, ("seat-1", 5), ("seat-2", 5), hand="d-1"))
    dealt = table.dealer.DealCards(first, timeout=TIMEOUT_S).cards
    parent = pb.Parent(hand="d-1", places=[0, 2, 5, 9])
    child = table.open("d-2", table="d", parent=parent).hand
    drawn = at("d", deal_request(0, ("seat-1", 2), ("seat-2", 2), hand="d-2"))
    cards = table.dealer.DealCards(drawn, timeout=TIMEOUT_S).cards
    check(child, *cards)
    assert {dealt[place].item for place in parent.places} == {card.item for card in cards}
    ends = [pb.VoidHandRequest(key=key(hand, "d"), reason="misdeal") for hand in ("d-2", "d-1")]
    _, void = [table.dealer.VoidHand(request, timeout=TIMEOUT_S).hand for request in ends]
    again = table.open("d-3", table="d", replaces="d-1").hand
    assert void.opened.open_hash == text_of(again.opened.receipt).replaces


def test_a_restarted_game_server_finds_its_hands(table):
    """By table prefix and state, in order."""
    for hand in ("e-1", "e-2"):
        table.open(hand, table="e/1")
    table.open("e-3", table="e/2", players=SEATS)
    table.open("other", table="f")
    assert ["e-1", "e-2", "e-3"] == table.listed(table_prefix="e/")
    assert ["e-3"] == table.listed(table_prefix="e/", state=pb.HAND_STATE_OPEN)


def test_whoever_watches_is_told_until_the_end(table):
    """OPEN, SEALED, dealt, CLOSED; then the stream ends with OK."""
    opened = table.open("g-1", table="g", players=(ANN,)).hand.opened
    seen: list[tuple[int, int]] = []

    def watch() -> None:
        request = pb.WatchHandRequest(key=key("g-1", "g"))
        for answer in table.auditor.WatchHand(request, timeout=30):
            seen.append((answer.hand.state, answer.hand.dealt))

    watcher = threading.Thread(target=watch)
    watcher.start()
    until("the watcher is told", lambda: len(seen) == 1)
    table.contribute(opened, ANN.speaks(opened.open_hash))
    until("it is told of the seal", lambda: len(seen) == 2)
    request = at("g", deal_request(0, ("seat-1", 2), hand="g-1"))
    table.dealer.DealCards(request, timeout=TIMEOUT_S)
    until("it is told of the cards", lambda: len(seen) == 3)
    table.dealer.CloseHand(pb.CloseHandRequest(key=key("g-1", "g")), timeout=TIMEOUT_S)
    watcher.join(10)
    assert not watcher.is_alive()
    assert [
        (pb.HAND_STATE_OPEN, 0),
        (pb.HAND_STATE_SEALED, 0),
        (pb.HAND_STATE_SEALED, 2),
        (pb.HAND_STATE_CLOSED, 2),
    ] == seen


def test_time_ends_windows_and_voids_what_stays_unopened(table):
    """Nobody asks for it: the receipts are there on time."""
    some = table.open("i-1", table="i", players=SEATS, seconds=1).hand.opened
    table.contribute(some, ANN.speaks(some.open_hash))
    sealed = table.open("i-2", table="i", players=(ANN, CAT), sealed=True, seconds=1).hand.opened
    table.contribute(sealed, *(player.seals(sealed.open_hash) for player in (ANN, CAT)))
    table.contribute(sealed, ANN.opens())

    def state(hand: str) -> Any:
        request = pb.GetHandRequest(key=key(hand, "i"))
        return table.auditor.GetHand(request, timeout=TIMEOUT_S).hand

    until("the window ended", lambda: state("i-1").state == pb.HAND_STATE_SEALED, patience_s=5)
    assert 1 == len(state("i-1").sealed.leaves)
    until("the hand is void", lambda: state("i-2").state == pb.HAND_STATE_VOID, patience_s=5)
    assert "unopened" == text_of(state("i-2").ended.receipt).reason
    late = table.contribute(sealed, CAT.opens()).outcomes[0]
    assert "window-over" == late.refused


# --- a daemon of its own ------------------------------------------------------------------


def steps(table: HandTable) -> list[tuple[str, Any]]:
    """Return a small hand as calls, each with what it gets for ever."""
    opened: list[Any] = []

    def open_it() -> Any:
        opened[:] = [table.open(players=(ANN,), sealed=True, reveal_after_close=True).hand.opened]
        return opened[0]

    def spoken(contribution: Any) -> Any:
        return list(table.contribute(opened[0], contribution).outcomes)

    return [
        ("open", open_it),
        ("seals", lambda: spoken(ANN.seals(opened[0].open_hash))),
        ("opens", lambda: spoken(ANN.opens())),
        ("seal", lambda: table.seal().sealed),
        ("deal", lambda: list(table.deal(0, ("seat-1", 2), ("burn", 1)).cards)),
        ("flop", lambda: list(table.deal(3, ("board", 3)).cards)),
        ("show", lambda: list(table.show(0, 1).cards)),
        ("close", lambda: table.close().hand),
        ("reveal", lambda: table.reveal().revealed),
    ]


def test_kill_9_between_any_two_steps(tmp_path):
    """Every step again after every death: the same answers, and the hand goes on."""
    with started(Daemon(tmp_path)) as daemon:
        answers: list[Any] = []
        for _ in range(9):
            with seated(daemon) as table:
                calls = steps(table)
                again = [call() for _, call in calls[: len(answers)]]
                assert answers == again
                answers.append(calls[len(answers)][1]())
            daemon.kill()
            daemon.start()
        with seated(daemon) as table:
            assert answers == [call() for _, call in steps(table)]
            check(table.get(), *(card for card in answers[5] if card.recipient != "burn"))


def test_kill_9_while_a_step_runs(tmp_path):
    """Recorded or not: the retry gets one answer, and it stays the answer."""
    with started(Daemon(tmp_path)) as daemon:
        for round_number, wait_ms in enumerate((0, 1, 2, 4, 8, 16)):
            hand = f"k-{round_number}"
            with seated(daemon) as table:
                table.open(hand)
                call = table.dealer.DealCards.future(
                    deal_request(0, ("seat-1", 2), hand=hand), timeout=TIMEOUT_S
                )
                time.sleep(wait_ms / 1000)
                daemon.kill()
                first = call.result() if call.exception() is None else None
            daemon.start()
            with seated(daemon) as table:
                cards = table.deal(0, ("seat-1", 2), hand=hand).cards
                assert first is None or list(first.cards) == list(cards)
                assert list(cards) == list(table.deal(0, ("seat-1", 2), hand=hand).cards)
                assert 2 == table.close(hand).hand.ended.dealt


def own_daemon(home: Any, hands: str) -> Daemon:
    """Return a daemon with other limits."""
    daemon = Daemon(home)
    daemon.config = (
        CONFIG.format(home=home, options="", source_extra="", gate="", http_port=daemon.http_port)
        + f"\n[hands]\n{hands}\n"
    )
    return daemon


def test_limits_of_the_configuration_hold_also_after_a_restart(tmp_path):
    """What another process opened and dealt takes its room."""
    limits = "per_table_open = 3\nper_table_dealing = 2\nmax_contribute_for = '5s'"
    with started(own_daemon(tmp_path, limits)) as daemon:
        with seated(daemon) as table:
            for hand in ("h-1", "h-2", "h-3"):
                table.open(hand)
            table.deal(0, ("seat-1", 1), hand="h-1")
            table.deal(0, ("seat-1", 1), hand="h-2")
        daemon.kill()
        daemon.start()
        with seated(daemon) as table:
            full = told(lambda: table.deal(0, ("seat-1", 1), hand="h-3"))
            assert ("TABLE_FULL", Code.FAILED_PRECONDITION) == (full.reason, full.code)
            assert "TABLE_FULL" == told(lambda: table.open("h-4")).reason
            refusal = told(lambda: table.open("x-1", table="x", players=SEATS, seconds=6))
            assert "contribute_for" == refusal.field
            until("hands are counted", lambda: daemon.metric("entropyd_hands_live") == 3)
            table.close("h-1")
            table.deal(0, ("seat-1", 1), hand="h-3")


def test_hands_expire_while_the_daemon_is_down_and_while_it_runs(tmp_path):
    """A minute is the shortest: one hand expires before a restart, one after it."""
    with started(own_daemon(tmp_path, "expire_after = '1m'")) as daemon:
        with seated(daemon) as table:
            table.open("h-1")
            table.deal(0, ("seat-1", 2))
            opened_at = time.monotonic()
        daemon.kill()
        time.sleep(30)
        daemon.start()
        with seated(daemon) as table:
            table.open("h-2")
        daemon.kill()
        time.sleep(max(0.0, opened_at + 60.1 - time.monotonic()))
        daemon.start()
        with seated(daemon) as table:
            until("the first expired", lambda: table.get("h-1").state == pb.HAND_STATE_VOID)
            assert ("expired", 2) == (
                text_of(table.get("h-1").ended.receipt).reason,
                table.get("h-1").ended.dealt,
            )
            assert pb.HAND_STATE_SEALED == table.get("h-2").state
            patience_s = 60.0
            until(
                "the second expired",
                lambda: table.get("h-2").state == pb.HAND_STATE_VOID,
                patience_s=patience_s,
            )
            assert 2 == daemon.metric('entropyd_hands_voided_total{reason="expired"}')


def test_a_hand_waits_while_the_source_is_lost_and_open_hands_go_on(tmp_path):
    """Nothing is opened without entropy; what was opened is dealt, shown and closed."""
    with running(tmp_path) as daemon, seated(daemon) as table:
        table.open()
        daemon.faults("F9")
        until("dealing is held", lambda: not daemon.can_deal())
        table.deal(0, ("seat-1", 2))
        assert pb.HAND_STATE_CLOSED == table.close().hand.state
        refusal = told(lambda: table.dealer.OpenHand(open_request("h-2", table="t-2"), timeout=2))
        assert (Code.UNAVAILABLE, "ENTROPY_HOLD") == (refusal.code, refusal.reason)
        daemon.faults()
        daemon.wait_until_dealing(patience_s=RECOVERY_S)
        assert pb.HAND_STATE_SEALED == table.open("h-2", table="t-2").hand.state


def test_sigterm_drains_and_the_next_run_finds_everything(tmp_path):
    """Watchers are told that it is over, the exit code is 0, and the hand goes on."""
    with started(Daemon(tmp_path)) as daemon:
        with seated(daemon) as table:
            table.open()
            first = table.deal(0, ("seat-1", 2)).cards
            request = pb.WatchHandRequest(key=key())
            watching = table.auditor.WatchHand(request, timeout=60)
            assert 2 == next(watching).hand.dealt
            assert 0 == daemon.terminate()
            assert [] == list(watching)
        daemon.start()
        with seated(daemon) as table:
            assert list(first) == list(table.deal(0, ("seat-1", 2)).cards)
            assert 5 == table.deal(2, ("board", 3)).dealt


def test_what_reaches_the_disk_and_the_log_holds_no_card(tmp_path):
    """Seeds, salts, items and claims are encrypted at rest, and never logged."""
    with started(Daemon(tmp_path)) as daemon:
        with seated(daemon) as table:
            opened = table.open(reveal_after_close=True).hand
            table.deal(0, ("seat-1", 2))
            table.close()
            revealed = table.reveal().revealed
        assert 0 == daemon.terminate()
    secrets = [revealed.seeds, revealed.blinding, revealed.salt_key, revealed.items, claim()]
    for path in tmp_path.rglob("*"):
        if path.is_file():
            found = path.read_bytes()
            for secret in secrets:
                assert secret not in found
                assert secret.hex().encode() not in found
    assert binding_of(opened)


def test_a_player_of_one_tenant_sees_no_hand_of_another(daemon, table):
    """Not found, as one that was never opened."""
    table.open("j-1", table="j")
    with grpc.insecure_channel(f"unix:{daemon.home}/other.sock") as channel:
        stranger = HandTable(channel, channel, channel)
        for hand in ("j-1", "j-9"):
            request = pb.GetHandRequest(key=key(hand, "j"))
            refusal = told(lambda request=request: stranger.players.GetHand(request, timeout=9))
            assert "HAND_NOT_FOUND" == refusal.reason
    assert Player("seat-1").value == ANN.value
