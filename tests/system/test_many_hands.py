"""Batches and streams of a real daemon: all or nothing, bad input, a client that never reads."""

import itertools
import threading
import time
from collections.abc import Iterator

import grpc
import pytest

from entropyd.v1 import entropy_service_pb2, shuffle_service_pb2, types_pb2
from tests.system.harness import Daemon, running, until
from tests.system.wire import (
    PATIENCE_S,
    Told,
    Wire,
    assert_numbers_have_no_gaps,
    order,
    question,
    rows,
    told,
)

Code = grpc.StatusCode
Request = shuffle_service_pb2.StreamShufflesRequest


def batch(
    wire: Wire, *requests: shuffle_service_pb2.ShuffleRequest, timeout_s: float = PATIENCE_S
) -> list[shuffle_service_pb2.ShuffleResponse]:
    request = shuffle_service_pb2.BatchShuffleRequest(hands=requests)
    return list(wire.shuffles.BatchShuffle(request, timeout=timeout_s).hands)


def patient_batch(
    wire: Wire, *requests: shuffle_service_pb2.ShuffleRequest
) -> list[shuffle_service_pb2.ShuffleResponse]:
    """Ask again while the entropy of a large batch does not come in fast enough."""
    for _ in range(20):
        try:
            return batch(wire, *requests)
        except grpc.RpcError as error:
            refusal = Told.by(error)
            assert refusal.code is Code.UNAVAILABLE
            time.sleep((refusal.pushback_ms or 0) / 1000)
    raise AssertionError("a batch was never dealt")


def stream(wire: Wire, *messages: Request) -> dict[str, shuffle_service_pb2.HandAnswer]:
    """Send messages, close, and return every answer by hand."""
    answers = wire.shuffles.StreamShuffles(iter(messages), timeout=PATIENCE_S)
    return {answer.key.hand: answer for message in answers for answer in message.answers}


def bad(wire: Wire, *requests: shuffle_service_pb2.ShuffleRequest) -> Told:
    refusal = told(batch, wire, *requests)
    assert (Code.INVALID_ARGUMENT, "INVALID_REQUEST") == (refusal.code, refusal.reason)
    return refusal


# --- batches --------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 1000])
def test_a_batch_of_hands(dealing: Daemon, wire: Wire, count: int):
    """All are there, in order; asked again, alone and together, they are the same."""
    hands = [f"batch-{count}-{number}" for number in range(count)]
    requests = [order("t-batch", hand) for hand in hands]
    dealt = patient_batch(wire, *requests)
    assert hands == [one.shuffle.key.hand for one in dealt]
    assert not any(one.replayed for one in dealt)
    assert count == len({one.shuffle.text for one in dealt})
    assert [one.shuffle for one in dealt] == [one.shuffle for one in batch(wire, *requests)]
    assert dealt[-1].shuffle == wire.get(question("t-batch", hands[-1]))
    provenance = dealt[0].shuffle.provenance
    assert types_pb2.CONSTRUCTION_BATCH == provenance.construction
    assert count == provenance.batch_hands
    assert_numbers_have_no_gaps(dealing)


def test_a_batch_is_one_commit(wire: Wire, dealing: Daemon):
    """Its hands have numbers in a row, whatever others deal meanwhile."""
    stop = threading.Event()

    def others() -> None:
        with Wire(dealing) as wire:
            for number in itertools.count():
                if stop.is_set():
                    return
                wire.draw("t-one-commit", f"single-{number}")

    thread = threading.Thread(target=others)
    thread.start()
    try:
        dealt = [
            batch(wire, *(order("t-one-commit", f"one-{turn}-{n}") for n in range(200)))
            for turn in range(3)
        ]
    finally:
        stop.set()
        thread.join()
    for hands in dealt:
        numbers = [one.shuffle.sequence for one in hands]
        assert list(range(numbers[0], numbers[0] + 200)) == numbers


def test_bad_batches_are_named_and_spend_nothing(dealing: Daemon, wire: Wire):
    """0 and 1,001 hands, a hand twice, a bad one among good ones, decks of several seeds."""
    before = rows(dealing, "SELECT count(*) FROM hands")
    good = [order("t-bad", f"bad-{number}") for number in range(1001)]
    assert "hands" in bad(wire).fields
    assert "expected 1 to 1000" in bad(wire, *good).fields["hands"]
    assert ["hands[3].key.hand"] == list(bad(wire, *good[:3], good[1]).fields)
    assert ["hands[2].claim"] == list(bad(wire, *good[:2], order("t", "h", claim=b"")).fields)
    shoe = order("t-bad", "shoe", deck=types_pb2.Deck(decks=8))
    assert ["hands[0].deck"] == list(bad(wire, shoe, *good[:2]).fields)
    assert before == rows(dealing, "SELECT count(*) FROM hands")


