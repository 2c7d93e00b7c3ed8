"""Batches and streams without a transport: what is checked, and what is answered when."""

import asyncio
import contextlib
from typing import Any

import pytest
from google.rpc import code_pb2

from entropyd.draw.cards import Deck
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HandSpentError,
    InternalError,
    LedgerDamagedError,
    PermissionDeniedError,
    ShuttingDownError,
)
from entropyd.service.identity import Call
from entropyd.service.orders import MAX_HANDS
from entropyd.service.shuffle_stream import MAX_OUTSTANDING
from entropyd.service.wire import shuffle
from entropyd.v1 import shuffle_service_pb2, types_pb2
from tests.fakes.dealing import SECOND, THEIRS
from tests.fakes.ledger import MemoryLedger
from tests.fakes.manual_time import START_NS, play, settle
from tests.unit.test_shuffle_core import AUDITOR, MS, OUTSIDER, POKER, Desk, ask, field_of

Request = shuffle_service_pb2.StreamShufflesRequest
Response = shuffle_service_pb2.StreamShufflesResponse


def asks(*hands: str, **fields: Any) -> list[shuffle_service_pb2.ShuffleRequest]:
    return [ask(hand=hand, **fields) for hand in hands]


async def batch(
    desk: Desk, requests, *, who=POKER, deadline_ns: int | None = START_NS + 10 * SECOND
):
    request = shuffle_service_pb2.BatchShuffleRequest(hands=requests)
    answer = await desk.core.batch_shuffle(request, Call(who, deadline_ns))
    return shuffle_service_pb2.BatchShuffleResponse.FromString(answer)


# --- a batch --------------------------------------------------------------------------------


def test_a_batch_is_answered_in_the_order_of_its_hands():
    """With the message that a call of its own would get, now and again."""
    desk = Desk(seeds=4)
    first, again = desk.play(
        batch(desk, asks("h2", "h0", "h1")), batch(desk, asks("h2", "h0", "h1"))
    )
    assert ["h2", "h0", "h1"] == [one.shuffle.key.hand for one in first.hands]
    assert [False] * 3 == [one.replayed for one in first.hands]
    assert [True] * 3 == [one.replayed for one in again.hands]
    for one, other in zip(first.hands, again.hands, strict=True):
        assert one.shuffle == other.shuffle
        record = desk.table.ledger.find("room", one.shuffle.key.hand)
        assert record is not None
        assert shuffle(record) == one.shuffle.SerializeToString(deterministic=True)
    assert types_pb2.CONSTRUCTION_BATCH == first.hands[0].shuffle.provenance.construction


@pytest.mark.parametrize("count", [0, MAX_HANDS + 1])
def test_a_batch_has_1_to_1000_hands(count):
    desk = Desk()
    [error] = desk.play(batch(desk, asks(*(f"h{number}" for number in range(count)))))
    assert "hands" == field_of(error)
    assert f"has {count}; expected 1 to 1000" in str(error)


BAD_HANDS = {
    "repeated": (asks("h0", "h1", "h2", "h1"), "hands[3].key.hand", "hands[1]"),
    "no hand": (asks("h0", ""), "hands[1].key.hand", "characters"),
    "no table": ([ask(), ask(hand="h", table="")], "hands[1].key.table", "characters"),
    "claim": ([ask(), ask(hand="h", claim=b"short")], "hands[1].claim", "5 bytes"),
    "deck": (asks("h0", deck=types_pb2.Deck(name="tarot")), "hands[0].deck.name", "tarot"),
    "shoe": (
        [ask(), ask(hand="h", deck=types_pb2.Deck(decks=2))],
        "hands[1].deck",
        "StreamShuffles",
    ),
    "jokers": (asks("h0", deck=types_pb2.Deck(name="standard54")), "hands[0].deck", "2 seeds"),
}


@pytest.mark.parametrize("name", BAD_HANDS)
def test_a_bad_hand_is_named_with_its_place_and_nothing_is_spent(name):
    requests, field, word = BAD_HANDS[name]
    desk = Desk(seeds=5)
    level = desk.table.level
    [error] = desk.play(batch(desk, requests))
    assert field == field_of(error)
    assert str(error).startswith(f"{field}: ")
    assert word in str(error)
    assert (level, 0) == (desk.table.level, desk.table.ledger.count())


@pytest.mark.parametrize("who", [AUDITOR, OUTSIDER])
def test_a_batch_needs_the_role_before_anything_else(who):
    desk = Desk()
    [error] = desk.play(batch(desk, [], who=who))
    assert type(error) is PermissionDeniedError


def test_a_batch_needs_a_deadline():
    desk = Desk()
    [error] = desk.play(batch(desk, asks("h0"), deadline_ns=None))
    assert "deadline" == field_of(error)


def test_one_spent_hand_fails_the_batch():
    desk = Desk(seeds=5)
    _, error = desk.play(
        desk.shuffle(hand="spent"), batch(desk, [*asks("new"), ask(hand="spent", claim=THEIRS)])
    )
    assert type(error) is HandSpentError
    assert 1 == desk.table.ledger.count()


