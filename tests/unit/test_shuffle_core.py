"""ShuffleService without a transport: what is checked, in which order, and what is answered."""

import asyncio
import json
from typing import Any

import pytest

from entropyd.draw.cards import card_text
from entropyd.entropy.source_state import SourceState
from entropyd.errors import (
    EntropydError,
    EntropyHoldError,
    HandNotFoundError,
    HandSpentError,
    LedgerUnavailableError,
    PermissionDeniedError,
    RequestError,
    WrongNodeError,
)
from entropyd.ledger.contract import EventKind
from entropyd.service.identity import Call, Identity, Role
from entropyd.service.shuffle_core import ShuffleCore
from entropyd.v1 import shuffle_service_pb2, types_pb2
from tests.fakes.dealing import MINE, SECOND, THEIRS, Table
from tests.fakes.ledger import FaultyLedger, MemoryLedger
from tests.fakes.manual_time import START_NS, play

MS = 10**6
POKER = Identity("room", frozenset({Role.DEAL_ALL}))
AUDITOR = Identity("room", frozenset({Role.AUDIT}))
BOTH = Identity("room", frozenset({Role.DEAL_ALL, Role.AUDIT}))
OUTSIDER = Identity("room", frozenset({Role.CONTRIBUTE}))


class Desk:
    """A core over a dealer whose gate holds `seeds` of credit."""

    def __init__(self, seeds: int = 1, **table: Any) -> None:
        self.table = Table(**table)
        if seeds:
            self.table.deliver(96 * seeds)
        self.core = ShuffleCore(
            self.table.dealer,
            events=self.table.writer,
            clock_ns=self.table.clock,
            wall_ns=self.table.clock.wall_ns,
            max_hold_ns=5 * SECOND,
            answer_before_deadline_ns=50 * MS,
        )

    async def shuffle(self, who=POKER, deadline_ns: int | None = START_NS + 10 * SECOND, **fields):
        answer = await self.core.shuffle(ask(**fields), Call(who, deadline_ns))
        return shuffle_service_pb2.ShuffleResponse.FromString(answer)

    async def get(self, who=POKER, claim=MINE, **key):
        request = shuffle_service_pb2.GetShuffleRequest(key=hand_key(**key), claim=claim)
        answer = await self.core.get_shuffle(request, Call(who, None))
        return shuffle_service_pb2.GetShuffleResponse.FromString(answer)

    def play(self, *calls):
        """Return each call's answer or refusal, one after the other."""

        async def scenario():
            ended: list[object] = []
            for call in calls:
                try:
                    ended.append(await call)
                except EntropydError as error:
                    ended.append(error)
            return ended

        return play(self.table.clock, scenario)

    @property
    def reads(self) -> list[tuple[str, str]]:
        return [
            (event.subject, json.loads(event.detail)["role"])
            for event in self.table.writer.events
            if event.kind is EventKind.HAND_READ
        ]


def hand_key(table="table-7", hand="hand-1"):
    return types_pb2.HandKey(table=table, hand=hand)


def ask(claim=MINE, deck=None, **key):
    return shuffle_service_pb2.ShuffleRequest(key=hand_key(**key), deck=deck, claim=claim)


def field_of(error: object) -> str:
    assert type(error) is RequestError, error
    return error.field


# --- what is answered -----------------------------------------------------------------


def test_a_deck_comes_with_everything_that_binds_it():
    desk = Desk()
    [answer] = desk.play(desk.shuffle())
    deck, record = answer.shuffle, desk.table.ledger.find("room", "hand-1")
    assert record is not None
    assert not answer.replayed
    assert set(range(52)) == set(deck.cards)
    assert 52 == len(deck.cards)
    assert " ".join(map(card_text, deck.cards)) == deck.text
    assert b"".join(card.to_bytes(4, "big") for card in deck.cards) == deck.items
    assert ("table-7", "hand-1", 1) == (deck.key.table, deck.key.hand, deck.sequence)
    draft = record.draft
    assert (draft.commitment, draft.deck_root, record.open_hash, draft.rules.decode()) == (
        deck.commitment,
        deck.deck_root,
        deck.open_hash,
        deck.rules,
    )
    assert draft.provenance == deck.provenance.SerializeToString(deterministic=True)
    assert ("standard52", 1, []) == (deck.deck.name, deck.deck.decks, list(deck.deck.removed))