def test_a_spent_hand_with_another_claim_fails_the_batch_whole(dealing: Daemon, wire: Wire):
    wire.draw("t-spent", "spent-1")
    before = rows(dealing, "SELECT count(*) FROM hands")
    refusal = told(
        batch,
        wire,
        order("t-spent", "spent-0"),
        order("t-spent", "spent-1", claim=b"another claim 16"),
        order("t-spent", "spent-2"),
    )
    assert (Code.ALREADY_EXISTS, "HAND_SPENT") == (refusal.code, refusal.reason)
    assert before == rows(dealing, "SELECT count(*) FROM hands")


def test_a_message_of_ten_mebibytes_is_refused_before_it_is_read(wire: Wire):
    for method in ("BatchShuffle", "Shuffle"):
        with pytest.raises(grpc.RpcError) as caught:
            wire.raw(f"ShuffleService/{method}")(bytes(10 << 20), timeout=PATIENCE_S)
        assert Code.RESOURCE_EXHAUSTED is caught.value.code()


# --- streams --------------------------------------------------------------------------------


def test_a_stream_answers_every_hand_once(dealing: Daemon, wire: Wire):
    """Many messages, replays, refusals and shoes among them."""
    wire.draw("t-stream", "old")
    messages = [
        Request(hands=[order("t-stream", f"s-{turn}-{number}") for number in range(50)])
        for turn in range(20)
    ]
    messages.append(
        Request(
            hands=[
                order("t-stream", "old"),
                order("t-stream", "s-0-0", claim=b"another claim 16"),
                order("t-stream", "shoe", deck=types_pb2.Deck(decks=8)),
                order("t-stream", "tarot", deck=types_pb2.Deck(name="tarot")),
            ]
        )
    )
    answers = stream(wire, *messages)
    assert 1003 == len(answers)
    assert answers["old"].dealt.replayed
    assert ("INVALID_REQUEST", "deck.name") == (
        answers["tarot"].refusal.reason,
        answers["tarot"].refusal.field,
    )
    assert 416 == len(answers["shoe"].dealt.shuffle.cards)
    # The hand that was asked for with two claims has one deck, and one refusal in place of it.
    assert answers["s-0-1"].dealt.shuffle == wire.get(question("t-stream", "s-0-1"))
    assert_numbers_have_no_gaps(dealing)


@pytest.mark.parametrize("hands", [0, 1001])
def test_a_message_of_another_size_ends_a_stream(wire: Wire, hands: int):
    message = Request(hands=[order("t-size", f"size-{number}") for number in range(hands)])
    refusal = told(stream, wire, message)
    assert Code.INVALID_ARGUMENT is refusal.code
    assert ["hands"] == list(refusal.fields)


def memory_kib(daemon: Daemon) -> int:
    with open(f"/proc/{daemon.pid}/status") as file:
        [line] = [line for line in file if line.startswith("VmRSS")]
    return int(line.split()[1])


def test_streams_that_never_read_come_to_a_stop(dealing: Daemon):
    """The daemon reads no more of them, its memory stays, and everybody else is dealt to."""
    stop = threading.Event()
    sent = [0] * 3

    def flood(number: int) -> Iterator[Request]:
        for turn in itertools.count():
            if stop.is_set():
                return
            sent[number] += 1
            hands = (order("t-flood", f"flood-{number}-{turn}-{place}") for place in range(250))
            yield Request(hands=hands)

    with Wire(dealing) as wire:
        wire.draw("t-flood", "before")
        calls = []
        for number in range(len(sent)):
            calls.append(wire.shuffles.StreamShuffles(flood(number)))
        seen = 0

        def stands_still() -> bool:
            nonlocal seen
            before, seen = seen, sum(sent)
            # A busy machine lets a stream rest for a second that has not come to its stop.
            time.sleep(4)
            waiting = dealing.metric("entropyd_waiters")
            return seen > 0 and before == sum(sent) and waiting == 0

        until("nothing more is read of those that do not read", stands_still)
        held = memory_kib(dealing)
        read = sum(sent)
        for number in range(20):
            wire.draw("t-flood", f"beside-{number}")
        time.sleep(3)
        assert read == sum(sent)
        assert memory_kib(dealing) - held < 16 * 1024
        stop.set()
        for call in calls:
            call.cancel()
    until("nobody waits", lambda: dealing.metric("entropyd_waiters") == 0)