# --- a stream -------------------------------------------------------------------------------


class Line:
    """A client's end of a stream: sends when told, and keeps what comes.

    Attributes:
        messages: the answers of each message.
        read: how many messages the daemon took.
        error: what ended the stream, if it was an error.
    """

    def __init__(self, desk: Desk, *, who=POKER, deadline_ns: int | None = None) -> None:
        self.messages: list[list[shuffle_service_pb2.HandAnswer]] = []
        self.read = 0
        self.error: EntropydError | None = None
        self.may_write = asyncio.Event()
        self.may_write.set()
        self._sent: asyncio.Queue[Request | None] = asyncio.Queue()
        self._stream = desk.core.stream_shuffles(self._requests(), Call(who, deadline_ns))
        self.task = asyncio.create_task(self._keep())

    def send(self, *hands, **fields) -> None:
        self._sent.put_nowait(Request(hands=asks(*hands, **fields)))

    def close(self) -> None:
        self._sent.put_nowait(None)

    async def _requests(self):
        while (request := await self._sent.get()) is not None:
            self.read += 1
            yield request

    async def _keep(self) -> None:
        try:
            async with contextlib.aclosing(self._stream) as stream:
                async for message in stream:
                    self.messages.append(list(Response.FromString(message).answers))
                    await self.may_write.wait()
        except EntropydError as error:
            self.error = error

    @property
    def answers(self) -> dict[str, shuffle_service_pb2.HandAnswer]:
        """Every answer by hand; two for one hand fail the test."""
        told = [answer for message in self.messages for answer in message]
        by_hand = {answer.key.hand: answer for answer in told}
        assert len(told) == len(by_hand)
        return by_hand


def test_hands_of_one_commit_leave_in_one_message():
    desk = Desk(seeds=6)

    async def scenario():
        line = Line(desk)
        line.send("h0", "h1", "h2")
        await settle()
        line.send("h3")
        line.send("h4", "h5")
        line.close()
        await line.task
        return line

    line = play(desk.table.clock, scenario)
    assert 3 == len(line.messages[0])
    assert {f"h{number}" for number in range(6)} == set(line.answers)
    assert all(answer.HasField("dealt") for answer in line.answers.values())
    assert line.error is None


def test_a_held_hand_keeps_none_waiting_and_is_told_to_come_back():
    """A shoe without its seeds, and behind it what was drawn before: answered at once."""
    desk = Desk(seeds=1)

    async def scenario():
        await desk.shuffle(hand="old")
        line = Line(desk)
        line.send("shoe", deck=types_pb2.Deck(decks=6))
        line.send("old")
        await settle()
        assert {"old"} == set(line.answers)
        line.close()
        await line.task
        return line

    line = play(desk.table.clock, scenario)
    refusal = line.answers["shoe"].refusal
    assert (code_pb2.UNAVAILABLE, "ENTROPY_HOLD", "HARDWARE_SHORT") == (
        refusal.code,
        refusal.reason,
        refusal.why,
    )
    assert refusal.retry_after.ToMilliseconds() > 0
    assert START_NS + 5 * SECOND == desk.table.clock.now_ns
    assert line.answers["old"].dealt.replayed


def test_each_hand_is_refused_for_itself():
    desk = Desk(seeds=2)

    async def scenario():
        await desk.shuffle(hand="spent")
        line = Line(desk)
        line.send("", "good")
        line.send("spent", claim=THEIRS)
        line.send("tarot", deck=types_pb2.Deck(name="tarot"))
        line.close()
        await line.task
        return line

    answers = play(desk.table.clock, scenario).answers
    assert answers["good"].HasField("dealt")
    refused = {
        hand: (answer.refusal.code, answer.refusal.reason, answer.refusal.field)
        for hand, answer in answers.items()
        if answer.HasField("refusal")
    }
    assert refused == {
        "": (code_pb2.INVALID_ARGUMENT, "INVALID_REQUEST", "key.hand"),
        "spent": (code_pb2.ALREADY_EXISTS, "HAND_SPENT", ""),
        "tarot": (code_pb2.INVALID_ARGUMENT, "INVALID_REQUEST", "deck.name"),
    }
    assert not any(answer.refusal.HasField("retry_after") for answer in answers.values())


@pytest.mark.parametrize("count", [0, MAX_HANDS + 1])
def test_a_message_of_another_size_ends_the_stream_after_what_came_before(count):
    desk = Desk(seeds=1)

    async def scenario():
        line = Line(desk)
        line.send("h0")
        line.send(*(f"x{number}" for number in range(count)))
        line.send("never-read")
        await line.task
        return line

    line = play(desk.table.clock, scenario)
    assert {"h0"} == set(line.answers)
    assert "hands" == field_of(line.error)