def test_a_replay_has_the_same_bytes_and_says_that_it_is_one():
    desk = Desk()
    first, again, read = desk.play(desk.shuffle(), desk.shuffle(), desk.get())
    assert [False, True] == [first.replayed, again.replayed]
    assert first.shuffle.SerializeToString() == again.shuffle.SerializeToString()
    assert first.shuffle.SerializeToString() == read.shuffle.SerializeToString()


def test_every_deck_message_of_one_kind_has_the_same_length():
    """Length shows through TLS: cards, text and items say nothing by it."""
    desk = Desk(seeds=12)
    answers = desk.play(*(desk.shuffle(hand=f"hand-{n:02}") for n in range(12)))
    assert {(52, 3 * 52 - 1, 4 * 52)} == {
        (len(a.shuffle.cards), len(a.shuffle.text), len(a.shuffle.items)) for a in answers
    }


@pytest.mark.parametrize(
    ("asked", "size", "seeds"),
    [
        (types_pb2.Deck(), 52, 1),
        (types_pb2.Deck(name="short36"), 36, 1),
        (types_pb2.Deck(name="standard54"), 54, 2),
        (types_pb2.Deck(decks=2, removed=[0, 51]), 100, 3),
    ],
    ids=["default", "short36", "standard54", "two decks without two cards"],
)
def test_what_is_asked_for_is_shuffled(asked, size, seeds):
    """Each card as often as there are decks, none that was removed, a gated seed a segment."""
    desk = Desk(seeds=3)
    [answer] = desk.play(desk.shuffle(deck=asked))
    deck = answer.shuffle
    counts = {deck.cards.count(card) for card in set(deck.cards)}
    assert (size, {max(1, asked.decks)}) == (len(deck.cards), counts)
    assert not set(asked.removed) & set(deck.cards)
    assert seeds == deck.provenance.seeds
    assert (asked.name or "standard52", max(1, asked.decks)) == (deck.deck.name, deck.deck.decks)


def test_an_absent_deck_is_the_default_one_and_the_same_hand():
    """No deck, an empty one and standard52 spelled out are one request."""
    desk = Desk()
    spelled = types_pb2.Deck(name="standard52", decks=1)
    answers = desk.play(
        desk.shuffle(), desk.shuffle(deck=types_pb2.Deck()), desk.shuffle(deck=spelled)
    )
    assert [False, True, True] == [answer.replayed for answer in answers]


# --- what is refused, and in which order ----------------------------------------------


@pytest.mark.parametrize("who", [AUDITOR, OUTSIDER], ids=["auditor", "contributor"])
def test_permission_comes_before_everything(who):
    """Whoever may not deal learns neither what is wrong with a request nor what exists."""
    desk = Desk()
    dealt, refused, malformed = desk.play(
        desk.shuffle(), desk.shuffle(who), desk.shuffle(who, None, claim=b"", hand="")
    )
    assert not dealt.replayed
    assert [PermissionDeniedError] * 2 == [type(refused), type(malformed)]
    assert "'room' lacks the role deal_all" in str(refused)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"hand": ""}, "key.hand"),
        ({"hand": "x" * 129}, "key.hand"),
        ({"hand": "hand 1"}, "key.hand"),
        ({"hand": "h\u00e4nd"}, "key.hand"),
        ({"table": ""}, "key.table"),
        ({"claim": b""}, "claim"),
        ({"claim": bytes(15)}, "claim"),
        ({"claim": bytes(17)}, "claim"),
        ({"deck": types_pb2.Deck(name="tarot")}, "deck.name"),
        ({"deck": types_pb2.Deck(decks=9)}, "deck.decks"),
        ({"deck": types_pb2.Deck(removed=[3, 3])}, "deck.removed"),
    ],
)
def test_bad_form_names_its_field_before_the_deadline_and_spends_nothing(fields, field):
    """Also without a deadline: form is told first."""
    desk = Desk()
    [refused] = desk.play(desk.shuffle(POKER, None, **fields))
    assert field == field_of(refused)
    assert [] == desk.table.writer.submitted
    assert 96 * 6000 == desk.table.level