def test_a_stream_that_is_cut_off_leaves_what_was_drawn(wire: Wire):
    """Asked for again with the same claims, every hand has one deck."""
    names = [f"cut-{number}" for number in range(300)]
    sent = iter([Request(hands=[order("t-cut", name) for name in names])])
    call = wire.shuffles.StreamShuffles(sent)
    first = next(iter(call))
    call.cancel()
    seen = {answer.key.hand: answer.dealt.shuffle for answer in first.answers}
    again = stream(wire, Request(hands=[order("t-cut", name) for name in names]))
    assert seen
    assert set(names) == set(again)
    for name, shuffle in seen.items():
        assert again[name].dealt.replayed
        assert shuffle == again[name].dealt.shuffle


# --- the daemon's bad days --------------------------------------------------------------------


def test_a_hold_holds_a_batch_whole_and_a_stream_hand_by_hand(daemon: Daemon):
    """Without a device nothing is drawn; what was drawn is answered; when it is back, all is."""
    daemon.gate = 'max_hold = "1s"'
    daemon.start()
    with Wire(daemon) as wire:
        old = batch(wire, order("t", "old-0"), order("t", "old-1"))
        daemon.faults("F1:nak")
        until("the source is lost", lambda: not wire.status().can_deal)
        refusal = told(batch, wire, order("t", "old-0"), order("t", "new"))
        assert (Code.UNAVAILABLE, "ENTROPY_HOLD") == (refusal.code, refusal.reason)
        assert refusal.pushback_ms is not None
        assert [one.shuffle for one in old] == [
            one.shuffle for one in batch(wire, order("t", "old-0"), order("t", "old-1"))
        ]
        answers = stream(wire, Request(hands=[order("t", "new-1"), order("t", "old-1")]))
        assert "ENTROPY_HOLD" == answers["new-1"].refusal.reason
        assert answers["new-1"].refusal.retry_after.ToMilliseconds() > 0
        assert answers["old-1"].dealt.replayed
        daemon.faults()
        daemon.wait_until_dealing()
        assert 2 == len(batch(wire, order("t", "new"), order("t", "new-1")))


def test_a_stop_ends_streams_and_watchers_after_their_answers(daemon: Daemon):
    """UNAVAILABLE, with everything read before answered; the exit code is 0."""
    daemon.start()
    with Wire(daemon) as wire:
        done = threading.Event()

        def sending() -> Iterator[Request]:
            yield Request(hands=[order("t", f"h{number}") for number in range(100)])
            done.wait(PATIENCE_S)

        call = wire.shuffles.StreamShuffles(sending())
        watch = wire.entropy.WatchStatus(entropy_service_pb2.WatchStatusRequest())
        assert next(watch).status.can_deal
        answered = 0
        for message in call:
            answered += len(message.answers)
            if answered == 100:
                break
        assert 0 == daemon.terminate()
        ends = []
        for stream_of_it in (call, watch):
            with pytest.raises(grpc.RpcError) as caught:
                next(iter(stream_of_it))
            ends.append(Told.by(caught.value))
        done.set()
    assert [Code.UNAVAILABLE] * 2 == [end.code for end in ends]
    assert ["SHUTTING_DOWN"] * 2 == [end.reason for end in ends]


def test_a_status_is_watched(daemon: Daemon):
    """The present one at once, then one for each change, and none in between."""
    daemon.start()
    with Wire(daemon) as wire:
        watch = wire.entropy.WatchStatus(entropy_service_pb2.WatchStatusRequest())
        assert next(watch).status.can_deal
        daemon.faults("F1:nak")
        lost = next(status for status in statuses(watch) if not status.can_deal)
        assert "SOURCE_LOST" == lost.hold_reason
        daemon.faults()
        back = next(status for status in statuses(watch) if status.can_deal)
        assert types_pb2.SOURCE_STATE_HEALTHY == back.sources[0].state
        watch.cancel()


def statuses(watch: object) -> Iterator[entropy_service_pb2.GetStatusResponse]:
    for response in watch:  # type: ignore[attr-defined]
        yield response.status


def test_a_kill_in_a_batch_leaves_all_of_it_or_nothing(daemon: Daemon):
    """Killed while it is drawn or recorded; asked again, every hand has one deck."""
    requests = [order("t", f"h{number}") for number in range(1000)]
    for delay_s in (0.05, 0.1, 0.15, 0.2):
        daemon.start()
        with Wire(daemon) as wire:
            killer = threading.Timer(delay_s, daemon.kill)
            killer.start()
            refusal: Told | None = None
            try:
                batch(wire, *requests)
            except grpc.RpcError as error:
                refusal = Told.by(error)
            killer.join()
        [(count,)] = rows(daemon, "SELECT count(*) FROM hands")
        assert count in {0, 1000}
        assert count == 1000 or refusal is not None
    with running(daemon.home) as last, Wire(last) as wire:
        dealt = patient_batch(wire, *requests)
        assert 1000 == len(dealt)
        assert [one.shuffle for one in dealt] == [one.shuffle for one in batch(wire, *requests)]
        assert_numbers_have_no_gaps(last)