@pytest.mark.parametrize("who", [AUDITOR, OUTSIDER])
def test_a_stream_needs_the_role(who):
    desk = Desk()

    async def scenario():
        line = Line(desk, who=who)
        line.send("h0")
        await line.task
        return line

    line = play(desk.table.clock, scenario)
    assert type(line.error) is PermissionDeniedError
    assert 0 == line.read


def test_who_does_not_read_is_not_read_from():
    """1,024 hands and one message at most lie between; when it reads again, all is answered."""
    sent, size = 40, 100
    desk = Desk(seeds=sent * size, max_waiters=5000, reservoir_bytes=1 << 20)

    async def scenario():
        line = Line(desk)
        line.may_write.clear()
        for number in range(sent):
            line.send(*(f"h{number}-{place}" for place in range(size)))
        for _ in range(40):
            await settle()
        stuck = line.read, len(line.answers)
        line.may_write.set()
        line.close()
        await line.task
        return line, stuck

    line, (read, taken) = play(desk.table.clock, scenario)
    assert taken + MAX_OUTSTANDING <= read * size <= taken + MAX_OUTSTANDING + size
    assert sent * size == len(line.answers)
    assert max(map(len, line.messages)) <= MAX_HANDS


def test_who_hangs_up_leaves_nothing_waiting():
    desk = Desk(seeds=0)

    async def scenario():
        line = Line(desk)
        line.send("h0", "h1")
        await settle()
        assert 2 == desk.table.dealer.waiters
        line.task.cancel()
        await settle()

    play(desk.table.clock, scenario)
    assert (0, 0) == (desk.table.dealer.waiters, desk.table.dealer.in_flight)


def test_a_stream_ends_when_the_daemon_stops_and_what_was_read_is_answered():
    desk = Desk(seeds=0)

    async def scenario():
        line = Line(desk)
        line.send("h0")
        await settle()
        desk.table.dealer.drain()
        line.send("h1")
        await settle()
        line.send("h2")
        await settle()
        assert not line.task.done()
        desk.table.feed()
        await line.task
        return line

    line = play(desk.table.clock, scenario)
    assert line.answers["h0"].HasField("dealt")
    # It came as the daemon began to stop: nothing new is drawn.
    assert "SHUTTING_DOWN" == line.answers["h1"].refusal.reason
    assert "h2" not in line.answers
    assert type(line.error) is ShuttingDownError


def test_a_quiet_stream_ends_when_the_daemon_stops():
    desk = Desk()

    async def scenario():
        line = Line(desk)
        await settle()
        desk.table.dealer.drain()
        await line.task
        return line

    assert type(play(desk.table.clock, scenario).error) is ShuttingDownError


def test_a_deadline_of_the_stream_is_one_of_its_hands():
    """They are told before it, as a call of their own would be."""
    desk = Desk(seeds=0)

    async def scenario():
        line = Line(desk, deadline_ns=START_NS + SECOND)
        line.send("h0")
        line.close()
        await line.task
        return line

    line = play(desk.table.clock, scenario)
    assert "ENTROPY_HOLD" == line.answers["h0"].refusal.reason
    assert 0 <= desk.table.clock.now_ns - (START_NS + SECOND - 50 * MS) < MS


def test_a_fatal_error_ends_the_stream_with_it():
    """The adapter hears of what must end the daemon."""
    damaged = LedgerDamagedError("as if")

    class Damaged(MemoryLedger):
        def spent_among(self, tenant, hands):
            raise damaged

    desk = Desk(ledger=Damaged())

    async def scenario():
        line = Line(desk)
        line.send("h0")
        await line.task
        return line

    assert damaged is play(desk.table.clock, scenario).error


def test_a_draw_that_fails_ends_the_stream():
    desk = Desk()

    async def scenario():
        desk.table.os_random.error = OSError("no such luck")
        line = Line(desk)
        line.send("h0")
        await line.task
        return line

    line = play(desk.table.clock, scenario)
    assert type(line.error) is InternalError
    assert "INTERNAL" == line.answers["h0"].refusal.reason
    assert "OSError" not in line.answers["h0"].refusal.message


def test_a_stream_deals_shoes_too():
    """Only a batch is for one seed a hand."""
    desk = Desk(seeds=10)

    async def scenario():
        line = Line(desk)
        line.send("shoe", deck=types_pb2.Deck(decks=6))
        line.close()
        await line.task
        return line

    answer = play(desk.table.clock, scenario).answers["shoe"]
    assert Deck(decks=6).size == len(answer.dealt.shuffle.cards)
    assert 10 == answer.dealt.shuffle.provenance.seeds


def test_texts_hold_what_a_refusal_is_about():
    """`EntropyHoldError` is told as in a call of its own."""
    error = EntropyHoldError("dealing is held", why="SOURCE_LOST", retry_after_s=2.0)
    from entropyd.service.error_table import refusal  # noqa: PLC0415

    told = refusal(error)
    assert ("dealing is held", "SOURCE_LOST", 2000) == (
        told.message,
        told.why,
        told.retry_after.ToMilliseconds(),
    )