@pytest.mark.parametrize("left_ns", [None, 0, MS, 50 * MS], ids=["none", "0", "1 ms", "50 ms"])
def test_no_deadline_or_too_short_a_one_is_refused_before_existence(left_ns):
    """For a spent hand with another claim too: nothing is told of what is there."""
    desk = Desk()
    deadline_ns = None if left_ns is None else START_NS + left_ns
    _, refused = desk.play(desk.shuffle(), desk.shuffle(POKER, deadline_ns, claim=THEIRS))
    assert "deadline" == field_of(refused)
    assert "10 s is a good value" in str(refused)
    assert 1 == len(desk.table.writer.submitted)


def test_a_deadline_just_long_enough_is_taken():
    desk = Desk()
    [answer] = desk.play(desk.shuffle(POKER, START_NS + 50 * MS + 1))
    assert 52 == len(answer.shuffle.cards)


@pytest.mark.parametrize(
    ("deadline_s", "answered_s"), [(2, 1.95), (10, 5), (3600, 5)], ids=["2 s", "10 s", "an hour"]
)
def test_a_held_call_is_answered_before_its_deadline_or_at_the_longest_hold(deadline_s, answered_s):
    """50 ms before: an answer at the deadline would be seen as DEADLINE_EXCEEDED."""
    desk = Desk(seeds=0)
    [held] = desk.play(desk.shuffle(POKER, START_NS + deadline_s * SECOND))
    assert type(held) is EntropyHoldError
    waited_ns = desk.table.clock.now_ns - START_NS
    assert round(answered_s * SECOND) == pytest.approx(waited_ns, abs=1000)


def test_a_spent_hand_is_refused_to_others_without_its_parameters():
    desk = Desk(seeds=2)
    short = types_pb2.Deck(name="short36")
    *_, claim, table, deck = desk.play(
        desk.shuffle(),
        desk.shuffle(claim=THEIRS),
        desk.shuffle(table="table-8"),
        desk.shuffle(deck=short),
    )
    assert [HandSpentError] * 3 == [type(error) for error in (claim, table, deck)]
    assert 1 == len({str(error) for error in (claim, table, deck)})
    assert "table-7" not in str(table)


# --- reading back ---------------------------------------------------------------------


def test_reading_takes_the_claim_or_the_audit_role_and_is_recorded():
    desk = Desk()
    dealt, mine, audited, both, theirs = desk.play(
        desk.shuffle(),
        desk.get(),
        desk.get(AUDITOR, claim=b""),
        desk.get(BOTH),
        desk.get(claim=THEIRS),
    )
    assert [dealt.shuffle] * 3 == [mine.shuffle, audited.shuffle, both.shuffle]
    assert type(theirs) is HandSpentError
    subject = "room/hand-1"
    assert [(subject, "deal_all"), (subject, "audit"), (subject, "deal_all")] == desk.reads


def test_an_auditor_is_shown_nothing_that_the_ledger_could_not_record():
    """Who shows the claim is shown its own deck again, for a game goes on with it."""
    ledger = FaultyLedger(MemoryLedger())
    desk = Desk(ledger=ledger)

    async def scenario():
        await desk.shuffle()
        ledger.fail_not_written = 1
        with pytest.raises(LedgerUnavailableError):
            await desk.get(AUDITOR, claim=b"")
        assert [] == desk.reads
        ledger.fail_not_written = 1
        await desk.get()

    play(desk.table.clock, scenario)
    assert [("room/hand-1", "deal_all")] == desk.reads


def test_an_auditor_who_shows_the_claim_is_recorded_as_an_auditor():
    """It has no other role to have been let in by."""
    desk = Desk()
    desk.play(desk.shuffle(), desk.get(AUDITOR, claim=MINE))
    assert [("room/hand-1", "audit")] == desk.reads


def test_an_auditor_who_shows_a_wrong_claim_is_refused():
    desk = Desk()
    _, refused = desk.play(desk.shuffle(), desk.get(AUDITOR, claim=THEIRS))
    assert type(refused) is HandSpentError
    assert [] == desk.reads


@pytest.mark.parametrize("who", [POKER, AUDITOR], ids=["claim", "audit"])
def test_reading_never_draws(who):
    desk = Desk()
    [missing] = desk.play(desk.get(who, claim=MINE if who is POKER else b""))
    assert type(missing) is HandNotFoundError
    assert [] == desk.table.writer.submitted


def test_an_auditor_reads_at_the_right_table_only():
    desk = Desk()
    _, elsewhere = desk.play(desk.shuffle(), desk.get(AUDITOR, claim=b"", table="table-8"))
    assert type(elsewhere) is HandNotFoundError
    assert [] == desk.reads


def test_reading_has_permission_before_form_and_form_before_existence():
    desk = Desk()
    outsider, no_claim, bad_id = desk.play(
        desk.get(OUTSIDER, claim=b"", hand=""), desk.get(claim=b""), desk.get(hand="")
    )
    assert type(outsider) is PermissionDeniedError
    assert ["claim", "key.hand"] == [field_of(no_claim), field_of(bad_id)]


def test_reading_goes_on_during_a_hold():
    desk = Desk()

    async def scenario():
        dealt = await desk.shuffle()
        desk.table.stand(state=SourceState.LOST)
        desk.table.dealer.drain()
        return dealt, await asyncio.wait_for(desk.get(), 1)

    dealt, read = play(desk.table.clock, scenario)
    assert dealt.shuffle == read.shuffle
    assert START_NS == desk.table.clock.now_ns


# --- identities -----------------------------------------------------------------------


def test_one_of_the_roles_is_enough():
    AUDITOR.require(Role.DEAL_ALL, Role.AUDIT)


def test_a_missing_role_is_told_with_all_that_would_do():
    with pytest.raises(PermissionDeniedError, match="deal_all or audit"):
        OUTSIDER.require(Role.DEAL_ALL, Role.AUDIT)


def test_a_tenants_hand_is_no_other_tenants():
    """The same ids in another tenant are another hand with a number of its own."""
    desk = Desk(seeds=2)
    other = Identity("other", frozenset({Role.DEAL_ALL}))
    first, second, unseen = desk.play(
        desk.shuffle(), desk.shuffle(other, claim=THEIRS), desk.get(other, claim=MINE)
    )
    assert [False, False] == [first.replayed, second.replayed]
    assert (1, 1) == (first.shuffle.sequence, second.shuffle.sequence)
    assert first.shuffle.open_hash != second.shuffle.open_hash
    assert type(unseen) is HandSpentError


# --- tables of other nodes ------------------------------------------------------------------


def test_a_table_of_another_node_is_refused_and_nothing_is_drawn():
    desk = Desk(tables=("mine/*", "main"))
    outcomes = desk.play(
        desk.shuffle(table="theirs"),
        desk.get(table="theirs"),
        desk.get(table="mine/1"),
        desk.shuffle(table="mine/1", hand="h"),
    )
    kinds = [WrongNodeError, WrongNodeError, HandNotFoundError, shuffle_service_pb2.ShuffleResponse]
    assert kinds == [type(outcome) for outcome in outcomes]
    assert 1 == desk.table.ledger.count()
    assert "ask the node that serves it" in str(outcomes[0])


def test_a_hand_that_was_drawn_here_is_answered_when_its_table_has_moved():
    """No other node can: it would draw another deck."""
    before = Desk()
    [drawn] = before.play(before.shuffle())
    after = Desk(tables=("elsewhere",), ledger=before.table.ledger)
    replayed, read = after.play(after.shuffle(), after.get())
    assert replayed.replayed
    assert drawn.shuffle == replayed.shuffle == read.shuffle
